"""trace_view.json of the training sample: torch operators, task queue, launches, kernels, communication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.demo.intervals import Interval
from analysis.demo.records import US
from analysis.demo.tables import OUTSIDE_GRAPHS
from analysis.demo.timeline import (
    CANN,
    COMMUNICATION,
    HARDWARE,
    OVERLAP,
    bar,
    copy_bars,
    flow,
    kernel_bars,
    layer_pid,
    overlap_bars,
    overlap_intervals,
    process,
)
from analysis.demo.training_run import (
    AUTOGRAD_THREAD,
    COMPUTE_STREAM,
    COPY_STREAM,
    DENSE_GROUP,
    EMBEDDING_GROUP,
    MAIN_THREAD,
    QUEUE_THREAD,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from analysis.demo.files import JsonObject
    from analysis.demo.records import Collective, Kernel, Launch, Span
    from analysis.demo.training_run import TrainingRun

PYTHON_PID = MAIN_THREAD
CANN_PID, HARDWARE_PID = layer_pid(PYTHON_PID, CANN), layer_pid(PYTHON_PID, HARDWARE)
COMMUNICATION_PID, OVERLAP_PID = layer_pid(PYTHON_PID, COMMUNICATION), layer_pid(PYTHON_PID, OVERLAP)
GROUP_THREADS = {EMBEDDING_GROUP: 0, DENSE_GROUP: 2}
"""The thread of each group's operations; the next one is its plane of small tasks."""


def training_trace(run: TrainingRun) -> list[JsonObject]:
    """All events; metadata first, then the host, the device and the overlap."""
    threads = [(tid, f"Thread {tid}") for tid in (MAIN_THREAD, QUEUE_THREAD, AUTOGRAD_THREAD)]
    streams = [(stream, f"Stream {stream}") for stream in (COMPUTE_STREAM, COPY_STREAM)]
    events = process(PYTHON_PID, "Python", "CPU", 0, threads)
    events += _spans(run.spans)
    for kernel in run.kernels:
        if kernel.launch is not None:
            events += _launch(kernel, kernel.launch)
    events += process(CANN_PID, "CANN", "CPU", CANN, [(QUEUE_THREAD, f"Thread {QUEUE_THREAD}")])
    events += process(HARDWARE_PID, "Ascend Hardware", "NPU 0", HARDWARE, streams)
    events += kernel_bars(HARDWARE_PID, run.kernels, model_id=OUTSIDE_GRAPHS)
    events += copy_bars(HARDWARE_PID, run.copies, model_id=OUTSIDE_GRAPHS)
    events += _communication(run.collectives)
    events += overlap_bars(OVERLAP_PID, overlap_intervals(run.kernels, run.collectives, run.copies))
    return events


def _spans(spans: Iterable[Span]) -> list[JsonObject]:
    return [
        _torch_bar(span.name, span.thread, Interval(span.start_ns, span.start_ns + span.duration_ns))
        for span in spans
    ]


def _torch_bar(name: str, thread: int, interval: Interval) -> JsonObject:
    # torch_npu gives every framework range this category, steps and annotations included.
    return bar(name, (PYTHON_PID, thread), interval, {"Sequence number": -1, "Fwd thread id": 0}, "cpu_op")


def _launch(kernel: Kernel, launch: Launch) -> list[JsonObject]:
    """The torch operator, its way through the task queue, the launch, and the arrows to the kernel."""
    api = kernel.operator.api
    target = (HARDWARE_PID, kernel.stream, kernel.start_ns)
    queued: JsonObject = {"correlation_id": launch.connection}
    node: JsonObject = {
        "Thread Id": QUEUE_THREAD,
        "Mode": "launch",
        "level": "node",
        "id": "0",
        "item_id": kernel.operator.name,
        "connection_id": launch.connection,
    }
    return [
        _torch_bar(
            kernel.operator.aten,
            launch.thread,
            Interval(launch.host_ns, launch.host_ns + launch.host_duration_ns),
        ),
        bar(
            f"Enqueue@{api}",
            (PYTHON_PID, launch.thread),
            Interval(launch.enqueue_ns, launch.enqueue_ns + US),
            queued,
            "enqueue",
        ),
        bar(
            f"Dequeue@{api}",
            (PYTHON_PID, QUEUE_THREAD),
            Interval(launch.dequeue_ns, launch.node_ns + launch.node_duration_ns + US // 2),
            queued,
            "dequeue",
        ),
        bar(
            "Node@launch",
            (CANN_PID, QUEUE_THREAD),
            Interval(launch.node_ns, launch.node_ns + launch.node_duration_ns),
            node,
        ),
        # The arrow starts inside the launch, not at its start.
        *flow(
            f"HostToDevice{launch.connection << 32}",
            "HostToDevice",
            str(launch.connection << 32),
            (CANN_PID, QUEUE_THREAD, launch.node_ns + US),
            target,
        ),
        *flow(
            "torch_to_npu",
            "async_npu",
            kernel.start_ns,
            (PYTHON_PID, launch.thread, launch.host_ns),
            target,
        ),
    ]


def _communication(collectives: Iterable[Collective]) -> list[JsonObject]:
    threads: list[tuple[int, str]] = []
    for group, tid in GROUP_THREADS.items():
        threads += ((tid, f"Group {group} Communication"), (tid + 1, "Plane 0"))
    events = process(COMMUNICATION_PID, "Communication", "NPU 0", COMMUNICATION, threads)
    for number, one in enumerate(collectives):
        tid = GROUP_THREADS[one.group]
        operation: JsonObject = {
            "rank_size": 8,
            "connection_id": 800_000 + number,
            "model id": OUTSIDE_GRAPHS,
            "data_type": "FP32",
            "alg_type": "MESH-RING",
            "count": one.size_bytes // 4,
            "relay": "no",
            "retry": "no",
        }
        waiting: JsonObject = {
            "notify_id": str(number),
            "stream id": 9,
            "task id": number,
            "task type": "Notify_Wait",
            "src rank": 0,
            "dst rank": 1,
            "transport type": "LOCAL",
            "size(Byte)": 0,
            "link type": "ON_CHIP",
            "bandwidth(GB/s)": 0.0,
        }
        whole, wait = (
            Interval(one.start_ns, one.start_ns + length) for length in (one.duration_ns, one.wait_ns)
        )
        events.append(bar(one.name, (COMMUNICATION_PID, tid), whole, operation))
        events.append(bar("Notify_Wait", (COMMUNICATION_PID, tid + 1), wait, waiting))
    return events
