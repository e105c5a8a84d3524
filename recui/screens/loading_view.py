"""What is seen until a pane is ready: one line per file, what is ready, what a pane waits for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text
from textual.containers import VerticalScroll
from textual.widgets import Static

from widgets.file_list import FileLine, file_list_text, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from analysis.progress import FileProgress
    from analysis.report.messages import Messages


class LoadingView(VerticalScroll):
    """The files of the capture and how far each is. Lines keep their places from the first to the last."""

    DEFAULT_CSS = """
    LoadingView { height: 1fr; padding: 1 1 0 1; }
    """

    def __init__(self, messages: Messages, path: str, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.messages = messages
        self._path = path
        self._lines: dict[str, FileLine] = {}
        self._story = ""

    def compose(self) -> ComposeResult:
        """A single text."""
        yield Static("", id="loading-text", markup=False)

    def on_mount(self) -> None:
        """Say at once what is being done."""
        self._draw()

    def on_resize(self) -> None:
        """Line breaks follow the width."""
        self._draw()

    @property
    def lines(self) -> tuple[FileLine, ...]:
        """The files as far as they are known."""
        return tuple(self._lines.values())

    def expect(self, lines: Sequence[FileLine]) -> None:
        """Name the files there are, and those that are missing, before any is read."""
        self._lines = {line.name: line for line in lines}
        self._draw()

    def advance(self, progress: FileProgress) -> None:
        """One file has got further."""
        line = self._lines.get(progress.file, FileLine(progress.file, "waiting"))
        self._lines[progress.file] = replace(
            line,
            state=progress.state,
            rows=progress.rows,
            seconds=progress.seconds,
            done_bytes=progress.done_bytes,
            total_bytes=progress.total_bytes,
        )
        self._draw()

    def tell(self, story: str) -> None:
        """The sentence below the files: what is ready, what is waited for."""
        self._story = story
        self._draw()

    def relabel(self, messages: Messages, lines: Sequence[FileLine] | None = None) -> None:
        """Draw in another language; ``lines`` replaces those whose remarks are words."""
        self.messages = messages
        if lines is not None:
            self._lines |= {line.name: line for line in lines}
        self._draw()

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        text = Text()
        if self._lines:
            text.append_text(file_list_text(self.lines, self.messages, max(40, self.size.width - 2)))
        else:
            text.append(self.messages.text("loading.looking", {"path": self._path}))
        if self._story:
            lines = wrapped(self._story, max(40, self.size.width - 4))
            text.append("\n\n" + "\n".join(f"  {line}" for line in lines))
        self.query_one("#loading-text", Static).update(text)
