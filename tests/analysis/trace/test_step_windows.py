from __future__ import annotations

import polars as pl

from analysis.iterations import Iterations
from analysis.trace.step_windows import excluded_step, step_at
from tests.analysis.trace_frames import steps_frame


def iterations(count: int, first_ns: int | None, step: int | None) -> Iterations:
    return Iterations(count, "step_trace_time", False, first_ns, "step_trace_time", step, None)


def test_step_is_open_from_its_start_to_just_before_its_end():
    moments = pl.Series([-1, 0, 99, 100, 149, 150], dtype=pl.Int64)
    assert step_at(moments, steps_frame(100, 50)).to_list() == [None, 1, 1, 2, 2, None]


def test_unknown_moment_has_no_step():
    assert step_at(pl.Series([None, 5], dtype=pl.Int64), steps_frame(100)).to_list() == [None, 1]


def test_moment_between_two_steps_has_no_step():
    steps = steps_frame(100, 50).with_columns(end_ns=pl.col("end_ns") - 10)
    assert step_at(pl.Series([95, 100]), steps).to_list() == [None, 2]


def test_of_two_overlapping_steps_the_later_one_has_the_moment():
    steps = steps_frame(100, 50).with_columns(end_ns=pl.Series([120, 150]))
    assert step_at(pl.Series([99, 110]), steps).to_list() == [1, 2]


def test_without_steps_no_moment_has_one():
    assert step_at(pl.Series([5]), steps_frame()).to_list() == [None]


def test_steps_may_come_in_any_order():
    steps = steps_frame(100, 50).reverse()
    assert step_at(pl.Series([5, 120]), steps).to_list() == [1, 2]


def test_compile_step_is_the_one_that_the_files_name():
    assert excluded_step(iterations(1, 100, 7), steps_frame(100, 50, first=6)) == 7


def test_unnamed_compile_step_is_the_first_of_as_many_steps():
    assert excluded_step(iterations(1, 100, None), steps_frame(100, 50, first=6)) == 6


def test_unnamed_compile_step_is_unknown_where_the_trace_has_other_steps():
    assert excluded_step(iterations(1, 100, None), steps_frame(100, 50, 50)) is None


def test_nothing_is_left_out_where_nothing_compiled():
    assert excluded_step(iterations(2, None, None), steps_frame(100, 50)) is None
