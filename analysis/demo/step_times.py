"""The sample's step times, by a sweep over all moments at which something starts or ends."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from analysis.demo.tallies import half_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.demo.records import Collective, Copy, Kernel
    from analysis.demo.training_run import Step


@dataclass(frozen=True, slots=True)
class StepTimes:
    """One row of step_trace_time, or the mean of all."""

    step: int | None
    """None for the mean."""
    computing_ns: int
    communication_ns: int
    not_overlapped_ns: int
    overlapped_ns: int
    free_ns: int
    stage_ns: int
    """A difference of two float64 microseconds, as torch_npu computes it: a multiple of 250 ns."""
    bubble_ns: int
    preparing_ns: int
    """Like ``stage_ns``."""
    wall_ns: int


class Stretch(NamedTuple):
    """Moments between which nothing starts or ends."""

    start_ns: int
    end_ns: int
    computing: bool
    communicating: bool


def float_quarters(ns: int) -> int:
    """An absolute moment as a float64 of microseconds holds it: the nearest 250 ns, ties to even."""
    quotient, rest = divmod(ns, 250)
    return 250 * (quotient + (rest > 125 or (rest == 125 and quotient % 2 == 1)))


def step_times(
    steps: Sequence[Step],
    kernels: Sequence[Kernel],
    collectives: Sequence[Collective],
    copies: Sequence[Copy],
) -> tuple[StepTimes, ...]:
    """The rows of step_trace_time.

    Every stretch belongs to the step whose host range holds its start. A free time that lasts into the next
    step belongs whole to the step it starts in (torch_npu's whole-bar rule).
    """
    stretches = _stretches(kernels, collectives, copies)
    return tuple(
        _step_times(step, [one for one in stretches if step.start_ns <= one.start_ns < step.end_ns])
        for step in steps
    )


def _step_times(step: Step, stretches: Sequence[Stretch]) -> StepTimes:
    def total(*kinds: tuple[bool, bool]) -> int:
        return sum(
            one.end_ns - one.start_ns for one in stretches if (one.computing, one.communicating) in kinds
        )

    both, computing, exposed = (True, True), (True, False), (False, True)
    first_busy_ns = min(one.start_ns for one in stretches if one.computing or one.communicating)
    start_ns, end_ns = stretches[0].start_ns, stretches[-1].end_ns
    return StepTimes(
        step=step.number,
        computing_ns=total(both, computing),
        communication_ns=total(both, exposed),
        not_overlapped_ns=total(exposed),
        overlapped_ns=total(both),
        free_ns=total((False, False)),
        stage_ns=float_quarters(end_ns) - float_quarters(start_ns),
        bubble_ns=0,
        preparing_ns=float_quarters(first_busy_ns) - float_quarters(step.start_ns),
        wall_ns=total(both, computing, exposed, (False, False)),
    )


def _stretches(
    kernels: Sequence[Kernel], collectives: Sequence[Collective], copies: Sequence[Copy]
) -> list[Stretch]:
    """The whole run as stretches; neighbouring ones differ in what is going on."""
    # Copies are neither computing nor communication: they only widen the run.
    edges = [moment for copy in copies for moment in (copy.start_ns, copy.end_ns)]
    changes: dict[int, list[int]] = defaultdict(lambda: [0, 0], {moment: [0, 0] for moment in edges})
    for kernel in kernels:
        changes[kernel.start_ns][0] += 1
        changes[kernel.end_ns][0] -= 1
    for collective in collectives:
        changes[collective.start_ns][1] += 1
        changes[collective.end_ns][1] -= 1
    moments = sorted(changes)
    stretches: list[Stretch] = []
    running = [0, 0]
    for start_ns, end_ns in pairwise(moments):
        running = [running[0] + changes[start_ns][0], running[1] + changes[start_ns][1]]
        here = Stretch(start_ns, end_ns, running[0] > 0, running[1] > 0)
        if stretches and stretches[-1][2:] == here[2:]:
            here = here._replace(start_ns=stretches.pop().start_ns)
        stretches.append(here)
    return stretches


def step_mean(steps: Sequence[StepTimes]) -> StepTimes:
    """The mean of all rows, column by column."""
    count = len(steps)
    return StepTimes(
        step=None,
        computing_ns=half_up(sum(step.computing_ns for step in steps), count),
        communication_ns=half_up(sum(step.communication_ns for step in steps), count),
        not_overlapped_ns=half_up(sum(step.not_overlapped_ns for step in steps), count),
        overlapped_ns=half_up(sum(step.overlapped_ns for step in steps), count),
        free_ns=half_up(sum(step.free_ns for step in steps), count),
        stage_ns=half_up(sum(step.stage_ns for step in steps), count),
        bubble_ns=0,
        preparing_ns=half_up(sum(step.preparing_ns for step in steps), count),
        wall_ns=half_up(sum(step.wall_ns for step in steps), count),
    )
