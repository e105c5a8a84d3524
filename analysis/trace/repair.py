"""One event at a time, where a trace is no proper JSON: repaired where that is possible, else passed over.

Everything here is slow; it works on chunks that could not be decoded at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec import Raw

from analysis.trace import times
from analysis.trace.decode import Args, Event, integer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_EVENT = msgspec.json.Decoder(Event)
_VALUE = msgspec.json.Decoder(Raw)
_FIELDS = msgspec.json.Decoder(dict[str, Raw])

BORDER: Final = re.compile(rb"\}[ \t\r\n]*,[ \t\r\n]*\{")
"""What lies between two events; strings and nested values hold it too."""

# After a bracket too few, any comma may be the one between two events.
_START = re.compile(rb",[ \t\r\n]*\{(?=[ \t\r\n]*[\"}])")
_BLANK = re.compile(rb"[ \t\r\n]*")
_POSITION = re.compile(r"\(byte (\d+)\)")
# Strings without an escape and all that lies between brackets are passed over in one go.
_DULL = re.compile(rb'(?:[^"{}\[\]]+|"[^"\\]*")*')
# The last string of a text that goes on counts as one, too.
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_ESCAPE = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.DOTALL,
)
_HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")
_REPAIRABLE = re.compile(rb"[\x00-\x1fnNaAiI]")
"""What stands where JSON ends that can be repaired."""
_NO_NUMBER = re.compile(rb"[-+]?\b(?:nan|inf|infinity)\b(?:\(ind\))?", re.IGNORECASE)
# What may be cut at the end of a text and then looks malformed: a number, -Infinity, -nan(ind).
_CUT_WORD = 12
_NEAR_BYTES = 1 << 20
"""How far a damaged event may reach and be repaired, and how far the next whole one may be away."""
_SHORT_BYTES = 1 << 12
_MOST_STARTS = 100
"""How many places are tried for the next whole event, so that rubbish takes no more time than its size."""
BLANKS: Final = b" \t\r\n"
_QUOTE, _OPEN = ord('"'), frozenset(b"{[")


class NeedMoreError(Exception):
    """The text that follows decides."""


@dataclass(frozen=True, slots=True)
class Found:
    """An event and where its text ends."""

    end: int
    event: Event
    repairs: tuple[str, ...] = ()
    """What had to be repaired: control_bytes, encoding, not_a_number."""


@dataclass(frozen=True, slots=True)
class Bad:
    """What is no event; its brackets close at ``end``, None if they do not."""

    end: int | None


def find_event(text: bytearray, start: int, stop: int, near: int = _NEAR_BYTES) -> Found | Bad:
    """The value of the list that begins at ``start``.

    Args:
        text: Text that holds it.
        start: Where it begins.
        stop: Where the text that is known ends.
        near: How far it may reach beyond what has to be repaired.

    Raises:
        NeedMoreError: It may go on after ``stop``.
    """
    end, fault = _probe(text, start, stop)
    if fault is not None:
        return _damaged(text, start, stop, fault, near)
    if end is None and _HALF_PAIR.search(text, start, stop):
        # Half of a surrogate pair looks as if the text was cut.
        end = lexical_end(text, start, stop)
    if end is None:
        raise NeedMoreError
    if text[start] in _OPEN:
        return _read(bytes(text[start:end]), end)
    # No event in any case. Where no comma follows it is the middle of a damaged one.
    blank = _BLANK.match(text, end, stop)
    following = text[blank.end() : min(blank.end() + 1, stop)] if blank else b""
    if not following:
        raise NeedMoreError
    return Bad(end if bytes(following) in {b",", b"]"} else None)


def _damaged(text: bytearray, start: int, stop: int, fault: int, near: int) -> Found | Bad:
    """The same where the text is no JSON from ``fault`` on."""
    repairable = _REPAIRABLE.search(text, max(start, fault - 1), min(stop, fault + 2)) is not None
    far = fault + (near if repairable else _SHORT_BYTES)
    end = lexical_end(text, start, min(stop, far))
    if end is not None and text[start] in _OPEN:
        return _read(bytes(text[start:end]), end)
    if repairable and stop < far:
        fixed, repairs = repaired(bytes(text[start:stop]))
        if repairs and _probe(fixed, 0, len(fixed)).fault is None:
            raise NeedMoreError
    return Bad(None)


def next_event(text: bytearray, start: int, bad: Bad, stop: int, *, at_end: bool) -> int | None:
    """Where to go on after what is no event: at the first comma that a whole event follows.

    A quote too many makes strings of all that lies between the following strings, so where the brackets of
    the bad event close means little. None if nothing follows in the whole file.

    Raises:
        NeedMoreError: It is not among the text up to ``stop``.
    """
    far = start + _NEAR_BYTES
    at = start
    for tried, at in enumerate(_starts(text, start, min(far, stop if bad.end is None else bad.end))):
        if tried == _MOST_STARTS:
            break
        try:
            found = find_event(text, at, stop, _SHORT_BYTES)
        except NeedMoreError:
            if not at_end:
                raise
            continue
        if isinstance(found, Found) and found.event.ph is not None:
            return at
    else:
        at = far
    if bad.end is not None or at < stop:
        return at if bad.end is None else bad.end
    if not at_end:
        raise NeedMoreError
    return None


def _starts(text: bytearray, start: int, stop: int) -> Iterator[int]:
    if text[start] not in _OPEN:
        following = text.find(b"{", start, stop)
        if following >= 0:
            yield following
    for comma in _START.finditer(text, start, stop):
        yield comma.end() - 1


class _Probe(NamedTuple):
    end: int | None
    """Where the value ends."""
    fault: int | None
    """Where the text stops being JSON; without either it goes on after what is known."""


def value_end(text: bytes | bytearray, start: int, stop: int) -> int | None:
    """Where the JSON value at ``start`` ends; None if it is malformed or may go on after ``stop``."""
    return _probe(text, start, stop).end


def _probe(text: bytes | bytearray, start: int, stop: int) -> _Probe:
    with memoryview(text)[start:stop] as view:
        try:
            _VALUE.decode(view)
        except msgspec.DecodeError as error:
            position = _POSITION.search(str(error))
            if position is None:
                return _Probe(None, None)
            at = int(position[1])
            if "trailing" in str(error):
                # It tells the place after the first character that is too many.
                return _Probe(start + len(bytes(view[: at - 1]).rstrip(BLANKS)), None)
            return _Probe(None, None if at >= len(view) - _CUT_WORD else start + at)
        except RecursionError:
            return _Probe(None, start)
        whole = len(bytes(view).rstrip(BLANKS))
    # A number at the end of the text may go on.
    return _Probe(start + whole if text[start] in b'{["' else None, None)


def lexical_end(text: bytes | bytearray, start: int, stop: int) -> int | None:
    """Where the brackets opened from ``start`` on are closed again, those in strings left out."""
    depth = 0
    at = start
    while True:
        dull = _DULL.match(text, at, stop)
        at = dull.end() if dull else at
        if at >= stop:
            return None
        if text[at] == _QUOTE:
            end = string_end(text, at, stop)
            if end is None:
                return None
            at = end
            continue
        depth += 1 if text[at] in _OPEN else -1
        at += 1
        if depth <= 0:
            return at


def string_end(text: bytes | bytearray, start: int, stop: int) -> int | None:
    """Where the string ends that the quote at ``start`` begins; None if that is not before ``stop``."""
    string = _STRING.match(text, start, stop)
    if string is None or string.end() - start < 2 or text[string.end() - 1] != _QUOTE:
        return None
    return None if string.end() == stop and _open_string(string[0]) else string.end()


def _open_string(string: bytes) -> bool:
    """Whether the last quote of a string is an escaped one."""
    inner = string[1:-1]
    return (len(inner) - len(inner.rstrip(b"\\"))) % 2 == 1


def repaired(text: bytes) -> tuple[bytes, tuple[str, ...]]:
    """An event with what JSON forbids replaced, and what that was.

    control_bytes: bare control bytes in strings, now escaped. encoding: bytes that are no UTF-8 and halves of
    a surrogate pair, now U+FFFD. not_a_number: NaN and infinite numbers, now null.
    """
    repairs: set[str] = set()
    try:
        text.decode()
    except UnicodeDecodeError:
        text = text.decode("utf-8", "replace").encode()
        repairs.add("encoding")

    def surrogate(match: re.Match[bytes]) -> bytes:
        if match[2] is None:
            return match[0]
        repairs.add("encoding")
        return rb"\ufffd"

    def control(match: re.Match[bytes]) -> bytes:
        repairs.add("control_bytes")
        return rb"\u%04x" % match[0][0]

    def number(_: re.Match[bytes]) -> bytes:
        repairs.add("not_a_number")
        return b"null"

    pieces = []
    at = 0
    for string in _STRING.finditer(text):
        pieces.append(_NO_NUMBER.sub(number, text[at : string.start()]))
        pieces.append(_CONTROL.sub(control, _ESCAPE.sub(surrogate, string[0])))
        at = string.end()
    pieces.append(_NO_NUMBER.sub(number, text[at:]))
    return b"".join(pieces), tuple(sorted(repairs))


def _read(text: bytes, end: int) -> Found | Bad:
    event = _event(text)
    if event is not None:
        return Found(end, event)
    fixed, repairs = repaired(text)
    event = _event(fixed) if repairs else None
    return Bad(end) if event is None else Found(end, event, repairs)


def _event(text: bytes) -> Event | None:
    try:
        return _EVENT.decode(text)
    except msgspec.ValidationError:
        pass
    except (msgspec.DecodeError, RecursionError):
        return None
    try:
        return _tolerant(_FIELDS.decode(text))
    except (msgspec.DecodeError, RecursionError):
        return None


def _tolerant(fields: Mapping[str, Raw]) -> Event:
    """An event some of whose fields are of another type than they should be; those are left out."""
    args = fields.get("args")
    kept = _FIELDS.decode(args) if args is not None and bytes(args).startswith(b"{") else None
    return Event(
        ph=_text(fields.get("ph")),
        name=_text(fields.get("name")),
        pid=_place(fields.get("pid")),
        tid=_place(fields.get("tid")),
        ts=_raw(fields.get("ts")),
        dur=_duration(fields.get("dur")),
        cat=_text(fields.get("cat")),
        id=_raw(fields.get("id")),
        args=None if kept is None else _args(kept),
    )


def _args(fields: Mapping[str, Raw]) -> Args:
    return Args(
        connection_id=_integer(fields.get("connection_id")),
        correlation_id=_integer(fields.get("correlation_id")),
        task_type=_text(fields.get("Task Type")),
        physical_stream=_integer(fields.get("Physic Stream Id")),
        stream=_integer(fields.get("Stream Id")),
        operation=_text(fields.get("operation")),
        size=_integer(fields.get("size(B)")),
        item_id=_text(fields.get("item_id")),
        input_dims=_text_or_list(fields.get("Input Dims")),
        name=_text(fields.get("name")),
        labels=_text(fields.get("labels")),
    )


def _raw(value: Raw | None) -> Raw:
    return Raw(b"") if value is None else Raw(bytes(value))


def _text(value: Raw | None) -> str | None:
    if value is None or not bytes(value).startswith(b'"'):
        return None
    return msgspec.json.decode(value, type=str)


def _text_or_list(value: Raw | None) -> str | list[Any] | None:
    if value is not None and bytes(value).startswith(b"["):
        return msgspec.json.decode(value, type=list[Any])
    return _text(value)


def _place(value: Raw | None) -> int | str | None:
    """A pid or tid; what is neither text nor a whole number counts as it is written."""
    if value is None or bytes(value) == b"null":
        return None
    text = _text(value)
    return bytes(value).decode("utf-8", "replace") if text is None else text


def _integer(value: Raw | None) -> int:
    text = b"" if value is None else bytes(value)
    return integer(_text(value) if text.startswith(b'"') else text.decode("utf-8", "replace"))


def _duration(value: Raw | None) -> float | str | None:
    text = None if value is None else times.number_text(bytes(value))
    if text is None or times.nanoseconds(text) is None:
        return None
    return text
