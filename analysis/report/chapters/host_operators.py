"""Framework operators on the host: the section of the host chapter that the trace gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.notes import Missing
from analysis.report.blocks import cut_line, frame_table, heading, missing_line, paragraph
from analysis.report.limits import HOST_OPERATOR_ROWS
from analysis.report.tables import HOST_OPERATORS, recorded
from analysis.units import count_text, often_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.host_operators import HostOperators
    from analysis.report.messages import Messages


def operator_blocks(operators: HostOperators | Missing, messages: Messages) -> Iterator[str]:
    """The twenty framework operators with the largest self time (spec H2)."""
    yield heading(3, messages.text("report.section.host_operators"))
    if isinstance(operators, Missing):
        yield missing_line(operators, messages)
        return
    if operators.by_name.is_empty():
        yield paragraph(messages.text("report.host_operators.none"))
        return
    yield paragraph(*_lead(operators, messages.of_trace(whole=operators.steps is None)))
    top = operators.by_name.head(HOST_OPERATOR_ROWS)
    yield cut_line(top.height, operators.by_name.height, "host_operators", messages)
    yield frame_table(recorded(HOST_OPERATORS, top), top, messages)


def _lead(operators: HostOperators, messages: Messages) -> Iterator[str]:
    row = operators.by_name.row(0, named=True)
    values = {"name": row["name"], "self": time_text(row["self_ns"]), "calls": count_text(row["calls"])}
    if row["calls_per_step"] is None:
        yield messages.text("report.host_operators.longest", values)
    else:
        often = often_text(row["calls_per_step"])
        yield messages.text("report.host_operators.longest_per_step", {**values, "often": often})
    yield messages.text("report.host_operators.rule")
    if operators.steps is None:
        yield messages.text("report.host_operators.no_steps")
    elif operators.outside:
        yield messages.text("report.host_operators.outside", {"count": count_text(operators.outside)})
    if operators.partial:
        yield messages.text("report.host_operators.partial", {"count": count_text(operators.partial)})
