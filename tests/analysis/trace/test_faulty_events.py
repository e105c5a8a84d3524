"""Times to the nanosecond, and events that cannot be placed on the axis."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.analysis.trace.builder import MAIN, STREAM, bar
from tests.analysis.trace.comparison import bars_of, lost_of
from tests.analysis.trace.files import BASE_US, HEALTHY, HEALTHY_NAMES, fault, names, read

if TYPE_CHECKING:
    from pathlib import Path


# ------------------------------------------------------------------------------------------ exact times


def test_kernels_one_nanosecond_apart_stay_apart(tmp_path: Path) -> None:
    starts = ["1736408883704643.211", "1736408883704643.212", "1736408883704643.213"]
    trace = read(tmp_path, [bar(f"k{at}", STREAM, start, 0.001) for at, start in enumerate(starts)])
    assert trace.events["start_ns"].to_list() == [
        1736408883704643211,
        1736408883704643212,
        1736408883704643213,
    ]
    assert trace.events["duration_ns"].to_list() == [1, 1, 1]


def test_numbers_as_times_keep_every_nanosecond(tmp_path: Path) -> None:
    head = '[{"ph":"X","name":"a","pid":1,"tid":1,"dur":1,"ts":'
    trace = read(tmp_path, f"{head}1736408883704643.211}},{head[1:]}1736408883704643.212}}]")
    assert trace.events["start_ns"].to_list() == [1736408883704643211, 1736408883704643212]


def test_times_without_decimals_are_whole_microseconds(tmp_path: Path) -> None:
    trace = read(tmp_path, [bar("a", STREAM, "1736408883704643", 2), bar("b", STREAM, BASE_US, 2)])
    assert trace.events["start_ns"].to_list() == [1736408883704643000, 1000 * BASE_US]


def test_durations_of_fractions_of_a_nanosecond_are_rounded_half_to_even(tmp_path: Path) -> None:
    durations = (0.2, 4.800125, 0.0005, 0.0015, 0.0025, 0.00049, 0)
    trace = read(tmp_path, [bar("a", STREAM, BASE_US + at, dur) for at, dur in enumerate(durations)])
    assert trace.events["duration_ns"].to_list() == [200, 4800, 0, 2, 2, 0, 0]
    assert trace.quality.faults == ()


# --------------------------------------------------------------------------------------- events off the axis


def test_one_event_at_zero_does_not_destroy_the_time_axis(tmp_path: Path) -> None:
    trace = read(tmp_path, [*HEALTHY[:2], bar("at zero", MAIN, "0", 3), *HEALTHY[2:]])
    assert names(trace) == HEALTHY_NAMES
    assert trace.events["start_ns"].min() == 1000 * BASE_US
    found = fault(trace, "off_axis")
    assert (found.count, found.example, found.number, found.lost) == (1, "at zero", 2, True)
    assert trace.quality.objects == 6
    assert trace.quality.damaged


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("negative_dur", {"dur": -0.5}),
        ("negative_dur", {"dur": -7}),
        ("absurd_dur", {"dur": 7e15}),
        ("absurd_dur", {"dur": 7_000_000_000_000_000}),
        ("no_dur", {"dur": None}),
        ("no_ts", {"ts": None}),
        ("unreadable_ts", {"ts": "soon"}),
        ("unreadable_ts", {"ts": ""}),
    ],
)
def test_bars_that_cannot_be_placed_are_counted_and_left_out(
    tmp_path: Path, kind: str, fields: dict[str, Any]
) -> None:
    broken = bar("broken", MAIN, BASE_US, 1) | fields
    trace = read(tmp_path, [broken, *HEALTHY, broken])
    assert names(trace) == HEALTHY_NAMES
    assert lost_of(trace) == {kind: 2}
    assert (fault(trace, kind).example, fault(trace, kind).number) == ("broken", 0)
    assert trace.quality.by_phase == {"X": 7}


def test_examples_of_faults_are_short(tmp_path: Path) -> None:
    trace = read(tmp_path, [bar("算" * 500, MAIN, BASE_US, -1), *HEALTHY])
    assert fault(trace, "negative_dur").example == "算" * 80


def test_faults_are_listed_by_their_count(tmp_path: Path) -> None:
    odd = [bar("a", MAIN, "soon", 1), *[bar("b", MAIN, BASE_US, -1)] * 3, *[bar("c", MAIN, 0, 1)] * 2]
    trace = read(tmp_path, [*odd, *HEALTHY, *HEALTHY])
    counts = [(one.kind, one.count) for one in trace.quality.faults]
    assert counts == [("negative_dur", 3), ("off_axis", 2), ("unreadable_ts", 1)]


@pytest.mark.parametrize("key", ["ts", "dur"])
def test_bars_without_the_key_are_counted_and_left_out(tmp_path: Path, key: str) -> None:
    broken = bar("broken", MAIN, BASE_US, 1)
    del broken[key]
    trace = read(tmp_path, [*HEALTHY, broken])
    assert names(trace) == HEALTHY_NAMES
    assert lost_of(trace) == {f"no_{key}": 1}


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("key", ["ts", "dur"])
def test_a_time_that_is_no_number_loses_only_its_bar(tmp_path: Path, key: str, value: str) -> None:
    broken = json.dumps(bar("broken", MAIN, BASE_US, 1) | {key: float(value)})
    assert value in broken
    trace = read(tmp_path, f"[{broken}, {json.dumps(HEALTHY)[1:]}")
    assert names(trace) == HEALTHY_NAMES
    assert sum(lost_of(trace).values()) == 1


def test_not_a_number_among_the_args_harms_nothing(tmp_path: Path) -> None:
    odd = bar("odd", MAIN, BASE_US, 1, ratio=float("nan"), connection_id=7)
    trace = read(tmp_path, [odd, *HEALTHY])
    assert names(trace) == ["odd", *HEALTHY_NAMES]
    assert trace.events["connection_id"][0] == 7
    assert not trace.quality.damaged


@pytest.mark.parametrize(
    "fields",
    [
        {"args": 5},
        {"args": [1]},
        {"args": "text"},
        {"args": None},
        {"name": 5},
        {"name": None},
        {"name": ["a"]},
        {"cat": 5},
        {"pid": [1, 2]},
        {"tid": {"a": 1}},
        {"ph": 5},
        {"id": {"a": 1}},
        {"dur": "soon"},
        {"ts": [1]},
        {"args": {"connection_id": "many"}},
        {"args": {"connection_id": 1.5}},
        {"args": {"connection_id": 2**64}},
        {"args": {"Task Type": 7}},
        {"args": {"size(B)": {}}},
    ],
    ids=str,
)
def test_a_field_of_another_type_never_takes_other_events_with_it(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    odd = bar("odd", MAIN, BASE_US, 1) | fields
    trace = read(tmp_path, [HEALTHY[0], odd, *HEALTHY[1:]])
    found = [bar for bar in bars_of(trace) if (bar.name or "").startswith("healthy")]
    assert len(found) == 5
    # The odd one is a bar, or another kind of object, or it is counted as a fault: it never just vanishes.
    others = trace.quality.objects - trace.quality.by_phase.get("X", 0)
    assert len(bars_of(trace)) + others + sum(lost_of(trace).values()) == 6


@pytest.mark.parametrize("element", ["null", "5", '"text"', "[1, 2]", "true"])
def test_what_is_no_object_among_the_events_is_counted(tmp_path: Path, element: str) -> None:
    healthy = [json.dumps(event) for event in HEALTHY]
    trace = read(tmp_path, "[" + ", ".join([*healthy[:2], element, *healthy[2:]]) + "]")
    assert names(trace) == HEALTHY_NAMES
    assert fault(trace, "unreadable_event").count == 1


def test_args_nested_far_too_deep_lose_at_most_their_own_event(tmp_path: Path) -> None:
    deep = '{"ph":"X","name":"deep","pid":1,"tid":1,"ts":' + str(BASE_US) + ',"dur":1,"args":{"a":'
    deep += "[" * 100_000 + "]" * 100_000 + "}}"
    trace = read(tmp_path, f"[{deep}, {json.dumps(HEALTHY)[1:]}")
    assert [name for name in names(trace) if name != "deep"] == HEALTHY_NAMES
    assert ("deep" in names(trace)) != bool(lost_of(trace))
