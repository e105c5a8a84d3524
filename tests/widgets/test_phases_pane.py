"""Pane 4: phases, call tree, steps, waits, asynchrony, the way down to an event, the choice of a step."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from analysis.notes import Missing
from analysis.phases.model import ROWS
from tests.widgets.pane_app import do, settle, shown, text_of
from tests.widgets.simulated import simulated
from widgets.detail import Detail
from widgets.messages import catalogue
from widgets.phases import PhasesPane
from widgets.tree_table import TreeTable

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from analysis.phases.results import Phases
    from widgets.frame_table import FrameTable
    from widgets.level import Level

WIDE = (220, 50)


def pane(language: str = "en") -> PhasesPane:
    return PhasesPane(catalogue(language))


def phases() -> Phases:
    found = simulated().phases
    assert not isinstance(found, Missing)
    return found


def table_of(phases_pane: PhasesPane) -> FrameTable:
    table = phases_pane.table()
    assert table is not None
    return table


def tree_of(phases_pane: PhasesPane) -> TreeTable:
    table = phases_pane.table()
    assert isinstance(table, TreeTable)
    return table


def select(table: FrameTable, wanted: str) -> None:
    """Put the cursor on the first row in view with these words in its name."""
    for place in range(table.match_count):
        table.cursor_row = place
        row = table.highlighted_row
        if row is not None and wanted in str(row.get("name") or row.get("phase") or row.get("subject")):
            return
    raise AssertionError(wanted)


async def unfold(pilot: Pilot[None], phases_pane: PhasesPane) -> None:
    """Show the whole story."""
    phases_pane.query_one(Detail).styles.height = 30
    await settle(pilot)


async def test_seven_rows_with_letters_stand_in_their_order() -> None:
    async with shown(pane(), simulated()) as (_, pilot):
        lines = [line[2:].split("  ")[0] for line in text_of(pilot).splitlines()]
        words = [
            "P data preprocessing",
            "L embedding lookup",
            "F forward",
            "B backward",
            "E embedding update",
            "D dense update",
            "· unclassified",
        ]
        first = lines.index(words[0])
        assert lines[first : first + 7] == words


async def test_step_line_tells_mean_number_and_unclassified_share() -> None:
    async with shown(pane(), simulated()) as (_, pilot):
        assert text_of(pilot).splitlines()[0].startswith(" mean of 3 steps  ◂  ▸  host ")
        assert "unclass. " in text_of(pilot).splitlines()[0]


async def test_keys_go_from_the_mean_through_the_steps_and_round() -> None:
    async with shown(pane(), simulated()) as (phases_pane, pilot):
        seen = []
        for action in ("next_step", "next_step", "next_step", "next_step", "previous_step"):
            await do(pilot, phases_pane, action)
            seen.append(phases_pane.step)
        assert seen == [20, 21, 22, None, 22]


async def test_rows_are_those_of_the_step_in_view() -> None:
    by_step = phases().times.by_step
    async with shown(pane(), simulated()) as (phases_pane, pilot):
        await do(pilot, phases_pane, "next_step", "next_step")
        table = table_of(phases_pane)
        seen = []
        for place in range(7):
            table.cursor_row = place
            seen.append((table.highlighted_row or {})["attributed_ns"])
        assert seen == by_step.filter(pl.col("step") == 21)["attributed_ns"].to_list()


async def test_low_confidence_is_told_with_its_reason() -> None:
    assert phases().times.confidence == "low"
    async with shown(pane(), simulated()) as (_, pilot):
        assert "! confidence low: " in text_of(pilot).splitlines()[1]


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", ("waits 1.", "fused in backward")), ("zh", ("等待 1.", "融合在反向中"))],
)
async def test_remarks_name_waits_and_the_fused_update(language: str, words: tuple[str, ...]) -> None:
    async with shown(pane(language), simulated(), size=WIDE) as (_, pilot):
        assert [word for word in words if word not in text_of(pilot)] == []


async def test_remarks_follow_the_language() -> None:
    async with shown(pane(), simulated(), size=WIDE) as (phases_pane, pilot):
        await do(pilot, phases_pane, "next_step")
        phases_pane.relabel(catalogue("zh"))
        await settle(pilot)
        assert "融合在反向中" in text_of(pilot)
        assert "fused in backward" not in text_of(pilot)
        assert phases_pane.step == 20


async def test_story_of_a_phase_names_waits_verdict_and_heaviest_names() -> None:
    async with shown(pane(), simulated(), size=WIDE) as (phases_pane, pilot):
        select(table_of(phases_pane), "embedding_lookup")
        await unfold(pilot, phases_pane)
        text = text_of(pilot)
        assert "in ## wait_sparse_data_dist {i} ##" in text
        assert "async (streams) (low confidence)" in text
        assert "Heaviest names by self time" in text


async def test_story_of_unclassified_splits_it() -> None:
    async with shown(pane(), simulated(), size=WIDE) as (phases_pane, pilot):
        table_of(phases_pane).action_move_last()
        await unfold(pilot, phases_pane)
        text = text_of(pilot)
        assert "blocked until the device is done" in text
        assert "inside ranges whose names say no phase" in text
        assert "no event (Python, or waiting for the GIL)" in text


async def test_phase_opens_the_parts_of_the_tree_that_belong_to_it() -> None:
    async with shown(pane(), simulated()) as (phases_pane, pilot):
        select(table_of(phases_pane), "embedding_lookup")
        await do(pilot, phases_pane, "open_row")
        table = tree_of(phases_pane)
        rows = table.rows
        assert rows is not None
        tops = rows.nodes.filter(pl.Series(rows.parent < 0))
        assert tops["phase"].unique().to_list() == ["embedding_lookup"]
        assert phases_pane.trail()[-1] == "L embedding lookup"


async def test_way_down_leads_from_a_phase_to_the_text_of_an_event() -> None:
    async with shown(pane(), simulated(), size=WIDE) as (phases_pane, pilot):
        select(table_of(phases_pane), "forward")
        await do(pilot, phases_pane, "open_row")
        tree = tree_of(phases_pane)
        tree.open_branches()
        select(tree, "aten::addmm")
        await do(pilot, phases_pane, "open_row")
        occurrences = table_of(phases_pane)
        assert occurrences.row_count == (tree.highlighted_row or {})["calls"]
        assert (occurrences.highlighted_row or {})["kernels"] > 0
        await do(pilot, phases_pane, "open_row")
        assert (table_of(phases_pane).highlighted_row or {})["task_type"] == "AI_CORE"
        await do(pilot, phases_pane, "open_row")
        fields = table_of(phases_pane)
        names = []
        for place in range(fields.row_count):
            fields.cursor_row = place
            names.append((fields.highlighted_row or {})["field"])
        assert {"name", "ts", "dur"} <= set(names)


async def test_occurrence_without_kernels_opens_its_own_event() -> None:
    async with shown(pane(), simulated()) as (phases_pane, pilot):
        await do(pilot, phases_pane, "next_view")
        select(table_of(phases_pane), "metrics.log_step")
        await do(pilot, phases_pane, "open_row", "open_row")
        assert phases_pane.trail()[-1] == "event"


async def test_node_tells_which_rule_gave_it_its_phase() -> None:
    async with shown(pane(), simulated(), size=WIDE) as (phases_pane, pilot):
        await do(pilot, phases_pane, "next_view")
        tree = tree_of(phases_pane)
        select(tree, "## forward")
        await settle(pilot)
        assert "why: rule torchrec.forward (anchored)" in text_of(pilot)
        tree.open_branches()
        select(tree, "aten::relu")
        await settle(pilot)
        assert "inherited from ## forward" in text_of(pilot)


async def test_tree_of_the_mean_says_which_step_it_is_of() -> None:
    async with shown(pane(), simulated()) as (phases_pane, pilot):
        assert "nearest to the mean" not in text_of(pilot)
        await do(pilot, phases_pane, "next_view")
        assert "nearest to the mean" in text_of(pilot)
        await do(pilot, phases_pane, "next_step")
        assert "nearest to the mean" not in text_of(pilot)


async def test_another_step_keeps_the_node_whose_batch_index_is_counted_on() -> None:
    async with shown(pane(), simulated()) as (phases_pane, pilot):
        await do(pilot, phases_pane, "next_view", "next_step")
        tree = tree_of(phases_pane)
        select(tree, "## forward 100 ##")
        tree.open_branches()
        await do(pilot, phases_pane, "next_step")
        assert (tree.highlighted_row or {})["name"] == "## forward 101 ##"
        assert tree.selected_node is not None
        assert tree.rows is not None
        assert tree.rows.is_open(tree.selected_node)


async def test_another_step_shows_what_was_opened_below_the_same_node() -> None:
    async with shown(pane(), simulated()) as (phases_pane, pilot):
        await do(pilot, phases_pane, "next_view")
        select(table_of(phases_pane), "metrics.log_step")
        await do(pilot, phases_pane, "open_row", "next_step", "next_step")
        assert phases_pane.trail() == ("Phases", "call tree", "metrics.log_step")
        assert (table_of(phases_pane).highlighted_row or {})["step"] == 21
        phases_pane.go_back()
        await settle(pilot)
        assert (tree_of(phases_pane).highlighted_row or {})["name"] == "metrics.log_step"


async def test_event_gives_way_to_the_calls_of_another_step() -> None:
    async with shown(pane(), simulated()) as (phases_pane, pilot):
        await do(pilot, phases_pane, "next_view")
        select(table_of(phases_pane), "metrics.log_step")
        await do(pilot, phases_pane, "open_row", "open_row", "next_step")
        assert phases_pane.trail() == ("Phases", "call tree", "metrics.log_step")


async def test_node_that_another_step_lacks_leads_to_the_nearest_above_it() -> None:
    async with shown(pane(), simulated()) as (phases_pane, pilot):
        await do(pilot, phases_pane, "next_view")
        tree = tree_of(phases_pane)
        select(tree, "metrics.log_step")
        await do(pilot, phases_pane, "open_row")
        levels = phases_pane._stacks["tree"]
        build = levels[0].level.again
        assert build is not None

        def without_it(step: int | None) -> Level | None:
            level = build(step)
            assert level is not None
            read = level.frame
            assert callable(read)

            def filtered() -> pl.DataFrame:
                nodes = read()
                assert not isinstance(nodes, Missing)
                return nodes.filter(pl.col("name") != "metrics.log_step")

            return replace(level, frame=filtered)

        levels[0].level = replace(levels[0].level, again=without_it)
        await do(pilot, phases_pane, "next_step")
        assert phases_pane.trail() == ("Phases", "call tree")
        assert (tree.highlighted_row or {})["name"].startswith("ProfilerStep#")


async def test_step_opened_from_the_list_is_the_one_of_all_lists_and_steps_on() -> None:
    async with shown(pane(), simulated()) as (phases_pane, pilot):
        await do(pilot, phases_pane, "next_view", "next_view")
        table_of(phases_pane).cursor_row = 1
        await do(pilot, phases_pane, "open_row")
        assert phases_pane.trail() == ("Phases", "steps", "step 21")
        assert "step 21 of 20–22" in text_of(pilot).splitlines()[0]
        await do(pilot, phases_pane, "next_step")
        assert phases_pane.trail() == ("Phases", "steps", "step 22")
        assert "step 22 of 20–22" in text_of(pilot).splitlines()[0]
        phases_pane.go_back()
        await settle(pilot)
        assert (table_of(phases_pane).highlighted_row or {})["step"] == 22


async def test_list_of_steps_names_no_other_step_than_its_cursor() -> None:
    async with shown(pane(), simulated()) as (phases_pane, pilot):
        await do(pilot, phases_pane, "next_step", "next_step", "next_view", "next_view")
        assert (table_of(phases_pane).highlighted_row or {})["step"] == 21
        assert "mean of 3 steps" in text_of(pilot).splitlines()[0]
        await pilot.press("k")
        await do(pilot, phases_pane, "next_step")
        assert (table_of(phases_pane).highlighted_row or {})["step"] == 21
        await do(pilot, phases_pane, "next_view")
        assert "step 21 of 20–22" in text_of(pilot).splitlines()[0]


async def test_wait_opens_its_occurrences_and_they_their_events() -> None:
    async with shown(pane(), simulated(), size=WIDE) as (phases_pane, pilot):
        await do(pilot, phases_pane, *["next_view"] * 3)
        table = table_of(phases_pane)
        select(table, "## wait_sparse_data_dist {i} ##")
        row = table.highlighted_row or {}
        await do(pilot, phases_pane, "open_row")
        frame = occurrences_in(phases_pane)
        assert len(frame) == row["count"]
        assert sum(stop["duration_ns"] for stop in frame) == row["total_ns"]
        assert {stop["step"] for stop in frame} == {20, 21, 22}
        assert [column.key for column in table_of(phases_pane).shown_columns][:3] == [
            "step",
            "offset_ns",
            "duration_ns",
        ]
        await do(pilot, phases_pane, "open_row")
        assert phases_pane.trail()[-1] == "event"


async def test_occurrences_of_a_wait_follow_the_step() -> None:
    async with shown(pane(), simulated()) as (phases_pane, pilot):
        await do(pilot, phases_pane, *["next_view"] * 3)
        select(table_of(phases_pane), "aten::item")
        await do(pilot, phases_pane, "open_row", "next_step")
        assert phases_pane.trail() == ("Phases", "waits", "aten::item")
        assert [stop["step"] for stop in occurrences_in(phases_pane)] == [20]


def occurrences_in(phases_pane: PhasesPane) -> list[dict[str, Any]]:
    table = table_of(phases_pane)
    rows = []
    for place in range(table.match_count):
        table.cursor_row = place
        rows.append(table.highlighted_row or {})
    table.cursor_row = 0
    return rows


async def test_pair_opens_the_names_of_both_phases_and_a_depth_what_it_was_read_from() -> None:
    async with shown(pane(), simulated()) as (phases_pane, pilot):
        await do(pilot, phases_pane, *["next_view"] * 4)
        await do(pilot, phases_pane, "open_row")
        phases_of = {row["phase"] for row in occurrences_in(phases_pane)}
        assert phases_of == {"data_preprocessing", "embedding_lookup"}
        phases_pane.go_back()
        await settle(pilot)
        select(table_of(phases_pane), "stage_data")
        await do(pilot, phases_pane, "open_row")
        assert [row["name"] for row in occurrences_in(phases_pane)] == ["## copy_batch_to_gpu {i} ##"]


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (80, 18), (100, 20)])
async def test_low_screens_keep_rows_before_story_and_hints(size: tuple[int, int]) -> None:
    async with shown(pane(), simulated(), size=size) as (phases_pane, pilot):
        for _ in range(5):
            assert table_of(phases_pane).size.height >= 5
            await do(pilot, phases_pane, "next_view")


async def test_story_returns_when_there_is_room() -> None:
    async with shown(pane(), simulated(), size=(60, 12)) as (phases_pane, pilot):
        story = phases_pane.query_one("#story")
        assert not story.display
        await pilot.resize_terminal(60, 30)
        await settle(pilot)
        assert story.display


async def test_wider_screens_never_show_fewer_columns() -> None:
    async with shown(pane(), simulated(), size=(60, 30)) as (phases_pane, pilot):
        seen: dict[tuple[str, ...], int] = {}
        for width in range(60, 161, 4):
            await pilot.resize_terminal(width, 30)
            for _ in range(5):
                await settle(pilot)
                table = table_of(phases_pane)
                columns = len(table.widths_within(table.size.width))
                trail = phases_pane.trail()
                assert columns >= seen.get(trail, 0), (width, trail)
                seen[trail] = columns
                await do(pilot, phases_pane, "next_view")


async def test_closed_row_tells_of_a_star_below_it() -> None:
    async with shown(pane(), simulated(), size=WIDE) as (phases_pane, pilot):
        await do(pilot, phases_pane, "next_view")
        tree = tree_of(phases_pane)
        tree.cursor_row = 0
        assert "☆" not in text_of(pilot).splitlines()[4]
        tree.action_close_branch()
        await settle(pilot)
        line = next(line for line in text_of(pilot).splitlines() if "ProfilerStep#" in line)
        assert "☆" in line
        assert "★ below this row" in text_of(pilot)


async def test_filter_of_the_tree_shows_ancestors_and_escape_drops_it() -> None:
    async with shown(pane(), simulated()) as (phases_pane, pilot):
        await do(pilot, phases_pane, "next_view")
        tree = tree_of(phases_pane)
        phases_pane.go_to("tree", "relu")
        await settle(pilot)
        names = []
        for place in range(tree.match_count):
            tree.cursor_row = place
            names.append((tree.highlighted_row or {})["name"])
        assert names[0].startswith("ProfilerStep#")
        assert names[1].startswith("## forward")
        assert "aten::relu" in names
        assert phases_pane.allows("next_match")
        phases_pane.go_back()
        await settle(pilot)
        assert tree.filter == ""


async def test_tree_keys_are_grey_elsewhere() -> None:
    async with shown(pane(), simulated()) as (phases_pane, pilot):
        keys = ("toggle_branch", "open_branches", "column_left", "column_right")
        assert [key for key in keys if phases_pane.allows(key)] == []
        await do(pilot, phases_pane, "next_view")
        assert [key for key in keys if not phases_pane.allows(key)] == []
        select(table_of(phases_pane), "metrics.log_step")
        assert not phases_pane.allows("toggle_branch")


async def test_steps_stand_side_by_side_and_open_their_tree() -> None:
    async with shown(pane(), simulated(), size=WIDE) as (phases_pane, pilot):
        await do(pilot, phases_pane, "next_view", "next_view")
        table = table_of(phases_pane)
        keys = [column.key for column in table.shown_columns]
        assert keys == [
            "step",
            "step_ns",
            *(f"{phase}_ns" for phase in ROWS),
            "waits_ns",
            "sync_anywhere_ns",
            "excluded",
        ]
        assert table.row_count == 3
        assert "Slowest: step" in text_of(pilot)
        table.cursor_row = 1
        await do(pilot, phases_pane, "open_row")
        assert (tree_of(phases_pane).highlighted_row or {})["name"] == "ProfilerStep#21"


async def test_what_blocks_longest_comes_first() -> None:
    async with shown(pane(), simulated(), size=WIDE) as (phases_pane, pilot):
        await do(pilot, phases_pane, *["next_view"] * 3)
        table = table_of(phases_pane)
        times = []
        for place in range(table.row_count):
            table.cursor_row = place
            times.append((table.highlighted_row or {})["per_step_ns"])
        waits = phases().waits
        blocking = pl.concat([waits.by_name["per_step_ns"], waits.device_syncs["per_step_ns"]])
        assert times == sorted(blocking, reverse=True)
        assert "L ## wait_sparse_data_dist {i} ##" in text_of(pilot)


async def test_waits_are_those_of_the_step_in_view() -> None:
    wanted = phases().waits.by_step.filter(pl.col("step") == 21)
    async with shown(pane(), simulated(), size=WIDE) as (phases_pane, pilot):
        await do(pilot, phases_pane, *["next_view"] * 3, "next_step", "next_step")
        row = table_of(phases_pane).highlighted_row or {}
        syncs = phases().waits.syncs_by_step.filter(pl.col("step") == 21)
        longest = pl.concat([wanted, syncs]).sort("total_ns", descending=True).row(0, named=True)
        assert (row["name"], row["per_step_ns"]) == (longest["name"], longest["total_ns"])


async def test_device_syncs_are_those_of_the_step_in_view() -> None:
    wanted = phases().waits.syncs_by_step.filter(pl.col("step") == 21).row(0, named=True)
    async with shown(pane(), simulated(), size=WIDE) as (phases_pane, pilot):
        await do(pilot, phases_pane, *["next_view"] * 3, "next_step", "next_step")
        table = table_of(phases_pane)
        found = []
        for place in range(table.row_count):
            table.cursor_row = place
            row = table.highlighted_row or {}
            found.append((row["blocking"], row["name"], row["per_step_ns"]))
        assert ("sync", wanted["name"], wanted["total_ns"]) in found


async def test_asynchrony_lists_pairs_prefetching_and_the_depth_of_stages() -> None:
    async with shown(pane(), simulated(), size=WIDE) as (phases_pane, pilot):
        await do(pilot, phases_pane, *["next_view"] * 4)
        table = table_of(phases_pane)
        assert table.row_count == 7
        assert "async (streams)" in text_of(pilot)
        select(table, "prefetch")
        await do(pilot, phases_pane, "open_row")
        assert table_of(phases_pane).row_count == phases().prefetch.events.height


@pytest.mark.parametrize(
    ("language", "words"), [("en", "Not recorded in this capture."), ("zh", "当前采集未记录")]
)
async def test_without_a_trace_the_pane_says_what_is_missing(language: str, words: str) -> None:
    source = SimpleNamespace(phases=Missing(("trace_view",), "trace"))
    async with shown(pane(language), source) as (phases_pane, pilot):
        assert words in text_of(pilot)
        assert phases_pane.table() is None
        actions = ("next_step", "next_view", "open_row", "filter", "back", "toggle_branch")
        assert [action for action in actions if phases_pane.allows(action)] == []
        phases_pane.relabel(catalogue("zh"))
        await settle(pilot)
        assert "当前采集未记录" in text_of(pilot)


async def test_click_on_the_arrow_goes_to_the_next_step() -> None:
    async with shown(pane(), simulated()) as (phases_pane, pilot):
        line = text_of(pilot).splitlines()[0]
        await pilot.click("#step", offset=(line.index("▸"), 0))
        await settle(pilot)
        assert phases_pane.step == 20


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("size", [(80, 24), (100, 30), (160, 45)])
async def test_no_line_is_wider_than_the_screen(language: str, size: tuple[int, int]) -> None:
    async with shown(pane(language), simulated(), size=size) as (phases_pane, pilot):
        for _ in range(5):
            await do(pilot, phases_pane, "next_view")
            strips: Any = pilot.app.screen._compositor.render_strips()
            assert {sum(segment.cell_length for segment in strip) for strip in strips} == {size[0]}
