"""The selected row's story."""

from __future__ import annotations

from rich.text import Text
from textual.app import App, ComposeResult

from widgets.detail import Detail, Pair


class DetailApp(App[None]):
    """One panel."""

    def compose(self) -> ComposeResult:
        yield Detail()

    @property
    def detail(self) -> Detail:
        return self.query_one(Detail)

    def lines(self) -> list[str]:
        strips = self.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


PAIRS = [Pair("Count", "404"), Pair("Total", "21.4 ms"), Pair("Max", "347 us")]


async def test_short_values_stand_side_by_side_where_they_fit() -> None:
    app = DetailApp()
    async with app.run_test(size=(60, 8)) as pilot:
        app.detail.show("MatMulV2", PAIRS)
        await pilot.pause()
        assert app.lines()[:2] == [" MatMulV2", " Count 404   Total 21.4 ms   Max 347 us"]


async def test_short_values_stand_below_each_other_where_they_do_not() -> None:
    app = DetailApp()
    async with app.run_test(size=(20, 8)) as pilot:
        app.detail.show("MatMulV2", PAIRS)
        await pilot.pause()
        assert app.lines()[1:4] == [" Count 404", " Total 21.4 ms", " Max   347 us"]


async def test_long_values_wrap_beside_their_label() -> None:
    app = DetailApp()
    async with app.run_test(size=(30, 8)) as pilot:
        app.detail.show("", [Pair("Shapes", "4096,512;" * 5)])
        await pilot.pause()
        # 28 cells without padding, 7 for the label.
        assert app.lines()[:3] == [
            " Shapes 4096,512;4096,512;409",
            "        6,512;4096,512;4096,5",
            "        12;",
        ]


async def test_nothing_in_it_is_markup_or_acts() -> None:
    app = DetailApp()
    async with app.run_test(size=(60, 8)) as pilot:
        app.detail.show("op[red]", [Pair("[b]x", "a\x1b[31m")], ["[link=x]y", Text("[i]z")])
        await pilot.pause()
        assert app.lines()[:4] == [" op[red]", r" [b]x a\x1b[31m", " [link=x]y", " [i]z"]


async def test_next_story_begins_at_its_top() -> None:
    app = DetailApp()
    async with app.run_test(size=(30, 4)) as pilot:
        app.detail.show("first", lines=[str(number) for number in range(20)])
        await pilot.pause()
        app.detail.scroll_end(animate=False)
        await pilot.pause()
        assert app.detail.scroll_offset.y > 0
        app.detail.show("second", lines=[str(number) for number in range(20)])
        await pilot.pause()
        assert app.lines()[0].startswith(" second")
