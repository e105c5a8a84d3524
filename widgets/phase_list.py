"""The list of phases of a step: their times, remarks on them, and the story of each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from analysis.phases.heaviest import heaviest_names
from analysis.phases.model import BACKWARD, EMBEDDING_UPDATE, LETTERS, UNCLASSIFIED
from analysis.phases.tables import is_fused, wholly_fused
from analysis.report.blocks import MARKS
from analysis.report.chapters.asynchrony import pair_sentences
from analysis.report.columns import COLUMNS, Column, columns
from analysis.units import count_text, percent_text, time_text
from widgets.level import Level, Story
from widgets.phase_marks import PhaseTable
from widgets.phase_stories import NAME_CELLS, phase_name
from widgets.safe_text import cut
from widgets.stories import exact_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.phases.results import Phases
    from analysis.report.messages import Messages
    from widgets.level import Row
    from widgets.phase_levels import PhaseLevels

_REMARK: Final = Column("remark", "column.remark", "text", 14)
_PHASES: Final = (
    replace(COLUMNS["phase"], width=22),
    *columns("attributed_ns", "share", "main_thread_ns"),
    _REMARK,
    *columns("autograd_ns", "other_threads_ns", "inferred_ns"),
)
_PHASE_FACTS: Final = columns(
    "main_thread_ns", "attributed_ns", "share", "inferred_ns", "autograd_ns", "other_threads_ns"
)
_WAITS_TOLD = 5
_PRODUCER_CELLS = 80


def phase_list(phases: Phases, levels: PhaseLevels, step: int | None, messages: Messages) -> Level:
    """The seven rows of a step, or of the mean; remarks are words of one language."""
    heaviest: list[pl.DataFrame] = []

    def read() -> pl.DataFrame:
        heaviest[:] = [heaviest_names(phases.classified, phases.windows, step)]
        rows = _of_step(phases, step)
        remarks = [" · ".join(_remarks(row, step, phases, messages)) for row in rows.iter_rows(named=True)]
        return rows.with_columns(pl.Series("remark", remarks, pl.String))

    return Level(
        crumb=lambda words: words.text("view.phases.phases"),
        columns=_PHASES,
        frame=read,
        story=lambda row, words: _story(row, step, heaviest[0], phases, words),
        opens=lambda row: levels.phase_tree(row["phase"], step),
        identity=("phase",),
        table=PhaseTable,
        again=lambda other: phase_list(phases, levels, other, messages),
    )


def _of_step(phases: Phases, step: int | None) -> pl.DataFrame:
    """The seven rows."""
    if step is None:
        return phases.times.mean
    return phases.times.by_step.filter(pl.col("step") == step)


def _waits_of(phase: str, step: int | None, phases: Phases) -> pl.DataFrame:
    """Waits inside a phase: name, ns, producer, flagged."""
    waits, key = (
        (phases.waits.by_name, "per_step_ns")
        if step is None
        else (phases.waits.by_step.filter(pl.col("step") == step), "total_ns")
    )
    wanted = pl.lit(None if phase == UNCLASSIFIED else phase, pl.String)
    return waits.filter(pl.col("phase").eq_missing(wanted)).select(
        "name", pl.col(key).alias("ns"), "producer", "flagged"
    )


def _remarks(row: Row, step: int | None, phases: Phases, messages: Messages) -> Iterator[str]:
    """What is worth knowing of a phase beside its times, in a few words each."""
    phase = row["phase"]
    if row["attributed_ns"] is None:
        yield messages.text("remark.unnamed")
        return
    waits = _waits_of(phase, step, phases)
    if int(waits["ns"].sum()):
        mark = f"{MARKS[True]} " if waits["flagged"].any() else ""
        yield mark + messages.text("remark.waits", {"time": time_text(int(waits["ns"].sum()))})
    if phase == EMBEDDING_UPDATE and wholly_fused(phases.times):
        yield messages.text("remark.fused")
    if phase == BACKWARD and row["inferred_ns"]:
        yield messages.text("remark.inferred", {"time": time_text(row["inferred_ns"])})
    if phase == UNCLASSIFIED:
        remainder = _remainder(step, phases)
        if remainder["device_sync_ns"]:
            yield messages.text("remark.syncs", {"time": time_text(remainder["device_sync_ns"])})
    pair = phases.pair_of(phase)
    if pair is not None and pair.verdict != "not_observable" and not is_fused(phases.times, pair):
        other = next(side for side in pair.phases if side != phase)
        sure = "?" if phases.times.confidence == "low" else ""
        verdict = messages.text(f"pair_verdict.{pair.verdict}") + sure
        values = {"verdict": verdict, "other": LETTERS[other]}
        yield messages.text("remark.pair", values)


def _remainder(step: int | None, phases: Phases) -> dict[str, Any]:
    if step is None:
        return dict(phases.times.mean_remainder)
    return phases.times.steps.filter(pl.col("step") == step).row(0, named=True)


def _story(row: Row, step: int | None, heaviest: pl.DataFrame, phases: Phases, messages: Messages) -> Story:
    phase = row["phase"]
    lead: list[str] = []
    for wait in _waits_of(phase, step, phases).head(_WAITS_TOLD).iter_rows(named=True):
        producer = wait["producer"]
        values = {"name": cut(wait["name"], _PRODUCER_CELLS), "time": time_text(wait["ns"])}
        line = messages.text("story.wait", values)
        if producer is not None:
            line += messages.text("story.wait_for", {"name": cut(producer, _PRODUCER_CELLS)})
        lead.append(f"{MARKS[bool(wait['flagged'])]} {line}")
    lines = []
    pair = phases.pair_of(phase)
    if pair is not None:
        lines += pair_sentences(pair, phases, messages)
    if phase == UNCLASSIFIED:
        lead += _remainder_lines(step, phases, messages)
    else:
        names = heaviest.filter(pl.col("phase") == phase)
        if names.height:
            lines.append(messages.text("story.heaviest"))
            lines += [_name_line(name, messages) for name in names.iter_rows(named=True)]
    return Story(phase_name(phase, messages), exact_pairs(_PHASE_FACTS, row, messages), lines, lead)


def _name_line(row: Row, messages: Messages) -> str:
    values = {
        "time": time_text(row["self_ns"]),
        "calls": count_text(row["calls"]),
        "name": cut(row["name"], NAME_CELLS),
    }
    return messages.text("story.name", values)


def _remainder_lines(step: int | None, phases: Phases, messages: Messages) -> list[str]:
    """What the time without a phase consists of, and the largest names in it."""
    parts, times = _remainder(step, phases), phases.times
    lines = []
    for part in ("device_sync_ns", "named_ns", "no_event_ns"):
        share = parts[part] / parts["step_ns"] if parts["step_ns"] else None
        words = messages.text(f"remainder.{part}")
        lines.append(f"{time_text(parts[part])}  {percent_text(share)}  {words}")
    named = times.mean_named if step is None else times.named.filter(pl.col("step") == step)
    if named.height:
        lines.append(messages.text("story.named"))
    lines += [
        f"  {time_text(row['exclusive_ns'])}  {cut(row['name'], 120)}" for row in named.iter_rows(named=True)
    ]
    return lines
