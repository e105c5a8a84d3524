"""The selected row's story: labelled values and lines of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text
from textual.containers import VerticalScroll
from textual.widgets import Static

from widgets.safe_text import safe_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.style import StyleType
    from textual.app import ComposeResult

_GAP = 3
_SHORT = 24


@dataclass(frozen=True, slots=True)
class Pair:
    """One labelled value; a plain ``str`` comes from a profile or a catalogue and is never markup."""

    label: str
    value: str | Text


class Detail(VerticalScroll):
    """A title, labelled values in as many columns as fit, then lines of text; long ones wrap, all scrolls."""

    DEFAULT_CSS = """
    Detail { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
    Detail > Static { width: 1fr; height: auto; }
    Detail > .detail--title { text-style: bold; }
    Detail > .detail--label { text-style: dim; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"detail--title", "detail--label"}

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002  # Textual's own name
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._body = Static("", markup=False)

    def compose(self) -> ComposeResult:
        """The text, which this panel scrolls."""
        yield self._body

    def show(
        self,
        title: str | Text = "",
        pairs: Sequence[Pair] = (),
        lines: Sequence[str | Text] = (),
        lead: Sequence[str | Text] = (),
    ) -> None:
        """Tell another row's story, from its beginning; ``lead`` stands before the pairs."""
        parts: list[RenderableType] = []
        if title:
            head = _text(title)
            head.stylize_before(self.get_component_rich_style("detail--title", partial=True))
            parts.append(head)
        parts += [_text(line) for line in lead]
        if pairs:
            label_style = self.get_component_rich_style("detail--label", partial=True)
            parts.append(PairColumns(pairs, label_style))
        parts += [_text(line) for line in lines]
        self._body.update(Group(*parts))
        self.scroll_home(animate=False)


class PairColumns:
    """Labelled values: short ones side by side, each long one on lines of its own."""

    def __init__(self, pairs: Sequence[Pair], label_style: StyleType) -> None:
        self._label_style = label_style
        self._short: list[tuple[Text, Text]] = []
        self._long: list[tuple[Text, Text]] = []
        for pair in pairs:
            row = (safe_text(pair.label), _text(pair.value))
            fits = row[1].cell_len <= _SHORT and "\n" not in row[1].plain
            (self._short if fits else self._long).append(row)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw in the width there is."""
        if self._short:
            yield self._grid(self._short, self._columns(options.max_width))
        if self._long:
            yield self._grid(self._long, 1)

    def _columns(self, width: int) -> int:
        label = max(cell_len(label.plain) for label, _ in self._short)
        value = max(value.cell_len for _, value in self._short)
        return max(1, min(len(self._short), (width + _GAP) // (label + 1 + value + _GAP)))

    def _grid(self, rows: Sequence[tuple[Text, Text]], columns: int) -> Table:
        """Rows read downwards, column after column, as a list would be read."""
        height = -(-len(rows) // columns)
        grid = Table.grid(padding=0)
        for column in range(columns):
            grid.add_column(style=self._label_style, no_wrap=True)
            grid.add_column(width=1)
            grid.add_column(overflow="fold")
            if column < columns - 1:
                grid.add_column(width=_GAP)
        for line in range(height):
            cells: list[Text | str] = []
            for start in range(line, height * columns, height):
                label, value = rows[start] if start < len(rows) else (Text(), Text())
                cells += [*([""] if cells else []), label, "", value]
            grid.add_row(*cells)
        return grid


def _text(value: str | Text) -> Text:
    return safe_text(value) if isinstance(value, str) else value.copy()
