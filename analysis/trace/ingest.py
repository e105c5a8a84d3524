"""A trace file to columns: exact, in bounded memory, whatever state the file is in."""

from __future__ import annotations

import ctypes
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from analysis.profile.tables import display_path
from analysis.trace.assemble import assemble
from analysis.trace.chunks import CHUNK_BYTES
from analysis.trace.model import Fault
from analysis.trace.slices import Reading, Slice, read_slice
from analysis.trace.source import size_of
from analysis.trace.workers import PARALLEL_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from analysis.profile.discover import SourceFile
    from analysis.trace.model import Trace

_REPORT_SECONDS: Final = 0.05
_M_MMAP_THRESHOLD = -3
_LARGE_BYTES = 1 << 20


def read_trace(
    source: SourceFile,
    *,
    root: Path,
    jobs: int = 1,
    advance: Callable[[int], None] = lambda _: None,
) -> Trace:
    """Read all slices of a trace as one.

    Args:
        source: The logical file.
        root: What paths in faults are relative to.
        jobs: How many processes may decode a large file.
        advance: Told every 0.05 s how many bytes of the files are done; it may raise to stop the work.

    Raises:
        UnreadableFileError: A slice cannot be read or is no trace.
    """
    return read_parts(source.parts, root=root, jobs=jobs, advance=advance)


def read_parts(
    parts: Sequence[Path],
    *,
    root: Path,
    jobs: int = 1,
    advance: Callable[[int], None] = lambda _: None,
    chunk_bytes: int = CHUNK_BYTES,
    parallel_bytes: int = PARALLEL_BYTES,
) -> Trace:
    """The same with the sizes that do not change the result.

    Args:
        parts: The slices, in order.
        root: As for :func:`read_trace`.
        jobs: As for :func:`read_trace`.
        advance: As for :func:`read_trace`.
        chunk_bytes: How much text to decode at once.
        parallel_bytes: From which size on a slice is decoded by ``jobs`` processes.
    """
    _give_memory_back()
    progress = _Progress(advance)
    slices: list[Slice] = []
    for part, path in enumerate(parts):
        size = size_of(path)
        reading = Reading(jobs, chunk_bytes, parallel_bytes, progress.tick)
        slices.append(read_slice(path, part, reading))
        progress.add(size)
    cuts = [
        Fault("cut", 1, display_path(path, root)[-80:], None, lost=True)
        for path, one in zip(parts, slices, strict=True)
        if one.cut
    ]
    segments = [segment for one in slices for segment in one.segments]
    lost_bytes = sum(one.lost_bytes for one in slices)
    base_ns = next((one.base_ns for one in slices if one.base_ns), 0)
    return progress.during(lambda: assemble(segments, cuts, lost_bytes, base_ns))


def _give_memory_back() -> None:
    """Let large arrays go back to the system when they are done with.

    glibc keeps more and more of them in its heap otherwise: 50 MB of a file of 1 GB, just when arrows are
    matched and most is needed.
    """
    # Not every C library has it.
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)


class _Progress:
    """Reports bytes, not more often than anybody wants to know."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance = advance
        self._before = 0
        self._most = 0
        self._next = 0.0

    def tick(self, done: int) -> None:
        """So many bytes of the current slice are done."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _REPORT_SECONDS
            # What a worker did that died is done again.
            self._most = max(self._most, self._before + done)
            self._advance(self._most)

    def add(self, size: int) -> None:
        """A whole slice is done."""
        self._before += size
        self._advance(self._before)

    def during(self, work: Callable[[], Trace]) -> Trace:
        """The result of work that cannot report itself; it is left alone if ``advance`` raises meanwhile."""
        results: list[Trace] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                results.append(work())
            except BaseException as error:  # noqa: BLE001 - it goes on to the caller below
                errors.append(error)

        thread = threading.Thread(target=run, name="assemble trace", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(_REPORT_SECONDS)
            self._advance(self._before)
        if errors:
            raise errors[0]
        return results[0]
