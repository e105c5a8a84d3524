"""How long a million bars take: intervals, nesting, call tree, arrows and launches."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from analysis.trace.call_tree import call_tree
from analysis.trace.flows import launches, match_flows
from analysis.trace.intervals import Intervals, union_by
from analysis.trace.model import (
    CANN,
    CHUNKS,
    DEVICE_STREAM,
    EVENTS,
    PYTHON_MAIN,
    PYTHON_OTHER,
    TRACKS,
    Quality,
    Trace,
)
from analysis.trace.nesting import nest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.benchmark

BARS = 1_000_000
TRACKS_OF_HOST = 8
DEPTH = 12
KERNELS = 200_000
ZERO = 1_736_408_883_704_643_212
RUNS = 3


def report(what: str, work: Callable[[], object], limit: float | None = None) -> None:
    """Print the median of three runs."""
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    line = f"{what}: {statistics.median(times):.2f} s (from {min(times):.2f} to {max(times):.2f})"
    print(line if limit is None else f"{line}, limit {limit} s")  # noqa: T201 - what a benchmark is for


def nested(bars: int) -> pl.DataFrame:
    """Bars on eight threads, nested up to twelve deep as calls are, 300 names of very different frequency."""
    chance = np.random.default_rng(1)
    count = bars // TRACKS_OF_HOST
    depths = []
    depth = 0
    for step in chance.integers(0, 10, count).tolist():
        depth = min(depth + 1, DEPTH) if step < 5 else max(0, depth + 5 - step)
        depths.append(depth)
    ends = np.empty(count, np.int64)
    later: list[int] = []
    for at in range(count - 1, -1, -1):
        while later and depths[later[-1]] > depths[at]:
            later.pop()
        ends[at] = later[-1] if later else count
        later.append(at)
    start = np.arange(count) * 100 + chance.integers(0, 50, count)
    end = np.maximum(ends * 100 - 1 - np.array(depths), start)
    names = pl.Series([f"aten::operator_{number}" for number in range(300)], dtype=pl.Categorical)
    frame = pl.DataFrame(
        {
            "track": np.repeat(np.arange(TRACKS_OF_HOST, dtype=np.uint32), count),
            "name": names.gather(chance.zipf(1.3, bars) % 300),
            "start_ns": ZERO + np.tile(start, TRACKS_OF_HOST),
            "duration_ns": np.tile(end - start, TRACKS_OF_HOST),
        }
    )
    # As a file has them: thread by thread within pieces of time.
    return frame.sort(pl.col("start_ns") // 1_000_000, "track", maintain_order=True)


def test_nesting_and_call_tree() -> None:
    bars = nested(BARS)

    half = bars[: BARS // 2]

    report("nesting of half a million bars and their call tree", lambda: call_tree(half, nest(half)))
    report("nesting of a million bars", lambda: nest(bars))
    report("nesting of a million bars and their call tree", lambda: call_tree(bars, nest(bars)), 1.2)

    nesting = nest(bars)
    assert not nesting.partial.any()
    assert nesting.depth.max() == DEPTH
    assert call_tree(bars, nesting).nodes["calls"].sum() == BARS


def test_chains_of_a_hundred_thousand_bars() -> None:
    deep = 100_000
    at = np.arange(BARS)
    chain, level = at // deep, at % deep
    bars = pl.DataFrame(
        {
            "track": np.zeros(BARS, np.uint32),
            "start_ns": chain * 4 * deep + level,
            "duration_ns": 2 * (deep - level),
        }
    ).with_columns(pl.lit("f").cast(pl.Categorical).alias("name"))

    report("ten chains, each 100,000 deep", lambda: call_tree(bars, nest(bars)))

    assert nest(bars).depth.max() == deep - 1


def test_intervals() -> None:
    chance = np.random.default_rng(1)
    left, right = (ZERO + chance.integers(0, 10**10, BARS) for _ in range(2))
    lengths = chance.integers(0, 20_000, BARS)
    groups = chance.integers(0, 50, BARS)
    mine, theirs = ZERO + np.arange(BARS) * 10, ZERO + np.arange(BARS) * 10 + 3
    disjoint, others = Intervals.of(mine, mine + 5), Intervals.of(theirs, theirs + 4)

    report("union of a million, unsorted", lambda: Intervals.of(left, left + lengths), 0.3)
    report("difference of two sets of a million", lambda: disjoint - others, 0.3)
    report("intersection of the same", lambda: disjoint & others)
    report("coverage of a million by a million", lambda: disjoint.coverage(right, right + lengths))
    report("union in 50 groups", lambda: union_by(groups, left, left + lengths))

    assert (disjoint - others).total == 3 * BARS


def traced() -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Events, tracks and ends of 200,000 kernels, each put into the task queue by an operator and launched
    from there; every other one has an arrow from its operator.
    """
    at = np.arange(KERNELS)
    operator = ZERO + at * 10_000
    enqueue, dequeue, launch, kernel = (operator + later for later in (2_011, 20_023, 21_031, 50_137))
    cats = pl.Series(["cpu_op", "enqueue", "dequeue", None], dtype=pl.Categorical)
    events = pl.DataFrame(
        {
            "number": np.arange(5 * KERNELS, dtype=np.uint32),
            "track": np.repeat(np.array([0, 0, 1, 2, 3], np.uint32), KERNELS),
            "cat": cats.gather(np.repeat(np.array([0, 1, 2, 3, 3]), KERNELS)),
            "start_ns": np.concatenate([operator, enqueue, dequeue, launch, kernel]),
            "duration_ns": np.repeat(np.array([8_000, 300, 9_000, 3_000, 9_000]), KERNELS),
            "correlation_id": np.tile(at, 5),
        }
    ).with_columns(pl.lit("x").cast(pl.Categorical).alias("name"))
    missing = [
        pl.lit(None, dtype).alias(name) for name, dtype in EVENTS.items() if name not in events.columns
    ]
    threads = [("1", PYTHON_MAIN), ("2", PYTHON_OTHER), ("2", CANN), ("3", DEVICE_STREAM)]
    tracks = pl.DataFrame(
        [(number, "1", tid, None, None, None, None, role, 0) for number, (tid, role) in enumerate(threads)],
        schema=TRACKS,
        orient="row",
    )
    launched, arrowed = pl.Series(at + 2**60).cast(pl.String), pl.Series(kernel).cast(pl.String)
    ends = pl.concat(
        [
            ends_of("s", "HostToDevice", launched, 2, launch + 100),
            ends_of("f", "HostToDevice", launched, 3, kernel),
            ends_of("s", "async_npu", arrowed, 0, operator)[::2],
            ends_of("f", "async_npu", arrowed, 3, kernel)[::2],
        ]
    ).with_columns(pl.int_range(pl.len(), dtype=pl.UInt32).alias("number"))
    return events.with_columns(missing).select(*EVENTS), tracks, ends


def ends_of(phase: str, kind: str, ids: pl.Series, track: int, times: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame({"id": ids, "ts_ns": times}).select(
        pl.lit(phase).cast(pl.Categorical).alias("phase"),
        pl.lit(kind).cast(pl.Categorical).alias("kind"),
        "id",
        pl.lit(track, pl.UInt32).alias("track"),
        "ts_ns",
    )


def test_arrows_and_launches() -> None:
    events, tracks, ends = traced()
    flows = match_flows(ends, events)
    quality = Quality(objects=events.height + ends.height, by_phase={}, faults=(), lost_bytes=0)
    trace = Trace(events, tracks, flows, pl.DataFrame(schema=CHUNKS), quality)

    report(f"arrows of {ends.height:,} ends among {events.height:,} bars", lambda: match_flows(ends, events))
    report("launches, half of them without an arrow of their own", lambda: launches(trace))

    assert flows.null_count().row(0) == (0, 0, 0, 0)
    assert dict(launches(trace)["via"].value_counts().rows()) == {
        "async_npu": KERNELS // 2,
        "queue_chain": KERNELS // 2,
    }
