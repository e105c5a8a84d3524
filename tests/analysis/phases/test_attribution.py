"""What each phase takes of a step: hand-computed tables in microseconds."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.phases.model import PHASES, ROWS, UNCLASSIFIED, PhaseTimes
from tests.analysis.phases.hand_made import WORKER, case, op, step
from tests.analysis.trace.builder import AUTOGRAD, CANN, MAIN, arrow, bar

NODE = "autograd::engine::evaluate_function: "
FUSED = NODE + "torch::autograd::CppNode<SplitLookupFunction_sgd_Op>"


def us(times: PhaseTimes, column: str, at: int | None = None) -> dict[str, float]:
    """One column of the mean step, or of the step with this number, without zeros."""
    rows = times.mean if at is None else times.by_step.filter(step=at)
    assert tuple(rows["phase"]) == ROWS
    return {phase: ns / 1000 for phase, ns in zip(rows["phase"], rows[column], strict=True) if ns}


def parts(times: PhaseTimes) -> dict[str, float]:
    return {name: ns / 1000 for name, ns in times.mean_remainder.items()}


def test_every_moment_of_a_step_belongs_to_one_row() -> None:
    times = case(
        step(7, 0, 1000),
        op("## copy_batch_to_gpu 8 ##", 100, 200),
        op("## forward 7 ##", 400, 300),
        op("[lookup]_[a]_[b]", 450, 50),
        op("my_trainer.tick", 800, 40),
        op("aten::item", 900, 60),
    ).times
    assert us(times, "main_thread_ns") == {
        "data_preprocessing": 200,
        "embedding_lookup": 50,
        "forward": 250,
        UNCLASSIFIED: 500,
    }
    assert us(times, "attributed_ns") == us(times, "main_thread_ns")
    assert times.mean["share"].to_list() == [0.2, 0.05, 0.25, None, None, None, 0.5]
    assert parts(times) == {
        "step_ns": 1000,
        "device_sync_ns": 60,
        "named_ns": 40,
        "no_event_ns": 400,
        "sync_anywhere_ns": 60,
    }
    assert times.mean_named.rows() == [("my_trainer.tick", 1, 40_000)]


def test_a_backward_range_is_split_by_what_the_autograd_thread_does() -> None:
    times = case(
        step(7, 0, 1000),
        op("## backward 7 ##", 100, 500),
        op(NODE + "AddmmBackward0", 120, 200, AUTOGRAD),
        op(FUSED, 350, 100, AUTOGRAD),
        op("Optimizer.step#Adam.step", 470, 30, AUTOGRAD),
        op(FUSED, 590, 100, AUTOGRAD),
    ).times
    assert us(times, "main_thread_ns") == {"backward": 500, UNCLASSIFIED: 500}
    # 100 and 10 of the two updates lie inside the range, and 30 of the optimizer.
    assert us(times, "attributed_ns") == {
        "backward": 360,
        "embedding_update": 110,
        "dense_update": 30,
        UNCLASSIFIED: 500,
    }
    assert us(times, "autograd_ns") == {"backward": 200, "embedding_update": 200, "dense_update": 30}
    assert times.fused_update


def test_silent_time_that_autograd_works_through_is_backward() -> None:
    times = case(
        step(7, 0, 1000),
        op("## forward 7 ##", 0, 300),
        op(NODE + "AddmmBackward0", 320, 110, AUTOGRAD),
        op(NODE + "EmbeddingBackward0", 440, 40, AUTOGRAD),
        op("Optimizer.step#SGD.step", 500, 500),
    ).times
    assert us(times, "main_thread_ns") == {"forward": 300, "backward": 200, "dense_update": 500}
    assert us(times, "inferred_ns") == {"backward": 200}
    assert not times.fused_update


def test_silent_time_that_is_half_covered_is_not() -> None:
    times = case(
        step(7, 0, 1000),
        op("## forward 7 ##", 0, 300),
        op(NODE + "AddmmBackward0", 320, 100, AUTOGRAD),
        op("Optimizer.step#SGD.step", 500, 500),
    ).times
    assert us(times, "main_thread_ns") == {"forward": 300, "dense_update": 500, UNCLASSIFIED: 200}
    assert us(times, "inferred_ns") == {}


def test_time_blocked_on_the_device_is_never_taken_for_backward() -> None:
    times = case(
        step(7, 0, 1000), op("aten::item", 0, 1000), op(NODE + "AddmmBackward0", 0, 1000, AUTOGRAD)
    ).times
    assert us(times, "main_thread_ns") == {UNCLASSIFIED: 1000}
    assert parts(times)["device_sync_ns"] == 1000


def test_a_call_below_the_framework_that_blocks_is_a_device_sync() -> None:
    same_thread, other = ("CANN", MAIN[1]), CANN
    times = case(
        step(7, 0, 1000),
        op("my_trainer.tick", 100, 200),
        op("## forward 7 ##", 400, 200),
        bar("AscendCL@aclrtSynchronizeStreamWithTimeout", same_thread, 250, 100),
        bar("AscendCL@aclrtSynchronizeStreamWithTimeout", same_thread, 410, 30),
        bar("AscendCL@aclrtSynchronizeStreamWithTimeout", other, 700, 100),
    ).times
    assert parts(times) == {
        "step_ns": 1000,
        "device_sync_ns": 100,
        "named_ns": 150,
        "no_event_ns": 550,
        "sync_anywhere_ns": 130,
    }


def test_a_blocking_call_in_a_silent_stretch_is_no_backward() -> None:
    below = ("CANN", MAIN[1])
    times = case(
        step(1, 0, 1000),
        op(NODE + "AddBackward0", 0, 900, AUTOGRAD),
        bar("AscendCL@aclrtSynchronizeStream", below, 200, 300),
    ).times
    assert us(times, "main_thread_ns") == {"backward": 700, UNCLASSIFIED: 300}
    assert us(times, "inferred_ns") == {"backward": 700}
    assert parts(times)["device_sync_ns"] == parts(times)["sync_anywhere_ns"] == 300


def test_a_blocking_call_that_kineto_records_on_the_main_thread_is_a_device_sync() -> None:
    found = case(
        step(1, 0, 1000),
        op("## forward 1 ##", 0, 600),
        bar("cudaStreamSynchronize", MAIN, 100, 300, "cuda_runtime"),
        bar("cudaDeviceSynchronize", MAIN, 700, 100, "cuda_runtime"),
        bar("synchronize", MAIN, 850, 100, "python_function"),
    )
    assert us(found.times, "main_thread_ns") == {"forward": 600, UNCLASSIFIED: 400}
    assert parts(found.times)["device_sync_ns"] == 100
    assert parts(found.times)["sync_anywhere_ns"] == 400


def test_other_threads_stand_beside_the_step_and_their_waits_do_not_count() -> None:
    second = ("Python", "Thread 143")
    times = case(
        step(7, 0, 1000),
        op("## forward 7 ##", 0, 500),
        op("feature_transform", 100, 200, WORKER),
        op("feature_transform", 200, 200, second),
        op("wait_all2all", 500, 100, WORKER),
        op("feature_transform", 950, 100, WORKER),
    ).times
    assert us(times, "other_threads_ns") == {"data_preprocessing": 350}
    assert us(times, "main_thread_ns") == {"forward": 500, UNCLASSIFIED: 500}


def test_steps_stand_by_themselves_and_the_mean_leaves_the_compile_step_out() -> None:
    times = case(
        step(7, 0, 9000),
        op("## forward 7 ##", 100, 8000),
        step(8, 10_000, 1000),
        op("## forward 8 ##", 10_100, 301),
        step(9, 12_000, 1001),
        op("## forward 9 ##", 12_000, 400),
        excluded=7,
    ).times
    assert us(times, "attributed_ns", 7) == {"forward": 8000, UNCLASSIFIED: 1000}
    assert us(times, "attributed_ns", 8) == {"forward": 301, UNCLASSIFIED: 699}
    assert us(times, "attributed_ns") == {"forward": 350.5, UNCLASSIFIED: 650}
    assert times.mean_remainder["step_ns"] == 1_000_500
    assert times.steps["excluded"].to_list() == [True, False, False]


def test_a_range_across_a_border_is_shared_by_both_steps() -> None:
    times = case(step(7, 0, 1000), step(8, 1000, 1000), op("## forward 7 ##", 900, 300)).times
    assert us(times, "attributed_ns", 7) == {"forward": 100, UNCLASSIFIED: 900}
    assert us(times, "attributed_ns", 8) == {"forward": 200, UNCLASSIFIED: 800}


def test_without_steps_everything_recorded_is_one() -> None:
    found = case(op("## forward 7 ##", 100, 300), op("## optimizer 7 ##", 500, 100))
    assert found.windows.whole_trace
    assert found.windows.frame.rows() == [(None, 100_000, 600_000, False)]
    assert us(found.times, "attributed_ns") == {"forward": 300, "dense_update": 100, UNCLASSIFIED: 100}


def test_a_step_without_any_event_is_all_unclassified() -> None:
    times = case(step(7, 0, 100), step(8, 100, 100), op("## forward 7 ##", 10, 90)).times
    assert us(times, "attributed_ns", 8) == {UNCLASSIFIED: 100}


def test_more_than_a_fifth_unclassified_lowers_confidence() -> None:
    assert case(step(7, 0, 1000), op("## forward 7 ##", 0, 800)).times.confidence == "high"
    assert case(step(7, 0, 1000), op("## forward 7 ##", 0, 799)).times.confidence == "low"


def test_the_five_largest_names_are_told_with_index_marks() -> None:
    names = [op(f"unknown_{letter} {at} x", at * 100, 10 + at) for at, letter in enumerate("abcdef")]
    times = case(step(7, 0, 1000), *names).times
    assert times.named["exclusive_ns"].to_list() == [15_000, 14_000, 13_000, 12_000, 11_000]
    assert times.mean_named["name"][0] == times.named["name"][0]
    assert times.mean_remainder["named_ns"] == 75_000


def test_arrows_to_backward_that_leave_their_step_are_counted() -> None:
    times = case(
        step(7, 0, 1000),
        step(8, 1000, 1000),
        op("aten::addmm", 100, 50),
        op("aten::mul", 200, 50),
        op("AddmmBackward0", 600, 50, AUTOGRAD),
        op("MulBackward0", 1100, 50, AUTOGRAD),
        *arrow("fwdbwd", 1, (MAIN, 100), (AUTOGRAD, 600)),
        *arrow("fwdbwd", 2, (MAIN, 200), (AUTOGRAD, 1100)),
    ).times
    assert (times.tied_backward, times.misplaced_backward) == (2, 1)


_NAMES = ("## forward 1 ##", "[lookup]_[a]_[b]", "## backward 1 ##", FUSED, "aten::item", "aten::add", "tick")


@st.composite
def ranges(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Bars on three threads, properly nested."""
    events = []
    for thread in (MAIN, AUTOGRAD, WORKER):
        cuts = sorted(draw(st.sets(st.integers(0, 3000), min_size=2, max_size=12)))
        for start, end in pairwise(cuts):
            events.append(op(draw(st.sampled_from(_NAMES)), start, end - start, thread))
            if end - start > 2 and draw(st.booleans()):
                events.append(op(draw(st.sampled_from(_NAMES)), start + 1, end - start - 2, thread))
    return events


@settings(deadline=None)
@given(events=ranges(), borders=st.sets(st.integers(0, 3000), min_size=2, max_size=4))
def test_rows_and_parts_sum_to_the_step(events: list[dict[str, Any]], borders: set[int]) -> None:
    marks = [step(at, start, end - start) for at, (start, end) in enumerate(pairwise(sorted(borders)))]
    times = case(*marks, *events).times
    for number in times.steps["step"]:
        rows = times.by_step.filter(step=number)
        whole = times.steps.filter(step=number).row(0, named=True)
        assert rows["main_thread_ns"].sum() == rows["attributed_ns"].sum() == whole["step_ns"]
        rest = rows.filter(phase=UNCLASSIFIED)["attributed_ns"][0]
        assert whole["device_sync_ns"] + whole["named_ns"] + whole["no_event_ns"] == rest
        assert rows.select(pl.min_horizontal(pl.col("main_thread_ns", "attributed_ns").min())).item() >= 0
    means = times.mean_remainder
    assert times.mean["attributed_ns"].sum() == times.mean["main_thread_ns"].sum() == means["step_ns"]
    assert times.mean.height == len(PHASES) + 1


def test_a_phase_that_no_name_tells_has_no_numbers() -> None:
    times = case(step(7, 0, 1000), op("collate", 100, 200), step(8, 1000, 500)).times
    unknown = times.by_step.filter(pl.col("phase") == "embedding_lookup").drop("step", "excluded", "phase")
    assert [*unknown.iter_rows()] == [(None,) * 6] * 2
    assert times.mean.filter(pl.col("phase") == "embedding_lookup")["attributed_ns"].to_list() == [None]


def test_a_phase_that_only_this_step_lacks_takes_no_time() -> None:
    times = case(step(7, 0, 1000), op("collate", 100, 200), step(8, 1000, 500)).times
    found = times.by_step.filter(pl.col("phase") == "data_preprocessing")
    assert found["attributed_ns"].to_list() == [200_000, 0]
    assert times.mean["attributed_ns"].to_list() == [100_000, None, None, None, None, None, 650_000]


def test_the_backward_pass_of_another_process_is_none_of_the_step() -> None:
    own, other = ("Python", "Thread 131"), ("Python 2", "Thread 131")
    events = [step(7, 0, 1000), op("work", 0, 10), op(FUSED, 500, 100, other)]
    times = case(*events).times
    assert us(times, "inferred_ns") == {}
    assert (us(times, "autograd_ns"), us(times, "other_threads_ns")) == ({}, {"embedding_update": 100})
    both = case(*events, op(FUSED, 100, 800, own)).times
    assert us(both, "autograd_ns") == {"embedding_update": 800}


def test_time_of_other_threads_without_a_phase_stands_in_the_last_row() -> None:
    times = case(
        step(7, 0, 1000),
        op("## backward 7 ##", 100, 500),
        op(NODE + "AddmmBackward0", 120, 200, AUTOGRAD),
        op("c10d::allreduce_", 400, 30, AUTOGRAD),
        op("pin_memory", 0, 50, WORKER),
    ).times
    assert us(times, "autograd_ns") == {"backward": 200, UNCLASSIFIED: 30}
    assert us(times, "other_threads_ns") == {UNCLASSIFIED: 50}
