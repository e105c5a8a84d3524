"""How the cells of a screen are shared among columns."""

from __future__ import annotations

from widgets.column_layout import Demand, place_columns


def test_cells_that_a_scrolled_number_leaves_empty_go_to_cut_text() -> None:
    # 2 + (30 + 2) + (10 + 2) = 46 of 50 cells; the second number column scrolls, so the name gets 4 more.
    name, number = Demand(natural=40, minimum=30), Demand(natural=10, minimum=None)
    places = place_columns([name, number, number], frozen=0, available=50).places
    assert [place.width for place in places] == [34, 10, 10]


def test_text_behind_the_whole_columns_keeps_the_empty_cells() -> None:
    name, number, shapes = Demand(40, 30), Demand(10, None), Demand(40, 20)
    places = place_columns([name, number, shapes], frozen=0, available=50).places
    assert places[0].width == 30
