"""Panes 4 and 5 over a trace in which no step is marked: no word calls its numbers those of a step."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from analysis.profile.discover import discover
from analysis.report.messages import LANGUAGES
from analysis.result import Analysis
from tests.generators import gen_recsys_trace as generator
from tests.generators.unmarked import without_marks
from tests.widgets.pane_app import do, settle, shown, text_of
from widgets.aten import AtenPane
from widgets.detail import Detail
from widgets.messages import catalogue
from widgets.phases import PhasesPane

WIDE = (220, 60)
OF_STEPS = {
    "en": r"/step|\b(?:a|per|one|this|the|mean) step\b|\ball steps|steps in view",
    "zh": r"每步|步次数|单步|(?:每个|单个|全部|平均|所示|该) ?step|占 ?step",
}
"""Words that call a number one of steps."""
_FOLDERS: list[TemporaryDirectory[str]] = []
"""Held until the tests end, for the text of events is read from them."""


@cache
def unmarked() -> Analysis:
    folder = TemporaryDirectory(prefix="unmarked")
    _FOLDERS.append(folder)
    generator.main(["--out", folder.name, "--flavour", "torchrec", "--steps", "2"])
    profile = discover(without_marks(Path(folder.name)))
    return Analysis(profile, profile.select(None))


@pytest.mark.parametrize("language", LANGUAGES)
async def test_every_list_and_story_of_phases_tells_of_the_whole_trace(language: str) -> None:
    async with shown(PhasesPane(catalogue(language)), unmarked(), size=WIDE) as (pane, pilot):
        pane.query_one(Detail).styles.height = 30
        seen = []
        for _ in pane._views:
            table = pane.table()
            assert table is not None
            for place in range(min(table.match_count, 8)):
                table.cursor_row = place
                await settle(pilot)
                seen.append(text_of(pilot))
            await do(pilot, pane, "next_view")
        assert len(seen) > 20
        assert re.findall(OF_STEPS[language], "\n".join(seen)) == []


@pytest.mark.parametrize("language", LANGUAGES)
async def test_operator_tree_tells_of_the_whole_trace(language: str) -> None:
    async with shown(AtenPane(catalogue(language)), unmarked(), size=WIDE) as (_, pilot):
        assert re.findall(OF_STEPS[language], text_of(pilot)) == []


async def test_words_of_the_whole_trace_follow_the_language() -> None:
    async with shown(PhasesPane(catalogue("en")), unmarked(), size=WIDE) as (pane, pilot):
        for _ in range(2):
            await do(pilot, pane, "next_view")
        line = next(line for line in text_of(pilot).splitlines() if " Share " in line)
        assert re.search(r" Time +Share ", line)
        pane.relabel(catalogue("zh"))
        await settle(pilot)
        line = next(line for line in text_of(pilot).splitlines() if " 占比 " in line)
        assert re.search(r" 耗时 +占比 ", line)
        assert "每步" not in text_of(pilot)
