"""What the trace holds: the section of the files chapter that says what the trace chapters rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.notes import Missing
from analysis.report.blocks import frame_table, heading, missing_line, paragraph
from analysis.report.tables import FAULTS, FLOWS, TRACK_ROLES
from analysis.units import count_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.report.messages import Messages
    from analysis.report.source import ReportSource
    from analysis.trace.summary import TraceSummary


def trace_blocks(source: ReportSource, messages: Messages) -> Iterator[str]:
    """Objects and bars, tracks by role, arrows by kind, faults with an example, and what was cut."""
    summary = source.trace_summary
    yield heading(3, messages.text("report.section.trace"))
    if isinstance(summary, Missing):
        yield missing_line(summary, messages)
        return
    yield paragraph(*_lead(summary, messages))
    if summary.roles.height:
        yield frame_table(TRACK_ROLES, summary.roles, messages)
    if summary.flows.height:
        yield paragraph(messages.text("report.trace.arrows"))
        yield frame_table(FLOWS, summary.flows, messages)
    else:
        yield paragraph(messages.text("report.trace.no_arrows"))
    if summary.faults.height:
        yield paragraph(messages.text("report.trace.faults"))
        yield frame_table(FAULTS, summary.faults, messages)


def _lead(summary: TraceSummary, messages: Messages) -> Iterator[str]:
    yield messages.text(
        "report.trace.lead",
        {
            "file": summary.file,
            "objects": count_text(summary.objects),
            "bars": count_text(summary.bars),
            "tracks": count_text(summary.tracks.height),
        },
    )
    phases = messages.text("report.comma").join(
        f"{phase or messages.text('report.trace.no_phase')} {count_text(count)}"
        for phase, count in summary.by_phase.items()
    )
    if phases:
        yield messages.text("report.trace.by_phase", {"phases": phases})
    if summary.lost_bytes:
        yield messages.text("report.trace.lost_bytes", {"bytes": count_text(summary.lost_bytes)})
    if summary.damaged:
        yield messages.text("report.trace.damaged")
    elif summary.faults.height:
        yield messages.text("report.trace.harmless")
    else:
        yield messages.text("report.trace.no_faults")
