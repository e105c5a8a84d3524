"""Operators and ranges of the program with the threads they are on."""

from __future__ import annotations

from typing import Any

from analysis.host_bars import host_bars
from analysis.trace.steps import trace_steps
from tests.analysis.trace.builder import MAIN, QUEUE, bar, timeline


def threads(*events: dict[str, Any]) -> list[str]:
    trace = timeline(*events)
    return host_bars(trace, trace_steps(trace)).frame["thread"].to_list()


def test_threads_of_one_process_have_their_own_names() -> None:
    assert threads(bar("a", MAIN, 0, 1, "cpu_op"), bar("b", QUEUE, 0, 1, "cpu_op")) == [MAIN[1], QUEUE[1]]


def test_threads_of_several_processes_say_which() -> None:
    events = bar("a", MAIN, 0, 1, "cpu_op"), bar("b", ("Loader", MAIN[1]), 0, 1, "cpu_op")
    # Here every process is named as its pid.
    assert threads(*events) == ["Thread 100 (Python Python)", "Thread 100 (Loader Loader)"]


def test_a_process_without_operators_does_not_count() -> None:
    events = bar("a", MAIN, 0, 1, "cpu_op"), bar("b", ("Loader", "Thread 5"), 0, 1, "python_function")
    assert threads(*events) == [MAIN[1]]
