from __future__ import annotations

import polars as pl
import pytest

from analysis.phases.trees import BOUNDED, bounded
from tests.analysis.phases.made_trees import tree_of
from tests.analysis.phases.spans import WORKER, Span, windows_of

FAMILY = (
    Span("a", 0, 400),
    Span("a1", 0, 100),
    Span("a2", 100, 130),
    Span("a21", 100, 120),
    Span("b", 500, 540),
    Span("b1", 500, 530),
    Span("c", 600, 610),
)


def excerpt(depth: int, count: int) -> list[tuple[object, ...]]:
    found = bounded(tree_of(*FAMILY), depth, count)
    return found.select("name", "parent", "depth", "total_ns", "cut").rows()


def test_a_tree_that_fits_is_shown_whole() -> None:
    tree = tree_of(*FAMILY)
    found = bounded(tree, 3, 8)

    assert found.schema == pl.Schema(BOUNDED)
    assert found.drop("cut").equals(tree.nodes)
    assert found["cut"].null_count() == 8


def test_the_costliest_nodes_are_kept_and_what_is_cut_is_told() -> None:
    assert excerpt(9, 4) == [
        ("ProfilerStep#7", -1, 0, 1000, None),
        ("a", 0, 1, 400, None),
        ("a1", 1, 2, 100, None),
        (None, 1, 2, 30, 2),
        ("b", 0, 1, 40, None),
        (None, 5, 2, 30, 1),
        (None, 0, 1, 10, 1),
    ]


def test_what_lies_deeper_is_cut() -> None:
    assert excerpt(1, 9) == [
        ("ProfilerStep#7", -1, 0, 1000, None),
        ("a", 0, 1, 400, None),
        (None, 1, 2, 130, 3),
        ("b", 0, 1, 40, None),
        (None, 5, 2, 30, 1),
        ("c", 0, 1, 10, None),
    ]


@pytest.mark.parametrize("depth", [0, 5])
def test_the_root_is_always_shown(depth: int) -> None:
    assert excerpt(depth, 0) == [("ProfilerStep#7", -1, 0, 1000, None), (None, 0, 1, 450, 7)]


def test_of_cuts_that_end_together_the_deeper_one_stands_first() -> None:
    found = bounded(
        tree_of(Span("a", 0, 100), Span("a1", 0, 50), Span("a11", 0, 10), Span("a2", 60, 61)), 9, 3
    )

    assert found.select("name", "depth", "cut").rows() == [
        ("ProfilerStep#7", 0, None),
        ("a", 1, None),
        ("a1", 2, None),
        (None, 3, 1),
        (None, 2, 1),
    ]


def test_a_thread_that_takes_longer_than_the_step_is_kept_first() -> None:
    tree = tree_of(Span("a", 0, 900), Span("load", 0, 5000, thread=WORKER))

    assert bounded(tree, 9, 3)["name"].to_list() == ["ProfilerStep#7", "2", "load", None]


def test_nothing_is_kept_without_its_parent() -> None:
    # Two that overlap in part add up to more than the bar that holds both.
    tree = tree_of(
        Span("a", 0, 100),
        Span("x", 0, 99),
        Span("x", 1, 100),
        Span("b", 200, 350),
        windows=windows_of((7, 0, 400)),
    )

    assert bounded(tree, 9, 3)["name"].to_list() == ["ProfilerStep#7", "a", None, "b"]
