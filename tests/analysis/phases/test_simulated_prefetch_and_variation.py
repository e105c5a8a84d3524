"""Simulated training profiles, whose depth of prefetching and slowest step are known from the simulation."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from analysis.host_bars import host_bars
from analysis.phases.attribution import phase_times
from analysis.phases.classify import classify
from analysis.phases.prefetch import find_prefetch
from analysis.phases.rules import load_rules
from analysis.phases.slices import slices
from analysis.phases.variation import step_variation
from analysis.phases.windows import find_windows
from analysis.profile.discover import SourceFile
from analysis.trace.ingest import read_trace
from analysis.trace.steps import trace_steps
from tests.analysis.phases.hand_made import Case, averages
from tests.generators import gen_recsys_trace as generator

if TYPE_CHECKING:
    from collections.abc import Callable

    from analysis.phases.results import Prefetch, Variation

SLOW = 22
"""The step that takes longer, of 20 to 23."""


def simulated(folder: Path, options: str, slower: Callable[[Any], None] | None = None) -> tuple[Case, Any]:
    """The trace of a simulated rank, and what the simulation knows of it."""
    parsed = generator.parse([*options.split(), "--out", str(folder)])
    rank = generator.Rank(0, parsed)
    for at in range(parsed.steps):
        with rank.train_step(parsed.first_step + at):
            if slower is not None and parsed.first_step + at == SLOW:
                slower(rank)
            generator.FLAVOURS[parsed.flavour](rank, 100 + at)
    truth = generator.Truth(rank)
    written = Path(generator.write_rank(rank, truth, str(folder), new_csv=True))
    path = written / "ASCEND_PROFILER_OUTPUT" / "trace_view.json"
    trace = read_trace(SourceFile("trace_view", (path,)), root=folder)
    steps = trace_steps(trace)
    bars = host_bars(trace, steps)
    windows = find_windows(trace, bars, steps, averages())
    assert windows is not None
    return Case(trace, windows, classify(bars, load_rules(), windows)), truth


def prefetch_of(folder: Path, options: str) -> tuple[Prefetch, dict[str, Any]]:
    made, truth = simulated(folder, options)
    return find_prefetch(made.classified, made.windows), truth.depth()


def told(found: Prefetch) -> dict[str, tuple[int | None, bool, str]]:
    """Batches, whether they are a lower bound, and the evidence of every stage."""
    return {depth.stage: (depth.batches, depth.at_least, depth.evidence) for depth in found.depths}


@pytest.mark.parametrize("overlap", ["yes", "no"])
@pytest.mark.parametrize("depth", range(6))
def test_a_pipeline_with_indices_tells_its_exact_depth(tmp_path: Path, depth: int, overlap: str) -> None:
    found, truth = prefetch_of(
        tmp_path, f"--flavour torchrec --steps 3 --depth {depth} --overlap {overlap} --scale 0.4"
    )
    assert told(found)["data"] == (truth["data"], False, "index")
    assert told(found)["input_dist"] == (truth["input_dist"], False, "index")
    assert (found.present, found.runs_ahead) == (True, depth > 0)
    assert found.depth == truth["input_dist"]


@pytest.mark.parametrize("depth", [2, 5, 6])
def test_a_pipeline_without_an_index_in_training_tells_its_gaps(tmp_path: Path, depth: int) -> None:
    found, truth = prefetch_of(tmp_path, f"--flavour embcache --steps 3 --depth {depth} --scale 0.4")
    gap = (truth["observable_gap"], True, "index_gap")
    assert told(found)["data"] == told(found)["input_dist"] == gap
    assert {depth.behind for depth in found.depths if depth.evidence == "index_gap"} == {"dist_wait"}
    assert (found.present, found.runs_ahead) == (True, True)


@pytest.mark.parametrize("load", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_workers_tell_their_depth_where_a_wait_blocks(tmp_path: Path, depth: int, load: int) -> None:
    found, truth = prefetch_of(
        tmp_path, f"--flavour seed --steps 8 --depth {depth} --worker-load {load} --scale 0.4"
    )
    if truth["evidence"].startswith("wait end"):
        assert told(found)["lookup"] == (truth["input_dist"], True, "fifo")
    else:
        assert told(found)["lookup"] == (None, False, "never_blocks")
    assert told(found)["data"] in {(truth["data"], True, "chained"), (None, False, "never_blocks")}
    assert (found.present, found.runs_ahead) == (True, True)


def test_the_worker_of_the_data_tells_its_depth_where_the_other_waits_for_it(tmp_path: Path) -> None:
    found, _ = prefetch_of(tmp_path, "--flavour seed --steps 8 --depth 3 --worker-load 6")
    assert told(found)["data"] == (3, True, "chained")


def test_names_alone_leave_the_depth_open(tmp_path: Path) -> None:
    found, _ = prefetch_of(tmp_path, "--flavour seed --steps 3 --depth 3 --overlap no --scale 0.4")
    assert {evidence for _, _, evidence in told(found).values()} == {"unseen"}
    assert (found.present, found.runs_ahead, found.depth) == (True, None, None)
    assert found.events["name"].to_list() == ["embedding.prepare", "wait_prepare"]


def test_a_plain_loop_works_on_nothing_ahead(tmp_path: Path) -> None:
    found, _ = prefetch_of(tmp_path, "--flavour naive --steps 3 --scale 0.4")
    assert told(found) == {
        "data": (0, False, "single_process"),
        "input_dist": (0, False, "inside_forward"),
        "dist_wait": (None, False, "unseen"),
        "lookup": (0, False, "inside_forward"),
    }
    assert (found.present, found.runs_ahead, found.depth) == (False, False, 0)


def busy(rank: Any, name: str, ms: float, phase: str | None = None) -> None:
    """One more range of the main thread."""
    with rank.span(name, phase):
        rank.busy(ms * generator.MS)


def variation_of(folder: Path, options: str, slower: Callable[[Any], None] | None = None) -> Variation:
    made, truth = simulated(folder, options, slower)
    pieces = slices(made.classified, made.windows)
    times = phase_times(made.classified, made.windows, pieces, made.trace, trace_steps(made.trace))
    found = step_variation(made.classified, made.windows, times, pieces)
    assert found is not None
    lengths = {step: host["step_us"] for step, host in truth.host().items()}
    assert found.slowest == max(lengths, key=lambda step: lengths[step])
    assert found.slowest_ns == round(lengths[found.slowest] * 1000)
    return found


@pytest.mark.parametrize("flavour", ["torchrec", "seed", "naive", "embcache"])
def test_unknown_work_of_one_step_is_named(tmp_path: Path, flavour: str) -> None:
    more = partial(busy, name="table_compaction", ms=40)
    found = variation_of(tmp_path, f"--flavour {flavour} --steps 4", more)
    assert (found.slowest, found.flagged) == (SLOW, True)
    assert (found.names[0].kind, found.names[0].name) == ("name", "table_compaction")
    assert (found.names[0].phase, found.names[0].others_ns) == (None, 0)
    assert found.phases[0].name == "unclassified"


@pytest.mark.parametrize("flavour", ["torchrec", "naive"])
def test_longer_loading_of_one_step_is_named(tmp_path: Path, flavour: str) -> None:
    more = partial(busy, name="collate", ms=40, phase=generator.PRE)
    found = variation_of(tmp_path, f"--flavour {flavour} --steps 4", more)
    assert (found.slowest, found.flagged) == (SLOW, True)
    assert found.phases[0].name == found.names[0].phase == "data_preprocessing"
    assert found.names[0].name == "collate"


def test_time_without_any_event_is_named(tmp_path: Path) -> None:
    found = variation_of(tmp_path, "--flavour torchrec --steps 4", lambda rank: rank.busy(40 * generator.MS))
    assert (found.slowest, found.names[0].kind) == (SLOW, "gap")
    assert found.phases[0].name == "unclassified"


def test_steps_that_do_the_same_are_not_flagged(tmp_path: Path) -> None:
    found = variation_of(tmp_path, "--flavour naive --steps 4 --overlap no")
    assert not found.flagged
    assert found.spread < 0.1
