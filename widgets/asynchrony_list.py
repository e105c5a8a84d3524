"""The list of what runs beside what: pairs of phases, prefetching, how far each stage is ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from analysis.phases.tables import depth_rows
from analysis.report.chapters.asynchrony import pair_sentences, prefetch_text
from analysis.report.columns import COLUMNS, Column, columns
from analysis.report.escape import visible
from analysis.report.tables import PREFETCH_EVENTS
from widgets.frame_table import Sort
from widgets.level import Level, Story, arranged
from widgets.phase_stories import TITLE_CELLS
from widgets.safe_text import cut
from widgets.stories import exact_pairs

if TYPE_CHECKING:
    from analysis.phases.results import Depth, Pair, Phases
    from analysis.report.messages import Messages
    from widgets.phase_levels import PhaseLevels

_ASYNCHRONY: Final = (
    Column("subject", "column.subject", "text", 28, words="asynchrony"),
    Column("answer", "column.answer", "text", 14, words="asynchrony_answer"),
    Column("ahead", "column.batches", "text", 4),
    *columns("host_ratio", "device_ratio"),
    COLUMNS["evidence"],
)
_SCHEMA: Final = {
    "subject": pl.String(),
    "answer": pl.String(),
    "host_ratio": pl.Float64(),
    "device_ratio": pl.Float64(),
    "ahead": pl.String(),
    "evidence": pl.String(),
}
_PAIR = "pair_"
_STAGE = "stage_"
_PREFETCH = "prefetch"
"""Subjects: the pair or the stage of this number or name, and prefetching as a whole."""
_PREFETCH_ANSWERS: Final = {True: "present", False: "absent", None: "unknown"}
_NAMES_CELLS = 400


def asynchrony_list(phases: Phases, levels: PhaseLevels, step: int | None) -> Level:
    """Both pairs, prefetching, how far each stage is ahead; each opens the names it was told from."""
    frame = _rows(phases)
    return Level(
        crumb=lambda messages: messages.text("view.phases.asynchrony"),
        columns=arranged(_ASYNCHRONY, frame),
        frame=frame,
        story=lambda row, messages: _story(row["subject"], phases, messages),
        opens=lambda row: _names(row["subject"], phases, levels, step),
        identity=("subject",),
        again=lambda other: asynchrony_list(phases, levels, other),
    )


def _rows(phases: Phases) -> pl.DataFrame:
    pairs = [
        {
            "subject": f"{_PAIR}{place}",
            "answer": pair.verdict,
            "host_ratio": pair.host_ratio,
            "device_ratio": pair.device_ratio,
        }
        for place, pair in enumerate(phases.pairs)
    ]
    prefetch, nearest = phases.prefetch, phases.prefetch.nearest
    overall = {
        "subject": _PREFETCH,
        "answer": _PREFETCH_ANSWERS[prefetch.present],
        "ahead": None if nearest is None else _ahead(nearest.batches, at_least=nearest.at_least),
    }
    stages = [
        {
            "subject": f"{_STAGE}{row['stage']}",
            "ahead": _ahead(row["batches"], at_least=row["at_least"]),
            "evidence": row["evidence"],
        }
        for row in depth_rows(prefetch.depths).iter_rows(named=True)
    ]
    return pl.DataFrame([*pairs, overall, *stages], schema=_SCHEMA)


def _ahead(batches: int | None, *, at_least: bool) -> str | None:
    if batches is None:
        return None
    return f">= {batches}" if at_least else str(batches)


def _pair(subject: str, phases: Phases) -> Pair:
    return phases.pairs[int(subject.removeprefix(_PAIR))]


def _depth(subject: str, phases: Phases) -> Depth:
    stage = subject.removeprefix(_STAGE)
    return next(depth for depth in phases.prefetch.depths if depth.stage == stage)


def _names(subject: str, phases: Phases, levels: PhaseLevels, step: int | None) -> Level | None:
    """The heaviest names of a pair of phases; the events that prefetching, or a stage, was told from."""
    if subject.startswith(_PAIR):
        return levels.heaviest(_pair(subject, phases).phases, step, f"asynchrony.{subject}")
    events = phases.prefetch.events
    if subject.startswith(_STAGE):
        events = events.filter(pl.col("name").is_in(_depth(subject, phases).names))
    if events.is_empty():
        return None
    return Level(
        crumb=lambda messages: messages.text(f"asynchrony.{subject}"),
        columns=PREFETCH_EVENTS,
        frame=events,
        story=lambda event, messages: Story(
            cut(event["name"] or "", TITLE_CELLS), exact_pairs(PREFETCH_EVENTS[1:], event, messages)
        ),
        identity=("name", "why"),
        sort=Sort("total_ns", descending=True),
    )


def _story(subject: str, phases: Phases, messages: Messages) -> Story:
    title = messages.text(f"asynchrony.{subject}")
    if subject.startswith(_PAIR):
        return Story(title, (), pair_sentences(_pair(subject, phases), phases, messages))
    if subject.startswith(_STAGE):
        return Story(title, (), _stage_lines(_depth(subject, phases), messages))
    return Story(title, (), [prefetch_text(phases.prefetch, messages)])


def _stage_lines(depth: Depth, messages: Messages) -> list[str]:
    lines = [messages.text(f"depth.{depth.evidence}")]
    if depth.behind is not None:
        lines.append(messages.text("story.behind", {"stage": messages.text(f"stage.{depth.behind}")}))
    if depth.names:
        names = "; ".join(visible(name) for name in depth.names)
        lines.append(messages.text("story.read_from", {"names": cut(names, _NAMES_CELLS)}))
    return lines
