"""The events of a list, chunk by chunk, from a start that is proven to borders that are proven.

A chunk ends at the last ``}, {`` it holds. Text from a proven start on that decodes as a list ends at a true
border: inside of a string or a nested value it would not be complete. What does not decode at once is read
event by event (:mod:`analysis.trace.repair`).
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from analysis.trace.decode import Dictionaries, Event, columns_of
from analysis.trace.repair import BORDER, Bad, NeedMoreError, find_event, next_event

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from analysis.trace.decode import Columns
    from analysis.trace.source import Buffer

CHUNK_BYTES: Final = 1 << 19

_EVENTS = msgspec.json.Decoder(list[Event])
_BETWEEN = re.compile(rb"[ \t\r\n,]*")
_BLANK = re.compile(rb"[ \t\r\n]*")
_ONE_COMMA = re.compile(rb"[ \t\r\n]*,[ \t\r\n]*")
_BORDER_WINDOWS = (1 << 12, 1 << 16)
_TRIED_BORDERS = 2
_PAUSE_SECONDS = 0.05
_OPEN_LIST, _CLOSE_LIST, _OPEN_EVENT, _COMMA, _QUOTE = (ord(sign) for sign in '[]{,"')
_EXAMPLE_BYTES = 320


class State(Enum):
    """How a stretch ended."""

    CLOSED = "closed"
    """At the bracket that closes the list."""
    REACHED = "reached"
    """Exactly at its limit, which is proven to be the start of an event by that."""
    STOPPED = "stopped"
    """Before its limit: the limit is no start of an event."""
    CUT = "cut"
    """At the end of the file, inside of the list."""


@dataclass(frozen=True, slots=True)
class Run:
    """Events one after the other with nothing but commas between: ``[`` + text + ``]`` is JSON."""

    offset: int
    length: int
    first: int


@dataclass(slots=True)
class Chunk:
    """Some events that follow each other."""

    columns: Columns
    runs: tuple[Run, ...]


class Stretch:
    """The events from where a buffer stands on, numbered from 0, to the end of their list or to a limit.

    Args:
        buffer: Its ``start`` lies at the start of an event, or just after the bracket of the list.
        wrapped: Whether the list lies in an object.
        limit: Offset of an assumed start of an event; the source ends one byte after it.
        chunk_bytes: How much text to decode at once.
    """

    def __init__(
        self, buffer: Buffer, *, wrapped: bool, limit: int | None = None, chunk_bytes: int = CHUNK_BYTES
    ) -> None:
        self.dictionaries = Dictionaries()
        self.objects = 0
        self.state = State.CUT
        self.whole_end = buffer.offset
        """Where the last whole event ends."""
        self.next_start = buffer.offset
        """Where reading goes on, if it stopped before its limit."""
        self._buffer = buffer
        self._wrapped = wrapped
        self._limit = limit
        self._chunk_bytes = chunk_bytes

    def chunks(self) -> Iterator[Chunk]:
        """All events; then ``state`` says how it ended."""
        buffer = self._buffer
        size = self._chunk_bytes
        while True:
            buffer.fill(size)
            self._skip_commas()
            self.next_start = buffer.offset
            if self._limit is not None and buffer.offset >= self._limit:
                self.state = State.REACHED
                return
            if buffer.start == buffer.stop:
                if buffer.at_end:
                    self.state = State.CUT if self._limit is None else State.STOPPED
                    return
                continue
            # A buffer that once grew may hold far more than a chunk.
            stop = min(buffer.stop, buffer.start + size)
            chunk = self._decode_at_once(stop)
            if chunk is not None:
                yield chunk
                size = self._chunk_bytes
                continue
            before = buffer.offset
            chunk, state = self._read_singly(stop)
            if chunk is not None:
                yield chunk
            if state is not None:
                self.state = state
                return
            size = buffer.larger(size) if buffer.offset == before else self._chunk_bytes

    def _skip_commas(self) -> None:
        buffer = self._buffer
        between = _BETWEEN.match(buffer.data, buffer.start, buffer.stop)
        if between:
            buffer.start = between.end()

    def _decode_at_once(self, stop: int) -> Chunk | None:
        """All events up to the last border before ``stop``; None if they do not decode."""
        buffer = self._buffer
        data, start = buffer.data, buffer.start
        if data[start] != _OPEN_EVENT:
            return None
        for end, following in islice(_last_borders(data, start, stop), _TRIED_BORDERS):
            data[start - 1] = _OPEN_LIST
            kept, data[end] = data[end], _CLOSE_LIST
            try:
                events = _EVENTS.decode(memoryview(data)[start - 1 : end + 1])
            except msgspec.ValidationError:
                return None
            except msgspec.DecodeError as error:
                # At a false border the text looks cut; anything else is a fault before it.
                if "truncated" in str(error):
                    continue
                return None
            except RecursionError:
                return None
            finally:
                data[end] = kept
            run = Run(buffer.offset, end - start, self.objects)
            self.whole_end = buffer.offset_of(end)
            buffer.start = following
            return self._chunk(events, (run,))
        return None

    def _chunk(self, events: Sequence[Event], runs: tuple[Run, ...]) -> Chunk:
        columns = columns_of(events, self.objects, self.dictionaries)
        self.objects += len(events)
        return Chunk(columns, runs)

    def _read_singly(self, stop: int) -> tuple[Chunk | None, State | None]:
        """The whole events up to ``stop``, one by one, and how the stretch ended if it did."""
        buffer = self._buffer
        at_end = buffer.at_end and stop == buffer.stop
        final = at_end and self._limit is None
        single = _Singly(buffer, stop, self.objects, wrapped=self._wrapped, final=final)
        state = single.read()
        chunk = None
        if single.events or single.flawed:
            chunk = self._chunk(single.events, tuple(single.runs))
            for kind, example, number in single.flawed:
                chunk.columns.flaws.note(kind, example, number)
        if single.events:
            self.whole_end = buffer.offset_of(single.whole_end)
        buffer.start = single.at
        self.next_start = buffer.offset
        if state is None and at_end and not single.paused and self.next_start != self._limit:
            state = State.CUT if self._limit is None else State.STOPPED
        return chunk, state


class _Singly:
    """Reads the events of a buffer one by one, passing over what is none."""

    def __init__(self, buffer: Buffer, stop: int, first: int, *, wrapped: bool, final: bool) -> None:
        self.events: list[Event] = []
        self.runs: list[Run] = []
        self.at = buffer.start
        self.whole_end = buffer.start
        self.flawed: list[tuple[str, str, int | None]] = []
        self.paused = False
        """Whether it may go on with the text it has: damage takes time, and progress is to be reported."""
        self._buffer = buffer
        self._stop = stop
        self._first = first
        self._wrapped = wrapped
        self._final = final
        self._run_start = buffer.start
        self._run_first = first

    def read(self) -> State | None:
        """Read all there is; None if more text is needed to go on."""
        data, stop = self._buffer.data, self._stop
        pause = time.monotonic() + _PAUSE_SECONDS
        try:
            while time.monotonic() < pause:
                between = _BETWEEN.match(data, self.at, stop)
                self.at = between.end() if between else self.at
                if self.at >= stop:
                    return None
                closing = data[self.at] == _CLOSE_LIST
                if closing and self._closes():
                    self.at += 1
                    return State.CLOSED
                found = Bad(None) if closing else find_event(data, self.at, stop)
                if isinstance(found, Bad):
                    following = next_event(data, self.at, found, stop, at_end=self._final)
                    self._pass_over(following)
                    if following is None:
                        return self._end_of_rubbish()
                else:
                    self._add(found.event, found.end, found.repairs)
            self.paused = True
        except NeedMoreError:
            pass
        finally:
            self._close_run()
        return None

    def _closes(self) -> bool:
        """Whether the bracket here closes the list.

        After a damaged event it may be that of a list inside of another event. Nothing but the end of the
        file follows the true one, in an object also another key or its closing bracket and then the end.
        """
        data, stop = self._buffer.data, self._stop
        at = self._after_blanks(self.at + 1)
        if at < stop and self._wrapped and data[at] in b",}":
            following = self._after_blanks(at + 1)
            return following == stop or (data[at] == _COMMA and data[following] == _QUOTE)
        return at == stop

    def _after_blanks(self, at: int) -> int:
        blank = _BLANK.match(self._buffer.data, at, self._stop)
        at = blank.end() if blank else at
        if at == self._stop and not self._final:
            raise NeedMoreError
        return at

    def _add(self, event: Event, end: int, repairs: tuple[str, ...]) -> None:
        number = self._first + len(self.events)
        gap = self._buffer.data[self.whole_end : self.at]
        if repairs or self._run_first == number or not _ONE_COMMA.fullmatch(gap):
            self._close_run()
            self._run_start, self._run_first = self.at, number
        self.events.append(event)
        self.at = self.whole_end = end
        self.flawed.extend((kind, event.name or "", number) for kind in repairs)
        if repairs:
            self._close_run()

    def _close_run(self) -> None:
        number = self._first + len(self.events)
        if number > self._run_first:
            offset = self._buffer.offset_of(self._run_start)
            self.runs.append(Run(offset, self.whole_end - self._run_start, self._run_first))
        self._run_first = number

    def _pass_over(self, following: int | None) -> None:
        self._close_run()
        end = self._stop if following is None else following
        text = bytes(self._buffer.data[self.at : min(end, self.at + _EXAMPLE_BYTES)]).rstrip(b" \t\r\n,")
        self.flawed.append(("unreadable_event", text.decode("utf-8", "replace"), None))
        self.at = end

    def _end_of_rubbish(self) -> State:
        """Nothing readable is left; a closing bracket at the very end still tells a whole file."""
        rest = bytes(self._buffer.data[self.whole_end : self._stop]).rstrip()
        return State.CLOSED if rest.endswith((b"]", b"}")) else State.CUT


def _last_borders(data: bytearray, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """End of the event before a border and start of the one after it, from the last border backwards."""
    reached = stop
    for window in (*_BORDER_WINDOWS, stop - start):
        begin = max(start, stop - window)
        found = [(border.start() + 1, border.end() - 1) for border in BORDER.finditer(data, begin, stop)]
        fresh = [border for border in found if border[0] < reached]
        if fresh:
            yield from reversed(fresh)
            reached = fresh[0][0]
        if begin == start:
            return
