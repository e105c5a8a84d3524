"""How many iterations there are, from which source, and which one is left out."""

from __future__ import annotations

import polars as pl
import pytest

from analysis import iterations
from analysis.iterations import averaged_kernels
from tests.analysis.frames import (
    ABSENT,
    US,
    api_statistic_table,
    iterations_table,
    kernels_table,
    named_kernels,
    step_trace_table,
    step_trace_time_table,
    steps_table,
)
from tests.analysis.trace_frames import steps_frame


def iterations_of(kernels, api, step_trace, step_times, trace_steps=ABSENT):
    return iterations.find_iterations(kernels, api, step_trace, step_times, lambda: trace_steps)


def execute(count: int, total: int, longest: int | None = None, level: str = "model"):
    row = {"level": level, "name": "ModelExecute", "count": count, "total_ns": total, "max_ns": longest}
    return api_statistic_table([row])


def sync(name: str, count: int, level: str = "acl"):
    return {"level": level, "name": name, "count": count}


STEP_TRACE = iterations_table(10, 10)
EXECUTE = execute(3, 30, 10)
STEP_TIMES = steps_table(10, 10, 10, 10)
STEP_IDS = kernels_table([{"step": step} for step in (7, 7, 8, 9, 10, 11)])
INFER_IDS = kernels_table([{"infer_id": infer} for infer in (0, 1, 2, 2, 3, 4, 5)])
# "a" 7 times, "b" 7 times, "c" once: most operators run 7 times.
NAMES = named_kernels(*"abababababababc")
SYNC = api_statistic_table([sync("aclrtSynchronizeStream", 8), sync("aclrtMemcpy", 99)])


@pytest.mark.parametrize(
    ("kernels", "api", "step_trace", "step_times", "source", "count"),
    [
        (ABSENT, ABSENT, STEP_TRACE, ABSENT, "step_trace", 2),
        (ABSENT, EXECUTE, ABSENT, ABSENT, "model_execute", 3),
        (ABSENT, ABSENT, ABSENT, STEP_TIMES, "step_trace_time", 4),
        (STEP_IDS, ABSENT, ABSENT, ABSENT, "step_id", 5),
        (INFER_IDS, ABSENT, ABSENT, ABSENT, "infer_id", 6),
        (NAMES, ABSENT, ABSENT, ABSENT, "op_name_mode", 7),
        (ABSENT, SYNC, ABSENT, ABSENT, "sync_count", 8),
        (ABSENT, ABSENT, ABSENT, ABSENT, "single", 1),
    ],
)
def test_each_source_alone(kernels, api, step_trace, step_times, source, count):
    found = iterations_of(kernels, api, step_trace, step_times)
    assert (found.source, found.count, found.estimated) == (source, count, source == "sync_count")


ALL_IDS = kernels_table([{"name": "a", "step": step, "infer_id": 0} for step in (1, 2, 3)])


@pytest.mark.parametrize(
    ("kernels", "api", "step_trace", "step_times", "source"),
    [
        (ALL_IDS, EXECUTE, STEP_TRACE, STEP_TIMES, "step_trace"),
        (ALL_IDS, EXECUTE, ABSENT, STEP_TIMES, "model_execute"),
        (ALL_IDS, SYNC, ABSENT, STEP_TIMES, "step_trace_time"),
        (ALL_IDS, SYNC, ABSENT, ABSENT, "step_id"),
        (INFER_IDS, SYNC, ABSENT, ABSENT, "infer_id"),
        (NAMES, SYNC, ABSENT, ABSENT, "op_name_mode"),
    ],
)
def test_earlier_source_wins_a_conflict(kernels, api, step_trace, step_times, source):
    assert iterations_of(kernels, api, step_trace, step_times).source == source


def test_one_model_execute_is_one_iteration():
    found = iterations_of(ABSENT, execute(1, 10, 10), ABSENT, ABSENT)
    assert (found.source, found.count) == ("model_execute", 1)


def test_model_execute_of_level_runtime_is_another_thing():
    assert iterations_of(ABSENT, execute(3, 30, 10, level="runtime"), ABSENT, ABSENT).source == "single"


def test_infer_id_0_alone_is_one_iteration():
    found = iterations_of(named_kernels("a", "b", infer_id=0), ABSENT, ABSENT, ABSENT)
    assert (found.source, found.count) == ("infer_id", 1)


def test_row_with_blank_step_is_the_whole_run():
    found = iterations_of(ABSENT, ABSENT, ABSENT, step_trace_time_table([{"step": None}, {"step": ""}]))
    assert (found.source, found.count) == ("whole_run", 1)


def test_steps_of_the_trace_count_where_the_only_row_names_none():
    steps = steps_frame(10, 10, 10)
    found = iterations_of(ABSENT, ABSENT, ABSENT, step_trace_time_table([{"step": None}]), steps)
    assert (found.source, found.count) == ("profiler_step", 3)


def test_rows_with_blank_step_do_not_count_beside_steps():
    found = iterations_of(ABSENT, ABSENT, ABSENT, step_trace_time_table([{"step": "3"}, {"step": None}]))
    assert (found.source, found.count) == ("step_trace_time", 1)


def test_step_0_is_a_step():
    assert (
        iterations_of(ABSENT, ABSENT, ABSENT, step_trace_time_table([{"step": "0"}])).source
        == "step_trace_time"
    )


def test_aclnn_names_say_nothing_of_iterations():
    # aclnn calls recur within a step, in any case of the letters; "Conv1" runs twice.
    kernels = named_kernels("aclnnMul", "aclnnMul", "aclnnMul", "AclNNAdd", "Conv1", "Conv1")
    assert iterations_of(kernels, ABSENT, ABSENT, ABSENT).count == 2
    assert iterations_of(named_kernels("aclnnMul"), ABSENT, ABSENT, ABSENT).source == "single"


def test_tied_name_counts_take_the_smaller():
    # "a" runs 3 times, "b" twice: one name each.
    assert iterations_of(named_kernels(*"aaabb"), ABSENT, ABSENT, ABSENT).count == 2


def test_communication_names_say_nothing_of_iterations():
    kernels = named_kernels("hcom_allReduce__1", "hcom_allReduce__1", role="communication")
    assert iterations_of(kernels, ABSENT, ABSENT, ABSENT).source == "single"


def test_largest_synchronise_count_is_taken_and_none_are_added():
    api = api_statistic_table(
        [
            sync("aclrtSynchronizeDeviceWithTimeout", 3),
            sync("StreamSynchronize", 5, "runtime"),
            sync("EventSynchronize", 4, "runtime"),
            sync("StreamSynchronize", 9, "node"),
        ]
    )
    assert iterations_of(ABSENT, api, ABSENT, ABSENT).count == 5


@pytest.mark.parametrize("time", [None, 0])
def test_step_trace_row_without_a_time_is_no_iteration(time):
    table = step_trace_table(
        [{"iteration_id": 1, "iteration_ns": time}, {"iteration_id": 2, "iteration_ns": 9}]
    )
    assert iterations_of(ABSENT, ABSENT, table, ABSENT).count == 1


def test_step_trace_without_any_time_leaves_it_to_the_next_source():
    table = step_trace_table([{"iteration_id": 1, "iteration_ns": None}])
    assert iterations_of(ABSENT, EXECUTE, table, ABSENT).source == "model_execute"


def test_model_with_the_largest_total_is_counted():
    # Model 5: 3 iterations of 10; model 6: one of 40.
    rows = [{"model_id": 5, "iteration_id": at, "iteration_ns": 10} for at in (1, 2, 3)]
    table = step_trace_table([*rows, {"model_id": 6, "iteration_id": 1, "iteration_ns": 40}])
    found = iterations_of(ABSENT, ABSENT, table, ABSENT)
    assert (found.count, found.main_model) == (1, 6)


def test_single_model_is_not_named():
    assert iterations_of(ABSENT, ABSENT, STEP_TRACE, ABSENT).main_model is None


# First iteration against the others, each row: times, what is excluded.
FIRST = [
    pytest.param((5000, 1000, 1000), None, id="5.0x stays"),
    pytest.param((5010, 1000, 1000), 5010, id="5.01x is excluded"),
    # The mean of the others is 1000; 5 x 999.67 would be less than 4999.
    pytest.param((5001, 999, 1000, 1001), 5001, id="mean of unequal others"),
    pytest.param((1000, 1000, 9000), None, id="a slow last one is no compile"),
    pytest.param((10**9,), None, id="one iteration is never excluded"),
    pytest.param((6000, 1000), 6000, id="two iterations, 6x"),
    pytest.param((5000, 1000), None, id="two iterations, 5.0x"),
    pytest.param((1000, 1000), None, id="two alike"),
]


@pytest.mark.parametrize(("times", "excluded"), FIRST)
def test_first_iteration_of_step_trace(times, excluded):
    found = iterations_of(ABSENT, ABSENT, iterations_table(*times), ABSENT)
    assert found.excluded_first_ns == excluded
    assert found.count == len(times) - (excluded is not None)
    assert found.recorded == len(times)
    assert found.excluded_source == ("step_trace" if excluded else None)


@pytest.mark.parametrize(("times", "excluded"), FIRST)
def test_first_step_of_step_trace_time(times, excluded):
    found = iterations_of(ABSENT, ABSENT, ABSENT, steps_table(*times))
    assert found.excluded_first_ns == excluded
    assert found.count == len(times) - (excluded is not None)


@pytest.mark.parametrize(
    ("count", "total", "longest", "excluded"),
    [
        (3, 7000, 5000, None),
        (3, 7010, 5010, 5010),
        (1, 5000, 5000, None),
        (2, 7000, 6000, 6000),
        (2, 6000, 5000, None),
        (3, 9000, None, None),
    ],
    ids=["5.0x", "5.01x", "one call", "two calls, 6x", "two calls, 5.0x", "Max unknown"],
)
def test_longest_call_where_only_api_statistic_tells(count, total, longest, excluded):
    found = iterations_of(ABSENT, execute(count, total, longest), ABSENT, ABSENT)
    assert (found.source, found.excluded_first_ns) == ("model_execute", excluded)
    assert found.count == count - (excluded is not None)


def test_first_by_iteration_id_whatever_the_order_of_rows():
    rows = [{"iteration_id": 2, "iteration_ns": 10}, {"iteration_id": 1, "iteration_ns": 90}]
    assert iterations_of(ABSENT, ABSENT, step_trace_table(rows), ABSENT).excluded_first_ns == 90


def test_step_is_judged_on_wall():
    # Computing alone 2 against 1; wall 2 + 3 + 6 = 11 against 1 + 1 = 2: more than 5 x.
    rows = [
        {"step": "1", "computing_ns": 2, "not_overlapped_ns": 3, "communication_ns": 3, "free_ns": 6},
        {"step": "2", "computing_ns": 1, "free_ns": 1},
    ]
    assert iterations_of(ABSENT, ABSENT, ABSENT, step_trace_time_table(rows)).excluded_first_ns == 11


def test_infer_ids_cannot_tell_a_compile_iteration():
    rows = [{"infer_id": 1, "duration_ns": 10**6}, {"infer_id": 2, "duration_ns": 1}]
    assert iterations_of(kernels_table(rows), ABSENT, ABSENT, ABSENT).excluded_first_ns is None


def test_excluded_step_takes_its_kernels_along_and_leaves_those_without_a_step():
    kernels = kernels_table([{"name": "x", "step": 1}, {"name": "y", "step": 2}, {"name": "z", "step": None}])
    found = iterations_of(kernels, ABSENT, ABSENT, steps_table(90, 10))
    assert found.excluded_step == 1
    assert averaged_kernels(kernels, found)["name"].to_list() == ["y", "z"]
    assert found.in_kernels == 1


def test_first_iteration_takes_the_kernels_before_its_end_along():
    # The first iteration ends at 90 us.
    kernels = kernels_table([{"name": "x", "start_ns": 89 * US}, {"name": "y", "start_ns": 90 * US}])
    found = iterations_of(kernels, ABSENT, iterations_table(90 * US, 10 * US), ABSENT)
    assert averaged_kernels(kernels, found)["name"].to_list() == ["y"]


def test_kernels_of_all_roles_are_kept():
    kernels = kernels_table(
        [{"role": "communication"}, {"role": "compute"}, {"role": "communication_kernel"}]
    )
    found = iterations_of(kernels, ABSENT, STEP_TRACE, ABSENT)
    assert averaged_kernels(kernels, found).select(pl.col("role").cast(pl.String)).to_series().len() == 3


def test_kernels_that_cannot_be_told_apart_stay_and_count_all_iterations():
    kernels = named_kernels("x", "y")
    found = iterations_of(kernels, execute(3, 7010, 5010), ABSENT, ABSENT)
    assert averaged_kernels(kernels, found).height == 2
    assert (found.count, found.in_kernels) == (2, 3)


class TestStepIds:
    """Without step files the span of a step's kernels is how long it took."""

    @staticmethod
    def spans(*lengths: int):
        # Two kernels a step: one at its begin, one that ends at its end.
        rows = []
        start = 0
        for step, length in enumerate(lengths, start=20):
            rows += [
                {"name": "a", "step": step, "start_ns": start, "duration_ns": 1},
                {"name": "b", "step": step, "start_ns": start + length - 1, "duration_ns": 1},
            ]
            start += length
        return kernels_table(rows)

    def test_a_first_step_of_more_than_five_times_the_rest_is_left_out(self) -> None:
        found = iterations_of(self.spans(501, 100, 100), ABSENT, ABSENT, ABSENT)
        assert (found.source, found.count, found.excluded_step) == ("step_id", 2, 20)
        assert (found.excluded_first_ns, found.excluded_source) == (501, "kernels")

    def test_five_times_exactly_stays(self) -> None:
        found = iterations_of(self.spans(500, 100, 100), ABSENT, ABSENT, ABSENT)
        assert (found.source, found.count, found.excluded_step) == ("step_id", 3, None)


def test_the_first_step_is_the_lowest_whatever_the_order_of_the_rows() -> None:
    walls = {"12": 100, "11": 100, "10": 900}
    rows = step_trace_time_table([{"step": step, "computing_ns": wall} for step, wall in walls.items()])
    found = iterations_of(ABSENT, ABSENT, ABSENT, rows)
    assert (found.count, found.excluded_first_ns) == (2, 900)


class TestProfilerSteps:
    """Steps that the framework marked on the host: after the rows of step_trace_time, before Step Id."""

    def test_they_are_counted_where_no_step_file_is_there(self) -> None:
        found = iterations_of(ALL_IDS, SYNC, ABSENT, ABSENT, steps_frame(100, 100))
        assert (found.source, found.count, found.known) == ("profiler_step", 2, True)

    @pytest.mark.parametrize(
        ("api", "step_trace", "step_times"),
        [(ABSENT, STEP_TRACE, ABSENT), (EXECUTE, ABSENT, ABSENT), (ABSENT, ABSENT, STEP_TIMES)],
        ids=["step_trace", "ModelExecute", "step_trace_time"],
    )
    def test_a_better_source_is_taken_without_reading_the_trace(self, api, step_trace, step_times) -> None:
        def read():
            raise AssertionError

        assert iterations.find_iterations(ABSENT, api, step_trace, step_times, read).known

    def test_a_trace_without_a_mark_leaves_it_to_the_kernels(self) -> None:
        assert iterations_of(ALL_IDS, ABSENT, ABSENT, ABSENT, steps_frame()).source == "step_id"

    @pytest.mark.parametrize(("times", "excluded"), FIRST)
    def test_the_first_is_judged_by_its_duration(self, times, excluded) -> None:
        found = iterations_of(ABSENT, ABSENT, ABSENT, ABSENT, steps_frame(*times))
        assert found.excluded_first_ns == excluded
        assert found.excluded_source == ("trace" if excluded else None)
        assert found.recorded == len(times)

    def test_a_compile_step_takes_the_kernels_of_its_number_along(self) -> None:
        kernels = kernels_table([{"name": "x", "step": 10}, {"name": "y", "step": 11}])
        found = iterations_of(kernels, ABSENT, ABSENT, ABSENT, steps_frame(900, 100, first=10))
        assert averaged_kernels(kernels, found)["name"].to_list() == ["y"]
        assert found.in_kernels == 1

    def test_kernels_without_a_step_stay_and_count_both(self) -> None:
        kernels = named_kernels("x", "y")
        found = iterations_of(kernels, ABSENT, ABSENT, ABSENT, steps_frame(900, 100))
        assert averaged_kernels(kernels, found).height == 2
        assert (found.count, found.in_kernels) == (1, 2)
