"""What stands out in the phases: how grave, with which numbers, leading where."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
import pytest

from analysis.finding import Finding, finding_text
from analysis.findings import find_findings
from analysis.host import Verdict
from analysis.metrics import NamedTime
from analysis.notes import Missing
from analysis.phases.results import Depth
from analysis.report.messages import LANGUAGES, Messages
from tests.analysis.phases import phase_fixtures as made
from tests.analysis.report_fixtures import Source, full_source, level0_source

if TYPE_CHECKING:
    from analysis.phases.results import Phases

VIEWS = {"phases", "tree", "steps", "waits", "asynchrony"}


def source_of(found: Phases, step_ns: int = 1_000_000) -> Source:
    """A training capture of steps of 1 ms, in which the device waits 215 us for the host."""
    source = full_source()
    step = ("step", NamedTime(step_ns, "step_trace_time"))
    return replace(source, phases=found, metrics=replace(source.metrics, headline=step))


def of_phases(found: Phases, step_ns: int = 1_000_000) -> dict[str, Finding]:
    findings = find_findings(source_of(found, step_ns))
    return {finding.kind: finding for finding in findings if finding.pane == "phases"}


def words(finding: Finding) -> str:
    return finding_text(finding, Messages("en"))


def test_flagged_wait_of_a_tenth_of_the_step_needs_action():
    found = of_phases(made.phases("future.result"))["wait_for"]
    assert (found.severity, found.stake_ns, found.view, found.filter) == (
        "action",
        100_000,
        "waits",
        "future.result",
    )
    assert "waits in future.result for future.result: 100 us a step, 10.0 % of it" in words(found)


def test_flagged_wait_of_less_is_worth_a_look():
    assert of_phases(made.phases(), step_ns=1_000_001)["wait_for"].severity == "look"


def test_wait_within_the_limits_is_no_finding():
    assert "wait" not in of_phases(made.phases())


def test_no_more_can_be_won_from_a_wait_than_the_device_is_idle():
    found = made.phases()
    long = found.waits.by_name.with_columns(pl.lit(900_000, pl.Int64).alias("per_step_ns"))
    found = replace(found, waits=replace(found.waits, by_name=long))
    assert of_phases(found)["wait_for"].stake_ns == 215_000


def test_device_sync_of_a_twentieth_of_the_step_is_a_finding():
    found = made.phases()
    syncs = found.waits.device_syncs

    def of_length(time_ns: int) -> dict[str, Finding]:
        made_so = syncs.with_columns(pl.lit(time_ns, pl.Int64).alias("per_step_ns"))
        return of_phases(replace(found, waits=replace(found.waits, device_syncs=made_so)))

    assert "device_sync" not in of_length(49_999)
    sync = of_length(50_000)["device_sync"]
    assert (sync.severity, sync.stake_ns, sync.filter) == ("look", 50_000, "aten::item")
    assert "50.0 us a step, 5.0 % of it (limit 5 %), mostly in aten::item (unclassified)" in words(sync)


def blocked(synced_ns: int, sync_ns: int = 90_000) -> dict[str, str]:
    """Findings where of the wait of 100 us and of the syncs so much is the same time: kind and words."""
    found = made.phases("future.result")
    syncs = found.waits.device_syncs.with_columns(pl.lit(sync_ns, pl.Int64).alias("per_step_ns"))
    waits = replace(found.waits, device_syncs=syncs, synced_ns={"future.result": synced_ns})
    told = of_phases(replace(found, waits=waits))
    kinds = ("wait", "wait_for", "device_sync", "device_sync_same", "device_sync_inside")
    return {kind: words(told[kind]) for kind in kinds if kind in told}


def test_a_wait_that_stands_still_for_the_device_is_told_once_as_the_device_sync():
    told = blocked(50_000)
    assert set(told) == {"device_sync_same"}
    assert "90.0 us a step, 9.0 % of it" in told["device_sync_same"]
    assert "part of it is seen as future.result too" in told["device_sync_same"]


def test_syncs_inside_of_another_wait_are_told_with_the_wait():
    told = blocked(30_000)
    assert set(told) == {"wait_for", "device_sync_inside"}
    assert "60.0 us a step, 6.0 % of it" in told["device_sync_inside"]
    assert told["device_sync_inside"].endswith("; 30.0 us more lies inside waits that are told on their own")
    assert set(blocked(49_999)) == {"wait_for"}


def test_a_wait_stays_where_its_syncs_are_too_few_to_tell():
    assert set(blocked(50_000, sync_ns=49_999)) == {"wait_for"}


@pytest.mark.parametrize(
    ("streams_ns", "kinds"),
    [(180_000, {"device_sync_same"}), (180_002, {"device_sync", "host_stream_sync"})],
)
def test_stream_syncs_are_told_with_the_device_syncs_that_make_them(streams_ns: int, kinds: set[str]):
    source = source_of(made.phases())
    assert not isinstance(source.host, Missing)
    streams = Verdict(
        "stream_sync", "iteration", 12.0, streams_ns, streams_ns // 12, flagged=True, level="acl"
    )
    source = replace(source, host=replace(source.host, verdicts=(streams,)))
    found = {finding.kind: finding for finding in find_findings(source)}
    assert found.keys() & {"device_sync", "device_sync_same", "host_stream_sync"} == kinds
    if "device_sync_same" in kinds:
        assert "part of it is seen as aclrtSynchronizeStream* × 12.0 too" in words(found["device_sync_same"])


def test_serial_pair_can_hide_its_shorter_side():
    # Preprocessing 100 us, lookup 80 us of the mean step.
    pair = of_phases(made.phases())["pair_serial"]
    assert (pair.severity, pair.stake_ns, pair.view) == ("look", 80_000, "asynchrony")
    assert "up to 80.0 us a step could be hidden" in words(pair)
    assert of_phases(made.phases(), step_ns=800_000)["pair_serial"].severity == "action"


@pytest.mark.parametrize("verdict", ["threads", "streams"])
def test_pair_that_runs_side_by_side_is_fine(verdict: str):
    found = made.phases()
    found = replace(found, pairs=(replace(found.pairs[0], verdict=verdict, host_ratio=0.9), found.pairs[1]))
    pair = of_phases(found)[f"pair_{verdict}"]
    assert pair.severity == "fine"
    assert f"side by side on {verdict}: 90.0 % of the shorter" in words(pair)


def test_pair_that_cannot_be_judged_is_no_finding():
    assert "pair_not_observable" not in of_phases(made.phases())


def test_uncertain_serial_pair_is_only_worth_a_look_and_says_why():
    found = of_phases(made.low_confidence(made.phases()), step_ns=500_000)
    assert found["pair_serial"].severity == "look"
    assert "(low confidence)" in words(found["pair_serial"])
    assert (found["unclassified"].severity, found["unclassified"].stake_ns) == ("unknown", 250_000)
    assert "25.0 % of the host step has no phase (limit 20 %)" in words(found["unclassified"])
    assert "(low confidence)" not in words(of_phases(made.phases())["pair_serial"])


def test_fused_update_is_told_and_never_called_serial():
    findings = find_findings(source_of(made.fused_update(made.phases())))
    assert [finding.kind for finding in findings if finding.kind == "fused_update"] == ["fused_update"]
    serial = [finding for finding in findings if finding.kind == "pair_serial"]
    assert [finding.values["phase"] for finding in serial] == ["data_preprocessing"]


@pytest.mark.parametrize(
    ("present", "ahead", "kind", "severity"),
    [
        (False, False, "prefetch_absent", "look"),
        (True, False, "prefetch_not_ahead", "look"),
        (True, True, "prefetch_ahead_at_least", "fine"),
        (True, None, "prefetch_maybe", "unknown"),
    ],
)
def test_prefetching_is_judged_by_what_runs_ahead(
    present: bool, ahead: bool | None, kind: str, severity: str
):
    found = made.phases()
    found = replace(found, prefetch=replace(found.prefetch, present=present, runs_ahead=ahead))
    kinds = {name: finding for name, finding in of_phases(found).items() if name.startswith("prefetch")}
    assert {name: finding.severity for name, finding in kinds.items()} == {kind: severity}


@pytest.mark.parametrize(
    ("batches", "at_least", "kind", "text"),
    [
        (2, False, "prefetch_ahead", "data runs least far ahead: by 2"),
        (2, True, "prefetch_ahead_at_least", "by at least 2"),
        (0, False, "prefetch_ahead", "by 0"),
        (0, True, "prefetch_ahead_unmeasured", "does not tell how many"),
    ],
)
def test_the_stage_least_far_ahead_is_told(batches: int, at_least: bool, kind: str, text: str):
    found = made.phases()
    depths = (Depth("data", batches, at_least, "index"), Depth("lookup", 3, at_least=False, evidence="index"))
    prefetch = replace(found.prefetch, present=True, runs_ahead=True, depths=depths)
    assert text in words(of_phases(replace(found, prefetch=prefetch))[kind])


def test_depth_that_nothing_tells_is_said_to_be_unknown():
    found = made.phases()
    unmeasured = replace(found, prefetch=replace(found.prefetch, depths=()))
    finding = of_phases(unmeasured)["prefetch_ahead_unmeasured"]
    assert finding.severity == "fine"
    assert "does not tell how many" in words(finding)


def test_prefetching_is_unknown_where_nothing_tells():
    found = made.phases()
    found = replace(found, prefetch=replace(found.prefetch, present=None, runs_ahead=None))
    told = {kind: one.severity for kind, one in of_phases(found).items() if kind.startswith("prefetch")}
    assert told == {"prefetch_unknown": "unknown"}


def test_a_serial_pair_with_next_to_no_work_is_no_finding():
    found = made.phases()
    # 1 us is the thousandth of the step that the limit names.
    for hideable_ns, told in ((1_000, True), (999, False)):
        pairs = (replace(found.pairs[0], hideable_ns=hideable_ns), found.pairs[1])
        assert ("pair_serial" in of_phases(replace(found, pairs=pairs))) is told


def test_the_largest_phase_and_a_fused_update_say_that_confidence_is_low():
    found = of_phases(made.low_confidence(made.fused_update(made.phases())))
    for kind in ("largest_phase", "fused_update", "slow_step_name"):
        assert "(low confidence)" in words(found[kind])


def test_step_that_stands_out_costs_what_it_adds_to_the_mean():
    # 400 us more in one of two averaged steps.
    slow = of_phases(made.phases("aten::item"))["slow_step_name"]
    assert (slow.view, slow.stake_ns, slow.severity) == ("steps", 200_000, "action")
    assert "step 12 takes 1.20 ms, the others 800 us: 400 us more in forward, 290 us in aten::item" in words(
        slow
    )


def test_gap_that_grew_most_is_said_to_have_no_event():
    found = made.phases()
    assert found.variation is not None
    found = replace(found, variation=replace(found.variation, names=found.variation.names[1:]))
    assert "20.0 us without any event" in words(of_phases(found)["slow_step_gap"])


def test_a_short_step_is_worth_a_look():
    found = made.phases()
    assert found.variation is not None
    short = replace(found.variation, flagged=False, short=((11, 90_000), (13, 80_000)))
    told = of_phases(replace(found, variation=short))
    assert "slow_step_name" not in told
    assert (told["short_step"].severity, told["short_step"].view) == ("look", "steps")
    assert "(2): step 11 takes 90.0 us, the median 800 us" in words(told["short_step"])


def test_even_steps_are_no_finding():
    found = made.phases()
    assert found.variation is not None
    even = replace(found, variation=replace(found.variation, flagged=False))
    assert not any(kind.startswith("slow_step") for kind in of_phases(even))
    assert not any(kind.startswith("slow_step") for kind in of_phases(replace(found, variation=None)))


def test_largest_phase_is_for_information():
    largest = of_phases(made.phases())["largest_phase"]
    assert (largest.severity, largest.stake_ns) == ("fine", 300_000)
    assert words(largest) == "the largest phase is forward: 300 us, 30.0 % of the host step"


def test_findings_lead_to_lists_of_their_pane():
    found = of_phases(made.low_confidence(made.phases()))
    assert {finding.view for finding in found.values()} <= VIEWS


def test_inference_and_captures_without_a_trace_have_none():
    source = full_source()
    inference = replace(source, scenario=replace(source.scenario, scenario="inference"))
    for other in (inference, level0_source()):
        assert not any(finding.pane == "phases" for finding in find_findings(other))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_finding_has_words_and_names_stay_literal(language: str):
    messages = Messages(language)
    for found in (made.phases("{x}"), made.low_confidence(made.phases()), made.fused_update(made.phases())):
        for finding in of_phases(found).values():
            text = finding_text(finding, messages)
            assert "{" not in text.replace("{x}", "").replace("{i}", "")


def test_times_of_a_trace_without_steps_are_not_called_those_of_a_step():
    found = made.phases()
    whole = replace(found, windows=replace(found.windows, whole_trace=True))
    assert "90.0 us a step" in words(of_phases(found)["device_sync"])
    assert "90.0 us in the whole trace" in words(of_phases(whole)["device_sync"])
