"""Host side: which APIs cost time, level by level, and whether the host waits or launches too much."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.host import host_verdicts
from analysis.notes import Missing
from analysis.report.blocks import (
    MARKS,
    bullets,
    cut_line,
    frame_table,
    heading,
    missing_line,
    missing_text,
    paragraph,
)
from analysis.report.chapters.host_operators import operator_blocks
from analysis.report.tables import APIS, ONE_OFF_APIS
from analysis.units import often_text, three_digits, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from analysis.host import Host, Verdict
    from analysis.report.columns import Column
    from analysis.report.messages import Messages
    from analysis.report.source import ReportSource


def chapter(source: ReportSource, messages: Messages) -> list[str]:
    """Verdicts (spec H3), framework operators (H2), host API top 15, watched and one-off calls (H1)."""
    host, operators = source.host, source.host_operators
    if isinstance(host, Missing) and isinstance(operators, Missing):
        return [paragraph(missing_text(host, messages), missing_text(operators, messages))]
    verdicts = host_verdicts(host, operators)
    return [
        paragraph("" if isinstance(host, Missing) else _longest(host, messages)),
        bullets(_verdict_text(verdict, messages) for verdict in verdicts),
        *operator_blocks(operators, messages),
        *_apis(host, messages),
    ]


def _apis(host: Host | Missing, messages: Messages) -> Iterator[str]:
    yield heading(3, messages.text("report.section.apis"))
    if isinstance(host, Missing):
        yield missing_line(host, messages)
        return
    yield paragraph(
        messages.text("host.nested"), messages.text("host.includes_compile") if host.includes_compile else ""
    )
    yield from _top(host, messages)
    yield heading(3, messages.text("report.section.watched"))
    yield from _calls(host.watched, messages, APIS)
    yield heading(3, messages.text("report.section.one_off"))
    yield from _calls(host.one_off, messages, ONE_OFF_APIS)


def _longest(host: Host, messages: Messages) -> str:
    if host.top.is_empty():
        return ""
    # Levels come one after the other in the table; the longest call may be in any of them.
    row = host.top.sort("total_ns", "level", "name", descending=[True, False, False]).row(0, named=True)
    return messages.text(
        "report.host.longest",
        {
            "name": row["name"],
            "level": _level(row["level"], messages),
            "time": time_text(row["per_iteration_ns"]),
            "calls": three_digits(row["count_per_iteration"]),
        },
    )


def _top(host: Host, messages: Messages) -> Iterator[str]:
    if host.top.is_empty():
        yield paragraph(messages.text("report.host.no_calls"))
        return
    recurring = host.apis.filter(host.apis["group"] == "call").height
    yield cut_line(host.top.height, recurring, "calls", messages)
    columns = tuple(column for column in APIS if column.key != "level")
    for level in host.top["level"].unique(maintain_order=True).to_list():
        yield heading(4, messages.text("report.host.level", {"level": _level(level, messages)}))
        yield frame_table(columns, host.top.filter(host.top["level"] == level), messages)


def _calls(calls: pl.DataFrame, messages: Messages, columns: tuple[Column, ...]) -> Iterator[str]:
    if calls.is_empty():
        yield paragraph(messages.text("report.host.none"))
    else:
        yield frame_table(columns, calls, messages)


def _level(level: str, messages: Messages) -> str:
    key = f"api_level.{level}"
    return messages.text(key) if key in messages else level


def _verdict_text(verdict: Verdict, messages: Messages) -> str:
    rule = messages.text(f"host_verdict.{verdict.kind}")
    if verdict.avg_ns is None:
        none = messages.text("host.no_such_call")
        return (
            f"{MARKS[verdict.flagged]} {messages.text('report.host.no_call', {'rule': rule, 'none': none})}"
        )
    outcome = {True: "report.judged.flagged", False: "report.judged.fine", None: "report.judged.unknown"}[
        verdict.flagged
    ]
    text = messages.text(
        f"report.host.verdict_{verdict.per}",
        {
            "rule": rule,
            "calls": often_text(verdict.calls_per_iteration),
            "time": time_text(verdict.total_per_iteration_ns),
            "avg": time_text(verdict.avg_ns),
            "verdict": messages.text(outcome),
        },
    )
    return f"{MARKS[verdict.flagged]} {text}"
