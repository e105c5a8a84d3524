"""One slice of a trace to segments: in this process, or in several where that pays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.trace.chunks import State, Stretch
from analysis.trace.container import Container, close_list, open_list
from analysis.trace.segments import Segment
from analysis.trace.source import Buffer, PlainSource, open_source, size_of
from analysis.trace.workers import Ending, Task, decode_all, plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


_SHARE_OF_WORKER = 8


@dataclass(slots=True)
class Slice:
    """What one slice holds."""

    segments: list[Segment]
    base_ns: int
    cut: bool
    """Whether the file ends before the end of its list, or of the object around it."""
    lost_bytes: int


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read."""

    jobs: int
    chunk_bytes: int
    parallel_bytes: int
    """Files below that are read in this process."""
    tick: Callable[[int], None]
    """Told how many bytes of the slice are done."""


def read_slice(path: Path, part: int, reading: Reading) -> Slice:
    """Read one slice.

    Raises:
        UnreadableFileError: It cannot be read or is no trace.
    """
    source = open_source(path)
    try:
        buffer = Buffer(source, reading.chunk_bytes)
        container = open_list(buffer)
        tasks: list[Task] = []
        if isinstance(source, PlainSource):
            workers = _workers(size_of(path), reading)
            tasks = plan(path, part, buffer.offset, workers, wrapped=container.wrapped)
        if len(tasks) < 2:
            segment, ending = _read_here(buffer, None, container, part, reading)
            return _finish(buffer, container, [segment], ending)
    finally:
        source.close()
    return _read_in_workers(path, part, tasks, container, reading)


def _workers(size: int, reading: Reading) -> int:
    """How many processes to read a slice with: the memory they may take is bounded by its size."""
    if reading.jobs < 2 or size < reading.parallel_bytes:
        return 1
    most = 2 + size // (_SHARE_OF_WORKER * reading.parallel_bytes) if reading.parallel_bytes else reading.jobs
    return min(reading.jobs, most)


def _read_here(
    buffer: Buffer, limit: int | None, container: Container, part: int, reading: Reading
) -> tuple[Segment, Ending]:
    segment = Segment(part)
    stretch = Stretch(buffer, wrapped=container.wrapped, limit=limit, chunk_bytes=reading.chunk_bytes)
    for chunk in stretch.chunks():
        segment.add(chunk)
        reading.tick(buffer.source.done)
    segment.dictionaries = stretch.dictionaries
    return segment, Ending.of(stretch)


def _finish(buffer: Buffer, container: Container, segments: list[Segment], ending: Ending) -> Slice:
    """See what follows the list; ``buffer`` stands at its end, or at the end of the file."""
    if ending.state is not State.CLOSED:
        lost = buffer.offset_of(buffer.stop) - ending.whole_end
        return Slice(segments, container.base_ns, cut=True, lost_bytes=lost)
    close_list(buffer, container)
    cut = not container.whole or buffer.source.broken
    return Slice(segments, container.base_ns, cut=cut, lost_bytes=0)


def _read_in_workers(
    path: Path, part: int, tasks: Sequence[Task], container: Container, reading: Reading
) -> Slice:
    """Let workers decode the tasks, and decode here what they could not."""
    first = tasks[0].start
    decode_all(path, tasks, reading.chunk_bytes, lambda done: reading.tick(first + done))
    proven = {task.start: task for task in tasks if task.ending is not None}
    segments: list[Segment] = []
    start = whole_end = first
    while True:
        task = proven.pop(start, None)
        # What was assumed to begin before here does not.
        proven = {at: later for at, later in proven.items() if at > start}
        if task is not None and task.ending is not None:
            segment, ending = task.segment, task.ending
        else:
            limit = min(proven, default=None)
            source = open_source(path, start, None if limit is None else limit + 1)
            try:
                buffer = Buffer(source, reading.chunk_bytes, start)
                segment, ending = _read_here(buffer, limit, container, part, reading)
            finally:
                source.close()
            if limit is not None and ending.state is State.STOPPED:
                del proven[limit]
        segments.append(segment)
        start = ending.next_start
        whole_end = ending.whole_end if segment.objects else whole_end
        if ending.state in {State.CLOSED, State.CUT}:
            break
    if ending.state is State.CUT:
        # A file that shrank meanwhile ends before what was read of it.
        lost = max(size_of(path) - whole_end, 0)
        return Slice(segments, container.base_ns, cut=True, lost_bytes=lost)
    source = open_source(path, start)
    try:
        return _finish(Buffer(source, reading.chunk_bytes, start), container, segments, ending)
    finally:
        source.close()
