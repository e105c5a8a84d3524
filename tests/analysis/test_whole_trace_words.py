"""Traces in which no step is marked: no text calls their numbers those of a step."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from analysis.finding import finding_text
from analysis.findings import find_findings
from analysis.host import Verdict
from analysis.host_operators import HostOperators
from analysis.notes import Missing
from analysis.profile.discover import discover
from analysis.report.chapters import host as host_chapter
from analysis.report.json import json_report
from analysis.report.markdown import markdown_report
from analysis.report.messages import LANGUAGES, Messages
from analysis.result import Analysis
from tests.analysis.phases import phase_fixtures as made
from tests.analysis.report_fixtures import Source, full_source
from tests.generators import gen_recsys_trace as generator
from tests.generators.unmarked import without_marks

if TYPE_CHECKING:
    from analysis.phases.results import Phases

CATALOGUES = ("analysis.report.messages", "widgets.messages")
OF_STEPS = {
    "en": r"/step|\b(?:a|per|one|the|host|mean) step\b|\ball steps|of step \(",
    "zh": r"每步|步次数|(?:每个|单个|全部|平均) ?step|Host 侧 step|占 ?step|step（",
}
"""Words that call a number one of steps."""
TAKEN_AS_ONE = {"en": "the whole trace is taken as one step", "zh": "将整个 trace 视为一个 step"}
LIMITS = {
    "en": "frequent above 500 calls per step or from 10 % of the step",
    "zh": "每步超过 500 次或达到单步耗时的 10 % 视为频繁",
}
"""What is true of traces without steps, though it speaks of one."""


@pytest.fixture(scope="module", params=["torchrec", "naive", "seed"])
def unmarked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder = tmp_path_factory.mktemp("unmarked")
    generator.main(["--out", str(folder), "--flavour", request.param, "--steps", "3"])
    profile = discover(without_marks(folder))
    return Analysis(profile, profile.select(None))


def of_whole_trace(found: Phases) -> Phases:
    return replace(found, windows=replace(found.windows, whole_trace=True))


def said_of_steps(text: str, language: str) -> list[str]:
    for known in (TAKEN_AS_ONE[language], LIMITS[language]):
        text = text.replace(known, "")
    return [line for line in text.splitlines() if re.search(OF_STEPS[language], line)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_chapters_on_host_and_phases_tell_of_the_whole_trace(unmarked: Analysis, language: str):
    messages = Messages(language)
    markdown = markdown_report(unmarked, messages).replace("\\", "")
    start = markdown.index(f"7 {messages.text('report.chapter.host')}")
    assert said_of_steps(markdown[start:], language) == []
    assert markdown[start:].count(messages.text("per.trace")) > 5


@pytest.mark.parametrize("language", LANGUAGES)
def test_findings_on_phases_tell_of_the_whole_trace(unmarked: Analysis, language: str):
    messages = Messages(language)
    told = [finding_text(finding, messages) for finding in unmarked.findings if finding.pane == "phases"]
    assert len(told) > 3
    assert said_of_steps("\n".join(told), language) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_variants_differ_from_what_they_stand_for_in_words_alone(language: str):
    plain = Messages(language, CATALOGUES)
    known = set(plain.keys())
    placeholders = re.compile(r"\{[^{}]*\}")
    varied = [key for key in known if f"{key}_whole" in known]
    pairs = [(plain.text(key), plain.text(f"{key}_whole")) for key in varied]
    assert len(pairs) > 20
    for text, variant in pairs:
        assert text != variant
        assert set(placeholders.findall(text)) == set(placeholders.findall(variant))


def test_catalogue_of_a_whole_trace_has_every_other_text_as_it_is():
    plain = Messages("en", CATALOGUES)
    whole = plain.of_trace(whole=True)
    assert plain.of_trace(whole=False) is plain
    assert whole.language == "en"
    assert (plain.text("column.per_step_ns"), whole.text("column.per_step_ns")) == ("Time/step", "Time")
    assert whole.text("column.total_ns") == plain.text("column.total_ns")
    # A catalogue of the explorer has its own words too.
    assert whole.text("level.no_bars") != plain.text("level.no_bars")


def test_share_of_the_largest_phase_is_one_of_the_whole_trace():
    source = full_source()
    marked = find_findings(replace(source, phases=made.phases()))
    whole = find_findings(replace(source, phases=of_whole_trace(made.phases())))
    texts = [
        next(finding_text(one, Messages("en")) for one in found if one.kind == "largest_phase")
        for found in (marked, whole)
    ]
    assert texts[0].endswith("300 us, 30.0 % of the host step")
    assert texts[1].endswith("300 us, 30.0 % of the whole trace")


# ------------------------------------------------------------- verdicts on the host


def unmarked_operators() -> Source:
    """18 calls of aten::copy_ in a trace without steps."""
    source = full_source()
    assert isinstance(source.host_operators, HostOperators)
    verdict = Verdict("aten_copy_", "trace", 18.0, 488_000, 27_111, flagged=None)
    return replace(source, host_operators=replace(source.host_operators, steps=None, verdicts=(verdict,)))


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "Here: 18 calls, 488 us in the whole trace, 27.1 us each: cannot be judged"),
        ("zh", "实际：整个 trace 18 次，488 us，平均 27.1 us：本次采集的数据无法判断"),
    ],
)
def test_verdict_without_steps_says_that_its_sums_are_of_the_whole_trace(language: str, said: str):
    chapter = "\n".join(host_chapter.chapter(unmarked_operators(), Messages(language)))
    assert said in chapter


def test_verdicts_with_steps_stay_numbers_of_a_step_and_of_an_iteration():
    chapter = "\n".join(host_chapter.chapter(full_source(), Messages("en")))
    assert "Here: 501 calls, 50.0 us per step, 33.3 us each" in chapter
    assert "Here: 11 calls, 2.00 ms per iteration, 182 us each" in chapter


def test_json_says_what_the_numbers_of_a_verdict_are_of(unmarked: Analysis):
    verdicts = json.loads(json_report(unmarked, Messages("en")))["host"]["verdicts"]
    per = {verdict["kind"]: verdict["per"] for verdict in verdicts}
    assert per["aten_copy_"] == per["aten_to"] == per["aten_to_copy"] == "trace"
    assert per["stream_sync"] == "iteration"


@pytest.mark.parametrize(("more_ns", "same"), [(0, True), (1, False)])
def test_stream_syncs_are_compared_and_counted_over_the_whole_trace(more_ns: int, same: bool):
    source = full_source()
    assert not isinstance(source.host, Missing)
    assert source.metrics.iterations.recorded == 3
    # The device syncs take 90 us of the trace: half of three iterations of 60 us, or a little less.
    streams = Verdict("stream_sync", "iteration", 12.0, 60_000 + more_ns, 5_000, flagged=True, level="acl")
    host = replace(source.host, verdicts=(streams,))
    found = find_findings(replace(source, phases=of_whole_trace(made.phases()), host=host))
    told = "\n".join(finding_text(finding, Messages("en")) for finding in found)
    assert ("part of it is seen as aclrtSynchronizeStream* × 36.0 too" in told) is same
    assert ("host_stream_sync" in {finding.kind for finding in found}) is not same
