"""What each step is spent on: the section of the core chapter that step_trace_time gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analysis.datafile import load_toml
from analysis.notes import Missing
from analysis.report.blocks import MARKS, Head, bullets, cut_line, missing_line, paragraph, table
from analysis.report.columns import exact_text, exact_title
from analysis.report.limits import STEP_ROWS
from analysis.report.tables import STEPS
from analysis.units import percent_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from analysis.report.messages import Messages
    from analysis.report.source import ReportSource
    from analysis.steps import StepDecomposition


def step_blocks(source: ReportSource, messages: Messages) -> Iterator[str]:
    """The mean step, every step, and the two judgements of spec M6."""
    mean, steps = source.metrics.step_trace, source.metrics.steps
    if isinstance(mean, Missing):
        # msprof never writes the file, so no setting of it would help.
        of_msprof = source.capture.producer == "msprof"
        yield (
            paragraph(messages.text("report.steps.of_msprof")) if of_msprof else missing_line(mean, messages)
        )
        return
    rows = [_mean_row(mean, messages)]
    if not isinstance(steps, Missing) and not mean.whole_run:
        rows += [_step_row(row, messages) for row in steps.head(STEP_ROWS).iter_rows(named=True)]
    yield table([Head(exact_title(column, messages), column.numeric) for column in STEPS], rows)
    if not isinstance(steps, Missing) and steps.height > STEP_ROWS:
        yield cut_line(STEP_ROWS, steps.height, "steps", messages)
    yield bullets(_judgements(mean, messages))
    yield paragraph(messages.text("report.steps.legend"))


def _mean_row(mean: StepDecomposition, messages: Messages) -> list[str]:
    name = messages.text("report.steps.whole_run" if mean.whole_run else "report.steps.mean")
    return [name, *(exact_text(column.kind, getattr(mean, column.key)) for column in STEPS[1:])]


def step_name(row: Mapping[str, Any], messages: Messages) -> str:
    """The number of a step, with a word on one that the means leave out."""
    name = exact_text("id", row["step"])
    return messages.text("report.steps.excluded", {"step": name}) if row["excluded"] else name


def _step_row(row: Mapping[str, Any], messages: Messages) -> list[str]:
    return [step_name(row, messages), *(exact_text(column.kind, row[column.key]) for column in STEPS[1:])]


def _judgements(mean: StepDecomposition, messages: Messages) -> Iterator[str]:
    rules = load_toml("analysis", "metrics.toml")
    if mean.exposed_share is None:
        yield f"{MARKS[False]} {messages.text('report.steps.no_communication')}"
    else:
        values = {
            "share": percent_text(mean.exposed_share),
            "time": time_text(mean.not_overlapped_ns),
            "limit": percent_text(rules["exposed_communication"]["share_above"], 0),
        }
        yield f"{MARKS[mean.exposed_flagged]} {messages.text('report.steps.exposed', values)}"
    if mean.free_share is not None:
        values = {
            "share": percent_text(mean.free_share),
            "time": time_text(mean.free_ns),
            "limit": percent_text(rules["free"]["share_above"], 0),
        }
        key = "free" if mean.copies_ns is None else "free_with_copies"
        values["copies"] = time_text(mean.copies_ns)
        text = messages.text(f"report.steps.{key}", values)
        yield f"{MARKS[mean.free_flagged]} {text}"
