"""Chunks of any size end at true borders, and their text can be found again."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from analysis.errors import UnreadableFileError
from analysis.trace import source
from analysis.trace.ingest import read_parts
from analysis.trace.source import Buffer, open_source

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.trace.model import Trace

SIZES = (64, 65, 100, 333, 1000, 1 << 19)


def bar(name: str, at: int, **fields: Any) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": name,
        "pid": 1,
        "tid": 2,
        "ts": f"{1_736_408_883_704_643 + at}.212",
        "dur": 1.5,
    } | fields


LOOK_ALIKES = [
    bar("plain", 0),
    bar('}, {"ph": "X"', 1),
    bar('\\"}, {"ph":"X","ts":"1","dur":1}, {', 2),
    bar("nested", 3, args={"list": [{"ph": "X"}, {"ph": "X", "list": [{}, {}]}, {}]}),
    bar("}]", 4, args={"}, {": "}, {", "a": ["}, {", '"}, {"']}),
    bar("\\", 5),
    bar("{a: 1}, {b: 2}], \u4e2d\u6587 \U0001f600", 6),
    bar("long " + "}, {" * 300, 7),
    bar("last", 8),
]


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "trace_view.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(path: Path, chunk_bytes: int) -> Trace:
    return read_parts([path], root=path.parent, chunk_bytes=chunk_bytes)


def names(trace: Trace) -> list[str]:
    return trace.events["name"].to_list()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("indent", [None, 0, 4])
def test_look_alikes_of_borders_never_split_an_event(
    tmp_path: Path, indent: int | None, ascii_only: bool, size: int
) -> None:
    text = json.dumps(LOOK_ALIKES, indent=indent, ensure_ascii=ascii_only)
    trace = read(write(tmp_path, text), size)
    assert names(trace) == [event["name"] for event in LOOK_ALIKES]
    assert trace.quality.faults == ()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("separator", [",", " , ", "\r\n,\t", ",\n" + " " * 500])
def test_any_blanks_may_lie_between_events(tmp_path: Path, separator: str, size: int) -> None:
    text = " \n[\t" + separator.join(map(json.dumps, LOOK_ALIKES)) + "\r\n]\n"
    trace = read(write(tmp_path, "\ufeff" + text), size)
    assert names(trace) == [event["name"] for event in LOOK_ALIKES]
    assert trace.quality.faults == ()


@pytest.mark.parametrize("size", SIZES)
def test_the_list_may_lie_anywhere_in_an_object(tmp_path: Path, size: int) -> None:
    around = {
        "before": {"traceEvents": [bar("wrong", 0)], "a": ["}, {", {}]},
        'odd "key" }, {': None,
        "traceEvents": LOOK_ALIKES,
        "after": [bar("wrong", 0), bar("wrong", 1)],
        "baseTimeNanoseconds": 1_700_000_000_000_000_123,
    }
    trace = read(write(tmp_path, json.dumps(around, indent=1)), size)
    assert names(trace) == [event["name"] for event in LOOK_ALIKES]
    assert trace.base_ns == 1_700_000_000_000_000_123
    assert trace.quality.faults == ()


def test_the_base_time_may_stand_before_the_list(tmp_path: Path) -> None:
    text = json.dumps({"x": float("nan"), "baseTimeNanoseconds": 5, "traceEvents": [bar("a", 0)]})
    assert read(write(tmp_path, text), 64).base_ns == 5


@pytest.mark.parametrize("size", SIZES)
def test_every_event_is_found_again_in_the_text_of_its_chunk(tmp_path: Path, size: int) -> None:
    text = json.dumps([*LOOK_ALIKES, {"ph": "C", "name": "counter"}], indent=1).encode()
    text = text.replace(b"nested", b"nes\x01ted")
    path = write(tmp_path, text)
    trace = read(path, size)
    found = {}
    for part, offset, length, first in trace.chunks.rows():
        assert part == 0
        lines = text[offset : offset + length].replace(b"\x01", b"?")
        for at, raw in enumerate(msgspec.json.decode(b"[" + lines + b"]", type=list[msgspec.Raw])):
            found[first + at] = json.loads(bytes(raw))["name"]
    called = [event["name"].replace("nested", "nes?ted") for event in LOOK_ALIKES]
    assert found == dict(enumerate([*called, "counter"]))


def test_offsets_of_a_packed_file_are_those_of_its_text(tmp_path: Path) -> None:
    text = json.dumps(LOOK_ALIKES).encode()
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(text[:700]) + gzip.compress(text[700:]) + b"\0" * 9)
    trace = read(tmp_path / "a.json.gz", 333)
    assert names(trace) == [event["name"] for event in LOOK_ALIKES]
    assert trace.chunks["offset"].to_list() == read(write(tmp_path, text), 333).chunks["offset"].to_list()
    assert trace.quality.faults == ()


def test_an_event_larger_than_the_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MOST_EVENT_BYTES", 1 << 20)
    path = write(tmp_path, json.dumps([bar("a", 0), bar("x" * (3 << 20), 1), bar("b", 2)]))
    with pytest.raises(UnreadableFileError, match="larger than 1 MiB"):
        read(path, 64)


def test_a_packed_file_that_unpacks_beyond_the_bound_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MOST_UNPACKED_BYTES", 1 << 20)
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b"[" + b" " * (2 << 20) + b"]"))
    with pytest.raises(UnreadableFileError, match="unpacks to more than"):
        read(tmp_path / "a.json.gz", 1 << 16)


def test_a_large_event_does_not_make_later_chunks_large(tmp_path: Path) -> None:
    events = [bar("x" * 50_000, 0), *(bar(f"n{at}", at) for at in range(1, 300))]
    trace = read(write(tmp_path, json.dumps(events)), 1000)
    assert names(trace) == [event["name"] for event in events]
    assert trace.chunks["length"].sort()[-2] <= 1000


def test_a_buffer_keeps_track_of_where_its_text_lies(tmp_path: Path) -> None:
    text = bytes(range(200))
    buffer = Buffer(open_source(write(tmp_path, text)), 10)
    seen = b""
    for size in (10, 4, 30, 12, 200):
        buffer.fill(size)
        assert buffer.data[buffer.start] == text[buffer.offset]
        seen += buffer.data[buffer.start : buffer.start + 3]
        assert seen == text[: buffer.offset + 3]
        buffer.start += 3
    assert buffer.at_end
