"""Waits and device syncs of the main thread, by name and by step."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.phases.model import EMBEDDING_UPDATE, LOOKUP, PREPROCESSING
from analysis.phases.results import WAITS, WAITS_BY_STEP
from analysis.phases.waits import find_waits
from tests.analysis.phases.hand_made import case, op, step
from tests.analysis.phases.spans import MAIN, WORKER, Span, classified_spans, windows_of
from tests.analysis.trace import builder
from tests.analysis.trace.bars import Bar, parents
from tests.analysis.trace.builder import timeline

if TYPE_CHECKING:
    import polars as pl

    from analysis.phases.model import Windows
    from analysis.phases.results import Waits

MS = 1_000_000
NOTHING_ELSE = timeline()
STEPS = windows_of((1, 0, 1000), (2, 1000, 2000))


def waits_of(*spans: Span, windows: Windows = STEPS) -> Waits:
    return find_waits(classified_spans(spans), windows, NOTHING_ELSE)


def wait(name: str, start: int, end: int, phase: str | None = None, **more: Any) -> Span:
    return Span(name, start, end, phase, wait=True, **more)


def rows(table: pl.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return table.select(columns).rows()


def test_waits_of_one_name_are_one_row() -> None:
    found = waits_of(
        wait("wait", 0, 10, LOOKUP), wait("wait", 100, 130, LOOKUP), wait("wait", 1500, 1505, LOOKUP)
    )
    assert found.by_name.rows() == [("wait", LOOKUP, 3, 45, 23, 30, 0.0225, None, False)]


def test_waits_of_each_step_are_told_apart() -> None:
    found = waits_of(wait("wait", 0, 10), wait("wait", 100, 130), wait("wait", 1500, 1505))
    assert found.by_step.rows() == [
        (1, False, "wait", None, 2, 40, 0.04, None, False),
        (2, False, "wait", None, 1, 5, 0.005, None, False),
    ]
    assert found.per_step_ns == {1: 40, 2: 5}


def test_a_step_without_a_wait_has_none() -> None:
    assert waits_of(wait("wait", 0, 10)).per_step_ns == {1: 10, 2: 0}


def test_batch_indices_do_not_tell_waits_apart() -> None:
    found = waits_of(wait("## wait_for_batch 7 ##", 0, 10), wait("## wait_for_batch 8 ##", 1000, 1010))
    assert rows(found.by_name, "name", "count") == [("## wait_for_batch {i} ##", 2)]


def test_a_wait_inside_another_counts_with_the_outer_one_only() -> None:
    found = waits_of(
        wait("outer", 0, 100), Span("between", 10, 90), wait("inner", 20, 80), wait("beside", 200, 210)
    )
    assert rows(found.by_name, "name", "total_ns") == [("outer", 100), ("beside", 10)]
    assert found.per_step_ns == {1: 110, 2: 0}


def test_waits_of_other_threads_do_not_count() -> None:
    found = waits_of(wait("wait", 0, 10, thread=WORKER), wait("wait", 0, 4))
    assert rows(found.by_name, "count", "total_ns") == [(1, 4)]


def test_a_wait_belongs_to_the_step_in_which_it_starts() -> None:
    found = waits_of(wait("wait", 999, 1500), wait("late", 2000, 2100))
    assert found.per_step_ns == {1: 501, 2: 0}
    assert found.by_name["name"].to_list() == ["wait"]


def test_the_compile_step_is_shown_but_not_averaged() -> None:
    windows = windows_of((1, 0, 1000), (2, 1000, 2000), (3, 2000, 3000), excluded=1)
    found = waits_of(
        wait("wait", 0, 900), wait("wait", 1000, 1020), wait("wait", 2000, 2020), windows=windows
    )
    assert rows(found.by_step, "step", "excluded", "total_ns", "flagged") == [
        (1, True, 900, True),
        (2, False, 20, False),
        (3, False, 20, False),
    ]
    assert found.by_name.rows() == [("wait", None, 2, 40, 20, 20, 0.02, None, False)]
    assert found.per_step_ns == {1: 900, 2: 20, 3: 20}


def test_a_trace_without_steps_is_one_window_without_a_number() -> None:
    found = waits_of(wait("wait", 0, 10), windows=windows_of((None, 0, 100)))
    assert rows(found.by_step, "step", "total_ns", "share") == [(None, 10, 0.1)]
    assert found.per_step_ns == {None: 10}


def test_waits_above_a_twentieth_of_one_step_are_flagged() -> None:
    found = waits_of(wait("wait", 0, 30), wait("wait", 40, 61), wait("wait", 1000, 1001))
    assert rows(found.by_step, "step", "total_ns", "flagged") == [(1, 51, True), (2, 1, False)]
    assert rows(found.by_name, "share", "flagged") == [(0.026, True)]


def test_waits_of_a_twentieth_of_the_step_are_not_flagged() -> None:
    found = waits_of(wait("wait", 0, 50))
    assert (found.by_step["flagged"].to_list(), found.by_name["flagged"].to_list()) == ([False], [False])


@pytest.mark.parametrize(("ns", "flagged"), [(50 * MS, False), (50 * MS + 1, True)])
def test_waits_above_50_ms_are_flagged_in_however_long_a_step(ns: int, flagged: bool) -> None:
    found = waits_of(wait("wait", 0, ns), windows=windows_of((1, 0, 10_000 * MS)))
    assert found.by_step["flagged"].to_list() == [flagged]


def test_the_phase_is_that_of_most_of_the_time() -> None:
    found = waits_of(wait("wait", 0, 10, LOOKUP), wait("wait", 20, 25), wait("wait", 30, 37, PREPROCESSING))
    assert rows(found.by_name, "phase") == [(LOOKUP,)]


def test_the_phase_is_unknown_where_that_of_most_of_the_time_is() -> None:
    found = waits_of(wait("wait", 0, 10), wait("wait", 20, 29, LOOKUP))
    assert rows(found.by_name, "phase") == [(None,)]


def test_a_known_phase_wins_over_an_unknown_one_of_as_much_time() -> None:
    found = waits_of(wait("wait", 0, 10), wait("wait", 20, 30, LOOKUP))
    assert rows(found.by_name, "phase") == [(LOOKUP,)]


def test_the_compile_step_does_not_decide_the_phase() -> None:
    windows = windows_of((1, 0, 1000), (2, 1000, 2000), excluded=1)
    found = waits_of(wait("wait", 0, 900, PREPROCESSING), wait("wait", 1000, 1020, LOOKUP), windows=windows)
    assert rows(found.by_name, "phase") == [(LOOKUP,)]


def test_the_producer_is_what_was_waited_for_most_of_the_time() -> None:
    found = waits_of(
        Span("## prepare 7 ##", 0, 9, LOOKUP, WORKER),
        Span("## prepare 8 ##", 20, 29, LOOKUP, WORKER),
        Span("update", 40, 55, EMBEDDING_UPDATE, WORKER),
        wait("future.result", 0, 10, producer=0),
        wait("future.result", 20, 30, producer=1),
        wait("future.result", 40, 56, producer=2),
        wait("future.result", 100, 200),
    )
    assert rows(found.by_name, "producer") == [("## prepare {i} ##",)]


def test_each_step_has_its_own_phase_and_producer() -> None:
    found = waits_of(
        Span("prepare", 0, 9, LOOKUP, WORKER),
        Span("update", 1000, 1004, EMBEDDING_UPDATE, WORKER),
        wait("future.result", 0, 10, LOOKUP, producer=0),
        wait("future.result", 1000, 1005, EMBEDDING_UPDATE, producer=1),
    )
    assert rows(found.by_step, "phase", "producer") == [(LOOKUP, "prepare"), (EMBEDDING_UPDATE, "update")]
    assert rows(found.by_name, "phase", "producer") == [(LOOKUP, "prepare")]


def test_waits_stand_by_time_then_name() -> None:
    found = waits_of(wait("b", 0, 5), wait("a", 10, 15), wait("c", 20, 30), wait("d", 1000, 1090))
    assert found.by_name["name"].to_list() == ["d", "c", "a", "b"]
    assert found.by_step["name"].to_list() == ["c", "a", "b", "d"]


def test_syncs_count_by_their_outermost_call_and_phase() -> None:
    found = waits_of(
        Span("aten::item", 0, 50, LOOKUP, sync=True),
        Span("aten::_local_scalar_dense", 1, 49, LOOKUP, sync=True),
        Span("aten::item", 100, 130, sync=True),
        Span("aten::item", 1000, 1070, sync=True),
        Span("aten::item", 0, 1000, LOOKUP, WORKER, sync=True),
    )
    assert found.device_syncs.rows() == [
        ("aten::item", None, 2, 100, 50, 70, 0.05, None, True),
        ("aten::item", LOOKUP, 1, 50, 25, 50, 0.025, None, False),
    ]
    assert found.by_name.is_empty()


def test_a_sync_inside_a_wait_is_in_both_tables() -> None:
    found = waits_of(
        wait("wait_sparse_data_dist", 0, 60, LOOKUP),
        Span("aten::_local_scalar_dense", 10, 50, LOOKUP, sync=True),
    )
    assert rows(found.by_name, "total_ns") == [(60,)]
    assert rows(found.device_syncs, "name", "phase", "total_ns") == [
        ("aten::_local_scalar_dense", LOOKUP, 40)
    ]
    # In the mean of two steps.
    assert found.synced_ns == {"wait_sparse_data_dist": 20}


def test_only_waits_that_block_on_the_device_have_such_time() -> None:
    found = waits_of(wait("future.result", 0, 60, LOOKUP), Span("aten::item", 70, 90, sync=True))
    assert found.synced_ns == {}


@pytest.mark.parametrize("spans", [[], [Span("aten::add", 0, 10)]])
def test_nothing_waited_gives_empty_tables_with_their_columns(spans: list[Span]) -> None:
    found = waits_of(*spans)
    assert dict(found.by_name.schema) == WAITS
    assert dict(found.by_step.schema) == WAITS_BY_STEP
    assert dict(found.device_syncs.schema) == WAITS
    assert found.per_step_ns == {1: 0, 2: 0}


MARKED = st.lists(
    st.tuples(
        st.builds(Bar, st.integers(0, 1), st.integers(0, 11), st.integers(0, 8)),
        st.booleans(),
        st.sampled_from(["a", "b"]),
    ),
    max_size=10,
)


@settings(deadline=None)
@given(MARKED)
def test_waits_are_those_that_a_walk_up_the_tree_finds_outermost(marked: list[tuple[Bar, bool, str]]) -> None:
    windows = windows_of((4, 2, 6), (5, 6, 10))
    bars = [bar for bar, _, _ in marked]
    above = parents(bars)
    expected: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for at, (bar, waits, name) in enumerate(marked):
        over = above[at]
        while over >= 0 and not marked[over][1]:
            over = above[over]
        if waits and bar.track == MAIN and over < 0 and 2 <= bar.start < 10:
            expected[4 if bar.start < 6 else 5][name] += bar.duration
    found = waits_of(
        *(
            Span(name, bar.start, bar.start + bar.duration, thread=bar.track, wait=waits)
            for bar, waits, name in marked
        ),
        windows=windows,
    )
    assert {(step, name): total for step, name, total in rows(found.by_step, "step", "name", "total_ns")} == {
        (step, name): total for step, names in expected.items() for name, total in names.items()
    }
    assert found.per_step_ns == {step: sum(expected[step].values()) for step in (4, 5)}


def test_a_call_below_the_framework_that_synchronises_is_told_unless_a_sync_holds_it() -> None:
    below, call = ("CANN", builder.MAIN[1]), "AscendCL@aclrtSynchronizeStreamWithTimeout"
    found = case(
        step(7, 0, 1000),
        op("aten::item", 100, 200),
        builder.bar(call, below, 120, 100),
        op("## forward 7 ##", 400, 300),
        builder.bar(call, below, 450, 60),
        builder.bar("AscendCL@aclrtSynchronizeDevice", below, 460, 10),
        builder.bar(call, below, 800, 30),
        builder.bar(call, ("CANN", "Thread 999"), 900, 50),
    )
    waits = find_waits(found.classified, found.windows, found.trace)
    assert rows(waits.device_syncs, "name", "phase", "count", "total_ns") == [
        ("aten::item", None, 1, 200_000),
        (call, "forward", 1, 60_000),
        (call, None, 1, 30_000),
    ]
    assert waits.device_syncs["total_ns"].sum() == found.times.mean_remainder["sync_anywhere_ns"]


def test_device_syncs_of_each_step_are_told_apart() -> None:
    found = case(
        step(7, 0, 1000),
        op("aten::item", 100, 40),
        op("aten::item", 200, 20),
        step(8, 1000, 1000),
        op("## forward 8 ##", 1100, 500),
        op("aten::item", 1200, 100),
    )
    waits = find_waits(found.classified, found.windows, found.trace)
    assert rows(waits.syncs_by_step, "step", "name", "phase", "count", "total_ns", "flagged") == [
        (7, "aten::item", None, 2, 60_000, True),
        (8, "aten::item", "forward", 1, 100_000, True),
    ]
    assert waits.device_syncs["total_ns"].sum() == waits.syncs_by_step["total_ns"].sum()


def test_syncs_that_took_no_time_are_no_rows() -> None:
    found = waits_of(Span("scalar", 10, 10, sync=True), Span("item", 20, 30, sync=True))
    assert rows(found.device_syncs, "name") == rows(found.syncs_by_step, "name") == [("item",)]
