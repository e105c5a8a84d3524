"""Bars for tests of nesting: a few close together on two tracks, and the plain rule of what holds what."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl
from hypothesis import strategies as st

ORIGIN = 1_736_408_883_704_643_212


class Bar(NamedTuple):
    track: int
    start: int
    duration: int

    @property
    def end(self) -> int:
        """A bar without a duration takes the nanosecond of its start."""
        return self.start + max(self.duration, 1)


BARS = st.lists(st.builds(Bar, st.integers(0, 1), st.integers(0, 11), st.integers(0, 8)), max_size=12)


def frame_of(bars: list[Bar], origin: int = ORIGIN) -> pl.DataFrame:
    rows = [(bar.track, origin + bar.start, bar.duration) for bar in bars]
    schema = {"track": pl.UInt32, "start_ns": pl.Int64, "duration_ns": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def rank(bars: list[Bar], at: int) -> tuple[int, int, int]:
    """Of bars that hold one another the inner one is greater."""
    return bars[at].start, -bars[at].duration, at


def parents(bars: list[Bar]) -> list[int]:
    """The innermost of the bars that hold each whole, -1 without one."""
    found = []
    for at, bar in enumerate(bars):
        holders = [
            other
            for other, one in enumerate(bars)
            if one.track == bar.track and rank(bars, other) < rank(bars, at) and one.end >= bar.end
        ]
        found.append(max(holders, key=lambda other: rank(bars, other), default=-1))
    return found


def own_times(bars: list[Bar]) -> list[int]:
    """Nanoseconds of each bar that no child covers, counted one by one."""
    above = parents(bars)
    times = []
    for at, bar in enumerate(bars):
        own = set(range(bar.start, bar.start + bar.duration))
        for child, one in enumerate(bars):
            if above[child] == at:
                own -= set(range(one.start, one.start + one.duration))
        times.append(len(own))
    return times
