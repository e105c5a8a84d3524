"""Which bar of a track holds which, and what time is a bar's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

Ints: TypeAlias = "NDArray[np.int64]"
Flags: TypeAlias = "NDArray[np.bool_]"
_Scalar = TypeVar("_Scalar", bound=np.generic)

_ROUNDS: Final = 12
"""Steps from bar to bar before the search goes on in a tree: real traces are done by then, and a chain of
100,000 nested bars does not take 100,000 rounds."""


@dataclass(frozen=True, slots=True)
class SortedBars:
    """The bars of every track in the order in which they hold each other; built by :meth:`of`.

    A bar takes the time [start, end). One without a duration takes the nanosecond of its start, so that it
    lies in a bar that is open at that instant and not in one that ends there. A bar is held by every bar of
    its track that starts no later and ends no earlier; of two identical ones the row further up holds the
    other. The parent is the innermost bar that holds the bar whole, so one that overlaps its neighbour only
    in part hangs below the nearest bar that holds it whole.
    """

    rows: Ints
    """Rows by track, start, end from the last to the first, row: every bar after those that hold it. The
    other arrays are in this order."""
    track: Ints
    start: Ints
    duration: Ints
    end: Ints
    """Where the time the bar takes ends: one nanosecond after the start where it has no duration."""
    up: Ints
    """Place of the parent in this order, -1 for a bar that no other holds."""

    @classmethod
    def of(cls, bars: pl.DataFrame) -> SortedBars:
        """Sort bars and find their parents.

        Args:
            bars: Any rows of ``Trace.events``: track, start_ns and duration_ns (no nulls, none negative).
        """
        track, start, duration = (_int64(bars[column]) for column in ("track", "start_ns", "duration_ns"))
        rows = np.lexsort((-duration, start, track))
        track, start, duration = track[rows], start[rows], duration[rows]
        end = start + np.maximum(duration, 1)
        return cls(rows, track, start, duration, end, _parents(track, end))

    def innermost(self, tracks: pl.Series, times: pl.Series) -> Ints:
        """Row of the innermost bar of ``tracks`` that is open at ``times``, -1 where none is.

        A bar is open from its start to just before its end, one without duration at its start. Of two that
        overlap only in part, the one that started later is the inner one.

        Args:
            tracks: Track of each point, as in the sorted frame.
            times: Nanoseconds of each point.
        """
        track, time = _int64(tracks), _int64(times)
        place = self._last_started(track, time)
        waiting = np.flatnonzero(place >= 0)
        for _ in range(_ROUNDS):
            waiting = waiting[place[waiting] >= 0]
            waiting = waiting[self.end[place[waiting]] <= time[waiting]]
            if not waiting.size:
                break
            place[waiting] = self.up[place[waiting]]
        else:
            waiting = waiting[place[waiting] >= 0]
            found = _Maxima.of(self.end).last_from(place[waiting] + 1, time[waiting] + 1)
            own = (found >= 0) & (self.track[found] == track[waiting])
            place[waiting] = np.where(own, found, -1)
        return np.where(place >= 0, self.rows[place], -1) if self.rows.size else place

    def below(self, places: Ints) -> Ints:
        """The place behind the last bar below each of these: whatever is below a bar stands right behind it.

        That is the next bar of its track that ends later, or the end of the track.

        Args:
            places: Places in this order, not rows.
        """
        count = self.end.size
        found = _Maxima.of(self.end[::-1]).last_from(count - 1 - places, self.end[places] + 1)
        last = np.searchsorted(self.track, self.track[places], side="right")
        return np.where(found >= 0, np.minimum(count - 1 - found, last), last)

    def ranges(self, tracks: Ints) -> tuple[Ints, Ints]:
        """Where the bars of each track begin in this order, and where they end."""
        return (
            np.searchsorted(self.track, tracks, side="left"),
            np.searchsorted(self.track, tracks, side="right"),
        )

    def _last_started(self, track: Ints, time: Ints) -> Ints:
        """Place of the last bar of each track that starts no later than the time, -1 if none does."""
        place = np.full(track.size, -1, np.int64)
        by_track = np.argsort(track, kind="stable")
        first = np.flatnonzero(np.diff(track[by_track], prepend=-1))
        lows, highs = self.ranges(track[by_track[first]])
        # Track by track: one key of track and time together may pass 64 bits.
        for points, low, high in zip(np.split(by_track, first[1:]), lows, highs, strict=False):
            here = low + np.searchsorted(self.start[low:high], time[points], side="right") - 1
            place[points] = np.where(here >= low, here, -1)
        return place


@dataclass(frozen=True, slots=True)
class Nesting:
    """The bars of every track as a tree (:class:`SortedBars` says how); arrays are aligned with the rows."""

    parent: Ints
    """Row of the parent, -1 for a bar that no other holds."""
    depth: Ints
    """Bars above it: 0 for a bar without a parent."""
    self_ns: Ints
    """Duration less the union of its children; never negative. Over a track without partial overlaps these
    sum up to the union of its bars."""
    partial: Flags
    """Whether an earlier bar of the track is still open when this one starts, and ends before it."""
    bars: SortedBars
    """The bars in order, for :meth:`SortedBars.innermost`."""

    def frame(self) -> pl.DataFrame:
        """The tree as columns beside the rows: parent (-1 at the top), depth, self_ns, partial."""
        return pl.DataFrame(
            {
                "parent": self.parent,
                "depth": self.depth.astype(np.uint32),
                "self_ns": self.self_ns,
                "partial": self.partial,
            }
        )


def nest(bars: pl.DataFrame) -> Nesting:
    """Put the bars of every track into each other by their times.

    Args:
        bars: Any rows of ``Trace.events``: track, start_ns and duration_ns (no nulls, none negative).
    """
    order = SortedBars.of(bars)
    self_ns, overlapping = own_time(order)
    parent = np.where(order.up >= 0, order.rows[order.up], -1) if order.rows.size else order.up
    return Nesting(
        parent=_scattered(parent, order.rows),
        depth=_scattered(_depths(order.up), order.rows),
        self_ns=_scattered(self_ns, order.rows),
        partial=_scattered(_partial(order, overlapping), order.rows),
        bars=order,
    )


@dataclass(frozen=True, slots=True)
class _Maxima:
    """The largest values of blocks of 1, 2, 4 … neighbours, to find the last large one before a place."""

    levels: tuple[Ints, ...]

    @classmethod
    def of(cls, values: Ints) -> _Maxima:
        levels = [values]
        while levels[-1].size > 1:
            below = levels[-1]
            half = below.size // 2
            levels.append(np.maximum(below[0 : 2 * half : 2], below[1 : 2 * half : 2]))
        return cls(tuple(levels))

    def last_from(self, before: Ints, least: Ints) -> Ints:
        """The last place left of ``before`` whose value is at least ``least``, -1 if there is none."""
        block = np.full(before.size, -1, np.int64)
        height = np.zeros(before.size, np.int64)
        left = before.copy()
        # The places before a bound are one block per set bit of it: nearest blocks first.
        for level, values in enumerate(self.levels):
            candidates = np.flatnonzero((block < 0) & (left & 1 == 1))
            hits = candidates[values[left[candidates] - 1] >= least[candidates]]
            block[hits], height[hits] = left[hits] - 1, level
            left >>= 1
        for level in range(len(self.levels) - 2, -1, -1):
            inside = np.flatnonzero((block >= 0) & (height > level))
            right = 2 * block[inside] + 1
            block[inside] = np.where(self.levels[level][right] >= least[inside], right, right - 1)
        return block


def _int64(column: pl.Series) -> Ints:
    """A column without nulls as 64-bit integers."""
    return column.to_numpy().astype(np.int64, copy=False)


def _scattered(values: NDArray[_Scalar], order: Ints) -> NDArray[_Scalar]:
    """Values in the order of the bars, put back to their rows."""
    rows = np.empty_like(values)
    rows[order] = values
    return rows


def _parents(track: Ints, end: Ints) -> Ints:
    """Place of the last bar before each in its track that ends no earlier, -1 if there is none.

    Every bar starts at its neighbour. Whoever points to a bar that ends too early takes over what that one
    points to: all between ends earlier still. The reach doubles with each round.
    """
    up = np.arange(-1, track.size - 1, dtype=np.int64)
    up[np.flatnonzero(np.diff(track, prepend=-1))] = -1
    waiting = np.flatnonzero(up >= 0)
    waiting = waiting[end[up[waiting]] < end[waiting]]
    for _ in range(_ROUNDS):
        if not waiting.size:
            return up
        reached = up[up[waiting]]
        up[waiting] = reached
        waiting = waiting[(reached >= 0) & (end[reached] < end[waiting])]
    found = _Maxima.of(end).last_from(up[waiting] + 1, end[waiting])
    up[waiting] = np.where((found >= 0) & (track[found] == track[waiting]), found, -1)
    return up


def _depths(up: Ints) -> Ints:
    """Number of bars above each, by adding up what lies above ever farther ancestors."""
    depth = (up >= 0).astype(np.int64)
    ancestor = up.copy()
    waiting = np.flatnonzero(ancestor >= 0)
    while waiting.size:
        above = ancestor[waiting]
        depth[waiting] += depth[above]
        ancestor[waiting] = ancestor[above]
        waiting = waiting[ancestor[waiting] >= 0]
    return depth


def own_time(bars: SortedBars) -> tuple[Ints, Ints]:
    """Self time of each place, and the places of bars that start before their last sibling has ended.

    Siblings end in the order in which they start (else one would hold the other), so the last sibling before
    a bar tells up to where the siblings have covered the parent.
    """
    own = bars.duration.copy()
    family = np.where(bars.up >= 0, bars.up, -1 - bars.track)
    place = np.argsort(family, kind="stable")
    family, start, covered = family[place], bars.start[place], own[place]
    end = start + covered
    follows = np.flatnonzero(np.diff(family) == 0) + 1
    overlap = np.maximum(end[follows - 1] - start[follows], 0)
    covered[follows] -= overlap
    heads = np.flatnonzero(np.diff(family, prepend=family[:1] - 1))
    if heads.size:
        sums = np.add.reduceat(covered, heads)
        held = family[heads] >= 0
        own[family[heads][held]] -= sums[held]
    return own, place[follows[overlap > 0]]


def _partial(bars: SortedBars, overlapping: Ints) -> Flags:
    """Whether each bar overlaps an earlier one of its track only in part.

    Such a bar, or one that holds it, overlaps its sibling: other tracks need no look.
    """
    partial = np.zeros(bars.track.size, np.bool_)
    for one in np.unique(bars.track[overlapping]):
        low, high = np.searchsorted(bars.track, (one, one + 1))
        partial[low:high] = _cut_short(bars.start[low:high], bars.end[low:high])
    return partial


def _cut_short(start: Ints, end: Ints) -> Flags:
    """For each bar of one track: is there one that starts before it and ends inside it?

    Sorted by their ends, the bars that end inside are neighbours: the question is for the smallest start of
    a range, answered by the minima over 1, 2, 4 … neighbours.
    """
    by_end = np.argsort(end, kind="stable")
    low = np.searchsorted(end[by_end], start, side="right")
    high = np.searchsorted(end[by_end], end, side="left")
    asked = np.flatnonzero(low < high)
    exponent = np.frexp((high - low)[asked])[1] - 1
    found = np.zeros(start.size, np.bool_)
    minima = start[by_end]
    for level in range(int(exponent.max(initial=-1)) + 1):
        if level:
            half = 1 << (level - 1)
            minima = np.minimum(minima[:-half], minima[half:])
        bars = asked[exponent == level]
        smallest = np.minimum(minima[low[bars]], minima[high[bars] - (1 << level)])
        found[bars] = smallest < start[bars]
    return found
