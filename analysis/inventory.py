"""What became of every file of the profile, and which files a capture of its producer lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.profile.discover import size_on_disk
from analysis.profile.kinds import kinds
from analysis.profile.tables import display_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from analysis.notes import Note
    from analysis.profile.discover import Capture, Profile, SourceFile

TABLE_KINDS = {
    "kernels": ("kernel_details", "op_summary"),
    "op_statistic": ("op_statistic",),
    "api_statistic": ("api_statistic",),
    "step_trace": ("step_trace",),
    "step_trace_time": ("step_trace_time",),
}
"""Tables and the kinds they are read from, the preferred kind first."""

READ_KINDS = {
    **TABLE_KINDS,
    "trace": ("trace_view", "msprof_timeline", "kineto_trace"),
    "communication": ("communication",),
}
"""Everything that is read of a capture besides its metadata, likewise."""

_REPEATED = {"kernels": "passed_over.same_kernels", "trace": "passed_over.same_events"}


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of the profile and what became of it."""

    kind: str
    path: str
    """Relative to the profile; of a file in slices the first, with the number of the others."""
    size: int
    rows: int | None
    """Rows of a table, bars of a trace, operations of communication.json; None where it was not read."""
    state: str
    """read, listed (known, not read), passed_over or failed."""
    note: str | None
    """Message key that explains the state, if it needs explaining."""


@dataclass(frozen=True, slots=True)
class MissingFile:
    """A file that captures of this producer normally have."""

    kind: str
    needed_for: tuple[str, ...]
    hint: str


def list_files(
    profile: Profile, capture: Capture, rows: Mapping[str, int | None], failed: frozenset[str]
) -> tuple[FileEntry, ...]:
    """Every file of a known kind: those of the capture, the graphs, and those passed over.

    Args:
        profile: Where they were found.
        capture: Whose files.
        rows: How many rows were read, for each name of READ_KINDS; None where nothing could be read.
        failed: Kinds whose reading failed.
    """
    entries = [
        _capture_file(profile, capture.files[kind], _use(capture, kind, rows, failed))
        for kind in kinds()
        if kind in capture.files
    ]
    for graph in profile.graphs:
        entries += [_other_file(profile, graph.kind, part, "listed", None) for part in graph.parts]
    for other in capture.passed_over:
        entries.append(
            _other_file(profile, other.kind, other.path, "passed_over", f"passed_over.{other.reason}")
        )
    return tuple(entries)


def counted(kind: str) -> str:
    """What ``rows`` counts: row, bar (of a trace) or operation (of communication.json)."""
    if kind in READ_KINDS["trace"]:
        return "bar"
    return "operation" if kind in READ_KINDS["communication"] else "row"


def missing_files(capture: Capture) -> tuple[MissingFile, ...]:
    """Files that captures of this producer normally have and this one lacks."""
    return tuple(
        MissingFile(spec.name, spec.needed_for, spec.collect)
        for spec in kinds().values()
        if spec.collect and capture.producer in spec.expected and spec.name not in capture.files
    )


@dataclass(frozen=True, slots=True)
class _Use:
    state: str
    rows: int | None = None
    note: str | None = None


def _use(capture: Capture, kind: str, rows: Mapping[str, int | None], failed: frozenset[str]) -> _Use:
    if kind in failed:
        return _Use("failed")
    name = next((name for name, wanted in READ_KINDS.items() if kind in wanted), None)
    if name is None:
        return _Use("listed")
    used = next(other for other in READ_KINDS[name] if other in capture.files and other not in failed)
    if kind == used and rows[name] is not None:
        return _Use("read", rows[name])
    return _Use("passed_over", note=_REPEATED[name])


def _capture_file(profile: Profile, source: SourceFile, use: _Use) -> FileEntry:
    shown = display_path(source.parts[0], profile.root)
    if len(source.parts) > 1:
        shown = f"{shown} (+{len(source.parts) - 1})"
    return FileEntry(source.kind, shown, source.size, use.rows, use.state, use.note)


def _other_file(profile: Profile, kind: str, path: Path, state: str, note: str | None) -> FileEntry:
    return FileEntry(kind, display_path(path, profile.root), size_on_disk(path), None, state, note)


def failed_kinds(notes: Iterable[Note]) -> frozenset[str]:
    """The kinds that ``file_unreadable`` notes name."""
    return frozenset(str(note.values["kind"]) for note in notes if note.kind == "file_unreadable")
