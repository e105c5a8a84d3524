"""Steps on the host, and the device bars that torch_npu credits to them."""

from __future__ import annotations

import polars as pl
import pytest

from analysis.trace.steps import STEPS, credited, device_windows, trace_steps
from tests.analysis.trace.builder import AUTOGRAD, MAIN, QUEUE, STREAM, bar, timeline, trace_of
from tests.analysis.trace_frames import launches_frame

US = 1000


def steps(*events):
    return trace_steps(timeline(*events))


def windows(*rows):
    schema = {"step": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def bars(*starts):
    return pl.DataFrame({"start_ns": starts, "duration_ns": [1] * len(starts)})


def test_steps_are_numbered_by_their_names_and_ordered_by_start():
    found = steps(
        bar("ProfilerStep#11", MAIN, 200, 90, "cpu_op"), bar("ProfilerStep#9", MAIN, 100, 50, "cpu_op")
    )
    assert found.select("step", "event", "start_ns", "end_ns").rows() == [
        (9, 1, 100 * US, 150 * US),
        (11, 0, 200 * US, 290 * US),
    ]


def test_a_trace_without_steps_has_an_empty_frame_of_the_same_columns():
    found = steps(bar("aten::add", MAIN, 1, 1, "cpu_op"), bar("ProfilerStep", MAIN, 1, 1, "cpu_op"))
    assert (found.height, found.schema) == (0, pl.Schema(STEPS))


def test_marks_on_the_device_do_not_count():
    marks = [
        {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "python"}},
        {"ph": "M", "name": "process_labels", "pid": 7, "tid": 0, "args": {"labels": "CPU"}},
        {
            "ph": "X",
            "name": "ProfilerStep#4",
            "pid": 7,
            "tid": 7,
            "ts": 10,
            "dur": 5,
            "cat": "gpu_user_annotation",
        },
    ]
    assert trace_steps(trace_of(marks)).height == 0
    assert steps(bar("ProfilerStep#4", STREAM, 10, 5)).height == 0


def test_of_a_step_on_several_threads_the_one_of_the_main_thread_counts():
    found = steps(
        bar("ProfilerStep#4", MAIN, 10, 5, "cpu_op"),
        bar("ProfilerStep#4", QUEUE, 9, 90, "cpu_op"),
    )
    assert found.rows(named=True)[0]["end_ns"] == 15 * US


def test_a_number_that_other_threads_alone_mark_is_no_step():
    found = steps(
        bar("ProfilerStep#1", MAIN, 0, 5, "cpu_op"),
        bar("ProfilerStep#2", MAIN, 5, 5, "cpu_op"),
        bar("ProfilerStep#4", QUEUE, 9, 3, "cpu_op"),
    )
    assert found["step"].to_list() == [1, 2]


def test_marks_of_an_autograd_thread_count_only_where_no_other_thread_has_any():
    of_autograd = (
        bar("ProfilerStep#4", AUTOGRAD, 9, 7, "cpu_op"),
        bar("ProfilerStep#5", AUTOGRAD, 16, 7, "cpu_op"),
        bar("AddmmBackward0", AUTOGRAD, 9, 2, "cpu_op"),
    )
    assert steps(*of_autograd)["end_ns"].to_list() == [16 * US, 23 * US]
    assert steps(bar("ProfilerStep#4", QUEUE, 9, 90, "cpu_op"), *of_autograd)["end_ns"].to_list() == [99 * US]


def test_a_number_too_large_for_a_step_is_none():
    assert steps(bar("ProfilerStep#" + "9" * 30, MAIN, 0, 5, "cpu_op")).height == 0


class TestDeviceWindows:
    """Step 1 is [0,100) us on the host, step 2 [100,200)."""

    EVENTS = (
        bar("ProfilerStep#1", MAIN, 0, 100, "cpu_op"),
        bar("ProfilerStep#2", MAIN, 100, 100, "cpu_op"),
        bar("first", MAIN, 10, 5, "cpu_op"),
        bar("last", MAIN, 90, 5, "cpu_op"),
        bar("of_second", MAIN, 100, 5, "cpu_op"),
        bar("kernel", STREAM, 30, 10, task_type="AI_CORE"),
        bar("kernel", STREAM, 20, 5, task_type="AI_CORE"),
        bar("kernel", STREAM, 120, 30, task_type="AI_CORE"),
        bar("kernel", STREAM, 150, 10, task_type="AI_CORE"),
    )

    def windows(self, *pairs):
        trace = timeline(*self.EVENTS)
        return device_windows(trace, trace_steps(trace), launches_frame(*pairs)).rows()

    def test_from_the_first_bar_of_the_first_launch_to_the_last_end_of_the_last(self):
        # Kernels 5 and 6 come from "first", 7 from "last": [20, 150). Kernel 8 is of step 2: [150, 200).
        found = self.windows((5, 2), (6, 2), (7, 3), (8, 4))
        assert found == [(1, 20 * US, 150 * US), (2, 150 * US, 200 * US)]

    def test_a_step_without_a_launch_is_its_time_on_the_host(self):
        assert self.windows((6, 2))[1] == (2, 100 * US, 200 * US)

    def test_the_host_end_is_the_least_end(self):
        assert self.windows((5, 2))[0] == (1, 30 * US, 100 * US)


@pytest.mark.parametrize(
    ("start", "step"), [(9, None), (10, 1), (19, 1), (20, 1), (24, 1), (25, 2), (29, 2), (30, None), (40, 3)]
)
def test_a_bar_is_credited_to_the_first_window_that_holds_its_start(start, step):
    cut = windows((1, 10, 25), (2, 20, 30), (3, 40, 50))
    assert credited(bars(start), cut)["step"].to_list() == [step]


def test_bars_are_credited_to_nothing_without_windows():
    assert credited(bars(1, 2), windows())["step"].to_list() == [None, None]


def test_the_free_bar_of_the_training_example_belongs_to_the_step_it_starts_in():
    # EXPECTED.md 1.1: [900,1100) starts in step 10, which ends at 1000 on the host.
    found = credited(bars(900, 1640), windows((10, 100, 1000), (11, 1100, 2000)))
    assert found["step"].to_list() == [10, 11]


def test_of_overlapping_steps_the_earlier_ends_where_the_later_starts():
    found = steps(
        bar("ProfilerStep#4", MAIN, 0, 150, "cpu_op"), bar("ProfilerStep#5", MAIN, 100, 90, "cpu_op")
    )
    assert found["end_ns"].to_list() == [100 * US, 190 * US]
