"""The line to type a filter into."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import App, ComposeResult

from widgets.filter_bar import DEBOUNCE_SECONDS, FilterBar
from widgets.messages import catalogue

if TYPE_CHECKING:
    from textual.binding import BindingType


class BarApp(App[None]):
    """A bar behind the key ``/`` and what it said."""

    BINDINGS: ClassVar[list[BindingType]] = [("slash", "open_bar", "")]

    def __init__(self) -> None:
        super().__init__()
        self.said: list[tuple[str, str]] = []

    def compose(self) -> ComposeResult:
        yield FilterBar()

    @property
    def bar(self) -> FilterBar:
        return self.query_one(FilterBar)

    def action_open_bar(self) -> None:
        self.bar.open()

    def on_filter_bar_changed(self, event: FilterBar.Changed) -> None:
        self.said.append(("changed", event.text))

    def on_filter_bar_submitted(self, event: FilterBar.Submitted) -> None:
        self.said.append(("submitted", event.text))

    def on_filter_bar_closed(self) -> None:
        self.said.append(("closed", ""))


REST = DEBOUNCE_SECONDS * 2


async def test_bar_is_hidden_until_it_is_opened() -> None:
    app = BarApp()
    async with app.run_test() as pilot:
        shown = [app.bar.display]
        await pilot.press("/")
        shown.append(app.bar.display)
        assert shown == [False, True]


async def test_typing_is_told_once_it_rests() -> None:
    app = BarApp()
    async with app.run_test() as pilot:
        await pilot.press("/", "m", "a", "t")
        assert app.said == []
        await pilot.pause(REST)
        assert app.said == [("changed", "mat")]


async def test_enter_tells_at_once_and_keeps_the_bar() -> None:
    app = BarApp()
    async with app.run_test() as pilot:
        await pilot.press("/", "m", "enter")
        await pilot.pause(REST)
        assert app.said == [("changed", "m"), ("submitted", "m")]
        assert app.bar.is_open


async def test_escape_clears_and_closes() -> None:
    app = BarApp()
    async with app.run_test() as pilot:
        await pilot.press("/", "m")
        await pilot.pause(REST)
        await pilot.press("escape")
        await pilot.pause(REST)
        assert app.said == [("changed", "m"), ("changed", ""), ("closed", "")]
        assert app.bar.text == ""
        assert not app.bar.display


async def test_escape_forgets_what_was_not_told_yet() -> None:
    app = BarApp()
    async with app.run_test() as pilot:
        await pilot.press("/", "m", "escape")
        await pilot.pause(REST)
        assert app.said == [("closed", "")]


async def test_filter_of_the_owner_is_shown_but_not_told_back() -> None:
    app = BarApp()
    async with app.run_test() as pilot:
        app.bar.show_text("mat")
        await pilot.pause(REST)
        assert (app.bar.is_open, app.bar.text, app.said) == (True, "mat", [])


async def test_count_and_language_of_the_owner_are_shown() -> None:
    app = BarApp()
    async with app.run_test(size=(60, 3)) as pilot:
        await pilot.press("/")
        app.bar.set_count("3 of 65 [match]")
        app.bar.set_messages(catalogue("zh"))
        await pilot.pause()
        shown = "".join(segment.text for strip in app.screen._compositor.render_strips() for segment in strip)
        assert "3 of 65 [match]" in shown
        assert "名称" in shown
