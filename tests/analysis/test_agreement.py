"""Whether the trace agrees with the files that are made from it."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from analysis.agreement import cross_checks, disagreements
from analysis.profile.communication import BANDWIDTH, OPERATIONS, Communication
from analysis.report.messages import LANGUAGES, Messages
from analysis.trace.steps import trace_steps
from tests.analysis.frames import ABSENT, US, kernels_table, step_trace_time_table
from tests.analysis.trace.builder import (
    CANN,
    GROUP,
    MAIN,
    NOT_OVERLAPPED,
    OVERLAP,
    PLANE,
    STREAM,
    bar,
    timeline,
)
from tests.analysis.trace_frames import launches_frame, traced


def told(*events, communication=ABSENT):
    trace = timeline(*events)
    return traced(trace, trace_steps(trace), launches_frame(), communication=communication)


def checks(given, *, kernels=ABSENT, steps=ABSENT):
    found = cross_checks(kernels, ABSENT, steps, given)
    return {check.kind: (check.left_ns, check.right_ns, check.agrees) for check in found}


def elapsed(*rows: tuple[str, int | None]) -> Communication:
    operations = pl.DataFrame(
        [{"operation": name, "group": "1", "elapse_ns": elapse} for name, elapse in rows], schema=OPERATIONS
    )
    return Communication(operations, pl.DataFrame(schema=BANDWIDTH), "communication.json")


def overlap(start_us: int, *, length: int = 100):
    """Computing, and half of it Communication, a quarter Not Overlapped, a tenth Free."""
    return (
        bar("Computing", (OVERLAP, "Computing"), start_us, length),
        bar("Communication", (OVERLAP, "Communication"), start_us, length / 2),
        bar(NOT_OVERLAPPED, (OVERLAP, NOT_OVERLAPPED), start_us, length / 4),
        bar("Free", (OVERLAP, "Free"), start_us, length / 10),
    )


def row(step: str | None, length: int = 100, **times: int):
    spent = {
        "computing_ns": length * US,
        "communication_ns": length * US // 2,
        "not_overlapped_ns": length * US // 4,
        "free_ns": length * US // 10,
    }
    return {"step": step} | spent | times


STEPS = tuple(bar(f"ProfilerStep#{number}", MAIN, 1000 * number, 900, "cpu_op") for number in (1, 2))


def test_overlap_bars_agree_with_the_rows_of_their_steps() -> None:
    # The bars at 950 and 5000 us lie outside of both steps, so torch_npu leaves them out.
    events = (*STEPS, *overlap(1000), *overlap(2000), *overlap(950, length=40), *overlap(5000))
    found = checks(told(*events), steps=step_trace_time_table([row("1"), row("2")]))
    assert found == {
        "trace_computing": (200 * US, 200 * US, True),
        "trace_communication": (100 * US, 100 * US, True),
        "trace_not_overlapped": (50 * US, 50 * US, True),
        "trace_free": (20 * US, 20 * US, True),
    }


def test_overlap_bars_agree_with_the_row_of_a_whole_run() -> None:
    found = checks(told(*overlap(10), *overlap(5000)), steps=step_trace_time_table([row(None, 200)]))
    assert len(found) == 4
    assert all(agrees for *_, agrees in found.values())


@pytest.mark.parametrize(
    ("free", "agrees"), [(10_000, True), (10_101, True), (10_102, False), (9_899, False)]
)
def test_a_sum_more_than_1_percent_off_is_noted(free: int, agrees: bool) -> None:
    steps = step_trace_time_table([row("1", free_ns=free)])
    found = cross_checks(ABSENT, ABSENT, steps, told(*STEPS, *overlap(1000)))
    assert {check.kind for check in found if not check.agrees} == (set() if agrees else {"trace_free"})
    assert [note.kind for note in disagreements(found)] == ([] if agrees else ["trace_free_differ"])


def test_a_row_that_the_whole_bar_rule_distorts_agrees() -> None:
    # Communication starts in step 1 and ends in step 2, its exposed part is all in step 2: Overlapped is
    # 100 in step 1 and -50 in step 2, in the trace and in the file alike.
    events = (
        *STEPS,
        bar("Communication", (OVERLAP, "Communication"), 1850, 250),
        bar(NOT_OVERLAPPED, (OVERLAP, NOT_OVERLAPPED), 2050, 50),
    )
    rows = [
        {"step": "1", "communication_ns": 250 * US},
        {"step": "2", "not_overlapped_ns": 50 * US, "overlapped_ns": -50 * US},
    ]
    found = checks(told(*events), steps=step_trace_time_table(rows))
    assert found["trace_communication"] == (250 * US, 250 * US, True)
    assert all(agrees for *_, agrees in found.values())


def test_rows_of_steps_that_the_trace_lacks_are_not_compared() -> None:
    assert checks(told(*STEPS, *overlap(1000)), steps=step_trace_time_table([row("7")])) == {}


def test_kernels_of_the_trace_are_compared_with_the_kernel_file() -> None:
    events = (
        bar("MatMul", STREAM, 0, 7, task_type="AI_CORE"),
        bar("Unique", STREAM, 10, 3, task_type="AI_CPU"),
        bar("EVENT_WAIT_SQE", STREAM, 20, 900, task_type="EVENT_WAIT_SQE"),
        bar("hcom_allReduce_AicpuKernel", STREAM, 20, 900, task_type="AI_CPU"),
        bar("MatMul", CANN, 0, 500),
    )
    rows: list[dict[str, Any]] = [
        {"duration_ns": 6 * US},
        {"duration_ns": 3 * US},
        {"duration_ns": 900 * US, "role": "communication"},
    ]
    assert checks(told(*events), kernels=kernels_table(rows)) == {"trace_kernels": (10 * US, 9 * US, False)}


def test_kernels_recorded_in_parts_are_not_compared() -> None:
    events = (
        bar("MatMul", STREAM, 0, 7, task_type="AI_CORE"),
        bar("MatMulMix", STREAM, 10, 7, task_type="AIC"),
    )
    assert checks(told(*events), kernels=kernels_table([{"duration_ns": 14 * US}])) == {}


def test_collectives_are_compared_with_elapse_by_name() -> None:
    events = (
        bar("hcom_allReduce__1", GROUP, 0, 100),
        bar("Memcpy", PLANE, 0, 90),
        bar("hcom_broadcast__2", GROUP, 200, 50),
    )
    given = told(
        *events, communication=elapsed(("hcom_allReduce__1", 100 * US), ("hcom_broadcast__2", 40 * US))
    )
    assert checks(given) == {"trace_collectives": (150 * US, 140 * US, False)}


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([("a", 100 * US)], id="one of two bars in a row"),
        pytest.param([("b", 100 * US)], id="another name"),
        pytest.param([("a", None), ("a", 100 * US)], id="an unknown Elapse"),
    ],
)
def test_collectives_that_one_file_records_more_often_are_not_compared(rows) -> None:
    events = (bar("a", GROUP, 0, 100), bar("a", GROUP, 200, 50))
    assert checks(told(*events, communication=elapsed(*rows))) == {}


def test_nothing_is_compared_without_a_trace() -> None:
    found = checks(
        traced(communication=elapsed(("a", 1))),
        kernels=kernels_table([{"duration_ns": 100 * US}]),
        steps=step_trace_time_table([row("1")]),
    )
    assert set(found) == {"kernels_computing"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_comparison_has_its_words(language: str) -> None:
    events = (*STEPS, *overlap(1000), bar("MatMul", STREAM, 0, 7, task_type="AI_CORE"), bar("a", GROUP, 0, 9))
    found = cross_checks(
        kernels_table([{"duration_ns": 1, "step": 1}]),
        ABSENT,
        step_trace_time_table([row("1", length=50)]),
        told(*events, communication=elapsed(("a", 1))),
    )
    messages = Messages(language)
    assert len(found) == 7
    for check in found:
        assert f"check.{check.kind}" in messages
    noted = disagreements(found)
    assert len(noted) == 7
    for note in noted:
        assert "{" not in messages.text(f"note.{note.kind}", note.values)
