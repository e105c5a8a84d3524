"""The example traces give the numbers of tests/examples/EXPECTED.md, counted in plain Python."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from analysis.profile.discover import SourceFile
from analysis.trace import model
from analysis.trace.ingest import read_trace
from tests.analysis.trace import oracle
from tests.analysis.trace.comparison import assert_same

if TYPE_CHECKING:
    from analysis.trace.model import Trace

EXAMPLES = Path(__file__).parents[2] / "examples"
TRAINING = (
    "training_torch_npu/node01_4242_20260105101500123_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json",
    1_767_607_200_000_000,
)
_PROF = "inference_msprof/PROF_000001_20260106090000111_QRSTUVWXYZABCDEF/mindstudio_profiler_output"
INFERENCE = (f"{_PROF}/msprof_20260106090130.json", 1_767_691_800_000_000)


@pytest.fixture(scope="module")
def training() -> Trace:
    return read_trace(SourceFile("trace_view", (EXAMPLES / TRAINING[0],)), root=EXAMPLES)


@pytest.fixture(scope="module")
def inference() -> Trace:
    return read_trace(SourceFile("trace_view", (EXAMPLES / INFERENCE[0],)), root=EXAMPLES)


def bars(trace: Trace, *roles: str) -> list[dict[str, Any]]:
    return trace.on(*roles).to_dicts()


def intervals_us(trace: Trace, role: str, base_us: int) -> list[tuple[int, int]]:
    """[start, end) of the bars with this role, in whole us after the base, the longest first."""
    found = []
    for bar in bars(trace, role):
        start, duration = Fraction(bar["start_ns"], 1000) - base_us, Fraction(bar["duration_ns"], 1000)
        assert start.denominator == duration.denominator == 1
        found.append((int(start), int(start + duration)))
    return sorted(found, key=lambda one: (one[0] - one[1], one[0]))


def length(intervals: list[tuple[int, int]]) -> int:
    return sum(end - start for start, end in intervals)


def union_us(intervals: list[tuple[int, int]]) -> int:
    return len({us for start, end in intervals for us in range(start, end)})


def copies(trace: Trace) -> dict[str, list[tuple[Fraction, Fraction | None]]]:
    """Microseconds and GB/s of every copy, by its operation."""
    found: dict[str, list[tuple[Fraction, Fraction | None]]] = {}
    for bar in bars(trace, model.DEVICE_STREAM):
        if bar["operation"] is not None:
            assert bar["name"] == "MEMCPY_ASYNC"
            rate = None if bar["bytes"] is None else Fraction(bar["bytes"], bar["duration_ns"])
            found.setdefault(bar["operation"], []).append((Fraction(bar["duration_ns"], 1000), rate))
    return found


@pytest.mark.parametrize("example", [TRAINING, INFERENCE], ids=["training", "inference"])
def test_every_bar_and_arrow_is_that_of_json_and_decimal(example: tuple[str, int]) -> None:
    path = EXAMPLES / example[0]
    trace = read_trace(SourceFile("trace_view", (path,)), root=EXAMPLES)
    assert_same(trace, oracle.read(path.read_bytes()))
    assert not trace.quality.damaged


def test_copies_of_the_training_example(training: Trace) -> None:
    assert copies(training) == {
        "host to device": [(50, 100), (50, 100)],
        "device to host": [(20, Fraction(4096, 10000))],
    }


def test_copies_of_the_inference_example(inference: Trace) -> None:
    times = {operation: [time for time, _ in found] for operation, found in copies(inference).items()}
    assert times == {"host to device": [30, 24, 36], "device to host": [10, 12, 8]}
    assert {operation: sum(found) / len(found) for operation, found in times.items()} == {
        "host to device": 30,
        "device to host": 10,
    }


def test_overlap_tracks_of_the_training_example(training: Trace) -> None:
    sums = {
        role: length(intervals_us(training, role, TRAINING[1]))
        for role in (model.COMPUTING, model.COMMUNICATION, model.NOT_OVERLAPPED, model.FREE)
    }
    assert sums == {
        model.COMPUTING: 990,
        model.COMMUNICATION: 940,
        model.NOT_OVERLAPPED: 470,
        model.FREE: 430,
    }


def test_longest_segments_of_the_training_example(training: Trace) -> None:
    alone = intervals_us(training, model.NOT_OVERLAPPED, TRAINING[1])
    free = intervals_us(training, model.FREE, TRAINING[1])
    assert alone == [(1770, 1900), (780, 900), (1560, 1640), (450, 500), (1450, 1500), (560, 600)]
    assert free == [(900, 1100), (600, 700), (40, 100), (1640, 1680), (1900, 1930)]


def test_overlap_tracks_of_the_inference_example(inference: Trace) -> None:
    assert length(intervals_us(inference, model.COMPUTING, INFERENCE[1])) == 480
    assert intervals_us(inference, model.COMMUNICATION, INFERENCE[1]) == []
    free = intervals_us(inference, model.FREE, INFERENCE[1])
    assert length(free) == 778
    assert free == [(200, 560), (714, 1060), (10, 60), (1256, 1268), (1200, 1210)]


def test_kernels_of_the_inference_example_cover_what_computing_says(inference: Trace) -> None:
    kernels = [bar for bar in bars(inference, model.DEVICE_STREAM) if bar["operation"] is None]
    base = 1000 * INFERENCE[1]
    spans = {
        core: [
            ((bar["start_ns"] - base) // 1000, (bar["start_ns"] + bar["duration_ns"] - base) // 1000)
            for bar in kernels
            if (bar["task_type"] == "AI_CPU") == (core == "AI_CPU")
        ]
        for core in ("AI_CORE", "AI_CPU")
    }
    everything = spans["AI_CORE"] + spans["AI_CPU"]
    assert (len(everything), length(everything), union_us(everything)) == (12, 600, 480)
    assert union_us(spans["AI_CORE"]) == 400


def test_every_kernel_of_the_training_example_hangs_on_its_operator(training: Trace) -> None:
    names = training.events["name"].to_list()
    pairs = {
        (names[source], names[target])
        for kind, _, source, target in training.flows.iter_rows()
        if kind == "async_npu"
    }
    assert ("aten::embedding", "aclnnEmbedding_GatherV2_GatherV2") in pairs
    assert ("aten::_unique2", "aclnnUnique2_UniqueWithCountsAndSorting_Unique") in pairs
    assert all(source.startswith("aten::") for source, _ in pairs)


def test_steps_of_the_training_example_are_on_the_main_thread(training: Trace) -> None:
    main = bars(training, model.PYTHON_MAIN)
    steps = [
        (bar["name"], bar["start_ns"] // 1000 - TRAINING[1], bar["duration_ns"] // 1000)
        for bar in main
        if bar["name"].startswith("ProfilerStep#")
    ]
    assert steps == [("ProfilerStep#10", 0, 1000), ("ProfilerStep#11", 1000, 1000)]
