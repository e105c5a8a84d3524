"""Where the list of events lies in a trace file, and what else the file says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from analysis.errors import UnreadableFileError
from analysis.trace.repair import BLANKS, lexical_end, repaired, string_end, value_end
from analysis.trace.source import Buffer, TooLargeError, open_source

if TYPE_CHECKING:
    from pathlib import Path

_LOOK_BYTES = 1 << 16
_BLANK = re.compile(rb"[ \t\r\n]*")
_WHOLE_NUMBER = re.compile(rb'"?(-?\d{1,19})"?')
_WORD = re.compile(rb"[^,:{}\[\]\s]+")
_MARK = b"\xef\xbb\xbf"
_MOST_BASE_NS: Final = 1 << 61
_EVENTS, _BASE = "traceEvents", "baseTimeNanoseconds"
_NO_TRACE = "no trace: neither a list of events nor an object with traceEvents"


@dataclass(slots=True)
class Container:
    """The object around the list of events, or none."""

    wrapped: bool = False
    base_ns: int = 0
    whole: bool = True
    """Whether nothing is missing after the list."""


def open_list(buffer: Buffer) -> Container:
    """Go to the first event.

    Raises:
        UnreadableFileError: The file holds no list of events.
    """
    buffer.fill(_LOOK_BYTES)
    if buffer.data.startswith(_MARK, buffer.start):
        buffer.start += len(_MARK)
    container = Container()
    sign = _skip(buffer)
    if not sign and buffer.source.broken:
        # Packed and cut before its first byte: a list of which nothing is left.
        return container
    if not sign:
        raise UnreadableFileError(buffer.source.path, "the file is empty")
    if sign not in {b"[", b"{"}:
        raise _no_trace(buffer)
    buffer.start += 1
    if sign == b"[":
        return container
    container.wrapped = True
    if not _read_keys(buffer, container, head=True):
        raise _no_trace(buffer)
    return container


def close_list(buffer: Buffer, container: Container) -> None:
    """Read what follows the list up to the end of the object, as far as it can be read."""
    try:
        container.whole = not container.wrapped or _read_keys(buffer, container, head=False)
    except TooLargeError:
        # Whatever it is, the events are all there.
        container.whole = True


def _read_keys(buffer: Buffer, container: Container, *, head: bool) -> bool:
    """Read keys and values: up to the list of events, or after it up to the end of the object."""
    while True:
        sign = _skip(buffer)
        if sign == b"}":
            buffer.start += 1
            return not head and not _skip(buffer)
        if sign == b",":
            buffer.start += 1
            continue
        key = _value(buffer) if sign == b'"' else None
        if key is None or _skip(buffer) != b":":
            return False
        buffer.start += 1
        name = _text(key)
        if head and name == _EVENTS and _skip(buffer) == b"[":
            buffer.start += 1
            return True
        _skip(buffer)
        value = _value(buffer)
        if value is None:
            return False
        if name == _BASE:
            container.base_ns = _base(value)


def _skip(buffer: Buffer) -> bytes:
    """Pass over blanks; the byte that follows, empty at the end of the file."""
    while True:
        blank = _BLANK.match(buffer.data, buffer.start, buffer.stop)
        if blank:
            buffer.start = blank.end()
        if buffer.start < buffer.stop:
            return bytes(buffer.data[buffer.start : buffer.start + 1])
        if buffer.at_end:
            return b""
        buffer.fill(_LOOK_BYTES)


def _value(buffer: Buffer) -> bytes | None:
    """The value that begins here, and go to its end; None if there is no whole one."""
    size = _LOOK_BYTES
    while True:
        buffer.fill(size)
        end = value_end(buffer.data, buffer.start, buffer.stop) or _malformed_end(buffer)
        if end:
            value = bytes(buffer.data[buffer.start : end])
            buffer.start = end
            return value
        if buffer.at_end:
            return None
        size = buffer.larger(size)


def _malformed_end(buffer: Buffer) -> int | None:
    """Where a value ends that is no JSON, because of a NaN or a bare control byte for instance."""
    if buffer.start == buffer.stop:
        return None
    sign = buffer.data[buffer.start]
    if sign in b"{[":
        return lexical_end(buffer.data, buffer.start, buffer.stop)
    if sign == ord('"'):
        return string_end(buffer.data, buffer.start, buffer.stop)
    word = _WORD.match(buffer.data, buffer.start, buffer.stop)
    return word.end() if word and word.end() < buffer.stop else None


def _text(value: bytes) -> str | None:
    try:
        return msgspec.json.decode(repaired(value)[0], type=str)
    except msgspec.DecodeError:
        return None


def _base(value: bytes) -> int:
    number = _WHOLE_NUMBER.fullmatch(value.strip(BLANKS))
    base = int(number[1]) if number else 0
    return base if abs(base) < _MOST_BASE_NS else 0


def _no_trace(buffer: Buffer) -> UnreadableFileError:
    return UnreadableFileError(buffer.source.path, _NO_TRACE, _line(buffer.source.path, buffer.offset))


def _line(path: Path, offset: int) -> int:
    """The line of a byte, counted from 1."""
    source = open_source(path)
    line, left = 1, offset
    block = bytearray(1 << 20)
    try:
        while left > 0:
            with memoryview(block)[:left] as view:
                count = source.read_into(view)
            if not count:
                break
            line += block.count(b"\n", 0, count)
            left -= count
    finally:
        source.close()
    return line
