"""Phases of genuine training captures, against plain json."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from analysis.notes import Missing
from analysis.phases.model import (
    BACKWARD,
    DENSE_UPDATE,
    EMBEDDING_UPDATE,
    FORWARD,
    LOOKUP,
    PHASES,
    PREPROCESSING,
    ROWS,
    UNCLASSIFIED,
)
from analysis.profile.discover import discover
from analysis.result import Analysis

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from analysis.phases.results import Phases, StepTree

pytestmark = pytest.mark.real

NPU = "torch_npu_alexnet_2rank_level1"
RANK0, RANK1 = (f"{NPU}/rank{rank}_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json" for rank in (0, 1))
LEVEL0 = "torch_npu_alexnet_level0/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"
OLDER = "older/trace_view_2024-01.json"
DLRM0 = "gpu_recommender/worker0_step_12.1694128201545.pt.trace.json"
DLRM1 = "gpu_recommender/worker1_step_12.1694128201556.pt.trace.json"
TORCHREC = "gpu_recommender/torchrec_sampled_rank-0.json.gz"
ALEXNET = (RANK0, RANK1, LEVEL0)
RECOMMENDERS = (DLRM0, DLRM1, TORCHREC)
ALL = (*ALEXNET, OLDER, *RECOMMENDERS)

_MOST_UNCLASSIFIED = {DLRM0: 0.013, DLRM1: 0.010, TORCHREC: 0.026}
_HOST = {"cpu_op", "user_annotation"}


@dataclass(frozen=True)
class Bar:
    """One operator or range as the file has it, times in ns."""

    name: str
    thread: tuple[object, object]
    """pid and tid."""
    start: int
    end: int

    def inside(self, other: Bar) -> bool:
        return other.start <= self.start and self.end <= other.end


@dataclass(frozen=True, eq=False)
class Capture:
    """What was found, and what is in the file."""

    analysis: Analysis
    phases: Phases
    bars: tuple[Bar, ...]
    cann: tuple[Bar, ...]
    """Calls of CANN by the thread of the steps."""

    @property
    def steps(self) -> tuple[Bar, ...]:
        return tuple(bar for bar in self.bars if bar.name.startswith("ProfilerStep#"))

    def main(self) -> tuple[Bar, ...]:
        """Bars of the thread of the steps that start inside a step, the steps themselves left out."""
        return tuple(
            bar
            for bar in self.bars
            if bar not in self.steps
            and any(bar.thread == step.thread and step.start <= bar.start < step.end for step in self.steps)
        )

    def mean(self, phase: str, column: str = "attributed_ns") -> int:
        (value,) = self.phases.times.mean.filter(pl.col("phase") == phase)[column]
        return int(value)

    @property
    def unnamed(self) -> set[str]:
        """Phases that no event names, so that nothing is known of them."""
        return set(self.phases.times.mean.filter(pl.col("attributed_ns").is_null())["phase"])


@pytest.fixture(scope="module", params=ALL)
def capture(request: pytest.FixtureRequest, data: Path) -> Capture:
    return captured(data, request.param)


@pytest.fixture(scope="module", params=ALEXNET)
def alexnet(request: pytest.FixtureRequest, data: Path) -> Capture:
    return captured(data, request.param)


@pytest.fixture(scope="module", params=RECOMMENDERS)
def recommender(request: pytest.FixtureRequest, data: Path) -> tuple[str, Capture]:
    return request.param, captured(data, request.param)


def captured(data: Path, name: str) -> Capture:
    path = data / name
    text = path.read_bytes()
    whole: Any = json.loads(gzip.decompress(text) if path.suffix == ".gz" else text, parse_float=Decimal)
    events = whole if isinstance(whole, list) else whole["traceEvents"]
    lasting = [event for event in events if event.get("ph") == "X"]
    bars = [bar_of(event) for event in lasting if event.get("cat") in _HOST]
    main = {bar.thread[1] for bar in bars if bar.name.startswith("ProfilerStep#")}
    cann = [bar_of(event) for event in lasting if event.get("cat") is None and event["tid"] in main]
    # A capture of torch_npu is a folder two levels up; others are the file itself.
    profile = discover(path if path.parent.name != "ASCEND_PROFILER_OUTPUT" else path.parents[1], ())
    (found,) = (one for one in profile.captures if any(path in file.parts for file in one.files.values()))
    analysis = Analysis(profile, found)
    phases = analysis.phases
    assert not isinstance(phases, Missing)
    return Capture(analysis, phases, tuple(bars), tuple(cann))


def bar_of(event: dict[str, Any]) -> Bar:
    start = ns(event["ts"])
    return Bar(event["name"], (event["pid"], event["tid"]), start, start + ns(event["dur"]))


def ns(us: object) -> int:
    return round(Decimal(str(us)) * 1000)


def total(bars: Sequence[Bar]) -> int:
    return sum(bar.end - bar.start for bar in bars)


def union(bars: Sequence[Bar]) -> int:
    covered = 0
    until = 0
    for bar in sorted(bars, key=lambda bar: bar.start):
        covered += max(0, bar.end - max(until, bar.start))
        until = max(until, bar.end)
    return covered


def named(bars: Sequence[Bar], *prefixes: str) -> list[Bar]:
    return [bar for bar in bars if bar.name.startswith(prefixes)]


def test_phases_sum_up_to_every_step(capture: Capture) -> None:
    by_step = capture.phases.times.by_step
    steps = [step.end - step.start for step in capture.steps]
    for column in ("main_thread_ns", "attributed_ns"):
        sums = by_step.group_by("step", maintain_order=True).agg(pl.col(column).sum())
        assert sums[column].to_list() == steps
    assert by_step["phase"].to_list() == list(ROWS) * len(steps)


def test_parts_of_the_remainder_sum_up_to_it(capture: Capture) -> None:
    rest = capture.phases.times.by_step.filter(pl.col("phase") == UNCLASSIFIED)
    parts = capture.phases.times.steps.select(
        pl.sum_horizontal("device_sync_ns", "named_ns", "no_event_ns").alias("attributed_ns")
    )
    assert parts["attributed_ns"].equals(rest["attributed_ns"])


def test_backward_operators_start_in_the_step_of_their_forward_ones(capture: Capture) -> None:
    assert capture.phases.times.misplaced_backward == 0


def test_alexnet_takes_what_facts_tell(data: Path) -> None:
    """Milliseconds of facts/phases.md 5, found there by another program."""
    capture = captured(data, RANK0)
    named_ones = (PREPROCESSING, FORWARD, DENSE_UPDATE)
    found = {phase: round(capture.mean(phase) / 1e6, 1) for phase in named_ones}
    assert found == {PREPROCESSING: 3.3, FORWARD: 19.6, DENSE_UPDATE: 10.8}
    assert capture.unnamed == {LOOKUP, EMBEDDING_UPDATE}
    nodes = total(named(capture.bars, "autograd::engine::evaluate_function: "))
    copies = total(named(capture.bars, "torch.distributed.ddp.reducer::copy_bucket_to_grad"))
    assert (round(nodes / 1e6, 1), round(copies / 1e6, 1)) == (6.4, 0.8)
    assert capture.mean(BACKWARD, "autograd_ns") == nodes + copies
    assert capture.phases.times.confidence == "low"


def test_phases_of_alexnet_are_the_ranges_of_pytorch(alexnet: Capture) -> None:
    main = alexnet.main()
    assert alexnet.mean(PREPROCESSING) == total(named(main, "enumerate(DataLoader)#"))
    assert alexnet.mean(FORWARD) == total(named(main, "DistributedDataParallel.forward"))
    assert alexnet.mean(DENSE_UPDATE) == total(named(main, "Optimizer.step#", "Optimizer.zero_grad#"))
    assert alexnet.unnamed == {LOOKUP, EMBEDDING_UPDATE}


def test_backward_is_inferred_from_what_the_autograd_thread_does(alexnet: Capture) -> None:
    work = named(
        alexnet.bars,
        "autograd::engine::evaluate_function: ",
        "torch.distributed.ddp.reducer::copy_bucket_to_grad",
    )
    assert alexnet.mean(BACKWARD, "autograd_ns") == union(work)
    assert alexnet.mean(BACKWARD, "inferred_ns") == alexnet.mean(BACKWARD, "main_thread_ns")
    # No operator of the main thread runs then, and the thread starts after it and ends before it.
    (step,) = alexnet.steps
    before = max(bar.end for bar in alexnet.main() if bar.end <= min(one.start for one in work))
    after = min(bar.start for bar in alexnet.main() if bar.start >= max(one.end for one in work))
    assert step.start < before < after < step.end
    assert alexnet.mean(BACKWARD) == after - before


def test_reading_a_value_is_the_device_sync_of_alexnet(alexnet: Capture) -> None:
    """What facts/phases.md calls 92 of 156 ms is the largest call of the first row."""
    items = named(alexnet.main(), "aten::item")
    (step,) = alexnet.steps
    beside = [
        call
        for call in named(alexnet.cann, "AscendCL@aclrtSynchronize")
        if call.inside(step) and not any(call.inside(item) for item in items)
    ]
    rows = alexnet.phases.waits.device_syncs.select("name", "phase", "count", "total_ns").rows()
    assert rows[0] == ("aten::item", None, len(items), total(items))
    assert sum(count for _, _, count, _ in rows[1:]) == len(beside)
    assert sum(time for *_, time in rows) == total([*items, *beside])
    assert total(items) > (step.end - step.start) / 2
    assert alexnet.phases.waits.device_syncs["flagged"][0]
    assert alexnet.phases.times.mean_remainder["device_sync_ns"] == total([*items, *beside])


def test_reading_a_value_is_the_bottleneck_of_alexnet_in_both_trees(alexnet: Capture) -> None:
    main = alexnet.main()
    topmost = [
        item
        for item in named(main, "aten::item")
        if not any(item.inside(bar) for bar in main if bar is not item)
    ]
    for tree in (alexnet.analysis.call_tree(None), alexnet.analysis.aten_tree(None)):
        assert not isinstance(tree, Missing)
        assert starred(tree) == [("aten::item", "sync", 1, len(topmost), total(topmost))]


def test_an_older_trace_has_phases_without_a_range_around_forward(data: Path) -> None:
    capture = captured(data, OLDER)
    main = capture.main()
    assert capture.mean(PREPROCESSING) == total(named(main, "enumerate(DataLoader)#"))
    assert capture.mean(DENSE_UPDATE) == total(named(main, "Optimizer.step#", "Optimizer.zero_grad#"))
    assert FORWARD in capture.unnamed
    nodes = named(capture.bars, "autograd::engine::evaluate_function: ")
    assert capture.mean(BACKWARD, "autograd_ns") == union(nodes)
    for tree in (capture.analysis.call_tree(None), capture.analysis.aten_tree(None)):
        assert not isinstance(tree, Missing)
        assert [(name, star) for name, star, *_ in starred(tree)] == [("aten::item", "sync")]


def starred(tree: StepTree) -> list[tuple[Any, ...]]:
    nodes = tree.nodes.filter(pl.col("star").is_not_null())
    return nodes.select("name", "star", "depth", "calls", "total_ns").rows()


def test_recommenders_leave_little_unclassified(recommender: tuple[str, Capture]) -> None:
    name, capture = recommender
    (share,) = capture.phases.times.mean.filter(pl.col("phase") == UNCLASSIFIED)["share"]
    assert 0 < share < _MOST_UNCLASSIFIED[name]
    assert capture.phases.times.confidence == "high"


def test_phases_of_recommenders_are_the_ranges_of_torchrec(recommender: tuple[str, Capture]) -> None:
    """Ranges of the pipelines that hold none of each other; a lookup inside forward is taken out of it."""
    _, capture = recommender
    main, steps = capture.main(), len(capture.steps)

    def mean(*prefixes: str) -> float:
        return total(named(main, *prefixes)) / steps

    assert capture.mean(PREPROCESSING) == mean(
        "## copy_batch_to_gpu ##", "## wait_for_batch ##", "## data_load ##"
    )
    assert capture.mean(BACKWARD, "main_thread_ns") == mean("## backward ##")
    assert capture.mean(DENSE_UPDATE) == mean("## optimizer ##", "## zero_grad ##")
    exchange = mean("## sparse_data_dist ##", "## sdd_")
    assert capture.mean(LOOKUP) + capture.mean(FORWARD) == mean("## forward ##") + exchange
    assert capture.mean(LOOKUP) > exchange > 0
    assert capture.mean(FORWARD) > 0


def test_tables_of_recommenders_are_written_in_backward(recommender: tuple[str, Capture]) -> None:
    _, capture = recommender
    writes = [
        bar
        for bar in named(capture.bars, "autograd::engine::evaluate_function: ")
        if "All2All_Pooled" in bar.name
        # A table that the optimizer of the dense part updates gets a gradient only.
        or ("CppNode<SplitLookupFunction_" in bar.name and "_Dense_" not in bar.name)
    ]
    assert capture.phases.times.fused_update
    assert capture.mean(EMBEDDING_UPDATE, "main_thread_ns") == 0
    work = capture.phases.times.by_step.filter(pl.col("phase") == EMBEDDING_UPDATE)["autograd_ns"].sum()
    inside = [
        bar
        for bar in writes
        if any(step.start <= bar.start and bar.end <= step.end for step in capture.steps)
    ]
    assert work == total(inside) > 0


def test_exchanges_of_embeddings_are_lookup_or_update(recommender: tuple[str, Capture]) -> None:
    _, capture = recommender
    exchanges = phases_of(capture, r"(?i)all_?to_?all|all2all")
    # Ids and vectors on the main thread, gradients on that of the backward pass.
    assert set(exchanges) == {(LOOKUP, True), (EMBEDDING_UPDATE, False)}
    names = capture.phases.classified.bars.frame["name"].unique().cast(pl.String)
    assert {"nccl:all_to_all", "c10d::alltoall_base_", "## all2all_data:kjt splits ##"} <= set(names)


def phases_of(capture: Capture, pattern: str) -> list[tuple[str | None, bool]]:
    """Phase of each bar whose name fits, and whether it is on the main thread."""
    classified = capture.phases.classified
    frame = classified.bars.frame
    rows = frame["name"].cast(pl.String).str.contains(pattern).arg_true().to_list()
    return [
        (
            PHASES[classified.phase[row]] if classified.phase[row] >= 0 else None,
            frame["track"][row] == capture.phases.windows.main_track,
        )
        for row in rows
    ]


@pytest.mark.parametrize(
    ("pattern", "allowed"),
    [
        (r"zero_grad", (DENSE_UPDATE,)),
        (r"^aten::_to_copy$", ()),
        (r"^aten::.*loss", ()),
        (r"mul_out", (BACKWARD,)),
        (r"metrics_update", ()),
        (r"^<class '.*embedding", ()),
        (r"^aten::item$|^aten::_local_scalar_dense$", ()),
    ],
)
def test_names_that_only_look_like_a_phase_claim_none(
    capture: Capture, pattern: str, allowed: tuple[str, ...]
) -> None:
    """What these captures hold of "must not match" in facts/phases.md 2: it may inherit a phase only."""
    classified = capture.phases.classified
    rows = classified.bars.frame["name"].cast(pl.String).str.contains(pattern).arg_true().to_list()
    claimed = {
        classified.rules.entries[claim].phase for claim in classified.claim[rows].tolist() if claim >= 0
    }
    assert claimed <= set(allowed)
