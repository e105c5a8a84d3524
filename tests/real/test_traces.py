"""Genuine traces, each bar and each arrow against json and Decimal."""

from __future__ import annotations

import csv
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from analysis.profile.discover import SourceFile
from analysis.trace import model
from analysis.trace.ingest import read_parts, read_trace
from tests.analysis.trace import oracle
from tests.analysis.trace.comparison import assert_same

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.trace.model import Trace

pytestmark = pytest.mark.real

RANK0 = "torch_npu_alexnet_2rank_level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"
RANK1 = "torch_npu_alexnet_2rank_level1/rank1_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"
LEVEL0 = "torch_npu_alexnet_level0/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"
OLDER = "older/trace_view_2024-01.json"
MSPROF = (
    "msprof_groupedmatmul/PROF_Memory/PROF_000001_20260823165413436_00626258NIRJNPIC"
    "/mindstudio_profiler_output/msprof_20260823165420.json"
)
DLRM0 = "gpu_recommender/worker0_step_12.1694128201545.pt.trace.json"
DLRM1 = "gpu_recommender/worker1_step_12.1694128201556.pt.trace.json"
TORCHREC = "gpu_recommender/torchrec_sampled_rank-0.json.gz"

COUNTS = {
    RANK0: {"X": 4384, "C": 4431, "s": 606, "f": 611, "M": 80},
    RANK1: {"X": 4385, "C": 4287, "s": 606, "f": 611, "M": 80},
    LEVEL0: {"X": 3379, "C": 3716, "s": 606, "f": 611, "M": 63},
    OLDER: {"X": 2212, "s": 713, "f": 713, "M": 32},
    MSPROF: {"X": 92, "C": 3, "s": 3, "f": 3, "M": 28},
    DLRM0: {"X": 2460, "s": 261, "f": 525, "M": 42, "i": 2},
    DLRM1: {"X": 2527, "s": 262, "f": 591, "M": 42, "i": 2},
    TORCHREC: {"X": 4811, "M": 44},
}
NPU = (RANK0, RANK1, LEVEL0, OLDER, MSPROF)
GPU = (DLRM0, DLRM1, TORCHREC)


def trace_at(data: Path, name: str) -> Trace:
    return read_trace(SourceFile("trace_view", (data / name,)), root=data)


def roles(trace: Trace) -> dict[str, list[str | None]]:
    """Threads by role."""
    found: dict[str, list[str | None]] = {}
    for thread, role in trace.tracks.select("thread", "role").rows():
        found.setdefault(role, []).append(thread)
    return found


def bars_by_role(trace: Trace) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for role, bars in trace.tracks.select("role", "bars").rows():
        counts[role] += bars
    return {role: bars for role, bars in counts.items() if bars}


@pytest.mark.parametrize("name", COUNTS)
def test_objects_by_phase_are_those_of_a_plain_count(data: Path, name: str) -> None:
    quality = trace_at(data, name).quality
    assert quality.by_phase == COUNTS[name]
    assert quality.objects == sum(COUNTS[name].values())


@pytest.mark.parametrize("name", COUNTS)
def test_every_bar_arrow_and_name_is_that_of_json_and_decimal(data: Path, name: str) -> None:
    assert_same(trace_at(data, name), oracle.read((data / name).read_bytes()))


@pytest.mark.parametrize("name", [RANK0, MSPROF, DLRM0])
def test_three_workers_read_the_same(data: Path, name: str) -> None:
    trace = read_parts([data / name], root=data, jobs=3, chunk_bytes=1 << 14, parallel_bytes=0)
    assert_same(trace, oracle.read((data / name).read_bytes()))


@pytest.mark.parametrize("name", COUNTS)
def test_nothing_of_a_healthy_file_is_lost(data: Path, name: str) -> None:
    quality = trace_at(data, name).quality
    assert [fault for fault in quality.faults if fault.lost] == []
    assert quality.lost_bytes == 0
    assert not quality.damaged


@pytest.mark.parametrize("name", [RANK0, RANK1, LEVEL0])
def test_overlap_tracks_sum_up_to_step_trace_time(data: Path, name: str) -> None:
    trace = trace_at(data, name)
    with (data / name).with_name("step_trace_time.csv").open(newline="") as file:
        (step,) = csv.DictReader(file)
    tracks = {
        model.COMPUTING: "Computing",
        model.COMMUNICATION: "Communication",
        model.NOT_OVERLAPPED: "Communication(Not Overlapped)",
        model.FREE: "Free",
    }
    sums = {role: trace.on(role)["duration_ns"].sum() for role in tracks}
    # The file holds float sums such as 8873.756000000001: their exact value is the nearest nanosecond.
    assert sums == {role: round(Decimal(step[column]) * 1000) for role, column in tracks.items()}


@pytest.mark.parametrize(
    ("name", "kind", "exact", "inside", "untied"),
    [
        (RANK0, "HostToDevice", 23, 187, 0),
        (RANK1, "HostToDevice", 23, 187, 0),
        (OLDER, "HostToDevice", 0, 274, 0),
        (MSPROF, "HostToDevice", 3, 0, 0),
        # Level0 drops the bars of CANN, not the arrows that start there.
        (LEVEL0, "HostToDevice", 0, 0, 210),
        (RANK0, "async_npu", 210, 0, 0),
        (RANK0, "async_task_queue", 159, 0, 0),
        (RANK0, "fwdbwd", 27, 0, 0),
        (DLRM0, "ac2g", 261, 0, 0),
    ],
)
def test_starts_of_arrows_lie_at_or_inside_their_bar(
    data: Path, name: str, kind: str, exact: int, inside: int, untied: int
) -> None:
    trace, reading = trace_at(data, name), oracle.read((data / name).read_bytes())
    starts = {end.id: end for end in reading.ends if end.phase == "s" and end.kind == kind}
    counts: Counter[str] = Counter()
    sources = {
        ident: source for of, ident, source, _ in trace.flows.iter_rows() if of == kind and ident in starts
    }
    bars = trace.events.select("start_ns", "duration_ns").rows()
    for ident, source in sources.items():
        if source is None:
            counts["untied"] += 1
            continue
        start, duration = bars[source]
        offset = starts[ident].start_ns - start
        counts["exact" if offset == 0 else "inside" if 0 < offset < duration else "outside"] += 1
    assert counts == Counter(exact=exact, inside=inside, untied=untied)


@pytest.mark.parametrize("name", [RANK0, RANK1, LEVEL0, OLDER, MSPROF, DLRM0, DLRM1])
def test_every_end_of_an_arrow_sits_on_a_bar(data: Path, name: str) -> None:
    assert trace_at(data, name).flows["target"].null_count() == 0


@pytest.mark.parametrize("name", [RANK0, RANK1, OLDER])
def test_launches_start_in_node_launch(data: Path, name: str) -> None:
    trace = trace_at(data, name)
    names = trace.events["name"].to_list()
    sources = [
        source
        for kind, _, source, _ in trace.flows.iter_rows()
        if kind == "HostToDevice" and source is not None
    ]
    assert sources
    assert {names[source].partition("@")[0] for source in sources} <= {"Node", "AscendCL"}


def test_roles_of_a_level1_training_capture(data: Path) -> None:
    trace = trace_at(data, RANK0)
    found = roles(trace)
    assert found[model.PYTHON_MAIN] == ["Thread 3096504"]
    assert len(found[model.AUTOGRAD]) == 1
    assert found[model.COLLECTIVE] == ["Group 0 Communication"]
    assert all(thread is not None and thread.startswith("Stream ") for thread in found[model.DEVICE_STREAM])
    assert all(thread is not None and thread.startswith("Plane ") for thread in found[model.PLANE])
    assert found[model.COMPUTING] == ["Computing"]
    assert found[model.COMMUNICATION] == ["Communication"]
    assert found[model.NOT_OVERLAPPED] == ["Communication(Not Overlapped)"]
    assert found[model.FREE] == ["Free"]


def test_cann_has_no_bars_at_level0(data: Path) -> None:
    counts = bars_by_role(trace_at(data, LEVEL0))
    assert model.CANN not in counts
    assert counts[model.DEVICE_STREAM] > 0


def test_small_process_numbers_of_an_older_capture_are_told_by_name(data: Path) -> None:
    trace = trace_at(data, OLDER)
    processes = {
        role: set(trace.tracks.filter(trace.tracks["role"] == role)["pid"].to_list())
        for role in (model.DEVICE_STREAM, model.CANN, model.FREE)
    }
    assert processes == {model.DEVICE_STREAM: {"800"}, model.CANN: {"43767502"}, model.FREE: {"4376751100"}}


@pytest.mark.parametrize("name", GPU)
def test_kineto_traces_have_streams_but_no_npu_tracks(data: Path, name: str) -> None:
    counts = bars_by_role(trace_at(data, name))
    assert counts[model.DEVICE_STREAM] > 0
    assert counts[model.PYTHON_MAIN] > 0
    npu = {model.CANN, model.COLLECTIVE, model.PLANE, model.COMPUTING, model.COMMUNICATION, model.FREE}
    assert not npu & set(counts)
