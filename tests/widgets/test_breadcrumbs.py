"""How the list on screen was reached."""

from __future__ import annotations

from textual.app import App, ComposeResult

from widgets.breadcrumbs import Breadcrumbs


class CrumbApp(App[None]):
    """One line of crumbs and which were selected."""

    def __init__(self, *crumbs: str) -> None:
        super().__init__()
        self.line = Breadcrumbs(crumbs)
        self.selected: list[int] = []

    def compose(self) -> ComposeResult:
        yield self.line

    def on_breadcrumbs_crumb_selected(self, event: Breadcrumbs.CrumbSelected) -> None:
        self.selected.append(event.index)


async def test_way_is_shown_from_first_to_last() -> None:
    app = CrumbApp("Operators", "op[red]", "4096,512")
    async with app.run_test(size=(60, 3)):
        assert app.line.render().plain == "Operators › op[red] › 4096,512"


async def test_what_does_not_fit_is_left_out_at_the_left() -> None:
    app = CrumbApp("Operators", "MatMulV2", "4096,512")
    async with app.run_test(size=(24, 3)):
        assert app.line.render().plain == "… › MatMulV2 › 4096,512"


async def test_last_crumb_is_cut_to_the_width() -> None:
    app = CrumbApp("Operators", "4096,512;512,1024")
    async with app.run_test(size=(12, 3)):
        assert app.line.render().plain == "… › 4096,51…"


async def test_click_asks_to_go_back_but_not_to_where_one_is() -> None:
    app = CrumbApp("Operators", "MatMulV2")
    async with app.run_test(size=(60, 3)) as pilot:
        await pilot.click(Breadcrumbs, offset=(2, 0))
        await pilot.click(Breadcrumbs, offset=(14, 0))
        assert app.selected == [0]


async def test_another_way_replaces_it() -> None:
    app = CrumbApp("Operators")
    async with app.run_test(size=(60, 3)):
        app.line.set_crumbs(["Host", "acl"])
        assert app.line.render().plain == "Host › acl"
        assert app.line.crumbs == ("Host", "acl")
