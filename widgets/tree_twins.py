"""Finding the nodes of one tree again in another, so that what is open and selected stays so."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from widgets.tree_rows import TreeRows

_NUMBER = re.compile(r"\d+")


def carry_over(old: TreeRows, new: TreeRows, selected: int | None) -> int | None:
    """Open in one tree what is open in another, and find the selected node again.

    Nodes are the same if the names on the way to them are; where a name is not there, the numbers in it may
    differ, for batches and steps are counted on (``## forward 21 ##``, ``## forward 22 ##``).

    Args:
        old: The tree seen so far.
        new: The tree in its place; everything in it is closed yet.
        selected: A node of the old one.

    Returns:
        The selected node in the new tree, or the nearest one above it that is there.
    """
    way = set() if selected is None else set(old.path(selected))
    found: int | None = None
    waiting = [(-1, -1)]
    while waiting:
        old_parent, new_parent = waiting.pop()
        children = old.children_of(old_parent)
        wanted = [child for child in children if child in way or old.state_of(child)[0]]
        if not wanted:
            continue
        twins = _twins(old, children, wanted, new, new.children_of(new_parent))
        for node, twin in twins.items():
            new.set_state(twin, *old.state_of(node))
            if node in way and (found is None or new.depth[twin] > new.depth[found]):
                found = twin
            waiting.append((node, twin))
    return found


def _twins(
    old: TreeRows, children: list[int], wanted: list[int], new: TreeRows, candidates: list[int]
) -> dict[int, int]:
    """For the wanted ones of some children the candidate that is the same node."""
    if len(children) == 1 and len(candidates) == 1 and old.parent[children[0]] < 0:
        return {children[0]: candidates[0]}
    names = {child: _name(old, child) for child in children}
    exact: dict[str, int] = {}
    alike: defaultdict[str, list[int]] = defaultdict(list)
    for candidate in candidates:
        name = _name(new, candidate)
        exact.setdefault(name, candidate)
        alike[_NUMBER.sub("#", name)].append(candidate)
    twins = {child: exact[names[child]] for child in wanted if names[child] in exact}
    places: defaultdict[str, list[int]] = defaultdict(list)
    for child in children:
        places[_NUMBER.sub("#", names[child])].append(child)
    for child in wanted:
        if child not in twins:
            key = _NUMBER.sub("#", names[child])
            place = places[key].index(child)
            if place < len(alike[key]):
                twins[child] = alike[key][place]
    return twins


def _name(tree: TreeRows, node: int) -> str:
    return tree.nodes["name"][node] or ""
