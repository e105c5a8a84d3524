"""The line of tabs: where not all fit, the selected one is in view and marks tell of the others."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

from tests.widgets.pane_app import text_of
from widgets.frame_line import Part, PartLine

NAMES = ("operators", "top calls", "watched", "one-off", "copies")


class LineApp(App[None]):
    """Nothing but the line."""

    def __init__(self, selected: str) -> None:
        super().__init__()
        self.selected = selected
        self.clicked: list[str] = []

    def compose(self) -> ComposeResult:
        yield PartLine(id="line")

    def on_mount(self) -> None:
        parts = [Part(name, name, selected=name == self.selected) for name in NAMES]
        self.query_one(PartLine).show(parts)

    def on_part_line_clicked(self, event: PartLine.Clicked) -> None:
        self.clicked.append(event.name)


@pytest.mark.parametrize(
    ("selected", "width", "line"),
    [
        ("operators", 60, " operators  top calls  watched  one-off  copies"),
        ("operators", 47, " operators  top calls  watched  one-off  copies"),
        ("operators", 46, " operators  top calls  watched  one-off ›"),
        ("watched", 33, " operators  top calls  watched ›"),
        ("watched", 24, " ‹ top calls  watched ›"),
        ("copies", 24, " ‹ one-off  copies"),
    ],
)
async def test_selected_part_is_in_view_and_marks_tell_of_the_others(
    selected: str, width: int, line: str
) -> None:
    async with LineApp(selected).run_test(size=(width, 3)) as pilot:
        await pilot.pause()
        assert text_of(pilot).splitlines()[0] == line


async def test_click_behind_hidden_parts_meets_the_part_below_the_pointer() -> None:
    app = LineApp("copies")
    async with app.run_test(size=(24, 3)) as pilot:
        await pilot.pause()
        line = text_of(pilot).splitlines()[0]
        await pilot.click("#line", offset=(line.index("one-off"), 0))
        await pilot.pause()
        assert app.clicked == ["one-off"]
