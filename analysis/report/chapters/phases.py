"""Phases of a training step: what each takes, what has none, how steps differ, what one step calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analysis.datafile import load_toml
from analysis.notes import Missing
from analysis.phases.model import UNCLASSIFIED
from analysis.phases.tables import growth_rows, largest_phase, step_rows, wholly_fused
from analysis.report.blocks import (
    MARKS,
    Head,
    bullets,
    cut_line,
    frame_table,
    heading,
    missing_line,
    paragraph,
)
from analysis.report.blocks import table as markdown_table
from analysis.report.chapters.steps import step_name
from analysis.report.chapters.trees import call_tree_blocks, doubts
from analysis.report.columns import exact_text
from analysis.report.limits import GROWTH_SHARE, SHORT_STEPS, STEP_ROWS
from analysis.report.tables import GROWTHS, NAMED_PER_STEP, PHASES, STEP_PHASES, recorded
from analysis.units import count_text, percent_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.phases.model import PhaseTimes
    from analysis.phases.results import Phases, Variation
    from analysis.report.columns import Column
    from analysis.report.messages import Messages
    from analysis.report.source import ReportSource

_PARTS = ("device_sync_ns", "named_ns", "no_event_ns")


def chapter(source: ReportSource, messages: Messages) -> list[str]:
    """Phase table of the mean step (spec P1), every step, variation (P6), call tree (P2)."""
    phases = source.phases
    if isinstance(phases, Missing):
        return [missing_line(phases, messages)]
    messages = messages.of_trace(whole=phases.windows.whole_trace)
    return [
        *doubts(phases.windows, messages),
        paragraph(*_lead(phases, messages)),
        bullets(_remarks(phases, messages)),
        frame_table(_phase_columns(phases.times), phases.times.mean, messages),
        paragraph(messages.text("report.phases.legend")),
        *_remainder(phases.times, messages),
        *_steps(phases, messages),
        *_variation(phases.variation, messages),
        *call_tree_blocks(source, phases, messages),
    ]


def _limit(table: str, key: str) -> float:
    return float(load_toml("analysis.phases", "phases.toml")[table][key])


def _phase_columns(times: PhaseTimes) -> tuple[Column, ...]:
    """Inferred time is a column only where there is some."""
    inferred = bool(times.mean["inferred_ns"].sum())
    return tuple(column for column in PHASES if inferred or column.key != "inferred_ns")


def _lead(phases: Phases, messages: Messages) -> Iterator[str]:
    largest = largest_phase(phases.times)
    low = _unclassified(phases.times, messages)
    if largest is None:
        step = time_text(phases.times.mean_remainder["step_ns"])
        yield messages.text("report.phases.none", {"step": step})
    else:
        values = {
            "phase": messages.text(f"phase.{largest.phase}"),
            "time": time_text(largest.attributed_ns),
            "share": percent_text(largest.share),
            "step": time_text(largest.step_ns),
            "confidence": _sure(phases.times, messages),
        }
        text = messages.text("report.phases.largest", values)
        # What is uncertain most of the time is said before what is known of the rest.
        yield from (low, text) if largest.attributed_ns < _unclassified_ns(phases.times) else (text, low)
    yield _basis(phases, messages)


def _sure(times: PhaseTimes, messages: Messages) -> str:
    """What follows a verdict on phases: nothing, or that it is uncertain."""
    return messages.text(f"sure.{times.confidence}")


def _unclassified(times: PhaseTimes, messages: Messages) -> str:
    """What has no phase, where that is much, and what it consists of mostly."""
    if times.confidence != "low":
        return ""
    parts = times.mean_remainder
    largest = max(_PARTS, key=lambda part: parts[part])
    unclassified_ns = _unclassified_ns(times)
    return messages.text(
        "report.phases.low_confidence",
        {
            "step": time_text(parts["step_ns"]),
            "share": percent_text(unclassified_ns / parts["step_ns"]),
            "limit": percent_text(_limit("confidence", "unclassified_above"), 0),
            "part": messages.text(f"remainder.{largest}"),
            "time": time_text(parts[largest]),
        },
    )


def _unclassified_ns(times: PhaseTimes) -> int:
    return int(times.mean.row(by_predicate=pl.col("phase") == UNCLASSIFIED, named=True)["attributed_ns"])


def _basis(phases: Phases, messages: Messages) -> str:
    if phases.windows.whole_trace:
        return messages.text("report.phases.whole_trace")
    averaged, compiled = phases.windows.averaged.height, len(phases.windows.compile_steps)
    return messages.text(
        f"report.phases.{'basis_excluded' if compiled else 'basis'}",
        {"count": count_text(averaged), "excluded": count_text(compiled)},
    )


def _remarks(phases: Phases, messages: Messages) -> Iterator[str]:
    """What must be known to read the table right."""
    times = phases.times
    inferred_ns = int(times.mean["inferred_ns"].sum())
    if inferred_ns:
        yield messages.text("report.phases.inferred", {"time": time_text(inferred_ns)})
    if times.fused_update:
        whole = wholly_fused(times)
        key = "fused_update" if whole else "partly_fused_update"
        yield messages.text(f"report.phases.{key}", {"confidence": _sure(times, messages)})
    if times.misplaced_backward:
        values = {
            "count": count_text(times.misplaced_backward),
            "tied": count_text(times.tied_backward),
        }
        yield messages.text("report.phases.misplaced_backward", values)


def _remainder(times: PhaseTimes, messages: Messages) -> Iterator[str]:
    yield heading(3, messages.text("report.section.unclassified"))
    parts = times.mean_remainder
    heads = [
        Head(messages.text("report.head.part")),
        Head(messages.text("report.head.time_us"), numeric=True),
        Head(messages.text("report.head.share_of_step"), numeric=True),
    ]
    yield markdown_table(
        heads,
        (
            [
                messages.text(f"remainder.{part}"),
                exact_text("time", parts[part]),
                exact_text("share", parts[part] / parts["step_ns"] if parts["step_ns"] else None),
            ]
            for part in _PARTS
        ),
    )
    if times.mean_named.height:
        yield paragraph(messages.text("report.phases.named"))
        yield frame_table(NAMED_PER_STEP, times.mean_named, messages)


def _steps(phases: Phases, messages: Messages) -> Iterator[str]:
    rows = step_rows(phases.times)
    if phases.windows.whole_trace or rows.height < 2:
        return
    yield heading(3, messages.text("report.section.step_phases"))
    if rows.height > STEP_ROWS:
        yield cut_line(STEP_ROWS, rows.height, "steps", messages)
    texts = {"step": lambda row: step_name(row, messages)}
    yield frame_table(STEP_PHASES, rows.head(STEP_ROWS), messages, texts)


def _variation(variation: Variation | None, messages: Messages) -> Iterator[str]:
    if variation is None:
        return
    yield heading(3, messages.text("report.section.variation"))
    values = {
        "spread": percent_text(variation.spread),
        "limit": percent_text(_limit("variation", "spread_above"), 0),
        "step": exact_text("id", variation.slowest),
        "time": time_text(variation.slowest_ns),
        "others": time_text(variation.others_ns),
        "median": time_text(variation.median_ns),
        "steps": short_steps(variation, messages),
    }
    if variation.short:
        yield paragraph(f"{MARKS[True]} {messages.text('report.variation.short', values)}")
    key = "stands_out" if variation.flagged else "even"
    yield paragraph(f"{MARKS[variation.flagged]} {messages.text(f'report.variation.{key}', values)}")
    least_ns = GROWTH_SHARE * (variation.slowest_ns - variation.others_ns)
    growths = (*variation.phases, *variation.names)
    grown = growth_rows(growth for growth in growths if growth.grown_ns > least_ns)
    if variation.flagged and grown.height:
        yield frame_table(recorded(GROWTHS, grown), grown, messages)


def short_steps(variation: Variation, messages: Messages) -> str:
    """The steps that are unusually short with their times, the first few of them."""
    told = [
        messages.text("report.variation.short_step", {"step": str(step), "time": time_text(ns)})
        for step, ns in variation.short[:SHORT_STEPS]
    ]
    more = ["…"] if len(variation.short) > SHORT_STEPS else []
    return messages.text("report.comma").join([*told, *more])
