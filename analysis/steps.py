"""What each step was spent on, from step_trace_time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from analysis.datafile import load_toml
from analysis.iterations import counted_rows, first_is_compile, is_whole_run, wall_ns
from analysis.notes import Note
from analysis.units import count_text, mean, us_text

if TYPE_CHECKING:
    from analysis.iterations import Iterations
    from analysis.profile.tables import Table

TIMES: Final = (
    "computing_ns",
    "communication_ns",
    "not_overlapped_ns",
    "overlapped_ns",
    "free_ns",
    "stage_ns",
    "bubble_ns",
    "preparing_ns",
    "wall_ns",
)
"""The time columns of :func:`step_frame`."""


@dataclass(frozen=True, slots=True)
class StepDecomposition:
    """The mean of the step_trace_time rows in the averages (spec M6)."""

    computing_ns: int
    communication_ns: int
    not_overlapped_ns: int
    overlapped_ns: int | None
    free_ns: int
    copies_ns: int | None
    """Device copies inside the Free bars of the steps in the averages; only the trace tells."""
    stage_ns: int | None
    bubble_ns: int | None
    preparing_ns: int | None
    wall_ns: int
    exposed_share: float | None
    """Not overlapped / communication over all rows in the averages; None without communication."""
    free_share: float | None
    """Free / wall over all rows in the averages."""
    exposed_flagged: bool | None
    free_flagged: bool | None
    whole_run: bool
    """True if the file has one row without a step: the values are of the whole run."""


def step_frame(step_trace_time: Table) -> pl.DataFrame:
    """One row per step in the order of the file: step, the columns of TIMES, excluded.

    ``overlapped_ns`` is Communication - Communication(Not Overlapped) where the file has no such column;
    ``wall_ns`` is Computing + Communication(Not Overlapped) + Free. A Stage of 0 is unknown: MindSpore
    writes it without a communication track, torch_npu for a step without events. ``excluded`` marks the
    compile step (spec M2), which stays here and out of every mean.
    """
    overlapped = pl.col("communication_ns") - pl.col("not_overlapped_ns")
    rows = counted_rows(step_trace_time).with_columns(
        pl.col("step").cast(pl.String),
        pl.coalesce("overlapped_ns", overlapped).alias("overlapped_ns"),
        pl.when(pl.col("stage_ns") != 0).then("stage_ns").alias("stage_ns"),
        wall_ns().alias("wall_ns"),
    )
    compiled = not is_whole_run(step_trace_time) and first_is_compile(rows["wall_ns"].to_list())
    first = pl.int_range(pl.len()) == 0
    return rows.select("step", *TIMES, (first & pl.lit(value=compiled)).alias("excluded"))


def decompose(
    steps: pl.DataFrame, *, whole_run: bool, copies_ns: int | None = None
) -> StepDecomposition | None:
    """The mean of the steps in the averages, with the shares of exposed communication and of Free.

    Args:
        steps: The frame of :func:`step_frame`.
        whole_run: Whether its row is of the whole run.
        copies_ns: Mean time of device copies inside Free, where the trace tells it.
    """
    rows = steps.filter(~pl.col("excluded"))
    if not rows.height:
        return None
    means = {name: _mean(rows[name]) for name in TIMES}
    exposed = _share(rows["not_overlapped_ns"], rows["communication_ns"])
    free = _share(rows["free_ns"], rows["wall_ns"])
    return StepDecomposition(
        computing_ns=means["computing_ns"] or 0,
        communication_ns=means["communication_ns"] or 0,
        not_overlapped_ns=means["not_overlapped_ns"] or 0,
        overlapped_ns=means["overlapped_ns"],
        free_ns=means["free_ns"] or 0,
        copies_ns=copies_ns,
        stage_ns=means["stage_ns"],
        bubble_ns=means["bubble_ns"],
        preparing_ns=means["preparing_ns"],
        wall_ns=means["wall_ns"] or 0,
        exposed_share=exposed,
        free_share=free,
        exposed_flagged=_above(exposed, "exposed_communication"),
        free_flagged=_above(free, "free"),
        whole_run=whole_run,
    )


def device_step_ns(steps: pl.DataFrame) -> int | None:
    """The mean span of a step's device activity, Stage + Bubble, over the steps that have both (spec M4)."""
    return _mean(
        steps.filter(~pl.col("excluded")).select(pl.col("stage_ns") + pl.col("bubble_ns")).to_series()
    )


def step_notes(
    steps: pl.DataFrame, iterations: Iterations, *, whole_run: bool, file: str
) -> tuple[Note, ...]:
    """What the reader must know about the rows: a distorted one, one without a span, one left out."""
    notes = [Note("whole_run", {}, file)] if whole_run else []
    negative = steps.filter(pl.col("overlapped_ns") < 0)
    if negative.height:
        shown = ", ".join(step or "-" for step in negative["step"].to_list()[:5])
        notes.append(
            Note("overlapped_negative", {"count": count_text(negative.height), "steps": shown}, file)
        )
    spanless = steps.filter(~pl.col("excluded") & (pl.col("stage_ns") + pl.col("bubble_ns")).is_null()).height
    if spanless and not whole_run:
        notes.append(Note("step_span_unknown", {"count": count_text(spanless)}, file))
    excluded = steps.filter(pl.col("excluded"))
    if excluded.height and iterations.excluded_source != "step_trace_time":
        wall = us_text(excluded["wall_ns"][0], grouping=True)
        notes.append(Note("first_step_excluded", {"step": excluded["step"][0], "time": wall}, file))
    return tuple(notes)


def _mean(values: pl.Series) -> int | None:
    known = values.drop_nulls()
    return mean(int(known.sum()), known.len()) if known.len() else None


def _share(part: pl.Series, whole: pl.Series) -> float | None:
    total = int(whole.sum())
    return int(part.sum()) / total if total else None


def _above(share: float | None, rule: str) -> bool | None:
    limit: float = load_toml("analysis", "metrics.toml")[rule]["share_above"]
    return None if share is None else share > limit
