"""Copies between host and device: the section of the core chapter that the trace gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analysis.notes import Missing
from analysis.report.blocks import frame_table, heading, missing_line, paragraph
from analysis.report.columns import value_text
from analysis.report.limits import COPY_ITERATIONS
from analysis.report.tables import COPIES, COPIES_BY_ITERATION, recorded, with_directions
from analysis.units import UNKNOWN, count_text, percent_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from analysis.copies import Copies
    from analysis.report.messages import Messages
    from analysis.report.source import ReportSource


def copy_blocks(source: ReportSource, messages: Messages) -> Iterator[str]:
    """Copies by direction (spec M3), and by iteration where there are few."""
    copies = source.copies
    yield heading(3, messages.text("report.section.copies"))
    if isinstance(copies, Missing):
        yield missing_line(copies, messages)
        return
    if copies.by_direction.is_empty():
        yield paragraph(messages.text("report.copies.none"))
        return
    yield paragraph(*_lead(copies, messages))
    directions = with_directions(copies.by_direction)
    yield frame_table(recorded(COPIES, directions), directions, messages)
    rows = with_directions(copies.by_iteration)
    if rows.height and rows["iteration"].n_unique() <= COPY_ITERATIONS:
        columns = recorded(COPIES_BY_ITERATION, rows)
        yield frame_table(columns, rows, messages, {"iteration": lambda row: _iteration(row, messages)})


def _lead(copies: Copies, messages: Messages) -> Iterator[str]:
    timed = with_directions(copies.by_direction).drop_nulls("per_iteration_ns")
    for row in timed.sort("per_iteration_ns", descending=True).head(1).iter_rows(named=True):
        yield _longest(row, messages)
    if copies.cut_short:
        yield messages.text("report.copies.cut_short")
    elif copies.cut_by == "none":
        yield messages.text("report.copies.uncut")
    else:
        yield messages.text(
            "report.copies.span" if copies.cut_by == "model_execute" else "report.copies.union"
        )
    if copies.outside and copies.cut_by != "none":
        yield messages.text("report.copies.outside", {"count": count_text(copies.outside)})
    if copies.by_direction["direction"].null_count():
        yield messages.text("report.copies.no_direction")


def _longest(row: Mapping[str, Any], messages: Messages) -> str:
    """The direction that costs an iteration most, and how much of it is hidden."""
    direction = next(column for column in COPIES if column.key == "direction")
    values = {
        "time": time_text(row["per_iteration_ns"]),
        "direction": value_text(direction, row["direction"], messages, exact=True),
        "share": percent_text(row["overlapped_share"]),
    }
    known = row["overlapped_share"] is not None
    return messages.text("report.copies.lead" if known else "report.copies.lead_unhidden", values)


def _iteration(row: Mapping[str, Any], messages: Messages) -> str:
    name = UNKNOWN if row["iteration"] is None else row["iteration"]
    return messages.text("report.copies.excluded", {"iteration": name}) if row["excluded"] else name
