"""The explorer's one-line widgets: header, tabs, footer. Each is text with places to click."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text
from textual.message import Message
from textual.widget import Widget

from widgets.safe_text import cut, fit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.events import Click

_LEAST_NAME = 12
_BEFORE, _AFTER = "‹ ", " ›"
"""There are parts on this side that the line has no room for."""


@dataclass(frozen=True, slots=True)
class Part:
    """One clickable word of a line."""

    name: str
    """What is reported when it is clicked."""
    text: str
    key: str = ""
    """Shown before the text in its own style."""
    selected: bool = False
    dim: bool = False

    @property
    def width(self) -> int:
        """Cells the part takes."""
        return cell_len(self.text) + (cell_len(self.key) + 1 if self.key else 0)


class PartLine(Widget):
    """A row of parts, two cells apart; a click on one posts its name.

    Where not all fit, the selected one is among those shown, and marks tell on which sides there are more.
    """

    COMPONENT_CLASSES = {"part--key", "part--selected", "part--dim"}
    DEFAULT_CSS = """
    PartLine {
        height: 1;
        width: 1fr;
        & > .part--key { text-style: bold; }
        & > .part--selected { text-style: bold reverse; }
        & > .part--dim { text-style: dim; }
    }
    """

    @dataclass
    class Clicked(Message):
        """A part was clicked."""

        line: PartLine
        name: str

        @property
        def control(self) -> PartLine:
            """The line, so that handlers can select by its id."""
            return self.line

    def __init__(self, *, id: str | None = None, gap: int = 2) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self._parts: tuple[Part, ...] = ()
        self._gap = gap

    @property
    def parts(self) -> tuple[Part, ...]:
        """What the line shows."""
        return self._parts

    def show(self, parts: Sequence[Part]) -> None:
        """Replace the parts."""
        if tuple(parts) != self._parts:
            self._parts = tuple(parts)
            self.refresh()

    def render(self) -> Text:
        """The parts after one another."""
        line = Text(" ", no_wrap=True, overflow="crop")
        start, stop = self._shown()
        line.append(_BEFORE if start else "")
        for index, part in enumerate(self._parts[start:stop]):
            if index:
                line.append(" " * self._gap)
            if part.key:
                line.append(part.key, self._style("key", part))
                line.append(" ", self._style("text", part))
            line.append(part.text, self._style("text", part))
        line.append(_AFTER if stop < len(self._parts) else "")
        return line

    def _shown(self) -> tuple[int, int]:
        """Start and stop of the parts that the line has room for."""
        count = len(self._parts)
        chosen = next((index for index, part in enumerate(self._parts) if part.selected), 0)
        start = 0
        while start < chosen and not self._fits(start, chosen + 1):
            start += 1
        stops = (stop for stop in range(count, start + 1, -1) if self._fits(start, stop))
        return start, next(stops, min(start + 1, count))

    def _fits(self, start: int, stop: int) -> bool:
        marks = (len(_BEFORE) if start else 0) + (len(_AFTER) if stop < len(self._parts) else 0)
        return line_width(self._parts[start:stop], self._gap) + marks <= self.size.width

    def _style(self, kind: str, part: Part) -> str:
        if part.dim:
            name = "part--dim"
        elif part.selected:
            name = "part--selected"
        elif kind == "key":
            name = "part--key"
        else:
            return ""
        return str(self.get_component_rich_style(name))

    def on_click(self, event: Click) -> None:
        """Report the part below the pointer."""
        start, stop = self._shown()
        left = 1 + (len(_BEFORE) if start else 0)
        for part in self._parts[start:stop]:
            if left <= event.x < left + part.width:
                event.stop()
                self.post_message(self.Clicked(self, part.name))
                return
            left += part.width + self._gap


class HeaderLine(Widget):
    """Left: which profile and what it is. Right: the one number that matters. The name gives way."""

    DEFAULT_CSS = """
    HeaderLine { height: 1; width: 1fr; text-style: bold; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self._profile = ""
        self._facts = ""
        self._number = ""

    def show(self, name: str, facts: str, number: str) -> None:
        """Replace the profile's name, what is known of it, and the number."""
        self._profile, self._facts, self._number = name, facts, number
        self.refresh()

    def render(self) -> Text:
        """All three on one line."""
        return Text(
            header_text(self._profile, self._facts, self._number, self.size.width), no_wrap=True, end=""
        )


def header_text(name: str, facts: str, number: str, width: int) -> str:
    """`` name · facts            number `` in ``width`` cells; the name is shortened before the facts."""
    room = max(0, width - cell_len(number) - 4)
    joined = f" · {facts}" if facts else ""
    name = cut(name, max(_LEAST_NAME, room - cell_len(joined)))
    return f" {fit(name + joined, room)}  {number} "


def line_width(parts: Sequence[Part], gap: int = 2) -> int:
    """Cells of a line of these parts, the blank before them included."""
    return 1 + sum(part.width for part in parts) + gap * max(0, len(parts) - 1)


def fitting_parts(ranked: Sequence[tuple[int, Part]], width: int, gap: int = 2) -> tuple[Part, ...]:
    """The parts that fit ``width`` cells, lowest rank first to stay, in the order given.

    Args:
        ranked: (rank, part) in display order.
        width: Cells of the line.
        gap: Cells between two parts.
    """
    kept: set[int] = set()
    used = 1
    for index, (_, part) in sorted(enumerate(ranked), key=lambda entry: entry[1][0]):
        needed = part.width + (gap if kept else 0)
        if used + needed <= width:
            kept.add(index)
            used += needed
    return tuple(part for index, (_, part) in enumerate(ranked) if index in kept)
