"""One list of a pane: what it shows, what the selected row's story is, and what Enter opens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from textual import on, work
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

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


@dataclass(frozen=True, slots=True)
class Level:
    """A list that a pane can show. It is data: the widgets are made by :class:`LevelView`."""

    crumb: Callable[[Messages], str]
    """Its words in the breadcrumb."""
    columns: tuple[Column, ...]
    frame: pl.DataFrame | Missing | Callable[[], pl.DataFrame]
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

    def compose(self) -> ComposeResult:
        """A filter, a table, and the sentence in its place."""
        yield FilterBar(messages=self.messages)
        yield FrameTable(
            self.level.columns, messages=self.messages, identity=self.level.identity, sort=self.level.sort
        )
        yield Static("", markup=False)

    def on_mount(self) -> None:
        """Show the rows, or begin to read them."""
        frame = self.level.frame
        self.table.display = False
        if isinstance(frame, Missing) or callable(frame):
            self._say()
        if callable(frame):
            self._read(frame)
        elif not isinstance(frame, Missing):
            self._fill(frame)

    @property
    def table(self) -> FrameTable:
        """The table."""
        return self.query_one(FrameTable)

    @property
    def filter_bar(self) -> FilterBar:
        """The filter line above the table."""
        return self.query_one(FilterBar)

    def _say(self) -> None:
        """The sentence in place of rows."""
        frame = self.level.frame
        if isinstance(frame, Missing):
            words = missing_text(frame, self.messages)
        else:
            words = self.messages.text("level.reading")
        self.query_one(Static).update(safe_text(words))

    @work(thread=True, exclusive=True)
    def _read(self, read: Callable[[], pl.DataFrame]) -> None:
        frame = read()
        self.app.call_from_thread(self._fill, frame)

    def _fill(self, frame: pl.DataFrame) -> None:
        if not self.is_attached:
            return
        self.query_one(Static).display = False
        self.table.set_empty_text(self.messages.text(self.level.empty))
        self.table.display = True
        self.table.set_columns(recorded(self.level.columns, frame))
        self.table.set_frame(frame)
        self.ready = True
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
            self._say()

    def take_focus(self) -> None:
        """Give the keyboard to the table, unless the user is typing a filter."""
        if self.ready and not self.filter_bar.has_focus_within:
            self.table.focus()

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
        values = {"shown": f"{table.match_count:,}", "total": f"{table.row_count:,}"}
        self.filter_bar.set_count(self.messages.text("table.match_count", values))
