"""Steps side by side: how much they differ, which is the slowest, and what grew in it."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.phases.variation import step_variation
from analysis.units import mean
from tests.analysis.phases.hand_made import WORKER, case, op, step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.phases.results import Variation

Work = tuple[str, int]
"""A name, and for how many us; an empty name is a gap."""


def loop(*contents: Sequence[Work]) -> list[dict[str, Any]]:
    """Steps right after each other, numbered from 10 on, the main thread doing one thing after the other."""
    events, at = [], 1000
    for number, works in enumerate(contents, 10):
        events.append(step(number, at, sum(length for _, length in works)))
        for name, length in works:
            if name:
                events.append(op(name, at, length))
            at += length
    return events


def variation_of(*events: dict[str, Any], excluded: int | None = None) -> Variation | None:
    made = case(*events, excluded=excluded)
    return step_variation(made.classified, made.windows, made.times, made.slices)


def found_in(*events: dict[str, Any], excluded: int | None = None) -> Variation:
    found = variation_of(*events, excluded=excluded)
    assert found is not None
    return found


def grown(found: Variation) -> list[tuple[str, str, int]]:
    """Kind, name and growth in us of what grew."""
    return [(growth.kind, growth.name, growth.grown_ns // 1000) for growth in found.names]


def test_spread_is_the_difference_of_the_longest_and_the_shortest_to_the_mean() -> None:
    found = found_in(*loop([("work", 130)], [("work", 160)], [("work", 140)]))
    assert found.spread == pytest.approx(30 * 3 / 430)
    assert (found.slowest, found.slowest_ns, found.others_ns) == (11, 160_000, 135_000)


@pytest.mark.parametrize(("longest", "flagged"), [(210, False), (221, False), (222, True)])
def test_a_spread_above_a_tenth_stands_out(longest: int, *, flagged: bool) -> None:
    # 21 of 210.5 on average is less than a tenth, 22 of 211 is more.
    assert found_in(*loop([("work", 200)], [("work", longest)])).flagged is flagged


def test_a_spread_of_exactly_a_tenth_does_not_stand_out() -> None:
    found = found_in(*loop([("work", 95)], [("work", 105)]))
    assert (found.spread, found.flagged) == (0.1, False)


def test_of_steps_as_slow_the_earlier_one_is_named() -> None:
    found = found_in(*loop([("work", 150)], [("work", 160)], [("work", 160)]))
    assert (found.slowest, found.others_ns) == (11, 155_000)


@pytest.mark.parametrize(("longest", "flagged"), [(110, False), (111, True)])
def test_of_several_steps_one_stands_out_by_a_tenth_of_the_median(longest: int, *, flagged: bool) -> None:
    found = found_in(*loop([("work", 95)], [("work", longest)], [("work", 100)]))
    assert (found.median_ns, found.flagged) == (100_000, flagged)


def test_of_an_even_number_of_steps_the_median_is_the_mean_of_the_two_in_the_middle() -> None:
    found = found_in(*loop([("work", 100)], [("work", 103)], [("work", 104)], [("work", 99)]))
    assert found.median_ns == 101_500


def test_a_short_step_is_told_and_compared_with_nothing() -> None:
    found = found_in(*loop([("warm", 20)], [("work", 100)], [("work", 104)], [("work", 102)]))
    assert found.short == ((10, 20_000),)
    assert (found.slowest, found.flagged, found.others_ns) == (12, False, 101_000)
    assert grown(found) == [("name", "work", 3)]
    (row,) = found.phases
    assert (row.name, row.ns, row.others_ns) == ("unclassified", 104_000, 101_000)


@pytest.mark.parametrize(("longest", "flagged"), [(119, False), (122, True)])
def test_a_step_stands_out_from_those_it_is_compared_with_too(longest: int, *, flagged: bool) -> None:
    # The median, 104 us, counts the short steps; the others take 110.25 us on average.
    contents = [80, 80, 80, 103, 105, 115, 118, longest]
    found = found_in(*loop(*([("work", length)] for length in contents)))
    assert (found.median_ns, found.others_ns) == (104_000, 110_250)
    assert found.flagged is flagged


@pytest.mark.parametrize(("shortest", "short"), [(90, False), (89, True)])
def test_a_step_is_short_from_a_tenth_below_the_median_on(shortest: int, *, short: bool) -> None:
    found = found_in(*loop([("work", 100)], [("work", shortest)], [("work", 100)]))
    assert bool(found.short) is short


def test_of_two_steps_none_is_short() -> None:
    assert found_in(*loop([("work", 20)], [("work", 100)])).short == ()


def test_one_step_has_nothing_to_vary_from() -> None:
    assert variation_of(*loop([("work", 100)])) is None


def test_the_compile_step_is_left_out() -> None:
    events = loop([("compile", 900)], [("work", 100)], [("work", 150)])
    found = found_in(*events, excluded=10)
    assert (found.slowest, found.others_ns) == (12, 100_000)
    assert grown(found) == [("name", "work", 50)]
    assert variation_of(*loop([("compile", 900)], [("work", 100)]), excluded=10) is None


def test_a_trace_without_steps_has_nothing_to_vary_from() -> None:
    assert variation_of(op("work", 0, 100), op("work", 200, 300)) is None


def test_the_rows_that_are_known_stand_by_how_much_they_grew() -> None:
    found = found_in(
        *loop(
            [("collate", 50), ("## forward 1 ##", 100), ("", 10)],
            [("collate", 150), ("## forward 2 ##", 90), ("", 40)],
            [("collate", 53), ("## forward 3 ##", 100), ("", 10)],
        )
    )
    assert [(growth.name, growth.phase, growth.ns, growth.others_ns) for growth in found.phases] == [
        ("data_preprocessing", "data_preprocessing", 150_000, 51_500),
        ("unclassified", None, 40_000, 10_000),
        ("forward", "forward", 90_000, 100_000),
    ]
    assert {growth.kind for growth in found.phases} == {"phase"}


def test_rows_grow_by_attributed_time() -> None:
    # The second step's backward pass writes the table for 60 us on the autograd thread.
    node = "autograd::engine::evaluate_function: torch::autograd::CppNode<SplitLookupFunction_sgd_Op>"
    thread = ("Python", "Thread 131")
    events = loop([("## backward 1 ##", 100)], [("## backward 2 ##", 120)])
    found = found_in(*events, op(node, 1120, 60, thread))
    rows = {growth.name: growth.grown_ns for growth in found.phases}
    assert (rows["backward"], rows["embedding_update"]) == (-40_000, 60_000)


def test_names_with_batch_indices_are_one() -> None:
    found = found_in(*loop([("## forward 1 ##", 100)], [("## forward 2 ##", 140)]))
    (growth,) = found.names
    assert (growth.kind, growth.name, growth.phase) == ("name", "## forward {i} ##", "forward")
    assert (growth.ns, growth.others_ns, growth.grown_ns) == (140_000, 100_000, 40_000)


def test_time_counts_for_the_innermost_name() -> None:
    events = loop([("## forward 1 ##", 100)], [("## forward 2 ##", 150)])
    found = found_in(*events, op("aten::addmm", 1010, 20), op("aten::addmm", 1110, 65))
    assert grown(found) == [("name", "aten::addmm", 45), ("name", "## forward {i} ##", 5)]


def test_names_of_other_threads_do_not_count() -> None:
    events = loop([("work", 100)], [("work", 150)])
    found = found_in(*events, op("hash_find", 1110, 130, WORKER))
    assert grown(found) == [("name", "work", 50)]


def test_time_without_any_bar_is_a_gap() -> None:
    found = found_in(*loop([("work", 100), ("", 20)], [("work", 100), ("", 80)]))
    (growth,) = found.names
    assert (growth.kind, growth.name, growth.phase, growth.grown_ns) == ("gap", "", None, 60_000)


def test_a_bar_that_reaches_into_the_next_step_counts_in_both() -> None:
    events = loop([("", 100)], [("", 200)])
    found = found_in(*events, op("work", 1050, 150))
    # 50 us of it lie in the first step and 100 in the second, of whose gap 100 are left, 50 more.
    assert grown(found) == [("gap", "", 50), ("name", "work", 50)]


def test_what_shrank_or_stayed_is_not_named() -> None:
    found = found_in(*loop([("work", 100), ("rest", 30)], [("work", 100), ("rest", 10), ("late", 70)]))
    assert grown(found) == [("name", "late", 70)]


def test_the_five_that_grew_most_are_named_ties_by_name() -> None:
    more = [("f", 10), ("b", 20), ("e", 20), ("a", 10), ("d", 30), ("c", 20), ("g", 40)]
    found = found_in(*loop([("work", 10)], [("work", 10), *more]))
    assert [name for _, name, _ in grown(found)] == ["g", "d", "b", "c", "e"]


def test_the_phase_of_a_name_is_that_of_most_of_its_time() -> None:
    # aten::copy_ is part of loading for 20 us, and of forward for 50.
    events = loop([("work", 10)], [("collate", 30), ("## forward 2 ##", 60)])
    found = found_in(*events, op("aten::copy_", 1015, 20), op("aten::copy_", 1045, 50))
    assert [(growth.name, growth.phase) for growth in found.names if growth.name == "aten::copy_"] == [
        ("aten::copy_", "forward")
    ]


_WORKS = st.lists(
    st.tuples(st.sampled_from(["", "a", "b", "c", "collate", "## forward ##", "log"]), st.integers(1, 9)),
    min_size=1,
    max_size=6,
)


@settings(deadline=None, max_examples=60)
@given(st.lists(_WORKS, min_size=2, max_size=5))
def test_growth_is_that_of_sums_by_hand(contents: list[list[Work]]) -> None:
    found = found_in(*loop(*contents))
    lengths = [sum(length for _, length in works) for works in contents]
    slowest = lengths.index(max(lengths))
    assert found.slowest == 10 + slowest
    assert found.spread == pytest.approx(
        float(Fraction((max(lengths) - min(lengths)) * len(lengths), sum(lengths)))
    )
    # Of two steps none is the odd one; else nine tenths of the median are usual.
    double_median = sorted(lengths)[(len(lengths) - 1) // 2] + sorted(lengths)[len(lengths) // 2]
    short = {at for at, length in enumerate(lengths) if len(lengths) > 2 and 20 * length < 9 * double_median}
    assert [step for step, _ in found.short] == [10 + at for at in sorted(short)]
    own, others = Counter[str](), Counter[str]()
    for at, works in enumerate(contents):
        for name, length in works if at not in short else []:
            (own if at == slowest else others)[name] += 1000 * length
    count = len(contents) - 1 - len(short)
    growths = [("name" if name else "gap", name, ns, mean(others[name], count)) for name, ns in own.items()]
    expected = sorted(
        (growth for growth in growths if growth[2] > growth[3]), key=lambda one: (one[3] - one[2], one[1])
    )
    assert [(one.kind, one.name, one.ns, one.others_ns) for one in found.names] == expected[:5]
