"""The phases of one capture, from its trace."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from analysis.notes import Missing
from analysis.phases.asynchrony import pair_verdicts
from analysis.phases.attribution import phase_times
from analysis.phases.classify import classify
from analysis.phases.device_calls import blocked_in_calls
from analysis.phases.prefetch import find_prefetch
from analysis.phases.results import Phases
from analysis.phases.slices import slices
from analysis.phases.tables import wholly_fused
from analysis.phases.variation import step_variation
from analysis.phases.waits import find_waits
from analysis.phases.windows import find_windows

if TYPE_CHECKING:
    import polars as pl

    from analysis.host_bars import HostBars
    from analysis.iterations import Iterations
    from analysis.phases.rules import Rules
    from analysis.trace.model import Trace

_ABSENT: Final = Missing(("trace_view", "kineto_trace"), "step", lacks="host_operators")


def find_phases(
    trace: Trace,
    bars: HostBars,
    steps: pl.DataFrame,
    launches: pl.DataFrame,
    iterations: Iterations,
    rules: Rules,
) -> Phases | Missing:
    """Which phase owns the time of the steps, what waits, what runs side by side, what is fetched ahead.

    Args:
        trace: The trace.
        bars: Its operators and ranges.
        steps: The frame of :func:`analysis.trace.steps.trace_steps`.
        launches: The frame of :func:`analysis.trace.flows.launches`.
        iterations: Which step the averages leave out.
        rules: What names claim.
    """
    windows = find_windows(trace, bars, steps, iterations)
    if windows is None:
        return _ABSENT
    classified = classify(bars, rules, windows)
    classified = replace(classified, in_calls_ns=blocked_in_calls(classified, windows, trace))
    pieces = slices(classified, windows)
    times = phase_times(classified, windows, pieces, trace, steps)
    return Phases(
        windows=windows,
        classified=classified,
        times=times,
        waits=find_waits(classified, windows, trace),
        pairs=pair_verdicts(classified, windows, pieces, launches, trace, fused=wholly_fused(times)),
        prefetch=find_prefetch(classified, windows),
        variation=step_variation(classified, windows, times, pieces),
    )
