"""The first bar of the overview: where the time of a step or an iteration goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.text import Text

from analysis.notes import Missing
from analysis.units import three_digits, time_text
from widgets.meter import FILLS, stacked_bar
from widgets.safe_text import PHRASE_GAP, packed, packed_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from analysis.metrics import CoreMetrics
    from analysis.report.messages import Messages
    from analysis.steps import StepDecomposition

_MOST_BAR_CELLS = 64
_LEAST_BAR_CELLS = 10
_BETWEEN = " " * PHRASE_GAP
"""What stands between remarks."""
_PARTS = (("computing", "computing_ns"), ("exposed", "not_overlapped_ns"), ("free", "free_ns"))


@dataclass(frozen=True, slots=True)
class BarPart:
    """One part of the whole."""

    words: str
    ns: int
    brief: str = ""
    """Shorter words for a legend that is too long for its line, where there are any."""


@dataclass(frozen=True, slots=True)
class TimeBar:
    """A title, parts that make up a whole, and remarks on the right and below."""

    title: str
    parts: tuple[BarPart, ...]
    aside: str = ""
    below: str = ""
    brief: str = ""
    """The title where the line is too short for it: the time alone, for the header says of what."""

    def drawn(self, width: int, styles: Sequence[str], *, low: bool = False) -> Text:
        """Bar, legend and remarks in ``width`` cells; the legend repeats the fill characters.

        Args:
            width: Cells there are.
            styles: One for each part.
            low: Whether the remarks below give way to what stands below them.
        """
        below = [] if low or not self.below else packed(self.below.split(_BETWEEN), width - 2)
        if not self.parts:
            return Text("\n").join([Text(f" {self.title}", "bold"), *(Text(f" {line}") for line in below)])
        title = self.title if self._bar_room(self.title, width) >= _LEAST_BAR_CELLS else self.brief
        cells = max(_LEAST_BAR_CELLS, min(_MOST_BAR_CELLS, self._bar_room(title, width)))
        first = Text.assemble((f" {title}", "bold"), "  ")
        indent = first.cell_len
        first.append_text(stacked_bar([part.ns for part in self.parts], cells, styles=styles))
        first.append(f"  {self.aside}")
        lines = [first]
        for line in (*self._legend(styles, width - 1), *map(Text, below)):
            blanks = min(indent, max(1, width - line.cell_len - 1))
            lines.append(Text.assemble(" " * blanks, line))
        return Text("\n").join(lines)

    def _bar_room(self, title: str, width: int) -> int:
        return width - cell_len(title) - cell_len(self.aside) - 6

    def _legend(self, styles: Sequence[str], width: int) -> list[Text]:
        """On one line if the shorter words allow it."""
        lines: list[Text] = []
        for brief, gap in ((False, PHRASE_GAP), (True, PHRASE_GAP - 1)):
            phrases = []
            for index, part in enumerate(self.parts):
                words = part.brief if brief and part.brief else part.words
                fill = FILLS[index % len(FILLS)], styles[index % len(styles)] if styles else ""
                phrases.append(Text.assemble(fill, f" {words} {time_text(part.ns)}"))
            lines = packed_texts(phrases, width, gap)
            if len(lines) == 1:
                break
        return lines


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
    time = time_text(value.value_ns)
    title = messages.text(key, {"time": time})
    if name == "iteration" and metrics.h2d and metrics.model_execute and metrics.d2h:
        times = (("h2d", metrics.h2d), ("model_execute", metrics.model_execute), ("d2h", metrics.d2h))
        parts = tuple(BarPart(messages.text(f"bar.{key}"), part.value_ns) for key, part in times)
        aside = messages.text("bar.iterations", {"count": metrics.iterations.count})
        return TimeBar(title, parts, aside, below, time)
    decomposition = metrics.step_trace
    if isinstance(decomposition, Missing):
        return TimeBar(title, (), below=below)
    if step is not None:
        return _step_bar(step, below, messages)
    parts = _step_parts({column: getattr(decomposition, column) for _, column in _PARTS}, messages)
    aside = _steps_words(metrics, decomposition, messages)
    if name == "step" and decomposition.wall_ns != value.value_ns:
        # The step on the host may be longer than what the parts add up to.
        aside = messages.text("bar.of_wall", {"steps": aside, "wall": time_text(decomposition.wall_ns)})
    if decomposition.copies_ns is not None:
        copies = messages.text("bar.copies", {"time": time_text(decomposition.copies_ns)})
        below = _BETWEEN.join(part for part in (copies, below) if part)
    return TimeBar(title, parts, aside, below, time)


def _step_bar(step: Mapping[str, Any], below: str, messages: Messages) -> TimeBar:
    time = time_text(step["wall_ns"])
    return TimeBar(
        messages.text("bar.device_step", {"time": time}),
        _step_parts(step, messages),
        messages.text("bar.step", {"step": step["step"]}),
        messages.text("bar.below_mean", {"below": below}) if below else "",
        time,
    )


def _step_parts(times: Mapping[str, Any], messages: Messages) -> tuple[BarPart, ...]:
    parts = []
    for key, column in _PARTS:
        brief = f"bar.{key}_brief"
        words = messages.text(brief) if brief in messages else ""
        parts.append(BarPart(messages.text(f"bar.{key}"), int(times[column]), words))
    return tuple(parts)


def _steps_words(metrics: CoreMetrics, decomposition: StepDecomposition, messages: Messages) -> str:
    count = metrics.iterations.count
    key = "whole_run" if decomposition.whole_run else "mean" if count > 1 else "single"
    return messages.text(f"bar.{key}", {"count": count})


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
