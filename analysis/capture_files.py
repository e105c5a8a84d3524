"""The files of one capture, each read from the best kind that is there, and what was wrong with them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from analysis.errors import UnreadableFileError
from analysis.inventory import READ_KINDS, failed_kinds
from analysis.notes import Missing, Note
from analysis.profile.communication import Communication, read_communication
from analysis.profile.kinds import kinds
from analysis.profile.metadata import Metadata, read_metadata
from analysis.profile.tables import Table, display_path, of_one_device, read_table
from analysis.trace.cache import cached
from analysis.trace.ingest import read_trace
from analysis.trace.tracks import of_device
from analysis.trace_notes import other_devices, trace_devices

if TYPE_CHECKING:
    from collections.abc import Callable

    from analysis.profile.discover import Capture, Profile, SourceFile
    from analysis.reading import Reading
    from analysis.resources import Resources
    from analysis.trace.model import Trace

T = TypeVar("T")


class CaptureFiles:
    """Reads what the results of one capture are made of.

    A file that cannot be read is noted and its result is Missing; nothing is kept but these notes.
    """

    def __init__(self, profile: Profile, capture: Capture, resources: Resources, reading: Reading) -> None:
        self._root = profile.root
        self._capture = capture
        self._resources = resources
        self._reading = reading
        self._notes: dict[str, tuple[Note, ...]] = {}

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was noted so far, in the order of the files' names."""
        return tuple(note for name in ("metadata", *READ_KINDS) for note in self._notes.get(name, ()))

    @property
    def failed(self) -> frozenset[str]:
        """Kinds that were tried and could not be read."""
        return failed_kinds(self.notes)

    def trace_source(self) -> SourceFile:
        """The file that the trace was read from; only where there is a trace."""
        failed = self.failed
        files = self._capture.files
        return files[next(kind for kind in READ_KINDS["trace"] if kind in files and kind not in failed)]

    def trace_file(self) -> str:
        """The file that the trace was read from, as it is shown."""
        return display_path(self.trace_source().parts[0], self._root)

    def table(self, name: str) -> Table | Missing:
        """One table of TABLE_KINDS, of this capture's device."""

        def read(source: SourceFile, advance: Callable[[int], None]) -> Table:
            device = self._capture.device
            table = read_table(name, source, root=self._root, device=device, advance=advance)
            return of_one_device(table) if device is None else table

        return self._read_first(name, read, lambda table: table.frame.height)

    def trace(self) -> Trace | Missing:
        """The time line as seen from this capture's device; of several devices the lowest (spec L2)."""

        def read(source: SourceFile, advance: Callable[[int], None]) -> Trace:
            return cached(
                self._resources.cache,
                source,
                lambda: read_trace(source, root=self._root, jobs=self._resources.jobs, advance=advance),
                check=self._reading.check,
            )

        trace = self._read_first("trace", read, lambda trace: trace.events.height)
        if isinstance(trace, Missing):
            return trace
        device = self._capture.device
        if device is None and len(devices := trace_devices(trace)) > 1:
            device = devices[0]
            self._note("trace", other_devices(devices, self.trace_file()))
        return trace if device is None else of_device(trace, device)

    def communication(self) -> Communication | Missing:
        """communication.json."""

        def read(source: SourceFile, _: Callable[[int], None]) -> Communication:
            return read_communication(source, root=self._root)

        return self._read_first("communication", read, lambda read: read.operations.height)

    def _read_first(
        self, name: str, read: Callable[[SourceFile, Callable[[int], None]], T], rows: Callable[[T], int]
    ) -> T | Missing:
        """The first readable file of those that ``name`` may be read from."""
        wanted = READ_KINDS[name]
        present = [kind for kind in wanted if kind in self._capture.files]
        hint = kinds()[present[0] if present else self._natural_kind(wanted)].collect or "text_export"
        for kind in present:
            source = self._capture.files[kind]
            try:
                return self._reading.read(source, partial(read, source), rows)
            except UnreadableFileError as error:
                self._note_failure(kind, name, error)
        return Missing(wanted, hint, unreadable=bool(present))

    def _natural_kind(self, wanted: tuple[str, ...]) -> str:
        """The kind that captures of this producer would have."""
        return next((kind for kind in wanted if self._capture.producer in kinds()[kind].expected), wanted[0])

    def _note_failure(self, kind: str, name: str, error: UnreadableFileError) -> None:
        values = {"kind": kind, "reason": error.reason}
        shown = display_path(error.path, self._root)
        self._note(name, Note("file_unreadable", values, shown, error.line, damage=True))

    def _note(self, name: str, note: Note) -> None:
        # Work that was cancelled begins anew and meets the same fault again.
        if note not in self._notes.get(name, ()):
            self._notes[name] = (*self._notes.get(name, ()), note)

    def metadata(self) -> Metadata:
        """What the readable metadata files tell."""
        files = list(self._capture.metadata_files)
        device = self._capture.device if self._capture.device is not None else self._capture.rank
        while True:
            try:
                return read_metadata(files, device if self._capture.rank_source == "device_id" else None)
            except UnreadableFileError as error:
                self._note_failure("metadata", "metadata", error)
                files.remove(error.path)
