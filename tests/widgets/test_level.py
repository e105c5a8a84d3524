"""A list whose rows are read in a thread."""

from __future__ import annotations

from threading import Event

import polars as pl
from textual.app import App, ComposeResult

from analysis.report.columns import columns
from tests.widgets.pane_app import settle
from widgets.level import Level, LevelView, Story
from widgets.messages import catalogue


def level(frame: object) -> Level:
    return Level(
        crumb=lambda _: "",
        columns=columns("name"),
        frame=frame,  # type: ignore[arg-type]  # the tests give what Level takes
        story=lambda *_: Story(),
    )


class LevelApp(App[None]):
    def __init__(self, first: Level) -> None:
        super().__init__()
        self.view = LevelView(first, catalogue("en"))

    def compose(self) -> ComposeResult:
        yield self.view


async def test_rows_that_come_late_do_not_replace_those_asked_for_since() -> None:
    read = Event()

    def late() -> pl.DataFrame:
        read.wait()
        return pl.DataFrame({"name": ["old"]})

    app = LevelApp(level(late))
    async with app.run_test() as pilot:
        app.view.replace(level(pl.DataFrame({"name": ["new"]})))
        read.set()
        await settle(pilot)
        assert (app.view.table.highlighted_row or {})["name"] == "new"
