from __future__ import annotations

from collections import defaultdict

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from analysis.trace.call_tree import NODES, CallTree, call_tree
from analysis.trace.nesting import nest
from tests.analysis.trace.bars import BARS, ORIGIN, Bar, frame_of, own_times, parents


def tree_of(bars: list[Bar], names: list[str | None], keys: tuple[str, ...] = ()) -> CallTree:
    frame = frame_of(bars).with_columns(pl.Series("name", names, dtype=pl.Categorical))
    return call_tree(frame, nest(frame), keys)


def rows(tree: CallTree, *columns: str) -> list[tuple[object, ...]]:
    return tree.nodes.with_columns(pl.col("first_start_ns") - ORIGIN).select(columns).rows()


STEPS = [
    *(Bar(0, 0, 100), Bar(0, 10, 30), Bar(0, 20, 5), Bar(0, 50, 40)),
    *(Bar(0, 200, 80), Bar(0, 210, 10), Bar(0, 230, 20), Bar(0, 300, 7)),
]
NAMES: list[str | None] = ["step", "forward", "add", "backward", "step", "backward", "forward", "add"]


def test_calls_of_one_path_are_one_node() -> None:
    tree = tree_of(STEPS, NAMES)

    assert rows(tree, "node", "parent_node", "name", "depth", "calls") == [
        (0, -1, "step", 0, 2),
        (1, 0, "forward", 1, 2),
        (2, 1, "add", 2, 1),
        (3, 0, "backward", 1, 2),
        (4, -1, "add", 0, 1),
    ]


def test_a_node_tells_the_times_of_its_calls() -> None:
    tree = tree_of(STEPS, NAMES)

    assert rows(tree, "name", "total_ns", "self_ns", "max_ns", "first_start_ns") == [
        ("step", 180, 80, 100, 0),
        ("forward", 50, 45, 30, 10),
        ("add", 5, 5, 5, 20),
        ("backward", 50, 50, 40, 50),
        ("add", 7, 7, 7, 300),
    ]


def test_every_bar_knows_its_node() -> None:
    assert tree_of(STEPS, NAMES).node.tolist() == [0, 1, 2, 3, 0, 3, 1, 4]


def test_a_name_below_itself_is_a_node_of_its_own() -> None:
    tree = tree_of([Bar(0, 0, 10), Bar(0, 2, 6), Bar(0, 3, 2)], ["copy"] * 3)

    assert rows(tree, "parent_node", "depth", "total_ns") == [(-1, 0, 10), (0, 1, 6), (1, 2, 2)]


def test_threads_are_merged_unless_they_are_a_key() -> None:
    bars, names = [Bar(0, 0, 10), Bar(1, 5, 10), Bar(1, 6, 2)], ["add", "add", "add"]

    assert rows(tree_of(bars, list(names)), "name", "calls") == [("add", 2), ("add", 1)]
    assert rows(tree_of(bars, list(names), ("track",)), "name", "track", "calls") == [
        ("add", 0, 1),
        ("add", 1, 1),
        ("add", 1, 1),
    ]


def test_paths_of_one_name_at_different_tops_stay_apart() -> None:
    tree = tree_of([Bar(0, 0, 10), Bar(0, 1, 2), Bar(0, 20, 10), Bar(0, 21, 2)], ["a", "x", "b", "x"])

    assert rows(tree, "parent_node", "name") == [(-1, "a"), (0, "x"), (-1, "b"), (2, "x")]


def test_bars_without_a_name_are_merged_like_others() -> None:
    tree = tree_of([Bar(0, 0, 10), Bar(0, 20, 10), Bar(0, 40, 1)], [None, None, "add"])

    assert rows(tree, "name", "calls") == [(None, 2), ("add", 1)]


def test_nodes_that_start_together_stand_in_the_order_of_the_file() -> None:
    tree = tree_of([Bar(1, 5, 1), Bar(0, 5, 1)], ["z", "a"])

    assert rows(tree, "name") == [("z",), ("a",)]


def test_no_bars_give_a_tree_with_the_columns() -> None:
    tree = tree_of([], [])

    assert tree.nodes.schema == pl.Schema(NODES)
    assert tree.node.size == 0


def test_a_deep_chain_is_a_chain_of_nodes() -> None:
    deep = 100_000
    frame = pl.DataFrame(
        {"track": [0] * deep, "start_ns": range(deep), "duration_ns": [2 * (deep - at) for at in range(deep)]}
    ).with_columns(pl.lit("f").cast(pl.Categorical).alias("name"))

    tree = call_tree(frame, nest(frame))

    assert tree.nodes["parent_node"].to_list() == list(range(-1, deep - 1))


@given(BARS, st.lists(st.sampled_from("ab"), min_size=12, max_size=12))
def test_nodes_are_the_groups_of_bars_with_equal_paths(bars: list[Bar], names: list[str | None]) -> None:
    tree = tree_of(bars, names[: len(bars)])
    above, own = parents(bars), own_times(bars)
    groups = defaultdict(list)
    for at in range(len(bars)):
        path, one = [], at
        while one >= 0:
            path.append(names[one])
            one = above[one]
        groups[tuple(path)].append(at)

    expected = [
        (
            path[0],
            len(path) - 1,
            len(found),
            sum(bars[at].duration for at in found),
            sum(own[at] for at in found),
            max(bars[at].duration for at in found),
            min(bars[at].start for at in found),
            min(found),
        )
        for path, found in groups.items()
    ]
    expected.sort(key=lambda node: (node[6], node[1], node[7]))
    columns = ("name", "depth", "calls", "total_ns", "self_ns", "max_ns", "first_start_ns")
    assert rows(tree, *columns) == [node[:7] for node in expected]
    parent_nodes = tree.nodes["parent_node"].to_list()
    for at, one in enumerate(above):
        assert parent_nodes[tree.node[at]] == (tree.node[one] if one >= 0 else -1)
