"""Simulated training profiles, whose steps, launches and overlap are known from the simulation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from analysis.profile.discover import SourceFile, discover
from analysis.result import Analysis
from analysis.trace import model
from analysis.trace.flows import launches
from analysis.trace.ingest import read_trace
from analysis.trace.steps import trace_steps
from tests.analysis.trace import oracle
from tests.analysis.trace.comparison import assert_same
from tests.generators import gen_recsys_trace as generator

if TYPE_CHECKING:
    from analysis.trace.model import Trace

PROFILES = (
    "--flavour torchrec --steps 3",
    "--flavour torchrec --steps 2 --ranks 2 --skew-ms 3 --lost-flows 1",
    "--flavour naive --steps 2 --overlap no --lost-flows 0.5",
    "--flavour seed --steps 3 --depth 1 --first-step 7",
    "--flavour seed --steps 2 --lost-flows 1",
    "--flavour embcache --steps 2 --seed 5 --step-ids no --lost-flows 0.3",
)


@dataclass(frozen=True)
class Simulated:
    """The trace of one simulated rank, and what the simulation knows of it."""

    path: Path
    trace: Trace
    rank: Any
    truth: dict[str, Any]
    tracks: dict[str, list[tuple[int, int]]]
    """Intervals of Overlap Analysis by the name of the thread."""


@pytest.fixture(scope="module", params=PROFILES)
def simulated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    """The last rank of a profile."""
    folder = tmp_path_factory.mktemp("simulated")
    options = generator.parse([*request.param.split(), "--out", str(folder)])
    rank = generator.Rank(options.ranks - 1, options)
    for at in range(options.steps):
        with rank.train_step(options.first_step + at):
            generator.FLAVOURS[options.flavour](rank, 100 + at)
    truth = generator.Truth(rank)
    written = Path(generator.write_rank(rank, truth, str(folder), new_csv=True))
    path = written / "ASCEND_PROFILER_OUTPUT" / "trace_view.json"
    trace = read_trace(SourceFile("trace_view", (path,)), root=folder)
    return Simulated(path, trace, rank, truth.report(), truth.tracks)


def ns(us: float) -> int:
    return round(Fraction(str(us)) * 1000)


def test_every_bar_and_arrow_is_that_of_json_and_decimal(simulated: Simulated) -> None:
    assert_same(simulated.trace, oracle.read(simulated.path.read_bytes()))
    assert simulated.trace.quality.faults == ()


def test_steps_are_those_of_the_simulation(simulated: Simulated) -> None:
    found = trace_steps(simulated.trace)
    assert found.select("step", "start_ns", "end_ns").rows() == [
        (step.number, step.start, step.end) for step in simulated.rank.steps
    ]
    times = {
        str(step): end - start for step, start, end in found.select("step", "start_ns", "end_ns").iter_rows()
    }
    assert times == {str(step): ns(host["step_us"]) for step, host in simulated.truth["host"].items()}


def test_overlap_tracks_are_those_of_the_simulation(simulated: Simulated) -> None:
    roles = {
        model.COMPUTING: "Computing",
        model.COMMUNICATION: "Communication",
        model.NOT_OVERLAPPED: "Communication(Not Overlapped)",
        model.FREE: "Free",
    }
    for role, name in roles.items():
        bars = simulated.trace.on(role).sort("start_ns")
        found = [
            (start, start + duration) for start, duration in bars.select("start_ns", "duration_ns").rows()
        ]
        assert found == simulated.tracks[name], name
    communication = simulated.truth["communication"]
    assert simulated.trace.on(model.COMMUNICATION)["duration_ns"].sum() == ns(
        communication["communication_us"]
    )
    assert simulated.trace.on(model.NOT_OVERLAPPED)["duration_ns"].sum() == ns(
        communication["not_overlapped_us"]
    )


def test_device_bars_are_the_tasks_of_the_simulation(simulated: Simulated) -> None:
    bars = simulated.trace.on(model.DEVICE_STREAM, model.COLLECTIVE)
    found = bars.select("name", "start_ns", "duration_ns").rows()
    assert Counter(found) == Counter(
        (task.name, task.start, task.end - task.start) for task in simulated.rank.tasks
    )


def test_host_threads_are_told_apart(simulated: Simulated) -> None:
    tracks = simulated.trace.tracks
    threads = {role: set(tracks.filter(tracks["role"] == role)["tid"]) for role in set(tracks["role"])}
    rank = simulated.rank
    assert threads[model.PYTHON_MAIN] == {str(rank.main)}
    assert threads[model.AUTOGRAD] == {str(rank.autograd)}
    others = {str(span.tid) for span in rank.spans} | {str(rank.queue_thread)}
    assert threads[model.PYTHON_OTHER] == others - {str(rank.main), str(rank.autograd)}


def test_every_task_is_launched_by_the_operator_of_the_simulation(simulated: Simulated) -> None:
    """With or without its torch_to_npu arrow: the rest of the chain leads to the same operator."""
    events = simulated.trace.events.select("name", "start_ns").rows()
    found = {
        events[event]: None if host is None else events[host]
        for event, host in launches(simulated.trace).select("event", "host").rows()
    }
    assert found == {
        (task.name, task.start): (task.host.name, task.host.start) for task in simulated.rank.tasks
    }


def test_sums_of_the_overlap_tracks_are_those_of_step_trace_time(simulated: Simulated) -> None:
    """Whatever the device does after the last launch of a step, and before the first."""
    profile = discover(simulated.path.parent)
    checks = {check.kind: check for check in Analysis(profile, profile.captures[0]).metrics.checks}
    for column in ("computing", "communication", "not_overlapped", "free"):
        check = checks[f"trace_{column}"]
        assert check.left_ns == check.right_ns, column
