"""Unions and differences of half-open intervals, for the Overlap Analysis bars that the sample draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Interval(NamedTuple):
    """The moments from ``start_ns`` up to ``end_ns``, which is left out."""

    start_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """How long it lasts."""
        return self.end_ns - self.start_ns


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """The same moments as intervals that neither overlap nor touch, in order."""
    merged: list[Interval] = []
    for interval in sorted(intervals):
        if merged and interval.start_ns <= merged[-1].end_ns:
            merged[-1] = Interval(merged[-1].start_ns, max(merged[-1].end_ns, interval.end_ns))
        else:
            merged.append(interval)
    return merged


def without(intervals: Iterable[Interval], taken: Iterable[Interval]) -> list[Interval]:
    """The moments of ``intervals`` that no interval of ``taken`` holds; both must be unions."""
    rest: list[Interval] = []
    holes = list(taken)
    for start, end in intervals:
        cursor = start
        for hole in holes:
            if hole.end_ns <= cursor:
                continue
            if hole.start_ns >= end:
                break
            if hole.start_ns > cursor:
                rest.append(Interval(cursor, hole.start_ns))
            cursor = hole.end_ns
        if cursor < end:
            rest.append(Interval(cursor, end))
    return rest


def length(intervals: Iterable[Interval]) -> int:
    """The sum of the lengths."""
    return sum(interval.length_ns for interval in intervals)
