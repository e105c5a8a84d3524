"""Which stretches of which thread are the steps that phases are cut by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analysis.cut_trace import is_cut
from analysis.phases.model import WINDOWS, Windows
from analysis.trace.model import PYTHON_MAIN
from analysis.trace.step_windows import averaged_steps

if TYPE_CHECKING:
    from analysis.host_bars import HostBars
    from analysis.iterations import Iterations
    from analysis.trace.model import Trace


def find_windows(trace: Trace, bars: HostBars, steps: pl.DataFrame, iterations: Iterations) -> Windows | None:
    """The steps of the main thread; where none is marked, everything it recorded as one (spec P1).

    The main thread is the one that holds the steps (facts/phases.md 1). Of two steps that overlap the
    earlier one ends where the later one starts. Steps that a cut file may have lost bars of are left out of
    averages.

    Args:
        trace: The trace.
        bars: Its operators and ranges.
        steps: The frame of :func:`analysis.trace.steps.trace_steps`.
        iterations: Which step the averages leave out.

    Returns:
        None where the main thread recorded nothing.
    """
    if steps.is_empty():
        return _whole_trace(trace, bars)
    averaged = averaged_steps(iterations, steps)["step"]
    frame = steps.select(
        "step",
        "start_ns",
        "end_ns",
        (~pl.col("step").is_in(averaged.implode())).alias("excluded"),
    ).cast(WINDOWS)  # type: ignore[arg-type]
    main, lossy = int(steps["track"][0]), tuple(steps.filter("lossy")["step"])
    return Windows(frame, main, whole_trace=False, cut=is_cut(trace), lossy=lossy)


def _whole_trace(trace: Trace, bars: HostBars) -> Windows | None:
    main = trace.tracks.filter(pl.col("role") == PYTHON_MAIN)["track"]
    own = bars.frame.filter(pl.col("track").is_in(main.implode()))
    if own.is_empty():
        return None
    frame = own.select(
        pl.lit(None, pl.Int64).alias("step"),
        pl.col("start_ns").min(),
        (pl.col("start_ns") + pl.col("duration_ns")).max().alias("end_ns"),
        pl.lit(value=False).alias("excluded"),
    )
    frame = frame.head(1).cast(WINDOWS)  # type: ignore[arg-type]
    return Windows(frame, int(main[0]), whole_trace=True, cut=is_cut(trace))
