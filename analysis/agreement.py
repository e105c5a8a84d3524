"""Whether the files of one capture agree on the numbers they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from analysis.datafile import load_toml
from analysis.iterations import counted_rows, is_whole_run
from analysis.notes import Missing, Note
from analysis.units import percent_text, us_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.profile.tables import Table


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """Two files' numbers for the same thing, compared (spec M7)."""

    kind: str
    """op_statistic_kernels, kernels_computing, op_statistic_computing: message key below ``check.``."""
    left_ns: int
    right_ns: int
    difference: float
    """|left - right| / max(left, right)."""
    agrees: bool


def cross_checks(
    kernels: Table | Missing, op_statistic: Table | Missing, step_trace_time: Table | Missing
) -> tuple[CrossCheck, ...]:
    """Operator time by op_statistic, by the kernels and by Computing, compared over everything recorded.

    Nothing is left out as a compile iteration here: op_statistic has only totals.
    """
    return tuple(_compared(kernels, op_statistic, step_trace_time))


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
    """Concurrent kernels explain only a sum that is larger than Computing."""
    less = check.left_ns < check.right_ns and check.kind.endswith("_computing")
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


def _check(kind: str, left_ns: int, right_ns: int) -> CrossCheck:
    largest = max(left_ns, right_ns)
    difference = abs(left_ns - right_ns) / largest if largest else 0.0
    limit = load_toml("analysis", "metrics.toml")["agreement"]["difference_above"]
    return CrossCheck(kind, left_ns, right_ns, difference, agrees=difference <= limit)


def _sum(values: pl.Series) -> int:
    return int(values.sum())
