"""Which rows of a tree are in view: what is open, how siblings stand, what a filter leaves."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from widgets.row_order import stable_order
from widgets.tree_lines import TreeLines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints: TypeAlias = "NDArray[np.int64]"
    Flags: TypeAlias = "NDArray[np.bool_]"

PAGE = 500
"""Children of one node shown at first, and more of them each time they are asked for."""

_ALL = np.iinfo(np.int64).max


@dataclass(slots=True, eq=False)
class _Openness:
    """What the user has opened, with or without a filter."""

    opened: Flags
    limit: Ints
    """How many children of each node are shown; the last entry is that of the roots, which all are."""
    whole: Flags
    """Nodes whose children are shown although the filter finds nothing in them."""

    @classmethod
    def of(cls, opened: Flags) -> _Openness:
        count = len(opened)
        limit = np.full(count + 1, PAGE, dtype=np.int64)
        limit[-1] = _ALL
        return cls(opened, limit, np.zeros(count, dtype=np.bool_))


@dataclass(frozen=True, slots=True, eq=False)
class _Ranks:
    """Place of each node among those of its siblings that the filter lets through."""

    candidate: Flags
    rank: Ints


class TreeRows:
    """A tree of any size and depth, of which only the lines in view are ever gathered.

    Nodes stand depth first, so that everything below a node is a stretch right behind it: whether a node
    is hidden, and where it stands when siblings are sorted, are sums over such stretches and never need a
    walk down the tree.
    """

    def __init__(self, nodes: pl.DataFrame) -> None:
        """Take a tree, or several: node and parent (-1, or a node that is not there, at the top), name."""
        self.nodes = nodes
        count = nodes.height
        self.parent = _parent_rows(nodes)
        self.size = _sizes(self.parent)
        self.end = np.arange(count) + self.size
        self.children = np.bincount(self.parent + 1, minlength=count + 1)[1:]
        self.depth = _within(np.arange(count) + 1, self.end, np.ones(count, dtype=np.int64))
        roots = int((self.parent < 0).sum())
        self._first = np.concatenate([roots + np.cumsum(self.children) - self.children, [0]])
        self._plain = _Openness.of(np.zeros(count, dtype=np.bool_))
        self._filtered: _Openness | None = None
        self._kept: Flags | None = None
        self._matches: Flags | None = None
        self._small_names: pl.Series | None = None
        self._found: tuple[str, Flags] | None = None
        self._sorted_by: str | None = None
        self._by_parent = np.argsort(self.parent, kind="stable")
        self._place = self._places()

    def __len__(self) -> int:
        return len(self.parent)

    # ------------------------------------------------------ order and filter

    def sort_by(self, key: str | None) -> None:
        """Order siblings by a column, largest first, unknown ones last; None is the order of the tree."""
        if key == self._sorted_by:
            return
        self._sorted_by = key
        if key is None or not len(self):
            self._by_parent = np.argsort(self.parent, kind="stable")
        else:
            order = stable_order(self.nodes[key], descending=True).to_numpy()
            self._by_parent = order[np.argsort(self.parent[order], kind="stable")].astype(np.int64)
        self._place = self._places()

    def set_filter(self, text: str) -> None:
        """Show only nodes with ``text`` in their name, whatever its case, and the way to them."""
        if not text:
            self._filtered = self._kept = self._matches = None
            return
        self._matches = self.matching(text)
        found = np.concatenate([[0], np.cumsum(self._matches)])
        below = found[self.end] > found[np.arange(len(self)) + 1]
        self._kept = self._matches | below
        self._filtered = _Openness.of(below)

    def matching(self, text: str) -> Flags:
        """Whether each node's name contains the text; the last answer is kept."""
        if self._found is None or self._found[0] != text:
            if self._small_names is None:
                self._small_names = self.nodes["name"].cast(pl.String).str.to_lowercase()
            found = self._small_names.str.contains(text.lower(), literal=True).fill_null(value=False)
            self._found = text, found.to_numpy().astype(np.bool_)
        return self._found[1]

    @property
    def match_count(self) -> int:
        """Nodes that the filter finds; all without a filter."""
        return len(self) if self._matches is None else int(self._matches.sum())

    def is_kept(self, node: int) -> bool:
        """Whether the filter lets a node through."""
        return self._kept is None or bool(self._kept[node])

    def next_match(self, text: str, node: int | None, step: int) -> int | None:
        """The next node (``step`` 1) or the one before (-1) whose name has the text, around the ends."""
        hits = np.flatnonzero(self.matching(text))
        if not len(hits):
            return None
        hits = hits[np.argsort(self._place[hits])]
        places = self._place[hits]
        here = -1 if node is None else int(self._place[node])
        if step > 0:
            index = int(np.searchsorted(places, here, side="right"))
        else:
            index = int(np.searchsorted(places, here, side="left")) - 1
        return int(hits[index % len(hits)])

    # -------------------------------------------------------- open and close

    @property
    def _openness(self) -> _Openness:
        return self._plain if self._filtered is None else self._filtered

    def is_open(self, node: int) -> bool:
        """Whether the children of a node are in view when the node is."""
        return bool(self._openness.opened[node]) and bool(self.children[node])

    def can_open(self, node: int) -> bool:
        """Whether a node has children that are not in view."""
        return bool(self.children[node]) and not self._openness.opened[node]

    def open(self, node: int) -> None:
        """Show the children of a node; where the filter finds nothing in them, all."""
        state = self._openness
        state.opened[node] = True
        if self._kept is not None:
            stretch = self._kept[node + 1 : self.end[node]]
            state.whole[node] |= not stretch.any()

    def close(self, node: int) -> None:
        """Hide everything below a node."""
        self._openness.opened[node] = False

    def show_more(self, parent: int) -> None:
        """Show more children of a node that has more than are shown."""
        self._openness.limit[parent] += PAGE

    def open_below(self, node: int, most: int) -> None:
        """Show everything below a node, but ``most`` lines of it: level by level, the rest left out."""
        state = self._openness
        inside = slice(node + 1, int(self.end[node]))
        state.opened[inside] = False
        state.limit[inside] = PAGE
        waiting = deque([node])
        while waiting:
            current = waiting.popleft()
            if not self.children[current]:
                continue
            self.open(current)
            below = self._candidates_below(current)
            shown = min(len(below), most, PAGE)
            most -= shown
            state.limit[current] = PAGE if shown == len(below) else shown
            if shown < len(below) and not most:
                return
            waiting.extend(int(child) for child in below[:shown])

    def open_first(self, lines: int) -> None:
        """Open the first root, then the costliest child and so on, until about so many lines are in view."""
        if not len(self):
            return
        totals = self.nodes["total_ns"].fill_null(-1).to_numpy()
        current, seen = 0, 1
        while seen < lines and self.children[current]:
            self.open(current)
            below = self._below(current)
            seen += min(len(below), PAGE)
            current = int(below[np.argmax(totals[below])])

    def reveal(self, node: int) -> None:
        """Open the way to a node."""
        state = self._openness
        while self.parent[node] >= 0:
            parent = int(self.parent[node])
            if self._kept is not None and not self._kept[node]:
                state.whole[parent] = True
            state.opened[parent] = True
            rank = int(np.flatnonzero(self._candidates_below(parent) == node)[0])
            if rank >= state.limit[parent]:
                state.limit[parent] = (rank // PAGE + 1) * PAGE
            node = parent

    def _below(self, node: int) -> Ints:
        """Children of a node in their order."""
        first = self._first[node]
        return self._by_parent[first : first + self.children[node]]

    def _candidates_below(self, node: int) -> Ints:
        below = self._below(node)
        if self._kept is None or self._openness.whole[node]:
            return below
        return below[self._kept[below]]

    # ----------------------------------------------------------------- lines

    def lines(self) -> TreeLines:
        """What is in view."""
        count = len(self)
        state, ranks = self._openness, self._ranks()
        limit = state.limit[self.parent]
        here = np.arange(count)
        gone = ~ranks.candidate | (ranks.rank >= limit)
        hidden = _within(here, self.end, gone.astype(np.int64))
        hidden += _within(here + 1, self.end, (~state.opened).astype(np.int64))
        shown = np.flatnonzero(hidden == 0)
        # The first child left out, of a parent in view and open, lends its place to the line that tells so.
        first_out = np.flatnonzero(ranks.candidate & (ranks.rank == limit))
        owner = self.parent[first_out]
        in_view = (owner >= 0) & (hidden[owner] == 0) & state.opened[owner]
        first_out, owner = first_out[in_view], owner[in_view]
        candidates = np.bincount(self.parent + 1, weights=ranks.candidate, minlength=count + 1)[1:]
        left_out = candidates[owner].astype(np.int64) - state.limit[owner]
        order = np.argsort(np.concatenate([self._place[shown], self._place[first_out]]), kind="stable")
        return TreeLines(
            np.concatenate([shown, owner])[order],
            np.concatenate([np.zeros(len(shown), dtype=np.int64), left_out])[order],
        )

    def _ranks(self) -> _Ranks:
        if self._kept is None:
            candidate = np.ones(len(self), dtype=np.bool_)
        else:
            whole = np.concatenate([self._openness.whole, [False]])
            candidate = self._kept | whole[self.parent]
        sorted_candidate = candidate[self._by_parent].astype(np.int64)
        before = np.cumsum(sorted_candidate) - sorted_candidate
        rank = np.empty(len(self), dtype=np.int64)
        if len(self):
            rank[self._by_parent] = before - before[self._first[self.parent[self._by_parent]]]
        return _Ranks(candidate, rank)

    def _places(self) -> Ints:
        """Where every node stands when the whole tree is open."""
        sizes = self.size[self._by_parent]
        before = np.cumsum(sizes) - sizes
        offset = np.empty(len(self), dtype=np.int64)
        if len(self):
            parents = self.parent[self._by_parent]
            offset[self._by_parent] = before - before[self._first[parents]] + (parents >= 0)
        return _within(np.arange(len(self)), self.end, offset)

    # ------------------------------------------------------- for other trees

    def path(self, node: int) -> list[int]:
        """The way to a node from its root, itself at the end."""
        way = [node]
        while self.parent[way[-1]] >= 0:
            way.append(int(self.parent[way[-1]]))
        return way[::-1]

    def children_of(self, node: int) -> list[int]:
        """Children of a node in the order of the tree; of -1 the roots."""
        children = np.flatnonzero(self.parent == node) if node < 0 else np.sort(self._below(node))
        return [int(child) for child in children]

    def state_of(self, node: int) -> tuple[bool, int]:
        """Whether a node is open when nothing is filtered, and how many of its children are shown."""
        return bool(self._plain.opened[node]), int(self._plain.limit[node])

    def set_state(self, node: int, opened: bool, limit: int) -> None:
        """Open or close a node for when nothing is filtered."""
        self._plain.opened[node], self._plain.limit[node] = opened, limit


def _parent_rows(nodes: pl.DataFrame) -> Ints:
    """The row of each node's parent, -1 at the top."""
    ids = nodes["node"].to_numpy()
    parents: Ints = nodes["parent"].to_numpy().astype(np.int64)
    if not len(ids):
        return parents
    order = np.argsort(ids, kind="stable")
    found = np.minimum(np.searchsorted(ids, parents, sorter=order), len(ids) - 1)
    return np.where(ids[order[found]] == parents, order[found], -1)


def _sizes(parent: Ints) -> Ints:
    """How many nodes each node's stretch has, itself included."""
    sizes = [1] * len(parent)
    parents = parent.tolist()
    for node in range(len(parents) - 1, -1, -1):
        if parents[node] >= 0:
            sizes[parents[node]] += sizes[node]
    return np.array(sizes, dtype=np.int64)


def _within(start: Ints, end: Ints, weight: Ints) -> Ints:
    """For each row the sum of the weights of all stretches ``[start, end)`` that hold it."""
    count = len(start)
    change = np.bincount(start, weights=weight, minlength=count + 1)
    change -= np.bincount(end, weights=weight, minlength=count + 1)
    return np.cumsum(change)[:count].astype(np.int64)
