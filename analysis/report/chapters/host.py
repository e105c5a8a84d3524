"""Host side: which APIs cost time, level by level, and whether the host waits or launches too much."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.notes import Missing
from analysis.report.blocks import MARKS, bullets, cut_line, frame_table, heading, missing_line, paragraph
from analysis.report.tables import APIS, ONE_OFF_APIS
from analysis.units import three_digits, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from analysis.host import Host, Verdict
    from analysis.report.columns import Column
    from analysis.report.messages import Messages
    from analysis.report.source import ReportSource


def chapter(source: ReportSource, messages: Messages) -> list[str]:
    """Host API top 15 with levels apart, watched calls, one-off calls and the verdicts (spec H1, H3)."""
    host = source.host
    if isinstance(host, Missing):
        return [missing_line(host, messages)]
    return [
        paragraph(*_lead(host, messages)),
        bullets(_verdict_text(verdict, messages) for verdict in host.verdicts),
        heading(3, messages.text("report.section.apis")),
        *_top(host, messages),
        heading(3, messages.text("report.section.watched")),
        *_calls(host.watched, messages, APIS),
        heading(3, messages.text("report.section.one_off")),
        *_calls(host.one_off, messages, ONE_OFF_APIS),
    ]


def _lead(host: Host, messages: Messages) -> Iterator[str]:
    if host.top.height:
        # Levels come one after the other in the table; the longest call may be in any of them.
        row = host.top.sort("total_ns", "level", "name", descending=[True, False, False]).row(0, named=True)
        yield messages.text(
            "report.host.longest",
            {
                "name": row["name"],
                "level": _level(row["level"], messages),
                "time": time_text(row["per_iteration_ns"]),
                "calls": three_digits(row["count_per_iteration"]),
            },
        )
    yield messages.text("host.nested")
    if host.includes_compile:
        yield messages.text("host.includes_compile")


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
    if verdict.level is None:
        none = messages.text("host.no_such_call")
        return (
            f"{MARKS[verdict.flagged]} {messages.text('report.host.no_call', {'rule': rule, 'none': none})}"
        )
    outcome = {True: "report.judged.flagged", False: "report.judged.fine", None: "report.judged.unknown"}[
        verdict.flagged
    ]
    text = messages.text(
        "report.host.verdict",
        {
            "rule": rule,
            "calls": three_digits(verdict.calls_per_iteration),
            "time": time_text(verdict.total_per_iteration_ns),
            "avg": time_text(verdict.avg_ns),
            "verdict": messages.text(outcome),
        },
    )
    return f"{MARKS[verdict.flagged]} {text}"
