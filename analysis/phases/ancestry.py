"""Questions about the bars above a bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from analysis.trace.nesting import Flags, Ints


def nearest(marked: Flags, parent: Ints) -> Ints:
    """Row of the nearest marked bar at or above each bar, -1 where none is marked.

    Whoever points to a bar that is not marked takes over what that one points to, so that a chain of any
    depth takes as many rounds as its length has binary digits.

    Args:
        marked: Which bars count.
        parent: Row of the parent of each bar, -1 at the top.
    """
    found = np.where(marked, np.arange(marked.size), parent)
    waiting = np.flatnonzero(found >= 0)
    waiting = waiting[~marked[found[waiting]]]
    while waiting.size:
        found[waiting] = found[found[waiting]]
        waiting = waiting[found[waiting] >= 0]
        waiting = waiting[~marked[found[waiting]]]
    return found


def inside(marked: Flags, parent: Ints) -> Flags:
    """Whether each bar is marked or lies in a marked one.

    Args:
        marked: Which bars count.
        parent: Row of the parent of each bar, -1 at the top.
    """
    return nearest(marked, parent) >= 0 if marked.any() else marked


def by_level(rows: Ints, depth: Ints) -> list[Ints]:
    """The rows in groups of one depth, from the top down: whoever is above a bar comes before it."""
    order = rows[np.argsort(depth[rows], kind="stable")]
    return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1) if order.size else []
