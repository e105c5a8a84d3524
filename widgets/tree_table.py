"""A tree as a table: rows that open and close, siblings in any order, the way to what a filter finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType

from analysis.units import count_text
from widgets.cursor_table import HEADER_LINES
from widgets.frame_table import FrameTable, Sort
from widgets.phase_marks import PHASE_PARTS
from widgets.tree_marks import (
    GUIDE_PART,
    STAR_BELOW_PART,
    STAR_PART,
    below_indentation,
    is_opening_mark,
    marks_cells,
    node_marks,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from textual import events
    from textual.strip import Strip

    from analysis.report.columns import Column
    from widgets.row_painter import Leads
    from widgets.tree_lines import TreeLine, TreeLines
    from widgets.tree_rows import TreeRows

_MOST_OPENED = 2_000
"""Lines that opening everything below a node shows at most."""
_FIRST_LINES = 12
"""Lines in view at first, about."""

_SORTS = ("total_ns", "self_ns", "calls", "max_ns", "notable_max_ns")
_SORTED_BY = {"notable_max_ns": "max_ns"}
"""Columns that show some of the values of another one, by which they sort."""
_MORE_PART = "tree-table--more"
_NAME = "name"


class TreeTable(FrameTable):
    """A table over a tree (columns of ``analysis.phases.results.TREE``), whose frame holds the lines in view.

    What is open and which node is selected stay when the order, the filter or the whole tree changes; in
    another tree nodes are found again by the names on the way to them.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *PHASE_PARTS.values(),
        GUIDE_PART,
        STAR_PART,
        STAR_BELOW_PART,
        _MORE_PART,
    }
    """Letters of the phases, indentation with the marks of open and closed, ★, ☆, lines of those left out."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "close_branch", "Close, or go to the parent", id="table.left", show=False),
        Binding("right,l", "open_branch", "Open, or go to the first child", id="table.right", show=False),
        Binding("space", "toggle_branch", "Open or close", id="table.toggle", show=False),
        Binding("asterisk", "open_branches", "Open everything below", id="table.open_below", show=False),
        Binding("less_than_sign", "move_column(-1)", "Column before", id="table.column_left", show=False),
        Binding("greater_than_sign", "move_column(1)", "Next column", id="table.column_right", show=False),
    ]

    _rows: TreeRows | None = None
    _prepared: TreeRows | None = None
    _lines: TreeLines | None = None
    _wanted: int | None = None
    """The node that was to be shown last; the selected one where a filter leaves nothing in view."""

    # What the owner does and asks.

    @property
    def rows(self) -> TreeRows | None:
        """The tree, and what of it is open."""
        return self._rows

    @property
    def row_count(self) -> int:
        """All nodes of the tree."""
        return 0 if self._rows is None else len(self._rows)

    @property
    def found(self) -> tuple[int, int]:
        """How many nodes the filter finds, of how many."""
        return (0, 0) if self._rows is None else (self._rows.match_count, len(self._rows))

    @property
    def selected_node(self) -> int | None:
        """The node under the cursor, by its row in the tree's frame; None on a line of nodes left out."""
        line = self._line(self.cursor_row)
        return None if line is None or line.left_out else line.node

    def prepare(self, frame: pl.DataFrame) -> None:
        """Find out who is below whom in a tree."""
        # polars takes 0.3 s to import and must not delay the first paint.
        from widgets.tree_rows import TreeRows  # noqa: PLC0415

        self._prepared = TreeRows(frame)

    def set_frame(self, frame: pl.DataFrame, *, columns: Sequence[Column] | None = None) -> None:
        """Show another tree; what is open, order, filter and the selected node stay where they are found."""
        from widgets.tree_rows import TreeRows  # noqa: PLC0415  # see prepare
        from widgets.tree_twins import carry_over  # noqa: PLC0415

        old, prepared = self._rows, self._prepared
        self._prepared = None
        tree = prepared if prepared is not None and prepared.nodes is frame else TreeRows(frame)
        self._columns = self._columns if columns is None else tuple(columns)
        node = carry_over(old, tree, self._selected_or_parent()) if old is not None else None
        if node is None and len(tree):
            tree.open_first(_FIRST_LINES)
            node = 0
        self._rows = tree
        self._choose_columns(frame)
        self._order_tree()
        tree.set_filter(self.filter)
        # Widths come from the whole tree, so that nothing moves when rows open.
        self._measure(self._frame_view(frame))
        self._highlighted = None
        self._show_node(node)

    def has_selected(self, row: Mapping[str, Any]) -> bool:
        """Whether the selected node is the one that a node of an earlier tree was, numbers in names apart."""
        from widgets.tree_twins import same_name  # noqa: PLC0415  # see prepare

        selected = self.highlighted_row
        if selected is None or selected["depth"] != row["depth"]:
            return False
        return same_name(selected["name"], row["name"])

    def next_match(self) -> None:
        """Go to the next node with the text of the filter, or of the last one, opening the way to it."""
        self._go_to_match(1)

    def toggle_branch(self) -> None:
        """Open the selected node, or close it."""
        opened = self._open_selected()
        if opened is not None:
            self._close(opened)

    def open_branches(self) -> None:
        """Open everything below the selected node, as far as it is not too much to look through."""
        node = self.selected_node
        if self._rows is not None and node is not None and self._rows.children[node]:
            self._rows.open_below(node, _MOST_OPENED)
            self._show_node(node)

    def cycle_sort(self) -> None:
        """The next order of siblings: that of the tree, by total, self, calls, the longest call."""
        keys = {column.key for column in self._shown}
        orders = [None, *(Sort(key, descending=True) for key in _SORTS if key in keys)]
        place = orders.index(self.sort) if self.sort in orders else 0
        self.sort = orders[(place + 1) % len(orders)]

    def can_toggle(self) -> bool:
        """Whether the selected line opens or closes."""
        line = self._line(self.cursor_row)
        if self._rows is None or line is None:
            return False
        return line.left_out > 0 or bool(self._rows.children[line.node])

    # State.

    def watch_sort(self, sort: Sort | None) -> None:
        """Reorder siblings, with the selected node kept."""
        if self._rows is not None:
            node = self._selected_or_parent()
            self._order_tree()
            self._show_node(node)

    def watch_filter(self, text: str) -> None:
        """Show the way to what is found, with the selected node kept if it is on it, or nothing is found."""
        self._last_search = text or self._last_search
        if self._rows is None:
            return
        node = self._selected_or_parent()
        self._rows.set_filter(text)
        first = self._rows.next_match(text, None, 1) if text else None
        if first is not None and (node is None or not self._rows.is_kept(node)):
            node = first
        if not text and node is not None:
            self._rows.reveal(node)
        self._show_node(node)
        if first is not None:
            self._scroll_down_to(self._position(first) or 0)

    # Keys and mouse.

    def action_open_branch(self) -> None:
        """Open the selected node; go to its first child if it is open."""
        if self._open_selected() is not None:
            self.cursor_row += 1

    def _open_selected(self) -> int | None:
        """Open the selected node where it is closed; the node where it is open already."""
        line = self._line(self.cursor_row)
        if self._rows is None or line is None:
            return None
        if line.left_out or self._rows.can_open(line.node):
            self._open(line)
            return None
        return line.node if self._rows.is_open(line.node) else None

    def action_close_branch(self) -> None:
        """Close the selected node; go to its parent if it is closed."""
        line = self._line(self.cursor_row)
        if self._rows is None or line is None:
            return
        if not line.left_out and self._rows.is_open(line.node):
            self._close(line.node)
            return
        parent = line.node if line.left_out else int(self._rows.parent[line.node])
        if parent >= 0:
            self._show_node(parent)

    action_toggle_branch = toggle_branch
    action_open_branches = open_branches
    action_cycle_sort = cycle_sort
    action_next_match = next_match

    def action_select(self) -> None:
        """Ask to open the selected node; a line of nodes left out shows more of them."""
        line = self._line(self.cursor_row)
        if line is not None and line.left_out:
            self._open(line)
        else:
            super().action_select()

    def on_click(self, event: events.Click) -> None:
        """Open or close where the mark was clicked; otherwise as in any table."""
        place = event.get_content_offset(self)
        if place is not None and place.y >= HEADER_LINES and event.chain == 1:
            position = self._position_at(place.y)
            if self._is_mark(position, place.x):
                event.prevent_default()
                self.cursor_row = position
                self.toggle_branch()

    def _open(self, line: TreeLine) -> None:
        """Open a node, or show more of its children, and bring what came into view on screen."""
        tree = self._rows
        if tree is None:
            return
        if line.left_out:
            position = self.cursor_row
            tree.show_more(line.node)
            self._show_lines()
            self._put_cursor(position)
            return
        tree.open(line.node)
        before = self.match_count
        self._show_node(line.node)
        self._scroll_down_to(self.cursor_row + min(self.match_count - before, self._visible_rows - 1))

    def _close(self, node: int) -> None:
        if self._rows is not None:
            self._rows.close(node)
            self._show_node(node)

    # Drawing.

    def render_line(self, y: int) -> Strip:
        """The header, a node, or the line that tells how many nodes are left out."""
        position = self._position_at(y)
        line = self._line(position) if y >= HEADER_LINES else None
        if line is None or not line.left_out or self._rows is None:
            return super().render_line(y)
        places = self._window.places
        width = places[0].width if places else self._room.width
        text = below_indentation(self._rows, line.node, width) + self._more_text(line.left_out)
        cursor = position == self.cursor_row
        return self._painter.note(text, _MORE_PART, self._room.width, cursor=cursor)

    def leads(self, position: int) -> dict[str, Leads]:
        """The marks beside the name of a node."""
        line = self._line(position)
        if line is None or self._rows is None or self._view is None:
            return {}
        return {_NAME: node_marks(self._rows, line.node)}

    def lead_cells(self, key: str) -> int:
        """Cells of the marks beside the names."""
        return 0 if key != _NAME or self._rows is None else marks_cells(self._rows)

    # Inside.

    def _line(self, position: int) -> TreeLine | None:
        return None if self._lines is None else self._lines.at(position)

    def _selected_or_parent(self) -> int | None:
        line = self._line(self.cursor_row)
        return self._wanted if line is None else line.node

    def _is_mark(self, position: int, x: int) -> bool:
        line = self._line(position)
        places = self._window.places
        if line is None or self._rows is None or not places:
            return False
        return line.left_out > 0 or is_opening_mark(self._rows, line.node, places[0], x)

    def _order_tree(self) -> None:
        if self._rows is None:
            return
        key = None if self.sort is None else _SORTED_BY.get(self.sort.key, self.sort.key)
        self._rows.sort_by(key if key in self._rows.nodes.columns else None)

    def _more_text(self, count: int) -> str:
        return self._messages.text("tree.more", {"count": count_text(count)})

    def _show_lines(self) -> None:
        """Bring the table's frame up to date with the tree."""
        from widgets.tree_lines import line_frame  # noqa: PLC0415  # see prepare

        if self._rows is None:
            return
        self._lines = self._rows.lines()
        self._view = self._frame_view(line_frame(self._rows.nodes, self._lines, self._more_text))
        self._update_virtual_size()
        self.refresh()
        self.post_message(self.ViewChanged(self, self.match_count, self.row_count))

    def _show_node(self, node: int | None) -> None:
        """After the lines changed: put the cursor on a node, or on what hides it."""
        self._wanted = node
        self._show_lines()
        position = None
        while node is not None and node >= 0 and self._rows is not None and position is None:
            position = self._position(node)
            node = int(self._rows.parent[node])
        self._put_cursor(position or 0)

    def _put_cursor(self, position: int) -> None:
        self.cursor_row = position
        self._scroll_to_cursor()
        self._announce()

    def _position(self, node: int) -> int | None:
        return None if self._lines is None else self._lines.position_of(node)

    def _announce(self) -> None:
        """Tell the owner about the selected line, unless it knows."""
        line = self._line(self.cursor_row)
        key = None if line is None else -2 - line.node if line.left_out else line.node
        if key is None or key != self._highlighted:
            self._highlighted = key
            self.post_message(self.RowHighlighted(self, self.highlighted_row))

    def _go_to_match(self, step: int) -> None:
        text = self.filter or self._last_search
        if self._rows is not None and text:
            node = self._rows.next_match(text, self._selected_or_parent(), step)
            if node is not None:
                self._rows.reveal(node)
                self._show_node(node)

    def _reload(self) -> None:
        """Other words: draw the same lines anew."""
        if self._rows is None:
            return
        self._choose_columns(self._rows.nodes)
        self._measure(self._frame_view(self._rows.nodes))
        self._highlighted = None
        position = self.cursor_row
        self._show_lines()
        self._put_cursor(position)
