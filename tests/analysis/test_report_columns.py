"""Values of result tables as text."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.report.columns import (
    COLUMNS,
    Kind,
    cell_text,
    columns,
    exact_text,
    exact_title,
    screen_title,
    value_text,
)
from analysis.report.messages import Messages


@pytest.mark.parametrize(
    ("kind", "value", "screen", "exact"),
    [
        ("time", 21_400_123, "21.4 ms", "21400.123"),
        ("time", 812_000, "812 us", "812.000"),
        ("time", 0, "0.00 us", "0.000"),
        ("moment", 1_700_000_000_123_456_789, "1700000000123456.789", "1700000000123456.789"),
        ("share", 0.38196, "38.2 %", "38.196"),
        ("ratio", 0.0, "0.0 %", "0.000"),
        # A percent column is never read as a fraction, however small it is.
        ("percent", 0.5, "0.5 %", "0.500"),
        ("count", 1048, "1,048", "1048"),
        ("number", 1048, "1,048", "1048"),
        ("number", 269.3333333333333, "269", "269.333333"),
        ("number", 2.5, "2.50", "2.5"),
        ("id", 1048, "1048", "1048"),
        ("bytes", 999, "999 B", "999"),
        ("bytes", 640_000_000, "640 MB", "640000000"),
        ("bytes", 1_500, "1.50 kB", "1500"),
        ("bytes", 1_048_000_000, "1.05 GB", "1048000000"),
        ("flag", True, "✓", "✓"),
        ("flag", False, "·", "✗"),
        ("text", "op[red]", "op[red]", "op[red]"),
        # The shape of a scalar is known and empty.
        ("shapes", "", "", ""),
    ],
)
def test_screen_adapts_and_copy_is_exact(kind: Kind, value: Any, screen: str, exact: str) -> None:
    assert (cell_text(kind, value), exact_text(kind, value)) == (screen, exact)


@pytest.mark.parametrize("column", COLUMNS.values(), ids=lambda column: column.key)
def test_unknown_is_a_dash_in_every_column(column: Any) -> None:
    assert (cell_text(column.kind, None), exact_text(column.kind, None)) == ("–", "–")


def test_ratio_of_nothing_is_unknown() -> None:
    assert cell_text("ratio", float("nan")) == "–"


@pytest.mark.parametrize(
    ("language", "screen", "exact"), [("en", "Total", "Total (us)"), ("zh", "总耗时", "总耗时（us）")]
)
def test_unit_stands_in_the_title_of_exact_values(language: str, screen: str, exact: str) -> None:
    messages = Messages(language)
    column = COLUMNS["total_ns"]
    assert (screen_title(column, messages), exact_title(column, messages)) == (screen, exact)


def test_columns_come_in_the_order_asked_for() -> None:
    assert [column.key for column in columns("share", "count")] == ["share", "count"]


def test_code_without_words_shows_as_it_is() -> None:
    messages = Messages("en")
    assert value_text(COLUMNS["problem"], "no_such_problem", messages, exact=False) == "no_such_problem"
