"""The single waits and device syncs that the rows of their tables are made of."""

from __future__ import annotations

from typing import Any

from analysis.phases.model import LOOKUP
from analysis.phases.waits import STOPS, syncs_of, waits_of
from tests.analysis.phases.spans import Span, classified_spans, windows_of
from tests.analysis.trace.builder import timeline

STEPS = windows_of((1, 0, 1000), (2, 1000, 2000))


def wait(name: str, start: int, end: int, phase: str | None = None, **more: Any) -> Span:
    return Span(name, start, end, phase, wait=True, **more)


def test_waits_of_a_name_come_in_their_order_with_their_place_in_the_step() -> None:
    spans = classified_spans(
        [wait("## w 7 ##", 1100, 1130, LOOKUP), wait("## w 6 ##", 20, 30, LOOKUP), wait("other", 40, 50)]
    )
    found = waits_of("## w {i} ##", None, spans, STEPS)
    assert found.schema == STOPS
    columns = ("step", "start_ns", "offset_ns", "duration_ns", "phase", "producer")
    assert found.select(columns).rows() == [
        (1, 20, 20, 10, LOOKUP, None),
        (2, 1100, 100, 30, LOOKUP, None),
    ]


def test_waits_of_one_step_are_its_own() -> None:
    spans = classified_spans([wait("w", 20, 30), wait("w", 1100, 1130)])
    assert waits_of("w", 2, spans, STEPS)["start_ns"].to_list() == [1100]


def test_syncs_are_told_apart_by_their_phase() -> None:
    spans = classified_spans([Span("item", 20, 30, LOOKUP, sync=True), Span("item", 50, 90, None, sync=True)])
    trace = timeline()
    assert syncs_of("item", None, None, spans, STEPS, trace)["duration_ns"].to_list() == [40]
    assert syncs_of("item", LOOKUP, None, spans, STEPS, trace)["duration_ns"].to_list() == [10]
