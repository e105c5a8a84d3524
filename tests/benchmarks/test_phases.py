"""How long the phases and both trees of a million operators take, against putting them into each other.

The trace is there by then, and so are its bars and launches: other results need them too.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from analysis.host_bars import host_bars
from analysis.iterations import Iterations
from analysis.notes import Missing
from analysis.phases.find import find_phases
from analysis.phases.model import PHASES
from analysis.phases.representative import representative_step
from analysis.phases.rules import load_rules
from analysis.phases.trees import merged_tree, step_tree
from analysis.trace.flows import launches
from analysis.trace.nesting import nest
from analysis.trace.steps import trace_steps
from tests.benchmarks.big_steps import big_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from analysis.phases.results import Phases, StepTree

pytestmark = pytest.mark.benchmark

BARS = 1_000_000
RUNS = 3
SECONDS = 3
"""What a step of a million operators may take on a machine with nothing else to do."""
OF_NESTING, OF_NESTING_MANY_NAMES = 10, 18
"""Times the nesting of the same bars, which a busy machine slows down as well."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What is timed."""

    phases: Phases
    call_tree: StepTree
    aten_tree: StepTree


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@pytest.mark.parametrize(
    ("steps", "names", "limit"),
    [(1, 0, OF_NESTING), (20, 0, OF_NESTING), (1, 100_000, OF_NESTING_MANY_NAMES)],
    ids=["one step", "twenty steps", "a hundred thousand names"],
)
def test_phases_and_trees(steps: int, names: int, limit: int, capsys: pytest.CaptureFixture[str]) -> None:
    trace = big_steps(BARS, steps, names)
    marks, tied = trace_steps(trace), launches(trace)
    bars = host_bars(trace, marks)
    iterations = Iterations(steps, "profiler_step", False, None, None, None, None)

    def find() -> Found:
        phases = find_phases(trace, bars, marks, tied, iterations, load_rules())
        assert not isinstance(phases, Missing)
        verdicts = {phase: pair.verdict for pair in phases.pairs for phase in pair.phases}
        step = representative_step(phases)
        return Found(
            phases,
            step_tree(phases.classified, phases.windows, step, verdicts),
            merged_tree(phases.classified, phases.windows, None, verdicts),
        )

    found = find()
    runs = [(timed(find), timed(lambda: nest(bars.frame))) for _ in range(RUNS)]
    whole = statistics.median(whole for whole, _ in runs)
    share = statistics.median(whole / nesting for whole, nesting in runs)
    with capsys.disabled():
        print(  # noqa: T201 - the figures are what a benchmark is for
            f"\nphases and both trees of {bars.frame.height:,} operators in {steps} steps, "
            f"{bars.frame['name'].n_unique():,} names, {found.aten_tree.nodes.height:,} paths: "
            f"{whole:.2f} s (limit {SECONDS} s), {share:.1f} x their nesting"
        )
    assert bars.frame.height == BARS
    assert found.aten_tree.nodes.height > 20_000
    times = found.phases.times.mean
    assert times["attributed_ns"].sum() == marks["end_ns"][0] - marks["start_ns"][0]
    assert times.filter(times["attributed_ns"] > 0)["phase"].is_in(PHASES).sum() == len(PHASES)
    assert share <= limit
