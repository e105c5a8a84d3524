"""What stands out among the operators: the largest, problem operators, training extras, use of the cores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl

from analysis.datafile import load_toml
from analysis.finding import FINE, LOOK, UNKNOWN, Finding, least_share, weight
from analysis.notes import Missing
from analysis.operator_groups import core_in
from analysis.units import UNKNOWN as UNKNOWN_TEXT
from analysis.units import count_text, mean, percent_text, three_digits, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from analysis.metrics import CoreMetrics
    from analysis.operators import CoreUse, Extra, Operators


def operator_findings(operators: Operators | Missing, metrics: CoreMetrics) -> Iterator[Finding]:
    """Judgements on the operator tables, their times per iteration; none without these tables."""
    if isinstance(operators, Missing):
        return
    count = _iterations_of(operators, metrics)
    yield from _largest_operator(operators, count)
    yield from _problem_findings(operators, metrics)
    for extra in operators.extras:
        if extra.flagged:
            yield _extra_finding(extra, count)
    if isinstance(operators.core_use, Missing):
        return
    for use in operators.core_use:
        if use.verdict != "not_recorded":
            yield _core_finding(use, operators.by_core_type)


def _extra_finding(extra: Extra, count: int) -> Finding:
    """What these are about is known, what can be won is not."""
    stake_ns = (extra.total_ns or 0) // count
    average_ns = mean(extra.total_ns, extra.count) if extra.total_ns and extra.count else None
    return Finding(
        severity=LOOK,
        kind=f"extra_{extra.kind}",
        pane="operators",
        view="type",
        values={
            "count": _calls_text(extra),
            "time": time_text(stake_ns),
            "avg": time_text(average_ns),
        },
        stake_ns=stake_ns,
        filter=_EXTRA_FILTERS.get(extra.kind),
        row={} if extra.largest_type is None else {"op_type": extra.largest_type},
    )


def _core_finding(use: CoreUse, by_core_type: pl.DataFrame | Missing) -> Finding:
    return Finding(
        severity={"all_cores": FINE, "maybe_limited": LOOK}.get(use.verdict, UNKNOWN),
        kind=f"cores_{use.verdict}",
        pane="operators",
        view="core",
        values={
            "kind": use.kind.upper(),
            "used": count_text(max(used for used in (use.max_block_num, use.max_mix_block_num) if used)),
            "physical": count_text(use.physical),
        },
        row=_core_row(use, by_core_type),
    )


def _core_row(use: CoreUse, by_core_type: pl.DataFrame | Missing) -> Mapping[str, str]:
    """The core type with most time among those whose kernels use the most cores of this kind."""
    if isinstance(by_core_type, Missing):
        return {}
    led_by_other = (use.max_mix_block_num or 0) > (use.max_block_num or 0)
    kinds = load_toml("analysis", "operators.toml")["cores"]
    leading = kinds[_OTHER_CORE[use.kind] if led_by_other else use.kind]
    # The longest total comes first.
    found = by_core_type.filter(core_in(leading)).head(1)["core_type"]
    return {"core_type": found[0]} if found.len() else {}


_OTHER_CORE: Final = {"aic": "aiv", "aiv": "aic"}


def _iterations_of(operators: Operators, metrics: CoreMetrics) -> int:
    """What the totals of the operator tables divide by."""
    iterations = metrics.iterations
    return iterations.in_kernels if operators.source == "kernels" else iterations.recorded


_EXTRA_FILTERS: Final = {"short_vector_kernels": "VECTOR", "matmul_hf32_off": "MatMul"}
"""Text that narrows the operator types to those an extra is about, where one text does."""


def _calls_text(extra: Extra) -> str:
    """How many per iteration, or in all where that is not known."""
    if extra.count_per_iteration is not None:
        return three_digits(extra.count_per_iteration)
    return count_text(extra.count)


def _largest_operator(operators: Operators, count: int) -> Iterator[Finding]:
    if isinstance(operators.by_type, Missing) or operators.by_type.is_empty():
        return
    row = operators.by_type.row(0, named=True)
    if row["share"] is None or row["op_type"] is None:
        return
    large = row["share"] >= least_share("large_operator")
    yield Finding(
        severity=LOOK if large else FINE,
        kind="largest_operator",
        pane="operators",
        view="type",
        values={
            "operator": row["op_type"],
            "core": row["core_type"] or UNKNOWN_TEXT,
            "share": percent_text(row["share"]),
            "time": time_text(row["total_ns"] // count),
        },
        stake_ns=row["total_ns"] // count,
        filter=row["op_type"],
    )


def _problem_findings(operators: Operators, metrics: CoreMetrics) -> Iterator[Finding]:
    problems = operators.problems
    if isinstance(problems, Missing):
        yield Finding(UNKNOWN, "problems_unknown", "files", "missing")
        return
    if operators.unjudged_problems:
        yield Finding(UNKNOWN, "problems_unjudged", "operators", "problems")
    elif problems.is_empty():
        yield Finding(FINE, "no_problems", "operators", "problems")
    count = _iterations_of(operators, metrics)
    grouped = problems.group_by("problem").agg(
        pl.len().alias("groups"),
        pl.col("total_ns").sum(),
        pl.col("share").sum(),
    )
    for row in grouped.sort("problem").iter_rows(named=True):
        yield _problem_finding(row, count, metrics)


def _problem_finding(row: Mapping[str, Any], count: int, metrics: CoreMetrics) -> Finding:
    stake_ns = row["total_ns"] // count
    return Finding(
        severity=weight(stake_ns, metrics),
        kind=f"problem_{row['problem']}",
        pane="operators",
        view="problems",
        values={
            "groups": count_text(row["groups"]),
            "time": time_text(stake_ns),
            "share": percent_text(row["share"]),
        },
        stake_ns=stake_ns,
        filter=row["problem"],
    )
