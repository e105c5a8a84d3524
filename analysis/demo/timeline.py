"""The timeline events both profilers write: processes, threads, bars, flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.demo.files import us_text
from analysis.demo.intervals import Interval, union, without
from analysis.demo.tables import OUTSIDE_GRAPHS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from analysis.demo.files import JsonObject
    from analysis.demo.records import Collective, Copy, Kernel

CANN, HARDWARE, COMMUNICATION, OVERLAP = 7, 14, 16, 31
HOST_DEVICE = 31
OVERLAP_THREADS = ("Computing", "Communication", "Communication(Not Overlapped)", "Free")


def layer_pid(os_pid: int, layer: int) -> int:
    """The process id msprof gives to a layer: host layers count as device 31."""
    return os_pid << 10 | layer << 5 | (HOST_DEVICE if layer == CANN else 0)


def process(
    pid: int, name: str, label: str, order: int, threads: Sequence[tuple[int, str]]
) -> list[JsonObject]:
    """The metadata events of one process and its threads."""
    events = [
        _meta("process_name", pid, 0, {"name": name}),
        _meta("process_labels", pid, 0, {"labels": label}),
        _meta("process_sort_index", pid, 0, {"sort_index": order}),
    ]
    for tid, thread in threads:
        events.append(_meta("thread_name", pid, tid, {"name": thread}))
        events.append(_meta("thread_sort_index", pid, tid, {"sort_index": tid}))
    return events


def _meta(name: str, pid: int, tid: int, args: JsonObject) -> JsonObject:
    return {"name": name, "pid": pid, "tid": tid, "ph": "M", "args": args}


def bar(
    name: str, place: tuple[int, int], interval: Interval, args: JsonObject, category: str | None = None
) -> JsonObject:
    """One bar at (pid, tid): the start is text, the duration a number."""
    event: JsonObject = {
        "ph": "X",
        "name": name,
        "pid": place[0],
        "tid": place[1],
        "ts": us_text(interval.start_ns),
        "dur": interval.length_ns / 1000,
        "args": args,
    }
    if category is not None:
        event["cat"] = category
    return event


def flow(
    name: str,
    category: str,
    number: str | int,
    source: tuple[int, int, int],
    target: tuple[int, int, int],
) -> list[JsonObject]:
    """An arrow between two ends (pid, tid, moment)."""
    start: JsonObject = {
        "ph": "s", "name": name, "id": number, "cat": category,
        "pid": source[0], "tid": source[1], "ts": us_text(source[2]),
    }  # fmt: skip
    end: JsonObject = {
        "ph": "f", "bp": "e", "name": name, "id": number, "cat": category,
        "pid": target[0], "tid": target[1], "ts": us_text(target[2]),
    }  # fmt: skip
    return [start, end]


def kernel_bars(pid: int, kernels: Iterable[Kernel], *, model_id: int) -> list[JsonObject]:
    """The kernels on their streams."""
    return [
        bar(
            kernel.operator.name,
            (pid, kernel.stream),
            Interval(kernel.start_ns, kernel.end_ns),
            _task_args(model_id, kernel.operator.core, kernel.stream, kernel.task)
            | {"connection_id": kernel.launch.connection if kernel.launch else kernel.step},
        )
        for kernel in kernels
    ]


def copy_bars(pid: int, copies: Iterable[Copy], *, model_id: int) -> list[JsonObject]:
    """The copies on their stream, with direction and size."""
    return [
        bar(
            "MEMCPY_ASYNC",
            (pid, copy.stream),
            Interval(copy.start_ns, copy.end_ns),
            _task_args(model_id, "SDMA_SQE", copy.stream, copy.task)
            | {
                "connection_id": 500_000 + number,
                "size(B)": copy.size_bytes,
                "bandwidth(GB/s)": copy.size_bytes / copy.duration_ns,
                "operation": copy.direction,
            },
        )
        for number, copy in enumerate(copies)
    ]


def _task_args(model_id: int, kind: str, stream: int, task: int) -> JsonObject:
    return {
        "Model Id": model_id,
        "Task Type": kind,
        "Physic Stream Id": stream,
        "Task Id": task,
        "Batch Id": 0,
        "Subtask Id": OUTSIDE_GRAPHS,
    }


def overlap_intervals(
    kernels: Iterable[Kernel], collectives: Iterable[Collective], copies: Iterable[Copy]
) -> dict[str, list[Interval]]:
    """What the profiler draws as Overlap Analysis; copies only widen the span that Free fills."""
    computing = union(Interval(kernel.start_ns, kernel.end_ns) for kernel in kernels)
    communication = union(Interval(collective.start_ns, collective.end_ns) for collective in collectives)
    busy = union(computing + communication)
    moving = [Interval(copy.start_ns, copy.end_ns) for copy in copies]
    start_ns = min(interval.start_ns for interval in busy + moving)
    end_ns = max(interval.end_ns for interval in busy + moving)
    bars = (
        computing,
        communication,
        without(communication, computing),
        without([Interval(start_ns, end_ns)], busy),
    )
    return dict(zip(OVERLAP_THREADS, bars, strict=True))


def overlap_bars(pid: int, intervals: dict[str, list[Interval]]) -> list[JsonObject]:
    """The Overlap Analysis process: one thread for each kind of time."""
    events = process(pid, "Overlap Analysis", "NPU 0", OVERLAP, list(enumerate(OVERLAP_THREADS)))
    for tid, name in enumerate(OVERLAP_THREADS):
        events += [bar(name, (pid, tid), interval, {}) for interval in intervals[name]]
    return events
