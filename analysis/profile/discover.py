"""From a path to the captures below it: which files belong together, and which of them count."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field, replace
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING

from analysis.errors import NotAProfileError, UnreadableFileError, UsageError
from analysis.notes import Note
from analysis.profile.choice import PassedOver, choose
from analysis.profile.devices import device_ids
from analysis.profile.kinds import GRAPH_KINDS, NamedFile, graph_kind, identify
from analysis.profile.metadata import METADATA_NAME, find_rank

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

_CAPTURE_FOLDER = re.compile(r"_ascend_(pt|ms)$")
_PROF_FOLDER = re.compile(r"^PROF_\d+_\d{17}_[A-Za-z]+$")
_DEVICE_FOLDER = re.compile(r"^device_(\d+)$")
_TRACE_FILE = re.compile(r"\.json(\.gz)?$")
# Raw data and databases: many files, none of them read.
_RAW_FOLDERS = frozenset({"sqlite", "data", "mindstudio_profiler_log", "logs", "FRAMEWORK", "host", ".git"})
_OUTPUT_FOLDERS = frozenset({"ASCEND_PROFILER_OUTPUT", "mindstudio_profiler_output"})
_TRACE_HEAD = 1 << 20
_PACKED = b"\x1f\x8b"
_GZIP = 31
_TRACE_PRODUCERS = {"trace_view": "torch_npu", "msprof_timeline": "msprof", "kineto_trace": "kineto"}
_PROGRAM_MARKS = (b'"cpu_op"', b'"python_function"')
_DEVICE_MARKS = (b'"Ascend Hardware"', b'"CANN"', b'"AscendCL@')
_DEEPEST = 9
_MOST_FOLDERS = 20_000
_SHOWN_SLICES = 10
_DATABASES = frozenset({"database", "msprof_database"})
_TORCH_KINDS = frozenset({"kernel_details", "step_trace_time", "trace_view", "operator_details"})


def size_on_disk(path: Path) -> int:
    """Bytes of a file; 0 if it is not there any more."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One logical file: usually one path, several where it was written in slices."""

    kind: str
    """A key of kinds.toml: kernel_details, op_summary, api_statistic, trace_view …"""
    parts: tuple[Path, ...]

    @property
    def size(self) -> int:
        """Bytes on disk, all slices together; those that are gone meanwhile take none."""
        return sum(map(size_on_disk, self.parts))


@dataclass(frozen=True, slots=True)
class Capture:
    """The files of one rank (or one device) from one collection."""

    name: str
    """What to call it: the capture folder's name, with the device where a folder holds several."""
    root: Path
    producer: str
    """torch_npu, mindspore, msprof or kineto."""
    rank: int | None
    rank_source: str | None
    """profiler_info, profiler_metadata, folder_name or device_id."""
    device: int | None
    """Set where files hold several devices and must be filtered."""
    files: Mapping[str, SourceFile]
    metadata_files: tuple[Path, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything under the path the user gave."""

    root: Path
    name: str
    captures: tuple[Capture, ...]
    """By rank (unknown last), then the fullest first, then by path."""
    graphs: tuple[SourceFile, ...] = ()
    """Graph files by kind: ge_dump, inductor_code."""
    notes: tuple[Note, ...] = field(default_factory=tuple)

    def select(self, rank: int | None = None) -> Capture:
        """The capture of ``rank``, or the first (lowest rank) if none is asked for.

        Raises:
            UsageError: No capture has that rank; the text lists those there are.
        """
        if rank is None:
            return self.captures[0]
        for capture in self.captures:
            if capture.rank == rank:
                return capture
        known = sorted({capture.rank for capture in self.captures if capture.rank is not None})
        ranks = ", ".join(map(str, known))
        msg = f"no rank {rank} in {self.root}; ranks there: {ranks or 'none is named'}"
        raise UsageError(msg)


def discover(path: Path, graphs: Sequence[Path] = ()) -> Profile:
    """Find all captures under ``path`` (spec L1-L4).

    Args:
        path: A profile directory of any layout, or a single trace file.
        graphs: Graph files the user named; without any, those below ``path`` are listed.

    Raises:
        NotAProfileError: ``path`` is missing or holds nothing recui reads.
        UsageError: A graph file is missing.
    """
    path = path.absolute()
    try:
        path.stat()
    except OSError as error:
        raise NotAProfileError(f"{path}: {error.strerror}") from error
    if path.is_file():
        return _single_trace(path)
    notes: list[Note] = []
    found = list(_walk(path, notes))
    named = [file for file in map(identify, found) if file is not None]
    if not named:
        raise NotAProfileError(_nothing_found(path, found, notes))
    if all(file.kind in _DATABASES for file in named):
        msg = f"{path} holds only a database; export the profile as text (torch_npu: export_type Text)"
        raise NotAProfileError(msg)
    captures = _captures(path, named, notes)
    graph_files = tuple(_checked_graph(graph) for graph in graphs) or tuple(found)
    return Profile(path, _name(path), captures, _graphs(graph_files), tuple(notes))


def _name(path: Path) -> str:
    """What to call the profile: its folder, not the output folder that every profile has."""
    resolved = path.resolve()
    folder = resolved.parent if resolved.name in _OUTPUT_FOLDERS else resolved
    return folder.name or str(path)


def _nothing_found(path: Path, found: Sequence[Path], notes: Sequence[Note]) -> str:
    if notes:
        return f"{path} cannot be read: {notes[0].values['reason']}"
    if any(graph_kind(file) for file in found):
        return f"{path} holds graphs but no profile; give the directory msprof or torch_npu.profiler wrote"
    if any(_PROF_FOLDER.match(folder.name) for folder in (path, *path.glob("*/"), *path.glob("*/*/"))):
        return f"{path} holds raw data only; let msprof parse it to text first (torch_npu: export_type Text)"
    return f"{path} holds no profile; give the directory that msprof or torch_npu.profiler wrote"


def _single_trace(path: Path) -> Profile:
    if not _TRACE_FILE.search(path.name):
        msg = f"{path} is a single file; give the directory it lies in (only a .json(.gz) trace opens alone)"
        raise NotAProfileError(msg)
    head = _trace_head(path)
    if not _looks_like_trace(head):
        raise NotAProfileError(f"{path} is no trace: it does not begin like a list of trace events")
    named = identify(path)
    kind = named.kind if named and named.kind in _TRACE_PRODUCERS else _trace_kind(head)
    producer = _TRACE_PRODUCERS[kind]
    rank, source = find_rank((), path)
    capture = Capture(path.name, path.parent, producer, rank, source, None, {kind: SourceFile(kind, (path,))})
    return Profile(path, path.name, (capture,))


def _trace_kind(head: bytes) -> str:
    """Who wrote a trace of any name: Kineto wraps its list, only torch_npu adds the program to msprof's."""
    if head.startswith(b"["):
        if any(mark in head for mark in _PROGRAM_MARKS):
            return "trace_view"
        if any(mark in head for mark in _DEVICE_MARKS):
            return "msprof_timeline"
    return "kineto_trace"


def _looks_like_trace(head: bytes) -> bool:
    """Whether the file begins like a list of events with ``ph``, or like an object with ``traceEvents``."""
    return head.startswith((b"[", b"{")) and (b'"ph"' in head or b'"traceEvents"' in head)


def _trace_head(path: Path) -> bytes:
    """The begin of the text of a file, also of a .gz that was cut."""
    try:
        with path.open("rb") as file:
            head = file.read(_TRACE_HEAD)
        if head.startswith(_PACKED):
            head = zlib.decompressobj(_GZIP).decompress(head, _TRACE_HEAD)
    except (OSError, zlib.error) as error:
        raise NotAProfileError(f"{path} cannot be read: {error}") from error
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")


def _walk(top: Path, notes: list[Note]) -> Iterator[Path]:
    """All files below ``top`` in a fixed order, raw data left out, links followed once."""
    # A link upwards would lead out of the profile.
    seen: set[Path] = set(top.resolve().parents)
    waiting = [(top, 0)]
    while waiting:
        folder, depth = waiting.pop()
        real = folder.resolve()
        if real in seen:
            continue
        seen.add(real)
        if len(seen) > _MOST_FOLDERS:
            msg = f"{top} holds more than {_MOST_FOLDERS:,} folders; give the profile directory itself"
            raise NotAProfileError(msg)
        try:
            entries = sorted(folder.iterdir())
        except OSError as error:
            values = {"reason": error.strerror or str(error)}
            notes.append(Note("folder_unreadable", values, _below(folder, top), damage=True))
            continue
        folders = [entry for entry in entries if _is(entry, S_ISDIR) and entry.name not in _RAW_FOLDERS]
        yield from (entry for entry in entries if _is(entry, S_ISREG))
        if depth < _DEEPEST:
            waiting.extend((entry, depth + 1) for entry in reversed(folders))


def _is(entry: Path, kind: Callable[[int], bool]) -> bool:
    """Whether an entry is of a kind; one that cannot be looked at is of none."""
    try:
        return kind(entry.stat().st_mode)
    except OSError:
        return False


def _below(path: Path, top: Path) -> str:
    return "." if path == top else str(path.relative_to(top))


def _captures(top: Path, named: Sequence[NamedFile], notes: list[Note]) -> tuple[Capture, ...]:
    groups: dict[tuple[Path, int | None], list[NamedFile]] = {}
    for file in named:
        groups.setdefault((_capture_root(file), _device_of_folder(file.path)), []).append(file)
    captures = [
        capture
        for (root, device), files in groups.items()
        for capture in _split_devices(_capture(root, device, files, notes), notes, top)
    ]

    def order(capture: Capture) -> tuple[bool, int, int, str]:
        return (capture.rank is None, capture.rank or 0, -len(capture.files), str(capture.root))

    return tuple(sorted(captures, key=order))


def _capture_root(file: NamedFile) -> Path:
    if file.kind == "kineto_trace":
        return file.path
    folders = file.path.parents
    for matches in (_CAPTURE_FOLDER.search, _PROF_FOLDER.match):
        hit = next((folder for folder in folders if matches(folder.name)), None)
        if hit is not None:
            return hit
    folder = file.path.parent
    if folder.name in {"summary", "timeline"} and _DEVICE_FOLDER.match(folder.parent.name):
        return folder.parent.parent
    if folder.name in {"ASCEND_PROFILER_OUTPUT", "mindstudio_profiler_output", "analyze"}:
        return folder.parent
    return folder


def _device_of_folder(path: Path) -> int | None:
    """The device of the older layout ``device_N/{summary,timeline}``; no file there names it."""
    match = _DEVICE_FOLDER.match(path.parent.parent.name)
    return int(match[1]) if match and path.parent.name in {"summary", "timeline"} else None


def _capture(root: Path, device: int | None, files: Sequence[NamedFile], notes: list[Note]) -> Capture:
    by_kind: dict[str, list[NamedFile]] = {}
    for file in files:
        by_kind.setdefault(file.kind, []).append(file)
    chosen: dict[str, SourceFile] = {}
    passed: list[PassedOver] = []
    for kind, members in sorted(by_kind.items()):
        parts, others = choose(members, root)
        notes.extend(_missing_slices(kind, parts, members))
        chosen[kind] = SourceFile(kind, parts)
        passed.extend(others)
    metadata = _metadata_files(root) if root.is_dir() else ()
    try:
        rank, source = find_rank(metadata, root)
    except UnreadableFileError as error:
        notes.append(
            Note("metadata_unreadable", {"reason": error.reason}, error.path.name, error.line, damage=True)
        )
        rank, source = find_rank((), root)
    if rank is None and device is not None:
        rank, source = device, "device_id"
    name = root.name if device is None else f"{root.name}/device_{device}"
    return Capture(name, root, _producer(root, chosen), rank, source, None, chosen, metadata, tuple(passed))


def _missing_slices(kind: str, parts: Sequence[Path], members: Sequence[NamedFile]) -> Iterator[Note]:
    """A gap in the numbers of slices: a part of the file is not there."""
    numbers = {file.slice for file in members if file.path in parts and file.slice is not None}
    gap = sorted(set(range(max(numbers, default=0))) - numbers)
    if gap:
        shown = ", ".join(map(str, gap[:_SHOWN_SLICES])) + (" …" if len(gap) > _SHOWN_SLICES else "")
        yield Note("slices_missing", {"kind": kind, "slices": shown}, damage=True)


def _metadata_files(root: Path) -> tuple[Path, ...]:
    near = [root, *sorted(root.glob("device_*")), *sorted(root.glob("PROF_*/device_*")), root / "host"]
    files = [entry for folder in near if folder.is_dir() for entry in sorted(folder.iterdir())]
    return tuple(file for file in files if METADATA_NAME.match(file.name) and file.is_file())


def _producer(root: Path, files: Mapping[str, SourceFile]) -> str:
    match = _CAPTURE_FOLDER.search(root.name)
    if match:
        return {"pt": "torch_npu", "ms": "mindspore"}[match[1]]
    if files.keys() & _TORCH_KINDS:
        return "torch_npu"
    return "kineto" if files.keys() <= {"kineto_trace"} else "msprof"


def _split_devices(capture: Capture, notes: list[Note], top: Path) -> list[Capture]:
    """One capture a device where the files of one folder hold several."""
    try:
        devices = device_ids(capture.files, capture.producer)
    except UnreadableFileError as error:
        # The table that cannot be read is reported when its chapter asks for it.
        values = {"reason": error.reason}
        notes.append(Note("devices_unknown", values, _below_or_name(error.path, top), error.line))
        devices = ()
    if len(devices) < 2:
        if capture.rank is None and devices:
            return [replace(capture, rank=devices[0], rank_source="device_id")]
        return [capture]
    return [
        replace(
            capture,
            name=f"{capture.name} device {device}",
            rank=device,
            rank_source="device_id",
            device=device,
        )
        for device in devices
    ]


def _below_or_name(path: Path, top: Path) -> str:
    return str(path.relative_to(top)) if path.is_relative_to(top) else path.name


def _checked_graph(path: Path) -> Path:
    if not path.is_file():
        raise UsageError(f"--graph {path}: no such file")
    if graph_kind(path) is None:
        raise UsageError(
            f"--graph {path}: named like neither a GE dump (ge_onnx_*, ge_proto_*) nor Inductor code"
        )
    return path


def _graphs(files: Sequence[Path]) -> tuple[SourceFile, ...]:
    by_kind: dict[str, list[Path]] = {}
    for file in files:
        kind = graph_kind(file)
        if kind is not None:
            by_kind.setdefault(kind, []).append(file)
    return tuple(SourceFile(kind, tuple(by_kind[kind])) for kind in GRAPH_KINDS if kind in by_kind)
