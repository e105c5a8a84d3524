"""Words about the profile for the frame: header, files expected, ranks to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.report.escape import visible
from analysis.units import time_text
from widgets.file_list import FileLine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.profile.discover import Capture
    from analysis.report.messages import Messages
    from analysis.result import Analysis
    from analysis.scenario import Scenario


def word(messages: Messages, key: str, code: str) -> str:
    """The words of a code, or the code where it has none."""
    full = f"{key}.{code}"
    return messages.text(full) if full in messages else code


def header_words(analysis: Analysis, sections: frozenset[str], messages: Messages) -> tuple[str, str, str]:
    """Name, facts and number of the header line, as far as the sections that are there tell."""
    facts = []
    capture, captures = analysis.capture, analysis.profile.captures
    count = len(captures)
    if count > 1 and [other.rank for other in captures].count(capture.rank) > 1:
        facts.append(visible(capture.name))
    elif capture.rank is not None:
        key = "header.rank" if count == 1 else "header.rank_of"
        facts.append(messages.text(key, {"rank": capture.rank, "count": count}))
    elif capture.device is not None:
        facts.append(messages.text("header.device", {"device": capture.device}))
    if "scenario" in sections:
        facts += _scenario_words(analysis.scenario, messages)
    number = ""
    if "metrics" in sections and analysis.metrics.headline is not None:
        name, value = analysis.metrics.headline
        key = analysis.metrics.step_side if name == "step" else name
        number = messages.text(f"header.{key}", {"time": time_text(value.value_ns)})
        if analysis.metrics.iterations.estimated:
            number = messages.text("header.estimated", {"number": number})
    return analysis.profile.name, " · ".join(facts), number


def _scenario_words(scenario: Scenario, messages: Messages) -> list[str]:
    words = [messages.text(f"header.{scenario.scenario}")]
    if scenario.mode != "unknown":
        words.append(word(messages, "mode_short", scenario.mode))
    elif scenario.stack_decided:
        words.append("/".join(stack.name for stack in scenario.stacks))
    if scenario.dynamic_shape is not None:
        words.append(messages.text("header.dynamic" if scenario.dynamic_shape else "header.static"))
    return words


def expected_files(analysis: Analysis, messages: Messages) -> list[FileLine]:
    """The files of the capture, all still waiting, then those that are missing."""
    from analysis.inventory import READ_KINDS, counted
    from analysis.profile.tables import display_path

    read = {kind for wanted in READ_KINDS.values() for kind in wanted}
    root = analysis.profile.root
    lines = [
        FileLine(
            display_path(source.parts[0], root),
            "waiting" if kind in read else "listed",
            counted=counted(kind),
            total_bytes=source.size,
        )
        for kind, source in analysis.capture.files.items()
    ]
    lines.sort(key=lambda line: line.state != "waiting")
    return lines + missing_files(analysis, messages)


def missing_files(analysis: Analysis, messages: Messages) -> list[FileLine]:
    """The missing kinds, each with the setting that collects it."""
    return [
        FileLine(entry.kind, "missing", remark=messages.text(f"collect.{entry.hint}"))
        for entry in analysis.missing
    ]


def rank_choices(captures: Sequence[Capture], current: int, messages: Messages) -> list[tuple[str, str]]:
    """(index, words) of every capture; the one in view says so."""
    choices = []
    for index, capture in enumerate(captures):
        parts = []
        if capture.rank is not None:
            parts.append(messages.text("header.rank", {"rank": capture.rank}))
        elif capture.device is not None:
            parts.append(messages.text("header.device", {"device": capture.device}))
        parts.append(visible(capture.name))
        if index == current:
            parts.append(f"({messages.text('rank.current')})")
        choices.append((str(index), "  ".join(parts)))
    return choices
