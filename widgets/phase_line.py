"""The second bar of the overview: what each phase takes of the mean step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from analysis.phases.model import LETTERS
from analysis.units import time_text
from widgets.meter import bar_text

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

_BAR_CELLS = 8
_GAP = 3


def phase_line(rows: pl.DataFrame, title: str, width: int, style_of: Callable[[str], str]) -> Text:
    """The phases that take any time, each with letter, bar and time, on as many lines as they need.

    Args:
        rows: The rows of ``PhaseTimes.mean``, or of one step.
        title: What they are of, in words.
        width: Cells there are.
        style_of: Style of a phase's letter and bar.
    """
    line = Text(f" {title}", "bold", no_wrap=True, overflow="ellipsis")
    line.append("  ", "not bold")
    indent = line.cell_len
    lines = [line]
    longest = rows["attributed_ns"].max()
    for row in rows.iter_rows(named=True):
        if not row["attributed_ns"] or not isinstance(longest, int):
            continue
        bar = bar_text(row["attributed_ns"] / longest, _BAR_CELLS).rstrip()
        part = Text(style="not bold")
        part.append(f"{LETTERS[row['phase']]} {bar}", style_of(row["phase"]))
        part.append(f" {time_text(row['attributed_ns'])}")
        if lines[-1].cell_len > indent and lines[-1].cell_len + _GAP + part.cell_len > width:
            lines.append(Text(" " * indent, no_wrap=True))
        if lines[-1].cell_len > indent:
            lines[-1].append(" " * _GAP)
        lines[-1].append_text(part)
    return Text("\n", no_wrap=True).join(lines)
