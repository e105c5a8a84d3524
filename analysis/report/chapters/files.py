"""Files and data quality: what the report rests on, and what its reader cannot see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.datafile import load_toml
from analysis.report.blocks import Head, bullets, heading, note_text, paragraph, table
from analysis.report.chapters.trace import trace_blocks
from analysis.report.columns import exact_title, value_text
from analysis.report.tables import FILES
from analysis.units import UNKNOWN, percent_text, us_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.agreement import CrossCheck
    from analysis.report.messages import Messages
    from analysis.report.source import ReportedFile, ReportSource


def chapter(source: ReportSource, messages: Messages) -> list[str]:
    """Files found and missing, how the capture was taken, the trace, notes, and whether the files agree."""
    return [
        paragraph(*_lead(source, messages)),
        _file_table(source, messages),
        *_missing(source, messages),
        *_collection(source, messages),
        *trace_blocks(source, messages),
        *_notes(source, messages),
        heading(3, messages.text("report.section.agreement")),
        *_agreement(source.metrics.checks, messages),
    ]


def _lead(source: ReportSource, messages: Messages) -> Iterator[str]:
    states = [entry.state for entry in source.files]
    yield messages.text(
        "report.files.lead",
        {"found": len(states), "read": states.count("read"), "missing": len(source.missing)},
    )
    if "failed" in states:
        yield messages.text("report.files.failed", {"count": states.count("failed")})
    if source.damaged:
        yield messages.text("report.files.damaged")
    others = [capture for capture in source.profile.captures if capture.name != source.capture.name]
    if others:
        names = messages.text("report.comma").join(
            capture.name
            if capture.rank is None
            else messages.text("report.files.other_rank", {"rank": capture.rank, "name": capture.name})
            for capture in others
        )
        yield messages.text("report.files.others", {"names": names})


def _file_table(source: ReportSource, messages: Messages) -> str:
    if not source.files:
        return ""
    return table(
        [Head(exact_title(column, messages), column.numeric) for column in FILES],
        (_file_row(entry, messages) for entry in source.files),
    )


def _file_row(entry: ReportedFile, messages: Messages) -> list[str]:
    values = {
        "kind": entry.kind,
        "path": entry.path,
        "rows": entry.rows,
        "state": entry.state,
        "note": "" if entry.note is None else messages.text(entry.note),
    }
    return [value_text(column, values[column.key], messages, exact=True) for column in FILES]


def _missing(source: ReportSource, messages: Messages) -> Iterator[str]:
    if not source.missing:
        return
    yield heading(3, messages.text("report.section.missing"))
    yield table(
        [Head(messages.text(f"report.head.{key}")) for key in ("missing_kind", "cost", "collect")],
        (
            [gap.kind, messages.text(f"cost.{gap.kind}"), messages.text(f"collect.{gap.hint}")]
            for gap in source.missing
        ),
    )


def _collection(source: ReportSource, messages: Messages) -> Iterator[str]:
    metadata = source.metadata
    cores = [
        f"{count} {kind}"
        for kind, count in (("AIC", source.cores.aic), ("AIV", source.cores.aiv))
        if count is not None
    ]
    known = {
        "producer": source.capture.producer,
        "level": metadata.profiler_level,
        "aic_metrics": metadata.aic_metrics,
        "chip": metadata.chip,
        "cores": ", ".join(cores) or None,
        **dict(sorted(metadata.versions.items())),
        **{f"--fact {name}": value for name, value in sorted(source.options.facts.items())},
    }
    yield heading(3, messages.text("report.section.collection"))
    yield table(
        [Head(messages.text("report.head.item")), Head(messages.text("report.head.value"))],
        (
            [
                messages.text(f"report.collection.{name}")
                if f"report.collection.{name}" in messages
                else name,
                value or UNKNOWN,
            ]
            for name, value in known.items()
        ),
    )


def _notes(source: ReportSource, messages: Messages) -> Iterator[str]:
    yield heading(3, messages.text("report.section.notes"))
    if source.notes:
        yield bullets(note_text(note, messages) for note in source.notes)
    else:
        yield paragraph(messages.text("report.files.no_notes"))


def _agreement(checks: tuple[CrossCheck, ...], messages: Messages) -> Iterator[str]:
    if not checks:
        yield paragraph(messages.text("report.files.no_checks"))
        return
    limit = percent_text(load_toml("analysis", "metrics.toml")["agreement"]["difference_above"], 0)
    yield table(
        [
            Head(messages.text("report.head.compared")),
            Head(messages.text("report.head.first_us"), numeric=True),
            Head(messages.text("report.head.second_us"), numeric=True),
            Head(messages.text("report.head.difference"), numeric=True),
            Head(messages.text("report.head.verdict")),
        ],
        (
            [
                messages.text(f"check.{check.kind}"),
                us_text(check.left_ns),
                us_text(check.right_ns),
                percent_text(check.difference, 3),
                messages.text(
                    "report.agreement.yes" if check.agrees else "report.agreement.no", {"limit": limit}
                ),
            ]
            for check in checks
        ),
    )
