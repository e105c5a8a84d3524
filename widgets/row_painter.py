"""The lines of a frame table: header, rows, and the text where rows are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment
from rich.text import Text
from textual.strip import Strip

from analysis.report.columns import TEXT_KINDS, Column, Kind, screen_title, value_text
from analysis.report.escape import visible
from analysis.units import UNKNOWN
from widgets.column_layout import GAP, MARGIN, Demand, Layout, Place, place_columns, text_minimum
from widgets.meter import bar_text
from widgets.safe_text import cut, fit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.style import Style

    from analysis.report.messages import Messages
    from widgets.frame_table import FrameTable, Sort
    from widgets.frame_view import FrameView

CURSOR_MARK = "▸"
DESCENDING_MARK = "▾"
ASCENDING_MARK = "▴"
LEFT_MARK = "‹"
RIGHT_MARK = "›"

_MOST_MEASURED = 1_000
"""Characters of a value that count for the width of its column: more than any screen has cells."""

_TYPICAL: dict[Kind, int] = {"time": 7, "share": 6, "ratio": 6, "percent": 6}
"""Widths that nearly all values of a kind have, so that columns keep their width when the values change."""


def measured_layout(demands: Sequence[Demand], columns: Sequence[Column], width: int) -> Layout:
    """Places of the columns; a name at the left, or behind one number, stays when the others scroll."""
    texts = [index for index, column in enumerate(columns) if column.kind in TEXT_KINDS]
    return place_columns(demands, texts[0] + 1 if texts and texts[0] <= 1 else 0, width)


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of the table is on screen."""

    layout: Layout
    first: int
    """First column behind the frozen ones."""
    width: int

    @property
    def places(self) -> tuple[Place, ...]:
        """The columns on screen."""
        return self.layout.on_screen(self.first, self.width)

    def column_at(self, x: int) -> int | None:
        """Which column a cell of the screen belongs to."""
        return next((place.index for place in self.places if x < place.end), None)


@dataclass(frozen=True, slots=True)
class Mark:
    """Some cells beside the text of a name: indentation, a letter, a star."""

    text: str
    part: str = ""
    """Component class that gives its style; empty is the style of the row."""


@dataclass(frozen=True, slots=True)
class Lead:
    """What stands before and after the text in one column of a row."""

    before: tuple[Mark, ...] = ()
    after: tuple[Mark, ...] = ()


Leads: TypeAlias = "Callable[[int], Lead]"
"""The marks beside a name in a column of so many cells."""


class RowPainter:
    """Draws what a table has measured, in the table's styles."""

    def __init__(self, table: FrameTable) -> None:
        self._table = table
        self._columns: tuple[Column, ...] = ()
        self._titles: tuple[str, ...] = ()
        self._largest: dict[str, Any] = {}

    def measure(self, view: FrameView, columns: tuple[Column, ...], messages: Messages) -> list[Demand]:
        """How wide each column of the frame that is drawn from now on would like to be."""
        self._columns = columns
        self._titles = tuple(screen_title(column, messages) for column in columns)
        extremes = view.extremes([column.key for column in columns if column.numeric])
        self._largest = {key: largest for key, (_, largest) in extremes.items()}
        sample = view.sample()
        demands = []
        for index, column in enumerate(columns):
            values = [row[index] for row in sample]
            values += extremes.get(column.key, ())
            told = (value_text(column, value, messages, exact=False) for value in values)
            texts = {visible(text[:_MOST_MEASURED]) for text in told}
            widest = max((cell_len(text) for text in texts), default=0)
            title = cell_len(self._titles[index])
            natural = max(title, widest, _TYPICAL.get(column.kind, 1))
            minimum = None
            if column.kind in TEXT_KINDS:
                minimum = max(text_minimum(column.width), title)
            elif column.width is not None:
                natural = max(natural, column.width)
            natural += self._table.lead_cells(column.key)
            demands.append(Demand(natural, minimum, column.bar, self._table.LEAST_BAR))
        return demands

    def header(self, window: Window, sort: Sort | None) -> Strip:
        """The titles, the sorted one with its mark; arrows tell of columns left and right of the screen."""
        base = self._style("header")
        places = window.places
        segments = [Segment(" " * MARGIN, base)]
        for place in places:
            title = self._title(place, sort, base)
            if place.index == window.layout.frozen - 1 and window.first > window.layout.frozen:
                title[-1] = Segment((LEFT_MARK + " ").rjust(len(title[-1].text)), base)
            segments += title
        strip = Strip(segments)
        if places and places[-1].index < len(window.layout.places) - 1:
            strip = strip.adjust_cell_length(window.width - 1, base)
            strip = Strip([*strip, Segment(RIGHT_MARK, base)])
        return strip.adjust_cell_length(window.width, base)

    def row(
        self, window: Window, values: Sequence[Any], *, cursor: bool, leads: dict[str, Leads] | None = None
    ) -> Strip:
        """One row; ``leads`` are the marks beside the text of a column, by its key."""
        base = self._style("row")
        if cursor:
            base += self._table.get_component_rich_style("frame-table--cursor", partial=True)
        segments = [Segment((CURSOR_MARK if cursor else "").ljust(MARGIN), base)]
        for place in window.places:
            lead = (leads or {}).get(self._columns[place.index].key)
            marks = Lead() if lead is None else lead(place.width)
            segments += self._cell(place, values[place.index], base, marks, cursor=cursor)
        return Strip(segments).adjust_cell_length(window.width, base)

    def note(self, text: str, part: str, width: int, *, cursor: bool) -> Strip:
        """A line across all columns, in the style of a component class."""
        style = self._style("row") + self._table.get_component_rich_style(part, partial=True)
        if cursor:
            style += self._table.get_component_rich_style("frame-table--cursor", partial=True)
        mark = (CURSOR_MARK if cursor else "").ljust(MARGIN)
        return Strip([Segment(mark + fit(text, width - MARGIN), style)], width)

    def empty(self, text: str, line: int, width: int) -> Strip:
        """One line of the text that stands in place of rows."""
        style = self._style("empty")
        room = max(1, width - 2 * MARGIN)
        lines = [
            piece.plain
            for paragraph in text.split("\n")
            for piece in Text(visible(paragraph)).wrap(self._table.app.console, room)
        ]
        shown = lines[line] if line < len(lines) else ""
        return Strip([Segment(" " * MARGIN + fit(shown, width - MARGIN), style)], width)

    def _title(self, place: Place, sort: Sort | None, base: Style) -> list[Segment]:
        column = self._columns[place.index]
        style = self._style("header-cursor") if place.index == self._table.cursor_column else base
        mark = ""
        if sort is not None and sort.key == column.key:
            mark = DESCENDING_MARK if sort.descending else ASCENDING_MARK
        shown = cut(self._titles[place.index], place.width)
        lead = " " * (place.width - cell_len(shown)) if column.numeric else ""
        # The mark stands right behind the title, in the gap if need be, so that sorting moves nothing.
        rest = place.end - place.x - len(lead) - cell_len(shown) - len(mark)
        return [Segment(lead, base), Segment(shown + mark, style), Segment(" " * rest, base)]

    def _cell(self, place: Place, value: Any, base: Style, lead: Lead, *, cursor: bool) -> list[Segment]:
        column = self._columns[place.index]
        style = base
        if cursor and place.index == self._table.cursor_column:
            style += self._table.get_component_rich_style("frame-table--cursor-cell", partial=True)
        text = value_text(column, value, self._table.messages, exact=False)
        if text == UNKNOWN and value is None:
            style += self._table.get_component_rich_style("frame-table--unknown", partial=True)
        if lead.before or lead.after:
            segments = self._led(text, place.width, style, lead, cursor=cursor)
        else:
            fitted = fit(text, place.width, right=column.numeric)
            segments = self._marked(fitted, style) if column.kind in TEXT_KINDS else [Segment(fitted, style)]
        if place.bar:
            bar_style = base + self._table.get_component_rich_style("frame-table--bar", partial=True)
            largest = self._largest.get(column.key)
            fraction = value / largest if value is not None and largest else None
            segments += [Segment(" ", base), Segment(bar_text(fraction, place.bar), bar_style)]
        return [*segments, Segment(" " * GAP, base)]

    def _led(self, text: str, width: int, style: Style, lead: Lead, *, cursor: bool) -> list[Segment]:
        """The text between its marks, which stay whole where there is room for them.

        On the ground of the cursor a mark of another colour could not be read.
        """
        before = [self._mark(mark, style, plain=cursor) for mark in lead.before]
        after = [self._mark(mark, style, plain=cursor) for mark in lead.after]
        room = width - sum(segment.cell_length for segment in (*before, *after))
        shown = cut(text, max(room, 0))
        rest = Segment(" " * max(0, room - cell_len(shown)), style)
        line = Strip([*before, *self._marked(shown, style), *after, rest])
        return list(line.adjust_cell_length(width, style))

    def _mark(self, mark: Mark, style: Style, *, plain: bool) -> Segment:
        if mark.part and not plain:
            style += self._table.get_component_rich_style(mark.part, partial=True)
        return Segment(mark.text, style)

    def _marked(self, text: str, style: Style) -> list[Segment]:
        """The text with the part that the filter found marked."""
        wanted = self._table.filter.lower()
        lower = text.lower()
        # Lower case of a few letters is longer; then places in one are not places in the other.
        start = lower.find(wanted) if wanted and len(lower) == len(text) else -1
        if start < 0:
            return [Segment(text, style)]
        end = start + len(wanted)
        match = style + self._table.get_component_rich_style("frame-table--match", partial=True)
        pieces = ((text[:start], style), (text[start:end], match), (text[end:], style))
        return [Segment(piece, piece_style) for piece, piece_style in pieces if piece]

    def _style(self, part: str) -> Style:
        return self._table.rich_style + self._table.get_component_rich_style(
            f"frame-table--{part}", partial=True
        )
