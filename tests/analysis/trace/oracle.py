"""A second opinion on a trace: read with the standard json module and Decimal, slow and plain."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

DAY_NS = 24 * 3600 * 1_000_000_000
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True)
class Bar:
    """An event with a duration; what its args do not hold is None."""

    number: int
    name: str | None
    cat: str | None
    pid: str | None
    tid: str | None
    start_ns: int
    duration_ns: int
    connection_id: int | None
    correlation_id: int | None
    task_type: str | None
    stream_id: int | None
    operation: str | None
    bytes: int | None
    item_id: str | None
    input_dims: str | None


@dataclass(frozen=True)
class End:
    """One end of an arrow: phase s is where it starts, f where it ends."""

    number: int
    phase: str
    kind: str | None
    id: str | None
    pid: str | None
    tid: str | None
    start_ns: int


@dataclass(frozen=True)
class Metadata:
    """A name or label of a process or thread."""

    number: int
    name: str
    pid: str | None
    tid: str | None
    value: str


@dataclass(frozen=True)
class Arrow:
    """One arrow; source and target are rows of the bars on the axis, None where no bar was found."""

    kind: str | None
    id: str | None
    source: int | None
    target: int | None


@dataclass
class Reading:
    """All that a trace says, as far as recui keeps it."""

    objects: int = 0
    by_phase: Counter[str] = field(default_factory=Counter)
    bars: list[Bar] = field(default_factory=list)
    """Bars on the axis, in the order of the file."""
    off_axis: dict[int, str] = field(default_factory=dict)
    """Why a bar is not on the axis, by its number: no_ts, unreadable_ts, no_dur, negative_dur, absurd_dur,
    off_axis."""
    ends: list[End] = field(default_factory=list)
    processes: dict[str | None, str] = field(default_factory=dict)
    """process_name by pid; of several the last in the file."""
    labels: dict[str | None, str] = field(default_factory=dict)
    threads: dict[tuple[str | None, str | None], str] = field(default_factory=dict)
    """thread_name by (pid, tid); of several the last in the file."""
    metadata: list[Metadata] = field(default_factory=list)
    base_ns: int = 0

    @property
    def tracks(self) -> dict[tuple[str | None, str | None], int]:
        """Number of the first bar or end of an arrow by (pid, tid), in the order of their appearance."""
        first: dict[tuple[str | None, str | None], int] = {}
        places = [(bar.number, bar.pid, bar.tid) for bar in self.bars]
        places += [(end.number, end.pid, end.tid) for end in self.ends]
        for number, pid, tid in sorted(places, key=lambda place: place[0]):
            first.setdefault((pid, tid), number)
        return first


def read(data: bytes) -> Reading:
    """Read a whole trace: a bare list or an object with traceEvents, packed or not, with or without BOM."""
    whole = parse(data)
    if isinstance(whole, list):
        return reading_of(whole)
    reading = reading_of(whole.get("traceEvents", []))
    reading.base_ns = whole.get("baseTimeNanoseconds", 0)
    return reading


def parse(data: bytes) -> Any:
    """The text as json sees it; fractions stay Decimal, so that no digit is lost."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    text = data.decode("utf-8-sig")
    return json.loads(text, parse_float=Decimal, strict=False)


def reading_of(objects: list[Any]) -> Reading:
    """What a list of parsed objects says."""
    reading = Reading(objects=len(objects))
    candidates: list[Bar] = []
    for number, event in enumerate(objects):
        phase = event.get("ph") or ""
        reading.by_phase[phase] += 1
        if phase == "M":
            _add_metadata(reading, number, event)
        elif phase in {"s", "f"}:
            end = _end(number, event, phase)
            if end is not None:
                reading.ends.append(end)
        elif phase == "X":
            bar = _bar(number, event)
            if isinstance(bar, Bar):
                candidates.append(bar)
            else:
                reading.off_axis[number] = bar
    _keep_near_the_median(reading, candidates)
    return reading


def nanoseconds(us: Any) -> int | None:
    """Microseconds, as text or number, to whole nanoseconds, half to even; None where that is no number."""
    text = us.strip() if isinstance(us, str) else str(us)
    if isinstance(us, bool) or not _NUMBER.fullmatch(text):
        return None
    # Fraction would write out 1e999999999; nothing beyond int64 has a place on the axis anyway.
    if abs(Decimal(text).adjusted()) > 40:
        return 0 if Decimal(text).adjusted() < 0 or not Decimal(text) else None
    return round(Fraction(text) * 1000)


def text_of(value: Any) -> str | None:
    """pid, tid and ids: numbers as they are written, text as it is."""
    return None if value is None else str(value)


def arrows(reading: Reading) -> list[Arrow]:
    """The arrows by the number of their end, then starts without an end by theirs.

    As many starts as ends of one kind and id: the k-th goes to the k-th. Otherwise every end takes the latest
    start that is not later than itself, the first of the file where all are later.
    """
    groups: dict[tuple[str | None, str | None], tuple[list[End], list[End]]] = {}
    for end in reading.ends:
        groups.setdefault((end.kind, end.id), ([], []))[end.phase == "f"].append(end)
    pairs: dict[End, End | None] = {}
    for starts, finishes in groups.values():
        for at, finish in enumerate(finishes):
            if len(starts) == len(finishes):
                pairs[finish] = starts[at]
            else:
                earlier = [start for start in starts if start.start_ns <= finish.start_ns]
                latest = max(earlier, key=lambda start: (start.start_ns, start.number), default=None)
                pairs[finish] = latest or (starts[0] if starts else None)
    found = [
        Arrow(
            finish.kind,
            finish.id,
            None if start is None else bar_at(reading.bars, start),
            bar_at(reading.bars, finish),
        )
        for finish, start in sorted(pairs.items(), key=lambda pair: pair[0].number)
    ]
    alone = [end for end in reading.ends if end.phase == "s" and end not in set(pairs.values())]
    return found + [Arrow(end.kind, end.id, bar_at(reading.bars, end), None) for end in alone]


def bar_at(bars: list[Bar], end: End) -> int | None:
    """The row of the bar an end belongs to.

    That which starts exactly there, of several the shortest, then the last; for a start of HostToDevice the
    innermost one that is open then.
    """
    here = [(at, bar) for at, bar in enumerate(bars) if (bar.pid, bar.tid) == (end.pid, end.tid)]
    if end.kind == "HostToDevice" and end.phase == "s":
        here = [
            (at, bar)
            for at, bar in here
            if bar.start_ns <= end.start_ns < bar.start_ns + max(bar.duration_ns, 1)
        ]
    else:
        here = [(at, bar) for at, bar in here if bar.start_ns == end.start_ns]
    return max(((bar.start_ns, -bar.duration_ns, at) for at, bar in here), default=(0, 0, None))[2]


def _bar(number: int, event: dict[str, Any]) -> Bar | str:
    if event.get("ts") is None:
        return "no_ts"
    start = nanoseconds(event["ts"])
    if start is None or start not in _INT64:
        return "unreadable_ts"
    duration = None if event.get("dur") is None else nanoseconds(event["dur"])
    if duration is None:
        return "no_dur"
    if duration < 0:
        return "negative_dur"
    if duration > DAY_NS:
        return "absurd_dur"
    args = event.get("args")
    args = args if isinstance(args, dict) else {}
    stream, item = args.get("Physic Stream Id"), args.get("item_id")
    return Bar(
        number=number,
        name=_text(event.get("name")),
        cat=_text(event.get("cat")),
        pid=text_of(event.get("pid")),
        tid=text_of(event.get("tid")),
        start_ns=start,
        duration_ns=duration,
        connection_id=_integer(args.get("connection_id")),
        correlation_id=_integer(args.get("correlation_id")),
        task_type=_text(args.get("Task Type")),
        stream_id=_integer(args.get("Stream Id") if stream is None else stream),
        operation=_text(args.get("operation")),
        bytes=_integer(args.get("size(B)")),
        item_id=_text(str(item) if isinstance(item, int) else item),
        input_dims=_text(args.get("Input Dims")),
    )


def _end(number: int, event: dict[str, Any], phase: str) -> End | None:
    start = nanoseconds(event.get("ts"))
    if start is None or start not in _INT64:
        return None
    kind = _text(event.get("cat"))
    return End(
        number=number,
        phase=phase,
        kind="HostToDevice" if kind == "acl_to_npu" else kind,
        id=text_of(event.get("id")),
        pid=text_of(event.get("pid")),
        tid=text_of(event.get("tid")),
        start_ns=start,
    )


def _add_metadata(reading: Reading, number: int, event: dict[str, Any]) -> None:
    args = event.get("args")
    args = args if isinstance(args, dict) else {}
    pid, tid = text_of(event.get("pid")), text_of(event.get("tid"))
    name = event.get("name")
    value = args.get("labels" if name == "process_labels" else "name")
    if not isinstance(value, str):
        return
    if name == "process_name":
        reading.processes[pid] = value
    elif name == "process_labels":
        reading.labels[pid] = value
    elif name == "thread_name":
        reading.threads[pid, tid] = value
    else:
        return
    reading.metadata.append(Metadata(number, name, pid, tid, value))


def _keep_near_the_median(reading: Reading, candidates: list[Bar]) -> None:
    if not candidates:
        return
    starts = sorted(bar.start_ns for bar in candidates)
    median = starts[len(starts) // 2]
    for bar in candidates:
        if abs(bar.start_ns - median) > DAY_NS:
            reading.off_axis[bar.number] = "off_axis"
        else:
            reading.bars.append(bar)


def _text(value: Any) -> str | None:
    """Text as it is; a list (Input Dims of Kineto) as compact json; of anything else nothing is kept."""
    if isinstance(value, list):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return value if isinstance(value, str) else None


def _integer(value: Any) -> int | None:
    """Whole numbers of 64 bits, also as text."""
    if isinstance(value, str) and re.fullmatch(r"-?\d+", value, re.ASCII):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value in _INT64 else None
