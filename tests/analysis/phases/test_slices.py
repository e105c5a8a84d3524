"""The time of threads in pieces of one innermost bar."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.phases.hand_made import WORKER, Case, case, op, step
from tests.analysis.trace.builder import MAIN


def pieces(found: Case, thread: tuple[str, str] = MAIN) -> list[tuple[int, int, str | None, int]]:
    """Start and end in us, name of the innermost bar, window; without pieces that hold no bar."""
    track = found.trace.tracks.filter(pid=thread[0], tid=thread[1])["track"][0]
    names = found.classified.bars.frame["name"]
    rows = found.slices.filter(track=track).select("start_ns", "end_ns", "bar", "window").rows()
    return [
        (start // 1000, end // 1000, str(names[bar]), window) for start, end, bar, window in rows if bar >= 0
    ]


def test_the_innermost_bar_owns_the_moment() -> None:
    found = case(step(7, 0, 100), op("a", 10, 50), op("b", 20, 20), op("c", 25, 5))
    assert pieces(found) == [
        (10, 20, "a", 0),
        (20, 25, "b", 0),
        (25, 30, "c", 0),
        (30, 40, "b", 0),
        (40, 60, "a", 0),
    ]


def test_pieces_end_at_the_borders_of_steps() -> None:
    found = case(step(7, 0, 100), step(8, 150, 100), op("a", 50, 150))
    assert pieces(found) == [(50, 100, "a", 0), (100, 150, "a", -1), (150, 200, "a", 1)]


def test_a_bar_without_duration_owns_nothing() -> None:
    found = case(step(7, 0, 100), op("a", 10, 50), op("b", 20, 0))
    assert pieces(found) == [(10, 60, "a", 0)]


def test_of_bars_that_overlap_in_part_the_later_one_owns_the_moment() -> None:
    found = case(step(7, 0, 100), op("a", 10, 20), op("b", 20, 20))
    assert pieces(found) == [(10, 20, "a", 0), (20, 30, "b", 0), (30, 40, "b", 0)]


def test_whatever_lies_inside_a_wait_or_a_sync_is_marked() -> None:
    found = case(step(7, 0, 100), op("wait_all2all", 10, 50), op("aten::item", 20, 20), op("b", 25, 5))
    marks = found.slices.filter(found.slices["bar"] >= 0)
    assert marks["waiting"].all()
    assert marks["syncing"].to_list() == [False, True, True, True, False]


@settings(deadline=None)
@given(
    bars=st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.integers(0, 12)), max_size=14),
    borders=st.tuples(st.integers(0, 20), st.integers(1, 10), st.integers(0, 5), st.integers(1, 10)),
)
def test_every_moment_is_that_of_the_bar_that_started_last(
    bars: list[tuple[bool, int, int]], borders: tuple[int, int, int, int]
) -> None:
    first, length, gap, second = borders
    marks = [step(1, first, length), step(2, first + length + gap, second)]
    events = [
        op(f"n{at}", start, end, MAIN if main else WORKER) for at, (main, start, end) in enumerate(bars)
    ]
    found = case(*marks, *events)
    for thread in {MAIN} | {MAIN if main else WORKER for main, _, _ in bars}:
        seen = {
            moment: (name, window)
            for start, end, name, window in pieces(found, thread)
            for moment in range(start, end)
        }
        own = [
            (start, -length, at)
            for at, (main, start, length) in enumerate(bars)
            if (MAIN if main else WORKER) == thread and length
        ]
        for moment in range(60):
            open_bars = [bar for bar in own if bar[0] <= moment < bar[0] - bar[1]]
            window = 0 if first <= moment < first + length else -1
            if first + length + gap <= moment < first + length + gap + second:
                window = 1
            expected = (f"n{max(open_bars)[2]}", window) if open_bars else None
            assert seen.get(moment) == expected
