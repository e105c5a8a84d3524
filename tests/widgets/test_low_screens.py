"""What a screen of 60x18 shows: findings and rows first, whole numbers, one line of remarks."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from analysis.notes import Missing, Note
from analysis.phases.model import LETTERS
from analysis.trace.summary import TraceSummary
from analysis.units import percent_text, time_text
from tests.analysis.report_fixtures import full_source, kineto_source
from tests.widgets.pane_app import do, settle, shown, text_of
from tests.widgets.simulated import simulated
from widgets.aten import AtenPane
from widgets.banner import Banner
from widgets.finding_list import FindingList
from widgets.frame_line import PartLine
from widgets.host import HostPane
from widgets.messages import catalogue
from widgets.overview import OverviewPane
from widgets.phases import PhasesPane

if TYPE_CHECKING:
    from analysis.phases.results import Phases
    from widgets.step_pane import StepPane

LOW = (60, 13)
"""What the frame of the explorer leaves a pane of 60x18."""
LANGUAGES = ["en", "zh"]


def phases() -> Phases:
    found = simulated().phases
    assert not isinstance(found, Missing)
    return found


def cut_analysis() -> Any:
    """The simulated profile as if its trace ended in step 22."""
    whole = simulated()
    windows = replace(phases().windows, cut=True, lossy=(22,))
    trees = {"call_tree": whole.call_tree, "aten_tree": whole.aten_tree}
    return SimpleNamespace(phases=replace(phases(), windows=windows), **trees)


def banner_of(pane: StepPane | HostPane) -> Banner:
    return pane.query_one(Banner)


# ------------------------------------------------------------------ step line


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("pane_class", [PhasesPane, AtenPane])
async def test_step_line_keeps_name_largest_phase_and_unclassified_share(
    pane_class: type[StepPane], language: str
) -> None:
    mean = phases().times.mean
    by_phase = {row["phase"]: row for row in mean.iter_rows(named=True)}
    unclassified = by_phase.pop("unclassified")
    largest = max(by_phase.values(), key=lambda row: row["attributed_ns"] or 0)
    name = {"en": "mean of 3 steps", "zh": "3 个 step 均值"}[language]
    async with shown(pane_class(catalogue(language)), simulated(), size=LOW) as (_, pilot):
        line = text_of(pilot).splitlines()[0]
        assert line.startswith(f" {name}  ")
        assert f"  {LETTERS[largest['phase']]} {percent_text(largest['share'])}  " in line
        assert line.endswith(percent_text(unclassified["share"]))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("step", [0, 1, 2, 3])
async def test_step_line_holds_whole_parts_at_every_width(step: int, language: str) -> None:
    async with shown(PhasesPane(catalogue(language)), simulated(), size=(160, 18)) as (pane, pilot):
        await do(pilot, pane, *["next_step"] * step)
        line = pane.query_one("#step", PartLine)
        for width in range(30, 161, 5):
            await pilot.resize_terminal(width, 18)
            await settle(pilot)
            told = "  ".join(part.text for part in line.parts)
            assert text_of(pilot).splitlines()[0] == f" {told}"
            assert "%" in told


async def test_wide_step_line_names_the_largest_phase_the_steps_and_the_device_syncs() -> None:
    async with shown(PhasesPane(catalogue("en")), simulated(), size=(140, 40)) as (_, pilot):
        line = text_of(pilot).splitlines()[0]
        assert "mean of 3 steps (20–22)" in line
        assert "largest: L embedding lookup" in line
        assert "(sync " in line


# -------------------------------------------------------------------- banners


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", " ! confidence low   trace cut, 22 left out   (v)"),
        ("zh", " ! 置信度低   文件不完整，未计入 22   （v）"),
    ],
)
async def test_remarks_share_one_line_of_a_low_screen(language: str, words: str) -> None:
    async with shown(PhasesPane(catalogue(language)), cut_analysis(), size=LOW) as (_, pilot):
        lines = text_of(pilot).splitlines()
        assert lines[1] == words
        assert lines[2].startswith({"en": " phases", "zh": " 各阶段"}[language])


async def test_remarks_that_one_line_cannot_hold_are_counted() -> None:
    async with shown(PhasesPane(catalogue("en")), cut_analysis(), size=LOW) as (pane, pilot):
        await do(pilot, pane, "next_view")
        assert text_of(pilot).splitlines()[1].endswith("   +1 more (v)")


async def test_list_of_all_steps_has_the_remarks_on_the_mean_whichever_step_was_chosen() -> None:
    async with shown(PhasesPane(catalogue("en")), cut_analysis(), size=LOW) as (pane, pilot):
        pane.choose_step(22)
        await do(pilot, pane, "next_view", "next_view")
        lines = text_of(pilot).splitlines()
        assert lines[0].startswith(" mean of 3 steps")
        assert lines[1] == " ! confidence low   trace cut, 22 left out   (v)"


@pytest.mark.parametrize(
    ("language", "brief"), [("en", "! marks of steps are in doubt"), ("zh", "! step 标记存疑")]
)
async def test_marks_in_doubt_are_told_above_the_lists(language: str, brief: str) -> None:
    analysis, doubt = cut_analysis(), Note("steps_overlapping", {"count": "1", "steps": "22"})
    windows = replace(phases().windows, doubts=(doubt,))
    analysis.phases = replace(phases(), windows=windows)
    async with shown(PhasesPane(catalogue(language)), analysis, size=LOW) as (pane, pilot):
        assert brief in text_of(pilot).splitlines()[1]
        assert catalogue(language).text("note.steps_overlapping", doubt.values) in (pane.full_value() or "")


async def test_full_value_tells_the_folded_remarks() -> None:
    async with shown(PhasesPane(catalogue("en")), cut_analysis(), size=LOW) as (pane, _):
        told = pane.full_value()
        assert told is not None
        assert "What the device did in others may be lost too." in told
        assert told.splitlines()[1] == "data preprocessing"


async def test_remarks_stand_in_full_where_there_is_room() -> None:
    async with shown(PhasesPane(catalogue("en")), cut_analysis(), size=LOW) as (pane, pilot):
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert "What the device did in others may be lost too." in " ".join(text_of(pilot).split())
        assert not banner_of(pane).folded
        assert "confidence" not in (pane.full_value() or "")


async def test_wrapped_remarks_are_indented_like_all_lines() -> None:
    async with shown(PhasesPane(catalogue("en")), cut_analysis(), size=(60, 24)) as (pane, pilot):
        height = banner_of(pane).size.height
        assert height > 2
        assert all(line.startswith(" ") for line in text_of(pilot).splitlines()[1 : 1 + height])


async def test_verdicts_on_the_host_fold_with_the_gravest_first() -> None:
    async with shown(HostPane(catalogue("en")), full_source(), size=LOW) as (pane, pilot):
        line = text_of(pilot).splitlines()[0]
        assert line.startswith(" ! ")
        assert line.endswith(" more (v)")
        assert len(banner_of(pane).folded) == 5
        assert pane.allows("full_value")


# ------------------------------------------------------------------- overview


@pytest.mark.parametrize("language", LANGUAGES)
async def test_findings_get_most_of_a_low_overview(language: str) -> None:
    async with shown(OverviewPane(catalogue(language)), full_source(), size=LOW) as (pane, _):
        assert pane.query_one(FindingList).size.height >= 8


@pytest.mark.parametrize("language", LANGUAGES)
async def test_low_overview_keeps_every_number_of_the_bar_whole(language: str) -> None:
    async with shown(OverviewPane(catalogue(language)), full_source(), size=LOW) as (_, pilot):
        lines = text_of(pilot).splitlines()
        assert "945 us" in lines[0]
        assert {"en": "mean of 2 steps", "zh": "2 个 step 的均值"}[language] in lines[0]
        assert lines[1].endswith("215 us")
        assert "495 us" in lines[1]
        assert "235 us" in lines[1]


async def test_low_overview_has_the_largest_phases_on_one_line_and_counts_the_others() -> None:
    async with shown(OverviewPane(catalogue("en")), full_source(), size=LOW) as (_, pilot):
        line = text_of(pilot).splitlines()[2]
        # Of 100, 80, 300, 200, 60, 120 us and 140 us without a phase.
        assert line == " Phases  F 300 us  B 200 us  D 120 us  · 140 us  +3 (4)"


async def test_low_overview_speaks_of_files_only_where_something_is_wrong() -> None:
    async with shown(OverviewPane(catalogue("en")), full_source(), size=LOW) as (_, pilot):
        last = text_of(pilot).splitlines()[-1]
        assert last.startswith(" ! 2 events lost, cut short, the rest is missing (f)")
    whole = kineto_source()
    assert isinstance(whole.trace_summary, TraceSummary)
    async with shown(OverviewPane(catalogue("en")), replace(whole, missing=()), size=LOW) as (_, pilot):
        assert " Files " not in text_of(pilot)
        assert " Trace " not in text_of(pilot)


async def test_higher_screen_brings_back_what_was_folded() -> None:
    async with shown(OverviewPane(catalogue("en")), full_source(), size=LOW) as (_, pilot):
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        text = text_of(pilot)
        assert text.splitlines()[-1].startswith(" Trace  6 bars on 3 tracks")
        assert all(time in text for time in ("60.0 us", "80.0 us", "100 us"))


@pytest.mark.parametrize("language", LANGUAGES)
async def test_narrow_screen_cuts_no_number_of_the_bar(language: str) -> None:
    source = full_source()
    assert not isinstance(source.metrics.step_trace, Missing)
    async with shown(OverviewPane(catalogue(language)), source, size=(60, 24)) as (_, pilot):
        decomposition = source.metrics.step_trace
        line = text_of(pilot).splitlines()[1]
        for ns in (decomposition.computing_ns, decomposition.not_overlapped_ns, decomposition.free_ns):
            assert time_text(ns) in line
