"""Numbers of genuine captures, each against a second way of getting it: csv and Decimal, row by row."""

from __future__ import annotations

import csv
from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING

import polars as pl
import pytest

from analysis.notes import Missing
from analysis.operators import Operators
from analysis.profile.discover import discover
from analysis.profile.tables import Table
from analysis.result import Analysis
from analysis.steps import StepDecomposition

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ALEXNET = "torch_npu_alexnet_2rank_level1"
OUTPUT = "ASCEND_PROFILER_OUTPUT"
GROUPED_MATMUL = ("PROF_Memory", "PROF_L2Cache", "PROF_ResourceConflictRatio", "PROF_ArithmeticUtilization")


def analyse(path: Path, rank: int | None = None) -> Analysis:
    profile = discover(path)
    return Analysis(profile, profile.select(rank))


def rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="") as file:
        yield from csv.DictReader(file)


def ns(text: str) -> int:
    return int((Decimal(text.strip()) * 1000).to_integral_value())


@pytest.mark.parametrize(
    ("rank", "computing", "not_overlapped", "free"),
    [(0, 8_873_756, 101_963_203, 25_744_050), (1, 8_878_295, 96_359_047, 26_675_274)],
)
def test_step_of_each_alexnet_rank(
    data: Path, rank: int, computing: int, not_overlapped: int, free: int
) -> None:
    analysis = analyse(data / ALEXNET, rank)
    mean = analysis.metrics.step_trace
    assert isinstance(mean, StepDecomposition)
    assert analysis.metrics.iterations.count == 1
    assert (mean.computing_ns, mean.not_overlapped_ns, mean.free_ns) == (computing, not_overlapped, free)


def test_without_a_rank_the_lowest_is_taken_and_the_others_are_named(data: Path) -> None:
    analysis = analyse(data / ALEXNET)
    assert analysis.capture.rank == 0
    (note,) = (note for note in analysis.notes if note.kind == "several_captures")
    assert "rank 1" in str(note.values["names"])


@pytest.mark.parametrize("rank", [0, 1])
def test_alexnet_operator_totals_agree_with_the_rows_and_with_op_statistic(data: Path, rank: int) -> None:
    folder = data / ALEXNET / f"rank{rank}_ascend_pt" / OUTPUT
    expected: dict[tuple[str, str], int] = defaultdict(int)
    for row in rows(folder / "kernel_details.csv"):
        if row["Accelerator Core"] != "HCCL":
            expected[row["Type"], row["Accelerator Core"]] += ns(row["Duration(us)"])
    operators = analyse(data / ALEXNET, rank).operators
    assert isinstance(operators, Operators)
    assert isinstance(operators.by_type, pl.DataFrame)
    found = {
        (row[0], row[1]): row[2] for row in operators.by_type["op_type", "core_type", "total_ns"].iter_rows()
    }
    assert found == expected
    statistic = {
        (row["OP Type"], row["Core Type"]): ns(row["Total Time(us)"])
        for row in rows(folder / "op_statistic.csv")
    }
    assert found == pytest.approx(statistic, abs=50)


@pytest.mark.parametrize("rank", [0, 1])
def test_alexnet_files_agree(data: Path, rank: int) -> None:
    checks = {check.kind: check for check in analyse(data / ALEXNET, rank).metrics.checks}
    assert checks.keys() == {
        "op_statistic_kernels",
        "kernels_computing",
        "trace_computing",
        "trace_communication",
        "trace_not_overlapped",
        "trace_free",
        "trace_kernels",
        "trace_collectives",
    }
    assert all(check.agrees for check in checks.values())
    (row,) = rows(data / ALEXNET / f"rank{rank}_ascend_pt" / OUTPUT / "step_trace_time.csv")
    assert checks["trace_computing"].left_ns == ns(row["Computing"])
    assert checks["trace_communication"].left_ns == ns(row["Communication"])
    assert checks["trace_not_overlapped"].left_ns == ns(row["Communication(Not Overlapped)"])
    assert checks["trace_free"].left_ns == ns(row["Free"])


@pytest.mark.parametrize("folder", [ALEXNET, "torch_npu_alexnet_level0"])
def test_alexnet_is_eager_because_operators_launched_its_kernels(data: Path, folder: str) -> None:
    scenario = analyse(data / folder).scenario
    assert scenario.scenario == "training"
    # 66 of 191 kernels carry no aclnn, but each of the 187 that are no communication has its host operator.
    assert scenario.mode == "eager"
    assert scenario.mode_evidence[0].values["count"] == scenario.mode_evidence[0].values["total"] == 187
    assert [stack.name for stack in scenario.stacks] == ["Eager"]


def test_alexnet_shapes_are_dynamic_by_op_state(data: Path) -> None:
    assert analyse(data / ALEXNET).scenario.dynamic_shape is True


def test_alexnet_step_is_its_profiler_step(data: Path) -> None:
    metrics = analyse(data / ALEXNET).metrics
    assert metrics.step is not None
    assert metrics.device_step is not None
    # ProfilerStep#50 lasts 155,985.8 us on the host; Stage is 136,581 us.
    assert (metrics.step.value_ns, metrics.device_step.value_ns) == (155_985_800, 136_581_000)


def test_a_gpu_trace_tells_steps_and_training(data: Path) -> None:
    analysis = analyse(data / "gpu_recommender" / "worker0_step_12.1694128201545.pt.trace.json")
    assert analysis.scenario.scenario == "training"
    assert analysis.iterations.source == "profiler_step"
    assert analysis.metrics.host_step is not None
    assert analysis.metrics.step == analysis.metrics.host_step
    assert isinstance(analysis.metrics.step_trace, Missing)


def test_level0_says_what_is_missing_and_still_reports(data: Path) -> None:
    analysis = analyse(data / "torch_npu_alexnet_level0")
    assert {file.kind for file in analysis.missing} == {"op_statistic", "api_statistic"}
    assert analysis.scenario.scenario == "training"
    operators = analysis.operators
    assert isinstance(operators, Operators)
    assert not isinstance(operators.by_type, pl.DataFrame)
    assert operators.compute_ns == sum(
        ns(row["Duration(us)"])
        for row in rows(data / "torch_npu_alexnet_level0" / "rank0_ascend_pt" / OUTPUT / "kernel_details.csv")
        if not row["Name"].startswith("hcom_")
    )
    assert not analysis.damaged


@pytest.mark.parametrize("folder", GROUPED_MATMUL)
def test_every_aic_metrics_choice_loads_as_inference(data: Path, folder: str) -> None:
    analysis = analyse(data / "msprof_groupedmatmul" / folder)
    assert analysis.scenario.scenario == "inference"
    assert isinstance(analysis.kernels, Table)
    assert analysis.kernels.frame.height == 3
    assert not analysis.damaged


def test_kernels_of_2023_load_with_their_communication_apart(data: Path) -> None:
    expected: dict[str, int] = defaultdict(int)
    for row in rows(data / "older" / "kernel_details_2023-11.csv"):
        role = "communication" if row["Accelerator Core"] == "HCCL" else "compute"
        expected[role] += ns(row["Duration(us)"])
    kernels = analyse(data / "older").kernels
    assert isinstance(kernels, Table)
    found = kernels.frame.group_by("role").agg(pl.col("duration_ns").sum())
    assert dict(found.cast({"role": pl.String}).iter_rows()) == expected
