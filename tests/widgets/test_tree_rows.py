"""Which lines of a tree are in view, against a slow walk down the tree."""

from __future__ import annotations

import random

import polars as pl
import pytest

from widgets.tree_rows import PAGE, TreeRows
from widgets.tree_twins import carry_over


def tree(parents: list[int], names: list[str] | None = None, totals: list[int] | None = None) -> TreeRows:
    """Nodes depth first, by their parents."""
    count = len(parents)
    nodes = pl.DataFrame(
        {
            "node": list(range(count)),
            "parent": parents,
            "name": names or [f"n{node}" for node in range(count)],
            "total_ns": totals or [0] * count,
        }
    )
    return TreeRows(nodes)


def shown(rows: TreeRows) -> list[int | str]:
    """Nodes in view from top to bottom; of children left out how many."""
    lines = rows.lines()
    pairs = zip(lines.node.tolist(), lines.left_out.tolist(), strict=True)
    return [f"+{count}" if count else node for node, count in pairs]


#   0 ─ 1 ─ 2
#     │   └ 3
#     └ 4 ─ 5
SMALL = [-1, 0, 1, 1, 0, 4]


def test_children_of_closed_nodes_are_not_in_view() -> None:
    rows = tree(SMALL)
    assert shown(rows) == [0]
    rows.open(0)
    assert shown(rows) == [0, 1, 4]
    rows.open(1)
    assert shown(rows) == [0, 1, 2, 3, 4]
    rows.close(0)
    assert shown(rows) == [0]
    rows.open(0)
    assert shown(rows) == [0, 1, 2, 3, 4]


def test_siblings_are_sorted_largest_first_and_take_what_is_below_them_along() -> None:
    rows = tree(SMALL, totals=[9, 1, 5, 7, 3, 0])
    rows.open_below(0, 100)
    rows.sort_by("total_ns")
    assert shown(rows) == [0, 4, 5, 1, 3, 2]
    rows.sort_by(None)
    assert shown(rows) == [0, 1, 2, 3, 4, 5]


def test_filter_shows_the_way_to_what_it_finds() -> None:
    rows = tree(SMALL, names=["root", "a", "b", "HIT", "hit", "c"])
    rows.set_filter("hit")
    assert shown(rows) == [0, 1, 3, 4]
    assert rows.match_count == 2
    rows.set_filter("")
    assert shown(rows) == [0]


def test_found_node_without_finds_below_opens_to_all_its_children() -> None:
    rows = tree(SMALL, names=["root", "a", "b", "c", "hit", "d"])
    rows.set_filter("hit")
    assert shown(rows) == [0, 4]
    rows.open(4)
    assert shown(rows) == [0, 4, 5]


def test_first_state_goes_down_the_costliest_path() -> None:
    rows = tree(SMALL, totals=[9, 1, 5, 7, 3, 0])
    rows.open_first(3)
    assert shown(rows) == [0, 1, 4]
    rows = tree(SMALL, totals=[9, 1, 5, 7, 3, 0])
    rows.open_first(12)
    assert shown(rows) == [0, 1, 4, 5]


def test_many_children_come_page_by_page() -> None:
    rows = tree([-1] + [0] * (2 * PAGE + 1))
    rows.open(0)
    assert len(shown(rows)) == PAGE + 2
    assert shown(rows)[-1] == f"+{PAGE + 1}"
    rows.show_more(0)
    assert shown(rows)[-1] == "+1"
    rows.show_more(0)
    assert shown(rows)[-1] == 2 * PAGE + 1


def test_opening_everything_stops_at_the_limit_and_tells_what_is_left_out() -> None:
    # A root with 3 children of 4 children each.
    parents = [-1]
    for _ in range(3):
        child = len(parents)
        parents += [0] + [child] * 4
    rows = tree(parents)
    rows.open_below(0, 9)
    assert shown(rows) == [0, 1, 2, 3, 4, 5, 6, 7, 8, "+2", 11]
    rows.open_below(0, 7)
    assert shown(rows) == [0, 1, 2, 3, 4, 5, 6, "+4", 11]
    rows.open_below(0, 15)
    assert shown(rows) == list(range(16))


def test_chain_of_a_thousand_opens_whole() -> None:
    rows = tree(list(range(-1, 999)))
    rows.open_below(0, 2_000)
    assert shown(rows) == list(range(1_000))
    assert rows.depth[-1] == 999


def test_revealed_node_is_in_view_even_behind_the_page() -> None:
    rows = tree([-1] + [0] * (2 * PAGE))
    rows.reveal(2 * PAGE)
    assert 2 * PAGE in shown(rows)


def test_next_match_goes_round_in_the_order_of_the_screen() -> None:
    rows = tree(SMALL, names=["root", "hit", "b", "hit", "hit", "c"], totals=[9, 1, 5, 7, 3, 0])
    rows.sort_by("total_ns")  # 0 4 5 1 3 2
    assert rows.next_match("hit", 0, 1) == 4
    assert rows.next_match("hit", 4, 1) == 1
    assert rows.next_match("hit", 3, 1) == 4
    assert rows.next_match("hit", 4, -1) == 3
    assert rows.next_match("absent", 4, 1) is None


def test_empty_tree_has_no_lines() -> None:
    rows = TreeRows(tree([-1]).nodes.clear())
    rows.open_first(12)
    assert shown(rows) == []


def test_part_of_a_tree_stands_for_itself() -> None:
    rows = TreeRows(tree(SMALL).nodes[[1, 2, 3, 5]])
    assert rows.parent.tolist() == [-1, 0, 0, -1]
    assert shown(rows) == [0, 3]


def walked(rows: TreeRows, key: list[int] | None, opened: set[int], text: str) -> list[int]:
    """The lines by a walk with a stack, without limits."""
    names = rows.nodes["name"].to_list()
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(rows.parent.tolist()):
        children.setdefault(parent, []).append(node)
    kept = {node for node, name in enumerate(names) if text in name}
    for node in sorted(kept):
        kept.update(rows.path(node))
    lines, stack = [], [0]
    while stack:
        node = stack.pop()
        lines.append(node)
        below = [child for child in children.get(node, []) if child in kept]
        if key is not None:
            below.sort(key=lambda child: (-key[child], child))
        if node in opened or text:
            stack.extend(reversed(below))
    return lines


@pytest.mark.parametrize("seed", range(20))
def test_lines_are_those_of_a_walk_down_the_tree(seed: int) -> None:
    chance = random.Random(seed)
    parents, way = [-1], [0]
    for node in range(1, 200):
        del way[chance.randrange(len(way)) + 1 :]
        parents.append(way[-1])
        way.append(node)
    totals = [chance.randrange(9) for _ in parents]
    rows = tree(parents, [chance.choice(["ab", "bc", "cd"]) for _ in parents], totals)
    opened = {node for node in range(200) if chance.random() < 0.6}
    for node in opened:
        rows.open(node)
    assert shown(rows) == walked(rows, None, opened, "")
    rows.sort_by("total_ns")
    assert shown(rows) == walked(rows, totals, opened, "")
    rows.set_filter("a")
    assert shown(rows) == walked(rows, totals, opened, "a")


def test_open_and_selected_nodes_are_found_again_by_their_names() -> None:
    old = tree(SMALL, names=["ProfilerStep#1", "## forward 7 ##", "x", "y", "## step 7 ##", "z"])
    old.reveal(3)
    # The same with another first child, and numbers counted on.
    new = tree([-1, 0, 0, 2, 2, 0], names=["ProfilerStep#2", "new", "## forward 8 ##", "x", "y", "s"])
    assert carry_over(old, new, 3) == 4
    assert shown(new) == [0, 1, 2, 3, 4, 5]


def test_of_a_node_that_is_gone_the_nearest_above_is_selected() -> None:
    old = tree(SMALL, names=["r", "a", "x", "y", "b", "z"])
    old.reveal(3)
    new = tree([-1, 0], names=["r", "a"])
    assert carry_over(old, new, 3) == 1


def test_exact_name_goes_before_one_with_another_number() -> None:
    old = tree([-1, 0, 0], names=["r", "layer1", "layer2"])
    new = tree([-1, 0, 0], names=["r", "layer2", "layer3"])
    assert carry_over(old, new, 2) == 1
