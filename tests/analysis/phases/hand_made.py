"""A few events by hand, classified by the built-in rules, for tests of phases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from analysis.host_bars import host_bars
from analysis.iterations import Iterations
from analysis.phases.attribution import phase_times
from analysis.phases.classify import classify
from analysis.phases.model import PHASES, Classified, PhaseTimes, Windows
from analysis.phases.rules import load_rules
from analysis.phases.slices import slices
from analysis.phases.windows import find_windows
from analysis.trace.steps import trace_steps
from tests.analysis.trace.builder import MAIN, bar, timeline

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.trace.model import Trace

WORKER = ("Python", "Thread 142")


def op(name: str, start: float, duration: float, thread: tuple[str, str] = MAIN) -> dict[str, Any]:
    """An operator or range, times in us."""
    return bar(name, thread, start, duration, "cpu_op")


def step(number: int, start: float, duration: float) -> dict[str, Any]:
    """A step marked on the main thread, times in us."""
    return op(f"ProfilerStep#{number}", start, duration)


@dataclass(frozen=True)
class Case:
    """Events, and what the phase analysis makes of them."""

    trace: Trace
    windows: Windows
    classified: Classified

    @property
    def slices(self) -> pl.DataFrame:
        """The pieces of every thread."""
        return slices(self.classified, self.windows)

    @property
    def times(self) -> PhaseTimes:
        """The phase tables."""
        return phase_times(self.classified, self.windows, self.slices, self.trace, trace_steps(self.trace))


def averages(excluded: int | None = None) -> Iterations:
    """Which step the averages leave out."""
    first_ns = None if excluded is None else 1
    return Iterations(1, "profiler_step", False, first_ns, None, excluded, None)


def case(*events: dict[str, Any], rules: Path | None = None, excluded: int | None = None) -> Case:
    """The events as one trace, nothing added."""
    trace = timeline(*events)
    steps = trace_steps(trace)
    bars = host_bars(trace, steps)
    windows = find_windows(trace, bars, steps, averages(excluded))
    assert windows is not None
    return Case(trace, windows, classify(bars, load_rules(rules), windows))


def classified(*events: dict[str, Any], rules: Path | None = None) -> Classified:
    """The events inside one step of 1000 us, classified."""
    return case(step(7, 0, 1000), *events, rules=rules).classified


def row_of(found: Classified, name: str) -> int:
    """Row of the only bar of that name."""
    rows = (found.bars.frame["name"].cast(pl.String) == name).arg_true()
    assert rows.len() == 1, name
    return int(rows[0])


def phase_of(found: Classified, name: str) -> str | None:
    """Its phase."""
    code = int(found.phase[row_of(found, name)])
    return PHASES[code] if code >= 0 else None


def decided_by(found: Classified, name: str) -> str | None:
    """Name of the bar that decided its phase."""
    origin = int(found.origin[row_of(found, name)])
    return None if origin < 0 else str(found.bars.frame["name"][origin])
