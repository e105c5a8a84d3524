"""Why a node has its phase, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.phases.occurrences import why
from analysis.phases.rules import Rules
from analysis.report.messages import Messages
from tests.analysis.phases.made_rules import rule_named
from tests.analysis.phases.spans import Span, classified_spans
from widgets.phase_stories import why_lines

PACKAGES = ("analysis.report.messages", "widgets.messages")


@pytest.mark.parametrize(
    ("language", "note_zh", "told"),
    [
        ("en", "写表", "writes tables"),
        ("zh", "写表", "写表"),
        ("zh", None, "writes tables"),
    ],
)
def test_the_note_of_a_rule_is_told_in_the_language_of_the_reader(
    language: str, note_zh: str | None, told: str
) -> None:
    rule = replace(rule_named("mine", "forward", note="writes tables"), note_zh=note_zh)
    classified = replace(classified_spans([Span("mine", 0, 10, "forward")]), rules=Rules((rule,), sync=""))
    reason = why(replace(classified, claim=classified.origin), 0)
    lines = why_lines({"star": None}, reason, Messages(language, PACKAGES))
    assert any(told in line for line in lines[1:])
