"""The cache of traces: what was stored comes back, and whatever happens to it, nothing wrong does."""

from __future__ import annotations

import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analysis.errors import CancelledError
from analysis.profile.discover import SourceFile
from analysis.trace import cache, packed
from analysis.trace.cache import CacheInfo, cached, clear, identity, info, load, store
from analysis.trace.model import CHUNKS, EVENTS, FLOWS, TRACKS, Fault, Quality, Trace

ROOT = Path(__file__).parents[3]
NAMES = ("aten::mm", "Node@launch", "[red]\u202e", "\x01", 'a"b', "")


def made_trace(bars: int = 1000, start: int = 7) -> Trace:
    """A trace of made-up bars with every kind of value: nulls, huge numbers, odd names."""
    at = pl.Series(range(bars), dtype=pl.Int64)
    events = pl.select(
        number=(at * 2).cast(pl.UInt32),
        track=(at % 3).cast(pl.UInt32),
        name=pl.Series([NAMES[n % len(NAMES)] for n in range(bars)], dtype=pl.Categorical()),
        cat=pl.Series(["cpu_op" if n % 2 else None for n in range(bars)], dtype=pl.Categorical()),
        start_ns=at * 1000 + 1_736_408_883_704_643_212 + start,
        duration_ns=at % 977,
        connection_id=pl.Series([2**62 + n if n % 5 else None for n in range(bars)], dtype=pl.Int64),
        correlation_id=at,
        task_type=pl.Series([f"T{n % 7}" for n in range(bars)], dtype=pl.Categorical()),
        stream_id=pl.Series([None] * bars, dtype=pl.Int64),
        operation=pl.Series([None] * bars, dtype=pl.Categorical()),
        bytes=at,
        item_id=pl.Series([f"kernel {n}" for n in range(bars)], dtype=pl.Categorical()),
        input_dims=pl.Series(["1,2;\r\n3" if n % 2 else '"' for n in range(bars)], dtype=pl.Categorical()),
    ).select(pl.col(name).cast(dtype) for name, dtype in EVENTS.items())
    tracks = pl.DataFrame(
        [
            [0, "1", "2", "Python", None, "CPU", None, "python_main", 3],
            [1, None, "", "", "é", "NPU 0", 0, "other", 0],
        ],
        schema=TRACKS,
        orient="row",
    )
    flows = pl.DataFrame(
        [["HostToDevice", str(2**70), 0, None], ["async_npu", "1", None, 1]], schema=FLOWS, orient="row"
    )
    chunks = pl.DataFrame([[0, 1, 2**40, 0]], schema=CHUNKS, orient="row")
    faults = (Fault("no_ts", 3, "\udcff[b]", 5, lost=True), Fault("cut", 1, "", None, lost=True))
    return Trace(events, tracks, flows, chunks, Quality(bars, {"X": bars, "": 1}, faults, 17), 99)


def assert_same(one: Trace | None, other: Trace) -> None:
    assert one is not None
    for name in ("events", "tracks", "flows", "chunks"):
        assert_frame_equal(getattr(one, name), getattr(other, name))
    assert (one.quality, one.base_ns) == (other.quality, other.base_ns)


@pytest.fixture
def source(tmp_path: Path) -> SourceFile:
    """A file of 4 MiB, large enough to be kept."""
    return written(tmp_path / "trace_view.json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "traces"


def written(*paths: Path, size: int = 4 << 20) -> SourceFile:
    for seed, path in enumerate(paths):
        path.write_bytes(random.Random(seed).randbytes(size))
    return SourceFile("trace_view", paths)


def entry_of(folder: Path) -> Path:
    (entry,) = folder.iterdir()
    return entry


def forbid_writing(folder: Path) -> None:
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write anywhere")


def change_byte(path: Path, at: int) -> None:
    """Another byte at this place, with size and time of change as before."""
    status = path.stat()
    with path.open("r+b") as file:
        file.seek(at)
        old = file.read(1)
        file.seek(at)
        file.write(bytes([old[0] ^ 1]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


# -------------------------------------------------------------------------------- there and back


def test_a_stored_trace_comes_back_as_it_was(folder, source):
    store(folder, source, made_trace())
    assert_same(load(folder, source), made_trace())


def test_a_trace_without_any_event_comes_back(folder, source):
    events, tracks, flows, chunks = (pl.DataFrame(schema=s) for s in (EVENTS, TRACKS, FLOWS, CHUNKS))
    empty = Trace(events, tracks, flows, chunks, Quality(0, {}, (), 0))
    store(folder, source, empty)
    assert_same(load(folder, source), empty)


def test_a_trace_of_several_pieces_comes_back_in_order(folder, source, monkeypatch):
    monkeypatch.setattr(packed, "_PART_ROWS", 300)
    store(folder, source, made_trace(1000))
    assert_same(load(folder, source), made_trace(1000))


def test_nothing_is_loaded_from_a_folder_that_is_not_there(folder, source):
    assert load(folder, source) is None
    assert not folder.exists()


def test_files_and_folder_are_the_owners_alone(folder, source):
    old = os.umask(0)
    try:
        store(folder, source, made_trace())
    finally:
        os.umask(old)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(entry_of(folder).stat().st_mode) == 0o600


def test_an_open_folder_is_closed_before_anything_is_kept_there(folder, source):
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    store(folder, source, made_trace())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_small_file_is_not_kept(folder, tmp_path):
    small = written(tmp_path / "small.json", size=cache.SMALLEST_SOURCE - 1)
    store(folder, small, made_trace())
    assert info(folder) == CacheInfo(folder, 0, 0)


# ------------------------------------------------------------------------------------ another file


@pytest.mark.parametrize("at", [0, 2 << 20, (4 << 20) - 1])
def test_another_content_of_one_size_and_time_is_another_file(at, folder, source):
    store(folder, source, made_trace())
    change_byte(source.parts[0], at)
    assert load(folder, source) is None


def test_a_change_between_the_samples_with_its_time_put_back_is_another_file(folder, source):
    (part,) = source.parts
    with part.open("r+b") as file:
        file.truncate(9 << 20)
    before = part.stat()
    store(folder, source, made_trace())
    with part.open("r+b") as file:
        file.seek(2 << 20)
        file.write(b"other")
    os.utime(part, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert load(folder, source) is None


def test_another_time_of_change_is_another_file(folder, source):
    store(folder, source, made_trace())
    status = source.parts[0].stat()
    os.utime(source.parts[0], ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert load(folder, source) is None


def test_a_changed_file_takes_the_place_of_the_old_one(folder, source):
    store(folder, source, made_trace(start=1))
    written(*source.parts, size=5 << 20)
    store(folder, source, made_trace(start=2))
    assert_same(load(folder, source), made_trace(start=2))
    assert info(folder).entries == 1


def test_a_copy_elsewhere_is_another_file(folder, source, tmp_path):
    store(folder, source, made_trace())
    copy = tmp_path / "copy.json"
    shutil.copy2(source.parts[0], copy)
    assert load(folder, SourceFile("trace_view", (copy,))) is None


def test_a_link_is_the_file_it_leads_to(folder, source, tmp_path):
    store(folder, source, made_trace())
    link = tmp_path / "link.json"
    link.symlink_to(source.parts[0])
    assert_same(load(folder, SourceFile("trace_view", (link,))), made_trace())


def test_all_slices_count(folder, tmp_path):
    first, second = tmp_path / "slice_0.json", tmp_path / "slice_1.json"
    both = written(first, second)
    store(folder, both, made_trace())
    assert load(folder, SourceFile("trace_view", (first,))) is None
    assert load(folder, SourceFile("trace_view", (second, first))) is None
    assert_same(load(folder, both), made_trace())
    change_byte(second, 0)
    assert load(folder, both) is None


def test_another_version_reads_nothing_of_this_one(folder, source, monkeypatch):
    store(folder, source, made_trace())
    monkeypatch.setattr(packed, "VERSION", packed.VERSION + 1)
    assert load(folder, source) is None


def test_another_set_of_columns_reads_nothing_of_this_one(folder, source, monkeypatch):
    store(folder, source, made_trace())
    monkeypatch.setitem(packed._FRAMES, "events", EVENTS | {"flops": pl.Int64()})
    assert load(folder, source) is None


def test_a_file_that_changes_while_it_is_read_is_not_kept(folder, source):
    def read() -> Trace:
        change_byte(source.parts[0], 0)
        return made_trace()

    assert_same(cached(folder, source, read), made_trace())
    assert load(folder, source) is None


def test_a_file_that_vanished_is_no_error(folder, source):
    source.parts[0].unlink()
    store(folder, source, made_trace())
    assert load(folder, source) is None
    assert identity(source) is None


# -------------------------------------------------------------------------------------- damage


def test_every_cut_of_an_entry_is_turned_down(folder, source):
    store(folder, source, made_trace(50))
    entry = entry_of(folder)
    whole = entry.read_bytes()
    for length in {*range(0, len(whole), 101), len(whole) - 1}:
        entry.write_bytes(whole[:length])
        assert load(folder, source) is None, length
    entry.write_bytes(whole + b"\0")
    assert load(folder, source) is None
    entry.write_bytes(whole)
    assert_same(load(folder, source), made_trace(50))


def test_any_other_byte_in_an_entry_is_turned_down(folder, source):
    store(folder, source, made_trace(50))
    entry = entry_of(folder)
    for at in range(0, entry.stat().st_size, 53):
        change_byte(entry, at)
        assert load(folder, source) is None, at
        change_byte(entry, at)


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"recui trace\0", b"\0" * 5000], ids=["empty", "parquet", "head", "zeros"]
)
def test_a_foreign_entry_is_turned_down_and_replaced(content, folder, source):
    store(folder, source, made_trace())
    entry_of(folder).write_bytes(content)
    assert load(folder, source) is None
    store(folder, source, made_trace())
    assert_same(load(folder, source), made_trace())


def test_an_entry_with_a_frame_of_other_columns_is_turned_down(folder, source):
    trace = made_trace()
    store(folder, source, replace(trace, events=trace.events.drop("bytes")))
    assert entry_of(folder).is_file()
    assert load(folder, source) is None


def test_an_entry_in_a_folder_that_others_may_write_is_turned_down(folder, source):
    store(folder, source, made_trace())
    folder.chmod(0o722)
    assert load(folder, source) is None


def test_a_pipe_or_a_link_in_place_of_an_entry_is_turned_down(folder, source, tmp_path):
    store(folder, source, made_trace())
    entry = entry_of(folder)
    entry.rename(tmp_path / "moved")
    entry.symlink_to(tmp_path / "moved")
    assert load(folder, source) is None
    entry.unlink()
    os.mkfifo(entry)
    assert load(folder, source) is None


def test_a_directory_in_place_of_an_entry_is_no_error(folder, source):
    store(folder, source, made_trace())
    entry = entry_of(folder)
    entry.unlink()
    (entry / "inside").mkdir(parents=True)
    store(folder, source, made_trace())
    assert load(folder, source) is None
    assert list(folder.iterdir()) == [entry]


def test_a_file_in_place_of_the_folder_is_no_error(folder, source):
    folder.parent.mkdir(parents=True)
    folder.write_text("here")
    store(folder, source, made_trace())
    assert load(folder, source) is None
    assert info(folder) == clear(folder) == CacheInfo(folder, 0, 0)
    assert folder.read_text() == "here"


def test_a_read_only_folder_is_read_and_not_written(folder, source, tmp_path):
    store(folder, source, made_trace())
    forbid_writing(folder)
    other = written(tmp_path / "other.json")
    store(folder, other, made_trace())
    try:
        assert_same(load(folder, source), made_trace())
        assert load(folder, other) is None
        assert info(folder).entries == 1
    finally:
        folder.chmod(0o700)


def test_a_folder_that_cannot_be_made_is_no_error(folder, source):
    folder.parent.mkdir(parents=True)
    forbid_writing(folder.parent)
    store(folder, source, made_trace())
    assert load(folder, source) is None


def test_a_full_disk_leaves_the_folder_as_it_was(folder, source):
    """A limit on the size of files stands for the full disk: writing fails in the middle."""
    code = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "from tests.analysis.trace.test_cache import *\n"
        "store(Path(sys.argv[1]), SourceFile('trace_view', (Path(sys.argv[2]),)), made_trace(100_000))\n"
    )
    store(folder, source, made_trace())
    done = python(code, folder, source.parts[0])
    assert done.returncode == 0, done.stderr
    assert_same(load(folder, source), made_trace())
    assert len(list(folder.iterdir())) == 1


# ------------------------------------------------------------------------------------ bounded size


def test_entries_not_used_for_longest_go_first(folder, tmp_path, monkeypatch):
    sources = [written(tmp_path / f"{n}.json") for n in range(4)]
    for at, each in enumerate(sources[:3]):
        store(folder, each, made_trace())
        os.utime(folder / cache._name(each), (1000 + at, 1000 + at))
    size = info(folder).bytes // 3
    assert load(folder, sources[0]) is not None
    monkeypatch.setattr(cache, "LARGEST", 3 * size + size // 2)
    store(folder, sources[3], made_trace())
    assert [load(folder, each) is not None for each in sources] == [True, False, True, True]


def test_a_trace_larger_than_the_whole_cache_is_not_kept(folder, source, tmp_path, monkeypatch):
    store(folder, source, made_trace(10))
    monkeypatch.setattr(cache, "LARGEST", info(folder).bytes + 100)
    other = written(tmp_path / "other.json")
    store(folder, other, made_trace(20_000))
    assert load(folder, other) is None
    assert_same(load(folder, source), made_trace(10))


def test_a_disk_that_is_nearly_full_is_left_alone(folder, source, monkeypatch):
    folder.mkdir(parents=True)
    usage = shutil.disk_usage(folder)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10_000))
    store(folder, source, made_trace())
    assert list(folder.iterdir()) == []


def test_leftovers_go_at_the_next_writing_and_foreign_files_stay(folder, source):
    folder.mkdir(parents=True)
    leftover = folder / f".{'0' * 32}.{'a' * 16}.tmp"
    leftover.write_bytes(packed.MAGIC + b"half")
    foreign = [folder / "notes.txt", folder / f".{'1' * 32}.{'b' * 16}.tmp", folder / f"{'2' * 32}.trace"]
    for path in foreign:
        path.write_text("mine")
    store(folder, source, made_trace())
    assert set(folder.iterdir()) == {*foreign, folder / cache._name(source)}


def test_what_is_being_written_is_no_leftover(folder, source, tmp_path):
    store(folder, source, made_trace())
    other = written(tmp_path / "other.json")

    def meanwhile() -> None:
        if threading.current_thread().name == "writer" and not reached.is_set():
            reached.set()
            go_on.wait(20)

    reached, go_on = threading.Event(), threading.Event()
    arguments = (folder, other, made_trace())
    writer = threading.Thread(target=store, args=arguments, kwargs={"check": meanwhile}, name="writer")
    writer.start()
    assert reached.wait(20)
    store(folder, source, made_trace(20))
    clear(folder)
    go_on.set()
    writer.join()
    assert_same(load(folder, other), made_trace())


def test_info_counts_entries_and_all_bytes(folder, tmp_path):
    for name in ("a.json", "b.json"):
        store(folder, written(tmp_path / name), made_trace())
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert info(folder) == CacheInfo(folder, 2, size)


def test_clear_removes_what_recui_wrote_and_nothing_else(folder, source):
    store(folder, source, made_trace())
    held = info(folder)
    note, same_name = folder / "note", folder / f"{'f' * 32}.trace"
    note.write_text("mine")
    same_name.write_text("mine too")
    assert clear(folder) == held
    assert set(folder.iterdir()) == {note, same_name}
    assert info(folder) == CacheInfo(folder, 0, 0)


# ------------------------------------------------------------------------------------------ use


def test_a_second_reading_comes_from_the_cache(folder, source):
    first = cached(folder, source, lambda: made_trace(start=1))
    assert_same(cached(folder, source, lambda: made_trace(start=2)), first)


def test_without_a_folder_every_reading_is_a_reading(source, tmp_path):
    before = set(tmp_path.rglob("*"))
    cached(None, source, lambda: made_trace(start=1))
    assert_same(cached(None, source, lambda: made_trace(start=2)), made_trace(start=2))
    assert set(tmp_path.rglob("*")) == before


def test_a_stop_while_storing_comes_through_and_leaves_nothing(folder, source):
    def stop() -> None:
        raise CancelledError

    with pytest.raises(CancelledError):
        store(folder, source, made_trace(), check=stop)
    assert list(folder.iterdir()) == []


# ------------------------------------------------------------------------------- many at one time


def python(code: str, *arguments: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "POLARS_MAX_THREADS": "1"},
    )


WRITER = (
    "from tests.analysis.trace.test_cache import *\n"
    "folder, source = Path(sys.argv[1]), SourceFile('trace_view', (Path(sys.argv[2]),))\n"
    "trace = made_trace(int(sys.argv[3]))\n"
    "print('ready', flush=True)\n"
    "for _ in range(int(sys.argv[4])):\n"
    "    store(folder, source, trace)\n"
)


def writer(folder: Path, source: SourceFile, bars: int, times: int) -> subprocess.Popen[str]:
    """A process that stores one made-up trace again and again; it is at it when this returns."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), str(source.parts[0]), str(bars), str(times)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "POLARS_MAX_THREADS": "1"},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_two_processes_may_store_one_trace_at_once(folder, source):
    processes = [writer(folder, source, 3000, 20) for _ in range(2)]
    while any(process.poll() is None for process in processes):
        found = load(folder, source)
        if found is not None:
            assert_same(found, made_trace(3000))
    assert [process.wait() for process in processes] == [0, 0]
    assert_same(load(folder, source), made_trace(3000))
    assert len(list(folder.iterdir())) == 1


def test_killing_the_writer_at_any_moment_leaves_a_usable_cache(folder, source, tmp_path):
    """Real kills at random moments of storing a trace again and again, some hundredths of a second each."""
    bars, moments = 60_000, random.Random(1)
    expected = made_trace(bars)
    small = written(tmp_path / "small.json")
    leftovers = 0
    for _ in range(16):
        process = writer(folder, source, bars, 1_000_000)
        time.sleep(moments.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = load(folder, source)
        if found is not None:
            assert_same(found, expected)
        files = list(folder.iterdir()) if folder.exists() else []
        leftovers += sum(path.suffix == ".tmp" for path in files)
        # At most an entry of either trace and what this one process was writing.
        assert len(files) <= 3
        if moments.random() < 0.5:
            store(folder, small, made_trace(10))
            assert {path.suffix for path in folder.iterdir()} == {".trace"}
            assert_same(load(folder, small), made_trace(10))
    assert leftovers > 0, "no kill hit the writing: the test shows nothing"
    store(folder, source, expected)
    assert_same(load(folder, source), expected)
    assert {path.suffix for path in folder.iterdir()} == {".trace"}
