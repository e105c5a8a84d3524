"""What the reader must know about a trace: events left out, a file cut short, devices left aside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from analysis.notes import Note
from analysis.trace.model import HOST_ROLES
from analysis.trace.step_marks import doubtful_marks
from analysis.units import count_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.notes import Value
    from analysis.trace.model import Fault, Quality, Trace

_CUT: Final = "cut"
_MOST_STEPS: Final = 5
_NOT_BY_COUNT: Final = frozenset({_CUT, "late_metadata", "duplicate_metadata"})
"""Faults with a note of their own, and those that change no result; the table of faults lists them all."""


def trace_notes(quality: Quality, partial: int, file: str) -> tuple[Note, ...]:
    """One note for each kind of fault that a result may suffer from, and one for bars that overlap in part.

    Args:
        quality: What was found in the file.
        partial: Bars of framework operators that overlap another of their thread only in part.
        file: The file, as it is shown.
    """
    notes = [_fault_note(fault, file) for fault in quality.faults if fault.kind not in _NOT_BY_COUNT]
    cut = next((fault for fault in quality.faults if fault.kind == _CUT), None)
    if cut is not None:
        # Its example is the slice.
        notes.append(_cut_note(quality.lost_bytes, cut.example or file))
    if quality.unread:
        notes.append(Note("trace_begin_end", {"count": count_text(quality.unread)}, file, damage=True))
    if partial:
        notes.append(Note("trace_partial_overlaps", {"count": count_text(partial)}, file))
    return tuple(notes)


def doubts(trace: Trace) -> tuple[Note, ...]:
    """What to know of a trace before its numbers are read, whatever file it is from."""
    return (*_step_mark_notes(trace), *_nameless_notes(trace), *_process_notes(trace))


def _step_mark_notes(trace: Trace) -> tuple[Note, ...]:
    """Marks of steps that contradict each other or say no number, and what became of them."""
    marks = doubtful_marks(trace)
    notes = []
    if marks.repeated:
        notes.append(Note("steps_repeated", _steps_named(marks.repeated)))
    if marks.shared:
        values = {"steps": _in_short(marks.shared), "new": _in_short(marks.renumbered)}
        notes.append(Note("steps_renumbered", values))
    if marks.overlapping:
        notes.append(Note("steps_overlapping", _steps_named(marks.overlapping)))
    if marks.unnumbered:
        values = {"count": count_text(marks.unnumbered), "example": marks.example}
        notes.append(Note("steps_unnumbered", values))
    return tuple(notes)


def _nameless_notes(trace: Trace) -> tuple[Note, ...]:
    """Bars of the host without a name: nobody can tell what they are."""
    hosts = trace.tracks.filter(pl.col("role").is_in(HOST_ROLES))["track"]
    count = trace.events.filter(pl.col("name").is_null(), pl.col("track").is_in(hosts.implode())).height
    return (Note("trace_nameless", {"count": count_text(count)}),) if count else ()


def _process_notes(trace: Trace) -> tuple[Note, ...]:
    """Several programs in one trace: what is found by name or by time is found in all of them."""
    rows = trace.tracks.filter((pl.col("bars") > 0) & pl.col("role").is_in(HOST_ROLES))
    count = rows["pid"].n_unique()
    return (Note("trace_processes", {"count": count_text(count)}),) if count > 1 else ()


def _steps_named(steps: Sequence[int]) -> dict[str, Value]:
    return {"count": count_text(len(steps)), "steps": _in_short(steps)}


def _in_short(steps: Sequence[int]) -> str:
    return ", ".join(map(str, steps[:_MOST_STEPS])) + (", …" if len(steps) > _MOST_STEPS else "")


def trace_devices(trace: Trace) -> tuple[int, ...]:
    """The devices that did something in this trace, in order."""
    rows = trace.tracks.filter((pl.col("bars") > 0) & ~pl.col("role").is_in(HOST_ROLES))
    return tuple(rows["device"].drop_nulls().unique().sort().to_list())


def other_devices(devices: Sequence[int], file: str) -> Note:
    """Says that only the first of several devices is looked at (spec L2: devices are never mixed)."""
    return Note("other_devices", {"used": devices[0], "others": ", ".join(map(str, devices[1:]))}, file)


def _fault_note(fault: Fault, file: str) -> Note:
    values = {"count": count_text(fault.count), "example": fault.example}
    return Note(f"trace_{fault.kind}", values, file, damage=fault.lost)


def _cut_note(lost_bytes: int, file: str) -> Note:
    """One note for all slices; a file that ends right after an event may have been meant to go on."""
    if not lost_bytes:
        return Note("trace_unfinished", {}, file, damage=True)
    return Note("trace_cut", {"bytes": count_text(lost_bytes)}, file, damage=True)
