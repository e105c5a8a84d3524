"""Call trees of the host: one step in the order of its calls (spec P2), the mean step by time (P3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analysis.datafile import load_toml
from analysis.notes import Missing
from analysis.phases.model import UNCLASSIFIED
from analysis.phases.starred import costliest_star, starred
from analysis.phases.trees import bounded
from analysis.report.blocks import MARKS, frame_table, heading, missing_line, note_text, paragraph
from analysis.report.columns import COLUMNS, columns, exact_text
from analysis.report.limits import MAX_TIMES_AVERAGE, TREE_DEPTH, TREE_ROWS
from analysis.report.tables import recorded
from analysis.units import UNKNOWN, count_text, percent_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from analysis.phases.model import Windows
    from analysis.phases.results import Phases, StepTree
    from analysis.report.columns import Column
    from analysis.report.messages import Messages
    from analysis.report.source import ReportSource

_CALL_COLUMNS = columns("name", "total_ns", "calls", "share", "phase", "verdict", "star", "rule")
_ATEN_COLUMNS = columns(
    "name", "total_ns", "share", "calls_per_step", "avg_ns", "max_ns", "star", "thread", "phase"
)
_STEP_COLUMNS = tuple(
    COLUMNS["calls"] if column.key == "calls_per_step" else column for column in _ATEN_COLUMNS
)
_GUIDE = "│ "
"""A level of depth. Blanks alone would be taken away, by some readers also those that do not break."""


def call_tree_blocks(source: ReportSource, phases: Phases, messages: Messages) -> Iterator[str]:
    """What one step calls: the section of the chapter on phases."""
    tree = source.call_tree(None)
    yield heading(3, messages.text("report.section.call_tree"))
    if isinstance(tree, Missing):
        yield missing_line(tree, messages)
        return
    shown = "call_tree_of" if tree.step is not None else "call_tree_whole"
    yield paragraph(*_stars(tree, messages))
    yield paragraph(messages.text(f"report.trees.{shown}", {"step": exact_text("id", tree.step)}))
    low = phases.times.confidence == "low"
    yield _table(tree, _CALL_COLUMNS, messages, low=low)


def chapter(source: ReportSource, messages: Messages) -> list[str]:
    """The operators of the mean step put into each other, all threads merged (spec P3)."""
    tree = source.aten_tree(None)
    if isinstance(tree, Missing):
        return [missing_line(tree, messages)]
    phases = source.phases
    if not isinstance(phases, Missing):
        messages = messages.of_trace(whole=phases.windows.whole_trace)
    several = tree.step is None and tree.steps > 1
    key = "aten_mean" if several else "aten_one" if tree.nodes["name"][0] is not None else "aten_whole"
    values = {"count": count_text(tree.steps), "times": str(MAX_TIMES_AVERAGE)}
    lead = messages.text(f"report.trees.{key}", values)
    return [
        *([] if isinstance(phases, Missing) else doubts(phases.windows, messages)),
        paragraph(*_stars(tree, messages)),
        paragraph(lead),
        _table(tree, _ATEN_COLUMNS if several else _STEP_COLUMNS, messages),
    ]


def doubts(windows: Windows, messages: Messages) -> Iterator[str]:
    """What to know before figures of a cut trace file, of contradicting marks or nameless bars are read."""
    if windows.cut:
        yield paragraph(f"{MARKS[True]} {cut_text(windows, messages)}")
    for note in windows.doubts:
        yield paragraph(f"{MARKS[True]} {note_text(note, messages)}")


def cut_text(windows: Windows, messages: Messages) -> str:
    """Which steps are left out because the file was cut, or that it cannot be told."""
    steps = ", ".join(str(step) for step in windows.lossy)
    return messages.text(f"report.cut_trace.{'steps' if steps else 'unplaced'}", {"steps": steps})


def _stars(tree: StepTree, messages: Messages) -> Iterator[str]:
    """How many nodes cost much, and which of them most."""
    rule = load_toml("analysis.phases", "phases.toml")["star"]
    limits = {
        "blocked": percent_text(rule["blocked_share_at_least"], 0),
        "self": percent_text(rule["self_share_at_least"], 0),
    }
    count = starred(tree).height
    first = costliest_star(tree)
    if first is None:
        yield messages.text("report.trees.no_star", limits)
        return
    values = {
        "count": count_text(count),
        "name": first.name,
        "parent": first.parent or "",
        "thread": first.thread or UNKNOWN,
        "why": messages.text(f"star_why.{first.star}"),
        "time": time_text(first.cost_ns),
        "share": percent_text(first.share),
        "phase": messages.text(f"phase.{first.phase or UNCLASSIFIED}"),
    }
    place = "first_star" if first.parent is None else "first_star_below"
    yield messages.text(f"report.trees.{place}", values)
    yield messages.text("report.trees.stars", {**limits, **values})


def _table(tree: StepTree, shown: tuple[Column, ...], messages: Messages, *, low: bool = False) -> str:
    nodes = bounded(tree, TREE_DEPTH, TREE_ROWS).with_columns(
        pl.when(pl.col("max_ns") > MAX_TIMES_AVERAGE * pl.col("avg_ns")).then("max_ns")
    )
    texts = {
        "name": lambda row: _name(row, messages),
        # Known, but not worth a number.
        "max_ns": lambda row: "" if row["max_ns"] is None else exact_text("time", row["max_ns"]),
        "verdict": lambda row: verdict_text(row["verdict"], messages, low=low),
    }
    # The root of a whole trace has words in place of a name, and may stand alone.
    columns = (shown[0], *recorded(shown[1:], nodes))
    return frame_table(columns, nodes, messages, texts)


def verdict_text(verdict: str | None, messages: Messages, *, low: bool) -> str:
    """The verdict on a pair in words; where phases are uncertain, so is it."""
    if verdict is None:
        return UNKNOWN
    text = messages.text(f"pair_verdict.{verdict}")
    return messages.text("report.low", {"verdict": text}) if low else text


def _name(row: Mapping[str, Any], messages: Messages) -> str:
    name = row["name"]
    if row["cut"] is not None:
        name = messages.text("report.trees.omitted", {"count": count_text(row["cut"])})
    elif name is None:
        name = messages.text("report.trees.whole_trace")
    return f"{_GUIDE * row['depth']}{name}"
