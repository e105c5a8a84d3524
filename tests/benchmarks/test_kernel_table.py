"""How long a million kernels take, against a plain pass of Python's csv over the same file."""

from __future__ import annotations

import csv
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks.big_kernels import write_kernels

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 1_000_000
RUNS = 3


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("big") / "host_1_20260101000000000_ascend_pt"
    output = folder / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    write_kernels(output / "kernel_details.csv", ROWS)
    return folder


# A process takes over the peak memory of the one it was forked from, and pytest's may be large by now; so
# a small process in between starts the command and measures it.
LAUNCHER = """
import os, subprocess, sys, time
began = time.perf_counter()
process = subprocess.Popen([sys.executable, "-m", "recui", *sys.argv[1:]], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(time.perf_counter() - began, usage.ru_maxrss * 1024, status)
"""


def run(*arguments: str) -> tuple[float, int]:
    """Seconds and peak RSS in bytes of one command."""
    command = [sys.executable, "-c", LAUNCHER, *arguments]
    seconds, memory, status = subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout.split()
    assert int(status) == 0
    return float(seconds), int(memory)


def plain_csv(file: Path) -> float:
    began = time.perf_counter()
    with file.open(newline="") as text:
        assert sum(1 for _ in csv.reader(text)) == ROWS + 1
    return time.perf_counter() - began


@pytest.mark.benchmark
def test_export_of_a_million_kernels(profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = profile / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    plain = statistics.median(plain_csv(file) for _ in range(RUNS))
    runs = [run("export", str(profile), "-o", "-", "--format", "json") for _ in range(RUNS)]
    seconds = statistics.median(seconds for seconds, _ in runs)
    memory = max(memory for _, memory in runs)
    size = file.stat().st_size
    with capsys.disabled():
        print(  # noqa: T201 - the figures are what a benchmark is for
            f"\nexport of {ROWS:,} kernels ({size / 1e6:.0f} MB): {seconds:.2f} s, "
            f"{seconds / plain:.2f} x csv.reader ({plain:.2f} s), peak RSS {memory / size:.2f} x the file"
        )
