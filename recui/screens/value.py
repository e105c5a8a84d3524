"""The value screen: one cell or sentence in full length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from analysis.report.escape import visible
from recui.screens.dialog import TextDialog, closing

if TYPE_CHECKING:
    from analysis.report.messages import Messages


class ValueDialog(TextDialog):
    """A whole value; long ones wrap and scroll."""

    BINDINGS = [closing("full_value")]

    def __init__(self, value: str, messages: Messages) -> None:
        lines = "\n".join(visible(line) for line in value.split("\n"))
        super().__init__(messages.text("value.title"), lambda _: Text(lines), messages.text("help.more"))
