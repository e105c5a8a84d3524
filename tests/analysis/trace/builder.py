"""Traces for tests: written as a few events, read by the oracle, put together in plain Python."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import astuple, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from analysis.trace.flows import match_flows
from analysis.trace.model import CHUNKS, EVENTS, Fault, Quality, Trace
from analysis.trace.tracks import describe_tracks
from tests.analysis.trace import oracle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.analysis.trace.oracle import Reading

MAIN, AUTOGRAD, QUEUE = ("Python", "Thread 100"), ("Python", "Thread 131"), ("Python", "Thread 107")
CANN = ("CANN", "Thread 107")
STREAM = ("Ascend Hardware", "Stream 2")
GROUP, PLANE = ("Communication", "Group 0 Communication"), ("Communication", "Plane 0")
OVERLAP = "Overlap Analysis"
NOT_OVERLAPPED = "Communication(Not Overlapped)"

_ARGS = {
    "task_type": "Task Type",
    "stream_id": "Physic Stream Id",
    "bytes": "size(B)",
    "input_dims": "Input Dims",
}
_FLOW_NAMES = {"async_npu": "torch_to_npu", "async_task_queue": "enqueue_to_dequeue"}
_DEVICE_PROCESSES = ("Ascend Hardware", "Communication", "HCCL", OVERLAP)


def bar(
    name: str,
    place: tuple[str, str],
    start_us: float | str,
    dur_us: float,
    cat: str | None = None,
    **args: object,
) -> dict[str, Any]:
    """A bar on (process, thread), named by the pid and tid too; task_type=, stream_id=, bytes= and
    input_dims= stand for the args Task Type, Physic Stream Id, size(B) and Input Dims.
    """
    pid, tid = place
    event = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": start_us, "dur": dur_us}
    if cat is not None:
        event["cat"] = cat
    return event | {"args": {_ARGS.get(key, key): value for key, value in args.items()}}


def arrow(
    kind: str,
    ident: int | str,
    source: tuple[tuple[str, str], float | str],
    target: tuple[tuple[str, str], float | str],
) -> list[dict[str, Any]]:
    """The two ends of an arrow, each at ((process, thread), us)."""
    name = _FLOW_NAMES.get(kind, f"HostToDevice{ident}" if kind == "HostToDevice" else kind)
    return [
        {"ph": phase, "bp": "e", "cat": kind, "name": name, "id": ident, "pid": pid, "tid": tid, "ts": us}
        for phase, ((pid, tid), us) in (("s", source), ("f", target))
    ]


def named(events: Sequence[Mapping[str, Any]], device: int = 0) -> list[dict[str, Any]]:
    """The events with metadata that calls each process as its pid and each thread as its tid."""
    places = dict.fromkeys((event["pid"], event["tid"]) for event in events if event["ph"] != "M")
    metadata = []
    for pid in dict.fromkeys(pid for pid, _ in places):
        label = f"NPU {device}" if pid in _DEVICE_PROCESSES else "CPU"
        metadata.append(_metadata("process_name", pid, 0, name=pid))
        metadata.append(_metadata("process_labels", pid, 0, labels=label))
    metadata += [_metadata("thread_name", pid, tid, name=tid) for pid, tid in places]
    return [*metadata, *map(dict, events)]


def timeline(*events: Mapping[str, Any], device: int = 0) -> Trace:
    """A trace of these events, every process and thread named as its pid and tid."""
    return trace_of(named(events, device))


def cut_short(trace: Trace) -> Trace:
    """The trace as of a file that was cut behind its events."""
    fault = Fault("cut", 1, "trace_view.json", None, lost=True)
    return replace(trace, quality=replace(trace.quality, faults=(*trace.quality.faults, fault)))


def trace_of(events: Sequence[Mapping[str, Any]]) -> Trace:
    """The trace that a file with exactly these events holds."""
    reading = oracle.read(json.dumps(list(events)).encode())
    bars = _events(reading)
    tracks, faults = _tracks(reading, bars)
    return Trace(
        events=bars,
        tracks=tracks,
        flows=_flows(reading, bars),
        chunks=pl.DataFrame(schema=CHUNKS),
        quality=Quality(
            objects=reading.objects,
            by_phase=dict(reading.by_phase),
            faults=_sorted((*_faults(reading, events), *faults)),
            lost_bytes=0,
        ),
        base_ns=reading.base_ns,
    )


def training_events(steps: int = 2, first: int = 10) -> list[dict[str, Any]]:
    """Steps of 1000 us, the first at 1000 us, each doing the same; times in us from the start of the step.

    Main thread: ProfilerStep [0,1000) holds aten::linear [100,200) holds aten::addmm [110,190) holds
    Enqueue [150,155). Queue thread: Dequeue [160,200), with CANN below it: AscendCL@aclnnAddmm [165,195)
    holds Node@launch [170,190). Autograd thread: evaluate_function [490,570) holds AddmmBackward0 [500,560).
    Device: copy [250,290), kernel Addmm [300,450), hcom_allReduce [400,600) with one sub-task [410,590).
    Computing 150, Communication 200, Not Overlapped 150; Free [250,300) in the first step and [600,1300) in
    every step but the last.
    """
    events: list[dict[str, Any]] = []
    for at in range(steps):
        events += _training_step(at, first + at, last=at == steps - 1)
    return events


def training_trace(steps: int = 2, first: int = 10) -> Trace:
    """The trace of :func:`training_events`."""
    return timeline(*training_events(steps, first))


def _training_step(at: int, number: int, *, last: bool) -> Iterator[dict[str, Any]]:
    zero, link = 1000 * (at + 1), 500 + at
    yield bar(f"ProfilerStep#{number}", MAIN, zero, 1000, "cpu_op")
    yield bar("aten::linear", MAIN, zero + 100, 100, "cpu_op", input_dims="8,16;32,16;32")
    yield bar("aten::addmm", MAIN, zero + 110, 80, "cpu_op", input_dims="32;8,16;16,32")
    yield bar("Enqueue@aclnnAddmm", MAIN, zero + 150, 5, "enqueue", correlation_id=link)
    yield bar("Dequeue@aclnnAddmm", QUEUE, zero + 160, 40, "dequeue", correlation_id=link)
    yield bar("AscendCL@aclnnAddmm", CANN, zero + 165, 30)
    yield bar("Node@launch", CANN, zero + 170, 20, item_id="aclnnAddmm_MatMul", connection_id=link)
    yield bar("autograd::engine::evaluate_function: AddmmBackward0", AUTOGRAD, zero + 490, 80, "cpu_op")
    yield bar("AddmmBackward0", AUTOGRAD, zero + 500, 60, "cpu_op")
    yield bar(
        "MEMCPY_ASYNC",
        STREAM,
        zero + 250,
        40,
        task_type="MEMCPY_ASYNC",
        stream_id=2,
        operation="host to device",
        bytes=1_000_000,
    )
    yield bar("Addmm", STREAM, zero + 300, 150, task_type="AI_CORE", stream_id=2, connection_id=link)
    yield bar("hcom_allReduce__000_0_1", GROUP, zero + 400, 200, connection_id=link + 100)
    yield bar("Memcpy", PLANE, zero + 410, 180)
    yield bar("Computing", (OVERLAP, "Computing"), zero + 300, 150)
    yield bar("Communication", (OVERLAP, "Communication"), zero + 400, 200)
    yield bar(NOT_OVERLAPPED, (OVERLAP, NOT_OVERLAPPED), zero + 450, 150)
    if at == 0:
        yield bar("Free", (OVERLAP, "Free"), zero + 250, 50)
    if not last:
        yield bar("Free", (OVERLAP, "Free"), zero + 600, 700)
    yield from arrow("async_npu", (zero + 300) * 1000, (MAIN, zero + 110), (STREAM, zero + 300))
    yield from arrow("async_task_queue", link, (MAIN, zero + 150), (QUEUE, zero + 160))
    yield from arrow("HostToDevice", str(link << 32), (CANN, zero + 175), (STREAM, zero + 300))
    yield from arrow("fwdbwd", 70 + at, (MAIN, zero + 110), (AUTOGRAD, zero + 500))


def _metadata(name: str, pid: object, tid: object, /, **args: object) -> dict[str, Any]:
    return {"ph": "M", "name": name, "pid": pid, "tid": tid, "args": args}


def _events(reading: Reading) -> pl.DataFrame:
    track = {place: at for at, place in enumerate(reading.tracks)}
    columns = {name: [getattr(one, name) for one in reading.bars] for name in EVENTS if name != "track"}
    columns["track"] = [track[one.pid, one.tid] for one in reading.bars]
    return pl.DataFrame({name: columns[name] for name in EVENTS}, schema=EVENTS)


def _tracks(reading: Reading, events: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Fault, ...]]:
    pairs = pl.DataFrame(
        [(at, *place, number) for at, (place, number) in enumerate(reading.tracks.items())],
        schema={"track": pl.UInt32, "pid": pl.String, "tid": pl.String, "first_number": pl.UInt32},
        orient="row",
    )
    metadata = pl.DataFrame(
        [astuple(one) for one in reading.metadata],
        schema={
            "number": pl.UInt32,
            "name": pl.String,
            "pid": pl.String,
            "tid": pl.String,
            "value": pl.String,
        },
        orient="row",
    )
    return describe_tracks(pairs, metadata, events)


def _flows(reading: Reading, events: pl.DataFrame) -> pl.DataFrame:
    track = {place: at for at, place in enumerate(reading.tracks)}
    ends = pl.DataFrame(
        [
            (end.number, end.phase, end.kind, end.id, track[end.pid, end.tid], end.start_ns)
            for end in reading.ends
        ],
        schema={
            "number": pl.UInt32,
            "phase": pl.Categorical,
            "kind": pl.Categorical,
            "id": pl.String,
            "track": pl.UInt32,
            "ts_ns": pl.Int64,
        },
        orient="row",
    )
    return match_flows(ends, events)


def _sorted(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    return tuple(sorted(faults, key=lambda fault: (-fault.count, fault.kind)))


def _faults(reading: Reading, events: Sequence[Mapping[str, Any]]) -> Iterator[Fault]:
    for kind, count in Counter(reading.off_axis.values()).items():
        number = next(at for at, why in reading.off_axis.items() if why == kind)
        yield Fault(kind, count, str(events[number].get("name") or "")[:80], number, lost=True)
