"""Decoded events of one stretch of a trace to numpy columns.

Runs in worker processes as well, so nothing here imports polars. Texts become codes of a dictionary that
lasts for many chunks; code 0 stands for what an event does not have.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
from msgspec import Raw, Struct

from analysis.trace import times

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    import numpy.typing as npt

    from analysis.trace.times import Ints

BAR, START, END, METADATA = "X", "s", "f", "M"
_ON_TRACKS: Final = frozenset({BAR, START, END})

NO_INTEGER: Final = -(1 << 63)
"""Stands for what an event's args do not hold in columns of integers."""

_NOTHING = Raw(b"")
_INTEGER = re.compile(r"-?\d+", re.ASCII)
_TRAILING_ID = re.compile(r"[_@]?\d+$", re.ASCII)
_EXAMPLE_CHARACTERS = 80


class Args(Struct, gc=False):
    """What is kept of an event's ``args``."""

    connection_id: int | str | None = NO_INTEGER
    correlation_id: int | str | None = NO_INTEGER
    task_type: str | None = msgspec.field(default=None, name="Task Type")
    physical_stream: int | str | None = msgspec.field(default=NO_INTEGER, name="Physic Stream Id")
    stream: int | str | None = msgspec.field(default=NO_INTEGER, name="Stream Id")
    operation: str | None = None
    size: int | str | None = msgspec.field(default=NO_INTEGER, name="size(B)")
    item_id: str | int | None = None
    # Kineto writes lists of lists.
    input_dims: str | list[Any] | None = msgspec.field(default=None, name="Input Dims")
    name: str | None = None
    labels: str | None = None


class Event(Struct, gc=False):
    """What is kept of an event. ``ts`` and ``id`` stay as they are written."""

    ph: str | None = None
    name: str | None = None
    pid: int | str | None = None
    tid: int | str | None = None
    ts: Raw = _NOTHING
    dur: float | str | None = None
    cat: str | None = None
    id: Raw = _NOTHING
    args: Args | None = None


class Codes(dict[Any, int]):
    """A dictionary that gives every new key the next code; None is code 0."""

    def __init__(self) -> None:
        super().__init__({None: 0})

    def __missing__(self, key: Hashable) -> int:
        code = self[key] = len(self)
        return code

    def of(self, keys: Iterable[Hashable], count: int) -> npt.NDArray[np.uint32]:
        """The code of every key."""
        return np.fromiter(map(self.__getitem__, keys), np.uint32, count)


@dataclass(slots=True)
class Dictionaries:
    """The texts that codes of columns stand for."""

    track: Codes = field(default_factory=Codes)
    """(pid, tid) as decoded."""
    name: Codes = field(default_factory=Codes)
    cat: Codes = field(default_factory=Codes)
    task_type: Codes = field(default_factory=Codes)
    operation: Codes = field(default_factory=Codes)
    item_id: Codes = field(default_factory=Codes)
    input_dims: Codes = field(default_factory=Codes)
    kind: Codes = field(default_factory=Codes)


@dataclass(slots=True)
class Flaw:
    """How many events have one kind of fault; what to show of the first, and its number where it has one."""

    count: int
    example: str
    number: int | None


class Flaws(dict[str, Flaw]):
    """Faults by their kind, in the order of the file."""

    def note(self, kind: str, example: str, number: int | None, count: int = 1) -> None:
        """Count a fault; the first one of a kind stays its example."""
        flaw = self.get(kind)
        if flaw is None:
            self[kind] = Flaw(count, example[:_EXAMPLE_CHARACTERS], number)
        else:
            flaw.count += count


@dataclass(slots=True)
class Metadata:
    """What one metadata object says about a process or thread."""

    number: int
    name: str | None
    pid: str | None
    tid: str | None
    value: str | None


@dataclass(slots=True)
class Columns:
    """Events as columns; numbers count from the first event of the stretch."""

    objects: int
    phases: Counter[str]
    bars: dict[str, npt.NDArray[Any]]
    """number, track, name, cat, start_ns, duration_ns, and of the args what occurs."""
    ends: dict[str, npt.NDArray[Any]]
    """number, finish, kind, track, ts_ns."""
    ids: bytes
    """The ids of ``ends`` as JSON, each with a line end."""
    metadata: list[Metadata]
    flaws: Flaws


def columns_of(events: Sequence[Event], first: int, dictionaries: Dictionaries) -> Columns:
    """The bars, arrow ends and metadata among some events.

    Args:
        events: Events in the order of the file.
        first: Number of the first of them.
        dictionaries: Where texts get their codes.
    """
    count = len(events)
    phases = [event.ph for event in events]
    counted = Counter(phases)
    numbers = np.arange(first, first + count, dtype=np.uint32)
    columns = Columns(count, _by_phase(counted), {}, {}, b"", [], Flaws())
    if counted[METADATA]:
        columns.metadata = [
            _metadata(event, first + at) for at, event in enumerate(events) if event.ph == METADATA
        ]
    kept = events
    if counted.keys() - _ON_TRACKS:
        there = np.fromiter(map(_ON_TRACKS.__contains__, phases), np.bool_, count)
        kept = [event for event in events if event.ph in _ON_TRACKS]
        numbers = numbers[there]
    if not kept:
        return columns
    start, status = times.starts_ns([event.ts for event in kept])
    track = dictionaries.track.of(
        zip([event.pid for event in kept], [event.tid for event in kept], strict=True), len(kept)
    )
    if len(kept) == counted[BAR]:
        _add_bars(columns, kept, numbers, track, start, status, dictionaries)
        return columns
    is_bar = np.fromiter([event.ph == BAR for event in kept], np.bool_, len(kept))
    bars = [event for event in kept if event.ph == BAR]
    if bars:
        _add_bars(columns, bars, numbers[is_bar], track[is_bar], start[is_bar], status[is_bar], dictionaries)
    # An end whose time cannot be read belongs to no bar.
    timed = ~is_bar & (status == times.READ)
    ends = [event for event, flag in zip(kept, timed.tolist(), strict=True) if flag]
    if ends:
        _add_ends(columns, ends, dictionaries)
        columns.ends |= {"number": numbers[timed], "track": track[timed], "ts_ns": start[timed]}
    return columns


def _add_bars(
    columns: Columns,
    events: Sequence[Event],
    numbers: npt.NDArray[np.uint32],
    track: npt.NDArray[np.uint32],
    start: Ints,
    status: npt.NDArray[np.uint8],
    dictionaries: Dictionaries,
) -> None:
    duration, known = _durations([event.dur for event in events])
    placed = (status == times.READ) & known & (duration >= 0)
    if not placed.all():
        for at in np.flatnonzero(~placed).tolist():
            why = _why(int(status[at]), bool(known[at]))
            columns.flaws.note(why, events[at].name or "", int(numbers[at]))
        events = [event for event, flag in zip(events, placed.tolist(), strict=True) if flag]
        numbers, track, start, duration = numbers[placed], track[placed], start[placed], duration[placed]
    count = len(events)
    columns.bars = {
        "number": numbers,
        "track": track,
        "name": dictionaries.name.of([event.name for event in events], count),
        "cat": dictionaries.cat.of([event.cat for event in events], count),
        "start_ns": start,
        "duration_ns": duration,
    }
    args = [event.args for event in events]
    without = args.count(None)
    if without == count:
        return
    there = None
    if without:
        there = np.fromiter([one is not None for one in args], np.bool_, count)
    found = _args_columns([one for one in args if one is not None], dictionaries)
    for name, values in found.items():
        if there is None:
            columns.bars[name] = values
        else:
            spread = np.full(count, EMPTY[name], values.dtype)
            spread[there] = values
            columns.bars[name] = spread


def _args_columns(args: Sequence[Args], dictionaries: Dictionaries) -> dict[str, npt.NDArray[Any]]:
    """The columns that any of these args has."""
    count = len(args)
    columns: dict[str, npt.NDArray[Any]] = {}
    for name, read in _INTEGER_ARGS:
        values = read(args)
        if values.count(NO_INTEGER) != count:
            columns[name] = _integers(values)
    stream = columns.pop("physical_stream", None)
    if stream is not None:
        other = columns.get("stream_id")
        columns["stream_id"] = stream if other is None else np.where(stream == NO_INTEGER, other, stream)
    for name, read in _TEXT_ARGS:
        values = read(args)
        if values.count(None) != count:
            codes: Codes = getattr(dictionaries, name)
            try:
                columns[name] = codes.of(values, count)
            except TypeError:
                columns[name] = codes.of(map(_list_text, values), count)
    return columns


# One comprehension each: reading the attribute in a loop over names takes twice as long.
_INTEGER_ARGS: Final[tuple[tuple[str, Callable[[Sequence[Args]], list[Any]]], ...]] = (
    ("connection_id", lambda args: [one.connection_id for one in args]),
    ("correlation_id", lambda args: [one.correlation_id for one in args]),
    ("physical_stream", lambda args: [one.physical_stream for one in args]),
    ("stream_id", lambda args: [one.stream for one in args]),
    ("bytes", lambda args: [one.size for one in args]),
)
_TEXT_ARGS: Final[tuple[tuple[str, Callable[[Sequence[Args]], list[Any]]], ...]] = (
    ("task_type", lambda args: [one.task_type for one in args]),
    ("operation", lambda args: [one.operation for one in args]),
    ("item_id", lambda args: [one.item_id for one in args]),
    ("input_dims", lambda args: [one.input_dims for one in args]),
)

EMPTY: Final = {
    "connection_id": NO_INTEGER,
    "correlation_id": NO_INTEGER,
    "stream_id": NO_INTEGER,
    "bytes": NO_INTEGER,
    "task_type": 0,
    "operation": 0,
    "item_id": 0,
    "input_dims": 0,
}
"""What stands in the columns of args where an event does not have them."""


def _list_text(value: Any) -> Any:
    return msgspec.json.encode(value).decode() if isinstance(value, list) else value


def _integers(values: list[Any]) -> Ints:
    try:
        if str not in set(map(type, values)):
            return np.fromiter(values, np.int64, len(values))
    except (TypeError, OverflowError):
        pass
    return np.fromiter(map(integer, values), np.int64, len(values))


def integer(value: object) -> int:
    """A whole number of 64 bits, also as text; NO_INTEGER for anything else."""
    if isinstance(value, str) and len(value) < 24 and _INTEGER.fullmatch(value):
        value = int(value)
    return value if isinstance(value, int) and NO_INTEGER <= value < 1 << 63 else NO_INTEGER


def _durations(values: list[float | str | None]) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Durations in nanoseconds, and for each whether there is one."""
    kinds = set(map(type, values))
    if str in kinds:
        return _mixed_durations(values)
    # None becomes NaN.
    micros = np.array(values, np.float64)
    return times.durations_ns(micros), ~np.isnan(micros)


def _mixed_durations(values: list[float | str | None]) -> tuple[Ints, npt.NDArray[np.bool_]]:
    exact = [times.nanoseconds(value.strip()) if isinstance(value, str) else None for value in values]
    micros = np.array([None if isinstance(value, str) else value for value in values], np.float64)
    duration, known = times.durations_ns(micros), ~np.isnan(micros)
    limit = times.FARTHEST_NS
    for at, value in enumerate(exact):
        if value is not None:
            duration[at], known[at] = max(-limit, min(value, limit)), True
    return duration, known


def _why(status: int, known: bool) -> str:
    """Why a bar has no place on the axis: its time first, then its duration."""
    if status != times.READ:
        return {times.MISSING: "no_ts", times.UNREADABLE: "unreadable_ts"}.get(status, "off_axis")
    return "negative_dur" if known else "no_dur"


def _by_phase(counted: Counter[str | None]) -> Counter[str]:
    phases: Counter[str] = Counter()
    for phase, count in counted.items():
        phases[phase or ""] += count
    return phases


def _add_ends(columns: Columns, ends: Sequence[Event], dictionaries: Dictionaries) -> None:
    ids = [event.id for event in ends]
    joined = b"\n".join((*ids, b""))
    if joined.count(b"\n") != len(ids):
        # A list or object over several lines.
        joined = b"\n".join((*(bytes(one).replace(b"\n", b" ") for one in ids), b""))
    kinds = [event.cat for event in ends]
    if None in kinds:
        kinds = [event.cat or _kind_of_name(event.name) for event in ends]
    columns.ids = joined
    columns.ends = {
        "finish": np.fromiter([event.ph == END for event in ends], np.bool_, len(ends)),
        "kind": dictionaries.kind.of(kinds, len(ends)),
    }


def _kind_of_name(name: str | None) -> str | None:
    return _TRAILING_ID.sub("", name) if name else None


def _metadata(event: Event, number: int) -> Metadata:
    args = event.args
    value = None
    if args is not None:
        value = args.labels if event.name == "process_labels" else args.name
    return Metadata(number, event.name, text_of(event.pid), text_of(event.tid), value)


def text_of(value: int | str | None) -> str | None:
    """A pid or tid as text: 7 and "7" are the same."""
    return None if value is None else str(value)
