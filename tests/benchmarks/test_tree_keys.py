"""How long a tree of a hundred thousand names keeps the user waiting, key by key.

The measure is against putting the same tree's nodes in order by their names, in the same run.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import pytest
from textual.app import App, ComposeResult

from analysis.host_bars import host_bars
from analysis.iterations import Iterations
from analysis.notes import Missing
from analysis.phases.find import find_phases
from analysis.phases.rules import load_rules
from analysis.phases.trees import merged_tree
from analysis.report.columns import columns
from analysis.trace.flows import launches
from analysis.trace.steps import trace_steps
from tests.benchmarks.big_steps import big_steps
from tests.benchmarks.test_frame_table import milliseconds
from widgets.tree_table import TreeTable

if TYPE_CHECKING:
    import polars as pl

BARS, STEPS, NAMES = 250_000, 2, 100_000
RUNS = 5
MILLISECONDS = 100
"""What a key may take on a machine with nothing else to do (spec T6)."""
OF_SORTING = 12
"""Times the sorting of the names, which a busy machine slows down as well."""


class TreeApp(App[None]):
    def compose(self) -> ComposeResult:
        yield TreeTable(columns("name", "total_ns", "self_ns", "calls", "max_ns", "phase", "thread"))


def trees() -> list[pl.DataFrame]:
    """The aten tree of each step."""
    trace = big_steps(BARS, STEPS, NAMES)
    marks, tied = trace_steps(trace), launches(trace)
    iterations = Iterations(STEPS, "profiler_step", False, None, None, None, None)
    phases = find_phases(trace, host_bars(trace, marks), marks, tied, iterations, load_rules())
    assert not isinstance(phases, Missing)
    steps = marks["step"].to_list()
    return [merged_tree(phases.classified, phases.windows, step, {}).nodes for step in steps]


def sorting(nodes: pl.DataFrame) -> float:
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        nodes.sort("name", "node")
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


@pytest.mark.benchmark
async def test_keys_in_a_tree_of_a_hundred_thousand_names(capsys: pytest.CaptureFixture[str]) -> None:
    steps = trees()
    baseline = sorting(steps[0])
    app = TreeApp()
    async with app.run_test(size=(140, 40)) as pilot:
        table = app.query_one(TreeTable)
        table.set_frame(steps[0])
        found = {
            "letter": await milliseconds(pilot, lambda turn: table.set_filter("made."[: turn + 1])),
            "next match": await milliseconds(pilot, lambda _: table.next_match()),
            "sort": await milliseconds(pilot, lambda _: table.cycle_sort()),
            "no filter": await milliseconds(pilot, lambda turn: table.set_filter("" if turn % 2 else "aten")),
        }
        table.set_filter("")
        found["open"] = await milliseconds(pilot, lambda _: table.toggle_branch())
        found["step"] = await milliseconds(pilot, lambda turn: table.set_frame(steps[(turn + 1) % STEPS]))
    told = ", ".join(f"{key} {time:.0f}" for key, time in found.items())
    with capsys.disabled():
        print(  # noqa: T201 - the figures are what a benchmark is for
            f"\ntree of {steps[0].height:,} nodes, ms: {told} (limit {MILLISECONDS}); "
            f"sorting by name {baseline:.0f}, longest {max(found.values()) / baseline:.1f} x"
        )
    assert steps[0].height > 50_000
    assert max(found.values()) <= OF_SORTING * baseline
