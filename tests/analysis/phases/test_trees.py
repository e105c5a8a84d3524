from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from analysis.phases.device_calls import blocked_in_calls
from analysis.phases.model import (
    BACKWARD,
    DENSE_UPDATE,
    FORWARD,
    LOOKUP,
    PREPROCESSING,
    UNCLASSIFIED,
    Windows,
)
from analysis.phases.results import TREE, StepTree
from analysis.phases.rules import Rules
from analysis.phases.starred import starred
from analysis.phases.trees import phase_roots, step_tree
from tests.analysis.phases.hand_made import case, op, step
from tests.analysis.phases.made_rules import rule_named
from tests.analysis.phases.made_trees import ONE, TWO, merged_of, rows, stepped, tree_of
from tests.analysis.phases.spans import AUTOGRAD, MAIN, WORKER, Span, windows_of
from tests.analysis.trace.builder import MAIN as MAIN_THREAD
from tests.analysis.trace.builder import bar

if TYPE_CHECKING:
    from collections.abc import Sequence


def test_calls_of_one_name_below_one_parent_are_one_node() -> None:
    tree = tree_of(
        Span("forward", 100, 400), Span("add", 110, 120), Span("add", 130, 150), Span("add", 500, 510)
    )

    assert rows(tree, "node", "parent", "depth", "children", "name", "calls", "total_ns", "self_ns") == [
        (0, -1, 0, 2, "ProfilerStep#7", 1, 1000, 690),
        (1, 0, 1, 1, "forward", 1, 300, 270),
        (2, 1, 2, 0, "add", 2, 30, 30),
        (3, 0, 1, 0, "add", 1, 10, 10),
    ]


def test_one_name_below_two_parents_is_two_nodes() -> None:
    tree = tree_of(Span("a", 0, 100), Span("add", 10, 20), Span("b", 200, 300), Span("add", 210, 240))

    assert rows(tree, "parent", "name", "total_ns")[1:] == [
        (0, "a", 100),
        (1, "add", 10),
        (0, "b", 100),
        (3, "add", 30),
    ]


def test_a_name_in_two_phases_is_two_nodes() -> None:
    tree = tree_of(
        Span("get", 0, 10, LOOKUP), Span("get", 20, 30, PREPROCESSING), Span("get", 40, 50, LOOKUP)
    )

    assert rows(tree, "name", "phase", "calls")[1:] == [
        ("get", LOOKUP, 2),
        ("get", PREPROCESSING, 1),
    ]


def test_siblings_stand_by_their_first_start_and_children_right_below_their_parent() -> None:
    tree = tree_of(
        Span("z", 10, 30),
        Span("inner", 15, 20),
        Span("a", 40, 90),
        Span("z", 100, 500),
        Span("late", 200, 210),
    )

    assert rows(tree, "name", "depth", "first_start_ns")[1:] == [
        ("z", 1, 10),
        ("inner", 2, 15),
        ("late", 2, 200),
        ("a", 1, 40),
    ]


def test_a_node_tells_average_longest_and_share() -> None:
    tree = tree_of(Span("add", 0, 10), Span("add", 20, 35))

    assert rows(tree, "calls", "calls_per_step", "avg_ns", "max_ns", "share")[1:] == [(2, 2.0, 13, 15, 0.025)]


def test_other_threads_hang_below_a_node_each_behind_the_main_thread() -> None:
    tree = tree_of(
        Span("late", 700, 800),
        Span("load", 300, 500, thread=WORKER),
        Span("backward", 400, 600, thread=AUTOGRAD),
        Span("mul", 410, 430, thread=AUTOGRAD),
        Span("backward", 650, 660, thread=AUTOGRAD),
    )

    assert rows(
        tree, "parent", "depth", "name", "thread", "role", "total_ns", "self_ns", "first_start_ns"
    ) == [
        (-1, 0, "ProfilerStep#7", "0", "python_main", 1000, 900, 0),
        (0, 1, "late", "0", "python_main", 100, 100, 700),
        (0, 1, "2", "2", "python_other", 200, 0, 300),
        (2, 2, "load", "2", "python_other", 200, 200, 300),
        (0, 1, "1", "1", "autograd", 210, 0, 400),
        (4, 2, "backward", "1", "autograd", 210, 190, 400),
        (5, 3, "mul", "1", "autograd", 20, 20, 410),
    ]


def test_the_node_of_a_thread_is_never_called() -> None:
    tree = tree_of(Span("load", 300, 500, thread=WORKER))

    assert rows(tree, "calls", "calls_per_step", "avg_ns", "max_ns", "share")[1] == (
        None,
        None,
        None,
        None,
        0.2,
    )


def test_a_call_that_outlasts_its_step_belongs_to_it_with_everything_in_it() -> None:
    spans = (
        Span("fetch", 900, 1300, thread=WORKER),
        Span("find", 910, 990, thread=WORKER),
        Span("copy", 1010, 1200, thread=WORKER),
        Span("wait", 1020, 1050, thread=WORKER),
        Span("next", 1300, 1400, thread=WORKER),
    )

    first = tree_of(*spans, windows=TWO, step=7)
    second = tree_of(*spans, windows=TWO, step=8)

    assert rows(first, "name", "depth", "total_ns", "self_ns", "max_ns")[2:] == [
        ("fetch", 2, 400, 130, 400),
        ("find", 3, 80, 80, 80),
        ("copy", 3, 190, 160, 190),
        ("wait", 4, 30, 30, 30),
    ]
    assert rows(second, "name", "total_ns", "first_start_ns")[1:] == [("2", 100, 300), ("next", 100, 300)]


def test_what_starts_in_a_step_inside_a_call_from_before_all_steps_is_at_the_top() -> None:
    windows = windows_of((7, 1000, 2000))
    spans = (
        Span("fetch", 900, 1300, thread=WORKER),
        Span("early", 910, 1010, thread=WORKER),
        Span("wait", 1002, 1004, thread=WORKER),
        Span("copy", 1010, 1200, thread=WORKER),
        Span("find", 1020, 1100, thread=WORKER),
    )

    tree = tree_of(*spans, windows=windows, step=7)

    assert rows(tree, "name", "depth", "total_ns", "self_ns")[2:] == [
        ("wait", 2, 2, 2),
        ("copy", 2, 190, 110),
        ("find", 3, 80, 80),
    ]


def test_a_range_of_the_main_thread_around_steps_counts_up_to_the_end_of_its_step() -> None:
    windows = windows_of((7, 0, 1000), (8, 1000, 2000), (9, 2000, 3000))
    spans = (
        Span("train", 100, 2900),
        Span("loop", 200, 2800),
        Span("a", 300, 400),
        Span("b", 1300, 1600),
        Span("c", 1400, 1500),
        Span("b", 2300, 2400),
    )

    first, second = (tree_of(*spans, windows=windows, step=step) for step in (7, 8))
    both = merged_of(*spans, windows=replace(windows, frame=windows.frame[1:]))

    columns = ("name", "depth", "total_ns", "self_ns", "max_ns")
    assert rows(first, *columns) == [
        ("ProfilerStep#7", 0, 1000, 100, 1000),
        ("train", 1, 900, 100, 900),
        ("loop", 2, 800, 700, 800),
        ("a", 3, 100, 100, 100),
    ]
    assert rows(second, *columns) == [
        ("ProfilerStep#8", 0, 1000, 700, 1000),
        ("b", 1, 300, 200, 300),
        ("c", 2, 100, 100, 100),
    ]
    assert rows(both, *columns)[1:] == [("b", 1, 200, 150, 300), ("c", 2, 50, 50, 100)]


def test_the_root_has_for_itself_what_no_bar_of_the_step_covers_on_the_main_thread() -> None:
    tree = tree_of(
        Span("before", 900, 1150),
        Span("a", 1200, 1300),
        Span("b", 1950, 2100),
        Span("other", 1300, 1900, thread=WORKER),
        windows=TWO,
        step=8,
    )

    assert rows(tree, "name", "total_ns", "self_ns") == [
        ("ProfilerStep#8", 1000, 850),
        ("a", 100, 100),
        ("b", 50, 50),
        ("2", 600, 0),
        ("other", 600, 600),
    ]


def test_a_step_without_bars_is_its_root() -> None:
    tree = tree_of()

    assert rows(tree, "name", "total_ns", "self_ns", "children") == [("ProfilerStep#7", 1000, 1000, 0)]
    assert tree.nodes.schema == pl.Schema(TREE)
    assert tree.node.size == 0


def test_a_whole_trace_is_one_step_without_a_name() -> None:
    windows = windows_of((None, 100, 600))
    tree = tree_of(
        Span("early", 50, 60, thread=WORKER), Span("a", 100, 600), Span("load", 200, 300, thread=WORKER),
        windows=windows, step=None,
    )  # fmt: skip

    assert rows(tree, "name", "total_ns", "first_start_ns") == [
        (None, 500, 0),
        ("a", 500, 0),
        ("2", 100, 100),
        ("load", 100, 100),
    ]
    assert (tree.step, tree.steps) == (None, 1)


def test_a_step_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="no such step"):
        tree_of(step=9)
    with pytest.raises(ValueError, match="no such step"):
        tree_of(step=None)


def test_every_bar_knows_its_node() -> None:
    tree = tree_of(
        Span("load", 300, 500, thread=WORKER),
        Span("add", 110, 120),
        Span("forward", 100, 400),
        Span("later", 1500, 1600),
    )

    assert tree.node.tolist() == [4, 2, 1, -1]


def test_a_bar_without_a_duration_is_a_call() -> None:
    tree = tree_of(Span("a", 100, 200), Span("mark", 150, 150), Span("mark", 160, 160))

    assert rows(tree, "name", "calls", "total_ns", "avg_ns")[2:] == [("mark", 2, 0, 0)]


@pytest.mark.parametrize(
    "name",
    ["[b]x[/b]", "嵌入" * 5000, "a|b`\n\x1b[31m\x00", ""],
    ids=["markup", "long", "control", "empty"],
)
def test_names_may_hold_any_character(name: str) -> None:
    for tree in (tree_of(Span(name, 0, 10)), merged_of(Span(name, 0, 10), windows=ONE)):
        assert tree.nodes["name"][1] == name


def inherited() -> StepTree:
    spans = (
        Span("## forward 7 ##", 100, 400, FORWARD),
        Span("add", 110, 120, FORWARD),
        Span("[lookup]", 200, 300, LOOKUP),
        Span("copy", 210, 220, LOOKUP),
        Span("unknown", 500, 600),
    )
    rules = [rule_named("torchrec.forward"), rule_named("torchrec.lookup")]
    found = replace(
        stepped(spans, ONE),
        rules=Rules(tuple(rules), sync=""),
        origin=np.array([0, 0, 2, 2, -1]),
        claim=np.array([0, -1, 1, -1, -1]),
    )
    return step_tree(found, ONE, 7, {LOOKUP: "serial", DENSE_UPDATE: "threads"})


def test_a_node_names_its_rule_and_whom_it_inherits_from() -> None:
    assert rows(inherited(), "name", "phase", "rule", "origin") == [
        ("ProfilerStep#7", None, None, None),
        ("## forward 7 ##", FORWARD, "torchrec.forward", None),
        ("add", FORWARD, "torchrec.forward", "## forward 7 ##"),
        ("[lookup]", LOOKUP, "torchrec.lookup", None),
        ("copy", LOOKUP, "torchrec.lookup", "[lookup]"),
        ("unknown", None, None, None),
    ]


def test_the_verdict_of_a_pair_stands_where_its_phase_begins() -> None:
    assert inherited().nodes["verdict"].to_list() == [None, None, None, "serial", None, None]


def test_the_roots_of_a_phase_are_its_nodes_below_others_by_cost() -> None:
    tree = tree_of(
        Span("a", 0, 100, FORWARD),
        Span("lookup", 10, 20, LOOKUP),
        Span("copy", 11, 12, LOOKUP),
        Span("prefetch", 200, 300, LOOKUP),
        Span("load", 300, 900, LOOKUP, thread=WORKER),
    )
    names = tree.nodes["name"]

    assert [names[node] for node in phase_roots(tree, LOOKUP)] == ["load", "prefetch", "lookup"]
    assert [names[node] for node in phase_roots(tree, FORWARD)] == ["a"]
    assert phase_roots(tree, BACKWARD) == []


def test_unclassified_roots_are_the_topmost_bars_without_a_phase() -> None:
    tree = tree_of(
        Span("log", 0, 100),
        Span("item", 10, 20),
        Span("inner", 30, 40, LOOKUP),
        Span("busy", 0, 200, thread=WORKER),
        Span("a", 200, 300, FORWARD),
    )

    assert [tree.nodes["name"][node] for node in phase_roots(tree, UNCLASSIFIED)] == ["busy", "log"]


def stars(*spans: Span) -> dict[str | None, str | None]:
    return dict(tree_of(*spans).nodes.select("name", "star").rows())


def test_a_wait_of_a_twentieth_of_the_step_is_a_bottleneck() -> None:
    assert stars(Span("wait", 100, 150, wait=True))["wait"] == "wait"
    assert stars(Span("wait", 100, 149, wait=True))["wait"] is None


def test_a_device_sync_of_a_twentieth_of_the_step_is_a_bottleneck() -> None:
    assert stars(Span("item", 100, 150, sync=True))["item"] == "sync"
    assert stars(Span("item", 100, 149, sync=True))["item"] is None


def test_a_sync_inside_another_has_no_star_of_its_own() -> None:
    found = stars(Span("item", 100, 400, sync=True), Span("scalar", 110, 390, sync=True))
    assert (found["item"], found["scalar"]) == ("sync", None)


def test_waits_of_one_node_add_up() -> None:
    assert stars(Span("wait", 100, 125, wait=True), Span("wait", 200, 225, wait=True))["wait"] == "wait"


def test_a_tenth_of_the_step_for_itself_is_a_bottleneck() -> None:
    assert stars(Span("a", 0, 900), Span("b", 100, 900))["a"] == "self"
    assert stars(Span("a", 1, 900), Span("b", 100, 900))["a"] is None


def test_blocking_is_told_before_self_time() -> None:
    assert stars(Span("wait", 100, 900, wait=True))["wait"] == "wait"


def test_of_nested_waits_the_outermost_is_the_bottleneck() -> None:
    found = stars(
        Span("outer", 0, 300, wait=True),
        Span("plain", 5, 295),
        Span("inner", 10, 290, wait=True),
        Span("item", 20, 280, sync=True),
        Span("below", 21, 279),
    )

    assert found == {
        "ProfilerStep#7": None, "outer": "wait", "plain": None, "inner": None, "item": None, "below": "self"
    }  # fmt: skip


def test_a_wait_of_another_thread_counts_against_the_same_step() -> None:
    found = tree_of(Span("get", 0, 50, thread=WORKER, wait=True))

    assert rows(found, "name", "star") == [("ProfilerStep#7", None), ("2", None), ("get", "wait")]


def test_in_a_step_without_a_duration_nothing_is_a_bottleneck() -> None:
    windows = windows_of((None, 5, 6))
    windows = Windows(windows.frame.with_columns(end_ns=pl.col("start_ns")), MAIN, whole_trace=True)

    assert rows(tree_of(windows=windows, step=None), "total_ns", "star") == [(0, None)]


@pytest.mark.parametrize(("within_ns", "star"), [(50_000, "sync"), (49_000, None)])
def test_a_call_of_the_runtime_that_blocks_counts_for_the_bar_that_makes_it(
    within_ns: int, star: str | None
) -> None:
    found = with_calls(op("outer", 0, 600), op("my_op", 0, 99), calls=[(10, within_ns / 1000)])
    assert dict(found.nodes.select("name", "star").rows())["my_op"] == star
    assert dict(found.nodes.select("name", "blocked_ns").rows())["my_op"] == within_ns
    assert dict(found.nodes.select("name", "blocked_ns").rows())["outer"] == 0


def test_a_call_of_the_runtime_inside_a_sync_counts_with_the_sync() -> None:
    found = with_calls(op("aten::item", 0, 80), op("inner", 5, 70), calls=[(10, 60)])
    assert found.nodes.filter(pl.col("name") != "ProfilerStep#7").select("name", "blocked_ns").rows() == [
        ("aten::item", 80_000),
        ("inner", 0),
    ]


def test_calls_of_the_runtime_after_the_step_of_an_open_range_are_not_of_that_step() -> None:
    below = [
        bar("AscendCL@aclrtSynchronizeStream", ("CANN", MAIN_THREAD[1]), *call)
        for call in ((600, 100), (950, 100), (1200, 300))
    ]
    made = case(step(7, 0, 1000), step(8, 1000, 1000), op("loop", 500, 1400), *below)
    in_calls_ns = blocked_in_calls(made.classified, made.windows, made.trace)
    found = replace(made.classified, in_calls_ns=in_calls_ns)
    trees = [step_tree(found, made.windows, number, {}) for number in (7, 8)]
    assert [tree.nodes.filter(name="loop").select("total_ns", "blocked_ns").rows() for tree in trees] == [
        [(500_000, 150_000)],
        [],
    ]


def test_a_sync_inside_a_wait_that_began_in_the_step_before_is_the_outer_one_of_its_step() -> None:
    spans = (Span("waiting", 500, 1900, wait=True), Span("aten::item", 1200, 1500, sync=True))
    nodes = tree_of(*spans, windows=TWO, step=8).nodes
    assert nodes.filter(name="aten::item").select("total_ns", "blocked_ns").rows() == [(300, 300)]


def test_a_node_that_blocks_costs_what_it_blocks() -> None:
    found = with_calls(op("my_op", 0, 800), op("rest", 0, 750), calls=[(760, 50)])
    (node,) = starred(found).filter(pl.col("name") == "my_op").select("star", "cost_ns").rows()
    assert node == ("sync", 50_000)


def with_calls(*events: dict[str, Any], calls: Sequence[tuple[float, float]]) -> StepTree:
    """The tree of a step of 1000 us, with synchronising calls of CANN on the main thread."""
    below = [bar("AscendCL@aclrtSynchronizeStream", ("CANN", MAIN_THREAD[1]), *call) for call in calls]
    made = case(step(7, 0, 1000), *events, *below)
    in_calls_ns = blocked_in_calls(made.classified, made.windows, made.trace)
    return step_tree(replace(made.classified, in_calls_ns=in_calls_ns), made.windows, 7, {})
