"""Operator distribution: which types and which cores the operator time goes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.notes import Missing
from analysis.report.blocks import cut_line, frame_table, heading, missing_line, paragraph
from analysis.report.limits import TYPE_ROWS
from analysis.report.tables import BY_CORE, BY_TYPE, COMMUNICATION
from analysis.units import UNKNOWN, percent_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from analysis.operators import Operators
    from analysis.report.columns import Column
    from analysis.report.messages import Messages
    from analysis.report.source import ReportSource


def chapter(source: ReportSource, messages: Messages) -> list[str]:
    """Operator time by type and by core type, communication apart."""
    operators = source.operators
    if isinstance(operators, Missing):
        return [missing_line(operators, messages)]
    return [
        paragraph(*_lead(operators, messages)),
        heading(3, messages.text("report.section.by_type")),
        *_table(BY_TYPE, operators.by_type, "types", messages),
        heading(3, messages.text("report.section.by_core")),
        *_table(BY_CORE, operators.by_core_type, "core_types", messages),
        heading(3, messages.text("report.section.communication")),
        *_communication(operators, messages),
    ]


def _lead(operators: Operators, messages: Messages) -> Iterator[str]:
    types, cores = operators.by_type, operators.by_core_type
    if not isinstance(types, Missing) and types.height:
        first = types.row(0, named=True)
        values = {
            "type": first["op_type"] or UNKNOWN,
            "core": first["core_type"] or UNKNOWN,
            "share": percent_text(first["share"]),
            "time": time_text(first["total_ns"]),
            "whole": time_text(operators.compute_ns),
        }
        yield messages.text("report.distribution.largest", values)
    if not isinstance(cores, Missing) and cores.height:
        first = cores.row(0, named=True)
        values = {"core": first["core_type"] or UNKNOWN, "share": percent_text(first["share"])}
        yield messages.text("report.distribution.largest_core", values)
    yield messages.text(f"report.distribution.from_{operators.source}")
    yield messages.text("operators.share_of_all")


def _table(
    columns: tuple[Column, ...], frame: pl.DataFrame | Missing, things: str, messages: Messages
) -> Iterator[str]:
    if isinstance(frame, Missing):
        yield missing_line(frame, messages)
        return
    yield frame_table(columns, frame.head(TYPE_ROWS), messages)
    if frame.height > TYPE_ROWS:
        yield cut_line(TYPE_ROWS, frame.height, things, messages)


def _communication(operators: Operators, messages: Messages) -> Iterator[str]:
    if operators.communication.is_empty():
        yield paragraph(messages.text("report.distribution.no_communication"))
        return
    yield paragraph(
        messages.text(
            "report.distribution.communication_total", {"time": time_text(operators.communication_ns)}
        )
    )
    yield from _table(COMMUNICATION, operators.communication, "communication", messages)
