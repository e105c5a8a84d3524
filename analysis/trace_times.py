"""What the trace adds to the core metrics: steps on the host, bars by step, copies inside Free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from analysis.datafile import load_toml
from analysis.notes import Missing
from analysis.trace.intervals import Intervals
from analysis.trace.model import COMMUNICATION, COMPUTING, FREE, NOT_OVERLAPPED
from analysis.trace.step_windows import averaged_steps
from analysis.trace.steps import credited, device_windows
from analysis.units import mean

if TYPE_CHECKING:
    from analysis.copies import Copies
    from analysis.iterations import Iterations
    from analysis.profile.communication import Communication
    from analysis.trace.model import Trace

OVERLAP_ROLES: Final = {
    "computing_ns": COMPUTING,
    "communication_ns": COMMUNICATION,
    "not_overlapped_ns": NOT_OVERLAPPED,
    "free_ns": FREE,
}
"""Columns of step_trace_time and the tracks they are summed from."""

_WHOLE_RUN: Final = -1
"""Stands for the step of a row without one."""


@dataclass(frozen=True, slots=True)
class Traced:
    """The trace of a capture with what was found in it, as far as it is there."""

    trace: Trace | Missing
    steps: pl.DataFrame | Missing
    """The frame of :func:`analysis.trace.steps.trace_steps`."""
    launches: pl.DataFrame | Missing
    """The frame of :func:`analysis.trace.flows.launches`."""
    copies: Copies | Missing
    communication: Communication | Missing
    """communication.json, which sums up the collectives of the trace."""


def host_step_ns(
    steps: pl.DataFrame | Missing, decomposed: pl.DataFrame | Missing, iterations: Iterations
) -> int | None:
    """Mean duration of a step on the host, over the steps in the averages (spec M4); None without steps.

    They are those of all averages over the trace, without what the step file calls the compile step: whether
    that file has a row for a step, as it may not for one without kernels, does not matter on the host.

    Args:
        steps: The frame of :func:`analysis.trace.steps.trace_steps`.
        decomposed: The frame of :func:`analysis.steps.step_frame`.
        iterations: Tells the compile step.
    """
    if isinstance(steps, Missing):
        return None
    rows = averaged_steps(iterations, steps)
    if not isinstance(decomposed, Missing):
        compiled = decomposed.filter("excluded")["step"].cast(pl.Int64, strict=False).drop_nulls()
        rows = rows.filter(~pl.col("step").is_in(compiled.implode()))
    durations = rows["end_ns"] - rows["start_ns"]
    return mean(int(durations.sum()), durations.len()) if durations.len() else None


def overlap_sums(traced: Traced, decomposed: pl.DataFrame) -> dict[str, int] | None:
    """Sums of the Overlap Analysis bars that the rows of step_trace_time are made of, by its columns.

    Of rows with a step those bars that torch_npu credits to one of these steps: bars outside of every step
    are in no row (facts/formats.md 6.1). A row without a step has all bars. None where the trace has no such
    bars, or lacks a step that has a row: then nothing can be compared.

    Args:
        traced: The trace, its steps and launches.
        decomposed: The frame of :func:`analysis.steps.step_frame`.
    """
    bars = _bars_of_rows(traced, decomposed)
    sums = {} if bars is None else _sums(bars)
    return sums if any(sums.values()) else None


def copies_in_free_ns(traced: Traced, decomposed: pl.DataFrame) -> int | None:
    """Mean time of device copies inside Free, over the steps in the averages (spec M6).

    Of each Free bar the part during which a copy runs, credited to the step that the whole bar is credited
    to; where all steps are averaged and only all bars together are the Free of the rows, of all bars. None
    where the trace cannot tell, or its Free is another than that of the rows.

    Args:
        traced: The trace, its steps, launches and copies.
        decomposed: The frame of :func:`analysis.steps.step_frame`.
    """
    if isinstance(traced.copies, Missing) or traced.copies.cut_short:
        return None
    bars = _bars_of_rows(traced, decomposed)
    if bars is None or bars["free_ns"].is_empty():
        return None
    rows, free = decomposed.filter(~pl.col("excluded")), bars["free_ns"]
    averaged = free.filter(pl.col("step").is_in(_row_steps(rows).implode()))
    copies = Intervals.of_bars(traced.copies.bars)
    for found in (averaged, free) if rows.height == decomposed.height else (averaged,):
        if rows.height and _is_free_of(rows, found):
            inside = copies.coverage(found["start_ns"], found["start_ns"] + found["duration_ns"])
            return mean(int(inside.sum()), rows.height)
    return None


def _is_free_of(rows: pl.DataFrame, bars: pl.DataFrame) -> bool:
    """Whether the bars last as long as the Free of the rows, as far as these tell it."""
    if rows["free_ns"].null_count():
        return True
    told, found = int(rows["free_ns"].sum()), int(bars["duration_ns"].sum())
    limit: float = load_toml("analysis", "metrics.toml")["agreement"]["difference_above"]
    return abs(told - found) <= limit * max(told, found)


def _bars_of_rows(traced: Traced, decomposed: pl.DataFrame) -> dict[str, pl.DataFrame] | None:
    """By column the bars its rows are made of, with the step of the row: start_ns, duration_ns, step.

    Of the windows that a step may have, those count with which all columns together agree best.
    """
    if isinstance(traced.trace, Missing):
        return None
    bars = {
        column: traced.trace.on(role).select("start_ns", "duration_ns")
        for column, role in OVERLAP_ROLES.items()
    }
    steps = _row_steps(decomposed)
    if steps.to_list() == [_WHOLE_RUN]:
        whole = pl.lit(_WHOLE_RUN, pl.Int64).alias("step")
        return {column: rows.with_columns(whole) for column, rows in bars.items()}
    told = {column: int(decomposed[column].sum()) for column in bars}

    def difference(cut: dict[str, pl.DataFrame]) -> int:
        return sum(abs(found - told[column]) for column, found in _sums(cut).items())

    cuts = [
        {column: credited(rows, windows) for column, rows in bars.items()}
        for windows in _possible_windows(traced, traced.trace, steps)
    ]
    return min(cuts, key=difference, default=None)


def _possible_windows(traced: Traced, trace: Trace, steps: pl.Series) -> list[pl.DataFrame]:
    """When the device may have worked on these steps, the likeliest first; none where the trace lacks one.

    A trace leaves two things open. Where a step's first copy is tied to no operator, the step may have begun
    with it, at the earliest with the host. And its last launch need not be the one that ends last.
    """
    if isinstance(traced.steps, Missing) or isinstance(traced.launches, Missing):
        return []
    known = traced.steps.filter(pl.col("step").is_in(steps.implode()))
    if known.height != steps.len():
        return []
    to_last_launch, to_last_end = (
        device_windows(trace, known, traced.launches, to_last_end=all_bars) for all_bars in (False, True)
    )
    from_host = pl.min_horizontal(pl.col("start_ns"), known["start_ns"])
    narrow = [to_last_launch, to_last_end]
    return [*narrow, *(windows.with_columns(from_host) for windows in narrow)]


def _sums(bars: dict[str, pl.DataFrame]) -> dict[str, int]:
    """By column the time of the bars that are in a row."""
    return {column: int(rows.drop_nulls("step")["duration_ns"].sum()) for column, rows in bars.items()}


def _row_steps(decomposed: pl.DataFrame) -> pl.Series:
    """The numbers of the steps that have a row; -1 stands for a row without a step."""
    number = pl.col("step").cast(pl.Int64, strict=False).fill_null(_WHOLE_RUN)
    return decomposed.select(number)["step"]
