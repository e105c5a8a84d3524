"""Several processes read what one reads, whatever happens to them."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from analysis.errors import CancelledError
from analysis.trace.ingest import read_parts
from analysis.trace.workers import plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from analysis.trace.model import Trace

ROOT = Path(__file__).resolve().parents[3]
BASE = 1_736_408_883_704_643


def events(count: int) -> list[dict[str, Any]]:
    """Bars, arrows and metadata on several threads, with look-alikes of borders in texts and args."""
    found: list[dict[str, Any]] = []
    for at in range(count):
        place = {"pid": at % 3, "tid": f"t{at % 5}", "ts": f"{BASE + at}.{at % 1000:03d}"}
        args = {"connection_id": at, "list": [{"ph": "X"}, {"ph": "X", "name": "inner"}]}
        found.append({"ph": "X", "name": f'n{at % 50}"}}, {{"ph": "X"', "dur": 1.5, "args": args} | place)
        found.append({"ph": "sf"[at % 2], "cat": f"k{at % 7}", "id": at // 2, "name": f"k{at}"} | place)
    found.append({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "late"}})
    return found


def write(folder: Path, text: str) -> Path:
    path = folder / "trace_view.json"
    path.write_text(text)
    return path


def read(
    path: Path,
    jobs: int,
    chunk_bytes: int = 2000,
    advance: Callable[[int], None] = lambda _: None,
) -> Trace:
    return read_parts(
        [path], root=path.parent, jobs=jobs, chunk_bytes=chunk_bytes, parallel_bytes=0, advance=advance
    )


def assert_equal(one: Trace, other: Trace) -> None:
    for name in ("events", "tracks", "flows"):
        assert getattr(one, name).equals(getattr(other, name)), name
    assert one.quality == other.quality
    assert one.base_ns == other.base_ns


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("workers"), json.dumps(events(3000), indent=1))


@pytest.fixture(scope="module")
def expected(healthy: Path) -> Trace:
    trace = read(healthy, 1)
    assert trace.events.height == 3000
    return trace


@pytest.mark.parametrize("jobs", [2, 3])
def test_several_processes_read_what_one_reads(healthy: Path, expected: Trace, jobs: int) -> None:
    assert_equal(read(healthy, jobs), expected)


def test_a_wrapped_and_damaged_file_is_read_the_same(tmp_path: Path) -> None:
    listed = (
        json.dumps(events(600)).replace('"n7', '"n\x017').replace('"n9\\"', '"n9"').replace("1.5", "NaN", 3)
    )
    path = write(tmp_path, '{"traceEvents": ' + listed + ', "baseTimeNanoseconds": 77}')
    alone = read(path, 1)
    assert alone.base_ns == 77
    assert {"control_bytes", "not_a_number", "unreadable_event"} <= {one.kind for one in alone.quality.faults}
    assert_equal(read(path, 3), alone)


def test_a_cut_file_is_read_the_same(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps(events(600))[:-700])
    alone = read(path, 1)
    assert alone.quality.lost_bytes > 0
    assert_equal(read(path, 3), alone)


def test_a_start_assumed_inside_an_event_is_found_out(tmp_path: Path) -> None:
    inner = [{"ph": "X", "name": f"inner{at}", "ts": 1, "dur": 1} for at in range(500)]
    outer = {"ph": "X", "name": "outer", "pid": 1, "tid": 1, "ts": BASE, "dur": 1, "args": {"list": inner}}
    listed = [*events(20), outer, *events(20)]
    path = write(tmp_path, json.dumps(listed))
    tasks = plan(path, 0, 1, 3, wrapped=False)
    text = path.read_text()
    assert text[tasks[1].start :].startswith('{"ph": "X", "name": "inner')
    alone = read(path, 1)
    assert alone.events.height == 41
    assert_equal(read(path, 3), alone)


@pytest.mark.parametrize("victims", [1, 2])
def test_workers_that_are_killed_lose_nothing(healthy: Path, expected: Trace, victims: int) -> None:
    killed: list[int] = []

    def advance(done: int) -> None:
        if not killed:
            for child in multiprocessing.active_children()[:victims]:
                assert child.pid is not None
                os.kill(child.pid, signal.SIGKILL)
                killed.append(child.pid)

    assert_equal(read(healthy, 2, advance=advance), expected)
    assert len(killed) == victims


def test_no_worker_is_left_after_a_cancel(healthy: Path) -> None:
    seen: list[int] = []

    def advance(done: int) -> None:
        seen.extend(child.pid or 0 for child in multiprocessing.active_children())
        if seen:
            raise CancelledError

    with pytest.raises(CancelledError):
        read(healthy, 2, 200, advance)
    assert len(seen) == 2
    assert not multiprocessing.active_children()


def test_workers_load_neither_polars_nor_the_program() -> None:
    code = (
        "import sys, analysis.trace.workers\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('polars', 'recui', 'textual')])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_script_that_reads_is_not_run_again_by_workers(healthy: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nprint('running')\n"
        "from pathlib import Path\nfrom analysis.trace.ingest import read_parts\n"
        f"path = Path({str(healthy)!r})\n"
        "print(read_parts([path], root=path, jobs=2, parallel_bytes=0).events.height)\n"
        "print(__file__ == sys.argv[0])\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["running", "3000", "True"]


def test_workers_end_when_their_parent_is_killed(healthy: Path) -> None:
    code = (
        "import multiprocessing, os, signal, sys\nfrom pathlib import Path\n"
        "from analysis.trace.ingest import read_parts\n"
        "def advance(done):\n"
        "    children = multiprocessing.active_children()\n"
        "    if children:\n"
        "        print(*(child.pid for child in children), flush=True)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        f"path = Path({str(healthy)!r})\n"
        "read_parts([path], root=path, jobs=2, parallel_bytes=0, chunk_bytes=200, advance=advance)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    # The pipe of their output closes only when the last of them is gone, and run() waits for that.
    assert done.returncode == -signal.SIGKILL
    assert len(done.stdout.split()) == 2
