"""A damaged event loses nothing but itself, whatever the damage and the size of chunks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from analysis.trace.ingest import read_parts
from analysis.trace.repair import lexical_end, repaired

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.trace.model import Fault, Trace

SIZES = (64, 200, 1 << 19)
BASE = 1_736_408_883_704_643


def event(name: str, at: int) -> str:
    fields = {"ph": "X", "name": name, "pid": 1, "tid": 2, "ts": f"{BASE + at}.5", "dur": 2}
    return json.dumps(fields | {"args": {"Task Type": "AI_CORE", "connection_id": at, "a": [{}, {"b": 1}]}})


HEALTHY = [event(f"healthy {at}", at) for at in range(8)]
NAMES = [f"healthy {at}" for at in range(8)]


def read(folder: Path, text: str | bytes, chunk_bytes: int) -> Trace:
    path = folder / "trace_view.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_parts([path], root=folder, chunk_bytes=chunk_bytes)


def faults(trace: Trace) -> dict[str, Fault]:
    return {fault.kind: fault for fault in trace.quality.faults}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "broken",
    [
        event("odd", 9).replace("odd", 'say "odd"'),
        event("odd", 9).replace("odd", 'a"b'),
        event("odd", 9).replace('"odd"', "odd"),
        event("odd", 9).replace('"odd"', '"odd'),
        event("odd", 9).replace('"odd"', 'odd"'),
        event("odd", 9).replace('"odd"', ""),
        event("odd", 9).replace('"dur": 2', '"dur": 2.'),
        event("odd", 9).replace('"dur": 2', '"dur": 02'),
        event("odd", 9).replace('"dur": 2', '"dur" 2'),
        event("odd", 9).replace('"dur": 2', "'dur': 2"),
        event("odd", 9).replace("odd", "\\q"),
        event("odd", 9)[:-1],
        event("odd", 9)[:-2],
        event("odd", 9)[1:],
        event("odd", 9) + "}",
        "null",
        "17",
        "[]",
        '"text"',
        "rubbish",
    ],
)
def test_an_event_that_cannot_be_read_is_lost_alone(tmp_path: Path, broken: str, size: int) -> None:
    trace = read(tmp_path, "[" + ", ".join([*HEALTHY[:3], broken, *HEALTHY[3:]]) + "]", size)
    assert [name for name in trace.events["name"] if name != "odd"] == NAMES
    found = faults(trace)["unreadable_event"]
    assert (found.count, found.number, found.lost) == (1, None, True)
    assert found.example[:5] in broken
    assert trace.quality.objects == trace.events.height
    assert trace.quality.lost_bytes == 0


@pytest.mark.parametrize("size", SIZES)
def test_every_event_that_cannot_be_read_is_counted(tmp_path: Path, size: int) -> None:
    broken = event("odd", 9).replace("odd", 'a"b')
    texts = [text for healthy in HEALTHY for text in (healthy, broken)]
    trace = read(tmp_path, "[" + ",\n".join(texts) + "]", size)
    assert trace.events["name"].to_list() == NAMES
    assert faults(trace)["unreadable_event"].count == 8


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("missing", [" ", "\n", ",,", ", ,\n"])
def test_missing_and_double_commas_lose_nothing(tmp_path: Path, missing: str, size: int) -> None:
    text = "[" + ",".join(HEALTHY[:4]) + missing + ",".join(HEALTHY[4:]) + ",\n]"
    trace = read(tmp_path, text, size)
    assert trace.events["name"].to_list() == NAMES
    assert trace.quality.faults == ()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("old", "new", "name", "kind"),
    [
        (b"odd", b"o\x01\n}, {\td", "o\x01\n}, {\td", "control_bytes"),
        (b"odd", b"o\xff\xe4\xb8d", "o\ufffd\ufffdd", "encoding"),
        (b"odd", b"o\\ud83dd", "o\ufffdd", "encoding"),
        (b"odd", b"o\\ude00\\ud83d\\ude00", "o\ufffd\U0001f600", "encoding"),
        (b'"b": 1', b'"b": -Infinity', "odd", "not_a_number"),
        (b'"b": 1', b'"b": [NaN, nan, -nan(ind), inf]', "odd", "not_a_number"),
    ],
)
def test_what_json_forbids_is_repaired_and_counted(
    tmp_path: Path, old: bytes, new: bytes, name: str, kind: str, size: int
) -> None:
    odd = event("odd", 9).encode()
    healthy = [text.encode() for text in HEALTHY]
    text = b"[" + b", ".join([*healthy[:3], odd.replace(old, new), *healthy[3:]]) + b"]"
    trace = read(tmp_path, text, size)
    assert trace.events["name"].to_list() == [*NAMES[:3], name, *NAMES[3:]]
    assert trace.events["connection_id"].to_list() == [0, 1, 2, 9, 3, 4, 5, 6, 7]
    (found,) = trace.quality.faults
    assert (found.kind, found.count, found.number, found.lost) == (kind, 1, 3, False)
    assert found.example == name
    assert not trace.quality.damaged


def test_words_like_nan_in_names_are_left_alone() -> None:
    text = b'{"name": "NaN, -Infinity \\" inf", "a": NaN}'
    assert repaired(text) == (b'{"name": "NaN, -Infinity \\" inf", "a": null}', ("not_a_number",))


def test_an_escaped_backslash_before_u_is_no_surrogate() -> None:
    assert repaired(rb'"\\ud800"') == (rb'"\\ud800"', ())


@pytest.mark.parametrize("size", SIZES)
def test_the_first_example_does_not_depend_on_chunks(tmp_path: Path, size: int) -> None:
    odd = [event(f"o\x01{at}", at).replace("\\u0001", "\x01") for at in range(5)]
    trace = read(tmp_path, "[" + ", ".join([*HEALTHY, *odd]) + "]", size)
    found = faults(trace)["control_bytes"]
    assert (found.count, found.example, found.number) == (5, "o\x010", 8)


def test_a_quarter_million_brackets_are_no_recursion(tmp_path: Path) -> None:
    deep = '{"ph": "X", "a": ' + '[{"a":' * 125_000 + "1" + "}]" * 125_000 + "}"
    trace = read(tmp_path, "[" + ", ".join([*HEALTHY[:3], deep, *HEALTHY[3:]]) + "]", 1 << 19)
    assert trace.events["name"].to_list() == NAMES
    assert faults(trace)["unreadable_event"].count == 1


def test_brackets_never_closed_end_the_file(tmp_path: Path) -> None:
    trace = read(tmp_path, "[" + ", ".join(HEALTHY) + ", " + "[" * 200_000, 1 << 16)
    assert trace.events["name"].to_list() == NAMES
    assert "cut" in faults(trace)
    assert trace.quality.lost_bytes == 200_002


@pytest.mark.parametrize(
    ("text", "end"),
    [
        (b'{"a": "}"} rest', 10),
        (b'{"a": "\\"}"} rest', 12),
        (b'{"a": "\\\\"} rest', 11),
        (b'[{"a": [1]}, {}], []', 16),
        (b'{"a": "}', None),
        (b'{"a": "\\"', None),
        (b'{"a": [}', None),
        (b"{", None),
    ],
)
def test_brackets_in_strings_do_not_count(text: bytes, end: int | None) -> None:
    assert lexical_end(text, 0, len(text)) == end
