"""The twenty longest operators, one row per type, input shapes and input dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analysis.notes import Missing
from analysis.report.blocks import cut_line, frame_table, missing_line, paragraph
from analysis.report.limits import TOP_ROWS
from analysis.report.tables import RATIOS, TOP, recorded
from analysis.units import UNKNOWN, count_text, percent_text, time_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analysis.report.columns import Column
    from analysis.report.messages import Messages
    from analysis.report.source import ReportSource


def chapter(source: ReportSource, messages: Messages) -> list[str]:
    """Top 20 with whole shapes; columns that the collection did not record are left out and named."""
    operators = source.operators
    if isinstance(operators, Missing):
        return [missing_line(operators, messages)]
    if isinstance(operators.top, Missing):
        return [missing_line(operators.top, messages)]
    top = operators.top.head(TOP_ROWS)
    if top.is_empty():
        return [paragraph(messages.text("report.top.none"))]
    columns = recorded(TOP, top)
    absent = _absent(columns, messages)
    blocks = [
        paragraph(
            _lead(top.row(0, named=True), messages),
            messages.text("operators.weighted"),
        ),
        cut_line(top.height, operators.top.height, "groups", messages),
        frame_table(columns, top, messages),
    ]
    if absent:
        names = messages.text("report.and_more").join(absent)
        blocks.append(
            paragraph(
                messages.text("report.not_recorded", {"names": names}),
                messages.text("collect.pipe_utilization"),
            )
        )
    return blocks


def _absent(columns: tuple[Column, ...], messages: Messages) -> list[str]:
    """What another collection setting would add; no chip records every one of the ratios."""
    lacking = [column for column in TOP if column not in columns and column.key not in ("name", *RATIOS)]
    names = [messages.text(column.title) for column in lacking]
    if not any(column.key in RATIOS for column in columns):
        names.append(messages.text("report.ratios"))
    return names


def _lead(row: Mapping[str, Any], messages: Messages) -> str:
    values = {
        "type": row["op_type"] or row["name"] or UNKNOWN,
        "shapes": row["input_shapes"] or UNKNOWN,
        "count": count_text(row["count"]),
        "total": time_text(row["total_ns"]),
        "share": percent_text(row["share"]),
        "avg": time_text(row["avg_ns"]),
        "max": time_text(row["max_ns"]),
    }
    return messages.text("report.top.lead" if row["input_shapes"] else "report.top.lead_no_shapes", values)
