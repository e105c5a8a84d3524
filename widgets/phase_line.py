"""The second bar of the overview: what each phase takes of the mean step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from analysis.phases.model import LETTERS
from analysis.units import time_text
from widgets.meter import bar_text
from widgets.safe_text import PHRASE_GAP, packed_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

_BAR_CELLS = 8
_BRIEF_GAP = 2


def phase_line(rows: pl.DataFrame, title: str, width: int, style_of: Callable[[str], str]) -> Text:
    """The phases that take any time, each with letter, bar and time, on as many lines as they need.

    Args:
        rows: The rows of ``PhaseTimes.mean``, or of one step.
        title: What they are of, in words.
        width: Cells there are.
        style_of: Style of a phase's letter and bar.
    """
    head = Text.assemble((f" {title}", "bold"), "  ")
    phrases = []
    longest = rows["attributed_ns"].max()
    for phase, ns in _times(rows):
        bar = bar_text(ns / longest, _BAR_CELLS).rstrip() if isinstance(longest, int) else ""
        phrases.append(Text.assemble((f"{LETTERS[phase]} {bar}", style_of(phase)), f" {time_text(ns)}"))
    lines = packed_texts(phrases, width - head.cell_len, PHRASE_GAP)
    return head + Text("\n" + " " * head.cell_len).join(lines)


def brief_phase_line(
    rows: pl.DataFrame,
    title: str,
    width: int,
    style_of: Callable[[str], str],
    more: Callable[[int], str],
) -> Text:
    """The same on one line: letters and times of the largest phases that fit, in the order of phases.

    Args:
        rows: The rows of ``PhaseTimes.mean``, or of one step.
        title: What they are of, in words.
        width: Cells there are.
        style_of: Style of a phase's letter.
        more: Words for how many phases are left out, and where they stand.
    """
    times = _times(rows)
    by_size = sorted(range(len(times)), key=lambda place: (-times[place][1], place))
    line = Text()
    for count in range(len(times), -1, -1):
        kept = [times[place] for place in sorted(by_size[:count])]
        phrases = [
            Text.assemble((LETTERS[phase], style_of(phase)), f" {time_text(ns)}") for phase, ns in kept
        ]
        if count < len(times):
            phrases.append(Text(more(len(times) - count), "dim"))
        gap = Text(" " * _BRIEF_GAP)
        line = gap.join([Text(f" {title}", "bold"), *phrases])
        if line.cell_len <= width:
            break
    return line


def _times(rows: pl.DataFrame) -> list[tuple[str, int]]:
    """Phase and time of those that take any."""
    return [(phase, ns) for phase, ns in rows.select("phase", "attributed_ns").rows() if ns]
