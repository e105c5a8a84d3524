"""Values of a table as text to paste elsewhere: exact, whole, harmless."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analysis.report.columns import exact_title, value_text
from analysis.report.escape import markdown_cell, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.report.columns import Column
    from analysis.report.messages import Messages


def cell_text(column: Column, value: Any, messages: Messages) -> str:
    """The exact value, as plain text without unit; line breaks stay where they are part of it."""
    text = value_text(column, value, messages, exact=True)
    if not column.lines:
        return visible(text)
    return "\n".join(visible(line) for line in text.replace("\r\n", "\n").split("\n"))


def full_value(column: Column, value: Any, messages: Messages) -> str:
    """The exact value below its title with unit; shapes one tensor a line."""
    text = cell_text(column, value, messages)
    if column.kind == "shapes":
        text = text.replace(";", "\n")
    return f"{exact_title(column, messages)}\n{text}"


def markdown_table(
    columns: Sequence[Column], rows: Sequence[Sequence[Any]], messages: Messages, left_out: int = 0
) -> str:
    """A GitHub table of exact values, numbers right-aligned; a line below tells how many rows it lacks."""
    lines = [
        [markdown_cell(exact_title(column, messages)) for column in columns],
        ["---:" if column.numeric else "---" for column in columns],
    ]
    for row in rows:
        cells = zip(columns, row, strict=True)
        lines.append([markdown_cell(value_text(*cell, messages, exact=True)) for cell in cells])
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    if left_out:
        table += "\n" + messages.text("table.more_rows", {"count": f"{left_out:,}"}) + "\n"
    return table
