"""Bars of block characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.meter import bar_text, cell_counts, stacked_bar


@pytest.mark.parametrize(
    ("fraction", "bar"),
    [
        (1.0, "████"),
        (0.5, "██  "),
        (0.53125, "██▏ "),  # 17 of 32 eighths
        (0.21875, "▉   "),  # 7 eighths of a cell are 0.21875 of 4 cells
        (0.0001, "▏   "),
        (0.0, "    "),
        (None, "    "),
        (-0.5, "    "),
        (float("nan"), "    "),
        (7.0, "████"),
    ],
)
def test_bar_counts_in_eighths(fraction: float | None, bar: str) -> None:
    assert bar_text(fraction, 4) == bar


def test_rests_go_to_the_largest_remainders() -> None:
    # 10 cells for 1/3 each are 3.33: the cell left over goes to the first. 25.6 + 9.9 + 15.7 = 51.2 ms over
    # 40 cells are 20.0, 7.73 and 12.27: the one left over goes to the second.
    assert cell_counts([1, 1, 1], 10) == [4, 3, 3]
    assert cell_counts([25.6, 9.9, 15.7], 40) == [20, 8, 12]


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=8), st.integers(0, 200))
def test_parts_fill_the_width_exactly(parts: list[int], width: int) -> None:
    bar = stacked_bar(parts, width)
    assert bar.cell_len == width
    assert sum(cell_counts(parts, width)) == (width if sum(parts) else 0)


def test_neighbours_differ_without_colour() -> None:
    assert stacked_bar([2, 1, 1], 8).plain == "████▒▒░░"


def test_nothing_to_divide_is_blank() -> None:
    assert stacked_bar([0, 0], 4).plain == "    "


def test_each_part_has_its_style() -> None:
    spans = stacked_bar([1, 1], 4, styles=["red", "blue"]).spans
    assert [(span.start, span.end, span.style) for span in spans] == [(0, 2, "red"), (2, 4, "blue")]
