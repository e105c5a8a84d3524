"""The bytes of one slice of a trace, plain or packed, read in order into one buffer."""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from analysis.errors import UnreadableFileError

if TYPE_CHECKING:
    from pathlib import Path

MOST_UNPACKED_BYTES: Final = 64 << 30
"""A .gz that holds more is refused: no capture is so large, and a few megabytes can unpack to anything."""

MOST_EVENT_BYTES: Final = 64 << 20
"""A file with a larger event is refused: it would have to be held in memory whole."""

_PACKED = b"\x1f\x8b"
_PACKED_READ = 1 << 18
_GZIP = 31


class Source(Protocol):
    """Bytes in order, and how far the file on disk has been read."""

    path: Path
    done: int
    """Bytes of the file on disk that have been read."""
    broken: bool
    """Whether a packed file ended before its end, or cannot be unpacked from here on."""

    def read_into(self, view: memoryview) -> int:
        """Fill the start of ``view``; how many bytes, 0 at the end."""

    def close(self) -> None:
        """Let go of the file."""


def open_source(path: Path, start: int = 0, stop: int | None = None) -> Source:
    """The bytes of a file, unpacked where it is packed.

    Args:
        path: The file.
        start: Where to begin, in a plain file.
        stop: Where to end, in a plain file.

    Raises:
        UnreadableFileError: It cannot be opened.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
        packed = start == 0 and os.pread(descriptor, 2, 0) == _PACKED
    except OSError as error:
        raise UnreadableFileError(path, error.strerror or str(error)) from error
    return PackedSource(path, descriptor) if packed else PlainSource(path, descriptor, start, stop)


def size_of(path: Path) -> int:
    """Bytes of a file on disk.

    Raises:
        UnreadableFileError: It is gone.
    """
    try:
        return path.stat().st_size
    except OSError as error:
        raise UnreadableFileError(path, error.strerror or str(error)) from error


class PlainSource:
    """A file read as it is."""

    def __init__(self, path: Path, descriptor: int, start: int, stop: int | None) -> None:
        self.path = path
        self.done = start
        self.broken = False
        self._descriptor = descriptor
        self._stop = stop

    def read_into(self, view: memoryview) -> int:
        """Fill the start of ``view``; how many bytes, 0 at the end."""
        if self._stop is not None:
            view = view[: max(self._stop - self.done, 0)]
        if not view:
            return 0
        try:
            count = os.preadv(self._descriptor, [view], self.done)
        except OSError as error:
            raise UnreadableFileError(self.path, error.strerror or str(error)) from error
        self.done += count
        return count

    def close(self) -> None:
        """Let go of the file."""
        with suppress(OSError):
            os.close(self._descriptor)


class PackedSource:
    """A .gz file unpacked bit by bit; never more of it in memory than one buffer."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.done = 0
        self.broken = False
        self._descriptor = descriptor
        self._unpacker = zlib.decompressobj(_GZIP)
        self._begun = False
        self._waiting = b""
        self._unpacked = 0

    def read_into(self, view: memoryview) -> int:
        """Fill the start of ``view``; how many bytes, 0 at the end."""
        while not self.broken:
            more = bool(self._waiting) or self._read()
            text = self._unpack(len(view))
            if text:
                self._unpacked += len(text)
                if self._unpacked > MOST_UNPACKED_BYTES:
                    limit = MOST_UNPACKED_BYTES >> 30
                    raise UnreadableFileError(
                        self.path, f"unpacks to more than {limit} GiB, which no trace does"
                    )
                view[: len(text)] = text
                return len(text)
            if not more:
                self.broken = self._begun
                return 0
        return 0

    def _read(self) -> bool:
        try:
            self._waiting = os.pread(self._descriptor, _PACKED_READ, self.done)
        except OSError as error:
            raise UnreadableFileError(self.path, error.strerror or str(error)) from error
        self.done += len(self._waiting)
        return bool(self._waiting)

    def _unpack(self, most: int) -> bytes:
        # Without new input it still gives what did not fit before.
        self._begun = self._begun or bool(self._waiting)
        try:
            text = self._unpacker.decompress(self._waiting, most)
        except zlib.error as error:
            if not self._unpacked:
                raise UnreadableFileError(self.path, "looks packed but cannot be unpacked") from error
            self.broken = True
            return b""
        self._waiting = self._unpacker.unconsumed_tail
        if self._unpacker.eof:
            # Another member may follow, or padding.
            self._waiting = self._unpacker.unused_data.lstrip(b"\0")
            self._unpacker = zlib.decompressobj(_GZIP)
            self._begun = False
        return text

    def close(self) -> None:
        """Let go of the file."""
        with suppress(OSError):
            os.close(self._descriptor)


class TooLargeError(UnreadableFileError):
    """One event or value would have to be held in memory whole and is too large for that."""


class Buffer:
    """A window on the text of a source: ``data[start:stop]``, of which ``data[start]`` lies at ``offset``.

    There is always room for one byte before ``start`` and one after ``stop``, so that a run of events can be
    made a list in place.
    """

    def __init__(self, source: Source, size: int, offset: int = 0) -> None:
        self.source = source
        self.data = bytearray(size + 2)
        self.start = 1
        self.stop = 1
        self.at_end = False
        self._origin = offset - 1

    @property
    def offset(self) -> int:
        """Where ``start`` lies in the text of the source."""
        return self._origin + self.start

    def offset_of(self, at: int) -> int:
        """Where the byte ``data[at]`` lies in the text of the source."""
        return self._origin + at

    def larger(self, size: int) -> int:
        """How much to hold where ``size`` bytes were too few.

        Raises:
            TooLargeError: That is more than an event may have.
        """
        if size >= MOST_EVENT_BYTES:
            limit = MOST_EVENT_BYTES >> 20
            raise TooLargeError(self.source.path, f"one event or value is larger than {limit} MiB")
        return min(size * 2, MOST_EVENT_BYTES)

    def fill(self, size: int) -> None:
        """Hold at least ``size`` bytes from ``start`` on, or all that is left."""
        if self.stop - self.start >= size or self.at_end:
            return
        self._make_room(size)
        with memoryview(self.data) as view:
            while self.stop - self.start < size:
                with view[self.stop : self.start + size] as room:
                    count = self.source.read_into(room)
                if not count:
                    self.at_end = True
                    return
                self.stop += count

    def _make_room(self, size: int) -> None:
        """Move what is held to the front, of a larger buffer if need be."""
        held = self.stop - self.start
        data = bytearray(size + 2) if size + 2 > len(self.data) else self.data
        data[1 : 1 + held] = self.data[self.start : self.stop]
        self._origin += self.start - 1
        self.data, self.start, self.stop = data, 1, 1 + held
