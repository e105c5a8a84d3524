"""The names that a phase spends its time in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.phases.heaviest import NAMES, heaviest_names
from tests.analysis.phases.hand_made import WORKER, case, op, step
from tests.analysis.trace.builder import AUTOGRAD

if TYPE_CHECKING:
    from tests.analysis.phases.hand_made import Case

Rows = list[tuple[str, str, int, int]]


def heaviest(found: Case, number: int | None = None) -> Rows:
    """(phase, name, calls, self time in us)."""
    frame = heaviest_names(found.classified, found.windows, number)
    return [(phase, name, calls, ns // 1000) for phase, name, calls, ns in frame.rows()]


def test_self_time_of_a_name_is_added_up_over_threads_and_below_its_phase() -> None:
    found = case(
        step(1, 0, 100),
        op("## forward 1 ##", 10, 50),
        op("aten::mm", 20, 10),
        op("aten::mm", 40, 15),
        op("## load_batch ##", 0, 70, WORKER),
    )
    assert heaviest(found) == [
        ("data_preprocessing", "## load_batch ##", 1, 70),
        ("forward", "## forward {i} ##", 1, 25),
        ("forward", "aten::mm", 2, 25),
    ]


def test_names_without_a_phase_are_unclassified() -> None:
    found = case(step(1, 0, 100), op("metrics.log_step", 10, 5))
    assert heaviest(found) == [("unclassified", "metrics.log_step", 1, 5)]


def test_only_bars_that_start_in_the_step_count() -> None:
    found = case(
        step(1, 0, 100),
        op("## forward 7 ##", 10, 50),
        step(2, 100, 100),
        op("## forward 8 ##", 110, 30),
    )
    assert heaviest(found, 2) == [("forward", "## forward {i} ##", 1, 30)]
    assert heaviest(found) == [("forward", "## forward {i} ##", 2, 80)]


def test_mean_leaves_the_compile_step_out() -> None:
    events = (
        step(1, 0, 100),
        op("## forward 7 ##", 10, 50),
        step(2, 100, 100),
        op("## forward 8 ##", 110, 30),
    )
    assert heaviest(case(*events, excluded=1)) == [("forward", "## forward {i} ##", 1, 30)]


def test_only_the_heaviest_names_of_a_phase_are_told() -> None:
    calls = [op(f"aten::op{'abcdefgh'[at]}", 10 + 10 * at, 1 + at) for at in range(8)]
    found = case(step(1, 0, 200), op("## forward 1 ##", 5, 90), *calls)
    names = [name for _, name, _, _ in heaviest(found)]
    assert names == ["## forward {i} ##", "aten::oph", "aten::opg", "aten::opf", "aten::ope"]
    assert len(names) == NAMES


def test_a_backward_range_that_the_autograd_thread_works_through_is_not_heavy_itself() -> None:
    node = "autograd::engine::evaluate_function: AddmmBackward0"
    found = case(
        step(1, 0, 100),
        op("## backward 1 ##", 10, 50),
        op(node, 15, 20, AUTOGRAD),
        op(node, 36, 20, AUTOGRAD),
    )
    assert heaviest(found) == [("backward", node, 2, 40), ("backward", "## backward {i} ##", 1, 10)]


def test_what_the_autograd_thread_does_during_a_call_is_not_taken_from_the_caller() -> None:
    node = "autograd::engine::evaluate_function: AddmmBackward0"
    found = case(
        step(1, 0, 100),
        op("## backward 1 ##", 10, 50),
        op("aten::add", 20, 30),
        op(node, 15, 10, AUTOGRAD),
        op(node, 30, 15, AUTOGRAD),
    )
    # 15 to 20 lie in the range itself, 20 to 25 and 30 to 45 in what it calls.
    assert heaviest(found) == [
        ("backward", node, 2, 25),
        ("backward", "## backward {i} ##", 1, 15),
        ("backward", "aten::add", 1, 10),
    ]
