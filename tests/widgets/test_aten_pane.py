"""Pane 5: all host operators of a step as one tree."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest

from analysis.notes import Missing
from tests.widgets.pane_app import do, settle, shown, text_of
from tests.widgets.simulated import simulated
from widgets.aten import AtenPane
from widgets.messages import catalogue
from widgets.tree_table import TreeTable

WIDE = (220, 50)


def pane(language: str = "en") -> AtenPane:
    return AtenPane(catalogue(language))


def tree_of(aten: AtenPane) -> TreeTable:
    table = aten.table()
    assert isinstance(table, TreeTable)
    return table


async def test_children_stand_by_total_time() -> None:
    async with shown(pane(), simulated()) as (aten, _):
        rows = tree_of(aten).rows
        assert rows is not None
        totals = rows.nodes["total_ns"].gather(rows.children_of(0)).to_list()
        assert len(totals) > 5
        assert totals == sorted(totals, reverse=True)


async def test_columns_lead_with_the_times() -> None:
    async with shown(pane(), simulated()) as (aten, _):
        keys = [column.key for column in tree_of(aten).shown_columns]
        assert keys[:6] == ["name", "total_ns", "self_ns", "calls", "calls_per_step", "avg_ns"]


async def test_longest_call_is_shown_only_where_it_stands_out() -> None:
    async with shown(pane(), simulated()) as (aten, _):
        rows = tree_of(aten).rows
        assert rows is not None
        shown_max = rows.nodes.filter(pl.col("notable_max_ns").is_not_null())
        hidden = rows.nodes.filter(pl.col("notable_max_ns").is_null(), pl.col("max_ns").is_not_null())
        assert (shown_max["max_ns"] > 3 * shown_max["avg_ns"]).all()
        assert (hidden["max_ns"] <= 3 * hidden["avg_ns"]).all()
        assert hidden.height


async def test_mean_has_batch_indices_as_one_name() -> None:
    async with shown(pane(), simulated()) as (_, pilot):
        assert "## forward {i} ##" in text_of(pilot)


async def test_step_has_the_numbers_of_that_step_and_keeps_the_node() -> None:
    async with shown(pane(), simulated()) as (aten, pilot):
        table = tree_of(aten)
        table.set_filter("## forward")
        table.next_match()
        table.set_filter("")
        mean = table.highlighted_row or {}
        assert mean["name"] == "## forward {i} ##"
        await do(pilot, aten, "next_step")
        step = table.highlighted_row or {}
        assert step["name"] == "## forward {i} ##"
        assert (mean["calls"], step["calls"]) == (3, 1)
        assert aten.step == 20


async def test_node_opens_its_occurrences_in_all_steps() -> None:
    async with shown(pane(), simulated()) as (aten, pilot):
        table = tree_of(aten)
        table.set_filter("## forward")
        table.next_match()
        await do(pilot, aten, "open_row")
        occurrences = aten.table()
        assert occurrences is not None
        assert occurrences.row_count == 3
        assert aten.trail()[-1] == "## forward {i} ##"


async def test_root_opens_no_occurrences() -> None:
    async with shown(pane(), simulated()) as (aten, _):
        assert not aten.allows("open_row")


async def test_bottleneck_has_its_star_and_its_reason() -> None:
    async with shown(pane(), simulated(), size=WIDE) as (aten, pilot):
        table = tree_of(aten)
        table.set_filter("aten::item")
        table.next_match()
        await settle(pilot)
        assert "aten::item ★" in text_of(pilot)
        assert "★ it waits until the device is done" in text_of(pilot)


@pytest.mark.parametrize(("language", "words"), [("en", "operator tree"), ("zh", "算子树")])
async def test_words_follow_the_language(language: str, words: str) -> None:
    async with shown(pane(), simulated()) as (aten, pilot):
        aten.relabel(catalogue(language))
        await settle(pilot)
        assert aten.trail()[-1] == words
        assert "## forward {i} ##" in text_of(pilot)


async def test_without_phases_the_pane_says_what_is_missing() -> None:
    source = SimpleNamespace(phases=Missing(("trace_view",), "trace"))
    async with shown(pane(), source) as (aten, pilot):
        assert "Not recorded in this capture." in text_of(pilot)
        assert aten.table() is None
