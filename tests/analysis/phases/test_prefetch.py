"""What speaks of work for later batches, and how far ahead each stage is seen to work."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.phases.prefetch import find_prefetch
from tests.analysis.phases.hand_made import WORKER, Case, case, op, step
from tests.analysis.trace.builder import AUTOGRAD, MAIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from analysis.phases.results import Depth, Prefetch

LOADER = ("Python", "Thread 143")
SINGLE = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
LOOKUP_ITEM, DATA_ITEM = "prefetch_worker.embedding", "prefetch_worker.data"


def prefetch_of(*events: dict[str, Any]) -> Prefetch:
    """The prefetch that a trace with exactly these events shows."""
    return found_in(case(*events))


def found_in(made: Case) -> Prefetch:
    return find_prefetch(made.classified, made.windows)


def in_step(*names: str) -> list[dict[str, Any]]:
    """One step of 1000 us whose main thread does one after the other, 10 us each."""
    return [step(7, 0, 1000), *(op(name, 10 + 20 * at, 10) for at, name in enumerate(names))]


def steps(*contents: Sequence[str]) -> list[dict[str, Any]]:
    """Steps of 1000 us, each doing one thing after the other on the main thread."""
    events = []
    for at, names in enumerate(contents):
        events.append(step(7 + at, 1000 * at, 1000))
        events += [op(name, 1000 * at + 10 + 20 * place, 10) for place, name in enumerate(names)]
    return events


def waiting_steps(ends: Sequence[float], length: float = 100) -> list[dict[str, Any]]:
    """Steps of 1000 us, each with a wait for the lookup that ends at a moment of the step."""
    events = []
    for at, end in enumerate(ends):
        events += [step(7 + at, 1000 * at, 1000)]
        events += [op("prefetch.result", 1000 * at + end - length, length)]
    return events


def nodes() -> list[dict[str, Any]]:
    """What tells that a thread is the autograd thread."""
    name = "autograd::engine::evaluate_function: AddmmBackward0"
    return [op(name, start, 150, AUTOGRAD) for start in (400, 600, 800)]


def depth_of(found: Prefetch, stage: str) -> Depth:
    return next(depth for depth in found.depths if depth.stage == stage)


def told(found: Prefetch, stage: str) -> tuple[int | None, bool, str]:
    """Batches, whether they are a lower bound, and the evidence."""
    depth = depth_of(found, stage)
    return depth.batches, depth.at_least, depth.evidence


# ------------------------------------------------------------------------------------------------ presence


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("prefetch", "token.prefetch"),
        ("prefetch_next_batch", "token.prefetch"),
        ("Embedding prefetch", "token.prefetch"),
        ("cache.Prefetch.run", "token.prefetch"),
        ("ids precompute 3", "token.precompute"),
        ("embedding.prepare", "token.prepare"),
        ("prepare-inputs", "token.prepare"),
        ("data_pipeline.fill", "token.pipeline"),
        ("load_next_step", "token.next_step"),
        ("next step: ids", "token.next_step"),
        ("预取.prefetch", "token.prefetch"),
        ("EmbeddingCache.prepare", "token.prepare"),
        ("## sharded_module_prefetch ##", "torchrec.prefetch"),
        ("## sharded_module_prefetch 5 ##", "torchrec.prefetch"),
        ("## _prefetch_embeddings model.ebc: 5 ##", "torchrec.prefetch"),
        ("## start_sparse_data_dist ##", "torchrec.start_sparse_data_dist"),
        ("## wait_sparse_data_dist 5 ##", "torchrec.sparse_data_dist"),
        ("## sparse_data_dist ##", "torchrec.sparse_data_dist"),
        ("## sdd_preprocess_splits ##", "torchrec.sparse_data_dist"),
        ("## wait_for_batch 5 ##", "torchrec.wait_for_batch"),
        ("## start_embedding_lookup 5 ##", "torchrec.start_embedding_lookup"),
        ("## Pipeline Stage 1 : copy for batch 4 ##", "torchrec.stage"),
        ("## load_batch ##", "torchrec.load_batch"),
        ("## host_embedding_lookup_async ##", "recsdk.host_lookup"),
        ("## start_compute_swap_info ##", "recsdk.swap_info"),
        ("## prefetch ##", "recsys_examples.prefetch"),
        ("## ssd_prefetch 2 ##", "fbgemm.ssd_prefetch"),
    ],
)
def test_name_speaks_of_prefetching(name: str, why: str) -> None:
    found = prefetch_of(*in_step(name))
    assert found.present is True
    assert found.events["why"].to_list() == [why]


@pytest.mark.parametrize(
    "name",
    [
        "data_prefetcher.py(12): next",
        "train/prefetch.py(40): run",
        "TrainPipelinePrefetch",
        "train_pipeline.TrainPipelinePrefetch",
        "torchrec.pipeline._PrefetchIter",
        "prefetch::run",
        "## preprocess ##",
        "## pipeline progress ##",
        "[lookup]_[prefetch]_[row_wise]",
        "aclnnPrefetch prefetch",
        "prefetched",
        "prefetcher.get",
        "nextstep",
        "next_batch_step",
        "step_next",
        "数prefetch",
        "pipeline.forward",
        "pipeline.backward",
        "optimizer.step",
        "pipeline.zero_grad",
        "forward",
    ],
)
def test_name_does_not_speak_of_prefetching(name: str) -> None:
    found = prefetch_of(*in_step(name))
    assert found.present is None
    assert found.events.is_empty()


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("prepare_mask", False),
        ("mask_pipeline.run", False),
        ("precompute bias", False),
        ("prefetch ids", True),
    ],
)
def test_inside_of_training_only_words_that_mean_later_batches_count(name: str, *, counts: bool) -> None:
    found = prefetch_of(step(7, 0, 1000), op("pipeline.forward", 10, 100), op(name, 20, 50))
    assert found.present is (True if counts else None)


def test_a_name_that_the_user_switches_off_speaks_of_nothing(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[[rules]]\nid = 'mine'\npattern = '^prefetch ids$'\nphase = 'unclassified'")
    made = case(step(7, 0, 1000), op("prefetch ids", 10, 100), op("prefetch rows", 200, 100), rules=file)
    found = find_prefetch(made.classified, made.windows)
    assert found.events["name"].to_list() == ["prefetch rows"]


def test_names_are_listed_by_time_for_each_thread() -> None:
    found = prefetch_of(
        step(7, 0, 1000),
        op("## start_embedding_lookup 4 ##", 10, 20),
        op("## start_embedding_lookup 5 ##", 40, 30),
        op("embedding.prepare", 100, 50),
        op("embedding.prepare", 200, 60, WORKER),
        op("aten::add", 300, 500),
    )
    assert found.events.rows() == [
        ("embedding.prepare", "token.prepare", 1, 60_000, "Thread 142"),
        ("## start_embedding_lookup {i} ##", "torchrec.start_embedding_lookup", 2, 50_000, "Thread 100"),
        ("embedding.prepare", "token.prepare", 1, 50_000, "Thread 100"),
    ]


def test_an_index_ahead_of_training_speaks_of_prefetching() -> None:
    found = prefetch_of(*steps(["## copy_batch_to_gpu 5 ##", "## forward 4 ##"]))
    assert found.events.select("name", "why").rows() == [("## copy_batch_to_gpu {i} ##", "batch_index")]


def test_an_index_of_the_batch_in_training_speaks_of_nothing() -> None:
    found = prefetch_of(*steps(["## copy_batch_to_gpu 4 ##", "## forward 4 ##"]))
    assert found.present is None
    assert found.events.is_empty()


def test_without_any_bar_nothing_is_known() -> None:
    made = case(*in_step("aten::add"))
    bars = made.classified.bars
    empty = replace(
        made.classified,
        bars=replace(
            bars, frame=bars.frame.clear(), nesting=replace(bars.nesting, parent=bars.nesting.parent[:0])
        ),
        **{
            name: getattr(made.classified, name)[:0]
            for name in ("phase", "origin", "claim", "wait", "producer")
        },
    )
    found = find_prefetch(empty, made.windows)
    assert (found.present, found.runs_ahead, found.depth) == (None, None, None)
    assert found.events.is_empty()


# ---------------------------------------------------------------------------------------------- runs ahead


def test_names_alone_do_not_show_that_anything_runs_ahead() -> None:
    found = prefetch_of(*in_step("embedding.prepare", "wait_prepare", "pipeline.forward"))
    assert (found.present, found.runs_ahead) == (True, None)
    assert {depth.evidence for depth in found.depths} == {"unseen"}


def test_a_worker_thread_that_prepares_batches_runs_ahead() -> None:
    found = prefetch_of(step(7, 0, 1000), op("feature_transform", 10, 100, WORKER))
    assert (found.present, found.runs_ahead) == (True, True)


@pytest.mark.parametrize("thread", [MAIN, AUTOGRAD])
def test_other_threads_than_workers_do_not_run_ahead(thread: tuple[str, str]) -> None:
    found = prefetch_of(step(7, 0, 1000), *nodes(), op("feature_transform", 10, 100, thread))
    assert found.runs_ahead is None


def test_a_worker_thread_that_trains_does_not_run_ahead() -> None:
    found = prefetch_of(step(7, 0, 1000), op("table_update", 10, 100, WORKER))
    assert (found.present, found.runs_ahead) == (None, None)


def test_depth_0_everywhere_means_that_nothing_runs_ahead() -> None:
    contents = ["## copy_batch_to_gpu 4 ##", "## start_sparse_data_dist 4 ##", "## forward 4 ##"]
    found = prefetch_of(*steps(contents))
    assert (found.present, found.runs_ahead, found.depth) == (True, False, 0)


def test_depth_0_of_the_data_alone_leaves_the_lookup_open() -> None:
    found = prefetch_of(*in_step(SINGLE, "embedding.prepare", "pipeline.forward"))
    assert told(found, "data") == (0, False, "single_process")
    assert found.runs_ahead is None


# --------------------------------------------------------------------------------------------- batch index


def test_depth_is_the_index_of_the_stage_less_the_one_in_training() -> None:
    found = prefetch_of(
        *steps(
            ["## start_sparse_data_dist 5 ##", "## copy_batch_to_gpu 6 ##", "## forward 4 ##"],
            ["## start_sparse_data_dist 6 ##", "## forward 5 ##", "## copy_batch_to_gpu 7 ##"],
        )
    )
    assert told(found, "data") == (2, False, "index")
    assert told(found, "input_dist") == (1, False, "index")
    assert told(found, "dist_wait") == told(found, "lookup") == (None, False, "unseen")
    assert depth_of(found, "data").names == ("## copy_batch_to_gpu {i} ##",)
    assert (found.present, found.runs_ahead, found.depth) == (True, True, 1)


def test_the_first_window_with_the_start_of_the_pipeline_tells_the_whole_depth() -> None:
    fill = [f"## copy_batch_to_gpu {at} ##" for at in range(3)]
    found = prefetch_of(*steps([*fill, "## forward 0 ##"], ["## forward 1 ##"]))
    assert told(found, "data") == (2, False, "index")


def test_two_batches_in_one_step_are_compared_one_by_one() -> None:
    found = prefetch_of(
        *steps(
            [
                *("## copy_batch_to_gpu 5 ##", "## forward 4 ##", "## backward 4 ##"),
                *("## copy_batch_to_gpu 6 ##", "## forward 5 ##", "## backward 5 ##"),
            ]
        )
    )
    assert told(found, "data") == (1, False, "index")


def test_an_index_behind_training_tells_nothing() -> None:
    found = prefetch_of(*steps(["## copy_batch_to_gpu 3 ##", "## forward 4000 ##"]))
    assert told(found, "data") == (None, False, "unseen")


def test_a_lagging_index_of_the_optimizer_is_not_the_batch_in_training() -> None:
    found = prefetch_of(*steps(["## optimizer 3 ##", "## copy_batch_to_gpu 6 ##", "## forward 4 ##"]))
    assert told(found, "data") == (2, False, "index")


def test_without_an_index_in_training_stages_are_compared_with_the_hindmost() -> None:
    found = prefetch_of(
        *steps(
            *(
                [
                    f"## wait_sparse_data_dist {at + 3} ##",
                    f"## copy_batch_to_gpu {at + 6} ##",
                    f"## start_sparse_data_dist {at + 5} ##",
                    "## forward ##",
                ]
                for at in range(3)
            )
        )
    )
    assert told(found, "data") == (3, True, "index_gap")
    assert told(found, "input_dist") == (2, True, "index_gap")
    assert told(found, "dist_wait") == (None, False, "unseen")
    assert depth_of(found, "data").behind == depth_of(found, "input_dist").behind == "dist_wait"
    assert (found.runs_ahead, found.depth) == (True, 2)


def test_stages_at_the_same_index_show_no_gap() -> None:
    found = prefetch_of(*steps(["## copy_batch_to_gpu 6 ##", "## start_sparse_data_dist 6 ##"]))
    assert {told(found, stage)[2] for stage in ("data", "input_dist")} == {"unseen"}
    assert found.runs_ahead is None


def test_one_stage_with_an_index_and_nothing_to_compare_it_with_tells_nothing() -> None:
    found = prefetch_of(*steps(["## copy_batch_to_gpu 6 ##", "## forward ##"]))
    assert told(found, "data") == (None, False, "unseen")


def test_without_steps_the_batch_trained_next_gives_a_lower_bound() -> None:
    events = steps(
        *(
            [f"## forward {at} ##", f"## backward {at} ##", f"## copy_batch_to_gpu {at + 2} ##"]
            for at in range(4)
        )
    )
    unmarked = [event for event in events if "ProfilerStep" not in event["name"]]
    assert told(prefetch_of(*events), "data") == (2, False, "index")
    assert told(prefetch_of(*unmarked), "data") == (1, True, "index")


def test_what_lies_outside_of_the_steps_is_not_compared() -> None:
    late = op("## copy_batch_to_gpu 900 ##", 2500, 10)
    found = prefetch_of(*steps(["## copy_batch_to_gpu 5 ##", "## forward 4 ##"]), late)
    assert told(found, "data") == (1, False, "index")


_CONTENTS = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(["copy_batch_to_gpu", "start_sparse_data_dist", "forward", "backward"]),
            st.integers(0, 6),
        ),
        max_size=6,
    ),
    min_size=1,
    max_size=4,
)
_STAGES = {"copy_batch_to_gpu": "data", "start_sparse_data_dist": "input_dist"}


@settings(deadline=None, max_examples=60)
@given(_CONTENTS)
def test_depths_by_index_are_those_of_a_search_from_bar_to_bar(
    contents: list[list[tuple[str, int]]],
) -> None:
    made = steps(*([f"## {word} {index} ##" for word, index in names] for names in contents))
    found = prefetch_of(*made, op("aten::add", 0, 1))
    expected: dict[str, int] = {}
    trained = any(word not in _STAGES for names in contents for word, _ in names)
    for names in contents:
        for at, (word, index) in enumerate(names):
            training = [(place, i) for place, (other, i) in enumerate(names) if other not in _STAGES]
            if word not in _STAGES or not training:
                continue
            following = [i for place, i in training if place > at]
            lead = index - (following[0] if following else training[-1][1])
            if lead >= 0:
                expected[_STAGES[word]] = max(expected.get(_STAGES[word], 0), lead)
    if trained:
        assert {depth.stage: depth.batches for depth in found.depths if depth.evidence == "index"} == expected
    else:
        assert {depth.evidence for depth in found.depths} <= {"index_gap", "unseen"}


# ------------------------------------------------------------------------------------------------- workers


def items(name: str, thread: tuple[str, str], *spans: tuple[float, float]) -> Iterable[dict[str, Any]]:
    """Items of a worker from start to end in us."""
    return (op(name, start, end - start, thread) for start, end in spans)


def test_a_blocked_wait_belongs_to_the_item_that_it_ends_with() -> None:
    # The third item, begun in the first window, is what the wait in the fourth one needs: 3 - 2 = 1 ahead.
    found = prefetch_of(
        *waiting_steps([300, 300, 300, 310]),
        *items(LOOKUP_ITEM, WORKER, (100, 600), (1100, 1900), (2100, 3300), (3400, 3900)),
    )
    assert told(found, "lookup") == (1, True, "fifo")
    assert depth_of(found, "lookup").names == ("prefetch.result", LOOKUP_ITEM)
    assert (found.present, found.runs_ahead) == (True, True)


def test_an_item_handed_over_and_awaited_in_one_step_is_not_ahead() -> None:
    found = prefetch_of(*waiting_steps([300, 300]), *items(LOOKUP_ITEM, WORKER, (100, 295), (1100, 1295)))
    assert told(found, "lookup") == (0, True, "fifo")


def test_an_item_is_ahead_by_the_windows_since_it_began_however_many_came_before() -> None:
    filled = [(at, at + 8) for at in range(100, 200, 10)]
    found = prefetch_of(*waiting_steps([300, 300, 310]), *items(LOOKUP_ITEM, WORKER, *filled, (250, 2300)))
    assert told(found, "lookup") == (2, True, "fifo")


def test_threads_that_share_items_of_one_name_are_one_queue() -> None:
    # Two threads take turns. The last item is the first of its thread, but the fourth of all.
    found = prefetch_of(
        *waiting_steps([50, 50, 50, 310], length=20),
        op("prefetch.result", 3100, 210),
        *items(LOOKUP_ITEM, WORKER, (100, 600), (1100, 1900), (2100, 2800)),
        *items(LOOKUP_ITEM, LOADER, (3050, 3300)),
    )
    assert told(found, "lookup") == (0, True, "fifo")


@pytest.mark.parametrize(("late_us", "evidence"), [(0, "fifo"), (15, "fifo"), (16, "unseen"), (-1, "unseen")])
def test_a_wait_meets_an_item_that_ends_shortly_before_it(late_us: int, evidence: str) -> None:
    found = prefetch_of(*waiting_steps([300]), *items(LOOKUP_ITEM, WORKER, (100, 300 - late_us)))
    assert told(found, "lookup")[2] == evidence


@pytest.mark.parametrize(("length_us", "evidence"), [(50, "fifo"), (49, "never_blocks")])
def test_only_a_wait_of_50_us_has_blocked(length_us: float, evidence: str) -> None:
    found = prefetch_of(*waiting_steps([300], length_us), *items(LOOKUP_ITEM, WORKER, (100, 295)))
    assert told(found, "lookup")[2] == evidence


def test_a_wait_for_one_phase_is_not_ended_by_an_item_of_another() -> None:
    found = prefetch_of(*waiting_steps([300]), *items(DATA_ITEM, WORKER, (100, 295)))
    assert {told(found, stage)[0] for stage in ("data", "lookup")} == {None}


def test_a_part_of_an_item_is_not_the_item() -> None:
    # hash_find ends with the wait, but the item it is part of goes on.
    found = prefetch_of(
        *waiting_steps([300]),
        *items(LOOKUP_ITEM, WORKER, (100, 900)),
        op("hash_find", 200, 95, WORKER),
    )
    assert told(found, "lookup") == (None, False, "unseen")


def test_an_item_of_the_autograd_thread_is_no_item() -> None:
    found = prefetch_of(*waiting_steps([300]), *nodes(), *items("embedding.relocate", AUTOGRAD, (100, 295)))
    assert told(found, "lookup") == (None, False, "unseen")


def test_waits_that_never_block_tell_that_workers_are_far_enough_ahead() -> None:
    found = prefetch_of(
        *waiting_steps([300, 300], length=10), *items(LOOKUP_ITEM, WORKER, (100, 250), (1100, 1250))
    )
    assert told(found, "lookup") == (None, False, "never_blocks")
    assert depth_of(found, "lookup").names == (LOOKUP_ITEM,)
    assert (found.runs_ahead, found.depth) == (True, None)


def test_a_worker_that_nobody_waits_for_tells_no_depth() -> None:
    found = prefetch_of(step(7, 0, 1000), *items(LOOKUP_ITEM, WORKER, (100, 250)))
    assert told(found, "lookup") == (None, False, "unseen")


@pytest.mark.parametrize(
    ("starts_after_us", "told_of_data"),
    [
        (0, (2, True, "chained")),
        (15, (2, True, "chained")),
        (-15, (2, True, "chained")),
        (16, (None, False, "never_blocks")),
        (-16, (None, False, "never_blocks")),
    ],
)
def test_a_worker_whose_items_let_another_begin_is_ahead_of_it(
    starts_after_us: int, told_of_data: tuple[int | None, bool, str]
) -> None:
    # Lookup: the third item ends the wait of the fourth window, 1 ahead. It begins as the second item of
    # the data ends, which therefore holds the same batch: the data is 2 ahead.
    found = prefetch_of(
        *waiting_steps([300, 300, 300, 310]),
        *items(LOOKUP_ITEM, WORKER, (100, 600), (1100, 1900), (2100, 3300), (3400, 3900)),
        *items(DATA_ITEM, LOADER, (120, 300), (400, 2100 - starts_after_us), (2500, 2800)),
    )
    assert told(found, "lookup") == (1, True, "fifo")
    assert told(found, "data") == told_of_data
    if told_of_data[0]:
        assert depth_of(found, "data").names == (DATA_ITEM, LOOKUP_ITEM)


def test_without_steps_ends_that_meet_tell_no_depth() -> None:
    events = [event for event in waiting_steps([300, 300]) if "ProfilerStep" not in event["name"]]
    found = prefetch_of(*events, *items(LOOKUP_ITEM, WORKER, (100, 295), (400, 1295)))
    assert told(found, "lookup") == (None, False, "unseen")
    assert found.runs_ahead is True


def test_an_index_is_surer_than_ends_that_meet() -> None:
    found = prefetch_of(
        *waiting_steps([300]),
        *items("## start_embedding_lookup 6 ##", WORKER, (100, 295)),
        op("## forward 4 ##", 400, 100),
    )
    assert told(found, "lookup") == (2, False, "index")


@settings(deadline=None, max_examples=60)
@given(
    depth=st.integers(0, 3),
    works=st.lists(st.tuples(st.integers(200, 1500), st.integers(10, 3000)), min_size=2, max_size=8),
    filled=st.booleans(),
)
def test_ends_that_meet_never_tell_more_than_the_queue_holds(
    depth: int, works: list[tuple[int, int]], *, filled: bool
) -> None:
    """Every step hands over the batch ``depth`` ahead and waits for its own; one worker does them in turn."""
    events, at, free = [], 1000, 1000
    done = dict.fromkeys(range(depth), 0)
    blocked = False
    for batch, (training, length) in enumerate(works):
        for ahead in range(0 if filled and not batch else depth, depth + 1):
            begin = max(free, at + 5)
            free = done[batch + ahead] = begin + length
            events.append(op(LOOKUP_ITEM, begin, length, WORKER))
        end = max(at + 20, done[batch] + 3)
        blocked |= end - at - 10 >= 50
        events += [op("prefetch.result", at + 10, end - at - 10), step(batch, at, end + training - at)]
        at = end + training
    batches, at_least, evidence = told(prefetch_of(*events), "lookup")
    assert evidence == ("fifo" if blocked else "never_blocks")
    if blocked:
        assert at_least
        assert batches is not None
        assert batches <= depth if filled else batches == depth


# ------------------------------------------------------------------------------------------ nothing ahead


def test_a_loader_on_the_main_thread_is_not_ahead() -> None:
    found = prefetch_of(*in_step(SINGLE, "pipeline.forward"))
    assert told(found, "data") == (0, False, "single_process")
    assert depth_of(found, "data").names == (SINGLE,)
    assert found.runs_ahead is None


def test_a_loader_that_a_pipeline_asks_may_be_ahead() -> None:
    found = prefetch_of(step(7, 0, 1000), op("## next_batch ##", 10, 100), op(SINGLE, 20, 50))
    assert told(found, "data") == (None, False, "unseen")


def test_a_loader_on_another_thread_may_be_ahead() -> None:
    found = prefetch_of(*in_step("pipeline.forward"), op(SINGLE, 20, 50, WORKER))
    assert told(found, "data") == (None, False, "unseen")


def test_a_loader_beside_a_worker_that_preprocesses_may_be_ahead() -> None:
    found = prefetch_of(*in_step(SINGLE), op("collate", 20, 50, WORKER))
    assert told(found, "data") == (None, False, "unseen")


def test_a_loader_of_several_processes_tells_nothing() -> None:
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    found = prefetch_of(*in_step(name, "pipeline.forward"))
    assert told(found, "data") == (None, False, "unseen")
    assert found.present is None


def test_a_loader_with_an_index_is_as_far_ahead_as_its_index() -> None:
    found = prefetch_of(*steps([SINGLE, "## copy_batch_to_gpu 5 ##", "## forward 4 ##"]))
    assert told(found, "data") == (1, False, "index")


def inside_forward(*others: dict[str, Any]) -> Prefetch:
    return prefetch_of(
        step(7, 0, 1000),
        op("DistributedDataParallel.forward", 100, 300),
        op("aten::embedding", 110, 20),
        op("embedding_forward", 140, 40),
        op("aten::index_select", 150, 10),
        *others,
    )


def test_a_lookup_inside_forward_is_not_ahead() -> None:
    found = inside_forward()
    assert told(found, "lookup") == told(found, "input_dist") == (0, False, "inside_forward")
    assert depth_of(found, "lookup").names == ("embedding_forward", "aten::embedding")
    assert told(found, "dist_wait") == (None, False, "unseen")


def test_a_lookup_of_another_step_counts_and_one_outside_of_the_steps_does_not() -> None:
    assert told(inside_forward(op("hash_find", 1500, 10)), "lookup")[2] == "inside_forward"
    within = inside_forward(step(8, 1000, 1000), op("hash_find", 1500, 10))
    assert told(within, "lookup") == (None, False, "unseen")


def test_a_lookup_beside_forward_may_be_ahead() -> None:
    assert told(inside_forward(op("hash_find", 20, 10)), "lookup") == (None, False, "unseen")


def test_a_lookup_on_another_thread_may_be_ahead() -> None:
    assert told(inside_forward(op("hash_find", 120, 10, WORKER)), "lookup") == (None, False, "unseen")


def test_a_lookup_inside_forward_that_speaks_of_prefetching_may_be_ahead() -> None:
    assert told(inside_forward(op("prefetch.embedding", 200, 10)), "lookup") == (None, False, "unseen")


def test_forward_without_a_lookup_tells_nothing() -> None:
    found = prefetch_of(*in_step("pipeline.forward"))
    assert {depth.evidence for depth in found.depths} == {"unseen"}


def test_no_loader_and_a_loader_in_one_process_with_the_lookup_inside_forward_run_nothing_ahead() -> None:
    assert inside_forward().runs_ahead is None
    assert inside_forward(op(SINGLE, 10, 50)).runs_ahead is False


def test_at_most_five_names_stand_for_a_depth() -> None:
    lookups = [op(f"[lookup]_[{letter}]_[row_wise]", 200 + 10 * at, 3) for at, letter in enumerate("gfedcba")]
    assert depth_of(inside_forward(*lookups), "lookup").names == (
        "embedding_forward",
        "aten::embedding",
        "[lookup]_[a]_[row_wise]",
        "[lookup]_[b]_[row_wise]",
        "[lookup]_[c]_[row_wise]",
    )


def test_numbers_far_apart_count_no_batches() -> None:
    near = steps(["## copy_batch_to_gpu 1004 ##", "## forward 4 ##"])
    far = steps(["## copy_batch_to_gpu 1005 ##", "## forward 4 ##"])
    assert told(prefetch_of(*near), "data") == (1000, False, "index")
    assert told(prefetch_of(*far), "data")[0] is None
