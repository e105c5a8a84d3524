"""Problem operators: kernels over a limit, grouped, and what could not be judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analysis.notes import Missing
from analysis.operator_problems import problem_rule, problem_rules
from analysis.report.blocks import bullets, cut_line, frame_table, missing_line, paragraph
from analysis.report.columns import exact_text
from analysis.report.limits import PROBLEM_ROWS
from analysis.report.tables import PROBLEMS, recorded
from analysis.units import UNKNOWN, percent_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from analysis.operator_problems import Problem
    from analysis.operators import Operators
    from analysis.report.messages import Messages
    from analysis.report.source import ReportSource


def chapter(source: ReportSource, messages: Messages) -> list[str]:
    """The 50 longest problem groups, the limits they were judged by, and the limits that lack data."""
    operators = source.operators
    if isinstance(operators, Missing):
        return [missing_line(operators, messages)]
    problems = operators.problems
    if isinstance(problems, Missing):
        return [missing_line(problems, messages)]
    blocks = [
        paragraph(*_lead(problems, operators, messages)),
        bullets(_rules(problems, operators, messages)),
    ]
    if problems.height:
        shown = problems.head(PROBLEM_ROWS)
        blocks.append(cut_line(shown.height, problems.height, "groups", messages))
        blocks.append(
            frame_table(
                recorded(PROBLEMS, shown),
                shown,
                messages,
                {"value": lambda row: _value_text(row["problem"], row["value"])},
            )
        )
    return blocks


def _lead(problems: pl.DataFrame, operators: Operators, messages: Messages) -> Iterator[str]:
    if problems.height:
        yield messages.text("report.problems.lead", _longest(problems.row(0, named=True), messages))
        yield messages.text("report.problems.overlap")
    elif not operators.unjudged_problems:
        yield messages.text("report.problems.none")
    else:
        yield messages.text("report.problems.none_of_judged")
    if operators.unjudged_problems:
        names = messages.text("report.and_more").join(
            messages.text(f"problem.{name}") for name in operators.unjudged_problems
        )
        yield messages.text("report.problems.unjudged", {"names": names})
        yield messages.text("collect.pipe_utilization")


def _longest(row: Mapping[str, Any], messages: Messages) -> dict[str, str]:
    return {
        "type": row["op_type"] or row["name"] or UNKNOWN,
        "problem": messages.text(f"problem.{row['problem']}"),
        "total": time_text(row["total_ns"]),
        "share": percent_text(row["share"]),
    }


def _rules(problems: pl.DataFrame, operators: Operators, messages: Messages) -> Iterator[str]:
    """Each problem with its limit, what it means and how many groups have it."""
    for rule in problem_rules():
        if rule.id in operators.unjudged_problems:
            found = messages.text("report.problems.not_judged")
        else:
            count = problems.filter(problems["problem"] == rule.id).height
            found = messages.text("report.problems.groups", {"count": count})
        yield messages.text(
            "report.problems.rule",
            {
                "problem": messages.text(f"problem.{rule.id}"),
                "why": messages.text(f"problem_why.{rule.id}"),
                "found": found,
            },
        )


def _value_text(problem: str, value: float | None) -> str:
    if value is None:
        return UNKNOWN
    in_percent = _in_percent(problem_rule(problem))
    return f"{exact_text('percent', value) if in_percent else exact_text('ratio', value)} %"


def _in_percent(rule: Problem) -> bool:
    """The unit goes by the column, never by the size of the value (spec O3)."""
    return rule.ratio is not None and rule.ratio.endswith("_pct")
