"""Training steps in a trace: where they lie on the host, and which device bars torch_npu credits to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from analysis.datafile import load_toml
from analysis.trace.model import HOST_ROLES, PYTHON_MAIN

if TYPE_CHECKING:
    from analysis.trace.model import Trace

STEPS: Final = {
    "step": pl.Int64(),
    "event": pl.UInt32(),
    "track": pl.UInt32(),
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
}
"""Columns of :func:`trace_steps`."""


def trace_steps(trace: Trace) -> pl.DataFrame:
    """The steps that the framework marked on the host, one row each: the columns of STEPS, by start.

    Kineto repeats the mark on device tracks, where it tells nothing of the host: only bars on threads of the
    program count. A step marked more than once is that of the main thread, else the longest; of two that
    overlap on one thread the earlier one ends where the later one starts.
    """
    following = pl.col("start_ns").shift(-1).over("track", order_by=["start_ns", "step"])
    chosen = _chosen(_marks(trace))
    ends = pl.min_horizontal("end_ns", following)
    return chosen.with_columns(ends.alias("end_ns")).cast(STEPS)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class DoubtfulMarks:
    """Steps whose marks contradict each other, in order."""

    repeated: tuple[int, ...]
    """Marked more than once, at different times or on several threads; one of the marks is used."""
    overlapping: tuple[int, ...]
    """Not over when the next step of the thread begins; cut there."""


def doubtful_marks(trace: Trace) -> DoubtfulMarks:
    """Which steps of :func:`trace_steps` are not what one mark says."""
    marks = _marks(trace)
    places = marks.unique(["name", "track", "start_ns", "duration_ns"])
    repeated = places.group_by("name").len().filter(pl.col("len") > 1)["name"]
    following = pl.col("start_ns").shift(-1).over("track", order_by=["start_ns", "step"])
    overlapping = _chosen(marks).filter(pl.col("end_ns") > following)["step"]
    return DoubtfulMarks(*(tuple(steps.sort().to_list()) for steps in (repeated, overlapping)))


def _marks(trace: Trace) -> pl.DataFrame:
    """Every mark of a step on threads of the program; ``name`` is its number."""
    rule = _rules()["profiler_step"]
    roles = trace.tracks.filter(pl.col("role").is_in(HOST_ROLES)).select("track", "role")
    return (
        trace.events.lazy()
        .with_row_index("event")
        .filter(pl.col("name").cat.starts_with(rule["prefix"]))
        .select("event", "track", "name", "cat", "start_ns", "duration_ns")
        .collect()
        .filter(pl.col("cat").cast(pl.String).ne_missing(rule["device_cat"]))
        .join(roles, on="track")
        .with_columns(
            pl.col("name").cast(pl.String).str.strip_prefix(rule["prefix"]).cast(pl.Int64, strict=False)
        )
        .drop_nulls("name")
    )


def _chosen(marks: pl.DataFrame) -> pl.DataFrame:
    """One mark a step, by start: the columns of STEPS."""
    return (
        marks.with_columns((pl.col("role") == PYTHON_MAIN).alias("main"))
        .sort("main", "duration_ns", "start_ns", "event", descending=[True, True, False, False])
        .unique("name", keep="first", maintain_order=True)
        .sort("start_ns", "name")
        .select(
            pl.col("name").alias("step"),
            "event",
            "track",
            "start_ns",
            (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns"),
        )
    )


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


def _rules() -> dict[str, Any]:
    return load_toml("analysis", "metrics.toml")
