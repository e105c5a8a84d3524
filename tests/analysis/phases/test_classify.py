"""What a bar's name claims, and what the bars above it let it be (facts/phases.md 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from analysis.phases.model import (
    BACKWARD,
    DENSE_UPDATE,
    EMBEDDING_UPDATE,
    FORWARD,
    LOOKUP,
    PHASES,
    PREPROCESSING,
)
from tests.analysis.phases.hand_made import (
    WORKER,
    case,
    classified,
    decided_by,
    op,
    phase_of,
    row_of,
    step,
)
from tests.analysis.trace.builder import AUTOGRAD

if TYPE_CHECKING:
    from pathlib import Path

NODE = "autograd::engine::evaluate_function: "


@pytest.mark.parametrize(
    ("outer", "inner", "phase"),
    [
        ("## forward 3 ##", "aten::embedding", LOOKUP),
        ("## forward 3 ##", "[lookup]_[ebc]_[row_wise]", LOOKUP),
        ("## backward 3 ##", NODE + "torch::autograd::CppNode<SplitLookupFunction_sgd_Op>", EMBEDDING_UPDATE),
        ("## backward 3 ##", "Optimizer.step#Adam.step", DENSE_UPDATE),
        ("Optimizer.step#AdamW.step", "table_update", EMBEDDING_UPDATE),
    ],
)
def test_a_bar_inside_refines_its_phase_where_that_is_allowed(outer: str, inner: str, phase: str) -> None:
    found = classified(op(outer, 100, 300), op(inner, 150, 100))
    assert phase_of(found, inner) == phase
    assert decided_by(found, inner) == inner


@pytest.mark.parametrize(
    ("outer", "inner", "phase"),
    [
        ("Optimizer.step#AdamW.step", "aten::embedding", DENSE_UPDATE),
        ("## forward 3 ##", "## copy_batch_to_gpu 4 ##", FORWARD),
        ("## copy_batch_to_gpu 4 ##", "## forward 3 ##", PREPROCESSING),
        ("## start_sparse_data_dist 4 ##", "feature_transform", LOOKUP),
        ("table_update", "optimizer.step", EMBEDDING_UPDATE),
        ("## forward 3 ##", "aten::_to_copy", FORWARD),
        ("## forward 3 ##", "## backward 3 ##", FORWARD),
    ],
)
def test_anything_else_inside_inherits(outer: str, inner: str, phase: str) -> None:
    found = classified(op(outer, 100, 300), op(inner, 150, 100))
    assert phase_of(found, inner) == phase
    assert decided_by(found, inner) == outer


def test_a_refinement_hands_its_phase_on() -> None:
    found = classified(
        op("## forward 3 ##", 100, 300),
        op("[lookup]_[ebc]_[row_wise]", 120, 200),
        op("aten::index_select", 130, 100),
        op("aten::to", 140, 50),
    )
    assert phase_of(found, "aten::to") == LOOKUP
    assert decided_by(found, "aten::to") == "[lookup]_[ebc]_[row_wise]"


def test_a_name_that_claims_nothing_has_no_phase_at_the_top() -> None:
    found = classified(op("my_trainer.tick", 100, 300), op("aten::add", 150, 100))
    assert phase_of(found, "my_trainer.tick") is None
    assert phase_of(found, "aten::add") is None
    assert found.rule_of(row_of(found, "aten::add")) == -1


def test_a_bar_without_phase_lets_the_ones_inside_decide() -> None:
    found = classified(op("my_trainer.tick", 100, 300), op("## forward 3 ##", 150, 100))
    assert phase_of(found, "## forward 3 ##") == FORWARD


def test_threads_do_not_inherit_from_each_other() -> None:
    found = classified(op("## forward 3 ##", 100, 300), op("aten::add", 150, 100, WORKER))
    assert phase_of(found, "aten::add") is None


def test_a_gradient_of_a_table_is_backward_and_the_sparse_optimizer_updates() -> None:
    found = classified(
        op(NODE + "EmbeddingBackward0", 100, 100, AUTOGRAD),
        op("aten::embedding_dense_backward", 110, 50, AUTOGRAD),
        op("Optimizer.step#SparseAdam.step", 300, 100),
    )
    assert phase_of(found, "aten::embedding_dense_backward") == BACKWARD
    assert phase_of(found, "Optimizer.step#SparseAdam.step") == EMBEDDING_UPDATE


def test_a_hook_of_backward_is_an_update_only_with_an_optimizer_inside() -> None:
    found = classified(
        op("## backward 3 ##", 100, 500),
        op("## backward_hook a ##", 120, 100),
        op("Optimizer.step#SGD.step", 130, 50),
        op("## backward_hook b ##", 300, 100),
        op("aten::add", 310, 50),
    )
    assert phase_of(found, "## backward_hook a ##") == DENSE_UPDATE
    assert phase_of(found, "## backward_hook b ##") == BACKWARD


def test_a_wait_that_says_nothing_takes_the_phase_of_what_it_waited_for() -> None:
    found = classified(op("embedding_backward", 100, 300, WORKER), op("future.result", 150, 260))
    assert phase_of(found, "future.result") == EMBEDDING_UPDATE
    assert found.producer[row_of(found, "future.result")] == row_of(found, "embedding_backward")
    assert found.wait[row_of(found, "future.result")]


@pytest.mark.parametrize(("end", "known"), [(415, True), (415.001, False), (400, True), (399.999, False)])
def test_what_a_wait_waited_for_ends_at_most_15_us_before_it(end: float, known: bool) -> None:
    found = classified(op("embedding_backward", 100, 300, WORKER), op("future.result", 150, end - 150))
    assert (phase_of(found, "future.result") is not None) == known


def test_a_wait_of_unknown_producer_inherits() -> None:
    found = classified(op("## forward 3 ##", 100, 300), op("future.result", 150, 100))
    assert phase_of(found, "future.result") == FORWARD
    assert found.producer[row_of(found, "future.result")] == -1


def test_a_wait_for_what_may_not_refine_its_parent_inherits() -> None:
    found = classified(
        op("collate", 100, 145, WORKER), op("## forward 3 ##", 100, 300), op("future.result", 150, 100)
    )
    assert phase_of(found, "future.result") == FORWARD


def test_a_wait_that_names_its_phase_looks_for_a_producer_of_that_phase() -> None:
    other = ("Python", "Thread 143")
    found = classified(
        op("prefetch_worker.embedding", 100, 298, WORKER),
        op("feature_transform", 100, 299, other),
        op("prefetch.result", 150, 253),
    )
    assert phase_of(found, "prefetch.result") == LOOKUP
    assert found.producer[row_of(found, "prefetch.result")] == row_of(found, "prefetch_worker.embedding")


@pytest.mark.parametrize(("duration", "wait"), [(51, True), (50, False)])
def test_a_loader_of_several_processes_is_a_wait_above_a_twentieth_of_the_step(
    duration: float, wait: bool
) -> None:
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    found = classified(op(name, 100, duration))
    assert found.wait[row_of(found, name)] == wait
    assert phase_of(found, name) == PREPROCESSING


def test_all_calls_of_a_loader_count_or_none() -> None:
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    steps = [step(at, at * 1000, 1000) for at in range(1, 5)]
    for durations, waits in (((60, 40, 60, 41), True), ((90, 30, 30, 50), False)):
        loads = [op(name, at * 1000 + 10, us) for at, us in enumerate(durations, start=1)]
        assert case(*steps, *loads).classified.wait.tolist() == [waits] * 4


def test_device_syncs_are_known_by_their_names() -> None:
    found = classified(op("loss.item", 100, 200), op("aten::item", 110, 180), op("aten::add", 400, 50))
    assert found.sync.tolist() == [False, True, False]


def test_a_chain_of_many_claims_is_classified() -> None:
    depth = 3000
    events = [
        op(("## forward 1 ##", "[lookup]_[a]_[b]")[at % 2], at * 0.1, 900 - at * 0.2) for at in range(depth)
    ]
    found = classified(*events)
    assert (found.phase[1:] == PHASES.index(LOOKUP)).all()
    assert (found.origin[1:] == 1).all()
    assert found.phase[0] == PHASES.index(FORWARD)


def test_the_users_rules_decide_first(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text('[[rules]]\nid = "mine"\npattern = "^my_trainer\\\\.tick$"\nphase = "forward"\n')
    found = classified(op("my_trainer.tick", 100, 300), op("aten::add", 150, 100), rules=file)
    assert phase_of(found, "aten::add") == FORWARD
    row = row_of(found, "aten::add")
    assert found.rules.entries[found.rule_of(row)].id == "mine"


def test_which_of_two_producers_is_named_depends_on_no_order_in_the_file() -> None:
    one, other = op("collate", 100, 100, WORKER), op("hash_find", 100, 100, ("Python", "Thread 143"))
    main = op("future.result", 90, 112)
    for events in ((main, one, other), (other, main, one)):
        found = classified(*events)
        assert found.producer[row_of(found, "future.result")] == row_of(found, "collate")
