"""Marks of steps that contradict each other: which count, and what is told of the others."""

from __future__ import annotations

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.trace.step_marks import DoubtfulMarks, doubtful_marks
from analysis.trace.steps import trace_steps
from tests.analysis.trace.builder import MAIN, QUEUE, bar, timeline

US = 1000


def mark(number, start, duration, thread=MAIN):
    return bar(f"ProfilerStep#{number}", thread, start, duration, "cpu_op")


def spans(trace):
    """Step, start and end in us."""
    rows = trace_steps(trace).select("step", "start_ns", "end_ns").rows()
    return [(step, start // US, end // US) for step, start, end in rows]


def test_a_step_that_is_not_over_when_the_next_begins_is_doubtful():
    trace = timeline(mark(4, 0, 150), mark(5, 100, 90))
    assert doubtful_marks(trace) == DoubtfulMarks(overlapping=(4,))


def test_a_number_for_several_stretches_makes_several_steps():
    trace = timeline(mark(6, 0, 10), mark(7, 10, 10), mark(6, 20, 30), mark(6, 50, 5), mark(7, 60, 1))
    assert spans(trace) == [(6, 0, 10), (7, 10, 20), (8, 20, 50), (9, 50, 55), (10, 60, 61)]
    assert doubtful_marks(trace) == DoubtfulMarks(shared=(6, 7), renumbered=(8, 9, 10))


def test_of_marks_at_the_same_time_the_longest_is_the_step():
    trace = timeline(mark(3, 0, 10), mark(3, 5, 20), mark(3, 40, 10), mark(3, 40, 0))
    assert spans(trace) == [(3, 5, 25), (4, 40, 50)]
    assert doubtful_marks(trace) == DoubtfulMarks((3,), (3,), (4,), (), 1, "ProfilerStep#3")


def test_a_mark_inside_a_step_is_a_part_of_it():
    trace = timeline(mark(1, 0, 50), mark(2, 10, 20), mark(3, 12, 5), mark(4, 50, 10))
    assert spans(trace) == [(1, 0, 50), (4, 50, 60)]
    assert doubtful_marks(trace) == DoubtfulMarks(repeated=(2, 3))


def test_a_mark_around_several_steps_is_none():
    trace = timeline(mark(0, 0, 100), mark(9, 1, 95), mark(1, 5, 20), mark(2, 25, 30), mark(3, 30, 5))
    assert spans(trace) == [(1, 5, 25), (2, 25, 55)]
    assert doubtful_marks(trace) == DoubtfulMarks(repeated=(0, 3, 9))


def test_all_numbers_are_those_of_the_thread_that_has_most_marks():
    others = (mark(1, 1, 70, QUEUE), mark(2, 30, 5, QUEUE))
    trace = timeline(mark(1, 0, 10), mark(2, 10, 10), mark(3, 20, 10), *others)
    assert spans(trace) == [(1, 0, 10), (2, 10, 20), (3, 20, 30)]
    assert doubtful_marks(trace).repeated == (1, 2)


def test_a_mark_written_twice_is_one():
    again = {**mark(4, 0, 150), "cat": "user_annotation"}
    assert doubtful_marks(timeline(mark(4, 0, 150), again)) == DoubtfulMarks()


def test_marks_without_a_usable_number_are_told():
    trace = timeline(
        bar("ProfilerStep#abc", MAIN, 0, 5, "cpu_op"),
        bar("ProfilerStep", MAIN, 5, 5, "cpu_op"),
        bar("ProfilerStepLogger", MAIN, 10, 5, "cpu_op"),
        mark("9" * 30, 20, 5),
    )
    assert trace_steps(trace).height == 0
    assert doubtful_marks(trace) == DoubtfulMarks(unnumbered=3, example="ProfilerStep#abc")


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(1, 12)), min_size=1, max_size=12)
)
@settings(deadline=None)
def test_every_instant_under_one_mark_lies_in_one_step(marks):
    trace = timeline(*(mark(*each) for each in marks))
    found = trace_steps(trace)
    assert found["step"].is_unique().all()
    assert (found["start_ns"].shift(-1) >= found["end_ns"]).all()
    for instant in range(75):
        covering = {
            (number, start, length) for number, start, length in marks if start <= instant < start + length
        }
        held = found.filter(pl.col("start_ns") <= instant * US, pl.col("end_ns") > instant * US).height
        if not covering:
            assert held == 0
        elif len(covering) == 1 and _alone(covering.copy().pop(), marks):
            assert held == 1


def _alone(chosen, marks):
    """Whether no other mark touches it in time."""
    _, start, length = chosen
    others = [each for each in set(marks) if each != chosen]
    return all(begin + span <= start or begin >= start + length for _, begin, span in others)
