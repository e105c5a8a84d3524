"""Every result of one capture, each computed once on demand."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from analysis.advice.chips import cores_of_chip
from analysis.capture_files import CaptureFiles
from analysis.capture_notes import capture_notes
from analysis.copies import Copies, find_copies
from analysis.custom_operators import CustomOperators, find_custom_operators
from analysis.cut_trace import is_cut, with_lossy
from analysis.findings import find_findings
from analysis.host import Host, find_host
from analysis.host_bars import HostBars, host_bars
from analysis.host_operators import HostOperators, find_host_operators
from analysis.inventory import (
    READ_KINDS,
    TABLE_KINDS,
    FileEntry,
    MissingFile,
    list_files,
    missing_files,
)
from analysis.iterations import Iterations, averaged_kernels, find_iterations
from analysis.metrics import CoreMetrics, core_metrics
from analysis.notes import Missing, Note
from analysis.operators import Extra, Operators, find_operators, with_custom_operators
from analysis.options import Options
from analysis.phases.find import find_phases
from analysis.phases.representative import representative_step
from analysis.phases.rule_use import rule_notes
from analysis.phases.rules import load_rules
from analysis.phases.trees import merged_tree, step_tree
from analysis.profile.tables import Table
from analysis.progress import Cancelled, Progress, ignore_progress, never_cancelled
from analysis.reading import Reading
from analysis.resources import Resources
from analysis.scenario import Scenario, Training, find_scenario, find_training
from analysis.trace.flows import launches
from analysis.trace.step_windows import excluded_step
from analysis.trace.steps import trace_steps
from analysis.trace.summary import TraceSummary, summarize
from analysis.trace_notes import doubts, trace_notes
from analysis.trace_times import Traced

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    import polars as pl

    from analysis.finding import Finding
    from analysis.phases.model import Classified, Windows
    from analysis.phases.results import Phases, StepTree
    from analysis.profile.communication import Communication
    from analysis.profile.discover import Capture, Profile, SourceFile
    from analysis.profile.metadata import Cores, Metadata
    from analysis.trace.model import Trace

    _TreeBuilder: TypeAlias = Callable[[Classified, Windows, int | None, Mapping[str, str]], StepTree]

T = TypeVar("T")

_NO_TRAINING: Final = Missing(READ_KINDS["trace"], "trace", lacks="training")

NO_TRACE: Final = Missing(READ_KINDS["trace"], "trace")
"""Stands for what only a trace tells, where there is none."""


class Analysis:
    """All results of one capture.

    Results are properties, computed when first asked for and then kept; any thread may ask, one computes
    at a time. ``progress`` is told of each file, ``cancelled`` is asked between steps and makes the
    property raise CancelledError; asking again later starts where it stopped. ``operators`` comes without
    the trace, which may take long to read, unless only the trace tells training from inference, or the
    iterations.
    """

    def __init__(
        self,
        profile: Profile,
        capture: Capture,
        options: Options | None = None,
        *,
        progress: Progress = ignore_progress,
        cancelled: Cancelled = never_cancelled,
        resources: Resources | None = None,
    ) -> None:
        self.profile = profile
        self.capture = capture
        self.options = options or Options()
        self.resources = resources or Resources()
        self._reading = Reading(profile.root, progress, cancelled)
        self._read = CaptureFiles(profile, capture, self.resources, self._reading)
        self._lock = threading.RLock()
        self._results: dict[str, object] = {}

    # ---------------------------------------------------------------- files

    @property
    def metadata(self) -> Metadata:
        """What the capture's metadata files tell."""
        return self._once("metadata", self._read.metadata)

    @property
    def kernels(self) -> Table | Missing:
        """kernel_details, or op_summary where a capture has only that."""
        return self._table("kernels")

    @property
    def op_statistic(self) -> Table | Missing:
        """Totals by operator type."""
        return self._table("op_statistic")

    @property
    def api_statistic(self) -> Table | Missing:
        """Totals by host API and level."""
        return self._table("api_statistic")

    @property
    def step_trace(self) -> Table | Missing:
        """Iterations of graph captures."""
        return self._table("step_trace")

    @property
    def step_trace_time(self) -> Table | Missing:
        """Steps of torch_npu captures, decomposed."""
        return self._table("step_trace_time")

    @property
    def trace(self) -> Trace | Missing:
        """The time line, as seen from this capture's device."""
        return self._once("trace", self._read.trace)

    @property
    def trace_source(self) -> SourceFile | None:
        """The file that the trace was read from; None without a trace."""
        return None if isinstance(self.trace, Missing) else self._read.trace_source()

    @property
    def communication(self) -> Communication | Missing:
        """Operations of communication.json."""
        return self._once("communication", self._read.communication)

    # -------------------------------------------------------------- results

    @property
    def cores(self) -> Cores:
        """Physical cores: device info, else the chip table by the name a file or the user gives."""
        chip = self.options.facts.get("chip") or self.metadata.chip
        if self.metadata.cores.source is not None or chip is None:
            return self.metadata.cores
        return cores_of_chip(chip)

    @property
    def scenario(self) -> Scenario:
        """Framework, stack, training or inference, mode, shapes, fusion."""
        return self._once(
            "scenario",
            lambda: find_scenario(
                self.capture.producer,
                self.kernels,
                self.op_statistic,
                self.api_statistic,
                self._graph_kinds(),
                self.options.facts,
                self._training(),
                lambda: self.trace,
                lambda: self.launches,
            ),
        )

    @property
    def iterations(self) -> Iterations:
        """What averages divide by."""
        return self._once(
            "iterations",
            lambda: find_iterations(
                self.kernels,
                self.api_statistic,
                self.step_trace,
                self.step_trace_time,
                self._steps_if_marked,
            ),
        )

    @property
    def trace_summary(self) -> TraceSummary | Missing:
        """What the trace holds and what is wrong with it."""
        return self._of_trace("trace_summary", lambda trace: summarize(trace, self._read.trace_file()))

    @property
    def trace_steps(self) -> pl.DataFrame | Missing:
        """Steps on the host: the frame of :func:`analysis.trace.steps.trace_steps`."""
        return self._of_trace("trace_steps", trace_steps)

    @property
    def steps_with_losses(self) -> pl.DataFrame | Missing:
        """The same, those ``lossy`` that a cut file lost bars of: averages leave them out."""
        return self._of_trace("steps_with_losses", self._find_losses)

    @property
    def launches(self) -> pl.DataFrame | Missing:
        """Device bars with the host operators they come from: the frame of analysis.trace.flows.launches."""
        return self._of_trace("launches", launches)

    @property
    def copies(self) -> Copies | Missing:
        """Copies between host and device."""
        return self._of_trace("copies", self._find_copies)

    @property
    def host_bars(self) -> HostBars | Missing:
        """Operators and ranges of the program's threads, put into each other."""
        return self._of_trace("host_bars", self._find_host_bars)

    @property
    def host_operators(self) -> HostOperators | Missing:
        """Framework operators on the host."""
        return self._of_trace("host_operators", self._find_host_operators)

    @property
    def phases(self) -> Phases | Missing:
        """The six phases of a training step; Missing for inference, which has none."""
        return self._of_trace("phases", self._find_phases)

    def call_tree(self, step: int | None) -> StepTree | Missing:
        """The call tree of one step (spec P2).

        Args:
            step: Its number; None for the step that stands for the mean, or for the whole trace.
        """
        return self._tree("call_tree", step, step_tree)

    def aten_tree(self, step: int | None) -> StepTree | Missing:
        """All host operators of one step as one tree (spec P3).

        Args:
            step: Its number; None for the mean over the averaged steps, or for the whole trace.
        """
        return self._tree("aten_tree", step, merged_tree)

    @property
    def custom_operators(self) -> CustomOperators | Missing:
        """Kernels that operators outside of PyTorch and torch_npu launched."""
        return self._of_trace("custom_operators", self._find_custom_operators)

    @property
    def extras(self) -> tuple[Extra, ...]:
        """What to look at in the operators of a training run, custom operators of the trace among it."""
        operators = self.operators
        if isinstance(operators, Missing) or not operators.extras:
            return ()
        return with_custom_operators(operators.extras, self.custom_operators)

    @property
    def metrics(self) -> CoreMetrics:
        """The numbers at the head of the report."""
        return self._once(
            "metrics",
            lambda: core_metrics(
                self.iterations,
                self.scenario,
                self.options,
                self.kernels,
                self.op_statistic,
                self.api_statistic,
                self.step_trace,
                self.step_trace_time,
                self._traced(),
            ),
        )

    @property
    def averaged_kernels(self) -> pl.DataFrame | Missing:
        """All kernels but those of the compile iteration; operator tables and drill-downs are cut from it."""
        return self._once("averaged_kernels", self._averaged_kernels)

    @property
    def operators(self) -> Operators | Missing:
        """Operator tables."""
        return self._once("operators", self._find_operators)

    @property
    def host(self) -> Host | Missing:
        """Host APIs."""
        return self._once("host", self._find_host)

    # ------------------------------------------------------ data quality

    @property
    def files(self) -> tuple[FileEntry, ...]:
        """Every known file, in the order of kinds.toml within each state."""
        return self._once("files", self._list_files)

    @property
    def missing(self) -> tuple[MissingFile, ...]:
        """Files that captures of this producer normally have and this one lacks."""
        return missing_files(self.capture)

    @property
    def notes(self) -> tuple[Note, ...]:
        """All remarks on data quality, in a fixed order; reads every file."""
        read = [self._table(name) for name in TABLE_KINDS]
        own = [note for table in read if isinstance(table, Table) for note in table.notes]
        of_trace = self._once("trace_notes", self._trace_notes)
        metrics = self.metrics
        return (
            *self.profile.notes,
            *capture_notes(self.profile, self.capture),
            *self._read.notes,
            *own,
            *of_trace,
            *metrics.notes,
            *self._once("rule_notes", self._rule_notes),
        )

    @property
    def damaged(self) -> bool:
        """True if part of the input was unreadable or lost (exit code 3)."""
        return any(note.damage for note in self.notes)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What stands out, worst first; needs every other result."""
        return self._once("findings", lambda: find_findings(self))

    # --------------------------------------------------------- computing

    def _once(self, name: str, compute: Callable[[], T], *, stoppable: bool = True) -> T:
        if name in self._results:  # no waiting for another thread that computes something else
            return self._results[name]  # type: ignore[return-value]
        with self._lock:
            if name not in self._results:
                if stoppable:
                    self._reading.check()
                self._results[name] = compute()
            return self._results[name]  # type: ignore[return-value]

    def _of_trace(self, name: str, compute: Callable[[Trace], T | Missing]) -> T | Missing:
        """A result that needs the trace; without one, what the trace is missing for."""

        def found() -> T | Missing:
            trace = self.trace
            if isinstance(trace, Missing):
                return trace
            result = compute(trace)
            if isinstance(result, Missing) and result.lacks is not None:
                return replace(result, cut=is_cut(trace))
            return result

        return self._once(name, found)

    def _table(self, name: str) -> Table | Missing:
        return self._once(name, lambda: self._read.table(name))

    def _averaged_kernels(self) -> pl.DataFrame | Missing:
        kernels = self.kernels
        return kernels if isinstance(kernels, Missing) else averaged_kernels(kernels, self.iterations)

    def _find_operators(self) -> Operators | Missing:
        present = self.kernels.present if isinstance(self.kernels, Table) else frozenset[str]()
        return find_operators(
            self.averaged_kernels,
            present,
            self.op_statistic,
            self.iterations,
            self._training().name,
            self.cores,
        )

    def _training(self) -> Training:
        """The part of the scenario that operators need; the rest may need the trace more often."""
        return self._once(
            "training",
            lambda: find_training(self.capture.producer, self.kernels, self.op_statistic, lambda: self.trace),
        )

    def _find_host(self) -> Host | Missing:
        apis = self.api_statistic
        if isinstance(apis, Missing):
            return apis
        return find_host(apis, self.iterations, self.metrics.dispatch_bound)

    def _graph_kinds(self) -> frozenset[str]:
        """Graphs that speak for this capture: named by the user, the only capture's, or in its own folder."""
        own = bool(self.options.graphs) or len(self.profile.captures) == 1
        return frozenset(
            graph.kind
            for graph in self.profile.graphs
            if own or any(part.is_relative_to(self.capture.root) for part in graph.parts)
        )

    def _steps_if_marked(self) -> pl.DataFrame | Missing:
        """Steps on the host, unless nobody can have marked any: msprof records no framework."""
        if self.capture.producer == "msprof":
            return NO_TRACE
        return self.trace_steps

    def _traced(self) -> Traced:
        return Traced(self.trace, self.steps_with_losses, self.launches, self.copies, self.communication)

    def _find_copies(self, trace: Trace) -> Copies | Missing:
        steps, tied = self.steps_with_losses, self.launches
        if isinstance(steps, Missing) or isinstance(tied, Missing):
            return NO_TRACE
        return find_copies(trace, steps, tied, self.scenario.framework, self.iterations)

    def _find_custom_operators(self, trace: Trace) -> CustomOperators | Missing:
        bars, steps, tied = self.host_bars, self.steps_with_losses, self.launches
        if isinstance(bars, Missing) or isinstance(steps, Missing) or isinstance(tied, Missing):
            return NO_TRACE
        return find_custom_operators(trace, bars, steps, tied, self.iterations)

    def _find_losses(self, trace: Trace) -> pl.DataFrame | Missing:
        steps = self.trace_steps
        bars = self.host_bars if is_cut(trace) else NO_TRACE
        if isinstance(steps, Missing) or isinstance(bars, Missing):
            return steps
        return with_lossy(steps, bars, excluded_step(self.iterations, steps))

    def _find_host_bars(self, trace: Trace) -> HostBars | Missing:
        steps = self.trace_steps
        return steps if isinstance(steps, Missing) else host_bars(trace, steps)

    def _find_host_operators(self, _trace: Trace) -> HostOperators | Missing:
        bars, steps = self.host_bars, self.steps_with_losses
        if isinstance(bars, Missing):
            return bars
        return steps if isinstance(steps, Missing) else find_host_operators(bars, steps, self.iterations)

    def _find_phases(self, trace: Trace) -> Phases | Missing:
        bars, steps, tied = self.host_bars, self.steps_with_losses, self.launches
        if isinstance(bars, Missing) or isinstance(steps, Missing) or isinstance(tied, Missing):
            return NO_TRACE
        if self.scenario.scenario == "inference":
            return _NO_TRAINING
        rules = load_rules(self.options.phase_rules)
        found = find_phases(trace, bars, steps, tied, self.iterations, rules)
        if isinstance(found, Missing):
            return found
        return replace(found, windows=replace(found.windows, doubts=self._doubts(trace)))

    def _tree(self, name: str, step: int | None, build: _TreeBuilder) -> StepTree | Missing:
        phases = self.phases
        if isinstance(phases, Missing):
            return phases
        if name == "call_tree" and step is None:
            step = representative_step(phases)
        verdicts = {phase: pair.verdict for pair in phases.pairs for phase in pair.phases}
        # Who asks for a tree looks at phases that are there; a load that was stopped since does not matter.
        return self._once(
            f"{name} {step}",
            lambda: build(phases.classified, phases.windows, step, verdicts),
            stoppable=False,
        )

    def _trace_notes(self) -> tuple[Note, ...]:
        trace, operators = self.trace, self.host_operators
        if isinstance(trace, Missing):
            return ()
        partial = 0 if isinstance(operators, Missing) else operators.partial
        file = self._read.trace_file()
        return (
            *trace_notes(trace.quality, partial, file),
            *(replace(note, file=file) for note in self._doubts(trace)),
        )

    def _doubts(self, trace: Trace) -> tuple[Note, ...]:
        return self._once("doubts", lambda: doubts(trace))

    def _rule_notes(self) -> tuple[Note, ...]:
        file = self.options.phase_rules
        if file is None:
            return ()
        if isinstance(self.phases, Missing):
            return (Note("phase_rules_unused", file=file.name),)
        return rule_notes(self.phases.classified, file.name)

    def _list_files(self) -> tuple[FileEntry, ...]:
        rows: dict[str, int | None] = {}
        for name in TABLE_KINDS:
            table = self._table(name)
            rows[name] = table.frame.height if isinstance(table, Table) else None
        trace, communication = self.trace, self.communication
        rows["trace"] = None if isinstance(trace, Missing) else trace.events.height
        rows["communication"] = (
            None if isinstance(communication, Missing) else communication.operations.height
        )
        return list_files(self.profile, self.capture, rows, self._read.failed)
