"""What stands in place of a pane that cannot be drawn: which file, why, and what still works."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual.containers import VerticalScroll
from textual.widgets import Static

from analysis.errors import UnreadableFileError
from analysis.report.escape import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from analysis.report.messages import Messages


def failure_text(error: Exception, working: Sequence[str], messages: Messages) -> Text:
    """The error in words: a title, the file with line and reason, the panes that still work."""
    text = Text()
    text.append(f"! {messages.text('failure.title')}\n\n", "bold")
    if isinstance(error, UnreadableFileError):
        where = f"{error.path}:{error.line}" if error.line is not None else str(error.path)
        text.append(f"{messages.text('failure.file')}  ")
        text.append(visible(where), "bold")
        text.append(f"\n{visible(error.reason)}\n\n")
    else:
        text.append(f"{visible(str(error) or type(error).__name__)}\n\n")
    if working:
        text.append(messages.text("failure.works", {"panes": ", ".join(working)}))
    else:
        text.append(messages.text("failure.nothing"))
    return text


class FailurePanel(VerticalScroll):
    """The error of one pane, or of the whole profile."""

    DEFAULT_CSS = """
    FailurePanel { height: 1fr; padding: 1 2; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self._text = Text()

    def compose(self) -> ComposeResult:
        """A single text."""
        yield Static(self._text, id="failure-text", markup=False)

    def tell(self, error: Exception, working: Sequence[str], messages: Messages) -> None:
        """Show this error."""
        self._text = failure_text(error, working, messages)
        if self.is_mounted:
            self.query_one("#failure-text", Static).update(self._text)
