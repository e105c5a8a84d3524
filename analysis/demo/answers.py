"""What a correct analysis says about the sample, added up from the sample's own bookkeeping.

Nothing here reads a written file, and nothing here uses the code that writes one: the step times come from
a sweep over all moments at which something starts or ends, not from the intervals the writers draw.
Times are integer nanoseconds; means are rounded half up.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.demo.step_times import StepTimes, step_mean, step_times
from analysis.demo.tallies import (
    ApiTotal,
    ProblemTotal,
    TypeTotal,
    api_totals,
    directions,
    half_up,
    max_block,
    problem_totals,
    totals,
    type_totals,
)

if TYPE_CHECKING:
    from analysis.demo.inference_run import InferenceRun
    from analysis.demo.training_run import TrainingRun


@dataclass(frozen=True, slots=True)
class Answers:
    """The numbers of one sample; None where the scenario has no such number."""

    scenario: str
    """training or inference."""
    recorded: int
    """Steps or iterations in the files."""
    averaged: int
    """Those in the averages: all but the compile iteration."""
    excluded_first_ns: int | None
    """Device time of the compile iteration."""
    excluded_until_ns: int | None
    """Absolute end of the compile iteration."""
    kernels_recorded: int
    """Compute kernels in the kernel file."""
    kernels: int
    """Compute kernels in the averages."""
    collectives: int
    op_statistic: tuple[TypeTotal, ...]
    """As the file holds them: the compile iteration is in them. Total descending, then type, then core."""
    by_type: tuple[TypeTotal, ...]
    """The same without the compile iteration."""
    communication: tuple[TypeTotal, ...]
    compute_ns: int
    """Sum of all kernel durations in the averages."""
    communication_ns: int
    """Sum of all collective durations."""
    op_time_ns: int
    """Kernel time per iteration or step."""
    op_share: float
    """Inference: kernel time / device iterations. Training: kernel time / (Computing + Free)."""
    dispatch_bound: bool
    """op_share below 0.9."""
    problems: tuple[ProblemTotal, ...]
    """Total descending, then problem, name, shapes."""
    apis: tuple[ApiTotal, ...]
    """By level and name."""
    launches: int
    """Calls that hand work to the device: Node launch (training), ModelExecute at Level model (inference)."""
    h2d_ns: int
    """Per iteration. Inference: InputCopy on the host. Training: copies on the device."""
    d2h_ns: int
    model_execute_ns: int | None
    """Per iteration, the compile iteration left out."""
    iteration_ns: int | None
    """h2d + model_execute + d2h."""
    device_iteration_ns: int | None
    host_step_ns: int | None
    """Mean ProfilerStep on the host."""
    device_step_ns: int | None
    """Mean Stage + Bubble."""
    steps: tuple[StepTimes, ...]
    step_mean: StepTimes | None
    exposed_share: float | None
    """Not overlapped / communication over all steps."""
    free_share: float | None
    """Free / (Computing + Not Overlapped + Free) over all steps."""
    cores: tuple[int, int] | None
    """Physical (AIC, AIV) cores where the profile tells."""
    max_block_aic: int
    max_block_aiv: int


def training_answers(run: TrainingRun) -> Answers:
    """The answers to the training sample."""
    count = len(run.steps)
    steps = step_times(run.steps, run.kernels, run.collectives, run.copies)
    computing_ns = sum(step.computing_ns for step in steps)
    free_ns = sum(step.free_ns for step in steps)
    exposed_ns = sum(step.not_overlapped_ns for step in steps)
    compute_ns = sum(kernel.duration_ns for kernel in run.kernels)
    types = type_totals(run.kernels)
    copies = directions(run.copies)
    return Answers(
        scenario="training",
        recorded=count,
        averaged=count,
        excluded_first_ns=None,
        excluded_until_ns=None,
        kernels_recorded=len(run.kernels),
        kernels=len(run.kernels),
        collectives=len(run.collectives),
        op_statistic=types,
        by_type=types,
        communication=totals(((one.op_type, "COMMUNICATION"), one.duration_ns) for one in run.collectives),
        compute_ns=compute_ns,
        communication_ns=sum(one.duration_ns for one in run.collectives),
        op_time_ns=half_up(compute_ns, count),
        op_share=compute_ns / (computing_ns + free_ns),
        dispatch_bound=compute_ns * 10 < (computing_ns + free_ns) * 9,
        problems=problem_totals(run.kernels),
        apis=api_totals(run.calls),
        launches=sum(call.level == "node" and call.name == "launch" for call in run.calls),
        h2d_ns=half_up(copies["host to device"], count),
        d2h_ns=half_up(copies["device to host"], count),
        model_execute_ns=None,
        iteration_ns=None,
        device_iteration_ns=None,
        host_step_ns=half_up(sum(step.end_ns - step.start_ns for step in run.steps), count),
        device_step_ns=half_up(sum(step.stage_ns + step.bubble_ns for step in steps), count),
        steps=steps,
        step_mean=step_mean(steps),
        exposed_share=exposed_ns / sum(step.communication_ns for step in steps),
        free_share=free_ns / (computing_ns + exposed_ns + free_ns),
        cores=None,
        max_block_aic=max_block(run.kernels, ("AI_CORE", "MIX_AIC")),
        max_block_aiv=max_block(run.kernels, ("AI_VECTOR_CORE", "MIX_AIV")),
    )


def inference_answers(run: InferenceRun, cores: tuple[int, int]) -> Answers:
    """The answers to the inference sample, whose first iteration compiles."""
    first, *others = run.iterations
    count = len(others)
    kernels = [kernel for iteration in others for kernel in iteration.kernels]
    compute_ns = sum(kernel.duration_ns for kernel in kernels)
    device_ns = sum(iteration.device_end_ns - iteration.device_start_ns for iteration in others)
    model_ns: dict[str, int] = defaultdict(int)
    for iteration in others:
        for call in iteration.calls:
            if call.level == "model":
                model_ns[call.name] += call.duration_ns
    parts = [half_up(model_ns[name], count) for name in ("InputCopy", "ModelExecute", "OutputCopy")]
    return Answers(
        scenario="inference",
        recorded=len(run.iterations),
        averaged=count,
        excluded_first_ns=first.device_end_ns - first.device_start_ns,
        excluded_until_ns=first.device_end_ns,
        kernels_recorded=len(run.kernels),
        kernels=len(kernels),
        collectives=0,
        op_statistic=type_totals(run.kernels),
        by_type=type_totals(kernels),
        communication=(),
        compute_ns=compute_ns,
        communication_ns=0,
        op_time_ns=half_up(compute_ns, count),
        op_share=compute_ns / device_ns,
        dispatch_bound=compute_ns * 10 < device_ns * 9,
        problems=problem_totals(kernels),
        apis=api_totals(run.calls),
        launches=len(run.iterations),
        h2d_ns=parts[0],
        d2h_ns=parts[2],
        model_execute_ns=parts[1],
        iteration_ns=sum(parts),
        device_iteration_ns=half_up(device_ns, count),
        host_step_ns=None,
        device_step_ns=None,
        steps=(),
        step_mean=None,
        exposed_share=None,
        free_share=None,
        cores=cores,
        max_block_aic=max_block(kernels, ("AI_CORE", "MIX_AIC")),
        max_block_aiv=max_block(kernels, ("AI_VECTOR_CORE", "MIX_AIV")),
    )
