"""Finding the nodes of one tree again in another, so that what is open and selected stays so."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from widgets.tree_rows import TreeRows


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


def same_name(one: str | None, other: str | None) -> bool:
    """Whether two names differ in nothing but the numbers in them."""
    first, second = _without_numbers([one or "", other or ""])
    return first == second


def _twins(
    old: TreeRows, children: list[int], wanted: list[int], new: TreeRows, candidates: list[int]
) -> dict[int, int]:
    """For the wanted ones of some children the candidate that is the same node."""
    if len(children) == 1 and len(candidates) == 1 and old.parent[children[0]] < 0:
        return {children[0]: candidates[0]}
    names = _names(old, children)
    # Of several candidates with one name the first counts.
    new_names = _names(new, candidates)
    exact = dict(zip(reversed(new_names), reversed(candidates), strict=True))
    named = dict(zip(children, names, strict=True))
    twins = {child: exact[named[child]] for child in wanted if named[child] in exact}
    missing = set(wanted) - twins.keys()
    if not missing:
        return twins
    alike: defaultdict[str, list[int]] = defaultdict(list)
    for candidate, key in zip(candidates, _without_numbers(new_names), strict=True):
        alike[key].append(candidate)
    seen: Counter[str] = Counter()
    for child, key in zip(children, _without_numbers(names), strict=True):
        place = seen[key]
        seen[key] += 1
        if child in missing and place < len(alike.get(key, ())):
            twins[child] = alike[key][place]
    return twins


def _names(tree: TreeRows, nodes: list[int]) -> list[str]:
    return tree.nodes["name"].cast(pl.String).fill_null("").gather(nodes).to_list()


def _without_numbers(names: list[str]) -> list[str]:
    """Names with a sign in place of each number."""
    return pl.Series(names, dtype=pl.String).str.replace_all(r"\d+", "#").to_list()
