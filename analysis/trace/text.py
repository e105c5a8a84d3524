"""One event as the file has it: what the columns do not keep, read again when somebody looks at it."""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from analysis.trace.repair import Bad, Found, NeedMoreError, find_event, next_event, repaired
from analysis.trace.times import nanoseconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from analysis.profile.discover import SourceFile
    from analysis.trace.model import Trace

_PACKED = b"\x1f\x8b"
_BETWEEN = b" \t\r\n,"
_RAWS = msgspec.json.Decoder(list[Raw])


def event_text(source: SourceFile, trace: Trace, number: int) -> dict[str, object] | None:
    """Everything the file says about one event.

    Only the part of the file is read where the event lies; of .gz all that stands before it as well. Numbers
    with a fraction are Decimal, every digit as written; what JSON forbids is repaired as in the trace.

    Args:
        source: The file the trace was read from.
        trace: Its trace.
        number: Position of the event among the objects of the file (``events.number``).

    Returns:
        The event; None if the file is not there any more, or has another event in this place.
    """
    place = _place(trace, number)
    if place is None or place.part >= len(source.parts):
        return None
    text = _read(source.parts[place.part], place.offset, place.length)
    if text is None:
        return None
    raws = _events(text, place.count)
    event = None if raws is None else _decoded(raws[number - place.first])
    return event if event is not None and _is_same(trace, number, event) else None


@dataclass(frozen=True, slots=True)
class _Place:
    """The chunk that holds an event."""

    part: int
    offset: int
    length: int
    first: int
    count: int
    """Events in the chunk."""


def _place(trace: Trace, number: int) -> _Place | None:
    if not 0 <= number < trace.quality.objects or trace.chunks.is_empty():
        return None
    firsts = trace.chunks["first"]
    # A chunk without any event shares its first with the one after it.
    at = firsts.search_sorted(number, side="right") - 1
    if at < 0:
        return None
    part, offset, length, first = trace.chunks.row(at)
    end = firsts[at + 1] if at + 1 < firsts.len() else trace.quality.objects
    return _Place(part, offset, length, first, end - first)


def _read(path: Path, offset: int, length: int) -> bytes | None:
    """The bytes of a chunk; None if there are fewer."""
    try:
        with path.open("rb") as plain:
            packed = plain.read(len(_PACKED)) == _PACKED
            plain.seek(0)
            with gzip.open(plain) if packed else plain as file:
                file.seek(offset)
                text = file.read(length)
    except (OSError, EOFError, zlib.error):
        return None
    return text if len(text) == length else None


def _events(text: bytes, count: int) -> Sequence[bytes] | None:
    """The text of each of the ``count`` events of a chunk; None if there are not as many."""
    try:
        raws: list[bytes] = [bytes(raw) for raw in _RAWS.decode(b"[" + text.strip(_BETWEEN) + b"]")]
    except (msgspec.DecodeError, RecursionError):
        raws = []
    if len(raws) != count:
        raws = list(_one_by_one(bytearray(text)))
    return raws if len(raws) == count else None


def _one_by_one(text: bytearray) -> Iterator[bytes]:
    """The text of the readable events of a chunk in which not everything is JSON."""
    stop = len(text)
    at = _skip(text, 0)
    while at < stop:
        try:
            found = find_event(text, at, stop)
            if isinstance(found, Found):
                yield bytes(text[at : found.end])
            following = _following(text, at, found, stop)
        except NeedMoreError:
            return
        if following is None:
            return
        at = _skip(text, following)


def _following(text: bytearray, at: int, found: Found | Bad, stop: int) -> int | None:
    if isinstance(found, Found):
        return found.end
    return next_event(text, at, found, stop, at_end=True)


def _skip(text: bytearray, at: int) -> int:
    while at < len(text) and text[at] in _BETWEEN:
        at += 1
    return at


def _decoded(raw: bytes) -> dict[str, object] | None:
    """An event as Python values."""
    fixed, _ = repaired(raw)
    try:
        event = json.loads(fixed, parse_float=Decimal)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _is_same(trace: Trace, number: int, event: dict[str, object]) -> bool:
    """Whether the trace has this event in this place: its name and time, where the event is a bar."""
    numbers = trace.events["number"]
    row = numbers.search_sorted(number)
    if row >= numbers.len() or numbers[row] != number:
        return True
    name = event.get("name")
    same_name = trace.events["name"][row] == (name if isinstance(name, str) else None)
    return bool(same_name and trace.events["start_ns"][row] == nanoseconds(str(event.get("ts")).strip()))
