"""What stands out: which judgements become findings, how grave they are, in which order."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from analysis.copies import Copies
from analysis.finding import SEVERITIES, Finding, finding_text
from analysis.findings import find_findings
from analysis.iterations import Iterations
from analysis.metrics import NamedTime
from analysis.notes import Missing
from analysis.operators import CoreUse
from analysis.report.messages import LANGUAGES, Messages
from tests.analysis.report_fixtures import (
    ALL_SOURCES,
    Source,
    empty_source,
    full_source,
    ge_source,
    level0_source,
    single_metrics,
)


def by_kind(source: Source) -> dict[str, Finding]:
    return {finding.kind: finding for finding in find_findings(source)}


def test_worst_and_costliest_come_first() -> None:
    found = find_findings(full_source())
    judged = [finding for finding in found if not finding.kind.startswith("largest_")]
    ranks = [(SEVERITIES.index(finding.severity), -finding.stake_ns) for finding in judged]
    assert ranks == sorted(ranks)
    # Of a step of 945 us, 235 us of communication are not hidden, more than anything else costs.
    assert found[0].kind == "exposed_communication"


def test_what_is_merely_large_comes_after_what_was_judged() -> None:
    found = [finding for finding in find_findings(full_source()) if finding.severity == "look"]
    largest = next(finding for finding in found if finding.kind == "largest_operator")
    assert found[-1] == largest
    assert any(finding.stake_ns < largest.stake_ns for finding in found)


def test_same_profile_gives_same_order() -> None:
    assert find_findings(full_source()) == find_findings(full_source())


def test_flagged_judgement_of_a_tenth_of_the_step_needs_action() -> None:
    # Not hidden: 235 of 945 us, 25 %.
    assert by_kind(full_source())["exposed_communication"].severity == "action"


def test_flagged_judgement_of_less_is_worth_a_look() -> None:
    # EmbeddingDenseGrad, Sort, Unique: 900 ns over 2 steps of 945 us.
    assert by_kind(full_source())["extra_embedding_sort_unique"].severity == "look"


def test_a_finding_on_several_types_leads_to_the_longest_of_them() -> None:
    source = full_source()
    assert not isinstance(source.operators, Missing)
    extras = [replace(extra, largest_type="Sort") for extra in source.operators.extras if extra.flagged][:1]
    found = by_kind(replace(source, operators=replace(source.operators, extras=tuple(extras))))
    assert found["extra_embedding_sort_unique"].row == {"op_type": "Sort"}


@pytest.mark.parametrize(
    ("use", "row"),
    [
        (CoreUse("aic", 20, 24, "maybe_limited", 8), {"core_type": "MIX_AIC"}),
        # Mixed kernels that the AI cores lead use most vector cores.
        (CoreUse("aiv", 4, 48, "maybe_limited", 40), {"core_type": "MIX_AIC"}),
        # No kernel is led by vector cores.
        (CoreUse("aiv", 40, 48, "maybe_limited", 4), {}),
    ],
)
def test_a_finding_on_cores_leads_to_the_kernels_that_use_most_of_them(use: CoreUse, row: object) -> None:
    source = full_source()
    assert not isinstance(source.operators, Missing)
    found = by_kind(replace(source, operators=replace(source.operators, core_use=(use,))))
    assert found["cores_maybe_limited"].row == row


def test_a_tenth_exactly_needs_action() -> None:
    source = full_source()
    step = source.metrics.step_trace
    assert not isinstance(step, Missing)
    step = replace(step, not_overlapped_ns=94_500)
    source = replace(source, metrics=replace(source.metrics, step_trace=step))
    assert by_kind(source)["exposed_communication"].severity == "action"


def test_unflagged_judgement_is_fine() -> None:
    found = by_kind(ge_source())["device_bound"]
    assert (found.severity, found.pane) == ("fine", "operators")


def test_unknown_is_said_and_not_guessed() -> None:
    found = by_kind(empty_source())
    assert {kind for kind, finding in found.items() if finding.severity == "unknown"} == {
        "dispatch_unknown",
        "host_unknown",
        "scenario_unknown",
    }


def test_lists_that_a_level_lacks_are_unknown() -> None:
    assert by_kind(level0_source())["problems_unknown"].severity == "unknown"


def test_problems_are_summed_by_kind() -> None:
    # Three groups of aic_scalar with 10 us each, over 2 steps: 15 us a step.
    found = by_kind(full_source(rows=3))["problem_aic_scalar"]
    assert (found.values["groups"], found.stake_ns, found.filter) == ("3", 15_000, "aic_scalar")


def test_host_cannot_win_more_than_the_device_waits() -> None:
    # Stream synchronizations take 2 ms a step, but the device is free for 215 us only.
    assert by_kind(full_source())["host_stream_sync"].stake_ns == 215_000


def test_unjudged_host_verdict_is_no_finding() -> None:
    assert "host_short_launches" not in by_kind(full_source())


def test_ge_idle_time_is_what_operators_leave_of_the_iteration() -> None:
    # Device iteration 234 us, operators 200 us.
    source = ge_source()
    bound = replace(source.metrics, dispatch_bound=True, op_share=200 / 234)
    assert by_kind(replace(source, metrics=bound))["dispatch_bound"].stake_ns == 34_000


def test_damage_leads_to_the_files() -> None:
    found = by_kind(full_source())["unreadable_files"]
    assert (found.severity, found.pane, found.values["file"]) == ("action", "files", "api_statistic.csv")


def test_files_that_disagree_are_named_by_their_check() -> None:
    found = by_kind(full_source())["disagree"]
    assert found.values["check"] == "kernels_computing"
    assert Messages("en").text("check.kernels_computing") in finding_text(found, Messages("en"))


def test_without_a_headline_nothing_needs_action() -> None:
    metrics = single_metrics(
        iterations=Iterations(1, "single", False, None, None, None, None),
        op_time=NamedTime(1_000, "kernels"),
    )
    source = replace(full_source(), metrics=metrics, host=Missing(("api_statistic",), "api"), files=())
    source = replace(source, damaged=False)
    assert all(finding.severity != "action" for finding in find_findings(source))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", sorted(ALL_SOURCES))
def test_every_finding_has_words(name: str, language: str) -> None:
    messages = Messages(language)
    for finding in find_findings(ALL_SOURCES[name]()):
        text = finding_text(finding, messages)
        assert text
        assert "{" not in text


def test_frequent_framework_operator_leads_to_its_row() -> None:
    found = by_kind(full_source())["host_aten_copy_"]
    # 50 us a step, of which the device waits at most its Free of 215 us: under a tenth of 945 us.
    assert (found.severity, found.stake_ns) == ("look", 50_000)
    assert (found.pane, found.view, found.filter) == ("host", "operators", "aten::copy_")
    assert "host_aten_to" not in by_kind(full_source())


def test_operators_that_call_each_other_are_one_finding() -> None:
    source = full_source()
    assert not isinstance(source.host_operators, Missing)
    verdicts = tuple(
        replace(verdict, flagged=True, total_per_iteration_ns=total_ns)
        for verdict, total_ns in zip(source.host_operators.verdicts, (50_000, 70_000, 60_000), strict=True)
    )
    assert [verdict.kind for verdict in verdicts] == ["aten_copy_", "aten_to", "aten_to_copy"]
    source = replace(source, host_operators=replace(source.host_operators, verdicts=verdicts))
    found = {kind: one for kind, one in by_kind(source).items() if kind.startswith("host_aten")}
    assert set(found) == {"host_aten_to_and_others"}
    text = finding_text(found["host_aten_to_and_others"], Messages("en"))
    assert "70.0 us" in text
    assert "aten::_to_copy: 60.0 us, aten::copy_: 50.0 us" in text


def test_framework_operators_are_judged_without_api_statistic() -> None:
    source = replace(full_source(), host=Missing(("api_statistic",), "api"))
    assert {"host_aten_copy_", "host_unknown"} <= by_kind(source).keys()


def test_only_copies_that_nothing_hides_are_at_stake() -> None:
    found = by_kind(full_source())["copies_host_to_device"]
    # 50 us a step, half of it beside computing.
    assert (found.severity, found.stake_ns) == ("fine", 25_000)
    assert finding_text(found, Messages("en")) == (
        "copies on the device, H2D: 50.0 us per iteration, 50.0 % hidden"
    )


def test_copies_worth_a_tenth_of_the_step_are_worth_a_look() -> None:
    source = full_source()
    assert isinstance(source.copies, Copies)
    longer = source.copies.by_direction.with_columns(pl.lit(200_000, pl.Int64).alias("per_iteration_ns"))
    source = replace(source, copies=replace(source.copies, by_direction=longer))
    # 100 of 200 us are hidden, the other 100 are more than a tenth of 945 us.
    assert by_kind(source)["copies_host_to_device"].severity == "look"


def test_copies_of_which_nothing_tells_whether_they_are_hidden_do_not_say_so() -> None:
    source = full_source()
    assert isinstance(source.copies, Copies)
    unknown = source.copies.by_direction.with_columns(pl.lit(None, pl.Float64).alias("overlapped_share"))
    found = by_kind(replace(source, copies=replace(source.copies, by_direction=unknown)))
    assert "copies_host_to_device" not in found
    assert found["copies_host_to_device_only"].stake_ns == 50_000


@pytest.mark.parametrize(
    ("hidden", "kind", "english", "chinese"),
    [
        (
            0.5,
            "copies_undirected",
            "copies on the device, direction not recorded: 50.0 us per iteration, 50.0 % hidden",
            "Device 侧未记录方向的拷贝：每次迭代 50.0 us，50.0 % 被掩盖",
        ),
        (
            None,
            "copies_undirected_only",
            "copies on the device, direction not recorded: 50.0 us per iteration",
            "Device 侧未记录方向的拷贝：每次迭代 50.0 us",
        ),
    ],
)
def test_copies_of_unknown_direction_are_a_finding_of_their_own(
    hidden: float | None, kind: str, english: str, chinese: str
) -> None:
    source = full_source()
    assert isinstance(source.copies, Copies)
    unknown = source.copies.by_direction.head(1).with_columns(
        pl.lit(None, pl.String).alias("direction"), pl.lit(hidden, pl.Float64).alias("overlapped_share")
    )
    found = by_kind(replace(source, copies=replace(source.copies, by_direction=unknown)))
    (one,) = [kind for kind in found if kind.startswith("copies_")]
    assert one == kind
    assert (found[kind].pane, found[kind].view) == ("host", "copies")
    assert finding_text(found[kind], Messages("en")) == english
    assert finding_text(found[kind], Messages("zh")) == chinese


def test_copies_outside_of_iterations_are_no_finding() -> None:
    source = full_source()
    assert isinstance(source.copies, Copies)
    uncut = source.copies.by_direction.with_columns(pl.lit(None, pl.Int64).alias("per_iteration_ns"))
    found = by_kind(replace(source, copies=replace(source.copies, by_direction=uncut)))
    assert not any(kind.startswith("copies_") for kind in found)


def test_frequent_operator_is_at_stake_whole_where_nothing_tells_how_long_the_device_waits() -> None:
    source = replace(
        full_source(),
        metrics=single_metrics(headline=("step", NamedTime(400_000, "host_step_mean"))),
    )
    found = by_kind(source)["host_aten_copy_"]
    # 50 us are an eighth of the step.
    assert (found.severity, found.stake_ns) == ("action", 50_000)


def test_unknown_operator_time_is_not_called_an_unknown_iteration() -> None:
    step = NamedTime(400_000, "host_step_mean")
    timed = replace(empty_source(), metrics=single_metrics(headline=("step", step)))
    assert "dispatch_without_operators" in by_kind(timed)
    assert "dispatch_unknown" not in by_kind(timed)


@pytest.mark.parametrize(("language", "title"), [("en", "Remarks"), ("zh", "说明")])
def test_damage_refers_to_the_remarks_by_the_title_they_have_everywhere(language: str, title: str) -> None:
    messages = Messages(language, ("analysis.report.messages", "recui.messages"))
    assert messages.text("report.section.notes") == messages.text("files.notes") == title
    said = messages.text("finding.damaged_input")
    assert said.endswith({"en": f"see the {title.lower()}", "zh": f"详见“{title}”"}[language])


@pytest.mark.parametrize("language", LANGUAGES)
def test_advice_to_look_at_the_host_refers_to_its_chapter_by_its_title(language: str) -> None:
    messages = Messages(language)
    title = messages.text("report.chapter.host")
    assert title.lower() in messages.text("report.core.host_pace").lower()
