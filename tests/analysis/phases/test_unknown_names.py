"""Trainers whose names nobody has seen before: nothing is guessed, and what is left over is told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from analysis.phases.model import BACKWARD, PHASES, UNCLASSIFIED
from tests.analysis.phases.simulated import Simulated, largest, simulate

if TYPE_CHECKING:
    from collections.abc import Callable


def made_up(kept: str) -> Callable[[str], str]:
    """``zeta.17`` for the seventeenth name; names that differ in their batch index only stay one.

    Args:
        kept: Regex of names that stay as they are.
    """
    known: dict[str, str] = {}

    def renamed(name: str) -> str:
        if re.search(kept, name):
            return name
        return known.setdefault(re.sub(r" \d+ ", " ", name), f"zeta.{len(known)}")

    return renamed


@pytest.fixture(scope="module", params=["torchrec", "naive", "seed"])
def unknown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    """Steps of a flavour, every range and operator with a name of its own that says nothing."""
    folder = tmp_path_factory.mktemp("unknown")
    return simulate(f"--flavour {request.param} --steps 3", folder, renamed=made_up("^ProfilerStep#"))


@pytest.fixture(scope="module")
def unknown_ranges(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    """A trainer with worker threads and ranges of its own, over operators of the framework."""
    folder = tmp_path_factory.mktemp("unknown_ranges")
    return simulate("--flavour seed --steps 3", folder, renamed=made_up("^ProfilerStep#|::|Backward|^Hccl"))


def guessed(simulated: Simulated) -> dict[str, int]:
    """All time put into a phase, on whatever thread."""
    times = simulated.phases.times.by_step.group_by("phase").agg(
        pl.sum("main_thread_ns", "attributed_ns", "autograd_ns", "other_threads_ns")
    )
    sums = times.select("phase", pl.sum_horizontal(pl.exclude("phase")).alias("sum"))
    return {phase: time for phase, time in sums.iter_rows() if phase in PHASES and time}


def synchronising(rank: Any) -> set[str]:
    """Names of the innermost spans around a call that waits for the device."""
    return {
        max(around, key=lambda span: span.depth).name
        for api in rank.apis
        if "aclrtSynchronizeStream" in api.name
        and (
            around := [
                span
                for span in rank.spans
                if span.tid == api.tid and span.start <= api.start and api.end <= span.end
            ]
        )
    }


def test_no_phase_is_guessed(unknown: Simulated) -> None:
    assert guessed(unknown) == {}


def test_the_whole_step_is_left_over_with_low_confidence(unknown: Simulated) -> None:
    times = unknown.phases.times
    rest = times.by_step.filter(pl.col("phase") == UNCLASSIFIED)
    assert rest["attributed_ns"].to_list() == [step.end - step.start for step in unknown.rank.steps]
    assert rest["share"].to_list() == [1.0] * rest.height
    assert times.confidence == "low"


def test_the_largest_names_are_told(unknown: Simulated) -> None:
    steps = len(unknown.rank.steps)
    named = unknown.phases.times.mean_named.select("name", "exclusive_ns").rows()
    waiting = synchronising(unknown.rank)
    expected = largest([span for span in unknown.exclusive() if span.name not in waiting], 5)
    assert [name for name, _ in named] == [name for name, _ in expected]
    for (_, found), (_, total) in zip(named, expected, strict=True):
        assert abs(found - total / steps) <= 0.5


def test_time_blocked_on_the_device_is_told_by_the_calls_of_cann(unknown: Simulated) -> None:
    rank = unknown.rank
    blocked = sum(
        api.end - api.start
        for api in rank.apis
        if api.tid == rank.main and "aclrtSynchronizeStream" in api.name
    )
    assert blocked > 0
    assert unknown.phases.times.steps["device_sync_ns"].sum() == blocked


def test_pairs_are_not_observable(unknown: Simulated) -> None:
    assert [(pair.verdict, pair.unobservable) for pair in unknown.phases.pairs] == [
        ("not_observable", "host"),
        ("not_observable", "host"),
    ]


def test_neither_waits_nor_prefetching_are_claimed(unknown: Simulated) -> None:
    prefetch = unknown.phases.prefetch
    assert prefetch.present is not True
    assert prefetch.runs_ahead is not True
    assert prefetch.depth is None
    assert unknown.phases.waits.by_name.is_empty()


def test_of_unknown_ranges_only_the_backward_pass_is_told_by_the_autograd_thread(
    unknown_ranges: Simulated,
) -> None:
    times = unknown_ranges.phases.times
    assert set(guessed(unknown_ranges)) == {BACKWARD}
    backward = times.by_step.filter(pl.col("phase") == BACKWARD)
    assert backward["inferred_ns"].equals(backward["main_thread_ns"].alias("inferred_ns"))
    assert times.mean.filter(pl.col("phase") == UNCLASSIFIED)["share"].item() > 0.2
    assert times.confidence == "low"


def test_threads_with_unknown_names_are_no_prefetching(unknown_ranges: Simulated) -> None:
    assert unknown_ranges.phases.prefetch.present is not True
    assert unknown_ranges.phases.prefetch.runs_ahead is not True
    assert {pair.verdict for pair in unknown_ranges.phases.pairs} == {"not_observable"}
