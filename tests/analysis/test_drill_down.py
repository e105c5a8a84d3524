"""From a row of a trace table to its bars, and from a bar to the text of its event."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from analysis.drill_down import calls_of, copies_of, event_fields
from tests.analysis.report_fixtures import copy_tables, framework_operators

STEPS = pl.DataFrame({"step": [10, 11], "start_ns": [1_000_000, 1_500_000]})
TRACE: Any = SimpleNamespace(events=pl.DataFrame({"start_ns": [900_000, 1_000_000]}))


def test_calls_start_relative_to_their_own_step() -> None:
    calls = calls_of(framework_operators("aten::mm"), "aten::mm", TRACE, STEPS)
    assert calls["event"].to_list() == [5, 6, 9]
    assert calls["offset_ns"].to_list() == [20_000, 300_000, 7_000]


def test_call_outside_of_every_step_has_no_place_in_one() -> None:
    calls = calls_of(framework_operators("aten::mm"), "aten::mm", TRACE, STEPS.head(1))
    assert calls["offset_ns"].to_list() == [20_000, 300_000, None]


@pytest.mark.parametrize("steps", [None, STEPS.clear()])
def test_calls_of_a_trace_without_steps_start_relative_to_the_trace(steps: pl.DataFrame | None) -> None:
    calls = calls_of(framework_operators("aten::mm"), "aten::mm", TRACE, steps)
    assert calls["offset_ns"].to_list() == [120_000, 400_000, 607_000]


def test_only_calls_of_that_name_are_taken() -> None:
    assert calls_of(framework_operators("aten::mm"), "aten::m", TRACE, STEPS).is_empty()


def test_copies_are_those_of_one_direction() -> None:
    bars = copies_of(copy_tables(), "host_to_device", TRACE)
    assert bars["event"].to_list() == [7, 8]
    assert bars["offset_ns"].to_list() == [200_000, 700_000]
    assert copies_of(copy_tables(), None, TRACE).is_empty()


def test_copies_of_unknown_direction_are_a_direction_of_their_own() -> None:
    copies = copy_tables()
    unknown = copies.bars.with_columns(pl.lit(None, pl.String).alias("direction"))
    object.__setattr__(copies, "bars", unknown)
    assert copies_of(copies, None, TRACE)["event"].to_list() == [7, 8]


def test_fields_come_as_the_file_has_them_and_arguments_last() -> None:
    event = {
        "ph": "X",
        "args": {"a": None, "b": [1, {"c": True}]},
        "ts": "12.001",
        "dur": Decimal("1.230"),
        "id": 36893488147419103232123,
    }
    assert event_fields(event).rows() == [
        ("ph", "X"),
        ("ts", "12.001"),
        ("dur", "1.230"),
        ("id", "36893488147419103232123"),
        ("args.a", "null"),
        ("args.b", '[1, {"c": true}]'),
    ]


def test_fraction_inside_of_an_argument_keeps_its_digits() -> None:
    ((_, text),) = event_fields({"args": {"list": [Decimal("2.50")]}}).rows()
    assert "2.50" in text


def test_args_that_are_no_object_are_a_field() -> None:
    assert event_fields({"args": [1]}).rows() == [("args", "[1]")]


def test_half_a_surrogate_pair_can_be_shown() -> None:
    assert event_fields({"a\ud800": "\udc00"}).rows() == [("a\ufffd\ufffd\ufffd", "\ufffd\ufffd\ufffd")]


def test_changed_file_gives_no_rows() -> None:
    assert event_fields(None).is_empty()
    assert event_fields(None).columns == ["field", "text"]
