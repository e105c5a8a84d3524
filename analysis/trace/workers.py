"""Several processes that decode one plain trace file, each from a start that is only assumed.

A worker decodes from its start to the start of the next one. If it reaches that exactly, the next start is
proven by it; where it does not, the caller decodes what the next worker should have. Workers are spawned,
hold one chunk and their dictionaries, and load neither polars nor the program that started them.
"""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import pickle
import signal
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import connection
from typing import TYPE_CHECKING, Final

from analysis.trace.chunks import Chunk, State, Stretch
from analysis.trace.repair import BORDER, Bad, NeedMoreError, find_event
from analysis.trace.segments import Segment
from analysis.trace.source import Buffer, open_source, size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess
    from pathlib import Path

    from analysis.trace.decode import Dictionaries

PARALLEL_BYTES: Final = 64 << 20
"""Smaller files are decoded in the time that the start of a process takes."""

_GUESS_BYTES = 1 << 20
_GUESSES = 100
_PIPE_BYTES = 1 << 20
_WAIT_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Ending:
    """How a stretch ended, and where."""

    state: State
    next_start: int
    whole_end: int
    dictionaries: Dictionaries

    @classmethod
    def of(cls, stretch: Stretch) -> Ending:
        """That of a stretch all of whose chunks were read."""
        return cls(stretch.state, stretch.next_start, stretch.whole_end, stretch.dictionaries)


@dataclass(slots=True)
class Task:
    """What one worker decodes, and what it sent so far."""

    start: int
    limit: int | None
    wrapped: bool
    segment: Segment
    ending: Ending | None = None
    """None while it works, and for good if it died."""
    done: int = 0


def plan(path: Path, part: int, start: int, count: int, *, wrapped: bool) -> list[Task]:
    """Up to ``count`` stretches of about the same length.

    Args:
        path: The file.
        part: Which slice it is.
        start: Where its first event begins.
        count: How many workers there may be.
        wrapped: Whether the list of events lies in an object.
    """
    size = size_of(path)
    starts = [start]
    for at in range(1, count):
        found = _guess(path, start + (size - start) * at // count)
        if found is not None and found > starts[-1]:
            starts.append(found)
    limits = [*starts[1:], None]
    return [Task(one, limit, wrapped, Segment(part)) for one, limit in zip(starts, limits, strict=True)]


def _guess(path: Path, offset: int) -> int | None:
    """Where the first event after ``offset`` seems to begin."""
    source = open_source(path, offset)
    buffer = Buffer(source, _GUESS_BYTES, offset)
    try:
        buffer.fill(_GUESS_BYTES)
        for border in islice(BORDER.finditer(buffer.data, buffer.start, buffer.stop), _GUESSES):
            at = border.end() - 1
            with suppress(NeedMoreError):
                found = find_event(buffer.data, at, buffer.stop)
                if not isinstance(found, Bad) and found.event.ph is not None:
                    return buffer.offset_of(at)
    finally:
        source.close()
    return None


def decode_all(path: Path, tasks: Sequence[Task], chunk_bytes: int, tick: Callable[[int], None]) -> None:
    """Decode every task in a process of its own; those of workers that died have no ending.

    Args:
        path: The file.
        tasks: What to decode; what arrives is added to them.
        chunk_bytes: How much text to decode at once.
        tick: Told how many bytes are decoded; what it raises ends all workers.
    """
    context = multiprocessing.get_context("spawn")
    processes: list[SpawnProcess] = []
    waiting: dict[Connection, Task] = {}
    try:
        for task in tasks:
            receiver, sender = context.Pipe(duplex=False)
            waiting[receiver] = task
            _widen(sender)
            arguments = (sender, os.fspath(path), task.start, task.limit, task.wrapped, chunk_bytes)
            process = context.Process(target=_work, args=arguments, daemon=True)
            # Where no process can be started, the pipe ends at once as if it had died.
            with _no_main_module(), _no_interrupt(), suppress(OSError):
                process.start()
                processes.append(process)
            # Held here as well, the pipe would not break when the worker dies.
            sender.close()
        while waiting:
            for ready in connection.wait(list(waiting), _WAIT_SECONDS):
                if isinstance(ready, connection.Connection) and not _receive(ready, waiting[ready]):
                    ready.close()
                    del waiting[ready]
            tick(sum(task.done for task in tasks))
    finally:
        for receiver in waiting:
            receiver.close()
        _end(processes)


def _receive(receiver: Connection, task: Task) -> bool:
    """Take one message; False if it was the last one."""
    try:
        message = pickle.loads(receiver.recv_bytes())  # noqa: S301 - from a process started here
    except (EOFError, OSError, pickle.UnpicklingError):
        return False
    if isinstance(message, Chunk):
        task.segment.add(message)
        if message.runs:
            task.done = message.runs[-1].offset + message.runs[-1].length - task.start
        return True
    if isinstance(message, Ending):
        task.ending = message
        task.segment.dictionaries = message.dictionaries
    return False


def _end(processes: Sequence[SpawnProcess]) -> None:
    """See that no worker is left; they hold nothing that would have to be put away."""
    for process in processes:
        process.kill()
    for process in processes:
        process.join()
        process.close()


def _widen(pipe: Connection) -> None:
    """Let a pipe hold several chunks, so that a worker does not wait for the next turn of its parent."""
    # Without it, or where users have used up their share of pipe memory, it only is slower.
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


@contextmanager
def _no_main_module() -> Iterator[None]:
    """Keep spawn from running the main script again in the worker, with all that it imports."""
    main = sys.modules["__main__"]
    kept = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    try:
        main.__spec__ = None
        with suppress(AttributeError):
            del main.__file__
        yield
    finally:
        for name, value in kept.items():
            setattr(main, name, value)


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Keep Ctrl-C from a worker from its first moment on: a new process has the mask of who started it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(
    sender: Connection, path: str, start: int, limit: int | None, wrapped: bool, chunk_bytes: int
) -> None:
    """Decode one stretch and send it, chunk by chunk, then how it ended."""
    # Ctrl-C goes to the whole group; the parent decides what becomes of the work.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from pathlib import Path  # noqa: PLC0415

    source = open_source(Path(path), start, None if limit is None else limit + 1)
    buffer = Buffer(source, chunk_bytes, start)
    stretch = Stretch(buffer, wrapped=wrapped, limit=limit, chunk_bytes=chunk_bytes)
    with suppress(BrokenPipeError):
        for chunk in stretch.chunks():
            sender.send_bytes(pickle.dumps(chunk, pickle.HIGHEST_PROTOCOL))
        sender.send_bytes(pickle.dumps(Ending.of(stretch), pickle.HIGHEST_PROTOCOL))
