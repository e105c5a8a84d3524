"""The cursor of a table: on which row and column it is, keys and mouse that move it, what is on screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView

from widgets.column_layout import Layout
from widgets.row_painter import Window, measured_layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events

    from analysis.report.columns import Column
    from widgets.column_layout import Demand
    from widgets.frame_view import FrameView

HEADER_LINES = 1


@dataclass
class TableMessage(Message):
    """Something happened in a table."""

    table: CursorTable

    @property
    def control(self) -> CursorTable:
        """The table it happened in."""
        return self.table


class CursorTable(ScrollView, can_focus=True):
    """Rows and columns with a cursor, of which a part is on screen.

    Where they come from, and how they are drawn, is the business of :class:`widgets.frame_table.FrameTable`.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "Next row", id="table.down", show=False),
        Binding("up,k", "move(-1)", "Row before", id="table.up", show=False),
        Binding("pagedown", "move_page(1)", "Next page", id="table.page_down", show=False),
        Binding("pageup", "move_page(-1)", "Page before", id="table.page_up", show=False),
        Binding("g,home", "move_first", "First row", id="table.first", show=False),
        Binding("G,end", "move_last", "Last row", id="table.last", show=False),
        Binding("left,h", "move_column(-1)", "Column to the left", id="table.left", show=False),
        Binding("right,l", "move_column(1)", "Column to the right", id="table.right", show=False),
        Binding("enter", "select", "Open", id="table.select", show=False),
    ]

    cursor_row: reactive[int] = reactive(0, init=False)
    """Position of the selected row among those shown."""
    cursor_column: reactive[int] = reactive(0, init=False)
    """Which of ``shown_columns`` sort and copy refer to."""

    @dataclass
    class RowHighlighted(TableMessage):
        """Another row is selected, or the selected row came with new values; None if there is none."""

        row: dict[str, Any] | None

    @dataclass
    class RowSelected(TableMessage):
        """Enter or a double click asks to open a row."""

        row: dict[str, Any]

    def __init__(self, *, name: str | None, id: str | None, classes: str | None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(name=name, id=id, classes=classes)
        self._shown: tuple[Column, ...] = ()
        self._view: FrameView | None = None
        """The rows; None until some are there."""
        self._demands: Sequence[Demand] = ()
        """The width that each column would like."""
        self._layout_of_columns = Layout((), 0)
        self._highlighted: int | None = None
        """The row that the owner was told of last."""

    @property
    def shown_columns(self) -> tuple[Column, ...]:
        """The columns that the frame has."""
        return self._shown

    @property
    def match_count(self) -> int:
        """Rows shown: those the filter lets through."""
        return 0 if self._view is None else len(self._view)

    @property
    def highlighted_row(self) -> dict[str, Any] | None:
        """Every frame column of the selected row."""
        return self._view.record(self.cursor_row) if self._view is not None and self.match_count else None

    def _announce(self) -> None:
        """Tell the owner about the selected row, unless it knows."""
        row = self._view.row_at(self.cursor_row) if self._view is not None and self.match_count else None
        if row is None or row != self._highlighted:
            self._highlighted = row
            self.post_message(self.RowHighlighted(self, self.highlighted_row))

    def _title_clicked(self) -> None:
        """The title of the column under the cursor was clicked."""

    # State.

    def validate_cursor_row(self, row: int) -> int:
        """Keep the cursor on a row."""
        return max(0, min(row, self.match_count - 1))

    def validate_cursor_column(self, column: int) -> int:
        """Keep the column cursor on a column."""
        return max(0, min(column, len(self._shown) - 1))

    def watch_cursor_row(self, old: int, new: int) -> None:
        """Move the highlight."""
        self.refresh_line(old + HEADER_LINES)
        self.refresh_line(new + HEADER_LINES)
        self._scroll_to_cursor()
        self._announce()

    def watch_cursor_column(self) -> None:
        """Move the column mark and bring its column on screen."""
        self._scroll_to_column()
        self.refresh_line(self.cursor_row + HEADER_LINES)
        self.refresh(Region(0, 0, self.size.width, HEADER_LINES))

    # Keys and mouse.

    def action_move(self, step: int) -> None:
        """Go some rows down (or up)."""
        self.cursor_row += step

    def action_move_page(self, step: int) -> None:
        """Go a screenful down (or up)."""
        self.cursor_row += step * max(1, self._visible_rows)

    def action_move_first(self) -> None:
        """Go to the first row."""
        self.cursor_row = 0

    def action_move_last(self) -> None:
        """Go to the last row."""
        self.cursor_row = self.match_count - 1

    def action_move_column(self, step: int) -> None:
        """Go some columns to the right (or left)."""
        self.cursor_column += step

    def action_select(self) -> None:
        """Ask to open the selected row."""
        row = self.highlighted_row
        if row is not None:
            self.post_message(self.RowSelected(self, row))

    def on_click(self, event: events.Click) -> None:
        """Select a row (twice: open it), or the column whose title was clicked."""
        place = event.get_content_offset(self)
        if place is None:
            return
        column = self._window.column_at(place.x)
        position = self._position_at(place.y)
        if column is not None and (place.y < HEADER_LINES or position < self.match_count):
            self.cursor_column = column
        if place.y < HEADER_LINES:
            if column is not None:
                self._title_clicked()
        elif position < self.match_count:
            self.cursor_row = position
            if event.chain == 2:  # a double click
                self.action_select()

    def on_resize(self) -> None:
        """Share the new width among the columns."""
        self._place_columns()
        self._scroll_to_cursor()

    # What is on screen.

    def widths_within(self, width: int) -> tuple[int, ...]:
        """Widths of the columns that a table of so many cells shows before it is scrolled."""
        room = width - (self.size.width - self._room.width)
        layout = measured_layout(self._demands, self._shown, room)
        return tuple(place.width for place in layout.on_screen(layout.frozen, room))

    @property
    def _window(self) -> Window:
        layout = self._layout_of_columns
        return Window(layout, layout.first_at(self.scroll_offset.x), self._room.width)

    @property
    def _room(self) -> Size:
        """Cells for header and rows, without scrollbars."""
        return self.scrollable_content_region.size

    @property
    def _visible_rows(self) -> int:
        return self._room.height - HEADER_LINES

    def _position_at(self, y: int) -> int:
        """The position of the row at a line of the screen below the header, whether there is one or not."""
        return y - HEADER_LINES + self.scroll_offset.y

    def _place_columns(self) -> None:
        self._layout_of_columns = measured_layout(self._demands, self._shown, self._room.width)
        self._update_virtual_size()
        self.refresh()

    def _update_virtual_size(self) -> None:
        self.virtual_size = Size(
            self._layout_of_columns.scroll_width(self._room.width), self.match_count + HEADER_LINES
        )

    def _scroll_to_cursor(self) -> None:
        if self._visible_rows < 1:
            return
        if self.cursor_row < self.scroll_offset.y:
            # Forced, because there is no scrollbar yet where the rows were few before.
            self.scroll_to(y=self.cursor_row, animate=False, force=True)
        else:
            self._scroll_down_to(self.cursor_row)

    def _scroll_down_to(self, position: int) -> None:
        """Scroll just as far as a row below the screen comes into view."""
        rows = self._visible_rows
        if position >= self.scroll_offset.y + rows > 0:
            # Forced, see _scroll_to_cursor.
            self.scroll_to(y=position - rows + 1, animate=False, force=True)

    def _scroll_to_column(self) -> None:
        layout = self._layout_of_columns
        if self.cursor_column < len(layout.places):
            window = self._window
            first = layout.first_for(self.cursor_column, window.first, window.width)
            if first != window.first:
                self.scroll_to(x=layout.offset(first), animate=False)
