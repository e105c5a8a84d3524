"""A trace as columns: what ingest builds, the cache keeps, and every analysis of time lines reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

PYTHON_MAIN: Final = "python_main"
PYTHON_OTHER: Final = "python_other"
AUTOGRAD: Final = "autograd"
CANN: Final = "cann"
DEVICE_STREAM: Final = "device_stream"
COLLECTIVE: Final = "collective"
PLANE: Final = "plane"
COMPUTING: Final = "overlap_computing"
COMMUNICATION: Final = "overlap_communication"
NOT_OVERLAPPED: Final = "overlap_not_overlapped"
FREE: Final = "overlap_free"
OTHER: Final = "other"
OTHER_DEVICE: Final = "other_device"

HOST_ROLES: Final = (PYTHON_MAIN, PYTHON_OTHER, AUTOGRAD)
"""Threads of the program itself: framework operators, user ranges, task queue."""

EVENTS: Final = {
    "number": pl.UInt32(),
    "track": pl.UInt32(),
    "name": pl.Categorical(),
    "cat": pl.Categorical(),
    "start_ns": pl.Int64(),
    "duration_ns": pl.Int64(),
    "connection_id": pl.Int64(),
    "correlation_id": pl.Int64(),
    "task_type": pl.Categorical(),
    "stream_id": pl.Int64(),
    "operation": pl.Categorical(),
    "bytes": pl.Int64(),
    "item_id": pl.Categorical(),
    "input_dims": pl.Categorical(),
}
"""Columns of :attr:`Trace.events`."""

TRACKS: Final = {
    "track": pl.UInt32(),
    "pid": pl.String(),
    "tid": pl.String(),
    "process": pl.String(),
    "thread": pl.String(),
    "label": pl.String(),
    "device": pl.Int64(),
    "role": pl.String(),
    "bars": pl.UInt32(),
}
"""Columns of :attr:`Trace.tracks`."""

FLOWS: Final = {
    "kind": pl.Categorical(),
    "id": pl.String(),
    "source": pl.UInt32(),
    "target": pl.UInt32(),
}
"""Columns of :attr:`Trace.flows`."""

CHUNKS: Final = {"part": pl.UInt32(), "offset": pl.Int64(), "length": pl.Int64(), "first": pl.UInt32()}
"""Columns of :attr:`Trace.chunks`."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault found in a trace, with how often and one example."""

    kind: str
    """A key of ``[trace_fault]`` in the message catalogue: no_ts, no_dur, negative_dur, absurd_dur, off_axis,
    unreadable_ts, unreadable_event, control_bytes, not_a_number, encoding, duplicate_metadata,
    late_metadata, cut."""
    count: int
    example: str
    """The name or the first text of the first such event, at most 80 characters; may hold any character."""
    number: int | None
    """Position of that event among the objects of the file; None where it has none."""
    lost: bool
    """True if these events are not on the axis; False if they were repaired or are harmless."""


@dataclass(frozen=True, slots=True)
class Quality:
    """What was found in the file, and what was wrong with it."""

    objects: int
    """All objects of the file, of every ``ph``; unreadable ones are not among them."""
    by_phase: Mapping[str, int]
    """Objects by their ``ph`` (X, M, C, s, f …); the key is empty for objects without one."""
    faults: tuple[Fault, ...]
    """By count descending, then kind."""
    lost_bytes: int
    """Bytes after the last whole event of a file that was cut; 0 for a whole file."""

    @property
    def unread(self) -> int:
        """Halves of bars that are written as two objects, a begin and an end: captures have none."""
        return self.by_phase.get("B", 0) + self.by_phase.get("E", 0)

    @property
    def damaged(self) -> bool:
        """Whether something is missing: the file was cut, or events could not be placed or are not read."""
        return self.lost_bytes > 0 or self.unread > 0 or any(fault.lost for fault in self.faults)


@dataclass(frozen=True, slots=True)
class Trace:
    """One logical trace file. Frames have exactly the columns of EVENTS, TRACKS, FLOWS and CHUNKS.

    A bar is an event with a duration (``ph`` X). Everywhere in recui *event* as a column means the row of a
    bar in ``events``; *number* means its position among all objects of the file.
    """

    events: pl.DataFrame
    """Every bar that could be placed, in the order of the file (slices one after the other). ``start_ns`` is
    the exact ``ts``, ``duration_ns`` the ``dur`` rounded to whole nanoseconds (half to even). What an event's
    args do not hold is null: ``connection_id``, ``correlation_id``, ``task_type`` (``Task Type``),
    ``stream_id`` (``Physic Stream Id``, else ``Stream Id``), ``operation``, ``bytes`` (``size(B)``),
    ``item_id``, ``input_dims`` (``Input Dims``)."""
    tracks: pl.DataFrame
    """One row per (pid, tid) in the order of their first appearance; ``events.track`` is the row. Names are
    of the process_name and thread_name metadata wherever it stands in the file, null where there is none;
    ``device`` is the number in the label ``NPU <n>``, ``role`` one of the names above, ``bars`` a count."""
    flows: pl.DataFrame
    """One row per arrow: every end (``ph`` f) with its start (``ph`` s), and starts without an end. ``kind``
    is the ``cat`` (``acl_to_npu`` is HostToDevice), ``source`` and ``target`` are rows of ``events``, null
    where no bar was found there (:mod:`analysis.trace.flows`)."""
    chunks: pl.DataFrame
    """Where the text of the events lies: whole events from ``offset`` on, ``length`` bytes, the first of them
    ``first`` among the objects; in slice ``part`` of the file, of .gz in the unpacked text."""
    quality: Quality
    base_ns: int = 0
    """What times are relative to: ``baseTimeNanoseconds`` of newer Kineto traces, 0 for absolute times."""

    def on(self, *roles: str) -> pl.DataFrame:
        """The bars on tracks of these roles, with the column ``event``: their rows in ``events``."""
        return self.scan(*roles).collect()

    def scan(self, *roles: str) -> pl.LazyFrame:
        """The same, not yet collected, for who needs few columns or rows of many."""
        tracks = self.tracks.filter(pl.col("role").is_in(roles))["track"]
        return self.events.lazy().with_row_index("event").filter(pl.col("track").is_in(tracks.implode()))
