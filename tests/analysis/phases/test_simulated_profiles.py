"""Simulated training profiles: phases, pairs, waits and depths are those of the simulation."""

from __future__ import annotations

import itertools
import os
from collections import Counter, defaultdict
from statistics import median
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from analysis.phases.model import PHASES, UNCLASSIFIED
from analysis.phases.results import STAGE_DATA, STAGE_DIST_WAIT, STAGE_INPUT_DIST, STAGE_LOOKUP, STAGES
from tests.analysis.phases.simulated import Simulated, ns, simulate
from tests.generators import gen_recsys_trace as generator

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = (
    "--flavour torchrec --steps 3 --depth 0 --step-ids no --csv old",
    "--flavour torchrec --steps 3 --depth 2 --seed 3 --lost-flows 0.5",
    "--flavour torchrec --steps 2 --depth 5 --seed 4",
    "--flavour torchrec --steps 3 --depth 1 --overlap no --seed 5 --lost-flows 1 --csv old",
    "--flavour naive --steps 3 --depth 3 --seed 6 --lost-flows 0.5 --csv old",
    "--flavour naive --steps 2 --overlap no --seed 7 --step-ids no",
    "--flavour seed --steps 3 --depth 0 --seed 8",
    "--flavour seed --steps 3 --depth 2 --seed 9 --step-ids no --lost-flows 0.5",
    "--flavour seed --steps 8 --depth 3 --seed 10 --worker-load 6 --csv old",
    "--flavour seed --steps 6 --depth 1 --seed 11 --worker-load 4",
    "--flavour seed --steps 2 --depth 4 --overlap no --seed 12 --lost-flows 0.5",
    "--flavour embcache --steps 3 --depth 4 --seed 13 --step-ids no --lost-flows 0.3",
    "--flavour embcache --steps 2 --depth 5 --seed 14 --csv old",
    "--flavour embcache --steps 2 --depth 1 --overlap no --seed 15 --lost-flows 0.5",
)


def sweep() -> tuple[str, ...]:
    """Every flavour, overlap, depth and share of lost arrows, the rest in turn; and slow workers."""
    cases = itertools.product(("torchrec", "naive", "seed", "embcache"), ("yes", "no"), range(6), (0, 0.5))
    plain = (
        f"--flavour {flavour} --overlap {overlap} --depth {depth} --lost-flows {lost} --seed {seed}"
        f" --step-ids {('yes', 'no', 'yes')[seed % 3]} --csv {('old', 'new')[seed // 2 % 2]}"
        for seed, (flavour, overlap, depth, lost) in enumerate(cases, 1)
    )
    slow = (
        f"--flavour seed --steps 8 --depth {depth} --worker-load {load} --seed {10 * depth + load}"
        for depth, load in itertools.product(range(1, 5), range(2, 8))
    )
    return (*plain, *slow)


# All profiles at once take too long for every run of the tests.
PROFILES = sweep() if os.environ.get("RECUI_PHASE_SWEEP") else SAMPLE

LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
VERDICTS = {"async (threads)": "threads", "async (streams)": "streams", "serial": "serial"}

# The table of the seed document: a name has the phase of the first word it contains, or its parent's.
KEYWORDS = {
    "data_preprocessing": ("feature_transform", "data", "preprocess", "collate", "input_copy"),
    "embedding_lookup": ("all2all", "embedding", "lookup", "hash", "find", "prepare", "relocate"),
    "forward": ("forward", "matmul", "linear", "attention", "layernorm", "activation", "loss"),
    "backward": ("backward", "grad", "autograd", "all_reduce", "reducer"),
    "embedding_update": ("embedding_backward", "upsert", "all2all_grad", "table_update"),
    "dense_update": ("optimizer", "step", "adam", "sgd", "muon", "zero_grad"),
}


@pytest.fixture(scope="module", params=PROFILES)
def simulated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    return simulate(request.param, tmp_path_factory.mktemp("simulated"))


def starvation(simulated: Simulated) -> list[Any]:
    """Calls of the loader, where they take more than a twentieth of the steps: then they are waits.

    facts/phases.md 1 says so; the simulation knows why time passes, not how much of it is too much, and calls
    none of them a wait.
    """
    calls = [span for span in simulated.rank.spans if span.name == LOADER]
    steps_ns = sum(step.end - step.start for step in simulated.rank.steps)
    return calls if 20 * sum(span.end - span.start for span in calls) > steps_ns else []


def times(simulated: Simulated, column: str) -> dict[tuple[int, str], int]:
    """Time of each phase in each step, as found."""
    rows = simulated.phases.times.by_step.select("step", "phase", column).iter_rows()
    return {(step, phase): time for step, phase, time in rows}


def true_times(simulated: Simulated, table: str) -> dict[tuple[int, str], int]:
    """The same as the simulation knows it."""
    return {
        (step, phase): ns(us)
        for step, host in simulated.truth["host"].items()
        for phase, us in (*host[table].items(), (UNCLASSIFIED, host["unclassified_us"]))
    }


def error(simulated: Simulated, found: dict[tuple[int, str], int]) -> float:
    """The worst time of a phase against its step, compared with the attributed times of the simulation."""
    truth = true_times(simulated, "attributed_us")
    host = simulated.truth["host"]
    return max(
        abs(found.get((step, phase), 0) - true) / ns(host[step]["step_us"])
        for (step, phase), true in truth.items()
        if phase != UNCLASSIFIED
    )


def test_phases_of_every_step_are_those_of_the_simulation(simulated: Simulated) -> None:
    assert times(simulated, "main_thread_ns") == true_times(simulated, "main_thread_us")
    assert times(simulated, "attributed_ns") == true_times(simulated, "attributed_us")


def test_phases_sum_up_to_the_step(simulated: Simulated) -> None:
    sums = simulated.phases.times.by_step.group_by("step").agg(
        pl.col("main_thread_ns").sum(), pl.col("attributed_ns").sum()
    )
    assert sorted(sums.rows()) == [
        (step.number, step.end - step.start, step.end - step.start) for step in simulated.rank.steps
    ]


def test_backward_operators_start_in_the_step_of_their_forward_ones(simulated: Simulated) -> None:
    assert simulated.phases.times.tied_backward > 0
    assert simulated.phases.times.misplaced_backward == 0


def test_tables_are_written_in_backward_where_the_simulation_fuses_them(simulated: Simulated) -> None:
    fused = any("SplitLookupFunction" in span.name for span in simulated.rank.spans)
    assert simulated.phases.times.fused_update == fused


def test_a_table_of_keywords_is_no_match_for_the_rules(simulated: Simulated) -> None:
    """Each profile holds a name that a keyword puts into a wrong phase, or a wait that no word explains."""
    assert error(simulated, times(simulated, "attributed_ns")) <= 0.001
    assert error(simulated, by_keywords(simulated)) >= 0.05


def test_a_table_of_keywords_may_be_wrong_by_most_of_a_step(tmp_path: Path) -> None:
    """``loss.item`` waits for the device, and contains "loss"; ``future.result`` contains no keyword."""
    simulated = simulate("--flavour naive --steps 2 --overlap no", tmp_path)
    assert error(simulated, times(simulated, "attributed_ns")) <= 0.001
    assert error(simulated, by_keywords(simulated)) >= 0.5


def by_keywords(simulated: Simulated) -> dict[tuple[int, str], int]:
    """Exclusive time of the main thread by the first keyword in the name, or in that of a span around it."""
    found: Counter[tuple[int, str]] = Counter()
    phases: list[str | None] = []
    for span in simulated.exclusive():
        name = span.name.lower()
        inherited = None if span.parent is None else phases[span.parent]
        own = (phase for phase in PHASES if any(word in name for word in KEYWORDS[phase]))
        phases.append(next(own, inherited))
        found[span.step, phases[-1] or UNCLASSIFIED] += span.ns
    return found


def test_verdicts_are_those_of_the_simulation(simulated: Simulated) -> None:
    for pair, truth in zip(simulated.phases.pairs, simulated.truth["async_pairs"], strict=True):
        assert list(pair.phases) == truth["pair"]
        assert pair.verdict == VERDICTS[truth["verdict"]], pair.phases
        assert round(pair.host_ratio or 0.0, 4) == truth["host_ratio"], pair.phases
        assert round(pair.device_ratio or 0.0, 4) == truth["device_ratio"], pair.phases


def test_work_of_each_side_is_that_of_the_simulation(simulated: Simulated) -> None:
    rank = simulated.rank
    starving = sum(span.end - span.start for span in starvation(simulated))
    for pair in simulated.phases.pairs:
        host = tuple(
            generator.total(
                generator.union(
                    (charge.start, charge.end)
                    for charge in rank.charges
                    if charge.phase == phase and not charge.waiting
                )
            )
            for phase in pair.phases
        )
        device = tuple(
            generator.total(
                generator.union((task.start, task.end) for task in rank.tasks if task.phase == phase)
            )
            for phase in pair.phases
        )
        preprocessing = starving if pair.phases[0] == PHASES[0] else 0
        assert pair.host_ns == (host[0] - preprocessing, host[1]), pair.phases
        assert pair.device_ns == device, pair.phases


def test_waits_are_those_of_the_simulation(simulated: Simulated) -> None:
    rows = simulated.phases.waits.by_name.select("name", "phase", "count", "total_ns", "max_ns").iter_rows()
    found = {name.replace("{i}", "N"): rest for name, *rest in rows}
    expected = {
        name: [wait["phase"], wait["count"], ns(wait["total_us"]), ns(wait["max_us"])]
        for name, wait in simulated.truth["waits"]["by_name"].items()
    }
    starving = [span.end - span.start for span in starvation(simulated)]
    if starving:
        expected[LOADER] = [PHASES[0], len(starving), sum(starving), max(starving)]
    assert found == expected


def test_waits_of_each_step_are_those_of_the_simulation(simulated: Simulated) -> None:
    waits = simulated.phases.waits
    truth = simulated.truth["waits"]["per_step_us"]
    expected = {step.number: ns(truth.get(step.number, 0.0)) for step in simulated.rank.steps}
    for span in starvation(simulated):
        expected[span.step] += span.end - span.start
    assert waits.per_step_ns == expected


def test_device_syncs_are_the_synchronising_calls_of_the_simulation(simulated: Simulated) -> None:
    """Each blocks the thread that calls it once, inside the operators that stand for it."""
    syncs: defaultdict[int, int] = defaultdict(int)
    for api in simulated.rank.apis:
        if "aclrtSynchronizeStream" in api.name:
            syncs[api.tid] += 1
    assert simulated.phases.waits.device_syncs["count"].sum() == syncs[simulated.rank.main]


def test_depths_are_those_of_the_simulation_where_it_calls_them_observable(simulated: Simulated) -> None:
    truth = simulated.truth["prefetch_depth"]
    flavour = simulated.rank.cfg.flavour
    found = {depth.stage: depth for depth in simulated.phases.prefetch.depths}
    assert tuple(found) == STAGES
    batches = {stage: depth.batches for stage, depth in found.items()}
    if flavour == "torchrec":
        # The wait is for the same batch as the start; a lookup inside forward is of the batch in training.
        dist = truth["input_dist"]
        assert batches.pop(STAGE_LOOKUP) in {0, None}
        assert batches == {STAGE_DATA: truth["data"], STAGE_INPUT_DIST: dist, STAGE_DIST_WAIT: dist}
        assert not any(depth.at_least for depth in found.values())
    elif flavour == "naive":
        assert batches == {STAGE_DATA: 0, STAGE_INPUT_DIST: 0, STAGE_DIST_WAIT: None, STAGE_LOOKUP: 0}
        assert not any(depth.at_least for depth in found.values())
    elif flavour == "embcache":
        gap = truth["observable_gap"]
        assert batches == {STAGE_DATA: gap, STAGE_INPUT_DIST: gap, STAGE_DIST_WAIT: None, STAGE_LOOKUP: None}
        assert found[STAGE_DATA].at_least
        assert found[STAGE_INPUT_DIST].at_least
    elif truth["evidence"].startswith("not observable"):
        assert set(batches.values()) == {None}
    else:
        # What the worker of the lookup runs ahead is what the simulation calls the distribution of ids.
        assert batches[STAGE_LOOKUP] == truth["input_dist"]
        assert batches[STAGE_DATA] in {truth["data"], None}
        assert batches[STAGE_INPUT_DIST] is batches[STAGE_DIST_WAIT] is None


def test_work_ahead_is_told_where_the_simulation_does_it_in_sight(simulated: Simulated) -> None:
    options, prefetch = simulated.rank.cfg, simulated.phases.prefetch
    in_sight = {
        "torchrec": options.depth > 0,
        "naive": False,
        # Without workers only names speak of it.
        "seed": True if options.overlap and options.depth > 0 else None,
        "embcache": True,
    }
    assert prefetch.runs_ahead is in_sight[options.flavour]
    assert prefetch.present is (options.flavour != "naive")


def test_a_slow_step_is_told_with_what_it_spends_more_on(tmp_path: Path) -> None:
    slow = 2
    simulated = simulate(
        "--flavour torchrec --steps 8",
        tmp_path,
        before_step=lambda rank, at: setattr(rank, "extra_lookup", 40_000_000 if at == slow else 0),
    )
    host = simulated.truth["host"]
    step = simulated.rank.steps[slow].number
    variation = simulated.phases.variation
    assert variation is not None
    short = {number for number, _ in variation.short}
    others = [number for number in host if number != step and number not in short]
    usual = median(row["step_us"] for row in host.values())
    assert short == {number for number, row in host.items() if row["step_us"] < 0.9 * usual}
    assert (variation.flagged, variation.slowest) == (True, step)
    assert variation.slowest_ns == ns(host[step]["step_us"])
    phase, name = variation.phases[0], variation.names[0]
    assert phase.name == "embedding_lookup"
    lookups = {number: ns(row["attributed_us"]["embedding_lookup"]) for number, row in host.items()}
    assert phase.ns == lookups[step]
    assert abs(phase.others_ns - sum(lookups[number] for number in others) / len(others)) <= 0.5
    assert (name.kind, name.name, name.phase) == (
        "name",
        "[splits_dist]_[ebc]_[row_wise]",
        "embedding_lookup",
    )
    assert abs(name.grown_ns - 40_000_000) < 2_000_000


def test_steps_that_all_bear_one_number_are_told_apart(tmp_path: Path) -> None:
    def one_number(name: str) -> str:
        return "ProfilerStep#20" if name.startswith("ProfilerStep#") else name

    usual = simulate("--flavour seed --steps 4", tmp_path / "usual").phases
    alike = simulate("--flavour seed --steps 4", tmp_path / "alike", renamed=one_number).phases
    assert alike.windows.frame["step"].to_list() == [20, 21, 22, 23]
    assert alike.times.mean_remainder == usual.times.mean_remainder
    assert alike.times.mean.equals(usual.times.mean)
