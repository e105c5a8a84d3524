"""Which names a phase spends its time in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from analysis.phases.batch_index import patterns_of
from analysis.phases.model import BACKWARD, PHASES, UNCLASSIFIED
from analysis.trace.intervals import Intervals
from analysis.trace.model import AUTOGRAD

if TYPE_CHECKING:
    from analysis.phases.model import Classified, Windows
    from analysis.trace.nesting import Ints

HEAVIEST: Final = {
    "phase": pl.String(),
    "name": pl.String(),
    "calls": pl.Int64(),
    "self_ns": pl.Int64(),
}
"""Columns of :func:`heaviest_names`."""

NAMES: Final = 5
"""Names told of each phase: more than fit beside the list help no one."""


def heaviest_names(classified: Classified, windows: Windows, step: int | None) -> pl.DataFrame:
    """The names of each phase with the most self time, on all threads together, waits included.

    Self time is time inside a bar outside of the bars it calls, and outside of what the autograd thread does
    for a backward pass of another thread meanwhile. Batch indices in names are one name.

    Args:
        classified: Bars and their phases.
        windows: The steps.
        step: Which of them; None for all averaged ones, or the whole trace.

    Returns:
        Frame of the columns HEAVIEST, sums over the steps; at most NAMES of each phase, in the order of the
        phases, then by self time descending, then name.
    """
    bars = classified.bars.frame
    chosen = windows.frame.with_row_index("window").filter(
        ~pl.col("excluded") if step is None else pl.col("step") == step
    )
    patterns = patterns_of(bars["name"]).select("name", "pattern")
    codes = pl.Series("code", classified.phase)
    words = pl.DataFrame({"code": range(-1, len(PHASES)), "phase": [UNCLASSIFIED, *PHASES]})
    own, window = pl.Series("self_ns", _own_ns(classified)), windows.at(bars["start_ns"])
    return (
        bars.select("name", own, codes, window)
        .filter(pl.col("window").is_in(chosen["window"].cast(pl.Int64).implode()))
        .group_by("name", "code")
        .agg(pl.len().alias("calls").cast(pl.Int64), pl.col("self_ns").sum())
        .join(patterns, on="name", how="left")
        .group_by("pattern", "code")
        .agg(pl.col("calls", "self_ns").sum())
        .filter(pl.col("self_ns") > 0)
        .with_columns(pl.col("code").cast(pl.Int64))
        .join(words, on="code", how="left")
        .sort("code", pl.col("self_ns").neg(), "pattern")
        .group_by("code", maintain_order=True)
        .head(NAMES)
        .select("phase", pl.col("pattern").alias("name"), "calls", "self_ns")
        .cast(HEAVIEST)  # type: ignore[arg-type]
    )


def _own_ns(classified: Classified) -> Ints:
    """Self time of every bar, without that of a backward pass that the autograd thread works through."""
    bars = classified.bars.frame
    start, own, parent = (
        bars["start_ns"].to_numpy(),
        bars["self_ns"].to_numpy(),
        classified.bars.nesting.parent,
    )
    on_autograd = bars["role"] == AUTOGRAD
    work = bars.filter(on_autograd & (bars["depth"] == 0))
    delegated = Intervals.of(work["start_ns"], work["start_ns"] + work["duration_ns"])
    covered = delegated.coverage(start, start + bars["duration_ns"].to_numpy())
    inside = np.zeros(covered.size, np.int64)
    np.add.at(inside, parent[parent >= 0], covered[parent >= 0])
    backward = (classified.phase == PHASES.index(BACKWARD)) & ~on_autograd.to_numpy()
    # Bars that overlap their neighbours in part may count twice among those inside.
    return np.where(backward, own - np.clip(covered - inside, 0, own), own)
