"""Pane 3: calls by level, verdicts, what is missing."""

from __future__ import annotations

from tests.analysis.report_fixtures import empty_source, full_source
from tests.widgets.pane_app import do, settle, shown, text_of
from widgets.host import HostPane
from widgets.messages import catalogue


def pane(language: str = "en") -> HostPane:
    return HostPane(catalogue(language))


async def test_lists_are_counted_in_their_tabs() -> None:
    async with shown(pane(), full_source()) as (_, pilot):
        assert "top calls 3  watched 1  one-off 1  all 3" in text_of(pilot)


async def test_verdicts_stand_above_the_lists_with_their_marks() -> None:
    async with shown(pane(), full_source()) as (_, pilot):
        lines = text_of(pilot).splitlines()
        assert lines[0] == " ! stream syncs: 11.0 per iteration, 2.00 ms"
        assert lines[1] == " ? launches: 500 per iteration, 18.0 us each, 9.00 ms"


async def test_verdicts_follow_the_language() -> None:
    async with shown(pane(), full_source()) as (host, pilot):
        host.relabel(catalogue("zh"))
        await settle(pilot)
        assert "流同步" in text_of(pilot).splitlines()[0]


async def test_detail_says_that_levels_are_not_added() -> None:
    async with shown(pane(), full_source(), size=(80, 40)) as (host, pilot):
        await do(pilot, host, "detail_down", "detail_down", "detail_down")
        assert "Levels are nested views of the same time" in text_of(pilot)


async def test_unknown_level_is_shown_as_it_is() -> None:
    async with shown(pane(), full_source()) as (host, pilot):
        table = host.table()
        assert table is not None
        table.action_move_last()
        await settle(pilot)
        assert "odd" in text_of(pilot)


async def test_views_turn_round() -> None:
    async with shown(pane(), full_source()) as (host, pilot):
        seen = []
        for _ in range(4):
            await do(pilot, host, "next_view")
            seen.append(host.trail()[-1])
        assert seen == ["watched", "one-off", "all", "top calls"]


async def test_calls_open_nothing() -> None:
    async with shown(pane(), full_source()) as (host, _):
        assert not host.allows("open_row")


async def test_missing_file_is_named() -> None:
    async with shown(pane(), empty_source()) as (host, pilot):
        assert "This list needs api_statistic" in text_of(pilot)
        assert host.table() is None
