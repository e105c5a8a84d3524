"""Pane 1: the first bar, what stands out and where it leads, numbers, steps, files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.metrics import NamedTime, Throughput
from analysis.notes import Missing
from analysis.trace.summary import TraceSummary
from tests.analysis.report_fixtures import (
    ALL_SOURCES,
    empty_source,
    full_source,
    ge_source,
    kineto_source,
    level0_source,
)
from tests.widgets.pane_app import PaneApp, do, shown, text_of
from widgets.finding_list import FindingList
from widgets.messages import catalogue
from widgets.overview import OverviewPane
from widgets.time_bar import time_bar


def pane(language: str = "en") -> OverviewPane:
    return OverviewPane(catalogue(language))


async def test_training_bar_is_computing_exposed_and_free() -> None:
    async with shown(pane(), full_source()) as (_, pilot):
        lines = text_of(pilot).splitlines()
        assert "945 us per step" in lines[0]
        assert "mean of 2 steps" in lines[0]
        assert "█ computing 495 us   ▒ exposed comm 235 us   ░ free 215 us" in lines[1]


@pytest.mark.parametrize(
    ("language", "copies"), [("en", "copies in free time 101 us"), ("zh", "空闲中的拷贝 101 us")]
)
async def test_copies_below_the_bar_are_those_of_free_time_and_fit(language: str, copies: str) -> None:
    source = full_source()
    metrics = source.metrics
    assert not isinstance(metrics.step_trace, Missing)
    metrics = replace(
        metrics,
        step_trace=replace(metrics.step_trace, copies_ns=101_000),
        throughput=Throughput(123_456.0, "samples_per_s"),
        op_time=NamedTime(495_000, "kernels"),
        instance_room=12,
    )
    below = time_bar(metrics, None, catalogue(language)).below
    async with shown(pane(language), replace(source, metrics=metrics)) as (_, pilot):
        lines = [line.strip() for line in text_of(pilot).splitlines()]
        place = next(index for index, line in enumerate(lines) if line.startswith(copies))
        # Every remark is there in full, on one line or two.
        assert "   ".join(line for line in lines[place : place + 2] if line) == below


async def test_inference_bar_is_copy_execute_copy() -> None:
    async with shown(pane(), ge_source()) as (_, pilot):
        text = text_of(pilot)
        assert "█ H2D 50.0 us   ▒ ModelExecute 300 us   ░ D2H 20.0 us" in text
        assert "370 us per iteration" in text
        assert "room for 2 more instances" in text


async def test_whole_run_is_not_called_a_step() -> None:
    async with shown(pane(), level0_source()) as (_, pilot):
        first = text_of(pilot).splitlines()[0]
        assert "whole run" in first
        assert "900 us wall time" in first


async def test_without_times_a_sentence_stands_in_place_of_the_bar() -> None:
    async with shown(pane(), empty_source()) as (_, pilot):
        assert "No file tells how long an iteration takes." in text_of(pilot)


async def test_findings_carry_mark_and_pane() -> None:
    async with shown(pane(), full_source()) as (_, pilot):
        line = next(line for line in text_of(pilot).splitlines() if "is not hidden" in line)
        assert line.startswith("▸!")
        assert line.rstrip().endswith("→ 1")


async def test_enter_asks_for_the_list_of_the_finding() -> None:
    async with shown(pane(), full_source()) as (overview, pilot):
        app = pilot.app
        assert isinstance(app, PaneApp)
        kinds = [finding.kind for finding in overview.findings]
        overview.query_one(FindingList).highlighted = kinds.index("problem_aic_scalar")
        await do(pilot, overview, "open_row")
        assert app.jumps == [("operators", "problems", "aic_scalar")]


async def test_steps_are_walked_through_and_end_at_the_mean() -> None:
    async with shown(pane(), full_source()) as (overview, pilot):
        seen = []
        for _ in range(4):
            await do(pilot, overview, "next_step")
            seen.append(text_of(pilot).splitlines()[0].split("  ")[-1].strip())
        assert seen == ["step 9", "step 10", "step 11", "mean of 2 steps"]


async def test_steps_are_listed_and_copied() -> None:
    async with shown(pane(), full_source()) as (overview, pilot):
        await do(pilot, overview, "previous_view")
        table = overview.table()
        assert table is not None
        assert table.row_count == 3
        assert overview.allows("copy")


async def test_back_returns_to_what_stands_out() -> None:
    async with shown(pane(), full_source()) as (overview, pilot):
        await do(pilot, overview, "next_view")
        assert overview.trail()[-1] == "core metrics"
        overview.go_back()
        assert overview.trail()[-1] == "what stands out"
        assert not overview.allows("back")


async def test_core_metrics_say_what_they_rest_on() -> None:
    async with shown(pane(), full_source()) as (overview, pilot):
        await do(pilot, overview, "next_view")
        assert "Scenario" in text_of(pilot)


async def test_missing_files_are_named() -> None:
    async with shown(pane(), full_source()) as (_, pilot):
        assert "missing: step_trace_time, op_statistic" in text_of(pilot)


async def test_damage_of_the_trace_stands_below_the_files() -> None:
    async with shown(pane(), full_source()) as (_, pilot):
        last = text_of(pilot).splitlines()[-1]
        assert last == " Trace  6 bars on 3 tracks; ! 2 events lost, cut short, the rest is missing (f)"


async def test_trace_without_faults_says_so() -> None:
    async with shown(pane(), kineto_source()) as (_, pilot):
        assert text_of(pilot).splitlines()[-1] == " Trace  6 bars on 3 tracks; no faults"


async def test_repaired_events_are_no_damage() -> None:
    source = full_source()
    assert isinstance(source.trace_summary, TraceSummary)
    whole = replace(source.trace_summary, damaged=False, repaired=1, lost_events=0, lost_bytes=0)
    async with shown(pane(), replace(source, trace_summary=whole)) as (_, pilot):
        assert "; events repaired: 1 (f)" in text_of(pilot).splitlines()[-1]


async def test_capture_without_a_trace_has_no_line_on_it() -> None:
    async with shown(pane(), ge_source()) as (_, pilot):
        assert " Trace  " not in text_of(pilot)


async def test_finding_on_an_operator_leads_to_its_row() -> None:
    async with shown(pane(), full_source()) as (overview, pilot):
        app = pilot.app
        assert isinstance(app, PaneApp)
        kinds = [finding.kind for finding in overview.findings]
        overview.query_one(FindingList).highlighted = kinds.index("host_aten_copy_")
        await do(pilot, overview, "open_row")
        assert app.jumps == [("host", "operators", "aten::copy_")]


async def test_finding_on_copies_leads_to_the_list_of_copies() -> None:
    async with shown(pane(), full_source()) as (overview, pilot):
        app = pilot.app
        assert isinstance(app, PaneApp)
        kinds = [finding.kind for finding in overview.findings]
        overview.query_one(FindingList).highlighted = kinds.index("copies_host_to_device")
        await do(pilot, overview, "open_row")
        assert app.jumps == [("host", "copies", None)]


async def test_full_value_is_the_finding_with_its_severity_in_words() -> None:
    async with shown(pane(), full_source()) as (overview, _):
        value = overview.full_value()
        assert value is not None
        assert value.startswith("needs action\n")


async def test_language_switch_keeps_the_selected_finding() -> None:
    async with shown(pane(), full_source()) as (overview, pilot):
        overview.query_one(FindingList).highlighted = 3
        overview.relabel(catalogue("zh"))
        await pilot.pause()
        assert overview.query_one(FindingList).highlighted == 3
        assert "主要结论" in text_of(pilot)


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", sorted(ALL_SOURCES))
async def test_every_kind_of_capture_can_be_drawn(name: str, language: str, size: tuple[int, int]) -> None:
    async with shown(pane(language), ALL_SOURCES[name](), size=size) as (overview, pilot):
        await do(pilot, overview, "next_view", "next_view")
        assert text_of(pilot).strip()


# Phases of the hand-made mean step of 1,000 us: 100, 80, 300, 200, 60, 120 and 140 us without one.
PHASE_TIMES = ["P", "100 us", "L", "80.0 us", "F", "300 us", "B", "200 us", "E", "60.0 us", "D", "120 us"]


@pytest.mark.parametrize(("language", "title"), [("en", "Phases"), ("zh", "阶段")])
async def test_phases_of_the_mean_step_stand_below_the_bar(language: str, title: str) -> None:
    async with shown(pane(language), full_source(), size=(160, 40)) as (_, pilot):
        line = next(line for line in text_of(pilot).splitlines() if line.startswith(f" {title}  P "))
        places = [line.index(part) for part in [*PHASE_TIMES, "· ", "140 us"]]
        assert places == sorted(places)


async def test_phases_take_two_lines_of_a_narrow_screen_and_none_is_cut() -> None:
    async with shown(pane(), full_source()) as (_, pilot):
        lines = text_of(pilot).splitlines()
        first = next(place for place, line in enumerate(lines) if line.startswith(" Phases  P "))
        told = lines[first] + lines[first + 1]
        assert all(time in told for time in PHASE_TIMES)
        assert lines[first + 1].startswith(" " * 9)
        assert "140 us" in told


async def test_bars_of_phases_are_drawn_against_the_longest() -> None:
    async with shown(pane(), full_source(), size=(160, 40)) as (_, pilot):
        assert "F ████████ 300 us" in text_of(pilot)
        assert "B █████▍ 200 us" in text_of(pilot)


async def test_without_phases_the_overview_has_no_line_for_them() -> None:
    async with shown(pane(), ge_source()) as (_, pilot):
        assert " Phases  " not in text_of(pilot)
