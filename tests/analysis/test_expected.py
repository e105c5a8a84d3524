"""The hand-computed answers of examples/EXPECTED.md, chapters 1.1, 1.3, 2.1, 2.2 and 3."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from analysis.host import Host
from analysis.operators import Operators
from analysis.profile.discover import discover
from analysis.profile.tables import Table
from analysis.result import Analysis
from analysis.steps import StepDecomposition

EXAMPLES = Path(__file__).parents[1] / "examples"


def analyse(name: str) -> Analysis:
    profile = discover(EXAMPLES / name)
    return Analysis(profile, profile.select())


@pytest.fixture(scope="module")
def training() -> Analysis:
    return analyse("training_torch_npu")


@pytest.fixture(scope="module")
def inference() -> Analysis:
    return analyse("inference_msprof")


def us(value: int | None) -> float | None:
    return None if value is None else value / 1000


class TestTraining:
    """EXPECTED.md 1.1 (what the step files hold) and 1.3."""

    COLUMNS = (
        "computing",
        "communication",
        "not_overlapped",
        "overlapped",
        "free",
        "bubble",
        "stage",
        "preparing",
        "wall",
    )

    @pytest.mark.parametrize(
        ("step", "values"),
        [
            ("10", (490, 440, 210, 230, 360, 0, 1060, 100, 1060)),
            ("11", (500, 500, 260, 240, 70, 60, 770, 100, 830)),
        ],
    )
    def test_each_step(self, training: Analysis, step: str, values: tuple[int, ...]) -> None:
        steps = training.metrics.steps
        assert isinstance(steps, pl.DataFrame)
        row = steps.row(by_predicate=pl.col("step") == step, named=True)
        assert tuple(us(row[f"{name}_ns"]) for name in self.COLUMNS) == values

    def test_whole_file_sums_give_the_shares(self, training: Analysis) -> None:
        mean = training.metrics.step_trace
        assert isinstance(mean, StepDecomposition)
        assert mean.exposed_share == pytest.approx(470 / 940)
        assert mean.free_share == pytest.approx(430 / 1890)
        assert (us(mean.computing_ns), us(mean.wall_ns)) == (990 / 2, 1890 / 2)

    def test_device_step_is_stage_plus_bubble(self, training: Analysis) -> None:
        assert training.metrics.device_step is not None
        assert us(training.metrics.device_step.value_ns) == (1060 + 770 + 60) / 2

    def test_step_is_the_profiler_step_of_1000_us(self, training: Analysis) -> None:
        metrics = training.metrics
        assert metrics.host_step is not None
        assert us(metrics.host_step.value_ns) == 1000
        assert metrics.step is not None
        assert (us(metrics.step.value_ns), metrics.step.source) == (1000, "host_step_larger")

    def test_copies_inside_free(self, training: Analysis) -> None:
        # [40,90) of [40,100) and [1040,1090) of [900,1100) are credited to step 10, [1910,1930) to step 11.
        mean = training.metrics.step_trace
        assert isinstance(mean, StepDecomposition)
        assert mean.copies_ns is not None
        assert us(mean.copies_ns) == (50 + 50 + 20) / 2

    def test_copies_per_step_by_direction(self, training: Analysis) -> None:
        # 1.4: H2D twice 50; D2H 20 in one of two steps.
        metrics = training.metrics
        assert [us(time.value_ns) if time else None for time in (metrics.h2d, metrics.d2h)] == [50, 10]

    def test_operator_types(self, training: Analysis) -> None:
        operators = training.operators
        assert isinstance(operators, Operators)
        assert isinstance(operators.by_type, pl.DataFrame)
        found = [
            (
                row["op_type"],
                row["core_type"],
                row["count"],
                *(us(row[f"{key}_ns"]) for key in ("total", "min", "avg", "max")),
                round(row["share"] * 100, 3),
            )
            for row in operators.by_type.iter_rows(named=True)
        ]
        assert found == [
            ("MatMulV2", "MIX_AIC", 2, 390, 190, 195, 200, 39.394),
            ("GatherV2", "AI_VECTOR_CORE", 2, 310, 150, 155, 160, 31.313),
            ("Unique", "AI_CPU", 2, 170, 80, 85, 90, 17.172),
            ("Mul", "AI_VECTOR_CORE", 2, 120, 60, 60, 60, 12.121),
        ]
        assert us(operators.compute_ns) == 990

    def test_core_types(self, training: Analysis) -> None:
        operators = training.operators
        assert isinstance(operators, Operators)
        assert isinstance(operators.by_core_type, pl.DataFrame)
        found = operators.by_core_type["core_type", "total_ns"].rows()
        assert found == [("AI_VECTOR_CORE", 430_000), ("MIX_AIC", 390_000), ("AI_CPU", 170_000)]

    def test_communication_apart(self, training: Analysis) -> None:
        operators = training.operators
        assert isinstance(operators, Operators)
        found = {row[0]: row[1:] for row in operators.communication["op_type", "count", "total_ns"].rows()}
        assert found == {
            "hcom_alltoallv_": (2, 580_000),
            "hcom_allReduce_": (2, 300_000),
            "hcom_receive_": (1, 60_000),
        }
        assert us(operators.communication_ns) == 940
        shares = {
            row[0]: round(row[1] * 100, 3) for row in operators.communication["op_type", "share"].rows()
        }
        assert shares == {"hcom_alltoallv_": 61.702, "hcom_allReduce_": 31.915, "hcom_receive_": 6.383}

    def test_wait_column_in_row_order(self, training: Analysis) -> None:
        assert isinstance(training.kernels, Table)
        waits = [us(wait) for wait in training.kernels.frame["wait_ns"]]
        assert waits == [0, 0, 0, 0, 140, 0, 200, 0, 0, 0, 20, 40, 0]

    def test_steps_and_scenario(self, training: Analysis) -> None:
        iterations = training.metrics.iterations
        assert (iterations.count, iterations.source) == (2, "step_trace_time")
        # Neither its operators nor its trace hold a backward pass (spec S2).
        assert training.scenario.scenario == "inference"
        assert training.scenario.mode == "eager"

    def test_files_agree(self, training: Analysis) -> None:
        checks = {
            check.kind: (check.left_ns, check.right_ns, check.agrees) for check in training.metrics.checks
        }
        assert checks == {
            "op_statistic_kernels": (990_000, 990_000, True),
            "kernels_computing": (990_000, 990_000, True),
            "trace_computing": (990_000, 990_000, True),
            "trace_communication": (940_000, 940_000, True),
            "trace_not_overlapped": (470_000, 470_000, True),
            "trace_free": (430_000, 430_000, True),
            "trace_kernels": (990_000, 990_000, True),
            "trace_collectives": (940_000, 940_000, True),
        }


class TestInference:
    """EXPECTED.md 2.1 (what CSV files hold) and 2.2."""

    def test_named_times(self, inference: Analysis) -> None:
        metrics = inference.metrics
        named = (metrics.h2d, metrics.model_execute, metrics.d2h, metrics.iteration, metrics.device_iteration)
        assert [us(time.value_ns) if time else None for time in named] == [50, 300, 20, 370, 234]

    def test_shares_of_the_iteration(self, inference: Analysis) -> None:
        metrics = inference.metrics
        shares = [time.share for time in (metrics.h2d, metrics.model_execute, metrics.d2h) if time]
        assert shares == pytest.approx([50 / 370, 300 / 370, 20 / 370])

    def test_operator_share_of_the_device_iteration(self, inference: Analysis) -> None:
        metrics = inference.metrics
        assert metrics.op_time is not None
        assert us(metrics.op_time.value_ns) == 200
        assert metrics.op_share == pytest.approx(200 / 234)
        assert metrics.dispatch_bound is True

    def test_iterations_come_from_step_trace(self, inference: Analysis) -> None:
        iterations = inference.metrics.iterations
        assert (iterations.count, iterations.source, iterations.excluded_first_ns) == (3, "step_trace", None)

    def test_host_calls_by_level(self, inference: Analysis) -> None:
        host = inference.host
        assert isinstance(host, Host)
        found: dict[tuple[str, str], object] = {
            (row["level"], row["name"]): (us(row["total_ns"]), row["count"], us(row["avg_ns"]))
            for row in host.apis.iter_rows(named=True)
        }
        assert found["model", "ModelExecute"] == (900, 3, 300)
        assert found["runtime", "ModelExecute"] == (30, 3, 10)
        assert found["acl", "aclrtMemcpy"] == (270, 6, 45)
        assert found["acl", "aclmdlExecute"] == (1170, 3, 390)

    def test_operator_types(self, inference: Analysis) -> None:
        operators = inference.operators
        assert isinstance(operators, Operators)
        assert isinstance(operators.by_type, pl.DataFrame)
        columns = ("op_type", "core_type", "count", "total_ns", "avg_ns", "per_iteration_ns", "share")
        found = [
            (
                row["op_type"],
                row["core_type"],
                row["count"],
                us(row["total_ns"]),
                us(row["avg_ns"]),
                us(row["per_iteration_ns"]),
                round(row["share"] * 100, 3),
            )
            for row in operators.by_type.select(columns).iter_rows(named=True)
        ]
        assert found == [
            ("MatMulV2", "AI_CORE", 3, 270, 90, 90, 45.0),
            ("TopKV2", "AI_CPU", 3, 150, 50, 50, 25.0),
            ("GatherV2", "AI_VECTOR_CORE", 3, 120, 40, 40, 20.0),
            ("AscBackend", "AI_VECTOR_CORE", 3, 60, 20, 20, 10.0),
        ]
        assert us(operators.compute_ns) == 600

    def test_scenario(self, inference: Analysis) -> None:
        scenario = inference.scenario
        assert (scenario.framework, scenario.scenario, scenario.mode) == ("ge", "inference", "ge_autofuse")
        assert scenario.dynamic_shape is False
        assert [kind.prefix for kind in scenario.fusion.kinds] == ["autofuse_"]

    def test_every_iteration_has_one_graph_operator_of_each_name(self, inference: Analysis) -> None:
        assert isinstance(inference.kernels, Table)
        counts = inference.kernels.frame.group_by("name").len()["len"].to_list()
        assert counts == [3, 3, 3, 3]


class TestLayouts:
    """EXPECTED.md 3: every layout opens and gives what its one or two rows hold."""

    def test_slices_are_one_file(self) -> None:
        operators = analyse("layouts/sliced").operators
        assert isinstance(operators, Operators)
        assert us(operators.compute_ns) == 25

    def test_one_device_of_two(self) -> None:
        operators = analyse("layouts/multi_device").operators
        assert isinstance(operators, Operators)
        assert us(operators.compute_ns) == 12.5

    def test_communication_without_compute(self) -> None:
        operators = analyse("layouts/comm_only").operators
        assert isinstance(operators, Operators)
        assert (us(operators.compute_ns), us(operators.communication_ns)) == (0, 33)

    def test_old_layout_in_nanoseconds(self) -> None:
        metrics = analyse("layouts/old_per_device").metrics
        assert metrics.device_iteration is not None
        assert us(metrics.device_iteration.value_ns) == 60
        assert metrics.op_time is not None
        assert us(metrics.op_time.value_ns) == 40
        assert metrics.iterations.source == "step_trace"

    def test_a_run_without_steps_counts_as_one(self) -> None:
        metrics = analyse("layouts/multi_rank_parent").metrics
        assert (metrics.iterations.count, metrics.iterations.source) == (1, "whole_run")
        assert isinstance(metrics.step_trace, StepDecomposition)
        assert us(metrics.step_trace.wall_ns) == 130
