"""How long the second opening of a trace takes, against the first."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import pytest

from analysis.profile.discover import SourceFile
from analysis.trace.cache import cached, clear, info
from analysis.trace.ingest import read_trace
from tests.benchmarks.big_traces import write_trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from analysis.trace.model import Trace

SIZE = 200_000_000
RUNS = 3
SECOND_OF_FIRST = 0.10
"""Spec N2."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> SourceFile:
    path = tmp_path_factory.mktemp("big") / "trace_view.json"
    write_trace(path, SIZE)
    return SourceFile("trace_view", (path,))


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@pytest.mark.benchmark
def test_second_opening(source: SourceFile, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "traces"
    first, second = [], []

    def anew() -> Trace:
        return read_trace(source, root=source.parts[0].parent)

    def known() -> Trace:
        raise AssertionError

    for _ in range(RUNS):
        clear(folder)
        first.append(timed(lambda: cached(folder, source, anew)))
        second.append(timed(lambda: cached(folder, source, known)))
    share = statistics.median(second) / statistics.median(first)
    kept = info(folder).bytes / source.size
    with capsys.disabled():
        print(  # noqa: T201 - the figures are what a benchmark is for
            f"\nopening a trace of {source.size / 1e6:.0f} MB: first {statistics.median(first):.2f} s, "
            f"second {statistics.median(second):.3f} s "
            f"({share:.1%}); entry {kept:.1%} of the file"
        )
    assert share <= SECOND_OF_FIRST
