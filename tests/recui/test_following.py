"""From what stands out to the row it speaks of, and back."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from tests.explorer import explorer, press, screen_text, settled
from tests.generators import gen_recsys_trace as generator
from widgets.breadcrumbs import Breadcrumbs
from widgets.finding_list import FindingList
from widgets.pane import Pane

if TYPE_CHECKING:
    from pathlib import Path

    from recui.screens.explorer import ExplorerScreen
    from widgets.frame_table import FrameTable

SLOWER_US = 15_000
LONG = "A" + "name_" * 1_999 + "END"


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last step is slow, as it does something that no other does."""
    folder = tmp_path_factory.mktemp("followed")
    generator.main(["--out", str(folder), "--flavour", "torchrec", "--steps", "4"])
    for file in folder.rglob("trace_view.json"):
        events = json.loads(file.read_text())
        last = max(
            (event for event in events if str(event.get("name")).startswith("ProfilerStep#")),
            key=lambda event: Decimal(event["ts"]),
        )
        end = str(Decimal(last["ts"]) + Decimal(str(last["dur"])))
        last["dur"] += SLOWER_US
        events.append({**last, "name": "late_work", "ts": end, "dur": SLOWER_US})
        file.write_text(json.dumps(events))
    return folder


@pytest.fixture(scope="module")
def without_steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """No step is recorded, and one name is longer than any screen."""
    folder = tmp_path_factory.mktemp("without_steps")
    generator.main(["--out", str(folder), "--flavour", "torchrec", "--steps", "2"])
    for file in folder.rglob("step_trace_time.csv"):
        file.unlink()
    for file in folder.rglob("trace_view.json"):
        events = json.loads(file.read_text().replace('"metrics.log_step"', json.dumps(LONG)))
        kept = [event for event in events if not str(event.get("name")).startswith("ProfilerStep")]
        file.write_text(json.dumps(kept))
    return folder


def findings_of(screen: ExplorerScreen) -> FindingList:
    assert screen.pane is not None
    return screen.pane.query_one(FindingList)


def table_of(screen: ExplorerScreen) -> FrameTable:
    assert screen.pane is not None
    table = screen.pane.table()
    assert table is not None
    return table


async def test_every_finding_leads_to_its_row_and_escape_back_to_the_finding(profile: Path) -> None:
    async with explorer(profile, size=(100, 30)) as (screen, pilot):
        landed = set()
        for place in range(findings_of(screen).option_count):
            findings_of(screen).highlighted = place
            finding = findings_of(screen).selected
            assert finding is not None
            if not finding.row:
                continue
            await press(pilot, "enter")
            row = table_of(screen).highlighted_row or {}
            assert {key: row[key] for key in finding.row} == finding.row
            landed.add(finding.kind)
            await press(pilot, "escape")
            assert findings_of(screen).selected is finding
        assert landed >= {
            "slow_step_name",
            "device_sync_same",
            "largest_phase",
            "unclassified",
            "prefetch_ahead",
            "pair_streams",
        }


async def test_escape_climbs_back_to_where_the_finding_led_before_it_leaves(profile: Path) -> None:
    async with explorer(profile) as (screen, pilot):
        findings = findings_of(screen)
        findings.highlighted = next(
            place for place, finding in enumerate(findings._findings) if finding.view == "waits"
        )
        await press(pilot, "enter", "enter")
        assert " Overview › Phases › waits › aten::item" in screen_text(pilot)
        await press(pilot, "escape")
        assert " Overview › Phases › waits" in screen_text(pilot)
        await press(pilot, "escape")
        assert screen.pane is not None
        assert screen.pane.NAME == "overview"


@pytest.mark.parametrize("way", ["escape", "crumb"])
async def test_the_pane_that_led_elsewhere_is_found_as_it_was_left(profile: Path, way: str) -> None:
    async with explorer(profile) as (screen, pilot):
        await press(pilot, "2", "enter", "slash", *"0", "enter")
        sender, left = screen.pane, table_of(screen)
        assert sender is not None
        trail = sender.trail()
        assert (len(trail), left.filter) == (3, "0")
        sender.post_message(Pane.JumpRequested("phases", "waits"))
        await settled(pilot)
        assert " Operators › Phases › waits" in screen_text(pilot)
        if way == "escape":
            await press(pilot, "escape")
        else:
            crumbs = screen.query_one(Breadcrumbs)
            crumbs.post_message(Breadcrumbs.CrumbSelected(crumbs, 0))
            await settled(pilot)
        assert screen.pane is sender
        assert sender.trail() == trail
        assert table_of(screen) is left
        assert left.filter == "0"


async def test_escape_stays_in_a_pane_that_the_user_went_to(profile: Path) -> None:
    async with explorer(profile) as (screen, pilot):
        await press(pilot, "enter", "1", "4", "escape")
        assert screen.pane is not None
        assert screen.pane.NAME == "phases"
        assert screen.pane.trail()[0] == "Phases"
        assert "Overview ›" not in screen_text(pilot)


async def test_finding_is_followed_to_the_mean_whatever_step_was_in_view(profile: Path) -> None:
    async with explorer(profile) as (screen, pilot):
        await press(pilot, "4", "right_square_bracket", "1")
        findings = findings_of(screen)
        findings.highlighted = next(
            place for place, finding in enumerate(findings._findings) if finding.kind == "unclassified"
        )
        await press(pilot, "enter")
        assert "mean of 4 steps" in screen_text(pilot)
        assert (table_of(screen).highlighted_row or {})["phase"] == "unclassified"


async def test_both_step_times_say_on_which_side_they_were_measured(profile: Path) -> None:
    async with explorer(profile) as (_, pilot):
        assert "per step on the device" in screen_text(pilot)
        await press(pilot, "4")
        lines = screen_text(pilot).splitlines()
        assert lines[0].endswith("/step on device")
        assert "  host " in lines[2]


async def test_without_steps_the_panes_speak_of_the_whole_trace(without_steps: Path) -> None:
    async with explorer(without_steps) as (_, pilot):
        await press(pilot, "4")
        assert "whole trace" in screen_text(pilot)
        assert "  steps" not in screen_text(pilot)
        await press(pilot, "t")
        assert "▾ whole trace" in screen_text(pilot)
        await press(pilot, "t")
        assert "/step" not in screen_text(pilot)
        await press(pilot, "5")
        assert "▾ whole trace" in screen_text(pilot)
        assert "/step" not in screen_text(pilot)


async def test_long_name_is_told_whole(without_steps: Path) -> None:
    async with explorer(without_steps) as (screen, pilot):
        await press(pilot, "4", "t")
        table = table_of(screen)
        while (table.highlighted_row or {})["name"] != LONG:
            table.cursor_row += 1
        await press(pilot, "v", "G")
        assert "_END" in screen_text(pilot)
