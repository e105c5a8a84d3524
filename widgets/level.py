"""One list of a pane: what it shows, what the selected row's story is, and what Enter opens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from textual import on, work
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static
from textual.worker import get_current_worker

from analysis.notes import Missing
from analysis.report.tables import recorded
from widgets.filter_bar import FilterBar
from widgets.frame_table import FrameTable, Sort
from widgets.missing import missing_text
from widgets.safe_text import safe_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl
    from rich.text import Text
    from textual.app import ComposeResult

    from analysis.report.columns import Column
    from analysis.report.messages import Messages
    from widgets.detail import Pair

Row: TypeAlias = "Mapping[str, Any]"


@dataclass(frozen=True, slots=True)
class Story:
    """What the detail says of the selected row."""

    title: str = ""
    pairs: Sequence[Pair] = ()
    lines: Sequence[str | Text] = ()
    lead: Sequence[str | Text] = ()
    """Lines that come before the pairs."""


@dataclass(frozen=True, slots=True)
class Level:
    """A list that a pane can show. It is data: the widgets are made by :class:`LevelView`."""

    crumb: Callable[[Messages], str]
    """Its words in the breadcrumb."""
    columns: tuple[Column, ...]
    frame: pl.DataFrame | Missing | Callable[[], pl.DataFrame | Missing]
    """The rows; why there are none; or what reads them, which then runs in a thread."""
    story: Callable[[Row, Messages], Story]
    opens: Callable[[Row], Level | None] = field(default=lambda _: None)
    """The list one level deeper; None where the row has none."""
    identity: tuple[str, ...] = ()
    sort: Sort | None = None
    """First order, where it deserves its mark in the header."""
    whole: Callable[[Row, Messages], str] | None = None
    """What the whole value of a row is, whichever column is selected; None is the cell under the cursor."""
    empty: str = "level.empty"
    """Message where the list has no rows."""
    table: type[FrameTable] = FrameTable
    """What draws the rows."""
    again: Callable[[int | None], Level | None] | None = None
    """The same list of another step (None: the mean), or None where that has no such list; no function where
    the list is the same for all steps, or what is above it decides."""


def arranged(
    columns: tuple[Column, ...], frame: pl.DataFrame | Missing | None, *first: str
) -> tuple[Column, ...]:
    """The columns that hold anything; those in ``first`` lead, so that 80 cells show them."""
    found = columns if frame is None or isinstance(frame, Missing) else recorded(columns, frame)
    leading = [column for key in first for column in found if column.key == key]
    return (*leading, *(column for column in found if column.key not in first))


class LevelView(Vertical):
    """The table of one level with its filter, or a sentence while its rows are read or cannot be had."""

    DEFAULT_CSS = """
    LevelView { height: 1fr; width: 1fr; }
    LevelView > Static { padding: 1 2; height: auto; }
    """

    @dataclass
    class Filled(Message):
        """The rows are there."""

        view: LevelView

    def __init__(self, level: Level, messages: Messages) -> None:
        super().__init__()
        self.level = level
        self.messages = messages
        self.ready = False
        """True once the table has its rows."""
        self._missing: Missing | None = None
        self._wanted = level
        """What was asked for last."""
        self._wanted_row: Row = {}
        """The row to select as soon as it is there."""

    def compose(self) -> ComposeResult:
        """A filter, a table, and the sentence in its place."""
        yield FilterBar(messages=self.messages)
        yield self.level.table(
            self.level.columns, messages=self.messages, identity=self.level.identity, sort=self.level.sort
        )
        yield Static("", markup=False)

    def on_mount(self) -> None:
        """Show the rows, or begin to read them."""
        self.table.display = False
        self.replace(self.level)

    def replace(self, level: Level) -> None:
        """Show the same list of another step; the old rows and stories stay until the new ones are there."""
        self._wanted = level
        if callable(level.frame):
            if not self.ready:
                self._say(None)
            self._read(level, level.frame, self.table)
        else:
            self._fill(level, level.frame)

    @property
    def table(self) -> FrameTable:
        """The table."""
        return self.query_one(FrameTable)

    @property
    def filter_bar(self) -> FilterBar:
        """The filter line above the table."""
        return self.query_one(FilterBar)

    def _say(self, missing: Missing | None) -> None:
        """The sentence in place of rows."""
        self._missing = missing
        words = (
            self.messages.text("level.reading") if missing is None else missing_text(missing, self.messages)
        )
        self.query_one(Static).update(safe_text(words))
        self.query_one(Static).display = True

    @work(thread=True, exclusive=True)
    def _read(self, level: Level, read: Callable[[], pl.DataFrame | Missing], table: FrameTable) -> None:
        worker = get_current_worker()
        frame = read()
        if not worker.is_cancelled and not isinstance(frame, Missing):
            table.prepare(frame)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._fill, level, frame)

    def _fill(self, level: Level, frame: pl.DataFrame | Missing) -> None:
        if not self.is_attached or level is not self._wanted:
            return
        self.level = level
        self.ready = not isinstance(frame, Missing)
        self.table.display = self.ready
        if isinstance(frame, Missing):
            self._say(frame)
            return
        self.query_one(Static).display = False
        self.table.set_empty_text(self.messages.text(self.level.empty))
        self.table.set_frame(frame, columns=recorded(self.level.columns, frame))
        if self._wanted_row:
            self.select_row(self._wanted_row)
        self.post_message(self.Filled(self))

    def set_messages(self, messages: Messages) -> None:
        """Switch the language; row, order and filter stay."""
        self.messages = messages
        self.filter_bar.set_messages(messages)
        self.table.set_messages(messages)
        self._count()
        if self.ready:
            self.table.set_empty_text(messages.text(self.level.empty))
        else:
            self._say(self._missing)

    def take_focus(self) -> None:
        """Give the keyboard to the table, unless the user is typing a filter."""
        if self.ready and not self.filter_bar.has_focus_within:
            self.table.focus()

    def select_row(self, row: Row) -> None:
        """Put the cursor on the row with these values, now or when the rows asked for are there."""
        there = self.ready and self.level is self._wanted
        self._wanted_row = {} if there else row
        if there:
            self.table.select_row(row)

    def filter_by(self, text: str) -> None:
        """Show only rows with this text, as if it had been typed."""
        self.filter_bar.show_text(text)
        self.table.set_filter(text)
        self._count()

    @on(FilterBar.Changed)
    def _filter_changed(self, event: FilterBar.Changed) -> None:
        event.stop()
        self.table.set_filter(event.text)

    @on(FilterBar.Submitted)
    @on(FilterBar.Closed)
    def _filter_done(self, event: Message) -> None:
        event.stop()
        self.table.focus()

    @on(FrameTable.ViewChanged)
    def _count(self) -> None:
        table = self.table
        found, total = table.found
        values = {"shown": f"{found:,}", "total": f"{total:,}"}
        self.filter_bar.set_count(self.messages.text("table.match_count", values))
