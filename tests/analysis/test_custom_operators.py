from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analysis.custom_operators import CustomOperators, find_custom_operators
from analysis.host_bars import host_bars
from analysis.iterations import Iterations
from analysis.notes import Missing
from analysis.trace.flows import launches
from analysis.trace.steps import trace_steps
from tests.analysis.trace.builder import MAIN, STREAM, arrow, bar, cut_short, timeline

if TYPE_CHECKING:
    from collections.abc import Mapping

US = 1000


def op(name: str, start: float, dur: float) -> dict[str, Any]:
    return bar(name, MAIN, start, dur, "cpu_op")


def kernel(name: str, start: float, dur: float, task_type: str = "AI_CORE") -> dict[str, Any]:
    return bar(name, STREAM, start, dur, task_type=task_type)


def launch(host: float, device: float) -> list[dict[str, Any]]:
    return arrow("async_npu", int(device * 1000), (MAIN, host), (STREAM, device))


def found(*events: Mapping[str, Any], excluded_step: int | None = None, cut: bool = False) -> CustomOperators:
    trace = cut_short(timeline(*events)) if cut else timeline(*events)
    first = None if excluded_step is None else US
    iterations = Iterations(1, "profiler_step", False, first, None, excluded_step, None)
    result = find_custom_operators(
        trace, host_bars(trace, trace_steps(trace)), trace_steps(trace), launches(trace), iterations
    )
    assert isinstance(result, CustomOperators)
    return result


def names(operators: CustomOperators) -> list[tuple[str, str]]:
    return operators.kernels.select("name", "launched_by").rows()


def test_kernel_of_another_namespace_is_custom():
    operators = found(
        op("ProfilerStep#1", 0, 100), op("my_ops::lookup", 10, 20), kernel("Lookup", 40, 7), *launch(10, 40)
    )
    assert names(operators) == [("Lookup", "my_ops::lookup")]
    row = operators.kernels.row(0, named=True)
    assert (row["count"], row["count_per_step"], row["total_ns"], row["per_step_ns"]) == (
        1,
        1.0,
        7 * US,
        7 * US,
    )


def test_namespaces_of_the_framework_are_not_custom():
    events = []
    for at, namespace in enumerate(("aten", "npu", "prims", "c10d", "torch", "autograd")):
        events += [op(f"{namespace}::op", 20 * at, 10), kernel("K", 500 + 20 * at, 5)]
        events += launch(20 * at, 500 + 20 * at)
    assert found(*events).count == 0


def test_bare_launch_belongs_to_the_operator_around_it():
    operators = found(
        op("my_ops::lookup", 10, 20),
        op("aclnnLookup", 12, 5),
        op("aten::mm", 40, 20),
        op("aclnnMm", 42, 5),
        kernel("Lookup", 70, 7),
        kernel("MatMul", 80, 7),
        *launch(12, 70),
        *launch(42, 80),
    )
    assert names(operators) == [("Lookup", "my_ops::lookup")]


def test_operator_of_the_framework_inside_a_custom_one_stays_one():
    operators = found(
        op("my_ops::lookup", 10, 50), op("aten::zero_", 12, 5), kernel("Zero", 70, 7), *launch(12, 70)
    )
    assert operators.count == 0


def test_range_of_the_program_is_no_custom_operator():
    assert found(op("## forward ##", 10, 20), kernel("K", 40, 7), *launch(10, 40)).count == 0


def test_kernels_without_a_launch_are_told_apart():
    operators = found(
        op("my_ops::lookup", 10, 20), kernel("Lookup", 40, 7), kernel("Lookup", 50, 7), *launch(10, 40)
    )
    assert (operators.count, operators.unknown) == (1, 1)


def test_trace_without_any_launch_says_what_it_lacks():
    trace = timeline(op("my_ops::lookup", 10, 20), kernel("Lookup", 40, 7))
    iterations = Iterations(1, "single", False, None, None, None, None)
    result = find_custom_operators(
        trace, host_bars(trace, trace_steps(trace)), trace_steps(trace), launches(trace), iterations
    )
    assert isinstance(result, Missing)
    assert result.lacks == "launches"


def test_copies_and_communication_are_no_kernels():
    operators = found(
        op("my_ops::lookup", 10, 20),
        kernel("MEMCPY_ASYNC", 40, 7, "SDMA_SQE"),
        kernel("hcom_allReduce_", 50, 7, "COMMUNICATION"),
        kernel("Lookup", 60, 1),
        *launch(10, 40),
        *launch(10, 50),
        *launch(10, 60),
    )
    assert names(operators) == [("Lookup", "my_ops::lookup")]


def test_compile_step_is_left_out():
    operators = found(
        op("ProfilerStep#1", 0, 100),
        op("ProfilerStep#2", 100, 100),
        op("my_ops::lookup", 10, 20),
        op("my_ops::lookup", 110, 20),
        kernel("Lookup", 40, 70),
        kernel("Lookup", 140, 7),
        *launch(10, 40),
        *launch(110, 140),
        excluded_step=1,
    )
    assert operators.kernels.select("count", "total_ns", "count_per_step").rows() == [(1, 7 * US, 1.0)]


def test_what_is_left_of_a_cut_file_tells_no_time_per_step():
    events = [op("ProfilerStep#1", 0, 100), op("my_ops::lookup", 10, 20), kernel("Lookup", 40, 7)]
    operators = found(*events, *launch(10, 40), cut=True)
    columns = ("count", "total_ns", "count_per_step", "per_step_ns")
    assert operators.kernels.select(columns).rows() == [(1, 7 * US, None, None)]


def test_kernels_come_by_total_time():
    operators = found(
        op("my_ops::lookup", 10, 20),
        op("my_ops::update", 40, 20),
        kernel("A", 70, 3),
        kernel("B", 80, 4),
        kernel("A", 90, 4),
        *launch(10, 70),
        *launch(40, 80),
        *launch(40, 90),
    )
    assert names(operators) == [("A", "my_ops::update"), ("B", "my_ops::update"), ("A", "my_ops::lookup")]
    assert operators.total_ns == 11 * US


def test_trace_without_host_operators_says_what_it_lacks():
    trace = timeline(kernel("K", 40, 7))
    iterations = Iterations(1, "single", False, None, None, None, None)
    result = find_custom_operators(
        trace, host_bars(trace, trace_steps(trace)), trace_steps(trace), launches(trace), iterations
    )
    assert isinstance(result, Missing)
    assert result.lacks == "host_operators"


def test_result_has_its_columns_where_nothing_is_custom():
    operators = found(op("aten::mm", 10, 20), kernel("K", 40, 7), *launch(10, 40))
    assert operators.kernels.schema["per_step_ns"] == pl.Int64
