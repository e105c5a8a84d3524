"""The inference sample as msprof writes it: a static GE graph, pipe utilisation, twenty iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.demo.answers import Answers, inference_answers
from analysis.demo.files import (
    NOT_AVAILABLE,
    JsonObject,
    moment_cell,
    us_text,
    write_json,
    write_msprof_csv,
)
from analysis.demo.inference_model import graph
from analysis.demo.inference_run import COPY_STREAM, HOST_CPU_STREAM, MAIN_STREAM, InferenceRun, play
from analysis.demo.intervals import Interval
from analysis.demo.tables import (
    API_STATISTIC_HEADER,
    CORE_FREQUENCY_MHZ,
    CUBE_CORES,
    KERNEL_HEADER,
    OP_STATISTIC_HEADER,
    TASK_TIME_HEADER,
    VECTOR_CORES,
    api_statistic_rows,
    kernel_rows,
    op_statistic_rows,
    task_time_rows,
)
from analysis.demo.timeline import (
    CANN,
    HARDWARE,
    OVERLAP,
    bar,
    copy_bars,
    kernel_bars,
    layer_pid,
    overlap_bars,
    overlap_intervals,
    process,
)

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.demo.files import Cell

FOLDER = "PROF_000001_20260113140000456_KQHGRMDBAJNCEFLP"
WRITTEN = "20260113140130"
PROCESS = 6118
MODEL_ID, MODEL_NAME = 1, "rank_dlrm"
STEP_TRACE_HEADER = (
    "Device_id", "Iteration ID", "FP Start(us)", "BP End(us)", "Iteration End(us)", "Iteration Time(us)",
    "FP to BP Time(us)", "Iteration Refresh(us)", "Data Aug Bound(us)", "Model ID",
)  # fmt: skip
FUSION_HEADER = (
    "Device_id", "Model Name", "Model ID", "Fusion Op", "Original Ops", "Memory Input(KB)",
    "Memory Output(KB)", "Memory Weight(KB)", "Memory Workspace(KB)", "Memory Total(KB)",
)  # fmt: skip


def write_inference(folder: Path) -> tuple[Path, Answers]:
    """Write the capture into ``folder``; its path and the answers."""
    run = play()
    path = folder / FOLDER
    output = path / "mindstudio_profiler_output"
    for each in (output, path / "device_0", path / "host"):
        each.mkdir(parents=True, exist_ok=True)
    write_json(path / "device_0" / "info.json.0", _device_info())
    write_json(path / "host" / "info.json", _host_info())
    _write_tables(output, run)
    write_json(output / f"msprof_{WRITTEN}.json", _trace(run))
    return path, inference_answers(run, (CUBE_CORES, VECTOR_CORES))


def _write_tables(output: Path, run: InferenceRun) -> None:
    kernels = kernel_rows(run.kernels, model_id=MODEL_ID, state="static")
    tables = (
        ("op_summary", KERNEL_HEADER, [cells for _, cells in kernels]),
        ("op_statistic", OP_STATISTIC_HEADER, op_statistic_rows(run.kernels)),
        ("api_statistic", API_STATISTIC_HEADER, api_statistic_rows(run.calls)),
        ("task_time", TASK_TIME_HEADER, task_time_rows(run.kernels, run.copies)),
        ("step_trace", STEP_TRACE_HEADER, _step_trace_rows(run)),
        ("fusion_op", FUSION_HEADER, _fusion_rows()),
    )
    for name, header, rows in tables:
        write_msprof_csv(output / f"{name}_{WRITTEN}.csv", header, rows)


def _step_trace_rows(run: InferenceRun) -> list[list[Cell]]:
    """Inference has neither forward start nor backward end."""
    return [
        [
            0, iteration.number, NOT_AVAILABLE, NOT_AVAILABLE, moment_cell(iteration.device_end_ns),
            us_text(iteration.device_end_ns - iteration.device_start_ns), NOT_AVAILABLE, NOT_AVAILABLE,
            NOT_AVAILABLE, MODEL_ID,
        ]
        for iteration in run.iterations
    ]  # fmt: skip


def _fusion_rows() -> list[list[Cell]]:
    """Every fused operator with the operators it came from; memory in KB, from the shapes' elements."""
    rows: list[list[Cell]] = []
    for node in graph():
        if len(node.origins) < 2:
            continue
        inputs, outputs = (_kilobytes(side.shapes) for side in (node.operator.inputs, node.operator.outputs))
        rows.append(
            [
                "host", MODEL_NAME, MODEL_ID, node.operator.name, ";".join(node.origins),
                us_text(inputs), us_text(outputs), "0.000", "0.000", us_text(inputs + outputs),
            ]
        )  # fmt: skip
    return rows


def _kilobytes(shapes: str) -> int:
    """Thousandths of a KB that half-precision operands of these shapes take."""
    elements = 0
    for shape in shapes.split(";"):
        size = 1
        for dimension in shape.split(","):
            size *= int(dimension)
        elements += size
    return elements * 2 * 1000 // 1024


def _device_info() -> JsonObject:
    return {
        "DeviceInfo": [
            {
                "id": 0,
                "ai_core_num": CUBE_CORES,
                "aiv_num": VECTOR_CORES,
                "aic_frequency": str(CORE_FREQUENCY_MHZ),
                "ctrl_cpu_num": 1,
                "ai_cpu_num": 6,
            }
        ],
        "devices": "0",
        "pid": str(PROCESS),
    }


def _host_info() -> JsonObject:
    return {"pid": str(PROCESS), "pid_name": "rank_server", "version": "1.0", "devices": ""}


def _trace(run: InferenceRun) -> list[JsonObject]:
    cann, hardware, overlap = (layer_pid(PROCESS, layer) for layer in (CANN, HARDWARE, OVERLAP))
    streams = [(stream, f"Stream {stream}") for stream in (COPY_STREAM, MAIN_STREAM, HOST_CPU_STREAM)]
    events = process(cann, "CANN", "CPU", CANN, [(PROCESS, f"Thread {PROCESS}")])
    events += _host_bars(cann, run)
    events += process(hardware, "Ascend Hardware", "NPU 0", HARDWARE, streams)
    events += kernel_bars(hardware, run.kernels, model_id=MODEL_ID)
    events += copy_bars(hardware, run.copies, model_id=MODEL_ID)
    events += overlap_bars(overlap, overlap_intervals(run.kernels, (), run.copies))
    return events


def _host_bars(pid: int, run: InferenceRun) -> list[JsonObject]:
    prefixes = {"acl": "AscendCL", "model": "Model", "runtime": "Runtime"}
    return [
        bar(
            f"{prefixes[call.level]}@{call.name}",
            (pid, PROCESS),
            Interval(call.start_ns, call.start_ns + call.duration_ns),
            {
                "Thread Id": PROCESS,
                "Mode": call.name,
                "level": call.level,
                "id": "0",
                "item_id": "0",
                "connection_id": 1000 + number,
            },
        )
        for number, call in enumerate(run.calls)
    ]
