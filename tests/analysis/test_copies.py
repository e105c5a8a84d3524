from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analysis.copies import Copies, copy_notes, find_copies
from analysis.notes import Missing
from analysis.trace.steps import trace_steps
from tests.analysis.copy_events import (
    COMPUTING,
    D2H,
    H2D,
    OTHER_STREAM,
    TO_DEVICE,
    TO_HOST,
    US,
    copy,
    counted,
    direction,
    found,
    kernel,
    launched,
    step,
    times,
)
from tests.analysis.trace.builder import GROUP, PLANE, STREAM, bar, cut_short, timeline, trace_of

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = Path(__file__).parents[1] / "examples"


# ------------------------------------------------------------------ examples


def example(pattern: str, framework: str) -> Copies:
    (path,) = EXAMPLES.glob(pattern)
    trace = trace_of(json.loads(path.read_text()))
    copies = find_copies(trace, trace_steps(trace), launched(trace), framework, counted())
    assert isinstance(copies, Copies)
    return copies


def test_training_example_has_the_copies_of_the_hand_computed_table():
    copies = example("training_torch_npu/*/ASCEND_PROFILER_OUTPUT/trace_view.json", "pytorch")
    expected = {
        TO_DEVICE: {
            "count": 2,
            "avg_ns": 50 * US,
            "total_ns": 100 * US,
            "bytes": 10_000_000,
            "gb_per_s": 100.0,
            "per_iteration_ns": 50 * US,
            "overlapped_ns": 0,
        },
        TO_HOST: {
            "count": 1,
            "avg_ns": 20 * US,
            "total_ns": 20 * US,
            "bytes": 8192,
            "gb_per_s": 0.4096,
            "per_iteration_ns": 10 * US,
            "overlapped_ns": 0,
        },
    }
    assert {name: direction(copies, name) | wanted for name, wanted in expected.items()} == {
        name: direction(copies, name) for name in expected
    }
    assert copies.cut_by == "profiler_step"
    assert copies.outside == 0


def test_inference_example_has_the_copies_of_the_hand_computed_table():
    copies = example("inference_msprof/*/mindstudio_profiler_output/msprof_2*.json", "ge")
    assert copies.cut_by == "model_execute"
    assert times(copies) == {"1": 30 * US, "2": 24 * US, "3": 36 * US}
    assert times(copies, TO_HOST) == {"1": 10 * US, "2": 12 * US, "3": 8 * US}
    assert (direction(copies, TO_DEVICE)["total_ns"], copies.per_iteration_ns(TO_DEVICE)) == (
        90 * US,
        30 * US,
    )
    assert (direction(copies, TO_HOST)["total_ns"], copies.per_iteration_ns(TO_HOST)) == (30 * US, 10 * US)


# ------------------------------------------------------------- what is a copy


def test_trace_without_copies_says_what_it_lacks():
    trace = timeline(step(1, 0, 100), kernel(10, 20))
    result = find_copies(trace, trace_steps(trace), launched(trace), "pytorch", counted())
    assert isinstance(result, Missing)
    assert result.lacks == "copies"


def test_sub_tasks_of_collectives_are_no_copies():
    copies = found(
        step(1, 0, 100),
        copy(10, 5),
        bar("SDMA", STREAM, 20, 5, task_type="SDMA"),
        bar("Memcpy", PLANE, 30, 5),
        bar("hcom_allReduce__1_0_1", GROUP, 30, 5),
    )
    assert copies.bars.height == 1


def test_transfer_named_by_its_task_type_is_a_copy_without_direction():
    copies = found(step(1, 0, 100), bar("PCIE_DMA_SQE", STREAM, 10, 5, task_type="PCIE_DMA_SQE"))
    assert direction(copies, None)["count"] == 1


def test_copy_shown_a_second_time_by_its_task_type_counts_once():
    copies = found(
        step(1, 0, 100),
        bar("PCIE_DMA_SQE", OTHER_STREAM, 10, 5, task_type="PCIE_DMA_SQE"),
        copy(10, 5),
    )
    assert copies.bars["direction"].to_list() == [TO_DEVICE]


def test_copy_of_one_launch_shown_on_two_tracks_counts_once():
    copies = found(
        step(1, 0, 100),
        copy(10, 5, None, OTHER_STREAM, connection_id=7),
        copy(10, 5, H2D, STREAM, connection_id=7),
    )
    assert copies.bars["direction"].to_list() == [TO_DEVICE]


def test_equal_copies_of_different_launches_count_each():
    copies = found(
        step(1, 0, 100),
        copy(10, 5, connection_id=7),
        copy(10, 5, place=OTHER_STREAM, connection_id=8),
        copy(10, 5, place=("Ascend Hardware", "Stream 8")),
    )
    assert direction(copies, TO_DEVICE)["count"] == 3


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("acl_memcpy_host_to_device", TO_DEVICE),
        ("RT_MEMCPY_DEVICE_TO_HOST", TO_HOST),
        ("acl_memcpy_device_to_device", "device_to_device"),
        ("sideways", None),
        ("host to device", "host_to_device"),
        ("host to device ex", "host_to_device"),
        ("device to host ex", "device_to_host"),
        ("addr device to device", "device_to_device"),
        ("managed memory", "managed_memory"),
        (None, None),
    ],
)
def test_operation_tells_the_direction(operation: str | None, expected: str | None):
    copies = found(step(1, 0, 100), copy(10, 5, operation))
    assert copies.bars["direction"].to_list() == [expected]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Memcpy HtoD (Pageable -> Device)", "host_to_device"),
        ("Memcpy DtoH (Device -> Pinned)", "device_to_host"),
        ("Memcpy DtoD (Device -> Device)", "device_to_device"),
    ],
)
def test_name_of_a_gpu_copy_tells_the_direction(name: str, expected: str):
    copies = found(step(1, 0, 100), bar(name, STREAM, 10, 5, "gpu_memcpy"))
    assert copies.bars["direction"].to_list() == [expected]


# -------------------------------------------------------------- overlapping


def test_copy_beside_computing_is_told_apart():
    copies = found(
        step(1, 0, 100),
        copy(10, 20),
        bar("Computing", COMPUTING, 15, 10),
        bar("Computing", COMPUTING, 28, 20),
    )
    row = direction(copies, TO_DEVICE)
    assert (row["overlapped_ns"], row["overlapped_share"]) == (12 * US, 0.6)


def test_kernels_stand_in_for_a_missing_computing_track():
    copies = found(
        step(1, 0, 100),
        copy(10, 20),
        kernel(15, 5),
        kernel(16, 8, "MIX_AIC"),
        kernel(12, 20, "EVENT_WAIT_SQE"),
        kernel(12, 20, "COMMUNICATION", "hcom_allReduce_"),
    )
    assert direction(copies, TO_DEVICE)["overlapped_ns"] == 9 * US


def test_overlap_is_unknown_where_nothing_tells_when_the_device_computes():
    copies = found(step(1, 0, 100), copy(10, 20))
    row = direction(copies, TO_DEVICE)
    assert (row["overlapped_ns"], row["overlapped_share"]) == (None, None)
    assert copies.by_iteration["overlapped_ns"].to_list() == [None]


def test_what_is_left_of_a_cut_file_tells_no_time_per_iteration():
    trace = cut_short(timeline(step(1, 0, 100), copy(10, 20), kernel(15, 5), step(2, 100, 100)))
    copies = find_copies(trace, trace_steps(trace), launched(trace), "pytorch", counted())
    assert isinstance(copies, Copies)
    row = direction(copies, TO_DEVICE)
    assert (row["count"], row["total_ns"]) == (1, 20 * US)
    unknown = ("count_per_iteration", "per_iteration_ns", "overlapped_ns", "overlapped_share")
    assert [row[name] for name in unknown] == [None] * 4
    assert (copies.cut_short, copies.by_iteration.height) == (True, 0)
    assert list(copy_notes(copies)) == []


# -------------------------------------------------------------- brute force


def _ticks(spans: Sequence[tuple[int, int]]) -> set[int]:
    return {tick for start, end in spans for tick in range(start, end)}


@pytest.mark.parametrize("seed", range(20))
def test_times_agree_with_counting_every_microsecond(seed: int):
    """Steps of 50 us, random copies on three streams, every microsecond counted in a set."""
    random_ = random.Random(seed)
    steps = [(number, 50 * number, 50 * number + random_.randint(30, 50)) for number in range(4)]
    copies = [
        (random_.randint(0, 220), random_.randint(0, 30), random_.choice([H2D, D2H]), random_.randint(0, 2))
        for _ in range(random_.randint(1, 25))
    ]
    computing = [(random_.randint(0, 220), random_.randint(1, 20)) for _ in range(10)]
    result = found(
        *(step(number, start, end - start) for number, start, end in steps),
        *(
            copy(start, dur, operation, ("Ascend Hardware", f"Stream {stream}"), connection_id=at)
            for at, (start, dur, operation, stream) in enumerate(copies)
        ),
        *(bar("Computing", COMPUTING, start, dur) for start, dur in computing),
    )
    busy = _ticks([(start, start + dur) for start, dur in computing])
    expected = {}
    for number, first, last in steps:
        for operation, name in ((H2D, TO_DEVICE), (D2H, TO_HOST)):
            mine = [
                (start, start + dur)
                for start, dur, kind, _ in copies
                if kind == operation and first <= start < last
            ]
            if mine:
                ticks = _ticks(mine)
                span = max(end for _, end in mine) - min(start for start, _ in mine)
                row = (len(mine), len(ticks) * US, (span - len(ticks)) * US, len(ticks & busy) * US)
                expected[str(number), name] = row
    assert {tuple(row[:2]): tuple(row[2:6]) for row in result.by_iteration.iter_rows()} == expected
    for operation, name in ((H2D, TO_DEVICE), (D2H, TO_HOST)):
        mine = [(start, start + dur) for start, dur, kind, _ in copies if kind == operation]
        if mine:
            whole = direction(result, name)
            assert (whole["count"], whole["total_ns"]) == (
                len(mine),
                sum(end - start for start, end in mine) * US,
            )
            assert whole["overlapped_ns"] == len(_ticks(mine) & busy) * US
