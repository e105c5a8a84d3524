"""Stable sort orders, told by their row numbers."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.row_order import stable_order

NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "descending", "order"),
    [
        ([3, 1, None, 3, 2], False, [1, 4, 0, 3, 2]),
        ([3, 1, None, 3, 2], True, [0, 3, 4, 1, 2]),
        # Spans of more than 16 bits, of all 64, and across zero.
        ([70_000, -1, None, 70_000], False, [1, 0, 3, 2]),
        ([70_000, -1, None, 70_000], True, [0, 3, 1, 2]),
        ([2**63 - 1, -(2**63), 0], False, [1, 2, 0]),
        ([2**63 - 1, -(2**63), 0], True, [0, 2, 1]),
        ([65_536, 0, 65_535, None], False, [1, 2, 0, 3]),
        # Both zeros are equal; NaN is unknown.
        ([0.0, -0.0, NAN, None, -1.0, -2.5, 0.0], False, [5, 4, 0, 1, 6, 2, 3]),
        ([0.0, -0.0, NAN, None, -1.0, -2.5, 0.0], True, [0, 1, 6, 4, 5, 2, 3]),
        ([True, None, False], True, [0, 2, 1]),
        ([None, None], True, [0, 1]),
        ([], False, []),
    ],
)
def test_order_of_rows(values: list[float | None], descending: bool, order: list[int]) -> None:
    assert stable_order(pl.Series(values, strict=False), descending=descending).to_list() == order


WHOLE = st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.lists(st.none() | WHOLE) | st.lists(st.none() | st.floats(allow_nan=False))


@given(NUMBERS, st.booleans())
def test_order_is_that_of_a_stable_sort(values: list[float | None], descending: bool) -> None:
    known = [row for row, value in enumerate(values) if value is not None]
    unknown = [row for row, value in enumerate(values) if value is None]
    sign = -1 if descending else 1
    expected = sorted(known, key=lambda row: sign * values[row]) + unknown  # type: ignore[operator]
    assert stable_order(pl.Series(values, strict=False), descending=descending).to_list() == expected
