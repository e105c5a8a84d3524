"""A table over a polars frame of any length: sort, filter, copies, drawn line by line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.reactive import reactive
from textual.strip import Strip

from analysis.report.columns import TEXT_KINDS, Column, value_text
from widgets import copies
from widgets.cursor_table import HEADER_LINES, CursorTable, TableMessage
from widgets.messages import catalogue
from widgets.row_painter import RowPainter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from analysis.report.messages import Messages
    from widgets.frame_view import FrameView, Wording
    from widgets.row_painter import Leads


@dataclass(frozen=True, slots=True)
class Sort:
    """Order of the rows."""

    key: str
    descending: bool


class FrameTable(CursorTable):
    """Rows of a frame, of which only those on screen are ever touched.

    The owner hands over frames and listens; the table keeps its sort, its filter and the selected row when
    another frame, order or filter comes.
    """

    DEFAULT_CSS = """
    FrameTable {
        height: 1fr;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 0;
        & > .frame-table--header { text-style: bold; }
        & > .frame-table--header-cursor { text-style: bold; }
        & > .frame-table--cursor { text-style: bold; }
        & > .frame-table--cursor-cell { text-style: bold; }
        & > .frame-table--match { text-style: underline; }
        & > .frame-table--unknown { text-style: dim; }
        & > .frame-table--empty { text-style: dim; }
        &:focus > .frame-table--header-cursor { text-style: bold underline; }
        &:focus > .frame-table--cursor { text-style: reverse; }
        &:focus > .frame-table--cursor-cell { text-style: reverse bold underline; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "frame-table--header",
        "frame-table--header-cursor",
        "frame-table--row",
        "frame-table--cursor",
        "frame-table--cursor-cell",
        "frame-table--match",
        "frame-table--bar",
        "frame-table--unknown",
        "frame-table--empty",
    }
    """Header, its cell above the column cursor, rows, the row and the cell under the cursor (on top of the
    row's style), the part of a name that the filter found, bars, the mark of unknown values, the text of an
    empty table."""

    LEAST_BAR: ClassVar[int] = 0
    """Cells of bars for which text columns are cut; 0 where bars take only what is left over."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "cycle_sort", "Sort by this column", id="table.sort", show=False),
        Binding("n", "next_match", "Next match", id="table.next_match", show=False),
        Binding("N", "previous_match", "Match before", id="table.previous_match", show=False),
    ]

    sort: reactive[Sort | None] = reactive(None, init=False)
    """Order of the rows; None is the frame's own."""
    filter: reactive[str] = reactive("", init=False)
    """Only rows with this text in a text column are shown; empty shows all."""

    @dataclass
    class ViewChanged(TableMessage):
        """Frame, order or filter changed; how many rows are shown of how many."""

        shown: int
        total: int

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        messages: Messages | None = None,
        sort: Sort | None = None,
        identity: Sequence[str] = (),
        empty_text: str = "",
        name: str | None = None,
        id: str | None = None,  # noqa: A002  # Textual's own name
        classes: str | None = None,
    ) -> None:
        """Make an empty table.

        Args:
            columns: What to show; columns that a frame lacks are left out.
            messages: Words of both ``analysis.report`` and ``widgets``; English if not given.
            sort: First order. The frame's own order if not given.
            identity: Columns that together name a row, by which the selected row is found again in another
                frame; without them the position is kept.
            empty_text: What stands in place of rows when there are none.
            name: Textual's name of the widget.
            id: Textual's id of the widget.
            classes: Textual's classes of the widget.
        """
        super().__init__(name=name, id=id, classes=classes)
        self._columns = tuple(columns)
        self._messages = messages or catalogue("en")
        self._identity = tuple(identity)
        self._empty_text = empty_text
        self._last_search = ""
        self._painter = RowPainter(self)
        self.set_reactive(FrameTable.sort, sort)

    # What the owner does and asks.

    @property
    def row_count(self) -> int:
        """All rows of the frame."""
        return 0 if self._view is None else self._view.frame.height

    @property
    def found(self) -> tuple[int, int]:
        """How many rows the filter finds, of how many."""
        return self.match_count, self.row_count

    def prepare(self, frame: pl.DataFrame) -> None:
        """Do what can be done in a thread of its own before ``set_frame`` with the same frame."""

    def set_frame(self, frame: pl.DataFrame, *, columns: Sequence[Column] | None = None) -> None:
        """Show other rows, in other columns if given; order and filter stay, and the row if it is there."""
        kept = self.highlighted_row
        self._columns = self._columns if columns is None else tuple(columns)
        self._choose_columns(frame)
        view = self._view = self._frame_view(frame)
        if self.sort is not None and any(column.key == self.sort.key for column in self._shown):
            view.sort_by(self.sort.key, descending=self.sort.descending)
        view.set_filter(self.filter)
        self._measure(view)
        self._highlighted = None
        self._show_row(self._find_again(kept))

    def set_messages(self, messages: Messages) -> None:
        """Switch the language."""
        self._messages = messages
        self._reload()

    def set_empty_text(self, text: str) -> None:
        """Say something else in place of rows that are not there."""
        self._empty_text = text
        self.refresh()

    def sort_by(self, key: str | None, descending: bool = False) -> None:
        """Order the rows by a column; None is the frame's own order."""
        self.sort = None if key is None else Sort(key, descending)

    def cycle_sort(self) -> None:
        """Sort by the column under the cursor: numbers largest first, text from A; again turns it round."""
        if not self._shown:
            return
        column = self._shown[self.cursor_column]
        if self.sort is not None and self.sort.key == column.key:
            self.sort = Sort(column.key, not self.sort.descending)
        else:
            self.sort = Sort(column.key, column.kind not in TEXT_KINDS)

    def set_filter(self, text: str) -> None:
        """Show only rows that contain ``text`` in a text column, whatever its case."""
        self.filter = text

    def select_row(self, values: Mapping[str, Any]) -> None:
        """Put the cursor on the first row with exactly these values, if there is one."""
        if self._view is None or not set(values) <= set(self._view.frame.columns):
            return
        row = self._view.find_identity(values)
        position = None if row is None else self._view.position_of(row)
        if position is not None:
            self.cursor_row = position

    def has_selected(self, row: Mapping[str, Any]) -> bool:
        """Whether the selected row is the same one as a row of an earlier frame."""
        selected = self.highlighted_row
        if selected is None or not self._identity:
            return False
        return all(selected.get(key) == row.get(key) for key in self._identity)

    def next_match(self) -> None:
        """Go to the next row with the text of the filter, or of the last one, around the end."""
        self._go_to_match(1)

    def previous_match(self) -> None:
        """Go to the row before with the text of the filter, or of the last one."""
        self._go_to_match(-1)

    def cell_text(self) -> str:
        """The exact value under the cursor, as plain text without unit."""
        cell = self._cell_under_cursor()
        return "" if cell is None else copies.cell_text(*cell, self._messages)

    def full_value(self) -> str:
        """The whole value under the cursor, uncut, below its title with unit; shapes one tensor a line."""
        cell = self._cell_under_cursor()
        return "" if cell is None else copies.full_value(*cell, self._messages)

    def row_markdown(self) -> str:
        """The selected row as a Markdown table of exact values."""
        if self._view is None or not self.match_count:
            return ""
        return copies.markdown_table(self._shown, [self._view.values(self.cursor_row)], self._messages)

    def table_markdown(self, limit: int) -> str:
        """The first ``limit`` rows shown, as a Markdown table of exact values that says how many it lacks."""
        if self._view is None:
            return ""
        left_out = max(0, self.match_count - limit)
        return copies.markdown_table(self._shown, self._view.head(limit), self._messages, left_out)

    # State.

    def watch_sort(self, sort: Sort | None) -> None:
        """Reorder, with the selected row kept."""
        if self._view is None or (sort is not None and sort.key not in self._view.frame.columns):
            return
        row = self._highlighted
        if sort is None:
            self._view.sort_by(None)
        else:
            self._view.sort_by(sort.key, descending=sort.descending)
        self._show_row(row)

    def watch_filter(self, text: str) -> None:
        """Let only matching rows through, with the selected row kept if it matches."""
        self._last_search = text or self._last_search
        if self._view is not None:
            row = self._highlighted
            self._view.set_filter(text)
            self._show_row(row)

    def _title_clicked(self) -> None:
        self.cycle_sort()

    action_cycle_sort = cycle_sort
    action_next_match = next_match
    action_previous_match = previous_match

    # Drawing.

    def render_line(self, y: int) -> Strip:
        """The header, or the row at this line of the screen."""
        if y < HEADER_LINES:
            return self._painter.header(self._window, self.sort)
        position = self._position_at(y)
        if self._view is not None and position < len(self._view):
            values = self._view.values(position)
            cursor = position == self.cursor_row
            return self._painter.row(self._window, values, cursor=cursor, leads=self.leads(position))
        if not self.match_count:
            return self._painter.empty(self._text_without_rows(), y - HEADER_LINES, self._room.width)
        return Strip.blank(self.size.width, self.rich_style)

    def leads(self, position: int) -> dict[str, Leads]:
        """Marks beside the text of columns, by their keys, of the row at a position; tables have none."""
        return {}

    def lead_cells(self, key: str) -> int:
        """Cells that these marks take of a column."""
        return 0

    @property
    def messages(self) -> Messages:
        """The words in use."""
        return self._messages

    def _text_without_rows(self) -> str:
        if self.row_count and self.filter:
            return self._messages.text("table.no_match", {"text": self.filter})
        return self._empty_text

    def _cell_under_cursor(self) -> tuple[Column, Any] | None:
        if self._view is None or not self.match_count or not self._shown:
            return None
        return self._shown[self.cursor_column], self._view.values(self.cursor_row)[self.cursor_column]

    def _reload(self) -> None:
        if self._view is not None:
            self.set_frame(self._view.frame)

    def _choose_columns(self, frame: pl.DataFrame) -> None:
        self._shown = tuple(column for column in self._columns if column.key in frame.columns)

    def _frame_view(self, frame: pl.DataFrame) -> FrameView:
        # polars takes 0.3 s to import and must not delay the first paint.
        from widgets.frame_view import FrameView  # noqa: PLC0415

        text = {column.key: self._wording(column) for column in self._shown if column.kind in TEXT_KINDS}
        return FrameView(frame, [column.key for column in self._shown], text)

    def _measure(self, view: FrameView) -> None:
        """Give the columns the widths that the values of a view need."""
        self._demands = self._painter.measure(view, self._shown, self._messages)
        self.cursor_column = self.validate_cursor_column(self.cursor_column)
        self._place_columns()

    def _wording(self, column: Column) -> Wording:
        if column.words is None:
            return None
        return lambda code: value_text(column, code, self._messages, exact=False)

    def _find_again(self, kept: dict[str, Any] | None) -> int | None:
        """The frame row that is the one selected before, by its identity or else by its place on screen."""
        if kept is None or self._view is None:
            return None
        if self._identity and all(key in self._view.frame.columns for key in self._identity):
            return self._view.find_identity({key: kept[key] for key in self._identity})
        if self.cursor_row < len(self._view):
            return self._view.row_at(self.cursor_row)
        return None

    def _show_row(self, row: int | None) -> None:
        """After the view changed: put the cursor on a frame row, on the first one shown if that is hidden.

        Without a frame row the cursor stays at its position.
        """
        if self._view is None:
            return
        position = self.cursor_row if row is None else self._view.position_of(row) or 0
        self._update_virtual_size()
        self.cursor_row = position
        self._scroll_to_cursor()
        self._announce()
        self.refresh()
        self.post_message(self.ViewChanged(self, self.match_count, self.row_count))

    def _go_to_match(self, step: int) -> None:
        text = self.filter or self._last_search
        if self._view is not None and text:
            position = self._view.find(text, self.cursor_row, step)
            if position is not None:
                self.cursor_row = position
