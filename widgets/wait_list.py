"""The list of what the main thread stands still for: waits and device syncs together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import polars as pl

from analysis.report.blocks import MARKS
from analysis.report.columns import COLUMNS, Column, columns
from analysis.report.tables import WAITS
from widgets.level import Level, Story, arranged
from widgets.phase_marks import PhaseTable
from widgets.phase_stories import TITLE_CELLS, phase_name
from widgets.safe_text import cut
from widgets.stories import exact_pairs

if TYPE_CHECKING:
    from analysis.phases.results import Phases
    from analysis.report.messages import Messages
    from widgets.level import Row
    from widgets.phase_levels import PhaseLevels

_BLOCKING: Final = Column("blocking", "column.blocking", "text", 11, words="blocking")
_WAITS_OF_STEP: Final = (
    COLUMNS["name"],
    _BLOCKING,
    *columns("per_step_ns", "share", "count", "max_ns", "total_ns", "flagged", "producer", "phase"),
)
_WAITS: Final = tuple(
    next((named for named in WAITS if named.key == column.key), column) for column in _WAITS_OF_STEP
)
"""The same for the averaged steps: headers say which numbers are sums over them."""
_WAITS_OF_TRACE: Final = tuple(column for column in _WAITS if column.key != "total_ns")
"""The same where no step is known, and so nothing is a mean."""
_PRODUCER_CELLS = 200


def wait_list(phases: Phases, levels: PhaseLevels, step: int | None) -> Level:
    """The waits of a step, or of all steps, the longest first; Enter opens every one of a name."""
    shown = _shown(phases, step)
    frame = _rows(phases, step)
    return Level(
        crumb=lambda messages: messages.text("view.phases.waits"),
        columns=arranged(shown, frame),
        frame=frame,
        story=partial(_story, shown),
        opens=lambda row: levels.stops(row, step, cut(row["name"], TITLE_CELLS)),
        identity=("blocking", "name", "phase"),
        empty="level.no_waits",
        table=PhaseTable,
        again=lambda other: wait_list(phases, levels, other),
    )


def _shown(phases: Phases, step: int | None) -> tuple[Column, ...]:
    if phases.windows.whole_trace:
        return _WAITS_OF_TRACE
    return _WAITS if step is None else _WAITS_OF_STEP


def _rows(phases: Phases, step: int | None) -> pl.DataFrame:
    waits = phases.waits
    own, syncs = waits.by_name, waits.device_syncs
    if step is not None:
        own, syncs = (
            table.filter(pl.col("step") == step).select(
                pl.exclude("step", "excluded"), per_step_ns="total_ns", max_ns=pl.lit(None, pl.Int64)
            )
            for table in (waits.by_step, waits.syncs_by_step)
        )
    frame = pl.concat(
        [own.with_columns(blocking=pl.lit("wait")), syncs.with_columns(blocking=pl.lit("sync"))],
        how="diagonal",
    )
    order = ("per_step_ns", "name", "phase", "blocking")
    return frame.sort(order, descending=[True, False, False, False], nulls_last=True)


def _story(shown: tuple[Column, ...], row: Row, messages: Messages) -> Story:
    lead = []
    if row["producer"] is not None:
        lead.append(messages.text("why.wait_for", {"name": cut(row["producer"], _PRODUCER_CELLS)}))
    lead.append(messages.text(f"blocking_story.{row['blocking']}"))
    if row["flagged"]:
        lead.append(f"{MARKS[True]} {messages.text('story.flagged')}")
    title = f"{cut(row['name'], TITLE_CELLS)} · {phase_name(row['phase'], messages)}"
    return Story(title, exact_pairs(shown[1:], row, messages), (), lead)
