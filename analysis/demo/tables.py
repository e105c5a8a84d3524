"""The tables both profilers write: kernels, op_statistic, api_statistic, task_time."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from analysis.demo.files import NOT_AVAILABLE, Cell, moment_cell, per_mille_text, shape_cell, us_text
from analysis.demo.records import Kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from analysis.demo.records import ApiCall, Collective, Copy, Pipes

OUTSIDE_GRAPHS = 4_294_967_295
"""Model ID of kernels that belong to no graph."""

CORE_FREQUENCY_MHZ = 1800
CUBE_CORES, VECTOR_CORES = 24, 48

KERNEL_HEADER = (
    "Device_id", "Model ID", "Task ID", "Stream ID", "Op Name", "OP Type", "OP State", "Task Type",
    "Task Start Time(us)", "Task Duration(us)", "Task Wait Time(us)", "Block Num", "Mix Block Num",
    "HF32 Eligible", "Input Shapes", "Input Data Types", "Input Formats", "Output Shapes",
    "Output Data Types", "Output Formats", "Context ID",
    "aicore_time(us)", "aic_total_cycles", "aic_mac_time(us)", "aic_mac_ratio", "aic_scalar_time(us)",
    "aic_scalar_ratio", "aic_mte1_time(us)", "aic_mte1_ratio", "aic_mte2_time(us)", "aic_mte2_ratio",
    "aic_fixpipe_time(us)", "aic_fixpipe_ratio", "aic_icache_miss_rate",
    "aiv_time(us)", "aiv_total_cycles", "aiv_vec_time(us)", "aiv_vec_ratio", "aiv_scalar_time(us)",
    "aiv_scalar_ratio", "aiv_mte2_time(us)", "aiv_mte2_ratio", "aiv_mte3_time(us)", "aiv_mte3_ratio",
    "aiv_icache_miss_rate", "cube_utilization(%)",
)  # fmt: skip
FIRST_COUNTER = KERNEL_HEADER.index("aicore_time(us)")
OP_STATISTIC_HEADER = (
    "Device_id", "OP Type", "Core Type", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)",
    "Max Time(us)", "Ratio(%)",
)  # fmt: skip
API_STATISTIC_HEADER = (
    "Device_id", "Level", "API Name", "Time(us)", "Count", "Avg(us)", "Min(us)", "Max(us)", "Variance",
)  # fmt: skip
TASK_TIME_HEADER = (
    "Device_id", "kernel_name", "kernel_type", "stream_id", "task_id", "task_time(us)", "task_start(us)",
    "task_stop(us)",
)  # fmt: skip
RENAMED_BY_TORCH = {
    "Op Name": "Name",
    "OP Type": "Type",
    "Task Type": "Accelerator Core",
    "Task Start Time(us)": "Start Time(us)",
    "Task Duration(us)": "Duration(us)",
    "Task Wait Time(us)": "Wait Time(us)",
}


def kernel_rows(
    tasks: Iterable[Kernel | Collective], *, model_id: int, state: str
) -> list[tuple[int, list[Cell]]]:
    """The step and the cells of every kernel and collective, by start; the wait column looks one row back."""
    rows: list[tuple[int, list[Cell]]] = []
    previous_end_ns: int | None = None
    for task in sorted(tasks, key=lambda task: task.start_ns):
        wait = "0" if previous_end_ns is None else f"{us_text(max(0, task.start_ns - previous_end_ns))}000"
        previous_end_ns = task.end_ns
        times = (moment_cell(task.start_ns), us_text(task.duration_ns), wait)
        if isinstance(task, Kernel):
            rows.append((task.step, _kernel_cells(task, times, model_id, state)))
        else:
            rows.append((task.step, _collective_cells(task, times, model_id)))
    return rows


def _kernel_cells(kernel: Kernel, times: tuple[str, str, str], model_id: int, state: str) -> list[Cell]:
    operator = kernel.operator
    return [
        0, model_id, kernel.task, kernel.stream, operator.name, operator.op_type, state, operator.core,
        *times, operator.block, operator.mix_block, operator.hf32,
        shape_cell(operator.inputs.shapes), operator.inputs.dtypes, operator.inputs.formats,
        shape_cell(operator.outputs.shapes), operator.outputs.dtypes, operator.outputs.formats,
        NOT_AVAILABLE, *_counter_cells(kernel),
    ]  # fmt: skip


def _collective_cells(collective: Collective, times: tuple[str, str, str], model_id: int) -> list[Cell]:
    known: list[Cell] = [
        0, model_id, NOT_AVAILABLE, NOT_AVAILABLE, collective.name, collective.op_type, NOT_AVAILABLE,
        "COMMUNICATION", *times, 0,
    ]  # fmt: skip
    return known + [NOT_AVAILABLE] * (len(KERNEL_HEADER) - len(known))


def _counter_cells(kernel: Kernel) -> list[Cell]:
    if kernel.pipes is None:
        return [NOT_AVAILABLE] * (len(KERNEL_HEADER) - FIRST_COUNTER)
    return [
        *_cube_cells(kernel.pipes, kernel.duration_ns),
        *_vector_cells(kernel),
        _utilization(kernel.pipes),
    ]


def _utilization(pipes: Pipes) -> str:
    return per_mille_text(pipes.cube_utilization) if pipes.uses_cube else "0"


def _cube_cells(pipes: Pipes, duration_ns: int) -> list[Cell]:
    busy_ns = duration_ns * 95 // 100 if pipes.uses_cube else 0
    # cube_utilization(%) = cycles / (MHz x cores x us) x 100, solved for the cycles.
    cycles = pipes.cube_utilization * CORE_FREQUENCY_MHZ * CUBE_CORES * duration_ns // 100_000_000
    ratios = (pipes.aic_mac, pipes.aic_scalar, pipes.aic_mte1, pipes.aic_mte2, pipes.aic_fixpipe)
    return _side(busy_ns, cycles, ratios, "0.004")


def _vector_cells(kernel: Kernel) -> list[Cell]:
    pipes = kernel.pipes
    if pipes is None or not pipes.uses_vector:
        return _side(0, 0, (0, 0, 0, 0), "0.0")
    blocks = kernel.operator.mix_block if pipes.uses_cube else kernel.operator.block
    busy_ns = kernel.duration_ns * (35 if pipes.uses_cube else 96) // 100
    cycles = busy_ns * CORE_FREQUENCY_MHZ * blocks // 1000
    return _side(busy_ns, cycles, (pipes.aiv_vec, pipes.aiv_scalar, pipes.aiv_mte2, pipes.aiv_mte3), "0.011")


def _side(busy_ns: int, cycles: int, ratios: Sequence[int], miss_rate: str) -> list[Cell]:
    """The counters of one side, cube or vector; a side that did not run holds zeros."""
    if not busy_ns:
        return ["0.0", 0, *["0.0"] * (2 * len(ratios)), "0.0"]
    cells: list[Cell] = [us_text(busy_ns), cycles]
    for ratio in ratios:
        cells += (us_text(busy_ns * ratio // 1000), per_mille_text(ratio))
    return [*cells, miss_rate]


def op_statistic_rows(kernels: Iterable[Kernel]) -> list[list[Cell]]:
    """Kernels by type and core type, largest total first; the ratio is the share of their sum."""
    durations: dict[tuple[str, str], list[int]] = {}
    for kernel in kernels:
        durations.setdefault((kernel.operator.op_type, kernel.operator.core), []).append(kernel.duration_ns)
    everything_ns = sum(map(sum, durations.values()))
    return [
        [
            0, op_type, core, len(values), us_text(sum(values)), us_text(min(values)),
            us_text(round(Fraction(sum(values), len(values)))), us_text(max(values)),
            per_mille_text(round(Fraction(100_000 * sum(values), everything_ns))),
        ]
        for (op_type, core), values in sorted(durations.items(), key=lambda item: (-sum(item[1]), item[0]))
    ]  # fmt: skip


def api_statistic_rows(calls: Iterable[ApiCall]) -> list[list[Cell]]:
    """Host calls by name, then level."""
    durations: dict[tuple[str, str], list[int]] = {}
    for call in calls:
        durations.setdefault((call.name, call.level), []).append(call.duration_ns)
    return [
        [
            "host", level, name, us_text(sum(values)), len(values),
            us_text(round(Fraction(sum(values), len(values)))), us_text(min(values)), us_text(max(values)),
            us_text(_variance(values)),
        ]
        for (name, level), values in sorted(durations.items())
    ]  # fmt: skip


def _variance(values: Sequence[int]) -> int:
    """The population variance in thousandths of a square microsecond."""
    count, total = len(values), sum(values)
    return round(
        Fraction(count * sum(value * value for value in values) - total * total, count * count * 1000)
    )


def task_time_rows(kernels: Iterable[Kernel], copies: Iterable[Copy]) -> list[list[Cell]]:
    """Every device task by start; copies have no kernel name."""
    tasks = [
        (
            kernel.start_ns,
            kernel.end_ns,
            kernel.operator.name,
            kernel.operator.core,
            kernel.stream,
            kernel.task,
        )
        for kernel in kernels
    ] + [
        (copy.start_ns, copy.end_ns, NOT_AVAILABLE, "MEMCPY_ASYNC", copy.stream, copy.task) for copy in copies
    ]
    return [
        [0, name, kind, stream, task, us_text(end - start), moment_cell(start), moment_cell(end)]
        for start, end, name, kind, stream, task in sorted(tasks)
    ]
