"""The first bar of the overview: where the time of a step or an iteration goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.text import Text

from analysis.notes import Missing
from analysis.units import three_digits, time_text
from widgets.meter import FILLS, stacked_bar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from analysis.metrics import CoreMetrics
    from analysis.report.messages import Messages

_MOST_BAR_CELLS = 64
_BETWEEN = "   "
"""What stands between remarks."""
_PARTS = (("computing", "computing_ns"), ("exposed", "not_overlapped_ns"), ("free", "free_ns"))


@dataclass(frozen=True, slots=True)
class TimeBar:
    """A title, parts that make up a whole, and remarks on the right and below."""

    title: str
    parts: tuple[tuple[str, int], ...]
    """(words, ns) of every part."""
    aside: str = ""
    below: str = ""

    def drawn(self, width: int, styles: Sequence[str]) -> Text:
        """Bar, legend and remarks in ``width`` cells; the legend repeats the fill characters."""
        text = Text(no_wrap=True, overflow="crop")
        text.append(f" {self.title}", "bold")
        if not self.parts:
            text.append(f"\n {self.below}" if self.below else "")
            return text
        taken = cell_len(self.title) + cell_len(self.aside) + 6
        text.append("  ")
        indent = cell_len(self.title) + 3
        bar = stacked_bar(
            [ns for _, ns in self.parts], max(10, min(_MOST_BAR_CELLS, width - taken)), styles=styles
        )
        text.append_text(bar)
        text.append(f"  {self.aside}\n")
        legend = Text()
        for index, (words, ns) in enumerate(self.parts):
            legend.append("   " if index else "")
            legend.append(FILLS[index % len(FILLS)], styles[index % len(styles)] if styles else "")
            legend.append(f" {words} {time_text(ns)}")
        room = width - legend.cell_len - 1
        text.append(" " * min(indent, max(1, room)))
        text.append_text(legend)
        for line in _lines(self.below, width - 2):
            text.append(f"\n{' ' * min(indent, max(1, width - cell_len(line) - 1))}{line}")
        return text


def time_bar(metrics: CoreMetrics, step: Mapping[str, Any] | None, messages: Messages) -> TimeBar:
    """The bar of the mean, or of one step.

    Args:
        metrics: Core metrics.
        step: A row of ``metrics.steps``; None for the mean.
        messages: The language.
    """
    below = _below(metrics, messages)
    if metrics.headline is None:
        return TimeBar(messages.text("bar.none"), (), below=below)
    name, value = metrics.headline
    key = f"bar.{metrics.step_side}" if name == "step" else f"headline.{name}"
    title = messages.text(key, {"time": time_text(value.value_ns)})
    if name == "iteration" and metrics.h2d and metrics.model_execute and metrics.d2h:
        parts = tuple(
            (messages.text(f"bar.{key}"), time.value_ns)
            for key, time in (
                ("h2d", metrics.h2d),
                ("model_execute", metrics.model_execute),
                ("d2h", metrics.d2h),
            )
        )
        return TimeBar(
            title, parts, messages.text("bar.iterations", {"count": metrics.iterations.count}), below
        )
    decomposition = metrics.step_trace
    if isinstance(decomposition, Missing):
        return TimeBar(title, (), below=below)
    if step is not None:
        title = messages.text("bar.device_step", {"time": time_text(step["wall_ns"])})
        parts = tuple((messages.text(f"bar.{key}"), int(step[column])) for key, column in _PARTS)
        below = messages.text("bar.below_mean", {"below": below}) if below else ""
        return TimeBar(title, parts, messages.text("bar.step", {"step": step["step"]}), below)
    parts = tuple(
        (messages.text(f"bar.{key}"), int(getattr(decomposition, column))) for key, column in _PARTS
    )
    count = metrics.iterations.count
    key = "bar.whole_run" if decomposition.whole_run else "bar.mean" if count > 1 else "bar.single"
    aside = messages.text(key, {"count": count})
    if name == "step" and decomposition.wall_ns != value.value_ns:
        # The step on the host may be longer than what the parts add up to.
        aside = messages.text("bar.of_wall", {"steps": aside, "wall": time_text(decomposition.wall_ns)})
    if decomposition.copies_ns is not None:
        copies = messages.text("bar.copies", {"time": time_text(decomposition.copies_ns)})
        below = _BETWEEN.join(part for part in (copies, below) if part)
    return TimeBar(title, parts, aside, below)


def _below(metrics: CoreMetrics, messages: Messages) -> str:
    parts = []
    if metrics.throughput is not None:
        unit = messages.text(f"report.unit.{metrics.throughput.unit}")
        parts.append(
            messages.text("bar.throughput", {"value": three_digits(metrics.throughput.value), "unit": unit})
        )
    if metrics.instance_room is not None and metrics.instance_room > 0:
        parts.append(messages.text("bar.room", {"count": metrics.instance_room}))
    if metrics.op_time is not None:
        parts.append(messages.text("bar.operators", {"time": time_text(metrics.op_time.value_ns)}))
    return _BETWEEN.join(parts)


def _lines(remarks: str, width: int) -> list[str]:
    """The remarks on as few lines as they fit on, none of them broken."""
    lines: list[str] = []
    for remark in remarks.split(_BETWEEN) if remarks else ():
        longer = f"{lines[-1]}{_BETWEEN}{remark}" if lines else remark
        if lines and cell_len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(remark)
    return lines
