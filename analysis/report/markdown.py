"""The report as GitHub-flavoured Markdown, for readers and for any renderer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.finding import MARKS, finding_text
from analysis.notes import Missing
from analysis.report.blocks import bullets, heading, paragraph
from analysis.report.chapters import (
    asynchrony,
    core,
    cores,
    distribution,
    files,
    host,
    phases,
    problems,
    top,
    trees,
)
from analysis.units import time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from analysis.finding import Finding
    from analysis.report.messages import Messages
    from analysis.report.source import ReportSource

CHAPTERS: Mapping[str, Callable[[ReportSource, Messages], list[str]]] = {
    "files": files.chapter,
    "core": core.chapter,
    "distribution": distribution.chapter,
    "top": top.chapter,
    "problems": problems.chapter,
    "cores": cores.chapter,
    "host": host.chapter,
    "phases": phases.chapter,
    "aten": trees.chapter,
    "asynchrony": asynchrony.chapter,
}
"""The chapters in the order of spec 13; the title of each is the message ``chapter.<key>``."""

_OF_TRAINING = frozenset({"phases", "aten", "asynchrony"})


def chapters_of(analysis: ReportSource) -> tuple[str, ...]:
    """Keys of the chapters that a capture has.

    Inference has no phases. What is read as inference because a framework's trace shows no backward pass
    may be a training nonetheless, so there the first of these chapters says why they are not there.
    """
    if analysis.scenario.scenario != "inference":
        return tuple(CHAPTERS)
    doubtful = not isinstance(analysis.host_operators, Missing)
    return tuple(key for key in CHAPTERS if key not in _OF_TRAINING or (doubtful and key == "phases"))


def markdown_report(analysis: ReportSource, messages: Messages) -> str:
    """The whole report, ending with a newline.

    Args:
        analysis: The capture, analysed.
        messages: The language to write in.
    """
    phases = analysis.phases
    whole = not isinstance(phases, Missing) and phases.windows.whole_trace
    heads = messages.of_trace(whole=whole)
    blocks = [
        heading(1, title(analysis, messages)),
        heading(2, messages.text("report.chapter.findings")),
        paragraph(*_findings_lead(analysis, heads)),
        bullets(_finding(finding, messages) for finding in analysis.findings),
    ]
    for number, key in enumerate(chapters_of(analysis), start=1):
        blocks.append(heading(2, f"{number} {heads.text(f'report.chapter.{key}')}"))
        blocks.extend(CHAPTERS[key](analysis, messages))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _findings_lead(analysis: ReportSource, messages: Messages) -> Iterator[str]:
    yield messages.text("report.findings.lead")
    if analysis.metrics.iterations.source == "whole_run":
        yield messages.text("report.findings.whole_run")


def _finding(finding: Finding, messages: Messages) -> str:
    return f"{MARKS[finding.severity]} {finding_text(finding, messages)}"


def title(analysis: ReportSource, messages: Messages) -> str:
    """Where am I, what is it, and the one number that matters."""
    parts = [analysis.profile.name]
    captures = len(analysis.profile.captures)
    if analysis.capture.rank is not None:
        key = "report.rank" if captures == 1 else "report.rank_of"
        parts.append(messages.text(key, {"rank": analysis.capture.rank, "count": captures}))
    elif captures > 1:
        parts.append(analysis.capture.name)
    scenario = analysis.scenario.scenario
    known = scenario != "unknown"
    parts.append(messages.text(f"scenario.{scenario}" if known else "report.scenario_unknown"))
    if analysis.metrics.headline is not None:
        name, time = analysis.metrics.headline
        parts.append(messages.text(f"headline.{name}", {"time": time_text(time.value_ns)}))
    return " · ".join(parts)
