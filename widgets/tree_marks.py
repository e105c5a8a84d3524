"""What stands beside the name of a node: indentation, the mark of open or closed, its phase, its star."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from widgets.phase_marks import phase_mark
from widgets.row_painter import Lead, Mark

if TYPE_CHECKING:
    from widgets.column_layout import Place
    from widgets.row_painter import Leads
    from widgets.tree_rows import TreeRows

GUIDE_PART = "tree-table--guide"
STAR_PART = "tree-table--star"
STAR_BELOW_PART = "tree-table--star-below"

_OPEN_MARK = "▾ "
_CLOSED_MARK = "▸ "
_NO_MARK = "  "
_STAR = " ★"
_STAR_BELOW = " ☆"
"""Of a closed node: there is a ★ somewhere below it."""
_STEP = 2
"""Cells that one level is indented by."""
_PHASE_CELLS = 2
_COUNTED_DEPTH = 8
"""Levels that the wish for width takes into account."""


def node_marks(tree: TreeRows, node: int) -> Leads:
    """Indentation, the mark of open or closed and the phase's letter before the name, ★ after it."""
    depth = int(tree.depth[node])
    opening = _OPEN_MARK if tree.is_open(node) else _CLOSED_MARK if tree.children[node] else _NO_MARK
    phase = _value(tree, "phase", node)
    letter = () if phase is None and tree.parent[node] < 0 else (phase_mark(phase),)
    after: tuple[Mark, ...] = ()
    if _value(tree, "star", node) is not None:
        after = (Mark(_STAR, STAR_PART),)
    elif _value(tree, "stars_below", node) and not tree.is_open(node):
        after = (Mark(_STAR_BELOW, STAR_BELOW_PART),)
    return lambda width: Lead((Mark(_indentation(depth, width) + opening, GUIDE_PART), *letter), after)


def marks_cells(tree: TreeRows) -> int:
    """Cells that these marks take in all, on the levels that are often opened."""
    if not len(tree):
        return 0
    deepest = min(int(tree.depth.max()), _COUNTED_DEPTH)
    return deepest * _STEP + len(_OPEN_MARK) + _PHASE_CELLS + len(_STAR)


def is_opening_mark(tree: TreeRows, node: int, place: Place, x: int) -> bool:
    """Whether a cell of the screen is the mark by which a node in a column opens or closes."""
    start = place.x + len(_indentation(int(tree.depth[node]), place.width))
    return bool(tree.children[node]) and start <= x < start + len(_OPEN_MARK)


def below_indentation(tree: TreeRows, node: int, width: int) -> str:
    """Blanks before what stands among the children of a node, in a column of so many cells."""
    return _indentation(int(tree.depth[node]) + 1, width) + _NO_MARK


def _value(tree: TreeRows, key: str, node: int) -> Any:
    return tree.nodes[key][node] if key in tree.nodes.columns else None


def _indentation(depth: int, width: int) -> str:
    """Blanks before a node in a column of so many cells: at most a third of it.

    Deeper levels all stand there and tell their depth as a number.
    """
    most = width // 3
    if depth * _STEP <= most:
        return " " * (depth * _STEP)
    return f"⋯{depth} ".rjust(most)
