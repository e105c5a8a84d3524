"""The named times at the head of a report: copies, iteration, step, operators, throughput."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from analysis.agreement import CrossCheck, cross_checks, disagreements, operator_statistics
from analysis.copies import copy_notes
from analysis.copy_iterations import DEVICE_TO_HOST, HOST_TO_DEVICE
from analysis.datafile import load_toml
from analysis.iteration_notes import iteration_column, iteration_notes, model_notes, operator_notes
from analysis.iterations import (
    averaged_rows,
    first_is_compile,
    is_whole_run,
    model_call,
    model_iterations,
)
from analysis.notes import Missing, Note
from analysis.steps import StepDecomposition, decompose, device_step_ns, step_frame, step_notes
from analysis.trace_times import copies_in_free_ns, host_step_ns
from analysis.units import mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from analysis.copies import Copies
    from analysis.iterations import Iterations
    from analysis.options import Options
    from analysis.profile.tables import Table
    from analysis.scenario import Scenario
    from analysis.trace_times import Traced


@dataclass(frozen=True, slots=True)
class NamedTime:
    """One of the named times of spec M4, per iteration, with where it comes from."""

    value_ns: int
    source: str
    """Message key below ``source.``."""
    share: float | None = None
    """Of H2D + ModelExecute + D2H, where all three are known."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """Rate of one device; ``unit`` is samples_per_s, iterations_per_s or steps_per_s."""

    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class CoreMetrics:
    """The numbers at the head of the report; ``None`` is unknown, never 0."""

    iterations: Iterations
    h2d: NamedTime | None
    model_execute: NamedTime | None
    d2h: NamedTime | None
    iteration: NamedTime | None
    """H2D + ModelExecute + D2H (GE); None if one of them is unknown."""
    device_iteration: NamedTime | None
    host_step: NamedTime | None
    """Mean ProfilerStep on the host; only the trace tells."""
    device_step: NamedTime | None
    """Mean Stage + Bubble of step_trace_time."""
    step: NamedTime | None
    """max(host_step, device_step) of those known (training, and PyTorch profiles with steps)."""
    op_time: NamedTime | None
    headline: tuple[str, NamedTime] | None
    """Name (iteration, step, device_iteration, model_execute, wall, op_time) and value of the one number
    in the header."""
    op_share: float | None
    op_share_of: str
    """What the share is of: computing_free (PyTorch), device_iteration or model_execute (GE)."""
    dispatch_bound: bool | None
    step_trace: StepDecomposition | Missing
    steps: pl.DataFrame | Missing
    """step, computing_ns, communication_ns, not_overlapped_ns, overlapped_ns, free_ns, stage_ns, bubble_ns,
    preparing_ns, wall_ns, excluded (Boolean)."""
    throughput: Throughput | None
    instance_room: int | None
    """How many more instances the latency budget may allow by arithmetic (floor(budget / iteration) -
    instances); None unless asked for."""
    checks: tuple[CrossCheck, ...]
    notes: tuple[Note, ...]

    @property
    def step_side(self) -> str:
        """Where ``step`` was measured: host_step or device_step."""
        host, device = self.host_step, self.device_step
        on_device = host is None or (device is not None and device.value_ns > host.value_ns)
        return "device_step" if on_device else "host_step"


@dataclass(frozen=True, slots=True)
class _ModelTimes:
    """The host's view of one graph execution."""

    h2d: NamedTime | None
    model_execute: NamedTime | None
    d2h: NamedTime | None
    iteration: NamedTime | None


def core_metrics(
    iterations: Iterations,
    scenario: Scenario,
    options: Options,
    kernels: Table | Missing,
    op_statistic: Table | Missing,
    api_statistic: Table | Missing,
    step_trace: Table | Missing,
    step_trace_time: Table | Missing,
    traced: Traced,
) -> CoreMetrics:
    """The core numbers of one capture, per iteration, the compile iteration left out (spec M2-M7)."""
    model = _model_times(api_statistic, iterations, traced.copies, scenario.framework)
    device_iteration = _device_iteration(step_trace)
    steps = step_trace_time if isinstance(step_trace_time, Missing) else step_frame(step_trace_time)
    whole_run = not isinstance(step_trace_time, Missing) and is_whole_run(step_trace_time)
    decomposition = None
    if not isinstance(steps, Missing):
        copies_ns = copies_in_free_ns(traced, steps)
        decomposition = decompose(steps, whole_run=whole_run, copies_ns=copies_ns)
    device_step = None if isinstance(steps, Missing) or whole_run else _device_step(steps)
    host_step = _host_step(traced, steps, iterations)
    step = _step(scenario, host_step, device_step)
    op_time = _op_time(kernels, op_statistic, iterations)
    op_share = None
    if iterations.source != "single":
        op_share = _op_share(scenario, kernels, steps, op_time, device_iteration or model.model_execute)
    by_steps = scenario.framework != "ge" and not isinstance(steps, Missing)
    ge_share_of = "device_iteration" if device_iteration else "model_execute"
    wall = NamedTime(decomposition.wall_ns, "step_wall") if decomposition else None
    headline = _headline(
        scenario,
        {
            "iteration": model.iteration,
            "step": step,
            "device_iteration": device_iteration,
            "model_execute": model.model_execute,
            "wall": wall,
            "op_time": op_time,
        },
    )
    checks = cross_checks(kernels, op_statistic, step_trace_time, traced)
    notes = (
        *iteration_notes(iterations, step_trace),
        *model_notes(iterations, api_statistic),
        *operator_notes(iterations, kernels, op_time.source if op_time else None),
        *_copy_notes(model, traced.copies),
        *_step_notes(iterations, steps, step_trace_time, whole_run=whole_run),
        *disagreements(checks),
    )
    return CoreMetrics(
        iterations=iterations,
        h2d=model.h2d,
        model_execute=model.model_execute,
        d2h=model.d2h,
        iteration=model.iteration,
        device_iteration=device_iteration,
        host_step=host_step,
        device_step=device_step,
        step=step,
        op_time=op_time,
        headline=headline,
        op_share=op_share,
        op_share_of="computing_free" if by_steps else ge_share_of,
        dispatch_bound=None if op_share is None else op_share < _rules()["dispatch"]["op_share_below"],
        step_trace=decomposition or _absent(step_trace_time),
        steps=steps,
        throughput=_throughput(scenario, options, headline),
        instance_room=_instance_room(scenario, options, headline),
        checks=checks,
        notes=notes,
    )


def _model_times(
    api_statistic: Table | Missing, iterations: Iterations, copies: Copies | Missing, framework: str | None
) -> _ModelTimes:
    """H2D, ModelExecute and D2H (spec M3, M4), and of a graph execution their sum where all three are known.

    Copies are those at Level model, else those of the trace in that direction; of PyTorch those of its steps,
    which are no part of a graph execution.
    """
    h2d = _copy_time(api_statistic, "input_copy", iterations)
    execute = _execute_time(api_statistic, iterations)
    d2h = _copy_time(api_statistic, "output_copy", iterations)
    if not isinstance(copies, Missing):
        of_steps = copies.cut_by == "profiler_step"
        to_device, to_host = _traced_copy(copies, HOST_TO_DEVICE), _traced_copy(copies, DEVICE_TO_HOST)
        if of_steps and framework != "ge" and (to_device or to_host):
            return _ModelTimes(to_device, execute, to_host, None)
        if not of_steps:
            h2d, d2h = h2d or to_device, d2h or to_host
    if h2d is None or execute is None or d2h is None:
        return _ModelTimes(h2d, execute, d2h, None)
    total = h2d.value_ns + execute.value_ns + d2h.value_ns
    if not total:
        return _ModelTimes(h2d, execute, d2h, None)
    return _ModelTimes(
        replace(h2d, share=h2d.value_ns / total),
        replace(execute, share=execute.value_ns / total),
        replace(d2h, share=d2h.value_ns / total),
        NamedTime(total, "sum_of_parts"),
    )


def _traced_copy(copies: Copies, direction: str) -> NamedTime | None:
    found = copies.per_iteration_ns(direction)
    by = "step" if copies.cut_by == "profiler_step" else "model_execute"
    return None if found is None else NamedTime(found, f"trace_copies_{by}")


def _copy_time(api_statistic: Table | Missing, call: str, iterations: Iterations) -> NamedTime | None:
    found = model_call(api_statistic, call)
    if found is None:
        return None
    return NamedTime(
        mean(found.total_ns, iterations.recorded), _with_first("api_statistic_model", iterations)
    )


def _execute_time(api_statistic: Table | Missing, iterations: Iterations) -> NamedTime | None:
    found = model_call(api_statistic, "execute")
    if found is None:
        return None
    # The file tells the longest call, so a compile iteration can be taken out of this total.
    if iterations.excluded_first_ns is not None and found.first_is_compile and found.max_ns is not None:
        without = mean(found.total_ns - found.max_ns, iterations.count)
        return NamedTime(without, "api_statistic_model_without_first")
    return NamedTime(
        mean(found.total_ns, iterations.recorded), _with_first("api_statistic_model", iterations)
    )


def _with_first(source: str, iterations: Iterations) -> str:
    """The source of a total that cannot be freed of the compile iteration, if there is one."""
    return source if iterations.excluded_first_ns is None else f"{source}_with_first"


def _device_iteration(step_trace: Table | Missing) -> NamedTime | None:
    models = () if isinstance(step_trace, Missing) else model_iterations(step_trace)
    if not models:
        return None
    times = models[0].times_ns
    averaged = times[1:] if first_is_compile(times) else times
    return NamedTime(mean(sum(averaged), len(averaged)), "step_trace")


def _device_step(steps: pl.DataFrame) -> NamedTime | None:
    span = device_step_ns(steps)
    return None if span is None else NamedTime(span, "device_step_span")


def _host_step(traced: Traced, steps: pl.DataFrame | Missing, iterations: Iterations) -> NamedTime | None:
    found = host_step_ns(traced.steps, steps, iterations)
    return None if found is None else NamedTime(found, "host_step_mean")


def _step(scenario: Scenario, host: NamedTime | None, device: NamedTime | None) -> NamedTime | None:
    """The larger of host step and device span, where the run has steps (spec M4)."""
    if scenario.scenario != "training" and scenario.framework != "pytorch":
        return None
    if host is None or device is None:
        return host or device
    if host.value_ns >= device.value_ns:
        return NamedTime(host.value_ns, "host_step_larger")
    return NamedTime(device.value_ns, "device_step_larger")


def _op_time(
    kernels: Table | Missing, op_statistic: Table | Missing, iterations: Iterations
) -> NamedTime | None:
    """Operator time per iteration: the sum of compute kernels, communication and copies not among them."""
    if not isinstance(kernels, Missing):
        rows = _iteration_kernels(kernels, iterations)
        if not rows.height:
            return None
        source = "kernels" if iterations.kernels_cut else _with_first("kernels", iterations)
        return NamedTime(mean(int(rows["duration_ns"].sum()), iterations.in_kernels), source)
    if isinstance(op_statistic, Missing):
        return None
    totals = operator_statistics(op_statistic)["total_ns"]
    if not totals.len():
        return None
    return NamedTime(mean(int(totals.sum()), iterations.recorded), _with_first("op_statistic", iterations))


def _iteration_kernels(kernels: Table, iterations: Iterations) -> pl.DataFrame:
    """Operators of the averages that belong to an iteration, of the main model where there are several."""
    columns = ("step", "infer_id", "model_id", "start_ns", "duration_ns")
    rows = averaged_rows(kernels.operators(*columns), iterations)
    if iterations.main_model is not None:
        of_main = rows.filter(pl.col("model_id") == iterations.main_model)
        rows = of_main if of_main.height else rows
    mark = iteration_column(rows, iterations)
    return rows if mark is None else rows.filter(pl.col(mark).is_not_null())


def _op_share(
    scenario: Scenario,
    kernels: Table | Missing,
    steps: pl.DataFrame | Missing,
    op_time: NamedTime | None,
    ge_iteration: NamedTime | None,
) -> float | None:
    """How much of its time the device spends in operators (knowledge/facts.md: op_share).

    PyTorch: op_time / (Computing + Free) over the same steps. GE: op_time / device iteration, else
    / ModelExecute. Above 1 where operators run side by side.
    """
    if scenario.framework != "ge" and not isinstance(steps, Missing) and not isinstance(kernels, Missing):
        return _share_of_steps(kernels, steps)
    if op_time is None or ge_iteration is None or not ge_iteration.value_ns:
        return None
    return op_time.value_ns / ge_iteration.value_ns


def _share_of_steps(kernels: Table, steps: pl.DataFrame) -> float | None:
    operators = kernels.operators("step", "duration_ns")
    if not operators.height:
        return None
    rows = steps.filter(~pl.col("excluded")).with_columns(pl.col("step").cast(pl.Int64, strict=False))
    by_step = operators.drop_nulls("step").group_by("step").agg(pl.col("duration_ns").sum())
    common = rows.join(by_step, on="step")
    if common.height:
        op_ns, busy = int(common["duration_ns"].sum()), common
    elif by_step.height and rows["step"].count():
        return None
    else:
        # Kernels without a step cannot be told apart, so both sides cover everything recorded.
        op_ns, busy = int(operators["duration_ns"].sum()), steps
    busy_ns = int(busy["computing_ns"].sum()) + int(busy["free_ns"].sum())
    return op_ns / busy_ns if busy_ns else None


def _headline(scenario: Scenario, times: Mapping[str, NamedTime | None]) -> tuple[str, NamedTime] | None:
    """The one time that stands for an iteration: the first that is known, in training the step before it."""
    order = ("step", *times) if scenario.scenario == "training" else tuple(times)
    return next(((name, time) for name in order if (time := times[name]) is not None), None)


def _whole_ns(headline: tuple[str, NamedTime] | None) -> int | None:
    """The headline where it is a whole iteration or step; a part of one would make the rate too high."""
    if headline is None or headline[0] not in {"iteration", "step"}:
        return None
    return headline[1].value_ns or None


def _throughput(
    scenario: Scenario, options: Options, headline: tuple[str, NamedTime] | None
) -> Throughput | None:
    """Samples per second with a batch size, else iterations or steps per second (spec M5).

    Inference: batch size x instances x 1000 / iteration in ms; training: batch size x 1000 / step in ms.
    """
    whole_ns = _whole_ns(headline)
    if headline is None or whole_ns is None:
        return None
    training = scenario.scenario == "training"
    per_second = (1 if training else options.instances or 1) * 1_000_000_000 / whole_ns
    by_step = training or headline[0] == "step"
    if options.batch_size is not None:
        return Throughput(options.batch_size * per_second, "samples_per_s")
    return Throughput(per_second, "steps_per_s" if by_step else "iterations_per_s")


def _instance_room(
    scenario: Scenario, options: Options, headline: tuple[str, NamedTime] | None
) -> int | None:
    """How many more inference instances fit the latency budget by arithmetic; 0 if it does not exceed one."""
    whole_ns = _whole_ns(headline)
    if options.latency_ms is None or whole_ns is None or scenario.scenario == "training":
        return None
    budget_ns = round(options.latency_ms * 1_000_000)
    return max(budget_ns // whole_ns - (options.instances or 1), 0)


def _copy_notes(model: _ModelTimes, copies: Copies | Missing) -> Iterator[Note]:
    """Why the trace leaves H2D or D2H unknown; no word where another file tells both."""
    if not isinstance(copies, Missing) and (model.h2d is None or model.d2h is None):
        yield from copy_notes(copies)


def _step_notes(
    iterations: Iterations,
    steps: pl.DataFrame | Missing,
    step_trace_time: Table | Missing,
    *,
    whole_run: bool,
) -> tuple[Note, ...]:
    if isinstance(steps, Missing) or isinstance(step_trace_time, Missing):
        return ()
    return step_notes(steps, iterations, whole_run=whole_run, file=step_trace_time.file)


def _absent(step_trace_time: Table | Missing) -> Missing:
    return step_trace_time if isinstance(step_trace_time, Missing) else Missing(("step_trace_time",), "step")


def _rules() -> dict[str, Any]:
    return load_toml("analysis", "metrics.toml")
