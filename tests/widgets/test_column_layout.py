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


def test_bar_that_must_stay_takes_its_cells_from_text() -> None:
    # 2 + (20 + 2) + (6 + 1 + 5 + 2) = 38; the text is cut from 30 to 20 for the bar of 5.
    name, share = Demand(30, 10), Demand(6, None, bar=True, least_bar=5)
    places = place_columns([name, share], frozen=0, available=38).places
    assert [(place.width, place.bar) for place in places] == [(20, 0), (6, 5)]


def test_other_bars_are_left_out_where_text_is_cut() -> None:
    name, share = Demand(30, 10), Demand(6, None, bar=True)
    places = place_columns([name, share], frozen=0, available=38).places
    assert [(place.width, place.bar) for place in places] == [(26, 0), (6, 0)]
