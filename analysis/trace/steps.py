"""Training steps in a trace: where they lie on the host, and which device bars torch_npu credits to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from analysis.trace.step_marks import FOLLOWING, chosen_marks

if TYPE_CHECKING:
    from analysis.trace.model import Trace

STEPS: Final = {
    "step": pl.Int64(),
    "event": pl.UInt32(),
    "track": pl.UInt32(),
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
    "lossy": pl.Boolean(),
}
"""Columns of :func:`trace_steps`."""


def trace_steps(trace: Trace) -> pl.DataFrame:
    """The steps that the framework marked on the host, one row each: the columns of STEPS, by start.

    All lie on one thread, which is the main thread of phases and trees (facts/phases.md 1).

    Which marks count, and what a number is called that is marked again, says
    :func:`analysis.trace.step_marks.chosen_marks`. Of two steps that overlap on one thread the earlier one
    ends where the later one starts. None is ``lossy``: which ones a cut file lost bars of,
    :func:`analysis.cut_trace.with_lossy` tells.
    """
    ends = pl.min_horizontal("end_ns", FOLLOWING)
    chosen = chosen_marks(trace).with_columns(ends.alias("end_ns"), pl.lit(value=False).alias("lossy"))
    return chosen.select(*STEPS).cast(STEPS)  # type: ignore[arg-type]


def device_windows(
    trace: Trace, steps: pl.DataFrame, launches: pl.DataFrame, *, to_last_end: bool = False
) -> pl.DataFrame:
    """When the device works on each step, as torch_npu cuts it: step, start_ns, end_ns, in order.

    From the earliest start among the bars of the step's first launch to the latest end among those of its
    last launch, or the end of the step on the host if that is later. A step without a launch begins with the
    host. Windows may overlap and leave gaps (facts/formats.md 6.1).

    Args:
        trace: Whose bars ``launches`` names.
        steps: The frame of :func:`trace_steps`.
        launches: The frame of :func:`analysis.trace.flows.launches`: event (device bar) and host.
        to_last_end: Whether a step lasts until the latest end among all its bars, whichever launch they are
            of (facts/phases.md 0 (6)).
    """
    of_last = pl.lit(value=True) if to_last_end else pl.col("host") == pl.col("host").last()
    linked = _linked(trace, steps, launches)
    spans = linked.group_by("step").agg(
        first=pl.col("bar_start").filter(pl.col("host") == pl.col("host").first()).min(),
        last=pl.col("bar_end").filter(of_last).max(),
    )
    return (
        steps.select("step", "start_ns", "end_ns")
        .join(spans, on="step", how="left", maintain_order="left")
        .select(
            "step",
            pl.coalesce("first", "start_ns").alias("start_ns"),
            pl.max_horizontal("last", "end_ns").alias("end_ns"),
        )
    )


def credited(bars: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
    """The bars with the ``step`` that torch_npu credits them to whole: the first that holds their start.

    Null for a bar that starts outside of every window (facts/formats.md 6.1).
    """
    ordered = bars.sort("start_ns", maintain_order=True)
    starts = ordered["start_ns"].to_numpy()
    at = np.full(len(starts), -1, dtype=np.int64)
    bounds = windows.select("start_ns", "end_ns").to_numpy()
    # Backwards, so that of two windows the earlier one has the last word.
    for index in range(len(bounds) - 1, -1, -1):
        low, high = np.searchsorted(starts, bounds[index])
        at[low:high] = index
    steps = windows["step"].gather(pl.Series(np.maximum(at, 0))) if len(bounds) else None
    if steps is None:
        return ordered.with_columns(pl.lit(None, pl.Int64).alias("step"))
    return ordered.with_columns(pl.when(pl.Series(at >= 0)).then(steps).alias("step"))


def _linked(trace: Trace, steps: pl.DataFrame, launches: pl.DataFrame) -> pl.DataFrame:
    """Launches inside steps by time: step, host, bar_start, bar_end."""
    host, bar = pl.col("host"), pl.col("event")
    starts = trace.events["start_ns"]
    pairs = launches.drop_nulls("host").select("host", "event")
    found = pairs.with_columns(
        starts.gather(pairs["host"]).alias("host_start"),
        starts.gather(pairs["event"]).alias("bar_start"),
        (starts.gather(pairs["event"]) + trace.events["duration_ns"].gather(pairs["event"])).alias("bar_end"),
    ).sort("host_start", host, bar)
    marks = steps.select("step", pl.col("start_ns").alias("step_start"), pl.col("end_ns").alias("step_end"))
    return found.join_asof(
        marks.sort("step_start"), left_on="host_start", right_on="step_start", strategy="backward"
    ).filter(pl.col("host_start") <= pl.col("step_end"))
