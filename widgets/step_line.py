"""The line above the lists of a step: which step, how long, its largest phase, what has no phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analysis.phases.model import LETTERS, ROWS, UNCLASSIFIED
from analysis.phases.tables import step_head
from analysis.units import count_text, percent_text, time_text
from widgets.frame_line import Part, fitting_parts, line_width

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.notes import Value
    from analysis.phases.results import Phases
    from analysis.report.messages import Messages

_SHORTENED = ("largest", "step", "unclassified", "time")
"""What gets shorter words where the line is too long, in this order; the lists tell the rest."""
_KEPT = ("step", "unclassified", "largest", "time")
"""What stays longest where even the shortest words are too long."""
_MOST_RUNS = 3
"""More stretches of numbers than this are no help on one line; the list of steps tells them."""
_ARROWS = (Part("previous_step", "◂"), Part("next_step", "▸"))

Words = dict[str, tuple[str, str]]
"""Of every part its full and its short words, in the order on the line."""


def step_line(phases: Phases, step: int | None, messages: Messages, width: int) -> tuple[Part, ...]:
    """The fullest words that fit; where none do, whole parts are left out, so that no number is cut.

    Args:
        phases: The phases of the trace.
        step: None is the mean, or the whole trace.
        messages: The language.
        width: Cells of the line.
    """
    words = _words(phases, step, messages)
    for parts in _wordings(words, turns=phases.windows.frame.height > 1):
        if line_width(parts) <= width:
            return parts
    ranked = [(_KEPT.index(name), Part("", brief)) for name, (_, brief) in words.items()]
    return fitting_parts(ranked, width)


def _wordings(words: Words, *, turns: bool) -> Iterator[tuple[Part, ...]]:
    """The line in ever fewer words, at last without the arrows."""
    for count in range(len(_SHORTENED) + 1):
        yield _parts(words, _SHORTENED[:count], turns=turns)
    yield _parts(words, _SHORTENED, turns=False)


def _parts(words: Words, shortened: tuple[str, ...], *, turns: bool) -> tuple[Part, ...]:
    first, *others = (Part("", told[name in shortened]) for name, told in words.items())
    return (first, *(_ARROWS if turns else ()), *others)


def _words(phases: Phases, step: int | None, messages: Messages) -> Words:
    head = step_head(phases.times, step)
    time = time_text(head.step_ns)
    share = percent_text(head.unclassified_share)
    of_all = {"share": share, "sync": time_text(head.device_sync_ns)}
    told = messages.text("steps.whole_time" if phases.windows.whole_trace else "steps.time", {"time": time})
    words = {"step": _step_words(phases, step, messages), "time": (told, time)}
    largest = _largest(phases, step, messages)
    if largest is not None:
        words["largest"] = largest
    words["unclassified"] = (
        messages.text("steps.unclassified", of_all),
        messages.text("steps.unclassified_brief", {"share": share}),
    )
    return words


def _step_words(phases: Phases, step: int | None, messages: Messages) -> tuple[str, str]:
    if phases.windows.whole_trace:
        return messages.text("steps.whole_trace"), messages.text("steps.whole_brief")
    if step is None:
        return _mean_words(phases.windows.averaged["step"].to_list(), messages)
    brief = messages.text("bar.step", {"step": step})
    steps = _runs_text(phases.windows.frame["step"].to_list())
    if steps in ("", str(step)):
        return brief, brief
    return messages.text("steps.one", {"step": step, "steps": steps}), brief


def _mean_words(averaged: list[int], messages: Messages) -> tuple[str, str]:
    steps = _runs_text(averaged)
    values: dict[str, Value] = {"count": count_text(len(averaged)), "steps": steps}
    if len(averaged) == 1:
        return messages.text("steps.mean_of_one", values), messages.text("bar.step", {"step": steps})
    brief = messages.text("steps.mean_brief", values)
    return (messages.text("steps.mean", values) if steps else brief), brief


def _runs_text(steps: list[int]) -> str:
    """The numbers in order, those that follow each other as first and last; empty where they are too torn."""
    runs: list[list[int]] = []
    for step in sorted(steps):
        if runs and step == runs[-1][-1] + 1:
            runs[-1].append(step)
        else:
            runs.append([step])
    if len(runs) > _MOST_RUNS:
        return ""
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def _largest(phases: Phases, step: int | None, messages: Messages) -> tuple[str, str] | None:
    """The phase that takes most of the step, of two as large the first; None where none takes any time."""
    times = phases.times
    rows = times.mean if step is None else times.by_step.filter(pl.col("step") == step)
    known = rows.filter(pl.col("phase") != UNCLASSIFIED, pl.col("attributed_ns") > 0)
    if known.is_empty():
        return None
    row = max(known.iter_rows(named=True), key=lambda row: (row["attributed_ns"], -ROWS.index(row["phase"])))
    letter, share = LETTERS[row["phase"]], percent_text(row["share"])
    values: dict[str, Value] = {
        "letter": letter,
        "phase": messages.text(f"phase.{row['phase']}"),
        "share": share,
    }
    return messages.text("steps.largest", values), f"{letter} {share}"
