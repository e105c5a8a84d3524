"""Verdicts on pairs of phases: who works at the same time as whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.phases.asynchrony import pair_verdicts
from analysis.phases.model import (
    DENSE_UPDATE,
    EMBEDDING_UPDATE,
    FORWARD,
    LOOKUP,
    PAIRS,
    PHASES,
    PREPROCESSING,
    SLICES,
)
from analysis.phases.slices import slices
from analysis.trace.model import CHUNKS, EVENTS, FLOWS, TRACKS, Quality, Trace
from tests.analysis.phases.spans import AUTOGRAD, MAIN, WORKER, Span, classified_spans, windows_of
from tests.analysis.trace_frames import launches_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.phases.results import Pair


@dataclass(frozen=True)
class Work:
    """What a host thread does for a while."""

    phase: str | None
    start_ns: int
    end_ns: int
    thread: int = MAIN
    waiting: bool = False
    syncing: bool = False


@dataclass(frozen=True)
class Task:
    """One bar of the device."""

    phase: str | None
    start_ns: int
    end_ns: int
    type: str | None = "AI_CORE"
    tied: bool = True
    name: str = "MatMul"


VIEW = [Task(FORWARD, 5000, 5100)]
"""Device work of another phase: the device is seen."""

WINDOWS = windows_of((1, 0, 10_000), (2, 10_000, 20_000))
"""The steps; all work is told to be in the first of them."""

UNRELATED = 3
"""Bars of the trace before the operators."""


def verdicts(host: Sequence[Work], device: Sequence[Task] = (), *, fused: bool = False) -> tuple[Pair, Pair]:
    """Verdicts where one operator of each phase, and one without a phase, launches the bars of the device."""
    phases = (*PHASES, None)
    operators = classified_spans([Span("op", 0, 0, phase) for phase in phases], first_event=UNRELATED)
    first_task = UNRELATED + len(phases)
    trace = _trace(first_task, device)
    pieces = pl.DataFrame(
        [
            {
                "track": work.thread,
                "start_ns": work.start_ns,
                "end_ns": work.end_ns,
                "bar": 0,
                "phase": -1 if work.phase is None else PHASES.index(work.phase),
                "waiting": work.waiting,
                "syncing": work.syncing,
                "window": 0,
            }
            for work in host
        ],
        schema=SLICES,
    ).sort("track", "start_ns")
    tied = [
        (first_task + at, UNRELATED + phases.index(task.phase)) for at, task in enumerate(device) if task.tied
    ]
    first, second = pair_verdicts(operators, WINDOWS, pieces, launches_frame(*tied), trace, fused=fused)
    return first, second


def _trace(before: int, device: Sequence[Task]) -> Trace:
    rows = [dict.fromkeys(EVENTS) | {"name": "other", "start_ns": 0, "duration_ns": 5}] * before
    rows += [
        dict.fromkeys(EVENTS)
        | {
            "name": task.name,
            "task_type": task.type,
            "start_ns": task.start_ns,
            "duration_ns": task.end_ns - task.start_ns,
        }
        for task in device
    ]
    return Trace(
        events=pl.DataFrame(rows, schema=EVENTS),
        tracks=pl.DataFrame(schema=TRACKS),
        flows=pl.DataFrame(schema=FLOWS),
        chunks=pl.DataFrame(schema=CHUNKS),
        quality=Quality(before + len(device), {}, (), 0),
    )


def test_a_tenth_of_the_shorter_side_on_another_thread_is_threads() -> None:
    pair, _ = verdicts([Work(PREPROCESSING, 0, 200), Work(LOOKUP, 190, 290, WORKER)])
    assert (pair.verdict, pair.host_ratio, pair.host_ns) == ("threads", 0.1, (200, 100))


def test_just_below_a_tenth_on_another_thread_is_serial() -> None:
    pair, _ = verdicts([Work(PREPROCESSING, 0, 1000), Work(LOOKUP, 901, 1901, WORKER)], VIEW)
    assert (pair.verdict, pair.host_ratio, pair.unobservable) == ("serial", 0.099, None)


def test_the_first_instants_of_one_phase_do_not_meet_the_last_of_the_other() -> None:
    pair, _ = verdicts([Work(PREPROCESSING, 0, 100), Work(LOOKUP, 100, 200, WORKER)], VIEW)
    assert (pair.verdict, pair.host_ratio) == ("serial", 0.0)


def test_a_tenth_of_the_shorter_side_on_the_device_is_streams() -> None:
    host = [Work(PREPROCESSING, 0, 50), Work(LOOKUP, 50, 100)]
    pair, _ = verdicts(host, [Task(PREPROCESSING, 100, 500), Task(LOOKUP, 490, 590)])
    assert (pair.verdict, pair.host_ratio, pair.device_ratio) == ("streams", 0.0, 0.1)
    assert pair.device_ns == (400, 100)


def test_just_below_a_tenth_on_the_device_is_serial() -> None:
    host = [Work(PREPROCESSING, 0, 50), Work(LOOKUP, 50, 100)]
    pair, _ = verdicts(host, [Task(PREPROCESSING, 0, 1000), Task(LOOKUP, 901, 1901)])
    assert (pair.verdict, pair.device_ratio) == ("serial", 0.099)


def test_threads_go_before_streams() -> None:
    pair, _ = verdicts(
        [Work(PREPROCESSING, 0, 100), Work(LOOKUP, 0, 100, WORKER)],
        [Task(PREPROCESSING, 0, 100), Task(LOOKUP, 0, 100)],
    )
    assert (pair.verdict, pair.host_ratio, pair.device_ratio) == ("threads", 1.0, 1.0)


def test_waiting_beside_the_other_phase_is_no_work() -> None:
    pair, _ = verdicts(
        [
            Work(PREPROCESSING, 0, 1000, WORKER),
            Work(LOOKUP, 0, 1000, waiting=True),
            Work(LOOKUP, 1000, 1100),
        ],
        VIEW,
    )
    assert (pair.verdict, pair.host_ratio, pair.host_ns) == ("serial", 0.0, (1000, 100))


def test_a_device_sync_inside_a_phase_is_work() -> None:
    _, pair = verdicts(
        [Work(EMBEDDING_UPDATE, 0, 100, WORKER, syncing=True), Work(DENSE_UPDATE, 20, 120)],
    )
    assert (pair.verdict, pair.host_ratio) == ("threads", 0.8)


def test_time_of_several_threads_counts_once() -> None:
    pair, _ = verdicts(
        [
            Work(PREPROCESSING, 0, 100, 3),
            Work(PREPROCESSING, 50, 150, 4),
            Work(LOOKUP, 50, 250, 5),
            Work(LOOKUP, 100, 300, 6),
        ]
    )
    # 50 to 150 is shared by two threads of either side: 100 of 150.
    assert (pair.host_ratio, pair.host_ns) == (100 / 150, (150, 250))


def test_two_phases_of_one_thread_are_serial_however_they_are_nested() -> None:
    spans = [
        Span("outer", 0, 1000, PREPROCESSING),
        Span("inner", 200, 800, LOOKUP),
        Span("same start", 200, 400, PREPROCESSING),
    ]
    # A stream of another phase shows that the device can be seen.
    trace, tied = _trace(4, [Task(None, 0, 10)]), launches_frame((4, 3))
    classified = classified_spans([*spans, Span("op", 900, 950, FORWARD)])
    windows = windows_of((1, 0, 1000))
    pieces = slices(classified, windows)
    pair = pair_verdicts(classified, windows, pieces, tied, trace, fused=False)[0]
    assert (pair.verdict, pair.host_ratio, pair.host_ns) == ("serial", 0.0, (550, 400))


def test_a_thread_that_does_both_still_meets_another_one() -> None:
    pair, _ = verdicts([Work(PREPROCESSING, 0, 100), Work(LOOKUP, 100, 200), Work(LOOKUP, 60, 90, WORKER)])
    # Of the lookup 130, of preprocessing 100, 30 of them beside the worker.
    assert (pair.verdict, pair.host_ratio, pair.host_ns) == ("threads", 0.3, (100, 130))


@pytest.mark.parametrize(
    ("dense_start_ns", "verdict", "ratio"), [(150, "streams", 1.0), (250, "serial", 0.0)]
)
def test_an_update_fused_into_backward_is_compared_on_the_device_alone(
    dense_start_ns: int, verdict: str, ratio: float
) -> None:
    _, pair = verdicts(
        [Work(EMBEDDING_UPDATE, 0, 100, AUTOGRAD), Work(DENSE_UPDATE, 50, 200)],
        [Task(EMBEDDING_UPDATE, 50, 250), Task(DENSE_UPDATE, dense_start_ns, dense_start_ns + 100)],
        fused=True,
    )
    assert (pair.verdict, pair.host_ratio, pair.device_ratio) == (verdict, None, ratio)


def test_an_update_fused_into_backward_cannot_be_observed_where_the_device_is_not_seen() -> None:
    host = [Work(EMBEDDING_UPDATE, 0, 100, AUTOGRAD), Work(DENSE_UPDATE, 50, 200)]
    other, pair = verdicts([*host, Work(PREPROCESSING, 0, 100), Work(LOOKUP, 0, 100, WORKER)], fused=True)
    assert (pair.verdict, pair.host_ratio, pair.unobservable) == ("not_observable", None, "host")
    assert other.verdict == "threads"


@pytest.mark.parametrize(
    "spelling",
    ["Notify_Wait", "Notify Wait", "NOTIFY_WAIT_SQE", "EVENT_WAIT", "EVENT_WAIT_SQE", "DAVID_EVENT_WAIT"],
)
def test_device_bars_that_only_wait_are_no_work(spelling: str) -> None:
    host = [Work(PREPROCESSING, 0, 50), Work(LOOKUP, 50, 100)]
    wait = Task(LOOKUP, 0, 1000, spelling)
    pair, _ = verdicts(host, [Task(PREPROCESSING, 0, 1000), wait, Task(LOOKUP, 2000, 2100)])
    assert (pair.verdict, pair.device_ns) == ("serial", (1000, 100))


def test_a_device_bar_without_a_task_type_waits_by_its_name() -> None:
    host = [Work(PREPROCESSING, 0, 50), Work(LOOKUP, 50, 100)]
    pair, _ = verdicts(host, [Task(LOOKUP, 0, 90, None, name="Notify_Wait"), Task(LOOKUP, 90, 100, None)])
    assert pair.device_ns == (0, 10)


def test_a_kernel_called_like_a_wait_is_work() -> None:
    pair, _ = verdicts([], [Task(LOOKUP, 0, 90, "AI_CORE", name="my_event_wait")])
    assert pair.device_ns == (0, 90)


def test_device_bars_without_an_operator_belong_to_no_phase() -> None:
    host = [Work(PREPROCESSING, 0, 50), Work(LOOKUP, 50, 100)]
    pair, _ = verdicts(host, [Task(LOOKUP, 0, 90, tied=False), Task(LOOKUP, 90, 100)])
    assert pair.device_ns == (0, 10)


def test_a_device_sync_is_work() -> None:
    pair, _ = verdicts([Work(PREPROCESSING, 0, 100), Work(LOOKUP, 50, 150, WORKER, syncing=True)])
    assert (pair.verdict, pair.host_ratio, pair.host_ns) == ("threads", 0.5, (100, 100))


def test_what_could_be_hidden_is_the_work_of_the_shorter_side_in_the_mean_step() -> None:
    host = [
        Work(PREPROCESSING, 0, 400),
        Work(LOOKUP, 400, 600),
        Work(LOOKUP, 600, 900, waiting=True),
        Work(LOOKUP, 900, 1200, syncing=True),
    ]
    pair, _ = verdicts(host, [Task(FORWARD, 0, 10)])
    # 200 of lookup in two steps.
    assert (pair.verdict, pair.hideable_ns) == ("serial", 100)


def test_more_may_be_hidden_on_the_device_than_on_the_host() -> None:
    host = [Work(PREPROCESSING, 0, 50), Work(LOOKUP, 50, 100)]
    pair, _ = verdicts(host, [Task(PREPROCESSING, 0, 300), Task(LOOKUP, 300, 900)])
    assert (pair.verdict, pair.hideable_ns) == ("serial", 150)


def test_a_side_without_events_cannot_be_observed() -> None:
    pair, other = verdicts([Work(PREPROCESSING, 0, 100)], [Task(PREPROCESSING, 0, 100)])
    assert (pair.verdict, pair.host_ratio, pair.device_ratio) == ("not_observable", None, None)
    assert (pair.unobservable, other.unobservable) == ("host", "host")


def test_a_side_that_only_waits_cannot_be_observed() -> None:
    pair, _ = verdicts([Work(PREPROCESSING, 0, 100), Work(LOOKUP, 100, 200, waiting=True)])
    assert (pair.verdict, pair.unobservable, pair.host_ns) == ("not_observable", "host", (100, 0))


def test_sides_that_share_neither_host_nor_device_are_not_called_serial() -> None:
    pair, _ = verdicts([Work(PREPROCESSING, 0, 100)], [Task(LOOKUP, 0, 100)])
    assert (pair.verdict, pair.unobservable) == ("not_observable", "host")


def test_one_thread_without_a_view_of_the_device_tells_nothing() -> None:
    pair, _ = verdicts([Work(PREPROCESSING, 0, 100), Work(LOOKUP, 100, 200)])
    assert (pair.verdict, pair.unobservable) == ("not_observable", "device")
    assert (pair.host_ratio, pair.device_ratio) == (0.0, None)


def test_device_bars_of_no_known_operator_are_no_view_of_the_device() -> None:
    host = [Work(PREPROCESSING, 0, 100), Work(LOOKUP, 100, 200)]
    pair, _ = verdicts(host, [Task(PREPROCESSING, 0, 100, tied=False), Task(LOOKUP, 0, 100, tied=False)])
    assert (pair.verdict, pair.unobservable) == ("not_observable", "device")


def test_one_thread_is_serial_where_the_device_is_seen_to_work_for_others() -> None:
    host = [Work(PREPROCESSING, 0, 100), Work(LOOKUP, 100, 200)]
    pair, _ = verdicts(host, [Task(FORWARD, 200, 300)])
    assert (pair.verdict, pair.unobservable, pair.device_ratio) == ("serial", None, None)


def test_two_threads_that_take_turns_tell_nothing_without_a_view_of_the_device() -> None:
    pair, _ = verdicts([Work(PREPROCESSING, 0, 100), Work(LOOKUP, 100, 200, WORKER)])
    assert (pair.verdict, pair.unobservable) == ("not_observable", "device")


def test_two_threads_side_by_side_need_no_view_of_the_device() -> None:
    pair, _ = verdicts([Work(PREPROCESSING, 0, 100), Work(LOOKUP, 0, 100, WORKER)])
    assert (pair.verdict, pair.device_ratio) == ("threads", None)


def test_a_trace_without_bars_can_be_asked() -> None:
    nothing = classified_spans([])
    pieces, trace = pl.DataFrame(schema=SLICES), _trace(0, [])
    pairs = pair_verdicts(nothing, WINDOWS, pieces, launches_frame(), trace, fused=False)
    assert [(pair.phases, pair.verdict) for pair in pairs] == [(pair, "not_observable") for pair in PAIRS]


PAIRED = st.sampled_from([*(phase for pair in PAIRS for phase in pair), FORWARD, None])


@st.composite
def works(draw: st.DrawFn) -> list[Work]:
    """Up to three threads, each doing one thing after the other."""
    found = []
    for thread in range(3):
        now = draw(st.integers(0, 5))
        for length in draw(st.lists(st.integers(1, 6), max_size=5)):
            found.append(Work(draw(PAIRED), now, now + length, thread, draw(st.booleans())))
            now += length + draw(st.integers(0, 1))
    return found


TASKS = st.lists(
    st.builds(
        lambda phase, start, length, kind, tied: Task(phase, start, start + length, kind, tied),
        PAIRED,
        st.integers(0, 30),
        st.integers(0, 8),
        st.sampled_from(["AI_CORE", None, "EVENT_WAIT_SQE"]),
        st.booleans(),
    ),
    max_size=6,
)


@settings(deadline=None)
@given(works(), TASKS)
def test_ratios_are_those_of_counting_instant_by_instant(host: list[Work], device: list[Task]) -> None:
    pairs = verdicts(host, device)
    for (first, second), pair in zip(PAIRS, pairs, strict=True):
        on_host, both_host = [0, 0], 0
        on_device, both_device = [0, 0], 0
        for now in range(60):
            open_now = [work for work in host if work.start_ns <= now < work.end_ns and not work.waiting]
            threads = [{work.thread for work in open_now if work.phase == side} for side in (first, second)]
            both_host += any(one != other for one in threads[0] for other in threads[1])
            streams = [
                any(
                    task.start_ns <= now < task.end_ns
                    for task in device
                    if task.tied and task.phase == side and task.type != "EVENT_WAIT_SQE"
                )
                for side in (first, second)
            ]
            both_device += all(streams)
            for side in (0, 1):
                on_host[side] += bool(threads[side])
                on_device[side] += streams[side]
        assert (pair.host_ns, pair.device_ns) == (tuple(on_host), tuple(on_device))
        assert pair.host_ratio == (both_host / min(on_host) if min(on_host) else None)
        assert pair.device_ratio == (both_device / min(on_device) if min(on_device) else None)
