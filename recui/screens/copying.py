"""What to copy from a table: the cell, the row, or all of it, as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.units import count_text
from recui.screens.dialog import ChoiceDialog

if TYPE_CHECKING:
    from analysis.report.messages import Messages
    from widgets.frame_table import FrameTable

MOST_ROWS = 5_000
"""More than this no one pastes, and some terminals drop longer copies; the table says what is left out."""


def copy_dialog(table: FrameTable, messages: Messages) -> ChoiceDialog:
    """Ask what to copy; a table that is too long says how much of it is taken."""
    total = table.match_count
    key = "copy.cut" if total > MOST_ROWS else "copy.table"
    values = {"rows": count_text(min(total, MOST_ROWS)), "total": count_text(total)}
    choices = [
        ("cell", messages.text("copy.cell")),
        ("row", messages.text("copy.row")),
        ("table", messages.text(key, values)),
    ]
    return ChoiceDialog(messages.text("copy.title"), choices, "row")


def copied_text(table: FrameTable, choice: str) -> str:
    """What the choice stands for."""
    if choice == "cell":
        return table.cell_text()
    return table.row_markdown() if choice == "row" else table.table_markdown(MOST_ROWS)
