"""What stands out, worst first; each line leads to the pane that shows more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text
from textual.binding import Binding
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from analysis.finding import MARKS, finding_text
from widgets.safe_text import safe_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from analysis.finding import Finding
    from analysis.report.messages import Messages


class FindingList(OptionList):
    """The findings as options; long ones wrap, and rows keep their place when the language changes."""

    DEFAULT_CSS = """
    FindingList, FindingList:focus { border: none; padding: 0; background: transparent; }
    """
    COMPONENT_CLASSES = {"finding--action", "finding--look", "finding--fine", "finding--unknown"}
    BINDINGS = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
        Binding("g", "first", show=False),
        Binding("G", "last", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id, markup=False)
        self._findings: tuple[Finding, ...] = ()
        self._drawn: list[Table] = []
        self._marked_index: int | None = None

    def show(self, findings: Sequence[Finding], messages: Messages, target: Callable[[Finding], str]) -> None:
        """Replace the findings.

        Args:
            findings: Worst first.
            messages: The language.
            target: Words for where a finding leads.
        """
        place = self.highlighted or 0
        self._findings = tuple(findings)
        self._drawn = [self._line(finding, messages, target(finding)) for finding in findings]
        self.clear_options()
        self.add_options([Option(self._marked(line, chosen=False)) for line in self._drawn])
        if self._findings:
            self.highlighted = min(place, len(self._findings) - 1)

    def watch_highlighted(self, highlighted: int | None) -> None:
        """Mark the selected line with more than colour."""
        super().watch_highlighted(highlighted)
        for index in range(min(self.option_count, len(self._drawn))):
            chosen = index == highlighted
            if chosen or index == self._marked_index:
                self.replace_option_prompt_at_index(index, self._marked(self._drawn[index], chosen=chosen))
        self._marked_index = highlighted

    def _marked(self, line: Table, *, chosen: bool) -> Table:
        """The line behind the cursor mark that the tables have too."""
        marked = Table.grid(expand=True)
        marked.add_column(width=1)
        marked.add_column(ratio=1)
        marked.add_row("▸" if chosen else " ", line)
        return marked

    @property
    def selected(self) -> Finding | None:
        """The finding below the cursor."""
        index = self.highlighted
        return None if index is None or index >= len(self._findings) else self._findings[index]

    def words(self, messages: Messages) -> str:
        """The selected finding in full, its severity in words."""
        finding = self.selected
        if finding is None:
            return ""
        return f"{messages.text(f'severity.{finding.severity}')}\n{finding_text(finding, messages)}"

    def _line(self, finding: Finding, messages: Messages, target: str) -> Table:
        style = self.get_component_rich_style(f"finding--{finding.severity}", partial=True)
        line = Table.grid(expand=True, padding=(0, 1, 0, 0))
        line.add_column(width=1)
        line.add_column(ratio=1, overflow="fold")
        line.add_column(no_wrap=True, justify="right")
        line.add_row(
            Text(MARKS[finding.severity], style),
            safe_text(finding_text(finding, messages)),
            Text(target, "dim"),
        )
        return line
