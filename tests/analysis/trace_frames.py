"""Tiny frames of what a trace tells, for tests that need no trace around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analysis.trace.steps import STEPS
from analysis.trace_times import Traced
from tests.analysis.frames import ABSENT

if TYPE_CHECKING:
    from analysis.copies import Copies
    from analysis.notes import Missing
    from analysis.profile.communication import Communication
    from analysis.trace.model import Trace

LAUNCHES = {"event": pl.UInt32(), "host": pl.UInt32(), "via": pl.String(), "launch": pl.UInt32()}
"""Columns of :func:`analysis.trace.flows.launches`."""


def steps_frame(*times_ns: int, first: int = 1) -> pl.DataFrame:
    """Steps on the host, one right after the other, that took these times."""
    ends = [sum(times_ns[: at + 1]) for at in range(len(times_ns))]
    rows = [
        {
            "step": first + at,
            "event": at,
            "track": 0,
            "start_ns": end - times_ns[at],
            "end_ns": end,
            "lossy": False,
        }
        for at, end in enumerate(ends)
    ]
    return pl.DataFrame(rows, schema=STEPS)


def launches_frame(*pairs: tuple[int, int | None]) -> pl.DataFrame:
    """Launches from (device bar, host operator)."""
    rows = [{"event": event, "host": host, "via": "async_npu", "launch": None} for event, host in pairs]
    return pl.DataFrame(rows, schema=LAUNCHES)


def traced(
    trace: Trace | Missing = ABSENT,
    steps: pl.DataFrame | Missing = ABSENT,
    launches: pl.DataFrame | Missing = ABSENT,
    copies: Copies | Missing = ABSENT,
    communication: Communication | Missing = ABSENT,
) -> Traced:
    """What a trace tells; anything not given is absent."""
    return Traced(trace, steps, launches, copies, communication)
