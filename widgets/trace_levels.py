"""Lists over the bars of a trace: framework operators and copies, down to the whole text of one event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.drill_down import calls_of, copies_of, event_fields
from analysis.notes import Missing
from analysis.report.columns import value_text
from analysis.report.escape import visible
from analysis.report.tables import (
    COPIES,
    COPIES_BY_ITERATION,
    COPY_BARS,
    EVENT_FIELDS,
    HOST_CALLS,
    HOST_OPERATORS,
    UNRECORDED,
    with_directions,
)
from analysis.trace.text import event_text
from analysis.units import count_text
from widgets.frame_table import Sort
from widgets.level import Level, Row, Story, arranged
from widgets.safe_text import cut, text_lines
from widgets.stories import exact_pairs

if TYPE_CHECKING:
    import polars as pl

    from analysis.copies import Copies
    from analysis.host_operators import HostOperators
    from analysis.report.messages import Messages
    from analysis.result import Analysis

_CRUMB_CELLS = 40
_FIELD_CELLS = 200
"""Of a field's name above its text."""
_BY_STEP = ("self_per_step_ns", "per_step_ns", "calls_per_step", "avg_ns", "max_ns", "self_ns", "total_ns")
_IN_ALL = ("self_ns", "total_ns", "avg_ns", "max_ns")
_STORY_ITERATIONS = 12
"""Iterations told in the detail of a direction."""


class TraceLevels:
    """The lists of one analysis. What they open is read in a thread, when it is opened."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis

    # --------------------------------------------------- framework operators

    def operators(self) -> Level:
        """Framework operators by self time, of a step where steps are known."""
        operators = self._analysis.host_operators
        frame = operators if isinstance(operators, Missing) else operators.by_name
        by_step = not isinstance(operators, Missing) and operators.steps is not None
        leading = _BY_STEP if by_step else _IN_ALL
        return Level(
            crumb=lambda messages: messages.text("view.host.operators"),
            columns=arranged(HOST_OPERATORS, frame, "name", *leading, "share", "group"),
            frame=frame,
            story=self._operator_story,
            opens=self._open_operator,
            identity=("name",),
            sort=Sort(leading[0], descending=True),
            empty="level.no_operators",
        )

    def _operator_story(self, row: Row, messages: Messages) -> Story:
        operators = self._analysis.host_operators
        lines = [] if isinstance(operators, Missing) else _remarks(operators, messages)
        columns = [column for column in HOST_OPERATORS if column.key != "name"]
        return Story(visible(row["name"]), exact_pairs(columns, row, messages), lines)

    def _open_operator(self, row: Row) -> Level | None:
        operators, trace, steps = (
            self._analysis.host_operators,
            self._analysis.trace,
            self._analysis.trace_steps,
        )
        if isinstance(operators, Missing) or isinstance(trace, Missing):
            return None
        found = steps if not isinstance(steps, Missing) else None
        name = str(row["name"])
        columns = tuple(column for column in HOST_CALLS if column.key != "name")
        return Level(
            crumb=lambda _: cut(name, _CRUMB_CELLS),
            columns=columns,
            frame=lambda: calls_of(operators, name, trace, found),
            story=lambda call, messages: Story(visible(name), exact_pairs(columns, call, messages)),
            opens=lambda call: event_level(self._analysis, int(call["event"])),
            identity=("event",),
        )

    # ---------------------------------------------------------------- copies

    def copies(self) -> Level:
        """Copies by direction."""
        copies = self._analysis.copies
        frame = copies if isinstance(copies, Missing) else with_directions(copies.by_direction)
        return Level(
            crumb=lambda messages: messages.text("view.host.copies"),
            columns=arranged(
                COPIES, frame, "direction", "per_iteration_ns", "count", "total_ns", "avg_ns", "gb_per_s"
            ),
            frame=frame,
            story=self._copy_story,
            opens=self._open_direction,
            identity=("direction",),
            sort=Sort("total_ns", descending=True),
            empty="level.no_copies",
        )

    def _copy_story(self, row: Row, messages: Messages) -> Story:
        copies = self._analysis.copies
        lines = [] if isinstance(copies, Missing) else _iteration_lines(copies, row, messages)
        columns = [column for column in COPIES if column.key != "direction"]
        return Story(_direction(row, messages), exact_pairs(columns, row, messages), lines)

    def _open_direction(self, row: Row) -> Level | None:
        copies, trace = self._analysis.copies, self._analysis.trace
        if isinstance(copies, Missing) or isinstance(trace, Missing):
            return None
        direction = None if row["direction"] == UNRECORDED else row["direction"]
        columns = tuple(column for column in COPY_BARS if column.key != "direction")
        return Level(
            crumb=lambda messages: _direction(row, messages),
            columns=columns,
            frame=lambda: copies_of(copies, direction, trace),
            story=lambda bar, messages: Story(_direction(row, messages), exact_pairs(columns, bar, messages)),
            opens=lambda bar: event_level(self._analysis, int(bar["event"])),
            identity=("event",),
        )


def event_level(analysis: Analysis, event: int) -> Level | None:
    """Every field of one event of the trace as the file writes it."""
    trace, source = analysis.trace, analysis.trace_source
    if isinstance(trace, Missing) or source is None:
        return None

    def read() -> pl.DataFrame:
        return event_fields(event_text(source, trace, int(trace.events["number"][event])))

    return Level(
        crumb=lambda messages: messages.text("view.host.event"),
        columns=EVENT_FIELDS,
        frame=read,
        # Call stacks and dimensions are lists, one line an entry.
        story=lambda field, messages: Story(_field_name(field), (), text_lines(field["text"], messages)),
        whole=lambda field, messages: "\n".join((_field_name(field), *text_lines(field["text"], messages))),
        identity=("field",),
        empty="level.file_changed",
    )


def _remarks(operators: HostOperators, messages: Messages) -> list[str]:
    words = messages.of_trace(whole=operators.steps is None)
    lines = [words.text("report.host_operators.rule")]
    if operators.steps is None:
        lines.append(messages.text("report.host_operators.no_steps"))
    elif operators.outside:
        lines.append(messages.text("report.host_operators.outside", {"count": count_text(operators.outside)}))
    if operators.partial:
        lines.append(messages.text("report.host_operators.partial", {"count": count_text(operators.partial)}))
    return lines


def _field_name(field: Row) -> str:
    return cut(field["field"], _FIELD_CELLS)


def _direction(row: Row, messages: Messages) -> str:
    column = next(column for column in COPIES if column.key == "direction")
    return visible(value_text(column, row["direction"], messages, exact=False))


def _iteration_lines(copies: Copies, of: Row, messages: Messages) -> list[str]:
    """Each iteration's copies in this direction."""
    own = with_directions(copies.by_iteration).filter(direction=of["direction"])
    lines = [_iteration_line(row, messages) for row in own.head(_STORY_ITERATIONS).iter_rows(named=True)]
    if own.height > _STORY_ITERATIONS:
        more = count_text(own.height - _STORY_ITERATIONS)
        lines.append(messages.text("story.more_iterations", {"count": more}))
    return lines


def _iteration_line(row: Row, messages: Messages) -> str:
    name = str(row["iteration"])
    if row["excluded"]:
        name = messages.text("report.copies.excluded", {"iteration": name})
    numbers = [column for column in COPIES_BY_ITERATION if column.numeric and row[column.key] is not None]
    told = [
        f"{messages.text(column.title)} {value_text(column, row[column.key], messages, exact=False)}"
        for column in numbers
    ]
    return "  ".join([f"{messages.text('column.iteration')} {name}:", *told])
