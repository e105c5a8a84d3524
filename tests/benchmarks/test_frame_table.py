"""How long the table widget takes from a key to the finished paint, over a million kernels."""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import TYPE_CHECKING

import pytest
from textual.app import App, ComposeResult

from analysis.executions import KernelSelection, executions
from analysis.profile.discover import SourceFile
from analysis.profile.tables import read_table
from analysis.report.tables import EXECUTIONS
from tests.benchmarks.big_kernels import write_kernels
from widgets.frame_table import FrameTable

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    from textual.pilot import Pilot

ROWS = 1_000_000
RUNS = 5


class TableApp(App[None]):
    def compose(self) -> ComposeResult:
        yield FrameTable(EXECUTIONS)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    file = tmp_path_factory.mktemp("big") / "kernel_details.csv"
    write_kernels(file, ROWS)
    table = read_table("kernels", SourceFile("kernel_details", (file,)), root=file.parent)
    return executions(table.frame, KernelSelection())


async def painted(pilot: Pilot[None]) -> None:
    done = asyncio.Event()
    pilot.app.screen.call_after_refresh(done.set)
    await done.wait()
    pilot.app.screen._compositor.render_strips()


async def milliseconds(pilot: Pilot[None], act: Callable[[int], object]) -> float:
    """Median time from the call to the finished paint."""
    times = []
    for turn in range(RUNS):
        began = time.perf_counter()
        act(turn)
        await painted(pilot)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


@pytest.mark.benchmark
async def test_a_million_rows_on_screen(kernels: pl.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    began = time.perf_counter()
    kernels.sort("duration_ns")
    polars_sort = (time.perf_counter() - began) * 1000
    app = TableApp()
    async with app.run_test(size=(140, 40)) as pilot:
        table = app.query_one(FrameTable)
        table.focus()
        table.set_frame(kernels)
        await painted(pilot)
        ends = (table.action_move_last, table.action_move_first)
        figures = {
            "jump to an end": await milliseconds(pilot, lambda turn: ends[turn % 2]()),
            "page down": await milliseconds(pilot, lambda _: table.action_move_page(1)),
            "sort by duration": await milliseconds(
                pilot, lambda turn: table.sort_by("duration_ns", descending=turn % 2 == 0)
            ),
            "sort by shapes": await milliseconds(
                pilot, lambda turn: table.sort_by("input_shapes", descending=turn % 2 == 0)
            ),
            "filter": await milliseconds(pilot, lambda turn: table.set_filter(("512", "1024")[turn % 2])),
        }
    with capsys.disabled():
        print()  # noqa: T201 - the figures are what a benchmark is for
        for name, value in figures.items():
            print(  # noqa: T201
                f"{name}: {value:.0f} ms, {value / polars_sort:.2f} x a polars sort of the frame"
            )
