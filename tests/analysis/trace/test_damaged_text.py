"""Traces that were cut off or are no proper json."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from analysis.errors import UnreadableFileError
from tests.analysis.trace import oracle
from tests.analysis.trace.builder import MAIN, bar, training_events
from tests.analysis.trace.comparison import bars_of
from tests.analysis.trace.files import BASE_US, HEALTHY, HEALTHY_NAMES, fault, kinds, names, read

if TYPE_CHECKING:
    from pathlib import Path


def whole_events_before(ends: list[int], cut: int) -> int:
    return sum(end <= cut for end in ends)


@pytest.mark.parametrize(
    ("head", "separator", "tail"),
    [("[\n", ",\n", "\n]\n"), ('{"a":[{}],"traceEvents": [', ", ", '],"b":"}]"}')],
    ids=["lines", "wrapped"],
)
def test_a_file_cut_anywhere_gives_the_whole_events_before_the_cut(
    tmp_path: Path, head: str, separator: str, tail: str
) -> None:
    events = [
        {"ph": "X", "name": 'a"}, {"', "pid": 1, "tid": 1, "ts": "1736408883704643.212", "dur": 1.5},
        {"ph": "s", "cat": "HostToDevice", "id": str(2**70), "pid": 1, "tid": 1, "ts": BASE_US},
        {
            "ph": "X",
            "name": "é😀\\",
            "pid": 1,
            "tid": 2,
            "ts": BASE_US,
            "dur": 2,
            "args": {"a": [{}, {"b": []}]},
        },
    ]
    text, ends = head.encode(), []
    for at, event in enumerate(events):
        text += (separator if at else "").encode() + json.dumps(event, ensure_ascii=False).encode()
        ends.append(len(text))
    end_of_list = len(text) + tail.index("]") + 1
    text += tail.encode()
    for cut in range(len(head), len(text)):
        trace = read(tmp_path, text[:cut])
        whole = whole_events_before(ends, cut)
        expected = oracle.reading_of(oracle.parse(json.dumps(events[:whole]).encode()))
        assert trace.quality.objects == whole, cut
        assert bars_of(trace) == expected.bars, cut
        if cut < end_of_list:
            assert "cut" in kinds(trace), cut
            assert trace.quality.lost_bytes == cut - (ends[whole - 1] if whole else trace_start(head)), cut
    assert read(tmp_path, text).quality.lost_bytes == 0
    assert "cut" not in kinds(read(tmp_path, text))


def trace_start(head: str) -> int:
    """Where the text of the events begins, just after the bracket."""
    return head.rindex("[") + 1


def test_a_list_without_its_bracket_loses_no_event(tmp_path: Path) -> None:
    trace = read(tmp_path, json.dumps(HEALTHY)[:-1])
    assert names(trace) == HEALTHY_NAMES
    assert "cut" in kinds(trace)
    assert trace.quality.lost_bytes == 0


def test_a_packed_file_cut_anywhere_gives_its_first_events(tmp_path: Path) -> None:
    events = training_events(3)
    data = gzip.compress(json.dumps(events).encode(), mtime=0)
    expected = oracle.reading_of(events).bars
    most = 0
    for cut in range(24, len(data) - 8, 37):
        trace = read(tmp_path, data[:cut], "trace_view.json.gz")
        found = bars_of(trace)
        assert found == expected[: len(found)], cut
        assert "cut" in kinds(trace), cut
        most = max(most, len(found))
    assert 0 < most <= len(expected)


@pytest.mark.parametrize("content", ["[", "[ ", '{"traceEvents": ['])
def test_a_file_cut_before_its_first_event_is_an_empty_trace(tmp_path: Path, content: str) -> None:
    trace = read(tmp_path, content)
    assert (trace.events.height, trace.quality.objects) == (0, 0)
    assert "cut" in kinds(trace)


@pytest.mark.parametrize("content", ["[]", '{"traceEvents": []}', '{"traceEvents": [], "a": 1}'])
def test_an_empty_list_is_a_healthy_trace(tmp_path: Path, content: str) -> None:
    trace = read(tmp_path, content)
    assert trace.events.height == trace.flows.height == trace.tracks.height == 0
    assert trace.quality.faults == ()


@pytest.mark.parametrize(
    "content", ["", " \n", "{}", '{"a": [{}]}', "no json at all", "5", '"text"', "null", "\x00\x00\x00\x00"]
)
def test_a_file_that_is_no_trace_is_refused_in_words(tmp_path: Path, content: str) -> None:
    with pytest.raises(UnreadableFileError):
        read(tmp_path, content)


@pytest.mark.parametrize("between", ["][", "]\n[", "], "])
@pytest.mark.parametrize(("head", "tail"), [("[", "]"), ('{"traceEvents": [', "]}")], ids=["bare", "wrapped"])
def test_events_after_the_end_of_the_list_do_not_vanish_in_silence(
    tmp_path: Path, head: str, between: str, tail: str
) -> None:
    """Lists written one after the other, or a bracket too many."""
    first, *others = [json.dumps(event) for event in HEALTHY]
    trace = read(tmp_path, head + first + between + ", ".join(others) + tail)
    assert names(trace)[0] == HEALTHY_NAMES[0]
    assert names(trace) == HEALTHY_NAMES or trace.quality.faults != ()


@pytest.mark.parametrize("rest", ["", "\n", " \r\n\t"])
def test_blanks_after_the_list_are_no_fault(tmp_path: Path, rest: str) -> None:
    trace = read(tmp_path, json.dumps(HEALTHY) + rest)
    assert names(trace) == HEALTHY_NAMES
    assert trace.quality.faults == ()


def test_bare_control_bytes_in_names_are_kept_and_counted(tmp_path: Path) -> None:
    text = json.dumps([bar("a?b", MAIN, BASE_US, 1), *HEALTHY]).replace("a?b", "a\x01b")
    trace = read(tmp_path, text)
    assert names(trace) == ["a\x01b", *HEALTHY_NAMES]
    found = fault(trace, "control_bytes")
    assert (found.count, found.number, found.lost) == (1, 0, False)
    assert not trace.quality.damaged


def test_a_bare_newline_in_a_name_is_kept_and_counted(tmp_path: Path) -> None:
    text = json.dumps([*HEALTHY, bar("a?b", MAIN, BASE_US, 1)]).replace("a?b", "a\n}, {\tb")
    trace = read(tmp_path, text)
    assert names(trace)[-1] == "a\n}, {\tb"
    assert fault(trace, "control_bytes").number == 5


def test_escaped_control_characters_and_quotes_are_no_fault(tmp_path: Path) -> None:
    odd = ('say "}, {"', "\x01", "\x00", "back\\slash", "\x7f\u202e", '\\\\"]}],[{')
    trace = read(tmp_path, [bar(name, MAIN, BASE_US + at, 1) for at, name in enumerate(odd)])
    assert names(trace) == list(odd)
    assert trace.quality.faults == ()


def test_bytes_that_are_no_utf8_lose_no_other_event(tmp_path: Path) -> None:
    text = json.dumps([HEALTHY[0], bar("a?b", MAIN, BASE_US, 1), *HEALTHY[1:]]).encode()
    trace = read(tmp_path, text.replace(b"a?b", b"a\xff\xfeb"))
    assert [name for name in names(trace) if name.startswith("healthy")] == HEALTHY_NAMES
    found = fault(trace, "encoding")
    assert found.count == 1
    assert found.lost == (len(names(trace)) == 5)


def test_half_a_surrogate_loses_no_other_event(tmp_path: Path) -> None:
    text = json.dumps([HEALTHY[0], bar("a?b", MAIN, BASE_US, 1), *HEALTHY[1:]]).replace("a?b", "a\\ud800b")
    trace = read(tmp_path, text)
    assert [name for name in names(trace) if name.startswith("healthy")] == HEALTHY_NAMES
    assert trace.quality.faults != ()
