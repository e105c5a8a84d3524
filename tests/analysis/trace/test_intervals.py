from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.trace.intervals import UNION, Intervals, union_by

if TYPE_CHECKING:
    from collections.abc import Iterable

Pairs = list[tuple[int, int]]

# Times of a capture, and as far from 0 as the algebra allows.
ORIGINS = st.sampled_from([0, 1_736_408_883_704_643_212, -(2**62), 2**62 - 64, -31])
PAIRS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=12)


def of(pairs: Iterable[tuple[int, int]], origin: int = 0) -> Intervals:
    listed = list(pairs)
    return Intervals.of([origin + start for start, _ in listed], [origin + end for _, end in listed])


def pairs_of(intervals: Intervals) -> Pairs:
    return list(zip(intervals.starts.tolist(), intervals.ends.tolist(), strict=True))


def instants(pairs: Iterable[tuple[int, int]]) -> set[int]:
    return {instant for start, end in pairs for instant in range(start, end)}


def runs(points: set[int], origin: int = 0) -> Pairs:
    starts = sorted(point for point in points if point - 1 not in points)
    ends = sorted(point + 1 for point in points if point + 1 not in points)
    return [(origin + start, origin + end) for start, end in zip(starts, ends, strict=True)]


def test_union_merges_what_overlaps_or_touches() -> None:
    assert pairs_of(of([(20, 30), (0, 5), (5, 9), (25, 40)])) == [(0, 9), (20, 40)]


def test_union_keeps_apart_what_a_single_nanosecond_parts() -> None:
    assert pairs_of(of([(0, 5), (6, 9)])) == [(0, 5), (6, 9)]


def test_an_interval_inside_another_adds_nothing() -> None:
    assert pairs_of(of([(0, 100), (10, 20), (30, 40)])) == [(0, 100)]


def test_empty_and_reversed_intervals_hold_no_instant() -> None:
    assert pairs_of(of([(5, 5), (9, 2), (7, 8)])) == [(7, 8)]


def test_an_empty_interval_joins_nothing() -> None:
    assert pairs_of(of([(0, 5), (5, 5), (6, 9)])) == [(0, 5), (6, 9)]


def test_columns_of_a_frame_are_taken_as_they_are() -> None:
    frame = pl.DataFrame({"start_ns": [30, 0], "duration_ns": [5, 10]})

    assert pairs_of(Intervals.of_bars(frame)) == [(0, 10), (30, 35)]
    assert pairs_of(Intervals.of(frame["start_ns"], frame["start_ns"] + 1)) == [(0, 1), (30, 31)]


def test_difference_cuts_holes_and_edges() -> None:
    assert pairs_of(of([(0, 10), (20, 30)]) - of([(3, 4), (8, 22)])) == [(0, 3), (4, 8), (22, 30)]


def test_difference_with_what_lies_elsewhere_changes_nothing() -> None:
    assert pairs_of(of([(10, 20)]) - of([(0, 10), (20, 30)])) == [(10, 20)]


def test_intersection_is_what_both_hold() -> None:
    assert pairs_of(of([(0, 10), (20, 30)]) & of([(5, 25)])) == [(5, 10), (20, 25)]


def test_touching_sets_have_no_intersection() -> None:
    assert len(of([(0, 10)]) & of([(10, 20)])) == 0


def test_total_counts_every_instant_once() -> None:
    assert of([(0, 10), (5, 15), (20, 21)]).total == 16


def test_total_of_nothing_is_zero() -> None:
    assert of([]).total == 0


def test_a_set_over_the_whole_range_has_its_exact_length() -> None:
    whole = Intervals.of([-(2**62)], [2**62 - 1])

    assert whole.total == 2**63 - 1
    assert (whole - Intervals.of([0], [1])).total == 2**63 - 2
    assert whole.coverage([-(2**62)], [2**62 - 1]).tolist() == [2**63 - 1]


def test_coverage_counts_for_each_interval_by_itself() -> None:
    covered = of([(0, 10), (20, 30)]).coverage([0, 5, 5, 12, 40], [10, 25, 25, 15, 50])

    assert covered.tolist() == [10, 10, 10, 0, 0]


def test_an_empty_interval_is_covered_by_zero_nanoseconds() -> None:
    assert of([(0, 10)]).coverage([5, 8], [5, 2]).tolist() == [0, 0]


def test_gaps_lie_between_the_first_and_the_last_instant() -> None:
    assert pairs_of(of([(5, 10), (20, 30), (31, 40)]).gaps()) == [(10, 20), (30, 31)]


def test_gaps_reach_to_the_bounds_asked_for() -> None:
    assert pairs_of(of([(5, 10), (20, 30)]).gaps(0, 25)) == [(0, 5), (10, 20)]


def test_without_any_interval_all_of_the_bounds_is_one_gap() -> None:
    assert pairs_of(of([]).gaps(3, 7)) == [(3, 7)]
    assert pairs_of(of([]).gaps()) == []


def test_groups_do_not_see_each_other() -> None:
    union = union_by([7, -1, 7, -1, 7], [0, 0, 5, 100, 20], [10, 50, 12, 110, 30])

    assert union.rows() == [(-1, 0, 50), (-1, 100, 110), (7, 0, 12), (7, 20, 30)]


def test_in_a_group_too_touching_intervals_become_one() -> None:
    assert union_by([1, 1, 2], [5, 0, 9], [9, 5, 12]).rows() == [(1, 0, 9), (2, 9, 12)]


def test_groups_of_nothing_give_a_frame_with_the_columns() -> None:
    union = union_by([1, 2], [5, 9], [5, 3])

    assert union.rows() == []
    assert union.schema == pl.Schema(UNION)


def test_many_groups_over_years_do_not_overflow() -> None:
    span = 2**62
    union = union_by([0, 1, 2, 3] * 2, [-span, 0, -span, 5] * 2, [span - 1, 1, 0, 6] * 2)

    assert union.rows() == [(0, -span, span - 1), (1, 0, 1), (2, -span, 0), (3, 5, 6)]


@given(PAIRS, ORIGINS)
def test_union_holds_exactly_the_instants_of_its_parts(pairs: Pairs, origin: int) -> None:
    assert pairs_of(of(pairs, origin)) == runs(instants(pairs), origin)


@given(PAIRS, PAIRS, ORIGINS)
def test_algebra_agrees_with_sets_of_instants(left: Pairs, right: Pairs, origin: int) -> None:
    mine, theirs = of(left, origin), of(right, origin)
    these, those = instants(left), instants(right)

    assert pairs_of(mine - theirs) == runs(these - those, origin)
    assert pairs_of(mine & theirs) == runs(these & those, origin)
    assert pairs_of(mine | theirs) == runs(these | those, origin)
    assert mine.total == len(these)


@given(PAIRS, PAIRS, ORIGINS)
def test_coverage_agrees_with_counted_instants(pairs: Pairs, asked: Pairs, origin: int) -> None:
    covered = of(pairs, origin).coverage(
        [origin + start for start, _ in asked], [origin + end for _, end in asked]
    )

    assert covered.tolist() == [len(instants(pairs) & instants([one])) for one in asked]


@given(PAIRS, st.integers(-5, 35), st.integers(-5, 35))
def test_gaps_are_the_instants_that_are_left(pairs: Pairs, start: int, end: int) -> None:
    assert pairs_of(of(pairs).gaps(start, end)) == runs(instants([(start, end)]) - instants(pairs))


@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(0, 12), st.integers(0, 12)), max_size=16), ORIGINS)
def test_every_group_has_the_union_of_its_own(rows: list[tuple[int, int, int]], origin: int) -> None:
    union = union_by(
        [group for group, _, _ in rows],
        [origin + start for _, start, _ in rows],
        [origin + end for _, _, end in rows],
    )

    assert union.rows() == [
        (group, start, end)
        for group in range(-1, 2)
        for start, end in runs(instants((start, end) for at, start, end in rows if at == group), origin)
    ]


@pytest.mark.parametrize("empty", [[], pl.Series([], dtype=pl.Int64)])
def test_no_intervals_are_an_empty_set(empty: list[int] | pl.Series) -> None:
    nothing = Intervals.of(empty, empty)

    assert len(nothing) == 0
    assert len(nothing - nothing) == len(nothing & nothing) == len(nothing | nothing) == 0
    assert nothing.coverage([0], [5]).tolist() == [0]
