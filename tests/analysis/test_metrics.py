"""Named times, op share, step decomposition, throughput, and files that should agree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.fusion import Fusion
from analysis.iterations import find_iterations
from analysis.metrics import CoreMetrics, core_metrics
from analysis.notes import Missing
from analysis.options import Options
from analysis.profile.discover import SourceFile
from analysis.profile.tables import read_table
from analysis.report.messages import LANGUAGES, Messages
from analysis.scenario import Scenario
from tests.analysis.frames import (
    ABSENT,
    US,
    api_statistic_table,
    iterations_table,
    kernels_table,
    op_statistic_table,
    step_trace_table,
    step_trace_time_table,
    steps_table,
)
from tests.analysis.trace_frames import steps_frame, traced

EXAMPLES = Path(__file__).parents[1] / "examples"
GE_RUN = Scenario("ge", (), (), False, "inference", (), "ge", (), None, (), Fusion(None, (), (), None))
TORCH_RUN = replace(GE_RUN, framework="pytorch", mode="eager")
TRAINING = replace(TORCH_RUN, scenario="training")


def metrics(
    scenario: Scenario = GE_RUN,
    options: Options | None = None,
    *,
    kernels=ABSENT,
    op_statistic=ABSENT,
    api=ABSENT,
    step_trace=ABSENT,
    steps=ABSENT,
    of_trace: dict[str, Any] | None = None,
) -> Any:
    """The metrics of these tables; Any, because each test knows which of its values exist."""
    told = traced(**(of_trace or {}))
    found = find_iterations(kernels, api, step_trace, steps, lambda: told.steps)
    tables = (kernels, op_statistic, api, step_trace, steps)
    return core_metrics(found, scenario, options or Options(), *tables, told)


def calls(**totals: tuple[int, int, int | None]):
    """api_statistic of Level model from name=(count, total, longest)."""
    return api_statistic_table(
        [
            {"name": name, "count": count, "total_ns": total, "max_ns": longest}
            for name, (count, total, longest) in totals.items()
        ]
    )


def notes(found: CoreMetrics) -> list[str]:
    return [note.kind for note in found.notes]


def example(pattern: str, name: str, kind: str):
    path = next(iter(sorted(EXAMPLES.glob(pattern))))
    return read_table(name, SourceFile(kind, (path,)), root=EXAMPLES)


@pytest.fixture(scope="module")
def inference() -> Any:
    folder = "inference_msprof/PROF_*/mindstudio_profiler_output"
    return metrics(
        kernels=example(f"{folder}/op_summary_*.csv", "kernels", "op_summary"),
        op_statistic=example(f"{folder}/op_statistic_*.csv", "op_statistic", "op_statistic"),
        api=example(f"{folder}/api_statistic_*.csv", "api_statistic", "api_statistic"),
        step_trace=example(f"{folder}/step_trace_*.csv", "step_trace", "step_trace"),
    )


@pytest.fixture(scope="module")
def training() -> Any:
    folder = "training_torch_npu/*_ascend_pt/ASCEND_PROFILER_OUTPUT"
    return metrics(
        TRAINING,
        kernels=example(f"{folder}/kernel_details.csv", "kernels", "kernel_details"),
        op_statistic=example(f"{folder}/op_statistic.csv", "op_statistic", "op_statistic"),
        api=example(f"{folder}/api_statistic.csv", "api_statistic", "api_statistic"),
        steps=example(f"{folder}/step_trace_time.csv", "step_trace_time", "step_trace_time"),
    )


def test_inference_example_has_the_expected_named_times(inference):
    named = ("h2d", "model_execute", "d2h", "iteration", "device_iteration", "op_time")
    times = {name: getattr(inference, name).value_ns / US for name in named}
    assert times == {
        "h2d": 50,
        "model_execute": 300,
        "d2h": 20,
        "iteration": 370,
        "device_iteration": 234,
        "op_time": 200,
    }
    assert inference.iterations.count == 3


def test_inference_example_shares_and_op_share(inference):
    assert inference.h2d.share == 50 / 370
    assert inference.model_execute.share == 300 / 370
    assert inference.d2h.share == 20 / 370
    assert inference.op_share == 200 / 234
    assert inference.dispatch_bound is True
    assert inference.headline == ("iteration", inference.iteration)


def test_training_example_has_the_expected_steps(training):
    columns = ("step", "computing_ns", "communication_ns", "not_overlapped_ns", "overlapped_ns", "free_ns")
    more = ("wall_ns", "bubble_ns", "stage_ns", "preparing_ns")
    rows = [
        tuple(value // US if isinstance(value, int) else value for value in row)
        for row in training.steps.select(*columns, *more).rows()
    ]
    assert rows == [
        ("10", 490, 440, 210, 230, 360, 1060, 0, 1060, 100),
        ("11", 500, 500, 260, 240, 70, 830, 60, 770, 100),
    ]


def test_training_example_means(training):
    # Spans: 1060 + 0 and 770 + 60, mean 945. op_share: 990 / (990 + 430).
    assert training.step.value_ns == 945 * US
    assert training.headline == ("step", training.step)
    assert training.op_time.value_ns == 495 * US
    assert training.op_share == 990 / 1420
    assert training.step_trace.exposed_share == 470 / 940
    assert training.step_trace.free_share == 430 / 1890


def test_examples_agree_with_themselves(inference, training):
    assert [check.kind for check in training.checks] == ["op_statistic_kernels", "kernels_computing"]
    assert all(check.agrees and check.difference == 0 for check in (*inference.checks, *training.checks))


# --------------------------------------------------------------- copies and iteration


def test_copies_need_level_model():
    row = {"level": "acl", "name": "InputCopy", "count": 1, "total_ns": 5}
    found = metrics(api=api_statistic_table([row]))
    assert (found.h2d, found.d2h) == (None, None)


def test_iteration_is_unknown_unless_all_three_parts_are_known():
    found = metrics(api=calls(InputCopy=(2, 10, 5), ModelExecute=(2, 60, 30)))
    assert found.iteration is None
    assert (found.h2d.value_ns, found.h2d.share, found.model_execute.share) == (5, None, None)
    assert found.headline == ("model_execute", found.model_execute)


def test_several_calls_per_iteration_are_summed_and_said():
    # 4 calls of 10 in 2 iterations: 20 per iteration, not 10 per call.
    found = metrics(api=calls(ModelExecute=(4, 40, 10)), step_trace=iterations_table(30, 30))
    assert found.model_execute.value_ns == 20
    assert "model_execute_calls" in notes(found)


def test_totals_keep_the_compile_iteration_and_so_does_their_divisor():
    # 3 iterations, the first of 600 excluded: 120 / 3 = 40; Max of the calls is no compile call.
    api = calls(InputCopy=(3, 120, 100), ModelExecute=(3, 90, 30))
    found = metrics(api=api, step_trace=iterations_table(600, 100, 100))
    assert (found.h2d.value_ns, found.h2d.source) == (40, "api_statistic_model_with_first")
    assert (found.model_execute.value_ns, found.model_execute.source) == (
        30,
        "api_statistic_model_with_first",
    )
    assert "totals_contain_first" in notes(found)


def test_compile_call_is_taken_out_of_the_total_of_model_execute():
    # (840 - 800) / 2 = 20.
    found = metrics(api=calls(ModelExecute=(3, 840, 800)), step_trace=iterations_table(600, 100, 100))
    assert found.model_execute.value_ns == 20
    assert found.model_execute.source == "api_statistic_model_without_first"


def test_device_iteration_leaves_the_compile_iteration_out():
    assert metrics(step_trace=iterations_table(600, 90, 110)).device_iteration.value_ns == 100


def test_other_models_are_named_with_count_and_mean():
    rows = [{"model_id": 7, "iteration_id": at, "iteration_ns": 2 * US} for at in (1, 2)]
    table = step_trace_table([{"model_id": 5, "iteration_id": 1, "iteration_ns": 9 * US}, *rows])
    note = next(note for note in metrics(step_trace=table).notes if note.kind == "other_models")
    assert note.values == {"count": "1", "models": "7: 2 × 2.000 us"}


# --------------------------------------------------------------- operator time and share


def test_op_time_leaves_communication_out():
    kernels = kernels_table([{"duration_ns": 5}, {"duration_ns": 90, "role": "communication"}])
    assert metrics(kernels=kernels).op_time.value_ns == 5


def test_op_time_leaves_kernels_outside_of_steps_out_and_says_so():
    kernels = kernels_table([{"step": 1, "duration_ns": 8}, {"step": None, "duration_ns": 7000}])
    found = metrics(TORCH_RUN, kernels=kernels)
    assert found.op_time.value_ns == 8
    note = next(note for note in found.notes if note.kind == "kernels_outside_steps")
    assert note.values == {"count": "1", "time": "7.000"}


def test_op_time_leaves_the_excluded_step_out():
    rows = [{"step": 1, "duration_ns": 900}, {"step": 2, "duration_ns": 10}, {"step": 3, "duration_ns": 20}]
    found = metrics(TORCH_RUN, kernels=kernels_table(rows), steps=steps_table(900, 10, 20))
    assert found.op_time.value_ns == 15


def test_op_time_is_of_the_main_model():
    rows = [{"model_id": 1, "duration_ns": 10}, {"model_id": 2, "duration_ns": 99}]
    table = step_trace_table(
        [
            {"model_id": 1, "iteration_id": 1, "iteration_ns": 40},
            {"model_id": 2, "iteration_id": 1, "iteration_ns": 30},
        ]
    )
    found = metrics(kernels=kernels_table(rows), step_trace=table)
    assert (found.op_time.value_ns, found.op_share) == (10, 10 / 40)


def test_op_time_from_op_statistic_divides_by_all_iterations():
    # 90 in three iterations, one of them excluded; communication is no operator.
    table = op_statistic_table(
        [
            {"op_type": "Mul", "total_ns": 90},
            {"op_type": "hcom_allReduce_", "total_ns": 7, "core_type": "HCCL"},
        ]
    )
    found = metrics(op_statistic=table, step_trace=iterations_table(600, 100, 100))
    assert (found.op_time.value_ns, found.op_time.source) == (30, "op_statistic_with_first")
    assert "op_statistic_contains_first" in notes(found)


def test_kernels_of_an_untraceable_compile_iteration_are_divided_by_all():
    found = metrics(kernels=kernels_table([{"duration_ns": 30}]), api=calls(ModelExecute=(3, 840, 800)))
    assert (found.op_time.value_ns, found.op_time.source) == (10, "kernels_with_first")
    assert "kernels_contain_first" in notes(found)


def test_op_time_is_unknown_without_operators():
    assert metrics(kernels=kernels_table([{"role": "communication"}])).op_time is None


def test_op_share_falls_back_to_model_execute():
    found = metrics(kernels=kernels_table([{"duration_ns": 30}]), api=calls(ModelExecute=(1, 60, 60)))
    assert (found.op_share, found.dispatch_bound) == (0.5, True)


def test_op_share_is_not_judged_when_nothing_tells_the_iterations():
    kernels = kernels_table([{"name": "aclnnMul", "duration_ns": 30}])
    found = metrics(kernels=kernels)
    assert (found.iterations.source, found.op_time.value_ns) == ("single", 30)
    assert (found.op_share, found.dispatch_bound) == (None, None)
    assert found.headline == ("op_time", found.op_time)


def test_op_share_takes_the_same_steps_on_both_sides():
    # Step 1 is the compile step, step 3 has no kernels: only step 2 counts, 6 / (6 + 2).
    rows = [{"step": 1, "duration_ns": 900}, {"step": 2, "duration_ns": 6}]
    steps = step_trace_time_table(
        [
            {"step": "1", "computing_ns": 900},
            {"step": "2", "computing_ns": 6, "free_ns": 2, "not_overlapped_ns": 50, "communication_ns": 50},
            {"step": "3", "computing_ns": 5, "free_ns": 40},
        ]
    )
    assert metrics(TORCH_RUN, kernels=kernels_table(rows), steps=steps).op_share == 6 / 8


def test_op_share_above_1_is_kept_where_kernels_run_side_by_side():
    found = metrics(TORCH_RUN, kernels=kernels_table([{"duration_ns": 30}]), steps=steps_table(20))
    assert (found.op_share, found.dispatch_bound) == (1.5, False)


@pytest.mark.parametrize(("busy", "bound"), [(899, True), (900, False), (901, False)])
def test_dispatch_bound_just_below_90_percent(busy, bound):
    kernels = kernels_table([{"step": 1, "duration_ns": busy}])
    steps = step_trace_time_table([{"step": "1", "computing_ns": busy, "free_ns": 1000 - busy}])
    assert metrics(TORCH_RUN, kernels=kernels, steps=steps).dispatch_bound is bound


# --------------------------------------------------------------- steps


def test_excluded_step_keeps_its_row_and_leaves_the_means():
    found = metrics(TRAINING, steps=steps_table(900, 10, 20))
    assert found.steps["excluded"].to_list() == [True, False, False]
    assert found.step_trace.computing_ns == 15


def test_columns_that_old_files_lack_are_unknown():
    found = metrics(TRAINING, steps=steps_table(10))
    assert found.steps.select("stage_ns", "bubble_ns", "preparing_ns").row(0) == (None, None, None)
    assert (found.step_trace.stage_ns, found.step_trace.preparing_ns, found.step) == (None, None, None)
    assert found.headline[0] == "wall"


def test_overlapped_is_computed_where_the_file_has_no_such_column():
    row = {"step": "1", "communication_ns": 50, "not_overlapped_ns": 20}
    assert metrics(TRAINING, steps=step_trace_time_table([row])).step_trace.overlapped_ns == 30


def test_stage_0_is_an_unknown_span():
    rows = [{"step": "1", "stage_ns": 0, "bubble_ns": 0}, {"step": "2", "stage_ns": 70, "bubble_ns": 10}]
    found = metrics(TRAINING, steps=step_trace_time_table(rows))
    assert found.device_step.value_ns == 80
    assert "step_span_unknown" in notes(found)


def test_whole_run_is_no_step():
    row = {"step": None, "computing_ns": 7, "stage_ns": 9, "bubble_ns": 0}
    found = metrics(TRAINING, steps=step_trace_time_table([row]))
    assert found.step_trace.whole_run
    assert found.step is None
    assert found.headline[0] == "wall"
    assert found.throughput is None


@pytest.mark.parametrize(("exposed", "flagged"), [(29, False), (30, False), (31, True)])
def test_exposed_communication_is_flagged_above_30_percent(exposed, flagged):
    row = {"step": "1", "communication_ns": 100, "not_overlapped_ns": exposed}
    assert metrics(TRAINING, steps=step_trace_time_table([row])).step_trace.exposed_flagged is flagged


@pytest.mark.parametrize(("free", "flagged"), [(49, False), (50, False), (51, True)])
def test_free_is_flagged_above_5_percent(free, flagged):
    row = {"step": "1", "computing_ns": 1000 - free, "free_ns": free}
    assert metrics(TRAINING, steps=step_trace_time_table([row])).step_trace.free_flagged is flagged


def test_exposed_share_is_unknown_without_communication():
    found = metrics(TRAINING, steps=steps_table(10)).step_trace
    assert (found.exposed_share, found.exposed_flagged) == (None, None)


def test_negative_overlap_is_explained_and_shares_are_of_all_steps():
    # Overlapped -10 and 30; exposed (30 + 10) / (20 + 40).
    rows = [
        {"step": "1", "communication_ns": 20, "not_overlapped_ns": 30, "overlapped_ns": -10},
        {"step": "2", "communication_ns": 40, "not_overlapped_ns": 10, "overlapped_ns": 30},
    ]
    found = metrics(TRAINING, steps=step_trace_time_table(rows))
    assert found.step_trace.exposed_share == 40 / 60
    assert next(note for note in found.notes if note.kind == "overlapped_negative").values["steps"] == "1"


def test_missing_step_file_leaves_its_sections_missing():
    found = metrics(TRAINING)
    assert isinstance(found.step_trace, Missing)
    assert isinstance(found.steps, Missing)


# --------------------------------------------------------------- host step and device step


def spans(*stages: int):
    """step_trace_time of steps 1, 2, … with these device spans."""
    return step_trace_time_table(
        [{"step": str(at), "stage_ns": stage, "bubble_ns": 0} for at, stage in enumerate(stages, start=1)]
    )


@pytest.mark.parametrize(
    ("host", "device", "step", "source"),
    [
        (900, 700, 900, "host_step_larger"),
        (700, 900, 900, "device_step_larger"),
        (900, 900, 900, "host_step_larger"),
        (900, None, 900, "host_step_mean"),
        (None, 900, 900, "device_step_span"),
    ],
)
def test_step_is_the_larger_of_host_and_device(host, device, step, source):
    found = metrics(
        TRAINING,
        steps=ABSENT if device is None else spans(device),
        of_trace={} if host is None else {"steps": steps_frame(host)},
    )
    assert (found.step.value_ns, found.step.source) == (step, source)
    assert (found.host_step and found.host_step.value_ns) == host
    assert (found.device_step and found.device_step.value_ns) == device
    assert found.headline == ("step", found.step)


def test_throughput_is_by_the_larger_step():
    found = metrics(
        TRAINING, Options(batch_size=100), steps=spans(10**6), of_trace={"steps": steps_frame(4 * 10**6)}
    )
    assert found.throughput.value == 25_000


def test_steps_of_a_graph_run_are_no_step():
    found = metrics(GE_RUN, of_trace={"steps": steps_frame(900)})
    assert (found.step, found.host_step.value_ns) == (None, 900)


# --------------------------------------------------------------- throughput and room

MILLISECONDS_4 = {"InputCopy": (1, 10**6, None), "ModelExecute": (1, 2 * 10**6, None)} | {
    "OutputCopy": (1, 10**6, None)
}


@pytest.mark.parametrize(
    ("options", "value", "unit"),
    [
        (Options(batch_size=100), 25_000, "samples_per_s"),
        (Options(batch_size=100, instances=3), 75_000, "samples_per_s"),
        (Options(), 250, "iterations_per_s"),
        (Options(instances=2), 500, "iterations_per_s"),
    ],
    ids=["batch size", "batch size and instances", "neither", "instances"],
)
def test_inference_throughput_of_a_4_ms_iteration(options, value, unit):
    found = metrics(options=options, api=calls(**MILLISECONDS_4))
    assert (found.throughput.value, found.throughput.unit) == (value, unit)


def test_training_throughput_of_a_4_ms_step_counts_no_instances():
    steps = step_trace_time_table([{"step": "1", "stage_ns": 4 * 10**6, "bubble_ns": 0}])
    found = metrics(TRAINING, Options(batch_size=100, instances=3), steps=steps)
    assert (found.throughput.value, found.throughput.unit) == (25_000, "samples_per_s")
    assert metrics(TRAINING, steps=steps).throughput.unit == "steps_per_s"


def test_throughput_is_unknown_where_only_a_part_of_the_iteration_is_known():
    found = metrics(options=Options(batch_size=100), api=calls(ModelExecute=(1, 2 * 10**6, None)))
    assert found.throughput is None


@pytest.mark.parametrize(
    ("budget", "instances", "room"),
    [(None, None, None), (3.0, None, 0), (4.0, None, 0), (8.1, None, 1), (20.0, 2, 3), (4.0, 5, 0)],
    ids=["no budget", "budget below", "budget equal", "twice", "two of five", "over already"],
)
def test_instance_room_of_a_4_ms_iteration(budget, instances, room):
    options = Options(latency_ms=budget, instances=instances)
    assert metrics(options=options, api=calls(**MILLISECONDS_4)).instance_room == room


def test_training_has_no_instance_room():
    steps = step_trace_time_table([{"step": "1", "stage_ns": 4, "bubble_ns": 0}])
    assert metrics(TRAINING, Options(latency_ms=9.0), steps=steps).instance_room is None


# --------------------------------------------------------------- agreement


@pytest.mark.parametrize(("statistic", "agrees"), [(990, True), (989, False), (1000, True)])
def test_files_disagree_above_1_percent(statistic, agrees):
    found = metrics(
        kernels=kernels_table([{"duration_ns": 1000}]),
        op_statistic=op_statistic_table([{"op_type": "Mul", "total_ns": statistic}]),
    )
    assert [(check.kind, check.agrees) for check in found.checks] == [("op_statistic_kernels", agrees)]
    assert ("op_statistic_kernels_differ" in notes(found)) is not agrees


def test_comparison_with_computing_is_over_all_steps_and_no_kernel_outside():
    # The compile step counts on both sides here.
    rows: list[dict[str, Any]] = [
        {"step": 1, "duration_ns": 900},
        {"step": 2, "duration_ns": 10},
        {"step": None, "duration_ns": 77},
    ]
    check = metrics(TRAINING, kernels=kernels_table(rows), steps=steps_table(900, 10)).checks[0]
    assert (check.kind, check.left_ns, check.right_ns) == ("kernels_computing", 910, 910)


def test_op_statistic_stands_in_for_absent_kernels():
    table = op_statistic_table([{"op_type": "Mul", "total_ns": 10}])
    assert (
        metrics(TRAINING, op_statistic=table, steps=steps_table(10)).checks[0].kind
        == "op_statistic_computing"
    )


# --------------------------------------------------------------- words


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_note_source_and_check_has_its_words(language):
    api = calls(InputCopy=(3, 120, 100), ModelExecute=(4, 90, 30), OutputCopy=(3, 9, 3))
    table = op_statistic_table([{"op_type": "Mul", "total_ns": 90}])
    rows = [{"step": None, "computing_ns": 7}]
    found = [
        metrics(api=api, op_statistic=table, step_trace=iterations_table(600, 100, 100)),
        metrics(TRAINING, op_statistic=table, steps=step_trace_time_table(rows)),
        metrics(kernels=kernels_table([{"duration_ns": 30}]), api=calls(ModelExecute=(3, 840, 800))),
        metrics(TRAINING, steps=steps_table(900, 10), api=calls(ModelExecute=(2, 20, 10))),
        metrics(),
        metrics(TRAINING, steps=spans(9), of_trace={"steps": steps_frame(7)}),
        metrics(TRAINING, steps=spans(7), of_trace={"steps": steps_frame(9)}),
    ]
    messages = Messages(language)
    parts = ("h2d", "model_execute", "d2h", "iteration", "device_iteration")
    named = (*parts, "host_step", "device_step", "step", "op_time")
    for one in found:
        for note in one.notes:
            assert "{" not in messages.text(f"note.{note.kind}", note.values)
        for check in one.checks:
            assert f"check.{check.kind}" in messages
        times = [getattr(one, name) for name in named] + [one.headline[1] if one.headline else None]
        for time in times:
            assert time is None or f"source.{time.source}" in messages
        assert f"source.{one.iterations.source}" in messages
