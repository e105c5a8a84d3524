"""How long and how much memory a trace takes to become columns, against orjson on the same file.

Every run is a process of its own: what an earlier one left behind must count for nothing.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks.big_traces import write_trace

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.benchmark

ROOT = Path(__file__).resolve().parents[2]
SMALL, LARGE = 200_000_000, 1_000_000_000
RUNS = 3
SMALL_OF_ORJSON, LARGE_OF_ORJSON = 0.7, 0.75
LARGE_OF_SMALL = 7
TWO_OF_ONE = 0.75
SHARE_OF_FILE, BESIDES = 0.4, 250_000_000
"""Spec N1: peak memory of loading a trace, workers included."""
CANCEL_SECONDS = 0.3

READ = """
import sys, time
from pathlib import Path
from analysis.profile.discover import SourceFile
from analysis.trace.ingest import read_trace
path, jobs = Path(sys.argv[1]), int(sys.argv[2])
began = time.perf_counter()
read_trace(SourceFile("trace_view", (path,)), root=path.parent, jobs=jobs)
print(time.perf_counter() - began)
"""

ORJSON = """
import sys, time
import orjson
text = open(sys.argv[1], "rb").read()
began = time.perf_counter()
orjson.loads(text)
print(time.perf_counter() - began)
"""

CANCEL = """
import sys, time
from pathlib import Path
from analysis.errors import CancelledError
from analysis.profile.discover import SourceFile
from analysis.trace.ingest import read_trace
path, jobs, calls = Path(sys.argv[1]), int(sys.argv[2]), [time.perf_counter()]
def advance(done):
    calls.append(time.perf_counter())
    if done > path.stat().st_size * float(sys.argv[3]):
        raise CancelledError
try:
    read_trace(SourceFile("trace_view", (path,)), root=path.parent, jobs=jobs, advance=advance)
    calls.append(calls[-1])
except CancelledError:
    pass
ended = time.perf_counter()
# A wish to stop comes at the worst just after a call: it waits for the next one, then for the end.
print(max(after - before for before, after in zip(calls, calls[1:])) + ended - calls[-1])
"""

# A process takes over the peak memory of the one it was forked from, so a small one in between starts the
# command; it adds up what all processes below it hold.
LAUNCHER = """
import json, subprocess, sys, time
import psutil
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
parent, most = psutil.Process(process.pid), 0
while process.poll() is None:
    held = 0
    try:
        family = [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        family = []
    for one in family:
        try:
            held += one.memory_info().rss
        except psutil.NoSuchProcess:
            pass
    most = max(most, held)
    time.sleep(0.01)
print(json.dumps([float(process.stdout.read()), most]))
sys.exit(process.returncode)
"""


@dataclass(frozen=True, slots=True)
class Runs:
    """Median time and highest memory of some runs."""

    seconds: float
    memory: int


def run(code: str, *arguments: object) -> tuple[float, int]:
    """The seconds a script prints, and the memory it and its workers held at most."""
    command = [sys.executable, "-c", LAUNCHER, sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    seconds, memory = json.loads(done.stdout)
    return seconds, memory


def alternating(*works: Callable[[], tuple[float, int]]) -> list[Runs]:
    """Runs of several works in turn, so that a busy minute of the machine meets all of them."""
    found = [[work() for work in works] for _ in range(RUNS)]
    return [
        Runs(statistics.median(seconds for seconds, _ in of), max(memory for _, memory in of))
        for of in zip(*found, strict=True)
    ]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("small") / "trace_view.json"
    write_trace(path, SMALL)
    return path


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "trace_view.json"
    write_trace(path, LARGE)
    return path


def bound(path: Path) -> float:
    return SHARE_OF_FILE * path.stat().st_size + BESIDES


def test_200_megabytes(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own, orjson = alternating(lambda: run(READ, small, 1), lambda: run(ORJSON, small))
    with capsys.disabled():
        print(  # noqa: T201 - the figures are what a benchmark is for
            f"\ntrace of {small.stat().st_size / 1e6:.0f} MB: {own.seconds:.2f} s, "
            f"{own.seconds / orjson.seconds:.2f} x orjson ({orjson.seconds:.2f} s), "
            f"peak {own.memory / 1e6:.0f} MB of {bound(small) / 1e6:.0f}"
        )
    assert own.seconds <= SMALL_OF_ORJSON * orjson.seconds
    assert own.memory <= bound(small)


def test_a_gigabyte(small: Path, large: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few, one, two, orjson = alternating(
        lambda: run(READ, small, 1),
        lambda: run(READ, large, 1),
        lambda: run(READ, large, 2),
        lambda: run(ORJSON, large),
    )
    with capsys.disabled():
        print(  # noqa: T201
            f"\ntrace of {large.stat().st_size / 1e6:.0f} MB: {one.seconds:.2f} s, "
            f"{one.seconds / few.seconds:.2f} x that of 200 MB, "
            f"{one.seconds / orjson.seconds:.2f} x orjson ({orjson.seconds:.2f} s), "
            f"peak {one.memory / 1e6:.0f} MB of {bound(large) / 1e6:.0f}; "
            f"two processes {two.seconds:.2f} s, {two.seconds / one.seconds:.2f} x one, "
            f"peak {two.memory / 1e6:.0f} MB"
        )
    assert one.seconds <= LARGE_OF_SMALL * few.seconds
    assert one.seconds <= LARGE_OF_ORJSON * orjson.seconds
    assert two.seconds <= TWO_OF_ONE * one.seconds
    assert max(one.memory, two.memory) <= bound(large)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("share", [0.3, 0.999])
def test_cancel(large: Path, share: float, jobs: int, capsys: pytest.CaptureFixture[str]) -> None:
    seconds = statistics.median(run(CANCEL, large, jobs, share)[0] for _ in range(RUNS))
    with capsys.disabled():
        print(f"\ncancel at {share:.1%} with {jobs} processes: {seconds:.3f} s")  # noqa: T201
    assert seconds <= CANCEL_SECONDS
