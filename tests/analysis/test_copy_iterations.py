from __future__ import annotations

import polars as pl

from analysis.copies import copy_notes
from tests.analysis.copy_events import (
    D2H,
    OTHER_STREAM,
    TO_DEVICE,
    TO_HOST,
    US,
    copy,
    counted,
    direction,
    execute,
    found,
    kernel,
    step,
    times,
)
from tests.analysis.trace.builder import CANN, MAIN, STREAM, arrow, bar

# ------------------------------------------------------------------ by steps


def test_time_of_a_step_is_the_union_of_its_copies():
    copies = found(
        step(1, 0, 100),
        copy(10, 20),
        copy(20, 20, place=OTHER_STREAM),
        copy(60, 10),
    )
    assert times(copies) == {"1": 40 * US}
    assert copies.by_iteration["gap_ns"].to_list() == [20 * US]
    assert direction(copies, TO_DEVICE)["total_ns"] == 50 * US


def test_copy_belongs_to_the_step_that_launched_it():
    copies = found(
        step(1, 0, 100),
        step(2, 100, 100),
        bar("aten::copy_", MAIN, 90, 5, "cpu_op"),
        copy(120, 10),
        launches={("MEMCPY_ASYNC", 120): ("aten::copy_", 90)},
    )
    assert times(copies) == {"1": 10 * US}


def test_copy_without_launch_belongs_to_the_step_in_which_it_starts():
    copies = found(step(1, 0, 100), step(2, 100, 100), copy(99, 10), copy(100, 7))
    assert times(copies) == {"1": 10 * US, "2": 7 * US}


def test_mean_per_step_counts_steps_without_a_copy():
    copies = found(step(1, 0, 100), step(2, 100, 100), copy(10, 10))
    assert copies.per_iteration_ns(TO_DEVICE) == 5 * US
    assert direction(copies, TO_DEVICE)["count_per_iteration"] == 0.5


def test_compile_step_is_left_out_of_totals_and_means():
    copies = found(
        step(1, 0, 1000),
        step(2, 1000, 100),
        copy(10, 500),
        copy(1010, 10),
        iterations=counted(1, excluded_step=1, first_ns=1000 * US),
    )
    row = direction(copies, TO_DEVICE)
    assert (row["count"], row["total_ns"], row["per_iteration_ns"]) == (1, 10 * US, 10 * US)
    assert copies.by_iteration["excluded"].to_list() == [True, False]


def test_compile_step_without_a_number_is_the_first_of_as_many():
    copies = found(
        step(4, 0, 1000),
        step(5, 1000, 100),
        copy(10, 500),
        copy(1010, 10),
        iterations=counted(1, first_ns=1000 * US),
    )
    assert copies.per_iteration_ns(TO_DEVICE) == 10 * US


def test_copy_outside_of_every_step_counts_in_the_total_only():
    copies = found(step(1, 10, 90), copy(0, 5), copy(20, 6))
    row = direction(copies, TO_DEVICE)
    assert (row["count"], row["total_ns"], row["per_iteration_ns"], copies.outside) == (2, 11 * US, 6 * US, 1)


def test_direction_whose_copies_all_lie_outside_is_unknown_and_says_so():
    copies = found(step(1, 10, 90), copy(0, 5), copy(20, 6, D2H))
    assert copies.per_iteration_ns(TO_DEVICE) is None
    assert copies.per_iteration_ns(TO_HOST) == 6 * US
    assert [(note.kind, dict(note.values)) for note in copy_notes(copies)] == [
        ("h2d_outside", {"count": "1"})
    ]


def test_direction_without_any_copy_is_unknown():
    copies = found(step(1, 0, 100), copy(10, 5))
    assert copies.per_iteration_ns(TO_HOST) is None
    assert not list(copy_notes(copies))


def test_times_are_unknown_while_some_copies_do_not_tell_their_direction():
    copies = found(step(1, 0, 100), copy(10, 5), copy(20, 5, None))
    assert copies.per_iteration_ns(TO_DEVICE) is None
    assert [note.kind for note in copy_notes(copies)] == ["copies_undirected"]


def test_trace_without_steps_and_executions_has_no_time_per_iteration():
    copies = found(copy(10, 5))
    row = direction(copies, TO_DEVICE)
    assert copies.cut_by == "none"
    assert copies.by_iteration.is_empty()
    assert (row["per_iteration_ns"], row["count_per_iteration"]) == (None, None)


# ---------------------------------------------------------- by ModelExecute


def test_input_copies_span_their_gaps():
    copies = found(copy(0, 10), copy(30, 10), execute(50, 100), copy(160, 5, D2H), framework="ge")
    assert times(copies) == {"1": 40 * US}
    row = copies.by_iteration.filter(pl.col("direction") == TO_DEVICE).row(0, named=True)
    assert row["gap_ns"] == 20 * US


def test_copies_between_two_executions_go_by_direction():
    copies = found(
        copy(0, 10),
        execute(20, 50),
        copy(75, 5, D2H),
        copy(85, 6),
        execute(100, 50),
        copy(160, 7, D2H),
        framework="ge",
    )
    assert times(copies) == {"1": 10 * US, "2": 6 * US}
    assert times(copies, TO_HOST) == {"1": 5 * US, "2": 7 * US}


def test_model_execute_of_the_runtime_cuts_nothing():
    copies = found(
        copy(0, 10), execute(20, 50), execute(30, 5, "Runtime@ModelExecute"), copy(80, 5, D2H), framework="ge"
    )
    assert copies.by_iteration["iteration"].unique().to_list() == ["1"]


def test_late_device_still_gives_inputs_before_and_outputs_after_its_kernels():
    copies = found(
        execute(0, 200), copy(10, 5), kernel(20, 50), kernel(60, 30), copy(95, 6, D2H), framework="ge"
    )
    assert times(copies) == {"1": 5 * US}
    assert times(copies, TO_HOST) == {"1": 6 * US}


def test_copies_of_the_graph_itself_belong_to_no_iteration():
    copies = found(
        copy(0, 5),
        execute(10, 200),
        kernel(20, 50),
        copy(50, 100),
        copy(55, 5, D2H),
        kernel(80, 30),
        copy(215, 6, D2H),
        framework="ge",
    )
    assert times(copies) == {"1": 5 * US}
    assert times(copies, TO_HOST) == {"1": 6 * US}
    assert copies.outside == 2


def test_launch_decides_before_the_device_does():
    copies = found(
        execute(0, 100),
        bar("AscendCL@aclrtMemcpyAsync", CANN, 105, 5),
        execute(120, 100),
        copy(130, 5, D2H),
        launches={("MEMCPY_ASYNC", 130): ("AscendCL@aclrtMemcpyAsync", 105)},
        framework="ge",
    )
    assert times(copies, TO_HOST) == {"1": 5 * US}


def test_interface_that_launched_a_copy_decides_where_no_operator_did():
    copies = found(
        execute(0, 100),
        bar("AscendCL@aclrtMemcpyAsync", CANN, 105, 5),
        execute(120, 100),
        copy(130, 5, D2H),
        *arrow("HostToDevice", "9", (CANN, 107), (STREAM, 130)),
        framework="ge",
    )
    assert times(copies, TO_HOST) == {"1": 5 * US}


def test_copy_to_the_device_after_the_last_execution_belongs_to_none():
    copies = found(copy(0, 5), execute(10, 20), copy(40, 5), framework="ge")
    assert times(copies) == {"1": 5 * US}
    assert copies.outside == 1


def test_first_execution_is_left_out_where_it_compiled():
    copies = found(
        copy(0, 50),
        execute(60, 500),
        copy(600, 4),
        execute(610, 20),
        framework="ge",
        iterations=counted(1, first_ns=500 * US, source="model_execute"),
    )
    assert copies.per_iteration_ns(TO_DEVICE) == 4 * US


def test_executions_cut_a_pytorch_run_without_steps():
    copies = found(copy(0, 5), execute(10, 20), framework="pytorch")
    assert copies.cut_by == "model_execute"
