"""The trees of a step, and the way down from a node: its occurrences, their kernels, the text of an event."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from analysis.notes import Missing
from analysis.phases.heaviest import heaviest_names
from analysis.phases.occurrences import kernels_of, occurrences, why_node
from analysis.phases.stars_below import stars_below
from analysis.phases.trees import phase_roots
from analysis.phases.waits import syncs_of, waits_of
from analysis.report.columns import COLUMNS, columns, value_text
from analysis.report.escape import visible
from analysis.report.limits import MAX_TIMES_AVERAGE
from analysis.report.tables import OCCURRENCE_KERNELS, OCCURRENCES, STOPS
from analysis.units import count_text
from widgets.level import Level, Story, arranged
from widgets.phase_marks import PhaseTable
from widgets.phase_stories import TITLE_CELLS, phase_name, why_lines
from widgets.safe_text import cut
from widgets.stories import exact_pairs
from widgets.trace_levels import event_level
from widgets.tree_table import TreeTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from analysis.phases.results import Phases, StepTree
    from analysis.report.columns import Column
    from analysis.report.messages import Messages
    from analysis.result import Analysis
    from widgets.level import Row

_CRUMB_CELLS = 40
WHOLE_TRACE = "(whole trace)"
"""Name of the root where no step is known: message ``tree_root.(whole trace)``."""
_NAME = replace(COLUMNS["name"], width=36, words="tree_root")
_NOTABLE_MAX = replace(COLUMNS["max_ns"], key="notable_max_ns")
_CALL_TREE = (
    _NAME,
    *columns(
        "total_ns",
        "self_ns",
        "calls",
        "share",
        "max_ns",
        "phase",
        "star",
        "verdict",
        "thread",
        "rule",
        "origin",
    ),
)
_ATEN_TREE = (
    _NAME,
    *columns("total_ns", "self_ns", "calls", "calls_per_step", "avg_ns"),
    _NOTABLE_MAX,
    *columns("share", "phase", "thread", "star", "rule", "origin"),
)
_KERNELS = (
    *columns("name", "offset_ns"),
    *(column for column in OCCURRENCE_KERNELS if column.key != "name"),
)
_HEAVIEST = columns("name", "self_ns", "calls", "phase")
_FACTS = (
    *columns("total_ns", "self_ns", "share", "calls", "calls_per_step", "avg_ns", "max_ns"),
    replace(COLUMNS["offset_ns"], key="first_start_ns"),
    *columns("phase", "verdict", "thread"),
)


class PhaseLevels:
    """The trees of one analysis. They are built in a thread, when they are opened."""

    def __init__(self, analysis: Analysis, phases: Phases) -> None:
        self._analysis = analysis
        self._phases = phases

    def call_tree(self, step: int | None) -> Level:
        """What a step calls in its order; of the mean, what the step nearest to it does."""
        return self._tree_level(
            lambda messages: messages.text("view.phases.tree"),
            _CALL_TREE,
            lambda: self._analysis.call_tree(step),
            self.call_tree,
        )

    def phase_tree(self, phase: str, step: int | None) -> Level:
        """The parts of that tree that belong to one phase, each below the topmost of its bars."""
        return self._tree_level(
            lambda messages: phase_name(phase, messages),
            _CALL_TREE,
            lambda: self._analysis.call_tree(step),
            lambda other: self.phase_tree(phase, other),
            phase,
        )

    def aten_tree(self, step: int | None) -> Level:
        """All threads and phases side by side, the costliest first."""
        return self._tree_level(
            lambda messages: messages.text("view.aten.tree"),
            _ATEN_TREE,
            lambda: self._analysis.aten_tree(step),
            self.aten_tree,
        )

    def _tree_level(
        self,
        crumb: Callable[[Messages], str],
        shown: tuple[Column, ...],
        build: Callable[[], StepTree | Missing],
        again: Callable[[int | None], Level],
        phase: str | None = None,
    ) -> Level:
        built: list[StepTree] = []

        def read() -> pl.DataFrame | Missing:
            tree = build()
            if isinstance(tree, Missing):
                return tree
            built[:] = [tree]
            nodes = tree.nodes.with_columns(_notable_max(), stars_below=pl.Series(stars_below(tree.nodes)))
            if self._phases.windows.whole_trace:
                root = pl.when(pl.col("parent") == -1).then(pl.col("name").fill_null(WHOLE_TRACE))
                per_step = pl.lit(None, pl.Float64).alias("calls_per_step")
                nodes = nodes.with_columns(root.otherwise("name").alias("name"), per_step)
            return nodes if phase is None else _below(nodes, phase_roots(tree, phase))

        return Level(
            crumb=crumb,
            columns=shown,
            frame=read,
            story=lambda row, messages: self._node_story(built[0], row, messages),
            opens=lambda row: self._occurrences(built[0], row),
            empty="level.no_bars",
            table=TreeTable,
            again=again,
        )

    def _node_story(self, tree: StepTree, row: Row, messages: Messages) -> Story:
        name = cut(value_text(_NAME, row["name"] or "", messages, exact=False), TITLE_CELLS)
        if row["node"] is None:
            return Story(name, (), [messages.text("tree.more_hint")])
        reason = why_node(tree, int(row["node"]), self._phases.classified)
        told = why_lines(row, reason, messages)
        if row["stars_below"]:
            told.append(f"☆ {messages.text('tree.stars_below', {'count': count_text(row['stars_below'])})}")
        return Story(name, exact_pairs(_FACTS, row, messages), lead=told)

    def _occurrences(self, tree: StepTree, row: Row) -> Level | None:
        """Every bar of a node; the root and the nodes of threads have none."""
        if row["node"] is None or row["parent"] == -1 or row["calls"] is None:
            return None
        trace, launches = self._analysis.trace, self._analysis.launches
        if isinstance(trace, Missing) or isinstance(launches, Missing):
            return None
        node, name = int(row["node"]), str(row["name"])
        phases = self._phases
        return Level(
            crumb=lambda _: cut(name, _CRUMB_CELLS),
            columns=arranged(
                _relative(OCCURRENCES),
                None,
                *("step", "offset_ns", "duration_ns", "self_ns", "kernels", "kernel_ns"),
            ),
            frame=lambda: occurrences(tree, node, phases.classified, phases.windows, launches, trace),
            story=lambda bar, messages: Story(visible(name), exact_pairs(OCCURRENCES, bar, messages)),
            opens=lambda bar: self._bar(bar, launches),
            identity=("row",),
        )

    def stops(self, row: Row, step: int | None, title: str) -> Level | None:
        """Every wait, or device sync, that a row of the waits is made of; each opens its event."""
        trace, name = self._analysis.trace, str(row["name"])
        if isinstance(trace, Missing):
            return None
        classified, windows = self._phases.classified, self._phases.windows

        def read() -> pl.DataFrame:
            if row["blocking"] == "wait":
                return waits_of(name, step, classified, windows)
            return syncs_of(name, row["phase"], step, classified, windows, trace)

        return Level(
            crumb=lambda _: cut(name, _CRUMB_CELLS),
            columns=_relative(STOPS),
            frame=read,
            story=lambda stop, messages: Story(title, exact_pairs(STOPS, stop, messages)),
            opens=lambda stop: event_level(self._analysis, int(stop["event"])),
            identity=("event",),
        )

    def heaviest(self, phases: tuple[str, ...], step: int | None, crumb: str) -> Level:
        """The names that phases spend their time in, one phase after the other."""
        classified, windows = self._phases.classified, self._phases.windows

        def read() -> pl.DataFrame:
            return heaviest_names(classified, windows, step).filter(pl.col("phase").is_in(phases))

        return Level(
            crumb=lambda messages: messages.text(crumb),
            columns=_HEAVIEST,
            frame=read,
            story=lambda row, messages: Story(
                cut(row["name"] or "", TITLE_CELLS),
                exact_pairs(_HEAVIEST[1:], row, messages),
                [messages.text("story.heaviest")],
            ),
            opens=lambda row: self.phase_tree(row["phase"], step),
            identity=("phase", "name"),
            table=PhaseTable,
            empty="level.no_bars",
        )

    def _bar(self, bar: Row, launches: pl.DataFrame) -> Level | None:
        """The kernels that a bar launched; of one that launched none, its event."""
        trace, classified = self._analysis.trace, self._phases.classified
        if isinstance(trace, Missing):
            return None
        if not bar["kernels"]:
            return event_level(self._analysis, int(bar["event"]))
        row = int(bar["row"])
        return Level(
            crumb=lambda messages: messages.text("view.phases.kernels"),
            columns=_relative(_KERNELS),
            frame=lambda: kernels_of(row, classified, launches, trace).with_columns(
                offset_ns=pl.col("start_ns") - bar["start_ns"] + pl.lit(bar["offset_ns"], pl.Int64)
            ),
            story=lambda kernel, messages: Story(
                cut(kernel["name"] or "", TITLE_CELLS), exact_pairs(_KERNELS[1:], kernel, messages)
            ),
            opens=lambda kernel: event_level(self._analysis, int(kernel["event"])),
            identity=("event",),
        )


def _relative(shown: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns without the moment of the file, which only the detail tells."""
    return tuple(column for column in shown if column.key != "start_ns")


def _notable_max() -> pl.Expr:
    """The longest call where it is worth naming (spec P3)."""
    notable = pl.col("max_ns") > MAX_TIMES_AVERAGE * pl.col("avg_ns")
    return pl.when(notable).then("max_ns").alias("notable_max_ns")


def _below(nodes: pl.DataFrame, roots: list[int]) -> pl.DataFrame:
    """Some nodes and all below them, in the order of the tree."""
    depth = nodes["depth"].to_list()
    kept: set[int] = set()
    for root in roots:
        if root in kept:
            continue
        end = root + 1
        while end < len(depth) and depth[end] > depth[root]:
            end += 1
        kept.update(range(root, end))
    return nodes[sorted(kept)]
