"""Sets of instants as half-open intervals of integer nanoseconds, and the algebra of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Ints: TypeAlias = "NDArray[np.int64]"

UNION: Final = {"group": pl.Int64(), "start_ns": pl.Int64(), "end_ns": pl.Int64()}
"""Columns of :func:`union_by`."""


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """A set of instants: intervals [start, end), sorted, none empty, none touching the next.

    Build one with :meth:`of`; the plain constructor takes arrays that are in that form already. Instants lie
    within 2**62 ns (146 years) of 0, so that no length passes 64 bits.
    """

    starts: Ints
    ends: Ints

    @classmethod
    def of(cls, starts: ArrayLike, ends: ArrayLike) -> Intervals:
        """The union of any intervals, in any order.

        Touching ones become one; empty ones, and those that end before they start, hold no instant.

        Args:
            starts: Nanoseconds; an array, a list or a polars Series without nulls.
            ends: Nanoseconds, as many.
        """
        first, last = _int64(starts), _int64(ends)
        order = np.argsort(first, kind="stable")
        first, last = first[order], last[order]
        held = first < last
        return cls(*_merged(first[held], last[held]))

    @classmethod
    def of_bars(cls, frame: pl.DataFrame) -> Intervals:
        """The union of the bars of a frame with start_ns and duration_ns, as ``Trace.events`` has them."""
        starts = _int64(frame["start_ns"])
        return cls.of(starts, starts + _int64(frame["duration_ns"]))

    @property
    def total(self) -> int:
        """Length of all intervals together, in nanoseconds."""
        return int((self.ends - self.starts).sum())

    def __len__(self) -> int:
        return self.starts.size

    def __or__(self, other: Intervals) -> Intervals:
        """Instants of either set."""
        return Intervals.of(
            np.concatenate([self.starts, other.starts]), np.concatenate([self.ends, other.ends])
        )

    def __and__(self, other: Intervals) -> Intervals:
        """Instants of both sets."""
        # Each interval of the one side meets a run of neighbours of the other side.
        low = np.searchsorted(other.ends, self.starts, side="right")
        high = np.searchsorted(other.starts, self.ends, side="left")
        met = np.maximum(high - low, 0)
        mine = np.repeat(np.arange(len(self)), met)
        theirs = np.arange(mine.size) - np.repeat(np.cumsum(met) - met, met) + np.repeat(low, met)
        return Intervals(
            np.maximum(self.starts[mine], other.starts[theirs]),
            np.minimum(self.ends[mine], other.ends[theirs]),
        )

    def __sub__(self, other: Intervals) -> Intervals:
        """Instants of this set that are not in the other."""
        if not len(self):
            return self
        return self & other._complement(int(self.starts[0]), int(self.ends[-1]))

    def gaps(self, start: int | None = None, end: int | None = None) -> Intervals:
        """Instants of [start, end) outside the set; by default from its first instant to its last."""
        if not len(self) and (start is None or end is None):
            return self
        low = int(self.starts[0]) if start is None else start
        high = int(self.ends[-1]) if end is None else end
        return self._complement(low, high) if low < high else Intervals.of([], [])

    def coverage(self, starts: ArrayLike, ends: ArrayLike) -> Ints:
        """How many nanoseconds of each of these intervals, which may overlap, lie in the set."""
        first, last = _int64(starts), _int64(ends)
        return np.where(first < last, self._before(last) - self._before(first), 0)

    def _before(self, times: Ints) -> Ints:
        """Nanoseconds of the set before each of these instants."""
        if not len(self):
            return np.zeros(times.size, np.int64)
        lengths = self.ends - self.starts
        begun = np.searchsorted(self.starts, times, side="right")
        whole = np.concatenate([[0], np.cumsum(lengths)])[np.maximum(begun - 1, 0)]
        last = np.maximum(begun - 1, 0)
        part = np.minimum(times, self.ends[last]) - self.starts[last]
        return np.where(begun > 0, whole + part, 0)

    def _complement(self, low: int, high: int) -> Intervals:
        """[low, high) without the set."""
        starts = np.concatenate([np.array([low], np.int64), np.clip(self.ends, low, high)])
        ends = np.concatenate([np.clip(self.starts, low, high), np.array([high], np.int64)])
        held = starts < ends
        return Intervals(starts[held], ends[held])


def union_by(groups: ArrayLike, starts: ArrayLike, ends: ArrayLike) -> pl.DataFrame:
    """The union of the intervals of each group, in one pass over all of them.

    Args:
        groups: Numbers of the groups, such as iteration or stream.
        starts: Nanoseconds, as many.
        ends: Nanoseconds, as many.

    Returns:
        Frame of the columns UNION, sorted: in each group disjoint intervals that do not touch.
    """
    group, first, last = _int64(groups), _int64(starts), _int64(ends)
    held = first < last
    if not held.any():
        return pl.DataFrame(schema=UNION)
    group, first, last = group[held], first[held], last[held]
    order = np.lexsort((first, group))
    group, first, last = group[order], first[order], last[order]
    changes = np.diff(group) > 0
    # The latest end so far, of each group apart: ends by their rank, and the ranks of every group above those
    # of the one before. Group and time side by side would not fit in 64 bits.
    distinct, rank = np.unique(last, return_inverse=True)
    number = np.concatenate([[0], np.cumsum(changes)])
    reach = distinct[np.maximum.accumulate(number * distinct.size + rank) % distinct.size]
    opens = np.concatenate([[True], changes | (first[1:] > reach[:-1])])
    head = np.flatnonzero(opens)
    final = np.append(head[1:], group.size) - 1
    return pl.DataFrame({"group": group[head], "start_ns": first[head], "end_ns": reach[final]}, schema=UNION)


def _int64(values: ArrayLike) -> Ints:
    array = values.to_numpy() if isinstance(values, pl.Series) else np.asarray(values)
    return array.astype(np.int64, copy=False)


def _merged(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Starts and ends of the union of non-empty intervals that are sorted by their start."""
    if not first.size:
        return first, last
    reach = np.maximum.accumulate(last)
    opens = np.concatenate([[True], first[1:] > reach[:-1]])
    head = np.flatnonzero(opens)
    return first[head], reach[np.append(head[1:], first.size) - 1]
