"""What the reader must know about the iterations and about what was averaged over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analysis.iterations import model_call, model_iterations
from analysis.notes import Missing, Note
from analysis.units import count_text, mean, us_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.iterations import Iterations
    from analysis.profile.tables import Table


def iteration_notes(iterations: Iterations, step_trace: Table | Missing) -> Iterator[Note]:
    """How sure the number of iterations is, and which models it does not count."""
    if iterations.estimated:
        yield Note("iterations_estimated", {"count": count_text(iterations.count)})
    if iterations.source == "single":
        yield Note("iterations_single")
    others = () if isinstance(step_trace, Missing) else model_iterations(step_trace)[1:]
    if others and not isinstance(step_trace, Missing):
        shown = "; ".join(
            f"{'-' if other.model is None else other.model}: {len(other.times_ns)} × "
            f"{us_text(mean(other.total_ns, len(other.times_ns)), grouping=True)} us"
            for other in others[:5]
        )
        more = f"; +{len(others) - 5}" if len(others) > 5 else ""
        yield Note(
            "other_models", {"count": count_text(len(others)), "models": shown + more}, step_trace.file
        )


def model_notes(iterations: Iterations, api_statistic: Table | Missing) -> Iterator[Note]:
    """What the calls of the graph engine count, and what their totals still contain."""
    if isinstance(api_statistic, Missing):
        return
    execute = model_call(api_statistic, "execute")
    if execute is not None and execute.count != iterations.recorded:
        calls, recorded = count_text(execute.count), count_text(iterations.recorded)
        yield Note("model_execute_calls", {"calls": calls, "iterations": recorded}, api_statistic.file)
    if iterations.excluded_first_ns is not None and api_statistic.frame.height:
        yield Note("totals_contain_first", {"count": count_text(iterations.recorded)}, api_statistic.file)


def operator_notes(
    iterations: Iterations, kernels: Table | Missing, op_time_source: str | None
) -> Iterator[Note]:
    """What the operator time still contains, and which kernels it leaves out."""
    recorded = {"count": count_text(iterations.recorded)}
    if op_time_source == "op_statistic_with_first":
        yield Note("op_statistic_contains_first", recorded)
    if isinstance(kernels, Missing):
        return
    if iterations.excluded_first_ns is not None and not iterations.kernels_cut:
        yield Note("kernels_contain_first", recorded, kernels.file)
    operators = kernels.operators("step", "infer_id", "duration_ns")
    mark = iteration_column(operators, iterations)
    outside = operators.filter(pl.col(mark).is_null()) if mark else operators.clear()
    if outside.height:
        time = us_text(int(outside["duration_ns"].sum()), grouping=True)
        yield Note("kernels_outside_steps", {"count": count_text(outside.height), "time": time}, kernels.file)


def iteration_column(rows: pl.DataFrame, iterations: Iterations) -> str | None:
    """The column that says which iteration a kernel belongs to, if it is filled."""
    if rows["step"].count():
        return "step"
    return "infer_id" if iterations.source == "infer_id" else None
