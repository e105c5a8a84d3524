"""Pane 3: framework operators, calls by level, copies, verdicts, the text of an event, what is missing."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from threading import Event
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import widgets.trace_levels
from analysis.host import Verdict
from analysis.host_operators import HostOperators
from analysis.notes import Missing
from tests.analysis.report_fixtures import empty_source, full_source, ge_source, kineto_source
from tests.widgets.pane_app import do, settle, shown, text_of, with_kernels
from widgets.detail import Detail
from widgets.frame_table import Sort
from widgets.host import HostPane
from widgets.messages import catalogue

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = pl.DataFrame({"step": [10, 11], "start_ns": [1_000_000, 1_500_000]})
EVENT: dict[str, object] = {
    "name": "op[red]|\u202e",
    "ts": "12.001",
    "dur": Decimal("1.230"),
    "args": {"id": 36893488147419103232},
}


def pane(language: str = "en") -> HostPane:
    return HostPane(catalogue(language))


async def test_lists_are_counted_in_their_tabs() -> None:
    async with shown(pane(), full_source()) as (_, pilot):
        assert "framework operators 1  top calls 3  watched 1  one-off 1  all 3  copies 2" in text_of(pilot)


async def test_verdicts_stand_above_the_lists_with_their_marks() -> None:
    async with shown(pane(), full_source()) as (_, pilot):
        lines = text_of(pilot).splitlines()
        assert lines[0] == " ! stream syncs: 11/step, 2.00 ms   ? launches: 500/step, 18.0 us each"


async def test_inference_counts_in_iterations() -> None:
    async with shown(pane(), ge_source()) as (_, pilot):
        assert "/iteration" in text_of(pilot).splitlines()[0]


async def test_verdicts_on_framework_operators_share_lines() -> None:
    async with shown(pane(), full_source()) as (_, pilot):
        lines = text_of(pilot).splitlines()
        assert lines[1] == " ! aten::copy_: 501/step, 50.0 us   · aten::to: 2/step, 4.00 us"
        assert lines[2] == " · aten::_to_copy: none"


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", " ? aten::copy_: 18 in the whole trace, 488 us"),
        ("zh", " ? aten::copy_：整个 trace 18 次，488 us"),
    ],
)
async def test_verdict_without_steps_is_one_of_the_whole_trace(language: str, said: str) -> None:
    source = full_source()
    assert isinstance(source.host_operators, HostOperators)
    verdict = Verdict("aten_copy_", "trace", 18.0, 488_000, 27_111, flagged=None)
    operators = replace(source.host_operators, steps=None, verdicts=(verdict,))
    async with shown(pane(language), replace(source, host_operators=operators)) as (_, pilot):
        assert said in text_of(pilot)


async def test_wide_screens_need_fewer_lines_for_the_verdicts() -> None:
    async with shown(pane(), full_source(), size=(140, 40)) as (_, pilot):
        lines = text_of(pilot).splitlines()
        assert "stream syncs" in lines[0]
        assert "launches" in lines[0]
        assert "aten::copy_" in lines[0]
        assert "aten::to:" in lines[0]
        assert "aten::_to_copy" in lines[1]


async def test_verdicts_follow_the_language() -> None:
    async with shown(pane(), full_source()) as (host, pilot):
        host.relabel(catalogue("zh"))
        await settle(pilot)
        assert "流同步" in text_of(pilot).splitlines()[0]


async def test_detail_says_that_levels_are_not_added() -> None:
    async with shown(pane(), full_source(), size=(80, 40)) as (host, pilot):
        await do(pilot, host, "next_view", "detail_down", "detail_down", "detail_down")
        assert "Levels are nested views of the same time" in text_of(pilot)


async def test_unknown_level_is_shown_as_it_is() -> None:
    async with shown(pane(), full_source()) as (host, pilot):
        await do(pilot, host, "next_view")
        table = host.table()
        assert table is not None
        table.action_move_last()
        await settle(pilot)
        assert "odd" in text_of(pilot)


async def test_views_turn_round() -> None:
    async with shown(pane(), full_source()) as (host, pilot):
        seen = []
        for _ in range(6):
            await do(pilot, host, "next_view")
            seen.append(host.trail()[-1])
        assert seen == ["top calls", "watched", "one-off", "all", "copies", "framework operators"]


async def test_calls_open_nothing() -> None:
    async with shown(pane(), full_source()) as (host, pilot):
        await do(pilot, host, "next_view")
        assert not host.allows("open_row")


async def test_missing_file_is_named() -> None:
    async with shown(pane(), empty_source()) as (host, pilot):
        assert "This list needs api_statistic" in text_of(pilot)
        assert host.table() is None


async def test_without_framework_operators_the_calls_come_first() -> None:
    async with shown(pane(), ge_source()) as (host, pilot):
        assert host.trail()[-1] == "top calls"
        assert "all 3  framework operators  copies" in text_of(pilot)


async def test_gpu_trace_fills_the_pane_without_api_statistic() -> None:
    async with shown(pane(), kineto_source()) as (host, pilot):
        assert host.trail()[-1] == "framework operators"
        assert "aten::mm" in text_of(pilot)
        await do(pilot, host, "next_view")
        assert "This list needs api_statistic" in text_of(pilot)


async def test_empty_list_of_copies_says_that_the_trace_shows_none() -> None:
    async with shown(pane(), kineto_source()) as (host, pilot):
        await do(pilot, host, "previous_view")
        assert "synchronous copies leave no bar" in text_of(pilot)


# ------------------------------------------------------------------ drill-down


def traced(read: Callable[..., object], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The full capture over a trace of ten bars, whose text ``read`` gives."""
    monkeypatch.setattr(widgets.trace_levels, "event_text", read)
    source = with_kernels(full_source("aten::copy_"), None)
    starts = [1_000_000 + 10_000 * row for row in range(10)]
    source.trace = SimpleNamespace(events=pl.DataFrame({"start_ns": starts, "number": range(20, 30)}))
    source.trace_steps = STEPS
    source.trace_source = object()
    return source


async def test_copies_that_a_cut_file_may_have_lost_are_told_as_that() -> None:
    cut = Missing(("trace_view",), "level1", lacks="copies", cut=True)
    async with shown(pane(), replace(full_source(), copies=cut), size=(140, 40)) as (host, pilot):
        host._show_view("copies")
        await settle(pilot)
        said = text_of(pilot)
        assert "which is cut short and may have lost them." in said
        assert "Collect with" not in said


async def test_operator_opens_its_calls_relative_to_their_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(pane(), traced(lambda *_: EVENT, monkeypatch)) as (host, pilot):
        await do(pilot, host, "open_row")
        rows = [line.split() for line in text_of(pilot).splitlines() if "Thread 1" in line]
        # Steps start at 1,000 and 1,500 us; the calls at 1,020, 1,300 and 1,507 us.
        assert [row[:3] for row in rows[:3]] == [
            ["▸", "10", "20.0"],
            ["10", "300", "us"],
            ["11", "7.00", "us"],
        ]
        assert host.trail()[-1] == "aten::copy_"


async def test_call_opens_every_field_of_its_event(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def read(_source: object, _trace: object, number: int) -> object:
        asked.append(number)
        return EVENT

    async with shown(pane(), traced(read, monkeypatch)) as (host, pilot):
        await do(pilot, host, "open_row", "open_row")
        text = text_of(pilot)
        assert asked == [25]
        assert "op[red]|\\u202e" in text
        assert "36893488147419103232" in text
        assert "1.230" in text
        assert host.trail()[-1] == "event"


async def test_event_of_a_changed_file_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(pane(), traced(lambda *_: None, monkeypatch)) as (host, pilot):
        await do(pilot, host, "open_row", "open_row")
        assert "The file has changed or is gone" in text_of(pilot)


STACK = "train.py(3): step;\x1b\r\nmodel.py(7): forward"


@pytest.mark.parametrize("column", [0, 1])
async def test_whole_value_of_a_field_is_its_text_whichever_column_is_selected(
    column: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = {"args": {"Call stack": STACK}}
    async with shown(pane(), traced(lambda *_: event, monkeypatch)) as (host, pilot):
        await do(pilot, host, "open_row", "open_row")
        table = host.table()
        assert table is not None
        table.cursor_column = column
        assert host.full_value() == "args.Call stack\ntrain.py(3): step;\\x1b\nmodel.py(7): forward"


async def test_copied_cell_of_a_text_keeps_its_line_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    event = {"args": {"Call stack": STACK}}
    async with shown(pane(), traced(lambda *_: event, monkeypatch)) as (host, pilot):
        await do(pilot, host, "open_row", "open_row")
        table = host.table()
        assert table is not None
        table.cursor_column = 1
        assert table.cell_text() == "train.py(3): step;\\x1b\nmodel.py(7): forward"


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_very_long_text_is_shown_in_part_and_copied_whole(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = {"args": {"Call stack": "x" * 5_000_000}}
    async with shown(pane(language), traced(lambda *_: event, monkeypatch)) as (host, pilot):
        await do(pilot, host, "open_row", "open_row")
        host.query_one(Detail).scroll_end(animate=False)
        await settle(pilot)
        assert "4,980,000" in text_of(pilot).splitlines()[-1]
        assert "4,980,000" in (host.full_value() or "").splitlines()[-1]
        table = host.table()
        assert table is not None
        table.cursor_column = 1
        assert len(table.cell_text()) == 5_000_000


@pytest.mark.parametrize(("language", "words"), [("en", "Reading …"), ("zh", "正在读取…")])
async def test_while_rows_are_read_the_sentence_names_no_kind_of_row(
    language: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = Event()

    def read(*_: object) -> object:
        wait.wait(10)
        return EVENT

    async with shown(pane(language), traced(read, monkeypatch)) as (host, pilot):
        await do(pilot, host, "open_row")
        host.perform("open_row")
        for _ in range(3):
            await pilot.pause()
        said = text_of(pilot)
        wait.set()
        await settle(pilot)
        assert words in [line.strip() for line in said.splitlines()]


async def test_operators_tell_what_a_step_takes_before_what_all_take() -> None:
    async with shown(pane(), full_source(), size=(160, 40)) as (host, _):
        table = host.table()
        assert table is not None
        assert [column.key for column in table.shown_columns][:10] == [
            "name",
            "self_per_step_ns",
            "per_step_ns",
            "calls_per_step",
            "avg_ns",
            "max_ns",
            "self_ns",
            "total_ns",
            "share",
            "group",
        ]
        assert table.sort == Sort("self_per_step_ns", descending=True)


async def test_operators_without_steps_lead_with_self_and_total() -> None:
    source = full_source()
    assert isinstance(source.host_operators, HostOperators)
    of_steps = ("self_per_step_ns", "per_step_ns", "calls_per_step", "share")
    by_name = source.host_operators.by_name.with_columns(pl.lit(None).alias(key) for key in of_steps)
    operators = replace(source.host_operators, by_name=by_name, steps=None)
    async with shown(pane(), replace(source, host_operators=operators)) as (host, _):
        table = host.table()
        assert table is not None
        assert [column.key for column in table.shown_columns][:3] == ["name", "self_ns", "total_ns"]
        assert table.sort == Sort("self_ns", descending=True)


async def test_copies_open_every_copy_of_a_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(pane(), traced(lambda *_: EVENT, monkeypatch)) as (host, pilot):
        await do(pilot, host, "previous_view", "open_row")
        table = host.table()
        assert table is not None
        assert table.row_count == 2
        assert host.trail()[-2:] == ("copies", "H2D (to device)")
        assert "100 us" in text_of(pilot)
        assert "5.00 MB" in text_of(pilot)


async def test_story_of_a_direction_tells_each_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(pane(), traced(lambda *_: EVENT, monkeypatch), size=(140, 40)) as (host, pilot):
        await do(pilot, host, "previous_view")
        assert "Iteration 10:  Count 1  Time 50.0 us" in text_of(pilot)


async def test_without_the_trace_operators_open_nothing() -> None:
    async with shown(pane(), full_source()) as (host, _):
        assert not host.allows("open_row")
