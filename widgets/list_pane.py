"""A pane of lists: sub-tabs, the list in view, the selected row's story, and the way down and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.containers import Container, Vertical
from textual.widgets import ContentSwitcher

from analysis.units import count_text
from widgets.banner import Banner
from widgets.cursor_table import HEADER_LINES
from widgets.detail import Detail
from widgets.frame_line import Part, PartLine
from widgets.frame_table import FrameTable
from widgets.level import Level, LevelView, Story
from widgets.pane import Pane

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from textual.app import ComposeResult

    from analysis.report.messages import Messages


_STORY_LINES = 7
_LEAST_LINES = 3
"""Lines of a story below which it is left out."""
_LEAST_ROWS = 6
"""Rows of the list for which the story below it gives way."""
_BORDER = 1
_LEAST_BESIDE = 100
"""Cells from which on the story may stand beside the list."""


@dataclass(frozen=True, slots=True)
class View:
    """One sub-tab of a pane."""

    name: str
    """Its words are the message ``view.<pane>.<name>``."""
    level: Level
    count: int | None
    """Rows, shown in the tab; None where the list is missing."""
    counted: bool = True
    """False where the number tells nothing and stays out of the tab."""


class ListPane(Pane):
    """Every level keeps a table of its own, so that Esc finds row, order and filter just as they were."""

    DEFAULT_CSS = """
    ListPane > #views { height: 1; }
    ListPane #split { height: 1fr; layout: vertical; }
    ListPane #levels { height: 1fr; width: 1fr; }
    ListPane Detail { height: 7; width: 1fr; }
    ListPane #story { height: auto; width: 1fr; }
    ListPane.-beside #split { layout: horizontal; }
    ListPane.-beside #levels { width: 3fr; }
    ListPane.-beside #story { width: 2fr; height: 1fr; }
    """
    _BY_TABLE: ClassVar[frozenset[str]] = frozenset(
        {"filter", "sort", "next_match", "previous_match", "copy", "full_value"}
    )

    def __init__(self, messages: Messages) -> None:
        super().__init__(messages)
        self._views: dict[str, View] = {}
        self._stacks: dict[str, list[LevelView]] = {}
        self._view = ""
        self._has_story = False
        self._arrangement = (False, _STORY_LINES)
        """Whether the story stands beside the list, and its lines."""
        self._opened = 0
        """Levels opened so far, for names that none of those on their way out still has."""
        self._sent_to: tuple[str, str] | None = None
        """View and filter of the last ``go_to``."""

    def compose(self) -> ComposeResult:
        """Sub-tabs, then list and story."""
        yield PartLine(id="views")
        with Container(id="split"):
            yield ContentSwitcher(id="levels")
            with Vertical(id="story"):
                yield Detail()

    # ------------------------------------------------------------- levels

    def set_views(self, views: Mapping[str, View]) -> None:
        """Set the sub-tabs and show the first that has rows."""
        self._views = dict(views)
        switcher = self.query_one("#levels", ContentSwitcher)
        for name, view in self._views.items():
            level_view = LevelView(view.level, self.messages)
            level_view.id = f"level-{name}-0"
            level_view.display = False
            self._stacks[name] = [level_view]
            switcher.mount(level_view)
        filled = (name for name, view in self._views.items() if view.count)
        self._show_view(next(filled, next(iter(self._views))))

    @property
    def _stack(self) -> list[LevelView]:
        return self._stacks.get(self._view, [])

    @property
    def top_level(self) -> LevelView | None:
        """The level in view."""
        return self._stack[-1] if self._stack else None

    # ------------------------------------------------------- list and story

    def on_resize(self) -> None:
        """List and story share the new room."""
        self.call_after_refresh(self._share_room)

    def _share_room(self) -> None:
        """The story stands beside the list where that cuts no column, else below with what the list leaves.

        So a wider screen never shows fewer columns, and a low one shows rows before it tells their story.
        """
        room, table = self.query_one("#split").size, self.table()
        if not room.width or table is None:
            return
        narrow, wide = (table.widths_within(width) for width in (room.width * 3 // 5, room.width))
        beside = room.width >= _LEAST_BESIDE and narrow == wide
        lines = max(_STORY_LINES, room.height // 3)
        if not beside:
            lines = min(lines, room.height - _BORDER - HEADER_LINES - _LEAST_ROWS)
        arrangement = beside, 0 if lines < _LEAST_LINES else lines
        if arrangement != self._arrangement:
            self._arrangement = arrangement
            self.set_class(beside, "-beside")
            self.query_one(Detail).styles.height = "1fr" if beside else max(1, lines)
            self._show_story()

    def _show_story(self) -> None:
        """An empty story takes no room, nor one for which there is none."""
        beside, lines = self._arrangement
        self.query_one("#story").display = self._has_story and (beside or lines > 0)

    def _show_view(self, name: str) -> None:
        self._view = name
        self._draw_views()
        self._show_top()

    def _show_top(self) -> None:
        level = self.top_level
        if level is None:
            return
        self.query_one("#levels", ContentSwitcher).current = level.id
        self._tell_story(level.table.highlighted_row if level.is_mounted and level.ready else None)
        self.call_after_refresh(self._share_room)
        self.call_after_refresh(self.keep_focus)
        self.post_message(self.Changed(self))

    def _push(self, level: Level, below: str | None = None) -> None:
        """Show a list below the one in view, or below the last one of another sub-tab."""
        name = self._view if below is None else below
        self._opened += 1
        view = LevelView(level, self.messages)
        view.id = f"level-{name}-{self._opened}"
        view.display = False
        self._stacks[name].append(view)
        self.query_one("#levels", ContentSwitcher).mount(view)
        self.call_after_refresh(self._show_top)

    def _draw_views(self) -> None:
        parts = []
        for name, view in self._views.items():
            words = self.messages.text(f"view.{self.NAME}.{name}")
            if view.count is not None and view.counted:
                words += f" {count_text(view.count)}"
            parts.append(Part(name, words, selected=name == self._view, dim=view.count is None))
        self.query_one("#views", PartLine).show(parts)

    def _tell_story(self, row: Mapping[str, Any] | None) -> None:
        level = self.top_level
        story = Story() if row is None or level is None else level.level.story(row, self.messages)
        self.query_one(Detail).show(story.title, story.pairs, story.lines, story.lead)
        self._has_story = bool(story.title or story.pairs or story.lines or story.lead)
        self._show_story()

    @on(LevelView.Filled)
    def _level_filled(self, event: LevelView.Filled) -> None:
        event.stop()
        if event.view is self.top_level:
            self._show_top()

    @on(FrameTable.RowHighlighted)
    def _row_highlighted(self, event: FrameTable.RowHighlighted) -> None:
        event.stop()
        level = self.top_level
        if level is not None and level.is_mounted and event.table is level.table:
            self._tell_story(event.row)
            self.post_message(self.Changed(self))

    @on(FrameTable.RowSelected)
    def _row_selected(self, event: FrameTable.RowSelected) -> None:
        event.stop()
        self._open(event.row)

    def _open(self, row: Mapping[str, Any]) -> None:
        level = self.top_level
        deeper = level.level.opens(row) if level is not None else None
        if deeper is not None:
            self._push(deeper)

    @on(PartLine.Clicked, "#views")
    def _view_clicked(self, event: PartLine.Clicked) -> None:
        event.stop()
        self._show_view(event.name)

    # ----------------------------------------------------- asked by the frame

    def take_focus(self) -> None:
        """The keyboard goes to the table."""
        if self.top_level is not None and self.top_level.is_mounted:
            self.top_level.take_focus()

    def trail(self) -> tuple[str, ...]:
        """Pane, list, and the levels below it."""
        if not self._view:
            return super().trail()
        words = self.messages.text(f"view.{self.NAME}.{self._view}")
        return (*super().trail(), words, *(view.level.crumb(self.messages) for view in self._stack[1:]))

    def table(self) -> FrameTable | None:
        """The table in view."""
        level = self.top_level
        return level.table if level is not None and level.is_mounted and level.ready else None

    def allows(self, action: str) -> bool:
        """Whether the action does something now."""
        of_pane = {
            "next_view": len(self._views) > 1,
            "previous_view": len(self._views) > 1,
            "detail_down": self.query_one(Detail).max_scroll_y > 0,
            "detail_up": self.query_one(Detail).max_scroll_y > 0,
            "back": len(self._stack) > 1 or bool(self._filter_text()),
        }
        if action in of_pane:
            return of_pane[action]
        tells = action == "full_value" and bool(self._folded_remarks())
        table = self.table()
        if table is None:
            return tells
        if action == "open_row":
            row = table.highlighted_row
            level = self.top_level
            return row is not None and level is not None and level.level.opens(row) is not None
        if action in {"next_match", "previous_match"}:
            return bool(self._filter_text())
        if action == "filter":
            return table.row_count > 0
        return tells or (action in self._BY_TABLE and table.match_count > 0)

    def _filter_text(self) -> str:
        table = self.table()
        return table.filter if table is not None else ""

    def go_to(self, view: str, filter_text: str | None, row: Mapping[str, Any] | None = None) -> None:
        """Show a list from its top level: one of its rows, or those that a text is in."""
        if view not in self._views:
            return
        self._view = view
        while len(self._stack) > 1:
            self._stack.pop().remove()
        self._show_view(view)
        # A row that is known is shown among the others.
        text = "" if row else filter_text or ""
        self._sent_to = view, text
        level = self.top_level
        if level is not None and level.is_mounted:
            level.filter_by(text)
            level.table.action_move_first()
            if row:
                level.select_row(row)

    def is_where_sent(self) -> bool:
        """Whether nothing was opened, filtered or turned since."""
        return len(self._stack) == 1 and (self._view, self._filter_text()) == self._sent_to

    def go_back(self) -> None:
        """Drop the filter of this list, else return one level."""
        level = self.top_level
        if level is not None and self._filter_text():
            level.filter_by("")
            self.post_message(self.Changed(self))
        elif len(self._stack) > 1:
            self._stack.pop().remove()
            self._show_top()

    def full_value(self) -> str | None:
        """The value under the cursor in full and exact, and the remarks that a low screen had no room for."""
        parts = [self._value(), "\n".join(self._folded_remarks())]
        return "\n\n".join(part for part in parts if part) or None

    def _value(self) -> str:
        """The cell under the cursor, or what the level takes for the whole of the row."""
        table, level = self.table(), self.top_level
        if table is None or level is None:
            return ""
        row, whole = table.highlighted_row, level.level.whole
        if row is not None and whole is not None:
            return whole(row, self.messages)
        return table.full_value()

    def _folded_remarks(self) -> tuple[str, ...]:
        return tuple(remark for banner in self.query(Banner) for remark in banner.folded)

    def relabel(self, messages: Messages) -> None:
        """Another language; rows, views and filters stay."""
        self.messages = messages
        for stack in self._stacks.values():
            for view in stack:
                view.set_messages(messages)
        self._draw_views()
        table = self.table()
        self._tell_story(table.highlighted_row if table is not None else None)

    def do_open_row(self) -> None:
        """Enter."""
        table = self.table()
        row = table.highlighted_row if table is not None else None
        if row is not None:
            self._open(row)

    def do_next_view(self) -> None:
        """The next list."""
        self._turn_view(1)

    def do_previous_view(self) -> None:
        """The list before."""
        self._turn_view(-1)

    def _turn_view(self, by: int) -> None:
        names = list(self._views)
        self._show_view(names[(names.index(self._view) + by) % len(names)])

    def do_detail_down(self) -> None:
        """Scroll the story down."""
        self.query_one(Detail).scroll_down(animate=False)

    def do_detail_up(self) -> None:
        """Scroll the story up."""
        self.query_one(Detail).scroll_up(animate=False)

    def do_filter(self) -> None:
        """Type a filter."""
        if self.top_level is not None:
            self.top_level.filter_bar.open()

    def do_sort(self) -> None:
        """Sort by the column of the cursor."""
        table = self.table()
        if table is not None:
            table.cycle_sort()

    def do_next_match(self) -> None:
        """The next row that matches."""
        table = self.table()
        if table is not None:
            table.next_match()

    def do_previous_match(self) -> None:
        """The matching row before."""
        table = self.table()
        if table is not None:
            table.previous_match()


def row_count(frame: pl.DataFrame | Any) -> int | None:
    """Rows of a result frame; None where it is missing."""
    height = getattr(frame, "height", None)
    return height if isinstance(height, int) else None
