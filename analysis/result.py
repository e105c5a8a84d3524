"""Every result of one capture, each computed once on demand."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, TypeVar

from analysis.advice.chips import cores_of_chip
from analysis.errors import CancelledError, UnreadableFileError
from analysis.findings import Finding, find_findings
from analysis.host import Host, find_host
from analysis.inventory import (
    TABLE_KINDS,
    FileEntry,
    MissingFile,
    failed_kinds,
    list_files,
    missing_files,
)
from analysis.iterations import Iterations, averaged_kernels, find_iterations
from analysis.metrics import CoreMetrics, core_metrics
from analysis.notes import Missing, Note
from analysis.operators import Operators, find_operators
from analysis.options import Options
from analysis.profile.kinds import kinds
from analysis.profile.metadata import Cores, Metadata, read_metadata
from analysis.profile.tables import Table, display_path, of_one_device, read_table
from analysis.progress import Cancelled, FileProgress, Progress, ignore_progress, never_cancelled
from analysis.scenario import Scenario, find_scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from analysis.profile.discover import Capture, Profile, SourceFile

T = TypeVar("T")


class Analysis:
    """All results of one capture.

    Results are properties, computed when first asked for and then kept; any thread may ask, one computes
    at a time. ``progress`` is told of each file, ``cancelled`` is asked between steps and makes the
    property raise CancelledError; asking again later starts where it stopped.
    """

    def __init__(
        self,
        profile: Profile,
        capture: Capture,
        options: Options | None = None,
        *,
        progress: Progress = ignore_progress,
        cancelled: Cancelled = never_cancelled,
    ) -> None:
        self.profile = profile
        self.capture = capture
        self.options = options or Options()
        self._progress = progress
        self._cancelled = cancelled
        self._lock = threading.RLock()
        self._results: dict[str, object] = {}
        self._file_notes: dict[str, tuple[Note, ...]] = {}

    # ---------------------------------------------------------------- files

    @property
    def metadata(self) -> Metadata:
        """What the capture's metadata files tell."""
        return self._once("metadata", self._read_metadata)

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
            ),
        )

    @property
    def iterations(self) -> Iterations:
        """What averages divide by."""
        return self._once(
            "iterations",
            lambda: find_iterations(self.kernels, self.api_statistic, self.step_trace, self.step_trace_time),
        )

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
        """All remarks on data quality, in a fixed order; reads every table."""
        read = [self._table(name) for name in TABLE_KINDS]
        own = [note for table in read if isinstance(table, Table) for note in table.notes]
        failed = [note for name in ("metadata", *TABLE_KINDS) for note in self._file_notes.get(name, ())]
        return (
            *self.profile.notes,
            *self._capture_notes(),
            *failed,
            *own,
            *self.metrics.notes,
            *self._trace_notes(),
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

    def _once(self, name: str, compute: Callable[[], T]) -> T:
        if name in self._results:  # no waiting for another thread that computes something else
            return self._results[name]  # type: ignore[return-value]
        with self._lock:
            if name not in self._results:
                if self._cancelled():
                    raise CancelledError
                self._results[name] = compute()
            return self._results[name]  # type: ignore[return-value]

    def _table(self, name: str) -> Table | Missing:
        return self._once(name, lambda: self._read_table(name))

    def _read_table(self, name: str) -> Table | Missing:
        wanted = TABLE_KINDS[name]
        present = [kind for kind in wanted if kind in self.capture.files]
        hint = kinds()[present[0] if present else self._natural_kind(wanted)].collect or "text_export"
        for kind in present:
            source = self.capture.files[kind]
            try:
                return self._read(name, source)
            except UnreadableFileError as error:
                self._note_failure(kind, name, error)
        return Missing(wanted, hint, unreadable=bool(present))

    def _natural_kind(self, wanted: tuple[str, ...]) -> str:
        """The kind that captures of this producer would have."""
        return next((kind for kind in wanted if self.capture.producer in kinds()[kind].expected), wanted[0])

    def _read(self, name: str, source: SourceFile) -> Table:
        shown = display_path(source.parts[0], self.profile.root)
        started = time.monotonic()
        size = source.size
        self._progress(FileProgress(source.kind, shown, "reading", 0, size))

        def advance(done: int) -> None:
            if self._cancelled():
                raise CancelledError
            self._progress(FileProgress(source.kind, shown, "reading", min(done, size), size))

        try:
            table = read_table(
                name, source, root=self.profile.root, device=self.capture.device, advance=advance
            )
        except UnreadableFileError:
            self._progress(FileProgress(source.kind, shown, "failed", 0, size))
            raise
        if self.capture.device is None:
            table = of_one_device(table)
        seconds = time.monotonic() - started
        self._progress(FileProgress(source.kind, shown, "done", size, size, table.frame.height, seconds))
        return table

    def _note_failure(self, kind: str, name: str, error: UnreadableFileError) -> None:
        values = {"kind": kind, "reason": error.reason}
        shown = display_path(error.path, self.profile.root)
        note = Note("file_unreadable", values, shown, error.line, damage=True)
        self._file_notes[name] = (*self._file_notes.get(name, ()), note)

    def _read_metadata(self) -> Metadata:
        files = list(self.capture.metadata_files)
        device = self.capture.device if self.capture.device is not None else self.capture.rank
        while True:
            try:
                return read_metadata(files, device if self.capture.rank_source == "device_id" else None)
            except UnreadableFileError as error:
                self._note_failure("metadata", "metadata", error)
                files.remove(error.path)

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
            self.scenario.scenario,
            self.cores,
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

    def _trace_notes(self) -> tuple[Note, ...]:
        """Backward events lie in the trace, so a run without gradient operators may train all the same."""
        trace = next((kind for kind in ("trace_view", "kineto_trace") if kind in self.capture.files), None)
        if trace is None or self.scenario.scenario == "training":
            return ()
        shown = display_path(self.capture.files[trace].parts[0], self.profile.root)
        return (Note("scenario_without_trace", {}, shown),)

    def _capture_notes(self) -> tuple[Note, ...]:
        captures = self.profile.captures
        notes: list[Note] = []
        if len(captures) > 1:
            names = ", ".join(_label(capture) for capture in captures)
            notes.append(
                Note("several_captures", {"count": len(captures), "names": names, "used": self.capture.name})
            )
        if sum(capture.rank == self.capture.rank for capture in captures) > 1:
            rank = "–" if self.capture.rank is None else self.capture.rank
            notes.append(Note("rank_shared", {"rank": rank, "used": self.capture.name}))
        if self.capture.device is not None and "api_statistic" in self.capture.files:
            notes.append(Note("host_of_all_devices", {"device": self.capture.device}))
        return tuple(notes)

    def _list_files(self) -> tuple[FileEntry, ...]:
        tables = {name: self._table(name) for name in TABLE_KINDS}
        failed = failed_kinds(note for notes in self._file_notes.values() for note in notes)
        return list_files(self.profile, self.capture, tables, failed)


def _label(capture: Capture) -> str:
    return capture.name if capture.rank is None else f"{capture.name} (rank {capture.rank})"
