"""The tree as a table, driven as a user drives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult

from analysis.report.columns import columns
from widgets.messages import catalogue
from widgets.tree_rows import PAGE
from widgets.tree_table import TreeTable

if TYPE_CHECKING:
    from widgets.frame_table import FrameTable

# In the order of the tree; indentation is the depth.
#   ProfilerStep#1        100 us
#     ## forward 7 ##      30 us  F
#       aten::mm           20 us  F
#       aten::relu         10 us  F
#     aten::item           60 us      ★
#     ## backward 7 ##     10 us  B
NODES: dict[str, list[Any]] = {
    "node": [0, 1, 2, 3, 4, 5],
    "parent": [-1, 0, 1, 1, 0, 0],
    "name": ["ProfilerStep#1", "## forward 7 ##", "aten::mm", "aten::relu", "aten::item", "## backward 7 ##"],
    "phase": [None, "forward", "forward", "forward", None, "backward"],
    "calls": [1, 1, 4, 9, 1, 1],
    "total_ns": [100_000, 30_000, 20_000, 10_000, 60_000, 10_000],
    "self_ns": [0, 0, 20_000, 10_000, 60_000, 10_000],
    "star": [None, None, None, None, "sync", None],
}
COLUMNS = columns("name", "total_ns", "self_ns", "calls")


def frame(**changed: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({**NODES, **changed})


class TreeApp(App[None]):
    """One tree and what it asked for."""

    def __init__(self, nodes: pl.DataFrame, language: str = "en") -> None:
        super().__init__()
        self.table = TreeTable(COLUMNS, messages=catalogue(language))
        self.nodes = nodes
        self.opened: list[Any] = []
        self.rows: list[Any] = []

    def compose(self) -> ComposeResult:
        yield self.table

    def on_mount(self) -> None:
        self.table.set_frame(self.nodes)
        self.table.focus()

    def on_cursor_table_row_selected(self, event: FrameTable.RowSelected) -> None:
        self.opened.append(event.row["name"])

    def on_cursor_table_row_highlighted(self, event: FrameTable.RowHighlighted) -> None:
        self.rows.append(None if event.row is None else event.row["name"])


def lines(app: TreeApp) -> list[str]:
    drawn = [app.table.render_line(y).text.rstrip() for y in range(1, app.table.size.height)]
    return [line for line in drawn if line]


def names(app: TreeApp) -> list[str]:
    """The names in view, without marks and numbers."""
    found = [line[2:].split("  ") for line in lines(app)]
    return [next(part for part in parts if part).strip("▾▸ FB·★") for parts in found]


def selected(app: TreeApp) -> Any:
    row = app.table.highlighted_row
    return None if row is None else row["name"]


ALL = ["ProfilerStep#1", "## forward 7 ##", "aten::mm", "aten::relu", "aten::item", "## backward 7 ##"]
CHILDREN = [ALL[0], ALL[1], ALL[4], ALL[5]]


async def test_root_is_open_at_first() -> None:
    app = TreeApp(frame())
    async with app.run_test():
        assert names(app) == CHILDREN


async def test_marks_stand_before_the_name_and_the_star_after_it() -> None:
    app = TreeApp(frame())
    async with app.run_test():
        drawn = [line[:26].rstrip() for line in lines(app)]
        assert drawn == [
            "▸ ▾ ProfilerStep#1",
            "    ▸ F ## forward 7 ##",
            "      · aten::item ★",
            "      B ## backward 7 ##",
        ]


@pytest.mark.parametrize(("forth", "back"), [("l", "h"), ("right", "left")])
async def test_keys_open_then_go_to_the_child_and_close_then_go_to_the_parent(forth: str, back: str) -> None:
    app = TreeApp(frame())
    async with app.run_test() as pilot:
        await pilot.press("j", forth)
        assert names(app) == ALL
        assert selected(app) == "## forward 7 ##"
        await pilot.press(forth)
        assert selected(app) == "aten::mm"
        await pilot.press(back)
        assert selected(app) == "## forward 7 ##"
        await pilot.press(back)
        assert names(app) == CHILDREN
        await pilot.press(back)
        assert selected(app) == "ProfilerStep#1"


async def test_space_opens_and_closes() -> None:
    app = TreeApp(frame())
    async with app.run_test() as pilot:
        await pilot.press("j", "space")
        assert names(app) == ALL
        await pilot.press("space")
        assert names(app) == CHILDREN


async def test_star_key_opens_everything_below() -> None:
    app = TreeApp(frame())
    async with app.run_test() as pilot:
        await pilot.press("asterisk")
        assert names(app) == ALL


async def test_enter_asks_to_open_the_node() -> None:
    app = TreeApp(frame())
    async with app.run_test() as pilot:
        await pilot.press("j", "enter")
        assert app.opened == ["## forward 7 ##"]


async def test_sort_goes_through_the_orders_of_siblings_and_keeps_the_node() -> None:
    app = TreeApp(frame())
    async with app.run_test() as pilot:
        await pilot.press("j", "l", "j", "j")
        assert selected(app) == "aten::relu"
        seen = []
        for _ in range(4):
            await pilot.press("s")
            sort = app.table.sort
            seen.append((None if sort is None else sort.key, names(app)[1:]))
            assert selected(app) == "aten::relu"
        forward, item, backward = ["## forward 7 ##", "aten::mm", "aten::relu"], "aten::item", ALL[5]
        assert seen == [
            ("total_ns", [item, *forward, backward]),
            ("self_ns", [item, backward, *forward]),
            ("calls", [forward[0], "aten::relu", "aten::mm", item, backward]),
            (None, [*forward, item, backward]),
        ]


async def test_filter_shows_what_it_finds_with_all_ancestors_and_counts_only_finds() -> None:
    app = TreeApp(frame())
    async with app.run_test():
        app.table.set_filter("RELU")
        assert names(app) == ["ProfilerStep#1", "## forward 7 ##", "aten::relu"]
        assert app.table.found == (1, 6)


async def test_matches_are_walked_through_and_the_last_stays_when_the_filter_goes() -> None:
    app = TreeApp(frame())
    async with app.run_test() as pilot:
        app.table.set_filter("aten")
        await pilot.press("n")
        assert selected(app) == "aten::mm"
        await pilot.press("n", "n", "n")
        assert selected(app) == "aten::mm"
        await pilot.press("N")
        assert selected(app) == "aten::item"
        await pilot.press("N")
        app.table.set_filter("")
        assert selected(app) == "aten::relu"
        assert names(app) == ALL


async def test_filter_without_finds_says_so() -> None:
    app = TreeApp(frame())
    async with app.run_test():
        app.table.set_filter("nothing like it")
        assert lines(app) == ["  No row contains “nothing like it”."]
        assert app.table.highlighted_row is None
        app.table.set_filter("")
        assert names(app) == CHILDREN


@pytest.mark.parametrize("another_step_comes", [False, True])
async def test_filter_without_finds_gives_the_selected_node_back_when_it_goes(
    another_step_comes: bool,
) -> None:
    app = TreeApp(frame())
    async with app.run_test() as pilot:
        await pilot.press("j", "j")
        assert selected(app) == "aten::item"
        app.table.set_filter("nothing like it")
        if another_step_comes:
            app.table.set_frame(frame())
        app.table.set_filter("nothing at all")
        app.table.set_filter("")
        assert selected(app) == "aten::item"


async def test_first_find_is_on_screen_though_the_root_stays_selected() -> None:
    depth = 40
    chain = wide(depth).with_columns(parent=pl.int_range(-1, depth))
    app = TreeApp(chain)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("g")
        app.table.set_filter(f"n{depth}")
        await pilot.pause()
        assert f" n{depth} " in lines(app)[-1]
        assert selected(app) == "n0"


async def test_find_that_is_selected_is_on_screen() -> None:
    nodes = wide(60).with_columns(parent=pl.Series([-1, *range(40), *[0] * 20]))
    app = TreeApp(nodes)
    async with app.run_test(size=(80, 24)) as pilot:
        app.table.set_filter("n60")
        await pilot.press("G")
        assert selected(app) == "n60"
        app.table.set_filter("n40")
        await pilot.pause()
        assert selected(app) == "n40"
        assert " n40 " in lines(app)[-1]


async def test_tree_that_was_prepared_and_not_shown_leaves_no_trace() -> None:
    app = TreeApp(frame())
    async with app.run_test():
        app.table.prepare(wide(3))
        app.table.set_frame(frame())
        assert names(app) == CHILDREN


async def test_columns_can_come_with_the_tree() -> None:
    app = TreeApp(frame())
    async with app.run_test():
        app.table.set_frame(frame(), columns=COLUMNS[:2])
        assert app.table.shown_columns == COLUMNS[:2]
        assert names(app) == CHILDREN


async def test_another_step_keeps_what_is_open_and_selected() -> None:
    app = TreeApp(frame())
    async with app.run_test() as pilot:
        await pilot.press("j", "l", "j")
        assert selected(app) == "aten::mm"
        other = [
            "ProfilerStep#2",
            "## forward 8 ##",
            "aten::add",
            "aten::mm",
            "aten::item",
            "## backward 8 ##",
        ]
        app.table.set_frame(frame(name=other))
        assert names(app) == other
        assert selected(app) == "aten::mm"


async def test_selected_row_of_another_step_is_told_anew() -> None:
    app = TreeApp(frame())
    async with app.run_test() as pilot:
        await pilot.pause()
        app.rows.clear()
        app.table.set_frame(frame())
        await pilot.pause()
        assert app.rows == ["ProfilerStep#1"]


def wide(children: int) -> pl.DataFrame:
    count = children + 1
    return pl.DataFrame(
        {
            "node": range(count),
            "parent": [-1] + [0] * children,
            "name": [f"n{node}" for node in range(count)],
            "phase": pl.Series([None] * count, dtype=pl.String),
            "star": pl.Series([None] * count, dtype=pl.String),
            "calls": [1] * count,
            "total_ns": [1] * count,
            "self_ns": [1] * count,
        }
    )


@pytest.mark.parametrize(("language", "words"), [("en", "… 7 more"), ("zh", "… 另有 7 项")])
async def test_children_left_out_stand_as_a_line_that_opens_them(language: str, words: str) -> None:
    app = TreeApp(wide(PAGE + 7), language)
    async with app.run_test() as pilot:
        await pilot.press("G")
        assert lines(app)[-1].strip("▸ ") == words
        assert app.table.selected_node is None
        await pilot.press("enter")
        assert app.opened == []
        assert selected(app) == f"n{PAGE + 1}"
        await pilot.press("G")
        assert selected(app) == f"n{PAGE + 7}"


async def test_left_key_on_the_line_of_the_rest_goes_to_the_parent() -> None:
    app = TreeApp(wide(PAGE + 7))
    async with app.run_test() as pilot:
        await pilot.press("G", "h")
        assert selected(app) == "n0"


async def test_deep_levels_tell_their_depth_and_leave_two_thirds_to_the_name() -> None:
    depth = 1_000
    chain = wide(depth - 1).with_columns(pl.Series("parent", range(-1, depth - 1)))
    app = TreeApp(chain)
    async with app.run_test() as pilot:
        await pilot.press("asterisk", "G")
        last = lines(app)[-1]
        assert "⋯999 " in last
        assert "n999" in last
        assert selected(app) == "n999"


@pytest.mark.parametrize(
    "name",
    ["x" * 10_000, "前向计算" * 2_500, "a[red]b[/]", "esc\x1b[31m"],
    ids=["long", "wide", "markup", "escapes"],
)
async def test_names_of_any_kind_keep_every_line_as_wide_as_the_table(name: str) -> None:
    app = TreeApp(frame(name=[name, *ALL[1:]]))
    async with app.run_test(size=(80, 24)):
        drawn = [app.table.render_line(y) for y in range(5)]
        assert {line.cell_length for line in drawn} == {drawn[0].cell_length}
        assert all(cell_len(line.text) == line.cell_length for line in drawn)


async def test_brackets_in_names_are_not_markup() -> None:
    app = TreeApp(frame(name=["op[red]x[/red]", *ALL[1:]]))
    async with app.run_test():
        assert "op[red]x[/red]" in lines(app)[0]


async def test_click_on_the_mark_opens_and_on_the_name_selects() -> None:
    app = TreeApp(frame())
    async with app.run_test() as pilot:
        await pilot.click(TreeTable, offset=(12, 2))
        assert selected(app) == "## forward 7 ##"
        assert names(app) == CHILDREN
        await pilot.click(TreeTable, offset=(4, 2))
        assert names(app) == ALL


async def test_columns_keep_their_places_when_rows_open() -> None:
    app = TreeApp(frame())
    async with app.run_test() as pilot:
        header = app.table.render_line(0).text
        await pilot.press("asterisk")
        assert app.table.render_line(0).text == header


async def test_column_keys_move_the_column_cursor() -> None:
    app = TreeApp(frame())
    async with app.run_test() as pilot:
        await pilot.press("greater_than_sign", "greater_than_sign", "less_than_sign")
        assert app.table.cursor_column == 1
        assert app.table.cell_text() == "100.000"


async def test_language_keeps_lines_and_row() -> None:
    app = TreeApp(frame())
    async with app.run_test() as pilot:
        await pilot.press("j", "l", "j")
        app.table.set_messages(catalogue("zh"))
        assert names(app) == ALL
        assert selected(app) == "aten::mm"
