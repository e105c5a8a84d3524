"""The whole text of one event, read again from its place in the file."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from analysis.demo import write_sample
from analysis.profile.discover import SourceFile
from analysis.trace.ingest import read_parts
from analysis.trace.model import CHUNKS, EVENTS, FLOWS, TRACKS, Quality, Trace
from analysis.trace.text import event_text

if TYPE_CHECKING:
    from collections.abc import Sequence


GENUINE = Path(__file__).parents[3].parent / "shared" / "data"


@dataclass(frozen=True)
class Event:
    """The text of an event, and what a trace holds of it; a bar has a name and starts at ts 1.5 us."""

    text: bytes
    name: str | None = None
    counts: bool = True
    """Whether it is among the objects: an unreadable one is not."""


def plain(name: str) -> Event:
    return Event(f'{{"ph":"X","name":"{name}","ts":"1.5","dur":2,"args":{{"k":"of {name}"}}}}'.encode(), name)


METADATA = Event(b'{"ph": "M", "name": "process_name", "pid": 5, "args": {"name": "CANN"}}')


def made(folder: Path, *slices: Sequence[Sequence[Event]], packed: bool = False) -> tuple[SourceFile, Trace]:
    """A file of slices of chunks of events, and its trace."""
    paths, chunks, bars = [], [], []
    number = 0
    for part, groups in enumerate(slices):
        content = b"[\n"
        for group in groups:
            text = b",\n".join(event.text for event in group)
            chunks.append((part, len(content), len(text), number))
            content += text + b" ,\r\n"
            for event in group:
                if event.name is not None:
                    row = dict.fromkeys(EVENTS) | {"number": number, "track": 0, "name": event.name}
                    bars.append(row | {"start_ns": 1500, "duration_ns": 2000})
                number += event.counts
        path = folder / f"slice_{part}.json{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(content + b"]") if packed else content + b"]")
        paths.append(path)
    trace = Trace(
        events=pl.DataFrame(bars, schema=EVENTS),
        tracks=pl.DataFrame(schema=TRACKS),
        flows=pl.DataFrame(schema=FLOWS),
        chunks=pl.DataFrame(chunks, schema=CHUNKS, orient="row"),
        quality=Quality(number, {}, (), 0),
    )
    return SourceFile("trace_view", tuple(paths)), trace


def args_of(source: SourceFile, trace: Trace, number: int) -> object:
    event = event_text(source, trace, number)
    return None if event is None else event["args"]


@pytest.mark.parametrize("packed", [False, True])
def test_every_event_is_found_in_its_chunk_and_slice(packed, tmp_path):
    slices = [[[plain("a"), plain("b")], [plain("c")]], [[METADATA, plain("d"), plain("e")]]]
    source, trace = made(tmp_path, *slices, packed=packed)
    assert [args_of(source, trace, number) for number in range(6)] == [
        {"k": "of a"},
        {"k": "of b"},
        {"k": "of c"},
        {"name": "CANN"},
        {"k": "of d"},
        {"k": "of e"},
    ]


@pytest.mark.parametrize("number", [-1, 2, 2**40])
def test_a_number_that_no_event_has_finds_nothing(number, tmp_path):
    source, trace = made(tmp_path, [[plain("a"), plain("b")]])
    assert event_text(source, trace, number) is None


def test_a_trace_without_any_event_has_no_text(tmp_path):
    assert event_text(*made(tmp_path, []), 0) is None


def test_numbers_keep_every_digit(tmp_path):
    text = b'{"ph":"X","name":"n","ts":"1.5","dur":1736408883704643.2125,"id":18446744073709551617}'
    event = event_text(*made(tmp_path, [[Event(text, "n")]]), 0)
    assert event is not None
    assert event["dur"] == Decimal("1736408883704643.2125")
    assert event["id"] == 18446744073709551617


def test_texts_with_separators_and_escapes_come_out_whole(tmp_path):
    args = rb'{"Call stack":"a(1)};\r\n{\"b\"}, {c]","u":"\u00e9\ud83d\ude00"}'
    text = b'{"ph":"X","name":"n","ts":1.5,"args":' + args + b"}"
    found = args_of(*made(tmp_path, [[plain("a"), Event(text, "n"), plain("b")]]), 1)
    assert found == {"Call stack": 'a(1)};\r\n{"b"}, {c]', "u": "é😀"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (b'{"ph":"X","name":"a\x01b","ts":"1.5","args":{"v":1}}', "a\x01b"),
        (b'{"ph":"X","name":"n","ts":"1.5","args":{"v":1},"dur":NaN}', "n"),
        (b'{"ph":"X","name":"\xff","ts":"1.5","args":{"v":1}}', "\ufffd"),
    ],
    ids=["control byte", "NaN", "not UTF-8"],
)
def test_a_repaired_event_and_its_neighbours_are_found(text, name, tmp_path):
    source, trace = made(tmp_path, [[plain("a"), Event(text, name), plain("b")]])
    assert args_of(source, trace, 0) == {"k": "of a"}
    assert args_of(source, trace, 1) == {"v": 1}
    assert args_of(source, trace, 2) == {"k": "of b"}


@pytest.mark.parametrize("broken", [b'{"ph":"X","name":"n" "ts":1}', b'{"ph":}', b"17", b"null"])
def test_events_behind_an_unreadable_one_keep_their_numbers(broken, tmp_path):
    source, trace = made(tmp_path, [[plain("a"), Event(broken, counts=False), plain("b")]])
    assert args_of(source, trace, 1) == {"k": "of b"}


def test_deep_nesting_is_no_crash(tmp_path):
    deep = b'{"ph":"X","name":"n","ts":"1.5","args":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert event_text(*made(tmp_path, [[Event(deep, "n")]]), 0) is None


# -------------------------------------------------------------------------------- files as they are read


def assert_all_found(path: Path, step: int, chunk_bytes: int = 4096) -> None:
    """Every ``step``-th event of a file is found as a plain reading of the whole file has it."""
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    plain_reading = json.loads(text, parse_float=Decimal, strict=False)
    events = plain_reading["traceEvents"] if isinstance(plain_reading, dict) else plain_reading
    trace = read_parts([path], root=path.parent, chunk_bytes=chunk_bytes)
    source = SourceFile("trace_view", (path,))
    numbers = [*range(0, len(events), step), len(events) - 1]
    assert [event_text(source, trace, number) for number in numbers] == [events[n] for n in numbers]


def test_events_of_a_sample_are_found(tmp_path):
    (path,) = write_sample("training", tmp_path).path.rglob("trace_view.json")
    assert_all_found(path, 7)


@pytest.mark.parametrize(
    "relative",
    [
        "torch_npu_alexnet_2rank_level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json",
        "older/trace_view_2024-01.json",
        "gpu_recommender/worker0_step_12.1694128201545.pt.trace.json",
        "gpu_recommender/torchrec_sampled_rank-0.json.gz",
    ],
)
def test_events_of_genuine_captures_are_found(relative):
    if not GENUINE.is_dir():
        pytest.skip("the genuine captures are not beside the repository (../shared/data)")
    assert_all_found(GENUINE / relative, 97, 1 << 16)


def test_events_of_a_damaged_file_are_found(tmp_path):
    bad = (
        b'{"ph":"X","name":"n" "ts":1}',
        b'{"ph":"X","name":"a\x01","ts":"1.5","dur":NaN}',
        b"null",
        b"{}}",
    )
    pieces = [plain(f"event {n}").text for n in range(200)]
    for at, text in zip((20, 60, 61, 150), bad, strict=True):
        pieces.insert(at, text)
    path = tmp_path / "trace_view.json"
    path.write_bytes(b"[" + b", ".join(pieces) + b', {"ph": "X", "na')
    trace = read_parts([path], root=tmp_path, chunk_bytes=1024)
    source = SourceFile("trace_view", (path,))
    bars = zip(trace.events["number"].to_list(), trace.events["name"].to_list(), strict=True)
    found = {name: event_text(source, trace, number) for number, name in bars}
    assert len(found) >= 199
    for name, event in found.items():
        assert event is not None, name
        assert event["name"] == name


# ------------------------------------------------------------------------ the file has changed since


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_that_is_gone_or_shorter_has_no_text(packed, tmp_path):
    source, trace = made(tmp_path, [[plain("a"), plain("b")], [plain("c")]], packed=packed)
    path = source.parts[0]
    path.write_bytes(path.read_bytes()[:-30])
    assert event_text(source, trace, 2) is None
    path.write_bytes(b"")
    assert event_text(source, trace, 0) is None
    path.unlink()
    assert event_text(source, trace, 0) is None


def test_a_slice_that_is_no_longer_part_of_the_file_has_no_text(tmp_path):
    source, trace = made(tmp_path, [[plain("a")]], [[plain("b")]])
    assert event_text(SourceFile(source.kind, source.parts[:1]), trace, 1) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"name":"b"', b'"name":"X"'), (b'"ts":"1.5"', b'"ts":"1.6"'), (b'{"ph"', b'["ph"')],
    ids=["another name", "another time", "another structure"],
)
def test_another_event_in_the_place_is_not_taken_for_this_one(old, new, tmp_path):
    source, trace = made(tmp_path, [[plain("a"), plain("b")]])
    path = source.parts[0]
    path.write_bytes(path.read_bytes().replace(old, new))
    assert event_text(source, trace, 1) is None


def test_another_number_of_events_in_the_chunk_is_noticed(tmp_path):
    source, trace = made(tmp_path, [[METADATA, METADATA]])
    path = source.parts[0]
    path.write_bytes((b"[\n" + b",".join([METADATA.text[:30] + b'"}'] * 3)).ljust(path.stat().st_size))
    assert event_text(source, trace, 1) is None
