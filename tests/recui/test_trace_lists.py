"""Lists over the trace in the whole explorer: from an operator down to the text of one event."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from analysis.demo import write_sample
from tests.explorer import WIDE, explorer, press, screen_text

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    return write_sample("training", tmp_path).path


def overwrite_trace(sample: Path) -> None:
    (file,) = sample.rglob("trace_view.json")
    file.write_text("[]", encoding="utf-8")


async def test_call_leads_to_its_event_as_the_file_has_it(sample: Path) -> None:
    async with explorer(sample, size=WIDE) as (_, pilot):
        await press(pilot, "3", "enter")
        shown = re.search(r"Start \(us\) +(\d+\.\d{3})", screen_text(pilot))
        assert shown is not None
        await press(pilot, "enter")
        assert re.search(rf"^  ts +{re.escape(shown[1])} ", screen_text(pilot), re.MULTILINE)


async def test_event_of_a_file_that_has_changed_is_not_made_up(sample: Path) -> None:
    async with explorer(sample) as (_, pilot):
        await press(pilot, "3", "enter")
        overwrite_trace(sample)
        await press(pilot, "enter")
        assert "The file has changed or is gone" in screen_text(pilot)


async def test_finding_on_copies_leads_to_the_copies(sample: Path) -> None:
    async with explorer(sample) as (screen, pilot):
        rows = [finding.kind for finding in screen.analysis.findings] if screen.analysis else []
        await press(pilot, *["j"] * rows.index("copies_host_to_device"), "enter")
        assert "H2D (to device)" in screen_text(pilot)
        assert screen.pane is not None
        assert screen.pane.trail()[-1] == "copies"


async def test_back_returns_to_the_operator_that_was_opened(sample: Path) -> None:
    async with explorer(sample) as (screen, pilot):
        await press(pilot, "3", "j", "j")
        assert screen.pane is not None
        table = screen.pane.table()
        assert table is not None
        before = table.highlighted_row
        await press(pilot, "enter", "enter", "escape", "escape")
        after = screen.pane.table()
        assert after is not None
        assert after.highlighted_row == before
