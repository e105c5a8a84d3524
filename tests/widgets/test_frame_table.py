"""The table over a frame, driven as a user drives it."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from textual.app import App, ComposeResult

from analysis.report.columns import COLUMNS, columns
from widgets.frame_table import FrameTable, Sort
from widgets.messages import catalogue

COLUMN_KEYS = ("op_type", "core_type", "count", "total_ns", "share")

# In the frame's own order:
#   row  op_type    core_type  count  total_ns  share
#   0    MatMulV2   MIX_AIC        8    21.4 ms  0.50
#   1    Add        AI_VECTOR      9     4.9 ms  0.12
#   2    matmul_x   null           7     1.1 ms  null
#   3    op[red]    AI_VECTOR      8     9.0 ms  0.21
FRAME = pl.DataFrame(
    {
        "op_type": pl.Series(["MatMulV2", "Add", "matmul_x", "op[red]"], dtype=pl.Categorical),
        "core_type": pl.Series(["MIX_AIC", "AI_VECTOR", None, "AI_VECTOR"], dtype=pl.Categorical),
        "count": [8, 9, 7, 8],
        "total_ns": [21_400_123, 4_900_000, 1_100_000, 9_000_000],
        "share": [0.5, 0.12, None, 0.21],
    }
)


class TableApp(App[None]):
    """One table and what it said."""

    def __init__(self, table: FrameTable) -> None:
        super().__init__()
        self.table = table
        self.highlighted: list[dict[str, Any] | None] = []
        self.selected: list[dict[str, Any]] = []
        self.counts: list[tuple[int, int]] = []

    def compose(self) -> ComposeResult:
        yield self.table

    def on_cursor_table_row_highlighted(self, event: FrameTable.RowHighlighted) -> None:
        self.highlighted.append(event.row)

    def on_cursor_table_row_selected(self, event: FrameTable.RowSelected) -> None:
        self.selected.append(event.row)

    def on_frame_table_view_changed(self, event: FrameTable.ViewChanged) -> None:
        self.counts.append((event.shown, event.total))


def table_app(frame: pl.DataFrame | None = FRAME, *keys: str, **options: Any) -> TableApp:
    app = TableApp(FrameTable(columns(*(keys or COLUMN_KEYS)), **options))
    if frame is not None:
        app.call_later(lambda: app.table.set_frame(frame))
    return app


def lines(app: TableApp) -> list[str]:
    return [app.table.render_line(y).text.rstrip() for y in range(app.table.size.height)]


def names(app: TableApp) -> list[str]:
    return [line[2:].split()[0] for line in lines(app)[1:] if line.strip()]


def numbered(rows: int) -> pl.DataFrame:
    return pl.DataFrame({"op_type": [f"op{row:03d}" for row in range(rows)], "count": range(rows)})


async def test_shows_rows_in_the_order_of_the_frame() -> None:
    app = table_app()
    async with app.run_test() as pilot:
        await pilot.pause()
        assert names(app) == ["MatMulV2", "Add", "matmul_x", "op[red]"]


async def test_numbers_stand_at_the_right_under_their_title() -> None:
    app = table_app(FRAME, "op_type", "total_ns")
    async with app.run_test() as pilot:
        await pilot.pause()
        header, first, second, *_ = lines(app)
        assert header == "  OP type     Total"
        assert first == "▸ MatMulV2  21.4 ms"
        assert second == "  Add       4.90 ms"


async def test_unknown_values_show_a_dash() -> None:
    app = table_app(FRAME, "op_type", "core_type", "share")
    async with app.run_test() as pilot:
        await pilot.pause()
        assert lines(app)[3].split() == ["matmul_x", "–", "–"]


async def test_brackets_in_a_name_are_no_markup() -> None:
    app = table_app()
    async with app.run_test() as pilot:
        await pilot.pause()
        assert "op[red]" in lines(app)[4]


async def test_control_characters_in_a_name_are_written_out() -> None:
    app = table_app(pl.DataFrame({"op_type": ["a\x1b[31m\u202eb\nc"], "count": [1]}))
    async with app.run_test() as pilot:
        await pilot.pause()
        assert r"a\x1b[31m\u202eb\nc" in lines(app)[1]


async def test_wide_characters_keep_the_columns_in_line() -> None:
    frame = pl.DataFrame({"op_type": ["算子查找", "MatMulV2"], "count": [1, 2]})
    app = table_app(frame)
    async with app.run_test() as pilot:
        await pilot.pause()
        assert lines(app)[1:3] == ["▸ 算子查找      1", "  MatMulV2      2"]
        assert len({app.table.render_line(y).cell_length for y in range(3)}) == 1


@pytest.mark.parametrize(
    ("keys", "row"),
    [
        (["j", "j"], 2),
        (["down", "down", "k"], 1),
        (["G"], 99),
        (["end", "g"], 0),
        (["end", "home"], 0),
        (["pagedown"], 9),
        (["G", "pageup"], 90),
        (["k"], 0),
    ],
)
async def test_keys_move_the_cursor(keys: list[str], row: int) -> None:
    app = table_app(numbered(100))
    async with app.run_test(size=(40, 10)) as pilot:
        app.table.focus()
        await pilot.pause()
        await pilot.press(*keys)
        assert app.table.cursor_row == row
        assert lines(app)[1 + row - app.table.scroll_offset.y].startswith(f"▸ op{row:03d}")


async def test_moving_tells_the_owner_the_whole_row() -> None:
    app = table_app(FRAME, "op_type")
    async with app.run_test() as pilot:
        app.table.focus()
        await pilot.pause()
        await pilot.press("j")
        await pilot.pause()
        assert [row and row["op_type"] for row in app.highlighted] == ["MatMulV2", "Add"]
        assert app.highlighted[-1] == FRAME.row(1, named=True)


async def test_enter_asks_to_open_the_row() -> None:
    app = table_app()
    async with app.run_test() as pilot:
        app.table.focus()
        await pilot.pause()
        await pilot.press("j", "enter")
        assert [row["op_type"] for row in app.selected] == ["Add"]


async def test_click_selects_and_double_click_opens() -> None:
    app = table_app()
    async with app.run_test() as pilot:
        await pilot.pause()
        await pilot.click(FrameTable, offset=(5, 3))
        assert app.table.cursor_row == 2
        assert app.selected == []
        await pilot.click(FrameTable, offset=(5, 3), times=2)
        assert [row["op_type"] for row in app.selected] == ["matmul_x"]


async def test_click_on_a_title_sorts_by_it() -> None:
    app = table_app()
    async with app.run_test() as pilot:
        await pilot.pause()
        await pilot.click(FrameTable, offset=(4, 0))
        assert app.table.sort == Sort("op_type", descending=False)
        assert names(app) == ["Add", "matmul_x", "MatMulV2", "op[red]"]


async def test_wheel_scrolls_the_rows_below_the_header() -> None:
    app = table_app(numbered(100))
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.pause()
        app.table.scroll_to(y=5, animate=False)
        await pilot.pause()
        assert lines(app)[0].startswith("  OP type")
        assert names(app)[0] == "op005"


async def test_s_sorts_numbers_largest_first_and_turns_round() -> None:
    app = table_app()
    async with app.run_test() as pilot:
        app.table.focus()
        await pilot.pause()
        await pilot.press("l", "l", "l", "s")
        assert names(app) == ["MatMulV2", "op[red]", "Add", "matmul_x"]
        assert "Total▾" in lines(app)[0]
        await pilot.press("s")
        assert names(app) == ["matmul_x", "Add", "op[red]", "MatMulV2"]
        assert "Total▴" in lines(app)[0]


@pytest.mark.parametrize("descending", [True, False])
async def test_unknown_values_sort_last_either_way(descending: bool) -> None:
    app = table_app()
    async with app.run_test() as pilot:
        await pilot.pause()
        app.table.sort_by("share", descending)
        assert names(app)[-1] == "matmul_x"


@pytest.mark.parametrize("descending", [True, False])
async def test_equal_values_keep_the_order_of_the_frame(descending: bool) -> None:
    app = table_app()
    async with app.run_test() as pilot:
        await pilot.pause()
        app.table.sort_by("count", descending)
        shown = names(app)
        assert shown.index("MatMulV2") < shown.index("op[red]")


async def test_sorting_keeps_the_selected_row() -> None:
    app = table_app()
    async with app.run_test() as pilot:
        await pilot.pause()
        app.table.cursor_row = 3
        app.table.sort_by("op_type", descending=True)
        await pilot.pause()
        assert app.table.cursor_row == 0
        assert app.table.highlighted_row == FRAME.row(3, named=True)


async def test_filter_ignores_case_and_counts_matches() -> None:
    app = table_app()
    async with app.run_test() as pilot:
        await pilot.pause()
        app.table.set_filter("mAtMul")
        await pilot.pause()
        assert names(app) == ["MatMulV2", "matmul_x"]
        assert app.table.match_count == 2
        assert app.counts[-1] == (2, 4)


async def test_filter_searches_every_text_column() -> None:
    app = table_app()
    async with app.run_test() as pilot:
        await pilot.pause()
        app.table.set_filter("vector")
        assert names(app) == ["Add", "op[red]"]


async def test_filter_text_is_no_pattern() -> None:
    app = table_app()
    async with app.run_test() as pilot:
        await pilot.pause()
        app.table.set_filter("[r")
        assert names(app) == ["op[red]"]


async def test_filter_keeps_selected_row() -> None:
    app = table_app()
    async with app.run_test() as pilot:
        await pilot.pause()
        app.table.cursor_row = 2
        app.table.set_filter("mat")
        assert app.table.cursor_row == 1
        app.table.set_filter("")
        assert app.table.cursor_row == 2


async def test_filter_and_sort_hold_together() -> None:
    app = table_app()
    async with app.run_test() as pilot:
        await pilot.pause()
        app.table.sort_by("total_ns")
        app.table.set_filter("vector")
        assert names(app) == ["Add", "op[red]"]
        app.table.sort_by("total_ns", descending=True)
        assert names(app) == ["op[red]", "Add"]


async def test_filter_hiding_the_selected_row_selects_the_first() -> None:
    app = table_app()
    async with app.run_test() as pilot:
        await pilot.pause()
        app.table.cursor_row = 3
        app.table.set_filter("mat")
        await pilot.pause()
        assert app.highlighted[-1] == FRAME.row(0, named=True)


async def test_filter_without_match_says_so_and_has_no_row() -> None:
    app = table_app()
    async with app.run_test() as pilot:
        await pilot.pause()
        app.table.set_filter("[b]none[/b]")
        await pilot.pause()
        assert "No row contains “[b]none[/b]”." in lines(app)[1]
        assert app.highlighted[-1] is None


async def test_n_goes_round_the_matches_of_the_last_filter() -> None:
    app = table_app()
    async with app.run_test() as pilot:
        app.table.focus()
        await pilot.pause()
        app.table.set_filter("vector")
        app.table.set_filter("")
        app.table.cursor_row = 0
        visited = []
        for key in ("n", "n", "n", "N"):
            await pilot.press(key)
            visited.append(app.table.cursor_row)
        assert visited == [1, 3, 1, 3]


async def test_empty_frame_shows_the_text_of_the_owner() -> None:
    app = table_app(FRAME.clear(), empty_text="No kernel file: collect with\nprofiler_level Level1")
    async with app.run_test() as pilot:
        await pilot.pause()
        assert lines(app)[1:3] == ["  No kernel file: collect with", "  profiler_level Level1"]
        assert app.highlighted == [None]


async def test_table_without_frame_takes_every_key() -> None:
    app = table_app(None, empty_text="wait")
    async with app.run_test() as pilot:
        app.table.focus()
        await pilot.press("j", "k", "G", "g", "l", "h", "s", "n", "N", "enter", "pagedown")
        assert app.selected == []
        assert (app.table.cell_text(), app.table.row_markdown(), app.table.full_value()) == ("", "", "")


async def test_another_frame_keeps_the_row_of_the_same_identity() -> None:
    app = table_app(identity=("op_type",))
    async with app.run_test() as pilot:
        await pilot.pause()
        app.table.cursor_row = 3
        app.table.set_frame(FRAME.reverse())
        assert app.table.cursor_row == 0


async def test_another_frame_keeps_order_and_filter() -> None:
    app = table_app(sort=Sort("total_ns", descending=False))
    async with app.run_test() as pilot:
        await pilot.pause()
        app.table.set_filter("vector")
        app.table.set_frame(FRAME.reverse())
        assert names(app) == ["Add", "op[red]"]


async def test_columns_the_frame_lacks_are_left_out() -> None:
    app = table_app(FRAME, "op_type", "block_num", "count")
    async with app.run_test() as pilot:
        await pilot.pause()
        assert [column.key for column in app.table.shown_columns] == ["op_type", "count"]


async def test_language_switches_titles_and_keeps_the_row() -> None:
    app = table_app()
    async with app.run_test() as pilot:
        await pilot.pause()
        app.table.cursor_row = 2
        app.table.set_messages(catalogue("zh"))
        assert "算子类型" in lines(app)[0]
        assert app.table.cursor_row == 2


async def test_codes_show_and_are_found_by_their_words() -> None:
    app = table_app(pl.DataFrame({"problem": ["aic_scalar", "ai_cpu"]}), "problem")
    async with app.run_test() as pilot:
        await pilot.pause()
        word = catalogue("en").text("problem.ai_cpu")
        assert word in lines(app)[2]
        app.table.set_filter(word)
        assert app.table.match_count == 1


WIDE = ("op_type", "count", "total_ns", "avg_ns", "min_ns", "max_ns", "per_iteration_ns")


async def test_first_text_column_stays_when_the_others_scroll() -> None:
    frame = FRAME.select(
        "op_type",
        "count",
        *(pl.col("total_ns").alias(key) for key in WIDE[2:]),
    )
    app = table_app(frame, *WIDE)
    async with app.run_test(size=(40, 8)) as pilot:
        app.table.focus()
        await pilot.pause()
        assert lines(app)[0] == "  OP type   Count    Total      Avg   ›"
        await pilot.press(*("l" * 6))
        await pilot.pause()
        assert lines(app)[0] == "  OP type ‹     Max  Time/iteration"
        assert lines(app)[1] == "▸ MatMulV2  21.4 ms         21.4 ms"
        await pilot.press(*("h" * 6))
        await pilot.pause()
        assert app.table.scroll_offset.x == 0


async def test_no_number_is_ever_cut() -> None:
    frame = pl.DataFrame({"op_type": ["a" * 30], "count": [123_456_789], "total_ns": [1_234_000_000]})
    for width in range(12, 60):
        app = table_app(frame)
        async with app.run_test(size=(width, 6)) as pilot:
            await pilot.pause()
            rest = lines(app)[1][2:].lstrip("a…").split()
            assert rest in ([], ["123,456,789"], ["123,456,789", "1.23", "s"])


async def test_bar_appears_where_there_is_room() -> None:
    app = table_app(FRAME, "op_type", "share")
    async with app.run_test(size=(60, 8)) as pilot:
        await pilot.pause()
        # Longest bar: the largest share, 10 cells; 0.12 of 0.50 is 2.4 cells, 19 eighths.
        assert lines(app)[1:3] == ["▸ MatMulV2  50.0 % ██████████", "  Add       12.0 % ██▍"]
        await pilot.resize_terminal(24, 8)
        await pilot.pause()
        assert lines(app)[1] == "▸ MatMulV2  50.0 %"


async def test_copies_are_exact_and_escaped() -> None:
    frame = pl.DataFrame({"op_type": ["a|b"], "total_ns": [21_400_123], "share": [0.38196]})
    app = table_app(frame, "op_type", "total_ns", "share")
    async with app.run_test() as pilot:
        await pilot.pause()
        title, rule, row = app.table.row_markdown().splitlines()
        assert title == "| OP type | Total (us) | Share (%) |"
        assert rule == "| --- | ---: | ---: |"
        assert row.endswith(" | 21400.123 | 38.196 |")
        assert "a|b" not in row
        assert app.table.cell_text() == "a|b"
        app.table.cursor_column = 1
        assert app.table.cell_text() == "21400.123"


async def test_copy_of_the_table_has_the_order_on_screen_and_says_what_it_lacks() -> None:
    app = table_app(FRAME, "op_type", "total_ns", sort=Sort("total_ns", descending=False))
    async with app.run_test() as pilot:
        await pilot.pause()
        rows = app.table.table_markdown(3).splitlines()
        assert [row.split(" | ")[1] for row in rows[2:5]] == ["1100.000 |", "4900.000 |", "9000.000 |"]
        assert rows[-1] == "Rows not copied: 1"
        assert len(app.table.table_markdown(4).splitlines()) == 6


async def test_full_value_is_not_cut() -> None:
    shapes = ";".join(["4096,512"] * 50)
    app = table_app(pl.DataFrame({"input_shapes": [shapes]}), "input_shapes")
    async with app.run_test(size=(40, 8)) as pilot:
        await pilot.pause()
        assert lines(app)[1].endswith("…")
        assert app.table.full_value() == "Input shapes\n" + "\n".join(["4096,512"] * 50)


async def test_cursor_is_seen_without_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = table_app()
    async with app.run_test() as pilot:
        app.table.focus()
        await pilot.pause()
        reverse = [any(s.style and s.style.reverse for s in app.table.render_line(y)) for y in (1, 2)]
        assert reverse == [True, False]


async def test_million_rows_open_scroll_sort_and_filter() -> None:
    rows = 1_000_000
    codes = pl.int_range(rows, eager=True)
    frame = pl.DataFrame(
        {
            "name": ("op" + (codes % 1000).cast(pl.String)).cast(pl.Categorical),
            "start_ns": codes * 7,
            "duration_ns": (codes * 7919) % rows,
        }
    )
    app = table_app(frame, "name", "start_ns", "duration_ns")
    async with app.run_test() as pilot:
        app.table.focus()
        await pilot.pause()
        await pilot.press("G")
        assert app.table.highlighted_row == frame.row(rows - 1, named=True)
        app.table.sort_by("duration_ns", descending=True)
        app.table.set_filter("op999")
        await pilot.press("g")
        assert app.table.match_count == 1000
        first = app.table.highlighted_row
        assert first is not None
        assert first["name"] == "op999"
        assert first["duration_ns"] == frame.filter(pl.col("name") == "op999")["duration_ns"].max()


def test_every_binding_has_an_id_for_key_maps() -> None:
    assert all(getattr(binding, "id", None) for binding in FrameTable.BINDINGS)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_column_has_a_title(language: str) -> None:
    messages = catalogue(language)
    assert all(column.title in messages for column in COLUMNS.values())
