"""Operators and copies of genuine traces, against plain json."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from analysis.copies import Copies, find_copies
from analysis.custom_operators import CustomOperators, find_custom_operators
from analysis.host_bars import host_bars
from analysis.host_operators import HostOperators, find_host_operators
from analysis.iterations import Iterations
from analysis.trace.flows import launches
from analysis.trace.steps import trace_steps
from tests.analysis.trace.builder import trace_of

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.trace.model import Trace

pytestmark = pytest.mark.real

RANK0 = "torch_npu_alexnet_2rank_level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"
RANK1 = "torch_npu_alexnet_2rank_level1/rank1_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"
LEVEL0 = "torch_npu_alexnet_level0/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"
OLDER = "older/trace_view_2024-01.json"
DLRM0 = "gpu_recommender/worker0_step_12.1694128201545.pt.trace.json"
DLRM1 = "gpu_recommender/worker1_step_12.1694128201556.pt.trace.json"
ALL = (RANK0, RANK1, LEVEL0, OLDER, DLRM0, DLRM1)

ONE_STEP = Iterations(1, "profiler_step", False, None, None, None, None)


@pytest.fixture(scope="module", params=ALL)
def capture(request, data: Path) -> tuple[list[dict[str, Any]], Trace]:
    return read(data, request.param)


def read(data: Path, name: str) -> tuple[list[dict[str, Any]], Trace]:
    """The events with their numbers as they are written, and the trace."""
    return events_of(data, name, parse_float=Decimal), trace_of(events_of(data, name))


def events_of(data: Path, name: str, **how: Any) -> list[dict[str, Any]]:
    whole: Any = json.loads((data / name).read_text(), **how)
    events: list[dict[str, Any]] = whole if isinstance(whole, list) else whole["traceEvents"]
    return events


def nanoseconds(us: object) -> int:
    return round(Decimal(str(us)) * 1000)


def bars(events: list[dict[str, Any]], *cats: str) -> list[tuple[str, object, int, int]]:
    """(name, thread, start, end) of the bars of these categories but steps."""
    return [
        (
            event["name"],
            (event["pid"], event["tid"]),
            nanoseconds(event["ts"]),
            nanoseconds(event["ts"]) + nanoseconds(event["dur"]),
        )
        for event in events
        if event.get("ph") == "X"
        and event.get("cat") in cats
        and not event["name"].startswith("ProfilerStep#")
    ]


def host_operators(trace: Trace) -> HostOperators:
    found = find_host_operators(host_bars(trace, trace_steps(trace)), trace_steps(trace), ONE_STEP)
    assert isinstance(found, HostOperators)
    return found


def test_calls_of_every_operator_are_those_of_plain_json(capture):
    events, trace = capture
    ((first, last),) = trace_steps(trace).select("start_ns", "end_ns").rows()
    operators = host_operators(trace)
    inside, outside = Counter[str](), 0
    for name, _, start, _ in bars(events, "cpu_op", "user_annotation"):
        if first <= start < last:
            inside[name] += 1
        else:
            outside += 1
    assert dict(operators.by_name.select("name", "calls").rows()) == dict(inside)
    assert operators.outside == outside


def test_self_times_of_a_thread_add_up_to_the_time_it_works(capture):
    """Every instant of a thread belongs to one operator at most, and to one if any operator is open."""
    events, trace = capture
    operators = host_operators(trace)
    assert operators.partial == 0
    union = 0
    threads: dict[object, list[tuple[int, int]]] = {}
    for _, thread, start, end in bars(events, "cpu_op", "user_annotation"):
        threads.setdefault(thread, []).append((start, end))
    for spans in threads.values():
        reached = 0
        for start, end in sorted(spans):
            union += max(0, end - max(start, reached))
            reached = max(reached, end)
    assert int(operators.calls["self_ns"].sum()) == union


def test_totals_are_those_of_a_slow_walk(capture):
    """The outermost calls of each name, by looking at every pair of calls of that name."""
    events, trace = capture
    ((first, last),) = trace_steps(trace).select("start_ns", "end_ns").rows()
    by_name: dict[str, list[tuple[object, int, int]]] = {}
    for name, thread, start, end in bars(events, "cpu_op", "user_annotation"):
        if first <= start < last:
            by_name.setdefault(name, []).append((thread, start, end))
    expected = {}
    for name, calls in by_name.items():
        kept = [
            one
            for at, one in enumerate(calls)
            if not any(
                other[0] == one[0]
                and other[1] <= one[1]
                and one[2] <= other[2]
                and (other[1:] != one[1:] or before < at)
                for before, other in enumerate(calls)
                if before != at
            )
        ]
        expected[name] = sum(end - start for _, start, end in kept)
    found = host_operators(trace).by_name.select("name", "total_ns")
    assert dict(found.rows()) == expected


@pytest.mark.parametrize("name", [RANK0, RANK1, LEVEL0])
def test_alexnet_copies_and_conversions_are_judged_by_their_counts(name: str, data: Path):
    trace = trace_of(events_of(data, name))
    verdicts = host_operators(trace).verdicts
    assert [(one.kind, one.calls_per_iteration, one.flagged) for one in verdicts] == [
        ("aten_copy_", 32, False),
        ("aten_to", 15, False),
        ("aten_to_copy", 11, False),
    ]


def test_dlrm_spends_over_a_tenth_of_its_step_in_copies(data: Path):
    trace = trace_of(events_of(data, DLRM0))
    assert [one.flagged for one in host_operators(trace).verdicts] == [True, True, True]


def copies_of(trace: Trace) -> Copies:
    found = find_copies(trace, trace_steps(trace), launches(trace), "pytorch", ONE_STEP)
    assert isinstance(found, Copies)
    return found


@pytest.mark.parametrize("name", [RANK0, RANK1, LEVEL0, OLDER])
def test_npu_copies_are_the_asynchronous_ones_of_the_streams(name: str, data: Path):
    events, trace = read(data, name)
    durations = sorted(
        nanoseconds(event["dur"])
        for event in events
        if event.get("ph") == "X" and event["name"] == "MEMCPY_ASYNC"
    )
    copies = copies_of(trace)
    assert sorted(copies.bars["duration_ns"].to_list()) == durations
    # None of these captures collected what the copies were.
    assert copies.undirected == len(durations)
    assert copies.per_iteration_ns("host_to_device") is None


@pytest.mark.parametrize("name", [DLRM0, DLRM1])
def test_gpu_copies_go_by_the_direction_in_their_name(name: str, data: Path):
    events, trace = read(data, name)
    words = {"HtoD": "host_to_device", "DtoH": "device_to_host", "DtoD": "device_to_device"}
    expected = Counter(
        words[event["name"].split()[1]]
        for event in events
        if event.get("ph") == "X" and event.get("cat") == "gpu_memcpy"
    )
    assert dict(copies_of(trace).by_direction.select("direction", "count").rows()) == dict(expected)


def test_alexnet_has_no_custom_operators(data: Path):
    trace = trace_of(events_of(data, RANK0))
    found = find_custom_operators(
        trace, host_bars(trace, trace_steps(trace)), trace_steps(trace), launches(trace), ONE_STEP
    )
    assert isinstance(found, CustomOperators)
    assert (found.count, found.unknown) == (0, 0)


def test_dlrm_launches_kernels_from_fbgemm(data: Path):
    trace = trace_of(events_of(data, DLRM0))
    found = find_custom_operators(
        trace, host_bars(trace, trace_steps(trace)), trace_steps(trace), launches(trace), ONE_STEP
    )
    assert isinstance(found, CustomOperators)
    operators = found.kernels.select(pl.col("launched_by").str.split("::").list.first().unique())
    assert operators["launched_by"].to_list() == ["fbgemm"]
    lookups = found.kernels.filter(pl.col("launched_by").str.contains("split_embedding_codegen_lookup"))
    assert lookups["count"].sum() == 1
