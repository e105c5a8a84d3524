from __future__ import annotations

import pytest

from analysis.phases.model import FORWARD, LOOKUP, PREPROCESSING, Classified
from analysis.phases.trees import bounded, merged_tree, step_tree
from tests.analysis.phases.made_trees import ONE, merged_of, rows, stepped
from tests.analysis.phases.spans import AUTOGRAD, WORKER, Span, windows_of


def test_siblings_stand_by_their_total_then_their_name() -> None:
    tree = merged_of(
        Span("b", 0, 10),
        Span("c", 20, 60),
        Span("a", 100, 110),
        Span("x", 21, 22),
        Span("y", 30, 50),
        windows=ONE,
    )

    assert rows(tree, "depth", "name", "total_ns")[1:] == [
        (1, "c", 40),
        (2, "y", 20),
        (2, "x", 1),
        (1, "a", 10),
        (1, "b", 10),
    ]


def test_threads_stand_side_by_side_below_the_root() -> None:
    tree = merged_of(
        Span("copy", 0, 10),
        Span("copy", 0, 300, thread=WORKER),
        Span("copy", 5, 20, thread=AUTOGRAD),
        windows=ONE,
    )

    assert rows(tree, "parent", "name", "thread", "total_ns")[1:] == [
        (0, "copy", "2", 300),
        (0, "copy", "1", 15),
        (0, "copy", "0", 10),
    ]


def test_batches_are_merged_over_the_steps() -> None:
    tree = merged_of(
        Span("## forward 3 ##", 0, 100, FORWARD),
        Span("add", 10, 20, FORWARD),
        Span("## forward 4 ##", 1000, 1300, FORWARD),
        Span("add", 1010, 1030, FORWARD),
    )

    assert rows(
        tree, "name", "calls", "calls_per_step", "total_ns", "self_ns", "avg_ns", "max_ns", "share"
    ) == [
        ("ProfilerStep#{i}", 2, 1.0, 1000, 800, 1000, 1000, 1.0),
        ("## forward {i} ##", 2, 1.0, 200, 185, 200, 300, 0.2),
        ("add", 2, 1.0, 15, 15, 15, 20, 0.015),
    ]
    assert (tree.step, tree.steps) == (None, 2)


def test_means_over_steps_are_rounded_half_up() -> None:
    tree = merged_of(Span("a", 0, 10), Span("b", 3, 5), Span("a", 1000, 1011), Span("b", 1001, 1002))

    assert rows(tree, "name", "total_ns", "self_ns", "avg_ns")[1:] == [("a", 11, 9, 11), ("b", 2, 2, 2)]


def test_a_node_that_is_not_in_every_step_is_averaged_over_all() -> None:
    tree = merged_of(Span("evict", 1200, 1300))

    assert rows(tree, "name", "calls", "calls_per_step", "total_ns", "avg_ns")[1:] == [
        ("evict", 1, 0.5, 50, 100)
    ]


def test_the_compile_step_is_no_part_of_the_mean() -> None:
    windows = windows_of((7, 0, 1000), (8, 1000, 1600), (9, 1600, 2000), excluded=7)
    spans = (Span("compile", 0, 900), Span("a", 10, 20), Span("a", 1000, 1100), Span("a", 1600, 1650))

    tree = merged_of(*spans, windows=windows)

    assert rows(tree, "name", "calls", "total_ns", "max_ns") == [
        ("ProfilerStep#{i}", 2, 500, 600),
        ("a", 2, 75, 100),
    ]
    assert tree.node.tolist() == [-1, -1, 1, 1]


def test_one_step_can_be_asked_for() -> None:
    spans = (Span("a", 0, 100), Span("a", 1000, 1300), Span("## wait 9 ##", 1400, 1500))

    tree = merged_of(*spans, step=8)

    assert rows(tree, "name", "total_ns", "first_start_ns") == [
        ("ProfilerStep#8", 1000, 0),
        ("a", 300, 0),
        ("## wait {i} ##", 100, 400),
    ]
    assert (tree.step, tree.steps) == (8, 1)


def test_over_several_steps_no_node_has_a_first_start() -> None:
    assert merged_of(Span("a", 0, 10)).nodes["first_start_ns"].to_list() == [None, None]


def test_nodes_of_one_name_in_two_phases_stand_side_by_side() -> None:
    tree = merged_of(Span("get", 0, 10, LOOKUP), Span("get", 1000, 1030, PREPROCESSING))

    assert rows(tree, "name", "phase", "total_ns")[1:] == [("get", PREPROCESSING, 15), ("get", LOOKUP, 5)]


def test_a_bottleneck_of_the_mean_step_is_judged_by_all_its_steps() -> None:
    found = merged_of(Span("wait", 0, 30, wait=True), Span("wait", 1000, 1070, wait=True))
    below = merged_of(Span("wait", 0, 30, wait=True), Span("wait", 1000, 1069, wait=True))

    assert (found.nodes["star"][1], below.nodes["star"][1]) == ("wait", None)


def test_without_a_step_to_average_there_is_no_mean() -> None:
    with pytest.raises(ValueError, match="no such step"):
        merged_of(windows=windows_of((7, 0, 1000), excluded=7))


def chain(deep: int) -> Classified:
    return stepped([Span("f", at, 2 * deep - at) for at in range(deep)], windows_of((7, 0, 2 * deep)))


def test_a_chain_of_a_hundred_thousand_is_a_tree() -> None:
    deep = 100_000
    found, windows = chain(deep), windows_of((7, 0, 2 * deep))

    for tree in (step_tree(found, windows, 7, {}), merged_tree(found, windows, None, {})):
        assert tree.nodes["parent"].to_list() == list(range(-1, deep))
        assert tree.nodes["depth"].max() == deep
        assert bounded(tree, deep, 3)["cut"].to_list() == [None, None, None, deep - 2]
