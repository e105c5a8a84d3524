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
        self._lines = [visible(line) for line in value.split("\n")]
        super().__init__(messages.text("value.title"), self._folded, messages.text("help.more"))

    def _folded(self, width: int) -> Text:
        """All of it: a name of 10,000 letters is one word, which Textual would cut at the end of its line."""
        console = self.app.console
        pieces = [piece for line in self._lines for piece in Text(line).wrap(console, width, overflow="fold")]
        return Text("\n").join(pieces)
