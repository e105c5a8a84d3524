"""The training sample as torch_npu writes it: one rank, Level1, pipe utilisation, six steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.demo.answers import Answers, training_answers
from analysis.demo.communication import communication_json
from analysis.demo.files import JsonObject, write_json, write_msprof_csv, write_torch_csv
from analysis.demo.tables import (
    API_STATISTIC_HEADER,
    KERNEL_HEADER,
    OP_STATISTIC_HEADER,
    OUTSIDE_GRAPHS,
    RENAMED_BY_TORCH,
    api_statistic_rows,
    kernel_rows,
    op_statistic_rows,
)
from analysis.demo.timeline import OVERLAP_THREADS, overlap_intervals
from analysis.demo.training_run import EPOCH_NS, FIRST_STEP, MAIN_THREAD, STEPS, TrainingRun, play
from analysis.demo.training_trace import training_trace

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.demo.files import Cell
    from analysis.demo.intervals import Interval
    from analysis.demo.training_run import Step

FOLDER = f"rec01_{MAIN_THREAD}_20260112093000123_ascend_pt"
STEP_TRACE_TIME_HEADER = (
    "Device_id", "Step", "Computing", "Communication(Not Overlapped)", "Overlapped", "Communication", "Free",
    "Stage", "Bubble", "Communication(Not Overlapped and Exclude Receive)", "Preparing",
)  # fmt: skip


def write_training(folder: Path) -> tuple[Path, Answers]:
    """Write the capture into ``folder``; its path and the answers."""
    run = play()
    path = folder / FOLDER
    output = path / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True, exist_ok=True)
    write_json(path / "profiler_info_0.json", _profiler_info(run), indent=4)
    write_json(path / "profiler_metadata.json", _profiler_metadata(), indent=4)
    _write_tables(output, run)
    write_json(
        output / "communication.json",
        communication_json([step.number for step in run.steps], run.collectives),
    )
    write_json(output / "trace_view.json", training_trace(run))
    return path, training_answers(run)


def _write_tables(output: Path, run: TrainingRun) -> None:
    rows = kernel_rows((*run.kernels, *run.collectives), model_id=OUTSIDE_GRAPHS, state="dynamic")
    write_torch_csv(
        output / "kernel_details.csv",
        ("Step Id", *(RENAMED_BY_TORCH.get(name, name) for name in KERNEL_HEADER)),
        ([step, *cells] for step, cells in rows),
    )
    write_torch_csv(output / "step_trace_time.csv", STEP_TRACE_TIME_HEADER, step_trace_time_rows(run))
    # These two are copies of what msprof wrote: LF where torch_npu's own tables have CR LF.
    write_msprof_csv(output / "op_statistic.csv", OP_STATISTIC_HEADER, op_statistic_rows(run.kernels))
    write_msprof_csv(output / "api_statistic.csv", API_STATISTIC_HEADER, api_statistic_rows(run.calls))


def step_trace_time_rows(run: TrainingRun) -> list[list[Cell]]:
    """One row a step, added up in floats as torch_npu does, bars credited whole to where they start."""
    bars = overlap_intervals(run.kernels, run.collectives, run.copies)
    return [_step_row(step, bars) for step in run.steps]


def _step_row(step: Step, bars: dict[str, list[Interval]]) -> list[Cell]:
    mine = {
        name: [one for one in bars[name] if step.start_ns <= one.start_ns < step.end_ns]
        for name in OVERLAP_THREADS
    }
    computing, communication, exposed, free = (
        sum(one.length_ns / 1000 for one in mine[name]) for name in OVERLAP_THREADS
    )
    everything = [one for bars_of_kind in mine.values() for one in bars_of_kind]
    stage = max(one.end_ns for one in everything) / 1000 - min(one.start_ns for one in everything) / 1000
    first = min(one.start_ns for one in mine["Computing"] + mine["Communication"])
    preparing = first / 1000 - step.start_ns / 1000
    return [
        0, step.number, computing, exposed, communication - exposed, communication, free, stage, 0, exposed,
        preparing,
    ]  # fmt: skip


def _profiler_info(run: TrainingRun) -> JsonObject:
    return {
        "config": {
            "common_config": {
                "activities": ["ProfilerActivity.CPU", "ProfilerActivity.NPU"],
                "schedule": {
                    "wait": 0,
                    "active": STEPS,
                    "warmup": 5,
                    "repeat": 1,
                    "skip_first": FIRST_STEP - 5,
                },
                "record_shapes": False,
                "profile_memory": False,
                "with_stack": False,
                "with_flops": False,
                "with_modules": False,
            },
            "experimental_config": {
                "_profiler_level": "Level1",
                "_aic_metrics": "ACL_AICORE_PIPE_UTILIZATION",
                "_l2_cache": False,
                "_msprof_tx": False,
                "_data_simplification": True,
                "record_op_args": False,
                "_export_type": ["text"],
            },
        },
        "start_info": {"syscnt_enable": True, "freq": 100, "start_cnt": 1, "start_monotonic": 10},
        "end_info": {
            "collectionTimeEnd": run.steps[-1].end_ns,
            "MonotonicTimeEnd": 10 + run.steps[-1].end_ns - EPOCH_NS,
        },
        "torch_npu_version": "2.7.1",
        "cann_version": "8.3.RC1",
        "rank_id": 0,
    }


def _profiler_metadata() -> JsonObject:
    return {
        "ENV_VARIABLES": {
            "ASCEND_GLOBAL_LOG_LEVEL": "",
            "TASK_QUEUE_ENABLE": "1",
            "PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True",
            "ASCEND_LAUNCH_BLOCKING": "",
        },
        "distributed_args": {"world_size": 8},
    }
