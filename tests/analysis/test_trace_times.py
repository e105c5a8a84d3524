"""What the trace adds to the core metrics: the host step, bars by step, copies inside Free."""

from __future__ import annotations

import pytest

from analysis.copies import Copies
from analysis.iterations import Iterations
from analysis.steps import step_frame
from analysis.trace.steps import trace_steps
from analysis.trace_times import copies_in_free_ns, host_step_ns, overlap_sums
from tests.analysis.frames import ABSENT, US, step_trace_time_table, steps_table
from tests.analysis.trace.builder import MAIN, OVERLAP, STREAM, bar, timeline
from tests.analysis.trace_frames import launches_frame, steps_frame, traced

COUNTED = Iterations(2, "step_trace_time", False, None, None, None, None)
COMPILED = Iterations(2, "profiler_step", False, 900, "trace", None, None)


def free(start_us: int, duration_us: int):
    return bar("Free", (OVERLAP, "Free"), start_us, duration_us)


def copies_of(*spans: tuple[int, int]) -> Copies:
    """Copies, of which only the bars are asked for, from (start, duration) in us."""
    copies = timeline(*[bar("MEMCPY_ASYNC", STREAM, start, length) for start, length in spans])
    return Copies(ABSENT, ABSENT, copies.events, "profiler_step", 0, cut_short=False)  # type: ignore[arg-type]


def rows(*steps: str | None, free_us: int = 0):
    """Rows of step_trace_time that share this Free."""
    row = {"computing_ns": 1, "free_ns": free_us * US // len(steps)}
    return step_frame(step_trace_time_table([row | {"step": step} for step in steps]))


def told(*events, copies: Copies | None = None, launched=()):
    """A trace with steps 10 at [0,1000) us and 11 at [1000,2000) us on the host."""
    marks = [bar(f"ProfilerStep#{10 + at}", MAIN, 1000 * at, 1000, "cpu_op") for at in range(2)]
    trace = timeline(*marks, *events)
    return traced(trace, trace_steps(trace), launches_frame(*launched), copies or ABSENT)


class TestHostStep:
    """Mean ProfilerStep over the steps in the averages."""

    def test_of_all_steps_without_a_step_file(self) -> None:
        assert host_step_ns(steps_frame(100, 201), ABSENT, COUNTED) == 151

    def test_without_the_compile_step_of_the_trace(self) -> None:
        assert host_step_ns(steps_frame(900, 100, 200), ABSENT, COMPILED) == 150

    def test_without_the_step_that_the_step_file_leaves_out(self) -> None:
        # Step 1 takes 900 on the device, so its 50 on the host are not in the mean.
        assert host_step_ns(steps_frame(50, 100, 200), step_frame(steps_table(900, 1, 1)), COUNTED) == 150

    def test_steps_without_a_row_in_the_step_file_count(self) -> None:
        assert host_step_ns(steps_frame(100, 100, 700), step_frame(steps_table(9, 9)), COUNTED) == 300
        assert host_step_ns(steps_frame(100, first=70), step_frame(steps_table(9, 9)), COUNTED) == 100

    def test_a_step_file_without_steps_names_none(self) -> None:
        assert host_step_ns(steps_frame(100, 300), rows(None), COUNTED) == 200

    @pytest.mark.parametrize("steps", [ABSENT, steps_frame()], ids=["no trace", "no step"])
    def test_unknown_without_steps(self, steps) -> None:
        assert host_step_ns(steps, ABSENT, COUNTED) is None


class TestCopiesInFree:
    """The part of the credited Free bars during which a copy runs."""

    def test_the_training_example(self) -> None:
        # EXPECTED.md 1: Free [40,100), [900,1100), [1900,1930); copies [40,90), [1040,1090), [1910,1930).
        # [900,1100) is credited to step 10, so step 10 has 50 + 50 and step 11 20: mean 60.
        given = told(
            free(40, 60),
            free(900, 200),
            free(1900, 30),
            bar("kernel", STREAM, 40, 1),
            bar("kernel", STREAM, 1100, 800),
            copies=copies_of((40, 50), (1040, 50), (1910, 20)),
            launched=[(5, 0), (6, 1)],
        )
        assert copies_in_free_ns(given, rows("10", "11", free_us=290)) == 60 * US

    def test_copies_beside_each_other_count_once_and_those_outside_of_free_not(self) -> None:
        given = told(free(100, 50), copies=copies_of((90, 30), (110, 20), (400, 100)))
        # [100,130) of Free, in one of two steps.
        assert copies_in_free_ns(given, rows("10", "11", free_us=50)) == 15 * US

    def test_free_of_the_excluded_step_is_left_out(self) -> None:
        given = told(free(100, 50), free(1100, 50), copies=copies_of((100, 40), (1100, 10)))
        steps = step_trace_time_table(
            [{"step": "10", "computing_ns": 900 * US}, {"step": "11", "computing_ns": 1, "free_ns": 50 * US}]
        )
        assert copies_in_free_ns(given, step_frame(steps)) == 10 * US

    def test_a_whole_run_has_every_bar(self) -> None:
        given = told(free(5000, 50), copies=copies_of((5000, 40)))
        assert copies_in_free_ns(given, rows(None, free_us=50)) == 40 * US

    def test_free_without_a_copy_is_known_to_have_none(self) -> None:
        assert (
            copies_in_free_ns(told(free(100, 50), copies=copies_of((400, 10))), rows("10", "11", free_us=50))
            == 0
        )

    def test_free_behind_all_steps_counts_where_the_rows_have_it(self) -> None:
        given = told(free(100, 50), free(3000, 70), copies=copies_of((100, 10), (3000, 60)))
        assert copies_in_free_ns(given, rows("10", "11", free_us=120)) == 35 * US

    def test_unknown_where_the_rows_have_other_free(self) -> None:
        given = told(free(100, 50), free(3000, 70), copies=copies_of((100, 10), (3000, 60)))
        assert copies_in_free_ns(given, rows("10", "11", free_us=90)) is None

    def test_unknown_without_copies_without_free_and_without_the_steps(self) -> None:
        copies = copies_of((100, 10))
        assert copies_in_free_ns(told(free(100, 50)), rows("10", "11", free_us=50)) is None
        assert copies_in_free_ns(told(copies=copies), rows("10", "11")) is None
        assert copies_in_free_ns(told(free(100, 50), copies=copies), rows("10", "99", free_us=50)) is None
        assert copies_in_free_ns(traced(copies=copies), rows("10")) is None


class TestOverlapSums:
    """Bars of the Overlap Analysis as step_trace_time adds them up."""

    def test_bars_outside_of_every_step_are_in_no_row(self) -> None:
        given = told(free(100, 30), free(1100, 5), free(2500, 700))
        assert overlap_sums(given, rows("10", "11"))["free_ns"] == 35 * US  # type: ignore[index]

    def test_a_row_without_a_step_has_them_all(self) -> None:
        given = told(free(100, 30), free(2500, 700))
        assert overlap_sums(given, rows(None))["free_ns"] == 730 * US  # type: ignore[index]

    def test_of_some_steps_only_their_bars_are_summed(self) -> None:
        assert overlap_sums(told(free(100, 30), free(1100, 5)), rows("11"))["free_ns"] == 5 * US  # type: ignore[index]

    def test_nothing_is_compared_without_bars_or_without_the_steps(self) -> None:
        assert overlap_sums(told(), rows("10", "11")) is None
        assert overlap_sums(told(free(100, 30)), rows("10", "12")) is None
        assert overlap_sums(traced(), rows("10")) is None
