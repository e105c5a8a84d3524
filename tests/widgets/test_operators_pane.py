"""Pane 2: lists, stories, the way down to the kernels and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from analysis.notes import Missing
from tests.analysis.report_fixtures import Source, empty_source, full_source, level0_source
from tests.widgets.pane_app import do, settle, shown, text_of, with_kernels
from widgets.messages import catalogue
from widgets.operators import OperatorsPane

RATIOS = [
    f"{core}_{unit}_ratio"
    for core, units in (("aic", "mac vec scalar mte1 mte2 mte3"), ("aiv", "vec scalar mte1 mte2 mte3"))
    for unit in units.split()
]


def kernels(*rows: dict[str, Any]) -> pl.DataFrame:
    """Averaged kernels; each row is a MatMulV2 of 2 us unless it says otherwise."""
    base = {
        "row": 0,
        "step": 10,
        "name": "MatMulV2",
        "op_type": "MatMulV2",
        "core_type": "MIX_AIC",
        "stream": "3",
        "start_ns": 1_000,
        "duration_ns": 2_000,
        "wait_ns": 10,
        "block_num": 24,
        "input_shapes": "4096,512;512,1024",
        "input_dtypes": "FLOAT16;FLOAT16",
        "output_shapes": "4096,512;512,1024",
        "role": "compute",
        "cube_utilization_pct": 0.5,
        "mix_block_num": None,
        **dict.fromkeys(RATIOS, 0.5),
    }
    frame = pl.DataFrame([{**base, "row": number, **row} for number, row in enumerate(rows)])
    texts = [
        "name",
        "op_type",
        "core_type",
        "stream",
        "input_shapes",
        "input_dtypes",
        "output_shapes",
        "role",
    ]
    return frame.with_columns(pl.col(texts).cast(pl.Categorical), pl.col("row").cast(pl.UInt32))


FOUR = kernels(
    {"start_ns": 5_000},
    {"start_ns": 1_000},
    {"start_ns": 3_000, "input_shapes": "1,1"},
    {"start_ns": 2_000, "op_type": "Add", "name": "Add"},
)


def pane(language: str = "en") -> OperatorsPane:
    return OperatorsPane(catalogue(language))


def source(of: Source | None = None) -> Any:
    return with_kernels(of or full_source(), FOUR)


async def test_lists_are_counted_in_their_tabs() -> None:
    async with shown(pane(), source()) as (_, pilot):
        assert "by type 1  by shape 1  problems 3  by core 1  communication 1" in text_of(pilot)


async def test_detail_tells_the_shape_groups_of_the_type() -> None:
    async with shown(pane(), source()) as (_, pilot):
        text = text_of(pilot)
        assert "MatMulV2 · MIX_AIC · shape groups: 1" in text
        assert "4 x 2.50 us  FLOAT16  4096,512;512,1024" in text
        assert "AIC scalar 50.0 %" in text


async def test_type_opens_shapes_and_shapes_open_kernels_by_start() -> None:
    async with shown(pane(), source()) as (operators, pilot):
        await do(pilot, operators, "open_row")
        assert operators.trail() == ("Operators", "by type", "MatMulV2 MIX_AIC")
        await do(pilot, operators, "open_row")
        table = operators.table()
        assert table is not None
        # Two kernels have the shapes of the row, at 1 and at 5 us.
        assert table.row_count == 2
        assert table.highlighted_row is not None
        assert table.highlighted_row["start_ns"] == 1_000


async def test_problem_opens_only_kernels_that_have_it() -> None:
    healthy = dict.fromkeys(RATIOS, 0.1)
    some = kernels({"start_ns": 1}, {"start_ns": 2, **healthy})
    async with shown(pane(), with_kernels(full_source(), some)) as (operators, pilot):
        operators.go_to("problems", "aic_scalar")
        await settle(pilot)
        await do(pilot, operators, "open_row")
        table = operators.table()
        assert table is not None
        assert table.row_count == 1


async def test_problem_is_found_by_its_words_in_any_language() -> None:
    for language in ("en", "zh"):
        async with shown(pane(language), source()) as (operators, pilot):
            operators.go_to("problems", "ai_cpu")
            await settle(pilot)
            table = operators.table()
            assert table is not None
            assert table.match_count == 1


async def test_back_drops_the_filter_before_it_leaves_the_level() -> None:
    async with shown(pane(), source()) as (operators, pilot):
        await do(pilot, operators, "open_row")
        operators.go_to("type", "nothing like it")
        await settle(pilot)
        table = operators.table()
        assert table is not None
        assert table.match_count == 0
        operators.go_back()
        await settle(pilot)
        assert table.match_count == 1


async def test_every_list_keeps_its_own_place() -> None:
    async with shown(pane(), source()) as (operators, pilot):
        await do(pilot, operators, "open_row", "next_view")
        assert operators.trail() == ("Operators", "by shape")
        await do(pilot, operators, "previous_view")
        assert operators.trail() == ("Operators", "by type", "MatMulV2 MIX_AIC")


async def test_executions_cannot_be_opened_further() -> None:
    async with shown(pane(), source()) as (operators, pilot):
        await do(pilot, operators, "open_row", "open_row")
        assert not operators.allows("open_row")


async def test_without_types_the_first_list_is_the_one_by_name() -> None:
    async with shown(pane(), source(level0_source())) as (operators, pilot):
        assert operators.trail() == ("Operators", "by shape")
        table = operators.table()
        assert table is not None
        assert table.shown_columns[0].key == "name"
        assert "MatMul_12" in text_of(pilot)


async def test_missing_list_names_file_and_setting() -> None:
    async with shown(pane(), source(level0_source())) as (operators, pilot):
        operators.go_to("problems", None)
        await settle(pilot)
        text = text_of(pilot)
        assert "This list needs op_statistic" in text
        assert "profiler_level=Level1" in text


async def test_unreadable_file_is_not_called_missing() -> None:
    async with shown(pane(), source(empty_source())) as (operators, pilot):
        assert "could not be read" in text_of(pilot)
        assert not operators.allows("sort")


async def test_types_of_op_statistic_alone_show_their_numbers_and_open_nothing() -> None:
    base = full_source()
    assert not isinstance(base.operators, Missing)
    absent = Missing(("kernel_details",), "level1")
    operators_only = replace(
        base, operators=replace(base.operators, top=absent, shapes=absent, problems=absent)
    )
    async with shown(pane(), with_kernels(operators_only, absent)) as (operators, pilot):
        assert "10.000" in text_of(pilot)
        assert not operators.allows("open_row")


async def test_language_switch_keeps_view_level_and_row() -> None:
    async with shown(pane(), source()) as (operators, pilot):
        await do(pilot, operators, "open_row")
        before = operators.table()
        operators.relabel(catalogue("zh"))
        await settle(pilot)
        assert operators.table() is before
        assert operators.trail() == ("算子", "按类型", "MatMulV2 MIX_AIC")
        assert "按形状" in text_of(pilot)


@pytest.mark.parametrize("name", ["a[red]b", "x\x1b[31my", "\u202egnp"])
async def test_names_are_shown_and_never_act(name: str) -> None:
    async with shown(pane(), source(full_source(name))) as (_, pilot):
        text = text_of(pilot)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "a[red]b" in text or "\\x1b" in text or "\\u202e" in text
