from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.trace import nesting as nesting_module
from analysis.trace.nesting import SortedBars, nest
from tests.analysis.trace.bars import BARS, ORIGIN, Bar, frame_of, own_times, parents, rank


def test_a_bar_hangs_below_the_innermost_bar_that_holds_it() -> None:
    nesting = nest(frame_of([Bar(0, 0, 100), Bar(0, 10, 50), Bar(0, 20, 10), Bar(0, 70, 10)]))

    assert nesting.parent.tolist() == [-1, 0, 1, 0]
    assert nesting.depth.tolist() == [0, 1, 2, 1]


def test_rows_may_stand_in_any_order() -> None:
    nesting = nest(frame_of([Bar(0, 20, 10), Bar(0, 0, 100), Bar(0, 10, 50)]))

    assert nesting.parent.tolist() == [2, -1, 1]


def test_bars_of_other_tracks_hold_nothing() -> None:
    assert nest(frame_of([Bar(0, 0, 100), Bar(1, 10, 50)])).parent.tolist() == [-1, -1]


def test_of_identical_bars_the_earlier_row_is_the_parent() -> None:
    nesting = nest(frame_of([Bar(0, 5, 10), Bar(0, 5, 10), Bar(0, 5, 10)]))

    assert nesting.parent.tolist() == [-1, 0, 1]
    assert nesting.self_ns.tolist() == [0, 0, 10]


def test_of_bars_with_one_start_the_longer_is_the_parent() -> None:
    assert nest(frame_of([Bar(0, 5, 10), Bar(0, 5, 20)])).parent.tolist() == [1, -1]


def test_of_bars_with_one_end_the_earlier_started_is_the_parent() -> None:
    assert nest(frame_of([Bar(0, 10, 10), Bar(0, 5, 15)])).parent.tolist() == [1, -1]


def test_touching_bars_are_siblings() -> None:
    nesting = nest(frame_of([Bar(0, 0, 10), Bar(0, 10, 10)]))

    assert nesting.parent.tolist() == [-1, -1]
    assert nesting.partial.tolist() == [False, False]


def test_a_bar_without_duration_lies_in_the_bar_open_at_that_instant() -> None:
    outer, at_start, inside, at_end = Bar(0, 10, 10), Bar(0, 10, 0), Bar(0, 15, 0), Bar(0, 20, 0)

    nesting = nest(frame_of([outer, at_start, inside, at_end]))

    assert nesting.parent.tolist() == [-1, 0, 0, -1]
    assert nesting.self_ns.tolist() == [10, 0, 0, 0]


def test_a_bar_without_duration_between_touching_bars_lies_in_the_second() -> None:
    assert nest(frame_of([Bar(0, 0, 10), Bar(0, 10, 0), Bar(0, 10, 10)])).parent.tolist() == [-1, 2, -1]


def test_a_partly_overlapping_bar_hangs_below_the_nearest_bar_that_holds_it_whole() -> None:
    nesting = nest(frame_of([Bar(0, 0, 100), Bar(0, 10, 30), Bar(0, 20, 40), Bar(0, 25, 5)]))

    assert nesting.parent.tolist() == [-1, 0, 0, 2]
    assert nesting.partial.tolist() == [False, False, True, False]


def test_children_that_overlap_are_taken_off_the_parent_once() -> None:
    nesting = nest(frame_of([Bar(0, 0, 100), Bar(0, 10, 30), Bar(0, 20, 40)]))

    assert nesting.self_ns.tolist() == [50, 30, 40]


def test_a_bar_inside_a_partly_overlapping_one_may_be_partial_too() -> None:
    """[10, 40) ends inside both [20, 60) and its child [30, 50)."""
    nesting = nest(frame_of([Bar(0, 10, 30), Bar(0, 20, 40), Bar(0, 30, 20)]))

    assert nesting.parent.tolist() == [-1, -1, 1]
    assert nesting.partial.tolist() == [False, True, True]


def test_self_times_sum_up_to_the_union_of_the_bars() -> None:
    bars = [Bar(0, 0, 100), Bar(0, 10, 50), Bar(0, 20, 10), Bar(0, 200, 7), Bar(0, 200, 0)]

    assert nest(frame_of(bars)).self_ns.sum() == 107


def test_no_bars_are_no_tree() -> None:
    nesting = nest(frame_of([]))

    assert nesting.frame().shape == (0, 4)
    assert nesting.bars.innermost(pl.Series([0]), pl.Series([5])).tolist() == [-1]


def test_the_frame_stands_beside_the_rows() -> None:
    frame = nest(frame_of([Bar(0, 10, 5), Bar(0, 0, 20)])).frame()

    assert frame.to_dict(as_series=False) == {
        "parent": [1, -1],
        "depth": [1, 0],
        "self_ns": [5, 15],
        "partial": [False, False],
    }


@pytest.mark.parametrize("origin", [0, -(2**62), 2**62])
def test_times_may_lie_anywhere(origin: int) -> None:
    bars = [Bar(0, 0, 100), Bar(1, 10, 50), Bar(0, 20, 10)]

    assert nest(frame_of(bars, origin)).parent.tolist() == [-1, -1, 0]


def test_a_hundred_thousand_nested_bars_have_that_depth() -> None:
    deep = 100_000
    start = np.arange(deep)
    frame = pl.DataFrame(
        {
            "track": [0] * deep + [0],
            "start_ns": [*start, deep],
            "duration_ns": [*(2 * (deep - start)), 2 * deep],
        }
    )

    nesting = nest(frame)

    assert nesting.depth.tolist() == [*range(deep), 0]
    assert nesting.self_ns[:deep].tolist() == [2] * deep
    assert nesting.partial.tolist() == [False] * deep + [True]


def test_the_bar_around_a_deep_chain_is_found_from_behind_it() -> None:
    """After 50,000 nested bars have ended, only the outermost is open."""
    deep = 50_000
    start = np.arange(deep)
    duration = np.where(start == 0, 3 * deep, 2 * (deep - start))
    bars = SortedBars.of(pl.DataFrame({"track": [0] * deep, "start_ns": start, "duration_ns": duration}))

    points = pl.Series([2 * deep + 5, 3 * deep, deep, deep + 3])

    assert bars.innermost(pl.Series([0] * 4), points).tolist() == [0, -1, deep - 1, deep - 4]


def test_innermost_is_open_from_its_start_to_just_before_its_end() -> None:
    bars = SortedBars.of(frame_of([Bar(3, 0, 100), Bar(3, 10, 10), Bar(3, 50, 0)], origin=0))
    times = [-1, 0, 9, 10, 19, 20, 50, 51, 99, 100]

    assert bars.innermost(pl.Series([3] * 10), pl.Series(times)).tolist() == [-1, 0, 0, 1, 1, 0, 2, 0, 0, -1]


def test_innermost_looks_at_its_own_track_only() -> None:
    bars = SortedBars.of(frame_of([Bar(1, 0, 100), Bar(3, 10, 10)], origin=0))

    assert bars.innermost(pl.Series([0, 1, 2, 3, 4]), pl.Series([15] * 5)).tolist() == [-1, 0, -1, 1, -1]


@pytest.fixture(params=[12, 0, 1], ids=["by_steps", "by_tree", "by_both"])
def rounds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small traces never need the tree: let it take over sooner."""
    monkeypatch.setattr(nesting_module, "_ROUNDS", request.param)


@pytest.mark.usefixtures("rounds")
class TestAgainstTheDefinition:
    @given(BARS)
    def test_parents_and_depths(self, bars: list[Bar]) -> None:
        nesting = nest(frame_of(bars))
        above = parents(bars)

        assert nesting.parent.tolist() == above
        depths = [0 if one < 0 else int(nesting.depth[one]) + 1 for one in above]
        assert nesting.depth.tolist() == depths

    @given(BARS)
    def test_self_times(self, bars: list[Bar]) -> None:
        assert nest(frame_of(bars)).self_ns.tolist() == own_times(bars)

    @given(BARS)
    def test_self_times_without_partial_overlaps_sum_up_to_the_union(self, bars: list[Bar]) -> None:
        nesting = nest(frame_of(bars))
        union = {(bar.track, at) for bar in bars for at in range(bar.start, bar.start + bar.duration)}

        assert nesting.partial.any() or nesting.self_ns.sum() == len(union)

    @given(BARS)
    def test_partial_overlaps(self, bars: list[Bar]) -> None:
        expected = [
            any(one.track == bar.track and one.start < bar.start < one.end < bar.end for one in bars)
            for bar in bars
        ]

        assert nest(frame_of(bars)).partial.tolist() == expected

    @given(BARS, st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 21)), max_size=12))
    def test_innermost(self, bars: list[Bar], points: list[tuple[int, int]]) -> None:
        found = SortedBars.of(frame_of(bars)).innermost(
            pl.Series([track for track, _ in points], dtype=pl.UInt32),
            pl.Series([ORIGIN + time for _, time in points], dtype=pl.Int64),
        )

        expected = []
        for track, time in points:
            at_point = [
                at for at, bar in enumerate(bars) if bar.track == track and bar.start <= time < bar.end
            ]
            expected.append(max(at_point, key=lambda at: rank(bars, at), default=-1))
        assert found.tolist() == expected


@given(BARS)
def test_what_is_below_a_bar_stands_right_behind_it(bars: list[Bar]) -> None:
    nesting = nest(frame_of(bars))
    above = parents(bars)
    order = nesting.bars
    behind = order.below(np.arange(len(bars)))

    for place, row in enumerate(order.rows.tolist()):
        below = set()
        for other in range(len(bars)):
            one = above[other]
            while one >= 0 and one != row:
                one = above[one]
            if one == row:
                below.add(other)
        assert set(order.rows[place + 1 : behind[place]].tolist()) == below
