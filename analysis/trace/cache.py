"""Traces that were read before: columns kept in a folder, so that a second opening need not read the file.

One entry is one file, named after the path it was read from, so a file that has changed takes the place of
its older self. An entry is written under a temporary name, flushed to disk and renamed: it is there whole or
not at all. Who writes holds a lock on the temporary file; one without a lock is the leftover of a process
that was killed, and the next who writes removes it. Whatever goes wrong with the cache costs time, never a
result.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import stat
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final

import polars as pl

from analysis.trace.packed import HEAD_BYTES, MAGIC, digest, layout, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from analysis.profile.discover import SourceFile
    from analysis.trace.model import Trace

LARGEST: Final = 4 << 30
"""Bytes that all entries together may take."""
FREE_SHARE: Final = 0.1
"""Share of the disk space not used by others that all entries together may take."""
SMALLEST_SOURCE: Final = 256 << 10
"""Bytes on disk below which a trace is not kept: reading it takes a few hundredths of a second."""

_SAMPLE = 1 << 20
_ENTRY = re.compile(r"[0-9a-f]{32}\.trace")
_TEMPORARY = re.compile(r"\.[0-9a-f]{32}\.[0-9a-f]{16}\.tmp")
_ABANDONED_S = 24 * 3600
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_NOT_READABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What a cache folder holds, or what was removed from it."""

    folder: Path
    entries: int
    """Traces."""
    bytes: int
    """On disk, leftovers of killed processes included."""
    failed: int = 0
    """Files that could not be removed."""


def identity(source: SourceFile) -> bytes | None:
    """What tells this file, as it is now, from any other: 32 bytes; None if it cannot be looked at.

    Of every slice: the resolved path, size, times of change of content and inode in ns, and 1 MiB each of its
    head, middle and tail; and the layout of entries (spec N2). The time of the inode tells a change between
    the samples whose other time was put back.
    """
    pieces = [layout()]
    try:
        for part in source.parts:
            with part.open("rb") as file:
                status = os.fstat(file.fileno())
                pieces += [os.fsencode(part.resolve()), _stamp(status)]
                pieces += [_sample(file, at) for at in _samples(status.st_size)]
    except (OSError, RuntimeError):  # a loop of links is a RuntimeError before Python 3.13
        return None
    return digest(*pieces)


def load(folder: Path, source: SourceFile) -> Trace | None:
    """The trace of ``source`` as it was stored; None if it is not there, not whole or not of this file."""
    now = identity(source)
    return None if now is None else _load(folder, source, now)


def store(
    folder: Path,
    source: SourceFile,
    trace: Trace,
    *,
    seen: bytes | None = None,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Keep the trace of ``source``. If it cannot be kept, nothing happens.

    Args:
        folder: The cache; made if it is not there.
        source: Where the trace was read from.
        trace: The trace.
        seen: The identity of the file before it was read. If it is another now, the file has changed while it
            was read, and the trace is not kept.
        check: Called several times a second; what it raises comes through.
    """
    try:
        if source.size < SMALLEST_SOURCE:
            return
        now = identity(source)
        if now is None or seen not in (None, now):
            return
        _prepare(folder)
        _sweep(folder)
        _write(folder, _name(source), trace, now, check)
        _make_room(folder, _name(source))
    except OSError:
        return


def cached(
    folder: Path | None,
    source: SourceFile,
    read: Callable[[], Trace],
    *,
    check: Callable[[], None] = lambda: None,
) -> Trace:
    """The trace of ``source`` from the cache, else by ``read``, whose result is kept.

    Without a folder nothing is looked up or kept. Errors of ``read`` and ``check`` come through.
    """
    seen = identity(source) if folder is not None else None
    if folder is None or seen is None:
        return read()
    found = _load(folder, source, seen)
    if found is None:
        found = read()
        store(folder, source, found, seen=seen, check=check)
    return found


def info(folder: Path) -> CacheInfo:
    """How much the cache holds; a folder that is not there holds nothing."""
    found = _own_files(folder)
    entries = sum(_ENTRY.fullmatch(path.name) is not None for path, _ in found)
    return CacheInfo(folder, entries, sum(status.st_size for _, status in found))


def clear(folder: Path) -> CacheInfo:
    """Remove every entry and every leftover, and nothing that recui did not write.

    Returns:
        What was removed, and how many files could not be.
    """
    entries = size = failed = 0
    for path, status in _own_files(folder):
        entry = _ENTRY.fullmatch(path.name) is not None
        try:
            if not entry and not _is_leftover(path):
                continue
            path.unlink(missing_ok=True)
        except OSError:
            failed += 1
        else:
            entries += entry
            size += status.st_size
    return CacheInfo(folder, entries, size, failed)


# ------------------------------------------------------------------------------------------- reading


def _stamp(status: os.stat_result) -> bytes:
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}".encode()


def _samples(size: int) -> tuple[int, ...]:
    """Where the samples of a file begin."""
    last = max(size - _SAMPLE, 0)
    return (0, last // 2, last)


def _sample(file: BinaryIO, offset: int) -> bytes:
    file.seek(offset)
    return file.read(_SAMPLE)


def _name(source: SourceFile) -> str:
    """The name of an entry: the same for all contents of a file, so that old ones are replaced."""
    return f"{digest(*(os.fsencode(part.resolve()) for part in source.parts))[:16].hex()}.trace"


def _load(folder: Path, source: SourceFile, wanted: bytes) -> Trace | None:
    try:
        path = folder / _name(source)
        content = _content(folder, path, MAGIC + wanted)
        trace = None if content is None else unpack(content, wanted)
        if trace is not None:
            with suppress(OSError):  # the time of change says when it was used last
                os.utime(path)
    except _NOT_READABLE:
        return None
    return trace


def _content(folder: Path, path: Path, head: bytes) -> bytes | None:
    """The bytes of an entry that begins with ``head`` and that nobody else can have written."""
    with os.fdopen(os.open(path, _OPEN), "rb") as file:
        status = os.fstat(file.fileno())
        own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and _is_private(folder)
        if not own or status.st_size > LARGEST or file.read(HEAD_BYTES) != head:
            return None
        return head + file.read()


def _is_private(folder: Path) -> bool:
    status = folder.stat()
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


# ------------------------------------------------------------------------------------------- writing


def _prepare(folder: Path) -> None:
    """Make the folder, or take from it what others may do there.

    Raises:
        OSError: It cannot be made, or is another's.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat()
    if status.st_uid != os.geteuid():
        raise PermissionError
    if status.st_mode & 0o077:
        folder.chmod(status.st_mode & 0o700)


def _write(folder: Path, name: str, trace: Trace, now: bytes, check: Callable[[], None]) -> None:
    """Write an entry whole, or leave the folder as it was."""
    limit = _limit(folder)
    temporary = folder / f".{name.removesuffix('.trace')}.{secrets.token_hex(8)}.tmp"
    with _locked(temporary) as file:
        for piece in pack(trace, now):
            check()
            if file.tell() + len(piece) > limit:
                return
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
        temporary.replace(folder / name)


@contextmanager
def _locked(temporary: Path) -> Iterator[BinaryIO]:
    """A new file under this name, locked; the name is gone at the end unless the file was renamed."""
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            with suppress(OSError):  # some network file systems know no locks
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield file
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _limit(folder: Path) -> int:
    """Bytes that the whole cache may take now."""
    used = sum(status.st_size for _, status in _own_files(folder))
    return min(LARGEST, int(FREE_SHARE * (shutil.disk_usage(folder).free + used)))


def _make_room(folder: Path, newest: str) -> None:
    """Remove entries until all fit, those not used for longest first; the one just written stays."""
    limit = _limit(folder)
    found = sorted(_own_files(folder), key=lambda entry: (entry[1].st_mtime_ns, entry[0].name))
    size = sum(status.st_size for _, status in found)
    for path, status in found:
        if size <= limit:
            return
        if path.name != newest and _ENTRY.fullmatch(path.name):
            path.unlink(missing_ok=True)
            size -= status.st_size


def _sweep(folder: Path) -> None:
    """Remove what processes left behind that were killed while they wrote."""
    for path, _ in _own_files(folder):
        with suppress(OSError):
            if _TEMPORARY.fullmatch(path.name) and _is_leftover(path):
                path.unlink(missing_ok=True)


def _is_leftover(path: Path) -> bool:
    """Whether nobody is writing this temporary file; without locks, whether nobody has for a day."""
    handle = os.open(path, _OPEN)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return time.time() - os.fstat(handle).st_mtime > _ABANDONED_S
    finally:
        os.close(handle)
    return True


def _own_files(folder: Path) -> list[tuple[Path, os.stat_result]]:
    """Entries and temporary files in the folder, by name; files that only bear such a name are not ours."""
    found: list[tuple[Path, os.stat_result]] = []
    try:
        for path in sorted(folder.iterdir()):
            if _ENTRY.fullmatch(path.name) or _TEMPORARY.fullmatch(path.name):
                with suppress(OSError):
                    found += [(path, path.stat(follow_symlinks=False))] if _is_own(path) else []
    except OSError:
        return []
    return found


def _is_own(path: Path) -> bool:
    """Whether the file begins as those that recui writes, as far as it goes."""
    with os.fdopen(os.open(path, _OPEN), "rb") as file:
        regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        return regular and MAGIC.startswith(file.read(len(MAGIC)))
