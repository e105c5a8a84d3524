"""Hand-made phases of two steps, their trees, waits and pairs; every number can be added up by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import polars as pl

from analysis.phases.model import (
    NAMED,
    REMAINDER,
    ROWS,
    STEP_PHASES,
    WINDOWS,
    Classified,
    PhaseTimes,
    Windows,
)
from analysis.phases.results import (
    EVENTS,
    TREE,
    WAITS,
    WAITS_BY_STEP,
    Depth,
    Growth,
    Pair,
    Phases,
    Prefetch,
    StepTree,
    Variation,
    Waits,
)

MEAN_US = {
    "data_preprocessing": 100,
    "embedding_lookup": 80,
    "forward": 300,
    "backward": 200,
    "embedding_update": 60,
    "dense_update": 120,
    "unclassified": 140,
}
"""Attributed time of each row in the mean step of 1,000 us; backward delegates 60 us of its 260 us."""

STEPS = {10: 0, 11: -200_000, 12: 200_000}
"""Step and how much longer its forward is than in the mean; step 10 is the compile step."""


def rows(schema: Any, *found: dict[str, Any]) -> pl.DataFrame:
    """A frame with all columns of ``schema``; what a row leaves out is null."""
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in found], schema=dict(schema))


def _phase_rows(step: int | None, more_ns: int) -> list[dict[str, Any]]:
    step_ns = 1_000_000 + more_ns
    table = []
    for phase in ROWS:
        attributed_ns = MEAN_US[phase] * 1_000 + (more_ns if phase == "forward" else 0)
        delegated_ns = {"backward": 60_000, "embedding_update": -60_000}.get(phase, 0)
        table.append(
            {
                "step": step,
                "excluded": step == 10,
                "phase": phase,
                "main_thread_ns": attributed_ns + delegated_ns,
                "attributed_ns": attributed_ns,
                "share": attributed_ns / step_ns,
                "inferred_ns": 7_000 if phase == "backward" else 0,
                "autograd_ns": {"backward": 190_000, "embedding_update": 60_000}.get(phase, 0),
                "other_threads_ns": 90_000 if phase == "data_preprocessing" else 0,
            }
        )
    return table


def phase_times(name: str = "log_step") -> PhaseTimes:
    """Steps 10 (compile), 11 (800 us) and 12 (1,200 us)."""
    parts = {"device_sync_ns": 90_000, "named_ns": 40_001, "no_event_ns": 9_999, "sync_anywhere_ns": 110_000}
    return PhaseTimes(
        by_step=rows(STEP_PHASES, *(row for step, more in STEPS.items() for row in _phase_rows(step, more))),
        steps=rows(
            REMAINDER,
            *(
                {"step": step, "excluded": step == 10, "step_ns": 1_000_000 + more, **parts}
                for step, more in STEPS.items()
            ),
        ),
        named=rows(NAMED, *({"step": s, "name": name, "calls": 2, "exclusive_ns": 40_001} for s in STEPS)),
        mean=rows(STEP_PHASES, *_phase_rows(None, 0)).drop("step", "excluded"),
        mean_remainder={"step_ns": 1_000_000, **parts},
        mean_named=pl.DataFrame({"name": [name], "calls": [2.0], "exclusive_ns": [40_001]}),
        confidence="high",
        fused_update=False,
        tied_backward=24,
        misplaced_backward=0,
    )


def windows() -> Windows:
    """The windows of the three steps."""
    frame = rows(
        WINDOWS,
        *(
            {"step": s, "start_ns": s * 10_000_000, "end_ns": s * 10_000_000 + 1_000_000 + more}
            | {"excluded": s == 10}
            for s, more in STEPS.items()
        ),
    )
    return Windows(frame=frame, main_track=1, whole_trace=False)


def waits(name: str = "future.result") -> Waits:
    """One wait of 100 us a step that is flagged, one of 5 us that is not, one device sync of 90 us."""
    long = {"name": name, "phase": "embedding_lookup", "producer": name, "flagged": True}
    short = {"name": "## wait_for_batch {i} ##", "phase": None, "producer": None, "flagged": False}
    sync = {"name": "aten::item", "phase": None, "producer": None, "flagged": True}
    times = {"count": 2, "total_ns": 200_000, "per_step_ns": 100_000, "max_ns": 120_000, "share": 0.1}
    brief = {"count": 2, "total_ns": 10_000, "per_step_ns": 5_000, "max_ns": 5_000, "share": 0.005}
    synced = {"count": 4, "total_ns": 180_000, "per_step_ns": 90_000, "max_ns": 80_000, "share": 0.09}
    of_step = {"count": 1, "total_ns": 100_000, "share": 0.1, "excluded": False}
    return Waits(
        by_name=rows(WAITS, long | times, short | brief),
        by_step=rows(
            WAITS_BY_STEP,
            *(row for s in (11, 12) for row in (long | of_step | {"step": s},)),
            short | of_step | {"step": 12, "total_ns": 5_000, "share": 0.005},
        ),
        per_step_ns={10: 0, 11: 100_000, 12: 105_000},
        synced_ns={},
        device_syncs=rows(WAITS, sync | synced),
        syncs_by_step=rows(
            WAITS_BY_STEP,
            *(sync | of_step | {"step": s, "count": 2, "total_ns": 90_000, "share": 0.09} for s in (11, 12)),
        ),
    )


SERIAL = Pair(
    ("data_preprocessing", "embedding_lookup"),
    "serial",
    0.025,
    0.05,
    (300_000, 240_000),
    (40_000, 20_000),
    80_000,
    None,
)
"""6 us of 240 us on the host, 1 us of 20 us on the device."""
UNSEEN = Pair(
    ("embedding_update", "dense_update"), "not_observable", None, None, (0, 360_000), (0, 9_000), 0, "host"
)


def prefetch(name: str = "## copy_batch_to_gpu {i} ##") -> Prefetch:
    """Data two batches ahead, ids at least one, the rest unknown."""
    event = {"name": name, "why": "batch_index", "count": 3, "total_ns": 9_000, "thread": name}
    return Prefetch(
        present=True,
        runs_ahead=True,
        events=rows(EVENTS, event),
        depths=(
            Depth("data", 2, at_least=False, evidence="index", names=(name,)),
            Depth("input_dist", 1, at_least=True, evidence="index_gap", names=(name,), behind="dist_wait"),
            Depth("dist_wait", None, at_least=False, evidence="unseen"),
            Depth("lookup", None, at_least=False, evidence="unseen"),
        ),
    )


def phases(name: str = "log_step") -> Phases:
    """All of it, with ``name`` wherever a name of the profile stands."""
    return Phases(
        windows=windows(),
        classified=cast("Classified", None),
        times=phase_times(name),
        waits=waits(name),
        pairs=(SERIAL, UNSEEN),
        prefetch=prefetch(name),
        variation=Variation(
            spread=0.4,
            flagged=True,
            median_ns=800_000,
            slowest=12,
            slowest_ns=1_200_000,
            others_ns=800_000,
            short=(),
            phases=(
                Growth("phase", "forward", None, 500_000, 100_000),
                *(Growth("phase", row, None, MEAN_US[row] * 1_000, MEAN_US[row] * 1_000) for row in ROWS[:2]),
            ),
            names=(
                Growth("name", name, "forward", 380_000, 90_000),
                Growth("gap", "", None, 30_000, 10_000),
            ),
        ),
    )


def low_confidence(found: Phases) -> Phases:
    """The same where a quarter of the step has no phase: 110 us of forward are none."""
    moved = {"forward": -110_000, "unclassified": 110_000}
    move = pl.col("phase").replace_strict(moved, default=0, return_dtype=pl.Int64)
    mean = found.times.mean.with_columns(
        pl.col("main_thread_ns") + move, pl.col("attributed_ns") + move
    ).with_columns((pl.col("attributed_ns") / 1_000_000).alias("share"))
    parts = found.times.mean_remainder
    parts = {**parts, "device_sync_ns": parts["device_sync_ns"] + 110_000}
    return replace(found, times=replace(found.times, mean=mean, mean_remainder=parts, confidence="low"))


def fused_update(found: Phases) -> Phases:
    """The same with tables that only the backward pass writes, on the autograd thread."""
    serial = replace(
        found.pairs[1],
        verdict="serial",
        device_ratio=0.0,
        device_ns=(6_000, 9_000),
        hideable_ns=60_000,
        unobservable=None,
    )
    times = replace(found.times, fused_update=True)
    return replace(found, times=times, pairs=(found.pairs[0], serial))


def tree(*nodes: dict[str, Any], step: int | None = 11, steps: int = 1) -> StepTree:
    """A tree of nodes in tree order, each with parent and total_ns at least; depth and children follow."""
    depths: list[int] = []
    made = []
    for place, node in enumerate(nodes):
        parent = node["parent"]
        depths.append(0 if parent < 0 else depths[parent] + 1)
        made.append(
            {
                "node": place,
                "depth": depths[place],
                "children": sum(other["parent"] == place for other in nodes),
                "thread": "Thread 1",
                "role": "python_main",
                "calls": 1,
                "calls_per_step": 1.0,
                "self_ns": 0,
                "avg_ns": node["total_ns"],
                "max_ns": node["total_ns"],
                "share": node["total_ns"] / nodes[0]["total_ns"],
                "blocked_ns": node["total_ns"] if node.get("star") in ("wait", "sync") else 0,
                **node,
            }
        )
    return StepTree(rows(TREE, *made), np.zeros(0, np.int64), step, steps)


def call_tree(name: str = "loss.item") -> StepTree:
    """Step 11: forward holds a lookup, ``name`` a device sync of 90 us that is a tenth of the step."""
    return tree(
        {"name": "ProfilerStep#11", "parent": -1, "total_ns": 800_000},
        {
            "name": "## forward 11 ##",
            "parent": 0,
            "total_ns": 180_000,
            "phase": "forward",
            "rule": "torchrec.forward",
        },
        {
            "name": "[lookup]_[ebc]",
            "parent": 1,
            "total_ns": 80_000,
            "phase": "embedding_lookup",
            "rule": "torchrec.sharded_module",
            "verdict": "serial",
            "calls": 2,
            "avg_ns": 40_000,
            "max_ns": 70_000,
        },
        {"name": name, "parent": 0, "total_ns": 91_000},
        {"name": "aten::item", "parent": 3, "total_ns": 90_000, "self_ns": 90_000, "star": "sync"},
    )


def aten_tree(name: str = "loss.item") -> StepTree:
    """The mean of both averaged steps; one call of ``name`` took four times the average."""
    return tree(
        {"name": "ProfilerStep#{i}", "parent": -1, "total_ns": 1_000_000},
        {"name": "## forward {i} ##", "parent": 0, "total_ns": 300_000, "phase": "forward"},
        {
            "name": name,
            "parent": 0,
            "total_ns": 91_000,
            "calls": 10,
            "calls_per_step": 5.0,
            "avg_ns": 18_200,
            "max_ns": 72_801,
        },
        {"name": "aten::item", "parent": 2, "total_ns": 90_000, "self_ns": 90_000, "star": "sync"},
        step=None,
        steps=2,
    )
