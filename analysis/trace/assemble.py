"""Segments of a trace, in the order of the file, to a Trace."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from analysis.datafile import load_toml
from analysis.trace.decode import EMPTY, Flaws, text_of
from analysis.trace.flows import HOST_TO_DEVICE, match_flows
from analysis.trace.joined import JoinedRows, Texts, categories, integers
from analysis.trace.model import CHUNKS, EVENTS, Fault, Quality, Trace
from analysis.trace.tracks import describe_tracks

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from analysis.trace.segments import Segment
    from analysis.trace.times import Ints

_SECOND_NS: Final = 1_000_000_000
_MOST_TOTAL_NS: Final = 1 << 62
_HARMLESS: Final = frozenset({"control_bytes", "encoding", "not_a_number"})
_OTHER_NAMES: Final = {"acl_to_npu": HOST_TO_DEVICE}
_MISPLACED: Final = ("", "absurd_dur", "off_axis")
_IDS_AT_ONCE: Final = 1 << 20


def assemble(segments: Sequence[Segment], cuts: Sequence[Fault], lost_bytes: int, base_ns: int) -> Trace:
    """Put a trace together.

    Args:
        segments: What was read, in the order of the file; used up, so that nothing is held twice.
        cuts: The faults of slices that end too early.
        lost_bytes: Bytes after the last whole event of those.
        base_ns: What times are relative to.
    """
    firsts = np.cumsum([0, *(segment.objects for segment in segments)]).tolist()
    flaws = _flaws(segments, firsts)
    phases: Counter[str] = Counter()
    for segment in segments:
        phases.update(segment.phases)
    places = Texts([segment.dictionaries.track for segment in segments], _place)
    chunks = _chunks(segments, firsts)
    metadata = _metadata(segments, firsts)
    events = _events(segments, firsts, places, flaws)
    ends = _ends(segments, firsts, places)
    pairs, events, ends = _tracks(places.texts, events, ends)
    tracks, faults = describe_tracks(pairs, metadata, events)
    # Columns without a value are left out meanwhile: matching arrows is when most memory is needed.
    if events.height:
        events = events.drop(name for name in EMPTY if events[name].null_count() == events.height)
    flows = match_flows(ends, events)
    found = [
        Fault(kind, flaw.count, flaw.example, flaw.number, kind not in _HARMLESS)
        for kind, flaw in flaws.items()
    ]
    ordered = sorted([*found, *faults, *cuts], key=lambda fault: (-fault.count, fault.kind, fault.example))
    quality = Quality(firsts[-1], dict(sorted(phases.items())), tuple(ordered), lost_bytes)
    return Trace(_all_columns(events), tracks, flows, chunks, quality, base_ns)


def _flaws(segments: Sequence[Segment], firsts: Sequence[int]) -> Flaws:
    flaws = Flaws()
    for segment, first in zip(segments, firsts, strict=False):
        for kind, flaw in segment.flaws.items():
            number = None if flaw.number is None else flaw.number + first
            flaws.note(kind, flaw.example, number, flaw.count)
    return flaws


def _place(key: Any) -> tuple[str | None, str | None] | None:
    return None if key is None else (text_of(key[0]), text_of(key[1]))


def _text(key: Any) -> str | None:
    return key if isinstance(key, str) else None


def _kind(key: Any) -> str | None:
    return None if key is None else _OTHER_NAMES.get(key, key)


def _events(segments: Sequence[Segment], firsts: Sequence[int], places: Texts, flaws: Flaws) -> pl.DataFrame:
    """All bars that can be placed; ``track`` is still a code of ``places``."""
    bars = JoinedRows([segment.bars for segment in segments], firsts)
    start, duration = bars.take("start_ns"), bars.take("duration_ns")
    if start is None or duration is None:
        return pl.DataFrame(schema=EVENTS)
    number = bars.numbers()
    texts = {
        column: Texts([getattr(segment.dictionaries, column) for segment in segments], _text)
        for column, dtype in EVENTS.items()
        if dtype == pl.Categorical
    }
    name = bars.coded("name", texts["name"])
    why = misplaced(start, duration)
    placed = None
    if why is not None and name is not None:
        _note_misplaced(flaws, why, number, name, texts["name"].texts)
        placed = why == 0
    ready = {"number": number, "start_ns": start, "duration_ns": duration, "name": name}
    height = bars.height if placed is None else int(placed.sum())
    columns = []
    for column, dtype in EVENTS.items():
        coded = texts.get(column, places if column == "track" else None)
        if column in ready:
            values = ready.pop(column)
        else:
            values = bars.take(column) if coded is None else bars.coded(column, coded)
        if placed is not None and values is not None:
            values = values[placed]
        if column in texts:
            columns.append(categories(column, values, texts[column].texts, height))
        else:
            columns.append(integers(column, values, height, dtype))
    return pl.DataFrame(columns)


def _all_columns(events: pl.DataFrame) -> pl.DataFrame:
    """The events with the columns that hold nothing."""
    return events.select(
        events[name] if name in events.columns else integers(name, None, events.height, dtype)
        for name, dtype in EVENTS.items()
    )


def misplaced(start: Ints, duration: Ints) -> npt.NDArray[np.uint8] | None:
    """Which bars cannot belong to the capture; None if all can.

    1 is a bar longer than any capture, 2 one that starts farther from the median start than any capture is
    long (limits of quality.toml). Durations are also bounded so that the sum of all of them fits int64.
    """
    limits = load_toml("analysis.trace", "quality.toml")
    longest = limits["duration"]["longest_seconds"] * _SECOND_NS
    farthest = limits["axis"]["farthest_from_median_seconds"] * _SECOND_NS
    if np.minimum(duration, longest).sum(dtype=np.float64) > _MOST_TOTAL_NS:
        longest = _MOST_TOTAL_NS // len(duration)
    absurd = duration > longest
    likely = start[~absurd] if absurd.any() else start
    if not len(likely):
        return np.ones(len(start), np.uint8)
    median = np.partition(likely, len(likely) // 2)[len(likely) // 2]
    far = np.abs(start - median) > farthest
    if not absurd.any() and not far.any():
        return None
    return np.where(absurd, 1, np.where(far, 2, 0)).astype(np.uint8)


def _note_misplaced(
    flaws: Flaws,
    why: npt.NDArray[np.uint8],
    number: npt.NDArray[np.uint32],
    name: npt.NDArray[np.uint32],
    names: Sequence[str | None],
) -> None:
    for code, kind in enumerate(_MISPLACED[1:], 1):
        rows = np.flatnonzero(why == code)
        if not rows.size:
            continue
        first = int(number[rows[0]])
        # Starts beyond int64 were counted while reading; the earlier of the two is the example.
        earlier = flaws.pop(kind, None)
        if earlier is not None and earlier.number is not None and earlier.number < first:
            flaws.note(kind, earlier.example, earlier.number, earlier.count)
        flaws.note(kind, names[name[rows[0]]] or "", first, rows.size)
        if earlier is not None and flaws[kind].number == first:
            flaws.note(kind, earlier.example, earlier.number, earlier.count)


def _ends(segments: Sequence[Segment], firsts: Sequence[int], places: Texts) -> pl.DataFrame:
    """Both ends of all arrows; ``track`` is still a code of ``places``."""
    ends = JoinedRows([segment.ends for segment in segments], firsts)
    height = ends.height
    kinds = Texts([segment.dictionaries.kind for segment in segments], _kind)
    finish = ends.take("finish")
    phase = None if finish is None else finish.astype(np.uint32)
    return pl.DataFrame(
        [
            integers("number", ends.numbers(), height, pl.UInt32()),
            categories("phase", phase, ["s", "f"], height),
            categories("kind", ends.coded("kind", kinds), kinds.texts, height),
            _ids(segments),
            integers("track", ends.coded("track", places), height, pl.UInt32()),
            integers("ts_ns", ends.take("ts_ns"), height, pl.Int64()),
        ]
    )


def _ids(segments: Sequence[Segment]) -> pl.Series:
    """The ids of arrow ends as text, taken from the segments."""
    found = [pl.Series("id", [], dtype=pl.String)]
    for segment in segments:
        lines, segment.ids = segment.ids, bytearray()
        start = 0
        while start < len(lines):
            end = lines.find(b"\n", min(start + _IDS_AT_ONCE, len(lines) - 1)) + 1
            found.append(_id_texts(bytes(lines[start : end - 1])))
            start = end
    return pl.concat(found)


def _id_texts(lines: bytes) -> pl.Series:
    """Ids as text, given as JSON one a line: the content of strings, numbers as they are written."""
    ids = pl.Series("id", [lines.decode("utf-8", "replace")]).str.split("\n").explode()
    text = pl.col("id")
    plain = pl.when(text.is_in(["", "null"])).then(None).otherwise(text.str.strip_chars('"'))
    escaped = (
        ids.to_frame().select(text.str.contains("\\", literal=True) & text.str.starts_with('"')).to_series()
    )
    result = ids.to_frame().select(plain.alias("id")).to_series()
    if escaped.any():
        decoded = ids.filter(escaped).str.json_decode(pl.String)
        result = result.scatter(escaped.arg_true(), decoded)
    return result


def _tracks(
    places: Sequence[tuple[str | None, str | None] | None], events: pl.DataFrame, ends: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """One track for each (pid, tid) that has a bar or an arrow end, by the number of the first of them.

    Returns:
        The pairs, and both frames with ``track`` as row of them.
    """
    first = np.full(len(places), np.iinfo(np.uint32).max, np.uint32)
    for frame in (events, ends):
        # Written backwards, the first number of a track is what stays.
        codes, numbers = frame["track"].to_numpy()[::-1], frame["number"].to_numpy()[::-1]
        here = np.full(len(places), np.iinfo(np.uint32).max, np.uint32)
        here[codes] = numbers
        np.minimum(first, here, out=first)
    order = np.argsort(first, kind="stable")
    order = order[first[order] < np.iinfo(np.uint32).max]
    row = np.zeros(len(places), np.uint32)
    row[order] = np.arange(order.size, dtype=np.uint32)
    kept = [places[at] or (None, None) for at in order.tolist()]
    pairs = pl.DataFrame(
        {
            "track": pl.Series(np.arange(order.size, dtype=np.uint32)),
            "pid": pl.Series([pid for pid, _ in kept], dtype=pl.String),
            "tid": pl.Series([tid for _, tid in kept], dtype=pl.String),
            "first_number": pl.Series(first[order]),
        }
    )
    renumbered = [
        frame.with_columns(pl.Series("track", row[frame["track"].to_numpy()])) for frame in (events, ends)
    ]
    return pairs, renumbered[0], renumbered[1]


def _metadata(segments: Sequence[Segment], firsts: Sequence[int]) -> pl.DataFrame:
    found = [
        (one.number + first, one.name, one.pid, one.tid, one.value)
        for segment, first in zip(segments, firsts, strict=False)
        for one in segment.metadata
    ]
    schema = {
        "number": pl.UInt32(),
        "name": pl.String(),
        "pid": pl.String(),
        "tid": pl.String(),
        "value": pl.String(),
    }
    return pl.DataFrame(found, schema, orient="row")


def _chunks(segments: Sequence[Segment], firsts: Sequence[int]) -> pl.DataFrame:
    found = [
        (segment.part, run.offset, run.length, run.first + first)
        for segment, first in zip(segments, firsts, strict=False)
        for run in segment.runs
    ]
    return pl.DataFrame(found, CHUNKS, orient="row")
