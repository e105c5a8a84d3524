"""The list of steps side by side, and what makes the slowest of them slow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import polars as pl

from analysis.phases.tables import growth_rows, step_rows
from analysis.report.blocks import MARKS
from analysis.report.chapters.phases import short_steps
from analysis.report.columns import COLUMNS, Column, value_text
from analysis.report.tables import GROWTHS, STEP_PHASES
from analysis.units import percent_text, time_text
from widgets.level import Level, Story
from widgets.phase_stories import NAME_CELLS, phase_name
from widgets.safe_text import cut
from widgets.stories import exact_pairs

if TYPE_CHECKING:
    from analysis.phases.results import Phases
    from analysis.report.messages import Messages
    from widgets.level import Row
    from widgets.phase_levels import PhaseLevels

_STEPS: Final = (
    *STEP_PHASES,
    COLUMNS["waits_ns"],
    Column("sync_anywhere_ns", "column.sync_anywhere_ns", "time"),
    Column("excluded", "column.excluded", "flag", words="report.word"),
)


def step_list(phases: Phases, levels: PhaseLevels) -> Level:
    """A step a row; Enter opens its call tree."""
    return Level(
        crumb=lambda messages: messages.text("view.phases.steps"),
        columns=_STEPS,
        frame=_rows(phases),
        story=lambda row, messages: _story(row, phases, messages),
        opens=lambda row: None if row["step"] is None else _step_tree(int(row["step"]), levels),
        identity=("step",),
    )


def _rows(phases: Phases) -> pl.DataFrame:
    waits = pl.DataFrame(
        {"step": list(phases.waits.per_step_ns), "waits_ns": list(phases.waits.per_step_ns.values())},
        schema={"step": pl.Int64(), "waits_ns": pl.Int64()},
    )
    syncs = phases.times.steps.select("step", "sync_anywhere_ns")
    frame = step_rows(phases.times)
    for part in (waits, syncs):
        frame = frame.join(part, on="step", how="left", nulls_equal=True, maintain_order="left")
    return frame


def _step_tree(step: int, levels: PhaseLevels) -> Level:
    return replace(
        levels.call_tree(step),
        crumb=lambda messages: messages.text("bar.step", {"step": step}),
        again=lambda other: None if other is None else _step_tree(other, levels),
    )


def _story(row: Row, phases: Phases, messages: Messages) -> Story:
    lines = []
    variation = phases.variation
    if variation is not None:
        values = {
            "step": str(variation.slowest),
            "time": time_text(variation.slowest_ns),
            "others": time_text(variation.others_ns),
            "spread": percent_text(variation.spread),
        }
        lines.append(f"{MARKS[variation.flagged]} {messages.text('story.variation', values)}")
        if variation.short:
            short = {"steps": short_steps(variation, messages)}
            lines.append(f"{MARKS[True]} {messages.text('story.short_steps', short)}")
        grown = growth_rows(growth for growth in (*variation.phases, *variation.names) if growth.grown_ns > 0)
        lines += [_growth_line(growth, messages) for growth in grown.iter_rows(named=True)]
    title = messages.text("bar.step", {"step": "–" if row["step"] is None else row["step"]})
    why = "steps.lossy" if row["step"] in phases.windows.lossy else "steps.excluded"
    excluded = [messages.text(why)] if row["excluded"] else []
    return Story(title, exact_pairs(_STEPS[1:], row, messages), lines, excluded)


def _growth_line(row: Row, messages: Messages) -> str:
    kind = value_text(GROWTHS[0], row["growth"], messages, exact=False)
    phase = "" if row["phase"] is None else phase_name(row["phase"], messages)
    name = "" if row["name"] is None else cut(row["name"], NAME_CELLS)
    what = name or (phase if row["growth"] == "phase" else kind)
    values = {
        "more": time_text(row["grown_ns"]),
        "ns": time_text(row["this_ns"]),
        "others": time_text(row["others_ns"]),
    }
    return messages.text("story.grown", {"what": what, **values})
