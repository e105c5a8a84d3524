from __future__ import annotations

import random
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from analysis.host_bars import host_bars
from analysis.host_operators import HostOperators, find_host_operators, operator_group
from analysis.iterations import Iterations
from analysis.notes import Missing
from analysis.trace.steps import trace_steps
from tests.analysis.trace.builder import AUTOGRAD, CANN, MAIN, QUEUE, STREAM, bar, timeline

if TYPE_CHECKING:
    from collections.abc import Mapping

US = 1000


def iterations(*, excluded_step: int | None = None, first_ns: int | None = None) -> Iterations:
    return Iterations(1, "profiler_step", False, first_ns, None, excluded_step, None)


def op(name: str, start: float, dur: float, place=MAIN, cat: str = "cpu_op", **args: Any) -> dict[str, Any]:
    return bar(name, place, start, dur, cat, **args)


def step(number: int, start: float, dur: float) -> dict[str, Any]:
    return op(f"ProfilerStep#{number}", start, dur)


def found(*events: Mapping[str, Any], averages: Iterations | None = None) -> HostOperators:
    trace = timeline(*events)
    result = find_host_operators(
        host_bars(trace, trace_steps(trace)), trace_steps(trace), averages or iterations()
    )
    assert isinstance(result, HostOperators)
    return result


def row(operators: HostOperators, name: str) -> dict[str, Any]:
    return operators.by_name.filter(pl.col("name") == name).row(0, named=True)


def verdict(operators: HostOperators, kind: str = "aten_copy_"):
    (one,) = [one for one in operators.verdicts if one.kind == kind]
    return one


def test_only_operators_and_ranges_of_the_program_count():
    operators = found(
        step(1, 0, 100),
        op("aten::add", 10, 5),
        op("my range", 20, 5, cat="user_annotation"),
        op("main.py(3): train", 0, 90, cat="python_function"),
        op("Enqueue@aclnnAdd", 12, 1, cat="enqueue"),
        op("Dequeue@aclnnAdd", 14, 1, QUEUE, cat="dequeue"),
        op("Enqueue", 30, 1),
        bar("AscendCL@aclnnAdd", CANN, 15, 2),
        bar("Add", STREAM, 20, 2, task_type="AI_CORE"),
    )
    assert sorted(operators.by_name["name"]) == ["aten::add", "my range"]


def test_trace_without_operators_says_what_it_lacks():
    trace = timeline(step(1, 0, 100), bar("Add", STREAM, 20, 2, task_type="AI_CORE"))
    result = find_host_operators(host_bars(trace, trace_steps(trace)), trace_steps(trace), iterations())
    assert isinstance(result, Missing)
    assert result.lacks == "host_operators"


def test_self_time_is_without_the_operators_below():
    operators = found(
        step(1, 0, 100), op("aten::linear", 10, 50), op("aten::addmm", 20, 30), op("aten::t", 52, 3)
    )
    assert {name: row(operators, name)["self_ns"] for name in operators.by_name["name"]} == {
        "aten::linear": 17 * US,
        "aten::addmm": 30 * US,
        "aten::t": 3 * US,
    }


def test_bars_that_are_no_operators_leave_self_time_alone():
    operators = found(step(1, 0, 100), op("aten::add", 10, 20), op("Enqueue@a", 15, 5, cat="enqueue"))
    assert row(operators, "aten::add")["self_ns"] == 20 * US


def test_call_inside_its_like_adds_nothing_to_the_total():
    operators = found(step(1, 0, 100), op("aten::to", 10, 30), op("aten::to", 15, 20), op("aten::to", 50, 5))
    one = row(operators, "aten::to")
    assert (one["calls"], one["total_ns"], one["self_ns"]) == (3, 35 * US, 35 * US)
    assert (one["avg_ns"], one["max_ns"]) == (18_333, 30 * US)


def test_call_on_another_thread_at_the_same_time_counts_whole():
    operators = found(step(1, 0, 100), op("aten::to", 10, 30), op("aten::to", 15, 20, AUTOGRAD))
    one = row(operators, "aten::to")
    assert (one["total_ns"], one["threads"]) == (50 * US, 2)


def test_numbers_per_step_and_share_are_of_the_host_steps():
    operators = found(
        step(1, 0, 100),
        step(2, 100, 300),
        op("aten::add", 10, 30),
        op("aten::add", 150, 30),
        op("aten::add", 200, 20),
    )
    one = row(operators, "aten::add")
    assert (one["calls_per_step"], one["per_step_ns"], one["share"]) == (1.5, 40 * US, 0.2)
    assert operators.steps == 2


def test_self_time_per_step_is_rounded_half_up():
    operators = found(
        step(1, 0, 100),
        step(2, 100, 100),
        op("aten::linear", 10, 30),
        # 30,000 ns less 9,999: 20,001 in two steps.
        op("aten::mm", 12, 9.999),
    )
    assert row(operators, "aten::linear")["self_per_step_ns"] == 10_001
    assert row(operators, "aten::linear")["per_step_ns"] == 15_000
    assert row(operators, "aten::mm")["self_per_step_ns"] == 5_000


def test_call_on_another_thread_belongs_to_the_step_in_which_it_starts():
    operators = found(
        step(1, 0, 100),
        step(2, 100, 100),
        op("aten::add", 99, 50, AUTOGRAD),
        op("aten::add", 100, 5, AUTOGRAD),
    )
    assert operators.calls["step"].to_list() == [1, 2]


def test_call_outside_of_every_step_is_told_apart():
    operators = found(step(1, 10, 90), op("aten::add", 0, 5), op("aten::add", 20, 7))
    assert (row(operators, "aten::add")["calls"], operators.outside) == (1, 1)
    assert operators.calls["step"].to_list() == [None, 1]


def test_compile_step_is_left_out():
    operators = found(
        step(1, 0, 1000),
        step(2, 1000, 100),
        op("aten::add", 0, 900),
        op("aten::add", 1010, 7),
        averages=iterations(excluded_step=1, first_ns=1000 * US),
    )
    one = row(operators, "aten::add")
    assert (operators.steps, one["calls"], one["max_ns"], one["share"]) == (1, 1, 7 * US, 0.07)
    assert operators.outside == 0


def test_without_steps_everything_counts_and_nothing_is_per_step():
    operators = found(op("aten::add", 0, 5), op("aten::add", 20, 7))
    one = row(operators, "aten::add")
    assert operators.steps is None
    assert (one["calls"], one["total_ns"]) == (2, 12 * US)
    assert (one["calls_per_step"], one["per_step_ns"], one["share"]) == (None, None, None)
    assert one["self_per_step_ns"] is None


def test_names_come_by_self_time_then_name():
    operators = found(
        step(1, 0, 100),
        op("aten::b", 10, 5),
        op("aten::a", 20, 5),
        op("aten::c", 30, 40),
        op("aten::d", 31, 30),
    )
    assert operators.by_name["name"].to_list() == ["aten::d", "aten::c", "aten::a", "aten::b"]


def test_calls_tell_their_depth_and_shapes():
    operators = found(
        step(1, 0, 100), op("aten::mm", 12, 5, input_dims="2,3;3,4"), op("aten::linear", 12, 20)
    )
    assert operators.calls.select("name", "depth", "input_dims", "thread").rows() == [
        ("aten::linear", 0, None, "Thread 100"),
        ("aten::mm", 1, "2,3;3,4", "Thread 100"),
    ]


def test_partly_overlapping_bars_are_counted():
    operators = found(step(1, 0, 100), op("aten::a", 10, 10), op("aten::b", 15, 10))
    assert operators.partial == 1


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("aten::copy_", "aten"),
        ("prims::device_put", "prims"),
        ("npu::npu_dtype_cast", "npu"),
        ("aclnnInplaceCopy", "npu"),
        ("HcclAllreduce", "npu"),
        ("c10d::allreduce_", "c10d"),
        ("nccl:all_to_all", "c10d"),
        ("autograd::engine::evaluate_function: AddmmBackward0", "autograd"),
        ("torch::autograd::AccumulateGrad", "autograd"),
        ("AddmmBackward0", "autograd"),
        ("torch.distributed.ddp.reducer::copy_bucket_to_grad", "torch"),
        ("torch::distributed::reducer::mul_out", "torch"),
        ("Optimizer.step#SGD.step", "torch"),
        ("fbgemm::permute_2D_sparse_data", "fbgemm"),
        ("my_ops::lookup", "custom"),
        ("## forward ##", "range"),
        ("aten", "range"),
    ],
)
def test_name_tells_the_group(name: str, group: str):
    frame = pl.DataFrame({"name": [name]})
    assert frame.select(operator_group(pl.col("name"))).to_series().to_list() == [group]


# ----------------------------------------------------------------- verdicts


def calls(name: str, count: int, dur: float) -> list[dict[str, Any]]:
    return [op(name, 10 * at, dur) for at in range(count)]


def test_more_than_500_calls_per_step_are_flagged():
    operators = found(step(1, 0, 100_000), *calls("aten::copy_", 501, 1))
    one = verdict(operators)
    assert (one.flagged, one.calls_per_iteration, one.avg_ns) == (True, 501, 1 * US)


def test_500_short_calls_per_step_are_not_flagged():
    assert verdict(found(step(1, 0, 100_000), *calls("aten::copy_", 500, 1))).flagged is False


def test_calls_are_judged_per_step():
    operators = found(step(1, 0, 50_000), step(2, 50_000, 50_000), *calls("aten::copy_", 501, 1))
    assert (verdict(operators).flagged, verdict(operators).calls_per_iteration) == (False, 250.5)


@pytest.mark.parametrize(("dur", "flagged"), [(10, True), (9.999, False)])
def test_a_tenth_of_the_host_step_is_flagged(dur: float, flagged: bool):
    one = verdict(found(step(1, 0, 100), op("aten::to", 10, dur)), "aten_to")
    assert (one.flagged, one.total_per_iteration_ns) == (flagged, round(dur * US))


def test_each_operator_is_judged_for_itself():
    operators = found(
        step(1, 0, 100), op("aten::to", 10, 9), op("aten::_to_copy", 11, 7), op("aten::copy_", 12, 5)
    )
    assert [one.flagged for one in operators.verdicts] == [False, False, False]
    assert [one.total_per_iteration_ns for one in operators.verdicts] == [5 * US, 9 * US, 7 * US]


def test_operator_that_is_never_called_is_fine():
    one = verdict(found(step(1, 0, 100), op("aten::add", 10, 5)))
    assert (one.flagged, one.calls_per_iteration, one.avg_ns) == (False, 0, None)


def test_verdicts_are_unknown_without_steps():
    assert verdict(found(*calls("aten::copy_", 600, 1))).flagged is None


def test_verdicts_say_whether_their_numbers_are_of_a_step_or_of_the_whole_trace():
    of_steps = verdict(found(step(1, 0, 500), step(2, 500, 500), *calls("aten::copy_", 60, 1)))
    of_trace = verdict(found(*calls("aten::copy_", 60, 1)))
    assert (of_steps.per, of_steps.calls_per_iteration) == ("step", 30)
    assert (of_trace.per, of_trace.calls_per_iteration) == ("trace", 60)


# -------------------------------------------------------------- brute force


def _random_tree(random_: random.Random, start: int, end: int, depth: int) -> list[tuple[str, int, int, int]]:
    """Properly nested calls (name, start, end, depth) of a thread; names repeat also along a branch."""
    calls: list[tuple[str, int, int, int]] = []
    at = start
    while at < end and len(calls) < 40:
        first = at + random_.randint(0, 5)
        last = min(end, first + random_.randint(1, 40))
        if first >= last:
            break
        calls.append((random_.choice("abc"), first, last, depth))
        if depth < 4 and random_.random() < 0.7:
            calls += _random_tree(random_, first, last, depth + 1)
        at = last
    return calls


@pytest.mark.parametrize("seed", range(20))
def test_numbers_agree_with_walking_every_pair_of_calls(seed: int):
    random_ = random.Random(seed)
    threads = {place: _random_tree(random_, 0, 200, 0) for place in (MAIN, AUTOGRAD)}
    result = found(
        step(1, 0, 1000),
        *(
            op(f"aten::{name}", start, end - start, place)
            for place, tree in threads.items()
            for name, start, end, _ in tree
        ),
    )
    expected: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for tree in threads.values():
        for at, (name, start, end, depth) in enumerate(tree):
            above = [one for one in tree[:at] if one[1] <= start and end <= one[2] and one[3] < depth]
            below = [
                one for one in tree[at + 1 :] if start <= one[1] and one[2] <= end and one[3] == depth + 1
            ]
            numbers = expected[f"aten::{name}"]
            numbers[0] += 1
            numbers[1] += 0 if any(one[0] == name for one in above) else (end - start) * US
            numbers[2] += (end - start - sum(last - first for _, first, last, _ in below)) * US
    rows = result.by_name.select("name", "calls", "total_ns", "self_ns").iter_rows()
    assert {name: list(numbers) for name, *numbers in rows} == dict(expected)
