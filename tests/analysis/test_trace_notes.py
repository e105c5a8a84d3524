"""What the reader is told of a trace: one note a kind of fault, and what is damage."""

from __future__ import annotations

import re

import pytest

from analysis.report.messages import LANGUAGES, Messages
from analysis.trace.model import Fault, Quality
from analysis.trace_notes import doubts, other_devices, trace_devices, trace_notes
from tests.analysis.trace.builder import MAIN, STREAM, bar, named, timeline, trace_of

KINDS = (
    "no_ts",
    "no_dur",
    "negative_dur",
    "absurd_dur",
    "off_axis",
    "unreadable_ts",
    "unreadable_event",
    "control_bytes",
    "not_a_number",
    "encoding",
    "cut",
)


def notes(*faults: Fault, lost_bytes: int = 0, partial: int = 0):
    return trace_notes(Quality(9, {"X": 9}, faults, lost_bytes), partial, "trace_view.json")


def fault(kind: str, *, count: int = 1, lost: bool = True) -> Fault:
    return Fault(kind, count, "aten::add", 3, lost)


def test_a_fault_is_noted_with_its_number_and_first_event() -> None:
    (note,) = notes(fault("negative_dur", count=1200))
    assert (note.kind, note.file, note.damage) == ("trace_negative_dur", "trace_view.json", True)
    assert note.values == {"count": "1,200", "example": "aten::add"}


def test_a_fault_that_was_repaired_is_no_damage() -> None:
    (note,) = notes(fault("control_bytes", lost=False))
    assert not note.damage


@pytest.mark.parametrize("kind", ["late_metadata", "duplicate_metadata"])
def test_harmless_metadata_is_not_noted(kind: str) -> None:
    assert notes(fault(kind, lost=False)) == ()


@pytest.mark.parametrize("slices", [1, 2])
def test_a_cut_file_is_noted_once_with_the_bytes_it_lost(slices: int) -> None:
    (note,) = notes(*[fault("cut")] * slices, lost_bytes=4096)
    assert (note.kind, note.values, note.damage) == ("trace_cut", {"bytes": "4,096"}, True)


def test_a_file_that_ends_right_after_an_event_lost_no_bytes() -> None:
    (note,) = notes(fault("cut"))
    assert (note.kind, note.damage) == ("trace_unfinished", True)


def test_bars_that_overlap_in_part_are_no_damage() -> None:
    (note,) = notes(partial=2)
    assert (note.kind, note.values, note.damage) == ("trace_partial_overlaps", {"count": "2"}, False)


def test_a_sound_trace_has_no_notes() -> None:
    assert notes() == ()


def test_devices_are_those_that_did_something() -> None:
    idle = {"ph": "M", "name": "process_labels", "pid": "idle", "tid": 0, "args": {"labels": "NPU 7"}}
    events = [
        *named([bar("x", STREAM, 0, 1), bar("aten::x", MAIN, 0, 1, "cpu_op")], device=3),
        *named([bar("x", ("HCCL", "Group 0 Communication"), 0, 1)], device=1),
        idle,
    ]
    assert trace_devices(trace_of(events)) == (1, 3)
    assert trace_devices(timeline(bar("aten::x", MAIN, 0, 1, "cpu_op"))) == ()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_note_has_its_words(language: str) -> None:
    messages = Messages(language)
    found = notes(*map(fault, KINDS), lost_bytes=1, partial=1)
    assert len(found) == len(KINDS) + 1
    for note in (*found, *notes(fault("cut")), other_devices((0, 1), "trace_view.json")):
        assert "{" not in messages.text(f"note.{note.kind}", note.values)


def test_begin_and_end_events_are_told_as_lost() -> None:
    quality = Quality(9, {"B": 2, "E": 2, "X": 5}, (), 0)
    assert quality.damaged
    (note,) = trace_notes(quality, 0, "trace_view.json")
    assert (note.kind, note.values, note.damage) == ("trace_begin_end", {"count": "4"}, True)
    for language in LANGUAGES:
        assert "note.trace_begin_end" in Messages(language)


def test_the_slice_that_was_cut_is_named() -> None:
    cut = Fault("cut", 1, "msprof_slice_1_20260106090000.json", None, lost=True)
    (note,) = notes(cut, lost_bytes=5)
    assert note.file == "msprof_slice_1_20260106090000.json"


def test_steps_with_doubtful_marks_are_named() -> None:
    marks = [bar(f"ProfilerStep#{number}", MAIN, 100 * number, 150, "cpu_op") for number in range(8)]
    inside = bar("ProfilerStep#7", MAIN, 720, 20, "cpu_op")
    again = bar("ProfilerStep#6", MAIN, 2000, 200, "cpu_op")
    odd = bar("ProfilerStep#x", MAIN, 3000, 10, "cpu_op")
    found = doubts(timeline(*marks, inside, again, odd))
    assert {note.kind: note.values for note in found} == {
        "steps_repeated": {"count": "1", "steps": "7"},
        "steps_renumbered": {"steps": "6", "new": "8"},
        "steps_overlapping": {"count": "7", "steps": "0, 1, 2, 3, 4, …"},
        "steps_unnumbered": {"count": "1", "example": "ProfilerStep#x"},
    }
    for language in LANGUAGES:
        for note in found:
            assert "{" not in Messages(language).text(f"note.{note.kind}", note.values)


def test_steps_right_after_each_other_need_no_note() -> None:
    marks = [bar(f"ProfilerStep#{number}", MAIN, 100 * number, 100, "cpu_op") for number in range(3)]
    assert doubts(timeline(*marks)) == ()


def test_several_programs_in_one_trace_are_told() -> None:
    one = bar("aten::add", MAIN, 0, 10, "cpu_op")
    other = {**one, "pid": 77, "tid": 77}
    assert doubts(timeline(one)) == ()
    (note,) = doubts(timeline(one, other))
    assert (note.kind, note.values) == ("trace_processes", {"count": "2"})
    for language in LANGUAGES:
        assert f"note.{note.kind}" in Messages(language)


def test_bars_of_the_host_without_a_name_are_counted() -> None:
    nameless = [bar("x", MAIN, start, 10, "cpu_op") for start in (0, 20)]
    for event in nameless:
        del event["name"]
    trace = timeline(*nameless, bar("aten::add", MAIN, 40, 10, "cpu_op"))
    (note,) = doubts(trace)
    assert (note.kind, note.values) == ("trace_nameless", {"count": "2"})
    assert doubts(timeline(bar("aten::add", MAIN, 40, 10, "cpu_op"))) == ()


@pytest.mark.parametrize(
    ("language", "reasons"),
    [
        (
            "en",
            (
                "on a thread that does not run the steps",
                "at the same time as a longer one of its number",
                "inside a step",
                "around several",
            ),
        ),
        (
            "zh",
            ("不执行 step 的线程上", "与同编号的更长标记同时", "处于某个 step 之内", "包含多个 step"),
        ),
    ],
)
def test_note_on_marks_left_aside_tells_every_reason(language: str, reasons: tuple[str, ...]) -> None:
    said = Messages(language).text("note.steps_repeated", {"count": "1", "steps": "5"})
    assert [reason for reason in reasons if reason not in said] == []


def test_notes_on_one_step_or_one_event_are_no_plurals() -> None:
    messages = Messages("en")
    once = {"count": "1", "steps": "5", "example": "ProfilerStep#x", "rules": "mine"}
    counting = [
        f"note.{key}"
        for key in (
            *(f"trace_{kind}" for kind in KINDS if kind != "cut"),
            *(f"steps_{kind}" for kind in ("repeated", "unnumbered", "overlapping")),
            *(f"phase_rules_{kind}" for kind in ("idle", "inside", "wide")),
            *("trace_nameless", "trace_partial_overlaps", "trace_begin_end"),
            *("step_span_unknown", "overlapped_negative", "h2d_outside", "d2h_outside"),
        )
    ]
    said = {key: messages.text(key, once) for key in counting}
    assert [key for key, text in said.items() if re.search(r"\b1 [a-z]", text)] == []
