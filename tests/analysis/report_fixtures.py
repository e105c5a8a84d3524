"""Hand-made analyses for the report tests: complete, at Level0, and almost without files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from analysis.agreement import CrossCheck
from analysis.copies import Copies
from analysis.custom_operators import CustomOperators
from analysis.findings import find_findings
from analysis.fusion import FusedKind, Fusion
from analysis.host import Host, Verdict
from analysis.host_operators import HostOperators
from analysis.inventory import FileEntry, MissingFile
from analysis.iterations import Iterations
from analysis.metrics import CoreMetrics, NamedTime, Throughput
from analysis.notes import Evidence, Missing, Note
from analysis.operators import CoreUse, Extra, Operators, with_custom_operators
from analysis.options import Options
from analysis.profile.discover import Capture, Profile
from analysis.profile.metadata import Cores, Metadata
from analysis.scenario import Scenario, Stack
from analysis.steps import StepDecomposition
from analysis.trace.summary import TraceSummary
from tests.analysis.phases import phase_fixtures

if TYPE_CHECKING:
    from analysis.finding import Finding
    from analysis.phases.results import Phases, StepTree

ROOT = Path("profiles/run7")

RATIOS = {
    f"{core}_{unit}_ratio": pl.Float64
    for core, units in (
        ("aic", ("mac", "vec", "scalar", "mte1", "mte2", "mte3")),
        ("aiv", ("vec", "scalar", "mte1", "mte2", "mte3")),
    )
    for unit in units
}
TIMES = {
    "count": pl.Int64,
    "count_per_iteration": pl.Float64,
    "per_iteration_ns": pl.Int64,
    "total_ns": pl.Int64,
    "share": pl.Float64,
    "avg_ns": pl.Int64,
    "min_ns": pl.Int64,
    "max_ns": pl.Int64,
}
TYPE_SCHEMA = {"op_type": pl.String, "core_type": pl.String, **TIMES}
CORE_SCHEMA = {
    name: ({"core_type": pl.String} | TIMES)[name]
    for name in ("core_type", "count", "total_ns", "share", "avg_ns")
}
COMMUNICATION_SCHEMA = {"op_type": pl.String, **TIMES}
TOP_SCHEMA = {
    "op_type": pl.String,
    "name": pl.String,
    "core_type": pl.String,
    "input_shapes": pl.String,
    "input_dtypes": pl.String,
    "count": pl.Int64,
    "total_ns": pl.Int64,
    "share": pl.Float64,
    "avg_ns": pl.Int64,
    "max_ns": pl.Int64,
    "block_num": pl.Int64,
    **RATIOS,
    "cube_utilization_pct": pl.Float64,
}
PROBLEM_SCHEMA = {
    "problem": pl.String,
    "name": pl.String,
    "op_type": pl.String,
    "core_type": pl.String,
    "input_shapes": pl.String,
    "output_shapes": pl.String,
    "count": pl.Int64,
    "total_ns": pl.Int64,
    "share": pl.Float64,
    "value": pl.Float64,
}
API_SCHEMA = {
    "level": pl.String,
    "name": pl.String,
    "count": pl.Int64,
    "count_per_iteration": pl.Float64,
    "total_ns": pl.Int64,
    "per_iteration_ns": pl.Int64,
    "avg_ns": pl.Int64,
    "min_ns": pl.Int64,
    "max_ns": pl.Int64,
    "group": pl.String,
    "watched": pl.Boolean,
}
HOST_OPERATOR_SCHEMA = {
    "name": pl.String,
    "group": pl.String,
    "calls": pl.Int64,
    "calls_per_step": pl.Float64,
    "total_ns": pl.Int64,
    "per_step_ns": pl.Int64,
    "self_per_step_ns": pl.Int64,
    "self_ns": pl.Int64,
    "avg_ns": pl.Int64,
    "max_ns": pl.Int64,
    "share": pl.Float64,
    "threads": pl.UInt32,
}
CUSTOM_SCHEMA = {
    "name": pl.String,
    "launched_by": pl.String,
    "count": pl.Int64,
    "count_per_step": pl.Float64,
    "total_ns": pl.Int64,
    "per_step_ns": pl.Int64,
    "avg_ns": pl.Int64,
    "max_ns": pl.Int64,
}
CALL_SCHEMA = {
    "event": pl.UInt32,
    "name": pl.String,
    "start_ns": pl.Int64,
    "duration_ns": pl.Int64,
    "self_ns": pl.Int64,
    "step": pl.Int64,
    "thread": pl.String,
    "depth": pl.UInt32,
    "input_dims": pl.String,
}
COPY_SCHEMA = {
    "direction": pl.String,
    "count": pl.Int64,
    "count_per_iteration": pl.Float64,
    "total_ns": pl.Int64,
    "avg_ns": pl.Int64,
    "max_ns": pl.Int64,
    "bytes": pl.Int64,
    "gb_per_s": pl.Float64,
    "per_iteration_ns": pl.Int64,
    "overlapped_ns": pl.Int64,
    "overlapped_share": pl.Float64,
}
COPY_ITERATION_SCHEMA = {
    "iteration": pl.String,
    "direction": pl.String,
    "count": pl.Int64,
    "time_ns": pl.Int64,
    "gap_ns": pl.Int64,
    "overlapped_ns": pl.Int64,
    "excluded": pl.Boolean,
}
COPY_BAR_SCHEMA = {
    "event": pl.UInt32,
    "iteration": pl.String,
    "direction": pl.String,
    "start_ns": pl.Int64,
    "duration_ns": pl.Int64,
    "bytes": pl.Int64,
    "stream": pl.String,
}
NO_TRACE = Missing(("trace_view", "msprof_timeline", "kineto_trace"), "trace")
STEP_SCHEMA = {
    "step": pl.String,
    "computing_ns": pl.Int64,
    "communication_ns": pl.Int64,
    "not_overlapped_ns": pl.Int64,
    "overlapped_ns": pl.Int64,
    "free_ns": pl.Int64,
    "stage_ns": pl.Int64,
    "bubble_ns": pl.Int64,
    "preparing_ns": pl.Int64,
    "wall_ns": pl.Int64,
    "excluded": pl.Boolean,
}


@dataclass(frozen=True, slots=True)
class Source:
    """An analysis whose results were made by hand."""

    profile: Profile
    capture: Capture
    scenario: Scenario
    metrics: CoreMetrics
    operators: Operators | Missing
    host: Host | Missing
    host_operators: HostOperators | Missing = NO_TRACE
    copies: Copies | Missing = NO_TRACE
    custom_operators: CustomOperators | Missing = NO_TRACE
    trace_summary: TraceSummary | Missing = NO_TRACE
    phases: Phases | Missing = NO_TRACE
    trees: tuple[StepTree, StepTree] | None = None
    """Call tree and aten tree."""
    options: Options = field(default_factory=Options)
    metadata: Metadata = field(default_factory=Metadata)
    cores: Cores = field(default_factory=Cores)
    files: tuple[FileEntry, ...] = ()
    missing: tuple[MissingFile, ...] = ()
    notes: tuple[Note, ...] = ()
    damaged: bool = False

    @property
    def extras(self) -> tuple[Extra, ...]:
        extras = () if isinstance(self.operators, Missing) else self.operators.extras
        return with_custom_operators(extras, self.custom_operators)

    def call_tree(self, step: int | None) -> StepTree | Missing:
        return NO_TRACE if self.trees is None else self.trees[0]

    def aten_tree(self, step: int | None) -> StepTree | Missing:
        return NO_TRACE if self.trees is None else self.trees[1]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return find_findings(self)


def frame(schema: dict[str, Any], *rows: dict[str, Any]) -> pl.DataFrame:
    """A frame with all columns of ``schema``; what a row leaves out is null."""
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


def custom_kernels(name: str) -> CustomOperators:
    """Two kernels of one custom operator; the launch of three others is not known."""
    row = {"name": name, "launched_by": name, "count": 4, "count_per_step": 2.0, "total_ns": 8_000_123}
    rows = [
        row | {"per_step_ns": 4_000_062, "avg_ns": 2_000_031, "max_ns": 3_000_000},
        row | {"name": "Lookup", "total_ns": 9_000, "per_step_ns": 4_500, "avg_ns": 2_250, "max_ns": 4_000},
    ]
    return CustomOperators(pl.DataFrame(rows, schema=CUSTOM_SCHEMA), unknown=3, cut_short=False)


def captures(*ranks: int | None, producer: str = "torch_npu") -> tuple[Capture, ...]:
    return tuple(
        Capture(
            name=f"run7_{rank}",
            root=ROOT,
            producer=producer,
            rank=rank,
            rank_source=None if rank is None else "profiler_info",
            device=None,
            files={},
        )
        for rank in ranks
    )


def unknown_scenario() -> Scenario:
    return Scenario(
        framework=None,
        framework_evidence=(),
        stacks=(),
        stack_decided=False,
        scenario="unknown",
        scenario_evidence=(),
        mode="unknown",
        mode_evidence=(),
        dynamic_shape=None,
        dynamic_evidence=(),
        fusion=Fusion(None, (), (), None),
    )


def single_metrics(**known: Any) -> CoreMetrics:
    """Metrics of a capture that tells nothing but what ``known`` says."""
    values: dict[str, Any] = {
        "iterations": Iterations(1, "single", False, None, None, None, None),
        **dict.fromkeys(
            ("h2d", "model_execute", "d2h", "iteration", "device_iteration", "host_step", "device_step")
        ),
        **dict.fromkeys(("step", "op_time", "headline", "op_share", "dispatch_bound", "throughput")),
        "op_share_of": "model_execute",
        "step_trace": Missing(("step_trace_time",), "step"),
        "steps": Missing(("step_trace_time",), "step"),
        "instance_room": None,
        "checks": (),
        "notes": (),
    }
    return CoreMetrics(**{**values, **known})


def operator_tables(name: str = "MatMulV2", shapes: str = "4096,512;512,1024", rows: int = 1) -> Operators:
    """Tables in which every text cell is ``name``; ``rows`` groups of 10 us each."""
    times = {
        "count": 4,
        "count_per_iteration": 2.0,
        "per_iteration_ns": 5_000,
        "total_ns": 10_000,
        "share": 1 / rows,
        "avg_ns": 2_500,
        "min_ns": 2_000,
        "max_ns": 3_001,
    }
    group = {
        "op_type": name,
        "core_type": "MIX_AIC",
        "input_shapes": shapes,
        "input_dtypes": "FLOAT16;FLOAT16",
        "block_num": 24,
        "aic_mac_ratio": 0.123456789,
        "aic_scalar_ratio": 0.5,
        "cube_utilization_pct": 0.5,
        **times,
    }
    problem = {**group, "name": name, "output_shapes": shapes}
    return Operators(
        source="kernels",
        by_type=frame(TYPE_SCHEMA, *[group] * rows),
        by_core_type=frame(CORE_SCHEMA, group),
        communication=frame(COMMUNICATION_SCHEMA, {"op_type": name, **times}),
        top=frame(TOP_SCHEMA, *[group] * rows),
        shapes=frame(TOP_SCHEMA, *[group] * rows),
        problems=frame(
            PROBLEM_SCHEMA,
            *[{**problem, "problem": "aic_scalar", "value": 0.5}] * rows,
            {**problem, "problem": "cube_utilization", "value": 0.5},
            {**problem, "problem": "ai_cpu"},
        ),
        extras=(
            Extra("embedding_sort_unique", 2, 900, 0.09, 0.05, flagged=True),
            Extra("communication_operations", 3, 700, None, None, None),
            Extra("communication_kernels", 0, 0, None, None, None),
            Extra("custom_operators", None, None, None, None, None),
            Extra("short_vector_kernels", 300, 600, 2.0, 20.0, True, 250.0, 200.0),
            Extra("matmul_hf32_off", 1, 10_000, 0.1, 0.2, flagged=False),
        ),
        core_use=(
            CoreUse("aic", 20, 24, "maybe_limited", 8),
            CoreUse("aiv", 48, 48, "all_cores"),
        ),
        compute_ns=10_000 * rows,
        communication_ns=10_000,
        unjudged_problems=("aiv_scalar",),
    )


def host_tables(name: str = "aclrtSynchronizeStream") -> Host:
    api = {
        "level": "acl",
        "name": name,
        "count": 22,
        "count_per_iteration": 11.0,
        "total_ns": 4_000_000,
        "per_iteration_ns": 2_000_000,
        "avg_ns": 181_818,
        "min_ns": 1_000,
        "max_ns": 900_000,
        "group": "call",
        "watched": True,
    }
    apis = frame(API_SCHEMA, api, {**api, "level": "runtime", "watched": False}, {**api, "level": "odd"})
    return Host(
        apis=apis,
        top=apis,
        watched=apis.head(1),
        one_off=frame(API_SCHEMA, {**api, "group": "one_off"}),
        verdicts=(
            Verdict("stream_sync", "iteration", 11.0, 2_000_000, 181_818, flagged=True, level="acl"),
            Verdict("short_launches", "iteration", 500.0, 9_000_000, 18_000, flagged=None, level="node"),
        ),
    )


def framework_operators(name: str = "aten::copy_", rows: int = 1) -> HostOperators:
    """``rows`` operators in two steps of 500 us: 3 calls of 40, 30 and 30 us, 90 us without what is below."""
    operator = {
        "name": name,
        "group": "aten",
        "calls": 3,
        "calls_per_step": 1.5,
        "total_ns": 100_000,
        "per_step_ns": 50_000,
        "self_per_step_ns": 45_000,
        "self_ns": 90_000,
        "avg_ns": 33_333,
        "max_ns": 40_000,
        "share": 0.1,
        "threads": 2,
    }
    call = {"name": name, "self_ns": 30_000, "thread": "Thread 1", "depth": 1, "input_dims": "4096,512;"}
    return HostOperators(
        by_name=frame(HOST_OPERATOR_SCHEMA, *[operator] * rows),
        calls=frame(
            CALL_SCHEMA,
            {**call, "event": 5, "start_ns": 1_020_000, "duration_ns": 40_000, "step": 10},
            {**call, "event": 6, "start_ns": 1_300_000, "duration_ns": 30_000, "step": 10},
            {**call, "event": 9, "start_ns": 1_507_000, "duration_ns": 30_000, "step": 11},
        ),
        steps=2,
        outside=4,
        partial=1,
        verdicts=(
            Verdict("aten_copy_", "step", 501.0, 50_000, 33_333, flagged=True),
            Verdict("aten_to", "step", 2.0, 4_000, 2_000, flagged=False),
            Verdict("aten_to_copy", "step", 0.0, 0, None, flagged=False),
        ),
    )


def copy_tables(stream: str = "Stream 2") -> Copies:
    """EXPECTED.md 1.4: H2D 2 x 50 us of 5 MB, half of it beside computing; D2H 1 x 20 us of 8192 B."""
    to_device = {"direction": "host_to_device", "duration_ns": 50_000, "bytes": 5_000_000, "stream": stream}
    of_step = {"direction": "host_to_device", "count": 1, "time_ns": 50_000, "gap_ns": 0, "excluded": False}
    return Copies(
        by_direction=frame(
            COPY_SCHEMA,
            {
                "direction": "host_to_device",
                "count": 2,
                "count_per_iteration": 1.0,
                "total_ns": 100_000,
                "avg_ns": 50_000,
                "max_ns": 50_000,
                "bytes": 10_000_000,
                "gb_per_s": 100.0,
                "per_iteration_ns": 50_000,
                "overlapped_ns": 50_000,
                "overlapped_share": 0.5,
            },
            {
                "direction": "device_to_host",
                "count": 1,
                "count_per_iteration": 0.5,
                "total_ns": 20_000,
                "avg_ns": 20_000,
                "max_ns": 20_000,
                "bytes": 8_192,
                "gb_per_s": 0.4096,
                "per_iteration_ns": 10_000,
                "overlapped_ns": 0,
                "overlapped_share": 0.0,
            },
        ),
        by_iteration=frame(
            COPY_ITERATION_SCHEMA,
            {**of_step, "iteration": "10", "overlapped_ns": 50_000},
            {**of_step, "iteration": "11", "overlapped_ns": 0},
            {
                **of_step,
                "iteration": "11",
                "direction": "device_to_host",
                "time_ns": 20_000,
                "overlapped_ns": 0,
            },
        ),
        bars=frame(
            COPY_BAR_SCHEMA,
            {**to_device, "event": 7, "iteration": "10", "start_ns": 1_100_000},
            {**to_device, "event": 8, "iteration": "11", "start_ns": 1_600_000},
        ),
        cut_by="profiler_step",
        outside=1,
        cut_short=False,
    )


def summary_of_trace(name: str = "trace_view.json") -> TraceSummary:
    """A file of 6 bars on three tracks, cut and with two faults."""
    return TraceSummary(
        file=name,
        objects=12,
        by_phase={"M": 3, "X": 7, "f": 1, "s": 1},
        bars=6,
        tracks=frame(
            {
                "process": pl.String,
                "thread": pl.String,
                "role": pl.String,
                "device": pl.Int64,
                "bars": pl.UInt32,
            },
            {"process": "Python", "thread": name, "role": "python_main", "bars": 3},
            {
                "process": "Ascend Hardware",
                "thread": "Stream 2",
                "role": "device_stream",
                "device": 0,
                "bars": 2,
            },
            {
                "process": "Ascend Hardware",
                "thread": "Stream 3",
                "role": "device_stream",
                "device": 0,
                "bars": 1,
            },
        ),
        roles=frame(
            {"role": pl.String, "tracks": pl.Int64, "bars": pl.Int64},
            {"role": "python_main", "tracks": 1, "bars": 3},
            {"role": "device_stream", "tracks": 2, "bars": 3},
        ),
        flows=frame(
            {"kind": pl.String, "count": pl.Int64, "tied": pl.Int64, "tied_share": pl.Float64},
            {"kind": "async_npu", "count": 4, "tied": 3, "tied_share": 0.75},
        ),
        faults=frame(
            {"kind": pl.String, "count": pl.Int64, "example": pl.String, "lost": pl.Boolean},
            {"kind": "no_ts", "count": 2, "example": name, "lost": True},
            {"kind": "late_metadata", "count": 1, "example": name, "lost": False},
        ),
        repaired=0,
        lost_events=2,
        lost_bytes=77,
        damaged=True,
    )


def full_source(name: str = "MatMulV2", shapes: str = "4096,512;512,1024", rows: int = 1) -> Source:
    """A training capture of which everything is known, one step left out as compile iteration."""
    both = captures(0, 1)
    step = {
        "computing_ns": 495_000,
        "communication_ns": 470_000,
        "not_overlapped_ns": 235_000,
        "overlapped_ns": 235_000,
        "free_ns": 215_000,
        "stage_ns": 915_000,
        "bubble_ns": 30_000,
        "preparing_ns": 100_000,
        "wall_ns": 945_000,
    }
    span = NamedTime(945_000, "device_step_span")
    metrics = single_metrics(
        iterations=Iterations(2, "step_trace_time", False, 9_000_000, "step_trace_time", 9, None),
        step=span,
        device_step=span,
        op_time=NamedTime(495_000, "kernels"),
        headline=("step", span),
        op_share=0.6972,
        op_share_of="computing_free",
        dispatch_bound=True,
        step_trace=StepDecomposition(
            **step,
            copies_ns=None,
            exposed_share=0.5,
            free_share=215 / 945,
            exposed_flagged=True,
            free_flagged=True,
            whole_run=False,
        ),
        steps=frame(
            STEP_SCHEMA,
            {**step, "step": "9", "wall_ns": 9_000_000, "excluded": True},
            *({**step, "step": str(number), "excluded": False} for number in (10, 11)),
        ),
        throughput=Throughput(541_798.941, "samples_per_s"),
        checks=(
            CrossCheck("op_statistic_kernels", 990_000, 990_000, 0.0, agrees=True),
            CrossCheck("kernels_computing", 990_000, 900_000, 0.0909, agrees=False),
        ),
    )
    return Source(
        profile=Profile(ROOT, "run7", both),
        capture=both[0],
        scenario=Scenario(
            framework="pytorch",
            framework_evidence=(),
            stacks=(Stack("Inductor", (Evidence("dump_inductor_code"),)), Stack("TorchAir", ())),
            stack_decided=False,
            scenario="training",
            scenario_evidence=(Evidence("gradient_operators", {"count": 1, "names": name}),),
            mode="inductor_triton",
            mode_evidence=(),
            dynamic_shape=False,
            dynamic_evidence=(),
            fusion=Fusion(
                True, (FusedKind("triton_poi_fused_", 2, 9, 4_000, 0.4, (name, "add")),), (name, "b"), 0.4
            ),
        ),
        metrics=metrics,
        operators=operator_tables(name, shapes, rows),
        host=host_tables(name),
        host_operators=framework_operators(name),
        copies=copy_tables(),
        custom_operators=custom_kernels(name),
        trace_summary=summary_of_trace(name),
        phases=phase_fixtures.phases(name),
        trees=(phase_fixtures.call_tree(name), phase_fixtures.aten_tree(name)),
        options=Options(batch_size=512, facts={"cann": name}),
        metadata=Metadata("Level1", "PipeUtilization", "910B1", Cores(24, 48), {"torch_npu": name}),
        cores=Cores(24, 48, "chip_table"),
        files=(
            FileEntry("kernel_details", name, 10, 24, "read", None),
            FileEntry("op_summary", "op_summary.csv", 10, None, "passed_over", "passed_over.same_kernels"),
            FileEntry("trace_view", "trace_view.json", 10, None, "listed", None),
            FileEntry("api_statistic", "api_statistic.csv", 10, None, "failed", None),
        ),
        missing=(
            MissingFile("step_trace_time", ("step_decomposition",), "step"),
            MissingFile("op_statistic", ("cross_check",), "level1"),
        ),
        notes=(
            Note("file_unreadable", {"kind": name, "reason": name}, name, 3, damage=True),
            Note("no_rows", {}, "op_statistic.csv"),
        ),
        damaged=True,
    )


def ge_source() -> Source:
    """The inference example of EXPECTED.md 2.1: 50 / 300 / 20, iteration 370, device iteration 234."""
    one = captures(None, producer="msprof")
    total = NamedTime(370_000, "sum_of_parts")
    base = full_source()
    api = "api_statistic_model"
    return Source(
        profile=Profile(ROOT, "PROF_1", one),
        capture=one[0],
        scenario=Scenario(
            framework="ge",
            framework_evidence=(),
            stacks=(Stack("GE-API", ()),),
            stack_decided=True,
            scenario="inference",
            scenario_evidence=(),
            mode="ge",
            mode_evidence=(),
            dynamic_shape=True,
            dynamic_evidence=(),
            fusion=Fusion(False, (), (), 0.0),
        ),
        metrics=single_metrics(
            iterations=Iterations(3, "sync_count", True, None, None, None, None),
            h2d=NamedTime(50_000, api, 50 / 370),
            model_execute=NamedTime(300_000, api, 300 / 370),
            d2h=NamedTime(20_000, api, 20 / 370),
            iteration=total,
            device_iteration=NamedTime(234_000, "step_trace"),
            op_time=NamedTime(200_000, "kernels"),
            headline=("iteration", total),
            op_share=0.97,
            dispatch_bound=False,
            throughput=Throughput(2702.7027, "iterations_per_s"),
            instance_room=2,
        ),
        operators=base.operators,
        host=base.host,
    )


def level0_source() -> Source:
    """A capture without types, ratios, statistics and steps; the whole run is one row."""
    one = captures(0)
    operators = operator_tables()
    assert isinstance(operators.top, pl.DataFrame)
    bare = operators.top.with_columns(
        pl.lit("MatMul_12").alias("name"),
        *(
            pl.lit(None, dtype).alias(name)
            for name, dtype in TOP_SCHEMA.items()
            if name in {"op_type", "core_type", "block_num", "cube_utilization_pct", *RATIOS}
        ),
    )
    missing = Missing(("op_statistic",), "level1")
    wall = NamedTime(900_000, "step_trace_time")
    return Source(
        profile=Profile(ROOT, "rank0_ascend_pt", one),
        capture=one[0],
        scenario=unknown_scenario(),
        metrics=single_metrics(
            iterations=Iterations(1, "whole_run", False, None, None, None, None),
            op_time=NamedTime(10_000, "kernels"),
            headline=("wall", wall),
            step_trace=StepDecomposition(
                500_000, 0, 0, 0, 400_000, None, None, None, None, 900_000, None, 0.02, None, False, True
            ),
            steps=frame(STEP_SCHEMA, {"computing_ns": 500_000, "excluded": False}),
        ),
        operators=Operators(
            source="kernels",
            by_type=missing,
            by_core_type=missing,
            communication=frame(COMMUNICATION_SCHEMA),
            top=bare,
            shapes=bare,
            problems=missing,
            extras=(),
            core_use=missing,
            compute_ns=10_000,
            communication_ns=0,
        ),
        host=Missing(("api_statistic",), "api"),
        missing=(MissingFile("api_statistic", ("host",), "api"),),
    )


def kineto_source() -> Source:
    """A GPU capture: one trace and nothing else, without faults and without arrows."""
    one = captures(None)
    summary = summary_of_trace("rank0.pt.trace.json")
    return Source(
        profile=Profile(ROOT, "gpu", one),
        capture=one[0],
        scenario=unknown_scenario(),
        metrics=single_metrics(),
        operators=Missing(("kernel_details", "op_summary"), "level1"),
        host=Missing(("api_statistic",), "api"),
        host_operators=replace(
            framework_operators("aten::mm"), steps=None, outside=0, partial=0, verdicts=()
        ),
        copies=Copies(
            frame(COPY_SCHEMA),
            frame(COPY_ITERATION_SCHEMA),
            frame(COPY_BAR_SCHEMA),
            "none",
            outside=0,
            cut_short=False,
        ),
        trace_summary=replace(
            summary,
            flows=summary.flows.clear(),
            faults=summary.faults.clear(),
            repaired=0,
            lost_events=0,
            lost_bytes=0,
            damaged=False,
        ),
    )


def empty_source() -> Source:
    """A capture whose only table could not be read."""
    one = captures(None)
    return Source(
        profile=Profile(ROOT, "odd", one),
        capture=one[0],
        scenario=unknown_scenario(),
        metrics=single_metrics(),
        operators=Missing(("kernel_details", "op_summary"), "level1", unreadable=True),
        host=Missing(("api_statistic",), "api"),
    )


def statistic_source() -> Source:
    """An inference capture with op_statistic in place of kernels, whose host never waits."""
    base = ge_source()
    assert isinstance(base.operators, Operators)
    missing = Missing(("kernel_details", "op_summary"), "task_time")
    none = frame(API_SCHEMA)
    device = NamedTime(234_000, "step_trace")
    return replace(
        base,
        metrics=single_metrics(
            device_iteration=device, headline=("device_iteration", device), op_share=0.85, dispatch_bound=True
        ),
        operators=replace(
            base.operators,
            source="op_statistic",
            top=missing,
            problems=missing,
            core_use=missing,
            extras=(),
            unjudged_problems=(),
        ),
        host=Host(
            apis=none,
            top=none,
            watched=none,
            one_off=none,
            verdicts=(Verdict("stream_sync", "iteration", 0.0, 0, None, flagged=False),),
        ),
    )


def calm_source() -> Source:
    """A long training run in which nothing is over a limit."""
    base = full_source()
    assert isinstance(base.operators, Operators)
    assert isinstance(base.metrics.steps, pl.DataFrame)
    assert isinstance(base.metrics.step_trace, StepDecomposition)
    return replace(
        base,
        metrics=replace(
            base.metrics,
            steps=pl.concat([base.metrics.steps] * 20),
            step_trace=replace(base.metrics.step_trace, exposed_flagged=False, free_flagged=False),
            dispatch_bound=False,
        ),
        operators=replace(
            base.operators,
            top=frame(TOP_SCHEMA),
            problems=frame(PROBLEM_SCHEMA),
            extras=(Extra("matmul_hf32_off", 1, 10_000, 0.1, 0.2, flagged=False),),
            unjudged_problems=(),
        ),
    )


ALL_SOURCES = {
    "full": full_source,
    "ge": ge_source,
    "level0": level0_source,
    "empty": empty_source,
    "statistic": statistic_source,
    "calm": calm_source,
    "kineto": kineto_source,
}
