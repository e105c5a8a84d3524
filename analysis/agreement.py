"""Whether the files of one capture agree on the numbers they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from analysis.cut_trace import is_cut
from analysis.datafile import load_toml
from analysis.iterations import counted_rows, is_whole_run
from analysis.notes import Missing, Note
from analysis.steps import step_frame
from analysis.trace.kernels import kernel_bars
from analysis.trace.model import COLLECTIVE
from analysis.trace_times import overlap_sums
from analysis.units import percent_text, us_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.profile.communication import Communication
    from analysis.profile.tables import Table
    from analysis.trace.model import Trace
    from analysis.trace_times import Traced


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """Two files' numbers for the same thing, compared (spec M7)."""

    kind: str
    """op_statistic_kernels, kernels_computing, op_statistic_computing, trace_computing, trace_communication,
    trace_not_overlapped, trace_free, trace_kernels, trace_collectives: message key below ``check.``."""
    left_ns: int
    right_ns: int
    difference: float
    """|left - right| / max(left, right)."""
    agrees: bool


def cross_checks(
    kernels: Table | Missing,
    op_statistic: Table | Missing,
    step_trace_time: Table | Missing,
    traced: Traced,
) -> tuple[CrossCheck, ...]:
    """The numbers that several files share, compared over everything recorded (spec M7).

    Operator time by op_statistic, by the kernels and by Computing; the bars of the trace against
    step_trace_time, the kernel file and communication.json. Nothing is left out as a compile iteration here:
    op_statistic has only totals. A trace that was cut short is not compared: it has lost bars, as its own
    fault says.
    """
    if not isinstance(traced.trace, Missing) and is_cut(traced.trace):
        return tuple(_compared(kernels, op_statistic, step_trace_time))
    return (
        *_compared(kernels, op_statistic, step_trace_time),
        *_overlap_compared(traced, step_trace_time),
        *_kernels_compared(traced, kernels),
        *_collectives_compared(traced),
    )


def disagreements(checks: tuple[CrossCheck, ...]) -> tuple[Note, ...]:
    """One note for each comparison that differs by more than the limit."""
    return tuple(
        Note(
            f"{check.kind}_{_direction(check)}",
            {
                "left": us_text(check.left_ns, grouping=True),
                "right": us_text(check.right_ns, grouping=True),
                "difference": percent_text(check.difference),
            },
        )
        for check in checks
        if not check.agrees
    )


def operator_statistics(op_statistic: Table) -> pl.DataFrame:
    """The rows of op_statistic that are operators; communication is told apart as in the kernels."""
    roles = load_toml("analysis.profile", "columns.toml")["roles"]
    op_type, core = pl.col("op_type").cast(pl.String), pl.col("core_type").cast(pl.String)
    named = pl.any_horizontal(
        *[op_type.str.starts_with(prefix) for prefix in roles["communication_prefixes"]],
        *[op_type.str.ends_with(ending) for ending in roles["accompanying"]],
    )
    return op_statistic.frame.filter(
        ~(named | core.is_in(roles["communication_cores"]).fill_null(value=False))
    )


def _direction(check: CrossCheck) -> str:
    """Concurrent kernels explain only a sum of operators that is larger than Computing."""
    less = check.left_ns < check.right_ns and check.kind in {"kernels_computing", "op_statistic_computing"}
    return "less" if less else "differ"


def _compared(
    kernels: Table | Missing, op_statistic: Table | Missing, step_trace_time: Table | Missing
) -> Iterator[CrossCheck]:
    statistic = None if isinstance(op_statistic, Missing) else operator_statistics(op_statistic)
    operators = None if isinstance(kernels, Missing) else kernels.operators("step", "duration_ns")
    if statistic is not None and operators is not None:
        yield _check("op_statistic_kernels", _sum(statistic["total_ns"]), _sum(operators["duration_ns"]))
    if isinstance(step_trace_time, Missing) or not step_trace_time.frame.height:
        return
    computing = _sum(counted_rows(step_trace_time)["computing_ns"])
    if operators is not None:
        if not is_whole_run(step_trace_time) and operators["step"].count():
            operators = operators.filter(pl.col("step").is_not_null())
        yield _check("kernels_computing", _sum(operators["duration_ns"]), computing)
    elif statistic is not None:
        yield _check("op_statistic_computing", _sum(statistic["total_ns"]), computing)


def _overlap_compared(traced: Traced, step_trace_time: Table | Missing) -> Iterator[CrossCheck]:
    """The Overlap Analysis bars in the rows of step_trace_time against these rows.

    Both credit a bar whole to the step in which it starts, so a row with Overlapped < 0 agrees as well.
    """
    if isinstance(step_trace_time, Missing) or not step_trace_time.frame.height:
        return
    rows = step_frame(step_trace_time)
    sums = overlap_sums(traced, rows)
    for column, left_ns in (sums or {}).items():
        yield _check(f"trace_{column.removesuffix('_ns')}", left_ns, _sum(rows[column]))


def _kernels_compared(traced: Traced, kernels: Table | Missing) -> Iterator[CrossCheck]:
    """Compute kernels on device streams against the kernel file.

    A kernel recorded in parts (FFTS+) has no bar of its own, so a trace with such parts is not compared.
    """
    if isinstance(traced.trace, Missing) or isinstance(kernels, Missing) or _in_parts(traced.trace):
        return
    bars = kernel_bars(traced.trace).select("duration_ns").collect()
    if bars.height:
        durations = kernels.operators("duration_ns")["duration_ns"]
        yield _check("trace_kernels", _sum(bars["duration_ns"]), _sum(durations))


def _in_parts(trace: Trace) -> bool:
    parts = pl.Series(load_toml("analysis", "metrics.toml")["agreement"]["parts"], dtype=pl.Categorical)
    return bool(trace.events.select(pl.col("task_type").is_in(parts.implode()).any()).item())


def _collectives_compared(traced: Traced) -> Iterator[CrossCheck]:
    """Whole operations on communication tracks against Elapse in communication.json, by name.

    communication.json leaves out operations outside of every step, and repetitions of a name within a
    graph: only names that both record equally often are compared.
    """
    if isinstance(traced.trace, Missing) or isinstance(traced.communication, Missing):
        return
    both = _by_operation(traced.trace, traced.communication)
    if both.height:
        yield _check("trace_collectives", _sum(both["bars_ns"]), _sum(both["elapse_ns"]))


def _by_operation(trace: Trace, communication: Communication) -> pl.DataFrame:
    bars = (
        trace.scan(COLLECTIVE)
        .group_by(pl.col("name").cast(pl.String).alias("operation"))
        .agg(pl.len().alias("bars"), pl.col("duration_ns").sum().alias("bars_ns"))
        .collect()
    )
    rows = (
        communication.operations.drop_nulls("elapse_ns")
        .group_by("operation")
        .agg(pl.len().alias("rows"), pl.col("elapse_ns").sum())
    )
    return bars.join(rows, on="operation").filter(pl.col("bars") == pl.col("rows"))


def _check(kind: str, left_ns: int, right_ns: int) -> CrossCheck:
    largest = max(left_ns, right_ns)
    difference = abs(left_ns - right_ns) / largest if largest else 0.0
    limit = load_toml("analysis", "metrics.toml")["agreement"]["difference_above"]
    return CrossCheck(kind, left_ns, right_ns, difference, agrees=difference <= limit)


def _sum(values: pl.Series) -> int:
    return int(values.sum())
