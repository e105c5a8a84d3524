"""Which step stands for the others where only one can be shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from analysis.phases.results import Phases


def representative_step(phases: Phases) -> int | None:
    """The averaged step whose duration is nearest to the mean one; of two as near, the earlier.

    None where no step is averaged: a whole trace in one window has no number.
    """
    mean_ns = phases.times.mean_remainder["step_ns"]
    averaged = phases.times.steps.filter(~pl.col("excluded"), pl.col("step").is_not_null())
    if averaged.is_empty():
        return None
    nearest = averaged.sort((pl.col("step_ns") - mean_ns).abs(), "step")
    return int(nearest["step"][0])
