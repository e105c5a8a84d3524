"""A trace and the oracle's reading of its file side by side, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.trace.model import EVENTS
from tests.analysis.trace.oracle import Arrow, Bar, Reading, arrows, parse

if TYPE_CHECKING:
    from analysis.trace.model import Trace


def bars_of(trace: Trace) -> list[Bar]:
    """Every bar of a trace with all its columns, and its pid and tid in place of the track."""
    places = trace.tracks.select("pid", "tid").rows()
    bars = []
    for row in trace.events.select(list(EVENTS)).iter_rows(named=True):
        pid, tid = places[row.pop("track")]
        bars.append(Bar(**row | {"pid": pid, "tid": tid}))
    return bars


def arrows_of(trace: Trace) -> list[Arrow]:
    """Every arrow of a trace."""
    return [Arrow(**row) for row in trace.flows.iter_rows(named=True)]


def names_of(trace: Trace) -> dict[tuple[str, str], tuple[str | None, str | None, str | None]]:
    """process_name, process_labels and thread_name of every track, by (pid, tid)."""
    rows = trace.tracks.select("pid", "tid", "process", "label", "thread").rows()
    return {(pid, tid): (process, label, thread) for pid, tid, process, label, thread in rows}


def lost_of(trace: Trace) -> dict[str, int]:
    """How many events are not on the axis, by kind of fault."""
    return {fault.kind: fault.count for fault in trace.quality.faults if fault.lost}


def assert_same(trace: Trace, reading: Reading, *, with_arrows: bool = True) -> None:
    """The trace holds exactly what the oracle read: objects, bars, arrows, names and faults."""
    assert trace.quality.objects == reading.objects
    assert dict(trace.quality.by_phase) == dict(reading.by_phase)
    assert bars_of(trace) == reading.bars
    if with_arrows:
        assert arrows_of(trace) == arrows(reading)
    assert names_of(trace) == {
        (pid, tid): (reading.processes.get(pid), reading.labels.get(pid), reading.threads.get((pid, tid)))
        for pid, tid in reading.tracks
    }
    assert list(names_of(trace)) == list(reading.tracks)
    lost = list(reading.off_axis.values())
    assert lost_of(trace) == {kind: lost.count(kind) for kind in lost}
    assert trace.base_ns == reading.base_ns


def assert_chunks_hold_the_events(trace: Trace, data: bytes) -> None:
    """Every chunk is whole events from its offset on, and together they are all events of the file."""
    found: list[object] = []
    for part, offset, length, first in trace.chunks.iter_rows():
        assert (part, first) == (0, len(found))
        found += parse(b"[" + data[offset : offset + length] + b"]")
    whole = parse(data)
    assert found == (whole if isinstance(whole, list) else whole["traceEvents"])
