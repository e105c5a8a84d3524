from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.trace.flows import launches, match_flows
from analysis.trace.model import FLOWS, Trace
from tests.analysis.trace import oracle
from tests.analysis.trace.builder import (
    AUTOGRAD,
    CANN,
    GROUP,
    MAIN,
    PLANE,
    QUEUE,
    STREAM,
    arrow,
    bar,
    named,
    timeline,
    trace_of,
    training_trace,
)
from tests.analysis.trace.oracle import End

ENDS = {
    "number": pl.UInt32,
    "phase": pl.Categorical,
    "kind": pl.Categorical,
    "id": pl.String,
    "track": pl.UInt32,
    "ts_ns": pl.Int64,
}
BIG = str(2**64 + 1)


def ends_of(*ends: tuple[str, str | None, str | None, int, int]) -> pl.DataFrame:
    """Ends in the order of the file: phase, kind, id, track, time."""
    rows = [(number, *end) for number, end in enumerate(ends)]
    return pl.DataFrame(rows, schema=ENDS, orient="row")


def bars_of(*bars: tuple[int, int, int]) -> pl.DataFrame:
    """Bars: track, start, duration."""
    schema = {"track": pl.UInt32, "start_ns": pl.Int64, "duration_ns": pl.Int64}
    return pl.DataFrame(bars, schema=schema, orient="row")


def sides(flows: pl.DataFrame) -> list[tuple[int | None, int | None]]:
    return flows.select("source", "target").rows()


# Ten bars of one nanosecond on one track: the bar that starts at t is row t.
CLOCK = bars_of(*((0, at, 1) for at in range(10)))


def test_an_arrow_goes_from_the_bar_of_its_start_to_the_bar_of_its_end() -> None:
    flows = match_flows(ends_of(("s", "async_npu", "7", 0, 1), ("f", "async_npu", "7", 0, 4)), CLOCK)

    assert flows.rows() == [("async_npu", "7", 1, 4)]
    assert flows.schema == pl.Schema(FLOWS)


def test_an_end_may_stand_before_its_start_in_the_file() -> None:
    assert sides(match_flows(ends_of(("f", "k", "7", 0, 4), ("s", "k", "7", 0, 1)), CLOCK)) == [(1, 4)]


def test_ends_of_other_kinds_or_ids_are_no_pair() -> None:
    flows = match_flows(ends_of(("s", "k", "7", 0, 1), ("f", "k", "8", 0, 4), ("f", "l", "7", 0, 5)), CLOCK)

    assert sides(flows) == [(None, 4), (None, 5), (1, None)]


def test_ids_are_text_and_may_pass_64_bits() -> None:
    flows = match_flows(
        ends_of(("s", "k", BIG, 0, 1), ("s", "k", "1", 0, 2), ("f", "k", BIG, 0, 3), ("f", "k", "01", 0, 4)),
        CLOCK,
    )

    assert flows.rows() == [("k", BIG, 1, 3), ("k", "01", None, 4), ("k", "1", 2, None)]


def test_as_many_starts_as_ends_pair_in_the_order_of_the_file() -> None:
    flows = match_flows(
        ends_of(("s", "k", "7", 0, 5), ("s", "k", "7", 0, 1), ("f", "k", "7", 0, 2), ("f", "k", "7", 0, 6)),
        CLOCK,
    )

    assert sides(flows) == [(5, 2), (1, 6)]


def test_one_start_may_have_many_ends() -> None:
    flows = match_flows(ends_of(("s", "k", "7", 0, 1), *(("f", "k", "7", 0, at) for at in (3, 0, 5))), CLOCK)

    assert sides(flows) == [(1, 3), (1, 0), (1, 5)]


def test_with_fewer_starts_every_end_takes_the_latest_before_it() -> None:
    flows = match_flows(
        ends_of(("s", "k", "7", 0, 4), ("s", "k", "7", 0, 2), *(("f", "k", "7", 0, at) for at in (3, 4, 9))),
        CLOCK,
    )

    assert sides(flows) == [(2, 3), (4, 4), (4, 9)]


def test_an_end_before_all_starts_takes_the_first_of_the_file() -> None:
    flows = match_flows(
        ends_of(("s", "k", "7", 0, 4), ("s", "k", "7", 0, 2), *(("f", "k", "7", 0, at) for at in (1, 5, 6))),
        CLOCK,
    )

    assert sides(flows) == [(4, 1), (4, 5), (4, 6), (2, None)]


def test_a_start_that_no_end_took_has_no_target() -> None:
    flows = match_flows(ends_of(("s", "k", "7", 0, 1), ("s", "k", "7", 0, 2), ("f", "k", "7", 0, 3)), CLOCK)

    assert sides(flows) == [(2, 3), (1, None)]


def test_rows_stand_by_their_end_whatever_the_order_of_the_ends_given() -> None:
    ends = ends_of(("s", "k", "1", 0, 1), ("s", "k", "2", 0, 2), ("f", "k", "2", 0, 3), ("f", "k", "1", 0, 4))

    assert sides(match_flows(ends.reverse(), CLOCK)) == [(2, 3), (1, 4)]


def test_an_end_without_a_bar_at_its_time_is_tied_to_none() -> None:
    bars = bars_of((0, 0, 10), (1, 5, 10))

    flows = match_flows(ends_of(("s", "k", "7", 0, 0), ("f", "k", "7", 0, 5)), bars)

    assert sides(flows) == [(0, None)]


def test_of_bars_with_one_start_the_shortest_has_the_arrow() -> None:
    bars = bars_of((0, 5, 10), (0, 5, 2), (0, 5, 2), (0, 5, 7), (1, 5, 1))

    flows = match_flows(ends_of(("s", "k", "7", 0, 5), ("f", "k", "7", 1, 5)), bars)

    assert sides(flows) == [(2, 4)]


def test_host_to_device_starts_anywhere_inside_its_innermost_bar() -> None:
    bars = bars_of((0, 0, 100), (0, 10, 50), (0, 15, 2), (1, 80, 5))
    at = [0, 10, 16, 17, 59, 60, 100]

    flows = match_flows(ends_of(*(("s", "HostToDevice", str(time), 0, time) for time in at)), bars)

    assert flows["source"].to_list() == [0, 1, 2, 1, 1, 0, None]


def test_the_end_of_host_to_device_lies_exactly_at_its_bar() -> None:
    bars = bars_of((0, 0, 100), (1, 80, 5))

    flows = match_flows(ends_of(("s", "HostToDevice", "7", 0, 9), ("f", "HostToDevice", "7", 1, 81)), bars)

    assert sides(flows) == [(0, None)]


def test_no_ends_give_a_frame_with_the_columns() -> None:
    flows = match_flows(ends_of(), CLOCK)

    assert flows.rows() == []
    assert flows.schema == pl.Schema(FLOWS)


def test_without_bars_arrows_are_kept() -> None:
    ends = ends_of(("s", "HostToDevice", "7", 0, 9), ("f", "HostToDevice", "7", 1, 81))

    assert match_flows(ends, bars_of()).rows() == [("HostToDevice", "7", None, None)]


@given(
    st.lists(
        st.tuples(
            st.sampled_from("sf"),
            st.sampled_from([None, "k", "HostToDevice"]),
            st.sampled_from([None, "1", "2"]),
            st.integers(0, 1),
            st.integers(0, 9),
        ),
        max_size=14,
    ),
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9), st.integers(0, 4)), max_size=8),
)
def test_arrows_agree_with_the_plain_rules(
    ends: list[tuple[str, str | None, str | None, int, int]], bars: list[tuple[int, int, int]]
) -> None:
    events = [
        {"ph": "X", "name": "x", "pid": 0, "tid": track, "ts": f"0.{start:03}", "dur": duration / 1000}
        for track, start, duration in bars
    ]
    reading = oracle.reading_of(events)
    reading.ends.extend(
        End(number, phase, kind, ident, "0", str(track), time)
        for number, (phase, kind, ident, track, time) in enumerate(ends)
    )

    flows = match_flows(ends_of(*ends), bars_of(*bars))

    assert flows.rows() == [(one.kind, one.id, one.source, one.target) for one in oracle.arrows(reading)]


# ---------------------------------------------------------------------------------------------- launches


def named_launches(trace: Trace) -> list[tuple[str, str, str, str | None]]:
    """Device bar, operator, way and CANN bar by name."""
    names = trace.events["name"].cast(pl.String)
    found = launches(trace)
    return list(
        zip(
            names.gather(found["event"]).to_list(),
            names.gather(found["host"]).to_list(),
            found["via"].to_list(),
            names.gather(found["launch"]).to_list(),
            strict=True,
        )
    )


def without(trace: Trace, kind: str) -> Trace:
    return replace(trace, flows=trace.flows.filter(pl.col("kind").cast(pl.String) != kind))


def launched(*, queue: bool = True, thread: tuple[str, str] = CANN, **args: Any) -> list[dict[str, Any]]:
    """aten::add [0,50) holds aclnnAdd [5,40) holds Enqueue [10,12); Dequeue [20,40), Node@launch [25,35)."""
    return [
        bar("aten::add", MAIN, 0, 50, "cpu_op"),
        bar("aclnnAdd", MAIN, 5, 35, "cpu_op"),
        *([bar("Enqueue@aclnnAdd", MAIN, 10, 2, "enqueue", **args)] if queue else []),
        *([bar("Dequeue@aclnnAdd", QUEUE, 20, 20, "dequeue", **args)] if queue else []),
        bar("Node@launch", thread, 25, 10),
        bar("Add", STREAM, 100, 10),
        *arrow("HostToDevice", "1", (thread, 30), (STREAM, 100)),
    ]


def test_an_arrow_from_an_operator_names_it() -> None:
    assert named_launches(training_trace(steps=1)) == [("Addmm", "aten::addmm", "async_npu", "Node@launch")]


def test_an_arrow_from_an_enqueue_names_the_operator_around_it() -> None:
    events = [*launched(), *arrow("async_npu", 9, (MAIN, 10), (STREAM, 100))]

    assert named_launches(timeline(*events)) == [("Add", "aclnnAdd", "async_npu", "Node@launch")]


def test_of_several_arrows_the_first_with_a_bar_counts() -> None:
    events = [
        *launched(),
        *arrow("async_npu", 8, (MAIN, 3), (STREAM, 100)),
        *arrow("async_npu", 9, (MAIN, 5), (STREAM, 100)),
        *arrow("async_npu", 10, (MAIN, 0), (STREAM, 100)),
    ]

    assert named_launches(timeline(*events)) == [("Add", "aclnnAdd", "async_npu", "Node@launch")]


def test_without_its_arrow_a_kernel_is_traced_back_through_the_task_queue() -> None:
    trace = timeline(*launched(correlation_id=77))

    assert named_launches(trace) == [("Add", "aclnnAdd", "queue_chain", "Node@launch")]


def test_without_correlation_ids_the_arrow_of_the_queue_leads_on() -> None:
    events = [*launched(), *arrow("async_task_queue", 77, (MAIN, 10), (QUEUE, 20))]

    assert named_launches(timeline(*events)) == [("Add", "aclnnAdd", "queue_chain", "Node@launch")]


def test_a_correlation_id_used_twice_means_the_enqueue_before() -> None:
    later = [
        bar("aten::mul", AUTOGRAD, 20, 10, "cpu_op"),
        bar("Enqueue@aclnnMul", AUTOGRAD, 22, 2, "enqueue", correlation_id=77),
    ]

    trace = timeline(*later, *launched(correlation_id=77))

    assert named_launches(trace) == [("Add", "aclnnAdd", "queue_chain", "Node@launch")]


def test_without_a_dequeue_around_it_the_chain_leads_nowhere() -> None:
    events = [event for event in launched(correlation_id=77) if not event["name"].startswith("Dequeue")]
    events.append(bar("Dequeue@other", QUEUE, 0, 5, "dequeue", correlation_id=77))

    assert named_launches(timeline(*events)) == []


def test_a_cann_thread_the_program_does_not_show_may_run_any_dequeue() -> None:
    events = launched(correlation_id=77, thread=("CANN", "Thread 999"))

    assert named_launches(timeline(*events)) == [("Add", "aclnnAdd", "queue_chain", "Node@launch")]


def test_a_launch_on_the_main_thread_does_not_belong_to_the_dequeue_of_another() -> None:
    events = launched(correlation_id=77, thread=("CANN", MAIN[1]))
    events += [bar("aten::item", MAIN, 22, 15, "cpu_op")]

    assert named_launches(timeline(*events)) == [("Add", "aten::item", "same_thread", "Node@launch")]


def test_without_task_queue_the_operator_on_the_thread_of_the_launch_counts() -> None:
    trace = timeline(*launched(queue=False, thread=("CANN", MAIN[1])))

    assert named_launches(trace) == [("Add", "aclnnAdd", "same_thread", "Node@launch")]


def test_collectives_are_launched_like_kernels_and_their_parts_are_not() -> None:
    events = [
        bar("HcclAllreduce", AUTOGRAD, 0, 50, "cpu_op"),
        bar("hcom_allReduce__1_0_1", GROUP, 100, 10),
        bar("Memcpy", PLANE, 100, 10),
        *arrow("async_npu", 1, (AUTOGRAD, 0), (GROUP, 100)),
        *arrow("async_npu", 2, (AUTOGRAD, 0), (PLANE, 100)),
    ]

    assert named_launches(timeline(*events)) == [
        ("hcom_allReduce__1_0_1", "HcclAllreduce", "async_npu", None)
    ]


@pytest.mark.parametrize(
    ("name", "cat"), [("ProfilerStep#3", "cpu_op"), ("train.py(7): f", "python_function")]
)
def test_steps_and_python_frames_launch_nothing(name: str, cat: str) -> None:
    events = [
        bar("ProfilerStep#3", MAIN, 0, 90, "cpu_op"),
        bar("aten::add", MAIN, 60, 5, "cpu_op"),
        bar(name, MAIN, 10, 30, cat),
        bar("Add", STREAM, 100, 10),
        *arrow("async_npu", 1, (MAIN, 10), (STREAM, 100)),
    ]

    assert named_launches(timeline(*events)) == []


def test_kernels_of_a_gpu_go_back_through_the_runtime_call() -> None:
    host, stream = ("python3", "thread 44"), ("gpu", "stream 7")
    events = named(
        [
            bar("aten::copy_", host, 0, 50, "cpu_op"),
            bar("cudaLaunchKernel", host, 10, 5, "cuda_runtime"),
            bar("gemm", stream, 100, 10, "kernel"),
            *arrow("ac2g", 1, (host, 10), (stream, 100)),
        ]
    )
    label = {"ph": "M", "name": "process_labels", "pid": "gpu", "tid": 0, "args": {"labels": "GPU 0"}}

    assert named_launches(trace_of([*events, label])) == [("gemm", "aten::copy_", "ac2g", None)]


def test_the_queue_names_the_operator_that_a_dropped_arrow_named() -> None:
    trace = training_trace(steps=3)
    kept = launches(trace)

    dropped = launches(without(trace, "async_npu"))

    assert dropped["host"].to_list() == kept["host"].to_list()
    assert set(dropped["via"]) == {"queue_chain"}


def test_a_trace_without_arrows_has_no_launches() -> None:
    trace = timeline(bar("aten::add", MAIN, 0, 5, "cpu_op"), bar("Add", STREAM, 10, 5))

    assert launches(trace).schema == pl.Schema(
        {"event": pl.UInt32, "host": pl.UInt32, "via": pl.String, "launch": pl.UInt32}
    )
    assert launches(trace).is_empty()
