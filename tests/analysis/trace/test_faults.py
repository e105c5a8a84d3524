"""Public fault reports about arrows, tracks and steps, each with what recui makes of it."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest

from analysis.trace import model
from analysis.trace.flows import launches
from analysis.trace.nesting import nest
from tests.analysis.trace import oracle
from tests.analysis.trace.builder import (
    CANN,
    GROUP,
    MAIN,
    NOT_OVERLAPPED,
    OVERLAP,
    QUEUE,
    STREAM,
    arrow,
    bar,
    named,
    training_events,
)
from tests.analysis.trace.comparison import assert_same
from tests.analysis.trace.files import BASE_US, HEALTHY, fault, names, read

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.trace.model import Trace


def roles(trace: Trace) -> dict[str | None, str]:
    return dict(trace.tracks.select("thread", "role").rows())


def arrows(trace: Trace, kind: str) -> list[tuple[str, str | None, str | None]]:
    """Id and the names of the bars at both ends."""
    called = names(trace)

    def name(event: int | None) -> str | None:
        return None if event is None else called[event]

    rows = trace.flows.filter(trace.flows["kind"] == kind).select("id", "source", "target").rows()
    return [(ident, name(source), name(target)) for ident, source, target in rows]


# -------------------------------------------------------------------------------------------------- arrows


@pytest.mark.parametrize("first", [2**53, 2**63 - 1, 2**63, 2**64, 2**70, 1736408883840600069])
@pytest.mark.parametrize("as_text", [False, True])
def test_ids_of_arrows_that_differ_by_one_stay_apart(tmp_path: Path, first: int, as_text: bool) -> None:
    idents = [str(first + at) if as_text else first + at for at in range(3)]
    events = [bar(f"k{at}", STREAM, BASE_US + 10 + at, 1) for at in range(3)]
    events += [bar(f"op{at}", MAIN, BASE_US + at, 1) for at in range(3)]
    for at, ident in enumerate(idents):
        events += arrow("async_npu", ident, (MAIN, BASE_US + at), (STREAM, BASE_US + 10 + at))
    trace = read(tmp_path, events)
    assert arrows(trace, "async_npu") == [(str(first + at), f"op{at}", f"k{at}") for at in range(3)]


def test_operators_without_kernels_have_no_arrow(tmp_path: Path) -> None:
    trace = read(tmp_path, named([bar("aten::view", MAIN, BASE_US, 1, "cpu_op")]))
    assert names(trace) == ["aten::view"]
    assert trace.flows.height == 0
    assert trace.quality.faults == ()


def test_arrows_whose_kernel_was_not_recorded_have_no_target(tmp_path: Path) -> None:
    source, _ = arrow("async_npu", 7, (MAIN, BASE_US), (STREAM, BASE_US + 9))
    trace = read(tmp_path, named([bar("aten::mm", MAIN, BASE_US, 1, "cpu_op"), source]))
    assert arrows(trace, "async_npu") == [("7", "aten::mm", None)]


def test_kernels_whose_operator_was_not_recorded_have_no_source(tmp_path: Path) -> None:
    _, target = arrow("async_npu", 7, (MAIN, BASE_US), (STREAM, BASE_US + 9))
    trace = read(tmp_path, named([bar("MatMul", STREAM, BASE_US + 9, 1), target]))
    assert arrows(trace, "async_npu") == [("7", None, "MatMul")]


def test_a_trace_without_any_arrow_is_healthy(tmp_path: Path) -> None:
    trace = read(tmp_path, named([event for event in training_events() if event["ph"] == "X"]))
    assert trace.flows.height == 0
    assert trace.events.height == len([event for event in training_events() if event["ph"] == "X"])
    assert trace.quality.faults == ()


def test_a_kernel_that_starts_before_its_launch_keeps_its_arrow(tmp_path: Path) -> None:
    events = [bar("aten::mm", MAIN, BASE_US + 50, 5, "cpu_op"), bar("MatMul", STREAM, BASE_US, 9)]
    events += arrow("async_npu", 7, (MAIN, BASE_US + 50), (STREAM, BASE_US))
    trace = read(tmp_path, named(events))
    assert arrows(trace, "async_npu") == [("7", "aten::mm", "MatMul")]
    assert trace.events["start_ns"].to_list() == [1000 * (BASE_US + 50), 1000 * BASE_US]
    assert launches(trace).select("event", "host").rows() == [(1, 0)]


def test_device_records_missing_at_the_head_leave_the_other_launches_as_they_are(tmp_path: Path) -> None:
    on_device = {STREAM[0], GROUP[0], OVERLAP}
    whole = training_events(3)
    cut = [one for one in whole if one["pid"] not in on_device or float(one["ts"]) >= 2000]
    assert len(cut) < len(whole)
    trace = read(tmp_path, named(cut))
    called = trace.events.select("name", "start_ns").rows()
    found = {called[event]: called[host] for event, host in launches(trace).select("event", "host").rows()}
    assert found == {("Addmm", 1000 * (at + 300)): ("aten::addmm", 1000 * (at + 110)) for at in (2000, 3000)}
    assert not trace.quality.damaged


def test_the_same_kernel_name_three_times_is_three_kernels(tmp_path: Path) -> None:
    events = [bar("Add", STREAM, BASE_US + 100 * at, 5 + at) for at in range(3)]
    events += [bar(f"op{at}", MAIN, BASE_US + at, 1, "cpu_op") for at in range(3)]
    for at in range(3):
        events += arrow("async_npu", 900 + at, (MAIN, BASE_US + at), (STREAM, BASE_US + 100 * at))
    trace = read(tmp_path, named(events))
    assert names(trace)[:3] == ["Add"] * 3
    assert trace.flows.select("source", "target").rows() == [(3, 0), (4, 1), (5, 2)]


def test_a_launch_that_starts_inside_its_bar_belongs_to_the_innermost(tmp_path: Path) -> None:
    events = [
        bar("AscendCL@aclnnMm", CANN, BASE_US, 100),
        bar("Node@launch", CANN, BASE_US + 10, 50),
        bar("AscendCL@later", CANN, BASE_US + 70, 10),
        bar("MatMul", STREAM, BASE_US + 500, 9),
        *arrow("HostToDevice", "1", (CANN, BASE_US + 30), (STREAM, BASE_US + 500)),
    ]
    trace = read(tmp_path, named(events))
    assert arrows(trace, "HostToDevice") == [("1", "Node@launch", "MatMul")]


def test_one_launch_may_start_many_tasks(tmp_path: Path) -> None:
    events = [bar("Node@launch", CANN, BASE_US, 50)]
    events += [bar(f"task{at}", STREAM, BASE_US + 100 + at, 1) for at in range(74)]
    ends = [arrow("HostToDevice", "1", (CANN, BASE_US + 5), (STREAM, BASE_US + 100 + at)) for at in range(74)]
    events += [ends[0][0], *(finish for _, finish in ends)]
    trace = read(tmp_path, named(events))
    assert arrows(trace, "HostToDevice") == [("1", "Node@launch", f"task{at}") for at in range(74)]


# ---------------------------------------------------------------------------------- tracks and their names


def overlap_events(order: tuple[str, ...]) -> list[dict[str, Any]]:
    """Overlap Analysis whose threads are numbered in this order; each bar is as long as its name."""
    process = {"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "args": {"name": OVERLAP}}
    events = [process]
    for tid, name in enumerate(order):
        events.append({"ph": "M", "name": "thread_name", "pid": 9, "tid": tid, "args": {"name": name}})
        events.append(bar(name, MAIN, BASE_US, len(name)) | {"pid": 9, "tid": tid})
    return events


@pytest.mark.parametrize("order", permutations(("Computing", "Communication", NOT_OVERLAPPED, "Free")))
def test_overlap_threads_are_told_by_name_in_any_order(tmp_path: Path, order: tuple[str, ...]) -> None:
    trace = read(tmp_path, overlap_events(order))
    assert trace.on(model.COMPUTING)["name"].to_list() == ["Computing"]
    assert trace.on(model.COMMUNICATION)["name"].to_list() == ["Communication"]
    assert trace.on(model.NOT_OVERLAPPED)["name"].to_list() == [NOT_OVERLAPPED]
    assert trace.on(model.FREE)["name"].to_list() == ["Free"]


def test_identical_intervals_on_communication_and_not_overlapped_stay_two_tracks(tmp_path: Path) -> None:
    events = [
        bar(name, (OVERLAP, name), BASE_US + at, 10)
        for at in (0, 100)
        for name in ("Communication", NOT_OVERLAPPED)
    ]
    trace = read(tmp_path, named(events))
    assert trace.on(model.COMMUNICATION)["duration_ns"].sum() == 20_000
    assert trace.on(model.NOT_OVERLAPPED)["duration_ns"].sum() == 20_000


@pytest.mark.parametrize("process", ["HCCL", "Communication"])
def test_collectives_lie_under_either_name(tmp_path: Path, process: str) -> None:
    events = [
        bar("hcom_allReduce__1", (process, GROUP[1]), BASE_US, 10),
        bar("Notify_Wait", (process, "Plane 0"), BASE_US, 4),
    ]
    trace = read(tmp_path, named(events))
    assert trace.on(model.COLLECTIVE)["name"].to_list() == ["hcom_allReduce__1"]
    assert trace.on(model.PLANE)["name"].to_list() == ["Notify_Wait"]


def test_metadata_after_its_events_names_them_all_the_same(tmp_path: Path) -> None:
    events = training_events()
    metadata = named(events)[: -len(events)]
    trace = read(tmp_path, [*events, *metadata])
    assert roles(trace) == roles(read(tmp_path, [*metadata, *events]))
    found = fault(trace, "late_metadata")
    assert found.count == len(metadata)
    assert not trace.quality.damaged


def test_metadata_given_twice_names_a_track_once(tmp_path: Path) -> None:
    events = training_events()
    metadata = named(events)[: -len(events)]
    trace = read(tmp_path, [*metadata, *metadata, *events])
    assert roles(trace) == roles(read(tmp_path, [*metadata, *events]))
    assert trace.tracks.height == trace.tracks.unique(["pid", "tid"]).height
    assert not trace.quality.damaged


def test_contradicting_metadata_is_counted_and_loses_nothing(tmp_path: Path) -> None:
    first = {
        "ph": "M",
        "name": "thread_name",
        "pid": "Python",
        "tid": "Thread 100",
        "args": {"name": "first"},
    }
    trace = read(tmp_path, [first, first | {"args": {"name": "second"}}, *HEALTHY])
    assert fault(trace, "duplicate_metadata").count == 1
    assert trace.tracks["thread"].to_list() == ["second"]
    assert not trace.quality.damaged


def test_a_process_without_a_name_keeps_its_bars(tmp_path: Path) -> None:
    events = [bar("AscendCL@aclnnMm", CANN, BASE_US, 10), bar("Node@launch", CANN, BASE_US + 1, 5)]
    metadata = [one for one in named(events) if one["name"] != "process_name"]
    trace = read(tmp_path, metadata)
    assert names(trace) == ["AscendCL@aclnnMm", "Node@launch"]
    assert trace.tracks["process"].to_list() == [None]
    assert trace.tracks["role"].to_list() == [model.CANN]


def test_tracks_without_any_metadata_keep_their_bars(tmp_path: Path) -> None:
    trace = read(tmp_path, training_events())
    assert trace.events.height == len([event for event in training_events() if event["ph"] == "X"])
    assert set(trace.tracks["process"].to_list()) == {None}


@pytest.mark.parametrize("pids", [(0, 1, 2, 3), (1, 0, 3, 2), (4378624, 800, 43767502, 4376751100)])
def test_roles_do_not_depend_on_process_numbers(tmp_path: Path, pids: tuple[int, ...]) -> None:
    number = dict(
        zip(("Python", "CANN", "Ascend Hardware", "Communication", OVERLAP), (*pids, 77), strict=True)
    )
    numbered = [event | {"pid": number[event["pid"]]} for event in named(training_events())]
    assert roles(read(tmp_path, numbered)) == roles(read(tmp_path, named(training_events())))


@pytest.mark.parametrize("pid", ["Traces", "", -1, 1.5, 2**70, None, "}, {", "0", True])
def test_a_process_number_of_any_kind_makes_a_track(tmp_path: Path, pid: object) -> None:
    trace = read(tmp_path, [*HEALTHY, bar("odd", MAIN, BASE_US, 1) | {"pid": pid}])
    assert names(trace)[-1] == "odd"
    assert trace.tracks.height == 2


@pytest.mark.parametrize("pid", ["", 7, "7", None, "Traces"])
def test_a_broken_field_does_not_move_a_bar_to_another_track(tmp_path: Path, pid: object) -> None:
    whole = bar("whole", MAIN, BASE_US, 1) | {"pid": pid}
    trace = read(tmp_path, [whole, whole | {"name": 5}, whole | {"args": [1]}])
    assert trace.tracks["bars"].to_list() == [3]


def test_events_without_process_and_thread_are_one_track(tmp_path: Path) -> None:
    lone = bar("lone", MAIN, BASE_US, 1)
    del lone["pid"], lone["tid"]
    trace = read(tmp_path, [lone, lone, *HEALTHY])
    assert trace.tracks["bars"].to_list() == [2, 5]


# ------------------------------------------------------------------------------------------ steps, nesting


def test_a_trace_without_steps_still_has_a_main_thread(tmp_path: Path) -> None:
    events = [event for event in training_events() if not event.get("name", "").startswith("ProfilerStep")]
    trace = read(tmp_path, named(events))
    assert roles(trace)["Thread 100"] == model.PYTHON_MAIN
    assert trace.quality.faults == ()


def test_bars_that_overlap_in_part_on_one_thread_are_both_kept_whole(tmp_path: Path) -> None:
    events = [
        bar("outer", QUEUE, BASE_US, 100),
        bar("first", QUEUE, BASE_US + 10, 30),
        bar("second", QUEUE, BASE_US + 30, 40),
    ]
    trace = read(tmp_path, named(events))
    assert trace.events["duration_ns"].to_list() == [100_000, 30_000, 40_000]
    tree = nest(trace.events)
    assert tree.parent.tolist() == [-1, 0, 0]
    assert tree.partial.tolist() == [False, False, True]
    # [10, 70) of the outer bar is covered, though the two together are 70 us long.
    assert tree.self_ns.tolist() == [40_000, 30_000, 40_000]


def test_a_whole_training_trace_is_that_of_the_oracle(tmp_path: Path) -> None:
    events = named(training_events(3))
    assert_same(read(tmp_path, events), oracle.reading_of(events))
