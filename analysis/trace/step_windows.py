"""Which step of the program a moment on the host lies in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from analysis.iterations import Iterations


def step_at(moments_ns: pl.Series, steps: pl.DataFrame) -> pl.Series:
    """The step that is open at each moment, null where none is (and for a null moment).

    A step is open from its start to just before its end. Of two that overlap, the one that started later
    has what both hold.

    Args:
        moments_ns: Times on the host.
        steps: The frame of :func:`analysis.trace.steps.trace_steps`.
    """
    ordered = steps.sort("start_ns", "step")
    number, start, end = (ordered[name].to_numpy() for name in ("step", "start_ns", "end_ns"))
    known = moments_ns.is_not_null().to_numpy()
    moment = moments_ns.fill_null(0).to_numpy()
    last = np.searchsorted(start, moment, side="right") - 1
    held = known & (last >= 0)
    held[held] = moment[held] < end[last[held]]
    found = np.zeros(moment.size, np.int64)
    found[held] = number[last[held]]
    return pl.DataFrame({"step": found, "held": held}).select(pl.when("held").then("step"))["step"]


def averaged_steps(iterations: Iterations, steps: pl.DataFrame) -> pl.DataFrame:
    """The steps that averages are made of: not the compile step, nor those that a cut file lost bars of.

    An average needs a step: the compile step alone is one.

    Args:
        iterations: Tells the compile step.
        steps: The frame of :func:`analysis.trace.steps.trace_steps`.
    """
    whole = steps.filter(~pl.col("lossy"))
    averaged = whole.filter(pl.col("step").ne_missing(excluded_step(iterations, steps)))
    return averaged if averaged.height else whole


def excluded_step(iterations: Iterations, steps: pl.DataFrame) -> int | None:
    """The number of the compile step that averages leave out (spec M2); None if none is.

    Where the files that told so do not name it, it is the first of the trace, provided that the trace holds
    as many steps as they do.
    """
    if iterations.excluded_step is not None:
        return iterations.excluded_step
    if iterations.excluded_first_ns is None or steps.height != iterations.recorded:
        return None
    return int(steps.sort("start_ns", "step")["step"][0])
