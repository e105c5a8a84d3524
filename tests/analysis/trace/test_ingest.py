"""What a trace file becomes: numbers, tracks, arrows and args of its events, and how reading is followed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from analysis.errors import CancelledError, UnreadableFileError
from analysis.profile.discover import SourceFile
from analysis.trace import model
from analysis.trace.assemble import misplaced
from analysis.trace.ingest import read_parts, read_trace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from analysis.trace.model import Trace

BASE = 1_736_408_883_704_643


def bar(name: str, at: int = 0, **fields: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "pid": 1, "tid": 2, "ts": BASE + at, "dur": 1} | fields


def end(phase: str, ident: object, at: int = 0, **fields: Any) -> dict[str, Any]:
    return {"ph": phase, "id": ident, "pid": 1, "tid": 2, "ts": BASE + at, "name": "n"} | fields


def read(folder: Path, *parts: Sequence[dict[str, Any]]) -> Trace:
    paths = []
    for at, events in enumerate(parts):
        paths.append(folder / f"trace_view_{at}.json")
        paths[-1].write_text(json.dumps(events))
    return read_trace(SourceFile("trace_view", tuple(paths)), root=folder)


def test_frames_have_exactly_the_declared_columns(tmp_path: Path) -> None:
    for events in ([bar("a"), end("s", 1), end("f", 1)], []):
        trace = read(tmp_path, events)
        assert dict(trace.events.schema) == model.EVENTS
        assert dict(trace.tracks.schema) == model.TRACKS
        assert dict(trace.flows.schema) == model.FLOWS
        assert dict(trace.chunks.schema) == model.CHUNKS


def test_slices_go_on_counting_and_share_their_tracks(tmp_path: Path) -> None:
    first = [{"ph": "C", "name": "c"}, bar("a"), bar("b", pid=9)]
    second = [
        bar("c", pid=9),
        {"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "late"}},
        bar("d", pid="1"),
    ]
    trace = read(tmp_path, first, [], second)
    assert trace.events.select("number", "track", "name").rows() == [
        (1, 0, "a"),
        (2, 1, "b"),
        (3, 1, "c"),
        (5, 0, "d"),
    ]
    assert trace.tracks.select("pid", "process", "bars").rows() == [("1", None, 2), ("9", "late", 2)]
    assert trace.chunks.group_by("part").agg(pl.col("first").min()).sort("part").rows() == [(0, 0), (2, 3)]
    assert (trace.quality.objects, trace.quality.by_phase) == (6, {"C": 1, "M": 1, "X": 4})


def test_a_cut_slice_loses_its_end_only(tmp_path: Path) -> None:
    text = json.dumps([bar("a"), bar("b")])
    (tmp_path / "0.json").write_text(text[:-20])
    (tmp_path / "1.json").write_text(text)
    trace = read_parts([tmp_path / "0.json", tmp_path / "1.json"], root=tmp_path)
    assert trace.events["name"].to_list() == ["a", "a", "b"]
    (fault,) = trace.quality.faults
    assert (fault.kind, fault.count, fault.example, fault.lost) == ("cut", 1, "0.json", True)
    assert trace.quality.lost_bytes == len(text[:-20]) - len(json.dumps([bar("a")])) + 1


def test_tracks_come_in_the_order_of_their_first_bar_or_arrow_end(tmp_path: Path) -> None:
    lost = bar("lost", pid=3)
    del lost["ts"]
    trace = read(
        tmp_path, [lost, end("f", 5, pid="2"), bar("a", pid=3), bar("b", pid=2), {"ph": "B", "pid": 4}]
    )
    assert trace.tracks.select("track", "pid", "tid", "bars").rows() == [(0, "2", "2", 1), (1, "3", "2", 1)]


def test_a_process_and_thread_are_told_by_their_text(tmp_path: Path) -> None:
    places: list[Any] = [7, "7", "07", 7.0, 2**70, str(2**70), "", -7]
    trace = read(tmp_path, [bar(f"{at}", pid=pid) for at, pid in enumerate(places)])
    assert trace.tracks["pid"].to_list() == ["7", "07", "7.0", str(2**70), "", "-7"]
    assert trace.events["track"].to_list() == [0, 0, 1, 2, 3, 3, 4, 5]


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (7, 7),
        ("7", 7),
        (-1, -1),
        (2**63 - 1, 2**63 - 1),
        (2**63, None),
        (1.5, None),
        (None, None),
        ("x", None),
    ],
)
def test_numbers_among_args_are_whole_or_unknown(tmp_path: Path, value: object, number: int | None) -> None:
    trace = read(tmp_path, [bar("a"), bar("b", args={"size(B)": value}), bar("c", args={"size(B)": 3})])
    assert trace.events["bytes"].to_list() == [None, number, 3]


def test_the_physical_stream_counts_before_the_logical_one(tmp_path: Path) -> None:
    args = [
        {"Stream Id": 1},
        {"Physic Stream Id": 2, "Stream Id": 1},
        {"Physic Stream Id": None, "Stream Id": 3},
        {},
    ]
    trace = read(tmp_path, [bar("a", args=one) for one in args])
    assert trace.events["stream_id"].to_list() == [1, 2, 3, None]


def test_input_dims_may_be_lists(tmp_path: Path) -> None:
    dims: list[Any] = ["2,3;4", [[2, 3], [], ["a"]], None, 5]
    trace = read(tmp_path, [bar("a", args={"Input Dims": one}) for one in dims])
    assert trace.events["input_dims"].to_list() == ["2,3;4", '[[2,3],[],["a"]]', None, None]


def test_durations_may_be_text(tmp_path: Path) -> None:
    durations: list[Any] = ["1.0005", 2, " 3 ", 0.0015, "1e-3", "7e15", "-1", "soon"]
    trace = read(tmp_path, [bar("a", dur=one) for one in durations])
    assert trace.events["duration_ns"].to_list() == [1000, 2000, 3000, 2, 1]
    assert {fault.kind for fault in trace.quality.faults} == {"absurd_dur", "negative_dur", "no_dur"}


def test_the_earliest_example_is_shown_however_a_bar_is_too_far(tmp_path: Path) -> None:
    near = [bar("near", at) for at in range(3)]
    far, beyond = bar("far") | {"ts": 5}, bar("beyond") | {"ts": 9 * 10**15}
    for first, second in ((far, beyond), (beyond, far)):
        trace = read(tmp_path, [*near, first, second, *near])
        (fault,) = trace.quality.faults
        assert (fault.kind, fault.count, fault.number) == ("off_axis", 2, 3)
        assert fault.example == first["name"]


def test_a_day_from_the_median_is_still_on_the_axis(tmp_path: Path) -> None:
    day = 86_400_000_000
    trace = read(tmp_path, [bar("a"), bar("b", day), bar("c", -day), bar("d", day + 1), bar("e", -day - 1)])
    assert trace.events["name"].to_list() == ["a", "b", "c"]


def test_the_sum_of_all_durations_fits_64_bits() -> None:
    count = 200_000
    start = pl.Series([0] * count).to_numpy()
    duration = pl.Series([86_400 * 10**9] * (count - 1) + [5]).to_numpy()
    why = misplaced(start, duration)
    assert why is not None
    assert (why == 1).sum() == count - 1
    assert duration[why == 0].sum() == 5


@pytest.mark.parametrize(
    ("ident", "text"),
    [
        (7, "7"),
        ("7", "7"),
        (2**70, str(2**70)),
        ('a"b\\c\n\u4e2d', 'a"b\\c\n\u4e2d'),
        ("", ""),
        ("null", "null"),
        (None, None),
        (1.50, "1.5"),
        ([1, "\n"], '[1, "\\n"]'),
    ],
)
def test_ids_of_arrows_are_text_as_written(tmp_path: Path, ident: object, text: str | None) -> None:
    ends = [end("s", "before", cat="k"), end("s", ident, cat="k"), end("s", "after", cat="k")]
    trace = read(tmp_path, ends)
    assert trace.flows["id"].to_list() == ["before", text, "after"]


def test_an_id_over_several_lines_is_one_id(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([end("s", [1, {"a": 2}]), end("s", "after")], indent=1))
    assert read_parts([path], root=tmp_path).flows["id"].to_list()[1] == "after"


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"cat": "async_npu", "name": "torch_to_npu"}, "async_npu"),
        ({"cat": "acl_to_npu", "name": "acl_to_npu"}, "HostToDevice"),
        ({"name": "HostToDevice17179869184"}, "HostToDevice"),
        ({"name": "MsTx_12"}, "MsTx"),
        ({"name": None}, None),
    ],
)
def test_the_kind_of_an_arrow_is_its_category_else_its_name_without_the_id(
    tmp_path: Path, fields: dict[str, Any], kind: str | None
) -> None:
    assert read(tmp_path, [end("s", 1, **fields)]).flows["kind"].to_list() == [kind]


def test_steps_of_arrows_are_only_counted(tmp_path: Path) -> None:
    trace = read(tmp_path, [end("s", 1), end("t", 1), end("f", 1), end("s", 2) | {"ts": None}])
    assert trace.flows.height == 1
    assert trace.quality.by_phase == {"f": 1, "s": 2, "t": 1}


@pytest.mark.parametrize("content", ['{"a": 1,\n "traceEvents": 5}', '\n\n"text"', "\n\n[}"[:2] + "x"])
def test_the_line_is_named_where_a_file_turns_out_to_be_no_trace(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(UnreadableFileError) as error:
        read_parts([path], root=tmp_path)
    assert error.value.line == content.count("\n") + 1
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="No such file"):
        read_parts([tmp_path / "a.json"], root=tmp_path)


def test_progress_grows_to_the_size_of_all_slices(tmp_path: Path) -> None:
    paths = [tmp_path / "0.json", tmp_path / "1.json"]
    for path in paths:
        path.write_text(json.dumps([bar("a", at) for at in range(2000)]))
    seen: list[int] = []
    read_parts(paths, root=tmp_path, advance=seen.append, chunk_bytes=1000)
    assert seen == sorted(seen)
    assert seen[0] < seen[-1] == sum(path.stat().st_size for path in paths)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_what_progress_raises_stops_the_work(tmp_path: Path, at: int) -> None:
    path = tmp_path / "0.json"
    path.write_text(json.dumps([bar("a", at) for at in range(5000)]))
    calls: list[int] = []

    def advance(done: int) -> None:
        calls.append(done)
        if len(calls) > at:
            raise CancelledError

    with pytest.raises(CancelledError):
        read_parts([path], root=tmp_path, advance=advance, chunk_bytes=500)
    assert len(calls) == at + 1


def test_a_file_that_goes_away_while_it_is_read_is_no_bug(tmp_path: Path) -> None:
    """What is open is read to its end."""
    path = tmp_path / "trace_view.json"
    path.write_text(json.dumps([bar(f"n{at}", at) for at in range(50)]))
    trace = read_parts([path], root=tmp_path, advance=lambda _: path.unlink(missing_ok=True), chunk_bytes=64)
    assert trace.events.height == 50


def test_a_file_that_is_gone_before_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="No such file"):
        read_parts([tmp_path / "gone.json"], root=tmp_path)
