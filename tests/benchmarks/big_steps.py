"""The columns of a made-up training trace with any number of operators, for benchmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analysis.trace.model import (
    AUTOGRAD,
    CANN,
    CHUNKS,
    DEVICE_STREAM,
    EVENTS,
    FLOWS,
    PYTHON_MAIN,
    PYTHON_OTHER,
    TRACKS,
    Quality,
    Trace,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.trace.nesting import Ints

ZERO = 1_736_408_883_704_643_212
PERIOD = 120
"""Nanoseconds of the main thread from one bar to the next."""
DEPTH = 8
KERNELS_PER_BAR, CALLS_PER_BAR = 0.2, 0.005

_RANGES = {
    PYTHON_MAIN: (
        "## copy_batch_to_gpu {i} ##",
        "## start_sparse_data_dist {i} ##",
        "## wait_sparse_data_dist {i} ##",
        "## forward {i} ##",
        "## backward {i} ##",
        "## optimizer {i} ##",
        "## zero_grad ##",
        "## next_batch ##",
        "future.result",
        "prefetch.result",
        "metrics.log_step",
        "DistributedDataParallel.forward",
    ),
    AUTOGRAD: (
        "autograd::engine::evaluate_function: AddmmBackward0",
        "autograd::engine::evaluate_function: MulBackward0",
        "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
        "autograd::engine::evaluate_function: torch::autograd::CppNode<SplitLookupFunction_adagrad_Op>",
        "autograd::engine::evaluate_function: All2All_Pooled_WaitBackward",
        "torch.distributed.ddp.reducer::copy_bucket_to_grad",
    ),
    PYTHON_OTHER: ("prefetch_worker.data", "prefetch_worker.embedding", "embedding.prepare", "collate"),
}
_MODULES = (
    *(f"[lookup]_[ebc_{number}]_[row_wise]" for number in range(30)),
    *(f"tower_{number}.interaction" for number in range(60)),
    "## all2all_pooled ##",
    "Optimizer.step#Adam.step",
)
_OPERATOR_WORDS = """
linear addmm t transpose as_strided relu _to_copy copy_ to empty embedding index_select cat add mul layer_norm
native_layer_norm matmul mm bmm view reshape detach zero_ item _local_scalar_dense sum
"""
_OPERATORS = tuple(f"aten::{name}" for name in _OPERATOR_WORDS.split())


@dataclass(frozen=True, slots=True)
class _Thread:
    role: str
    share: float


# Shares of all bars: one main thread, one of the backward pass, two workers.
_THREADS = (
    _Thread(PYTHON_MAIN, 0.5),
    _Thread(AUTOGRAD, 0.3),
    _Thread(PYTHON_OTHER, 0.1),
    _Thread(PYTHON_OTHER, 0.1),
)


def big_steps(bars: int, steps: int = 1, names: int = 0) -> Trace:
    """Steps with this many bars on the threads of the program together, nested up to eight deep.

    Kernels with arrows and calls of CANN that wait for the device are on top of them.

    Args:
        bars: How many.
        steps: Of how many steps.
        names: With how many names beside those of the trainer; each occurs once or more.
    """
    chance = np.random.default_rng(1)
    length = int(bars * _THREADS[0].share) * PERIOD
    parts = [
        _thread(track, thread, round(bars * thread.share), length, steps, names, chance)
        for track, thread in enumerate(_THREADS)
    ]
    host = pl.concat(parts).sort("start_ns", "track", maintain_order=True)
    marks = pl.DataFrame(
        {
            "track": [0] * steps,
            "name": [f"ProfilerStep#{20 + at}" for at in range(steps)],
            "start_ns": [ZERO + at * (length // steps) for at in range(steps)],
            "duration_ns": [length // steps] * steps,
        }
    )
    device, calls = len(_THREADS), len(_THREADS) + 1
    kernels, waits = int(bars * KERNELS_PER_BAR), int(bars * CALLS_PER_BAR)
    events = pl.concat(
        [
            _frame(marks, "cpu_op"),
            _frame(host, "cpu_op"),
            _frame(_row_of_bars(device, "MatMulV2", kernels, length), None),
            _frame(
                _row_of_bars(calls, "AscendCL@aclrtSynchronizeStreamWithTimeout", waits, length // 2), None
            ),
        ]
    ).with_columns(pl.int_range(pl.len(), dtype=pl.UInt32).alias("number"))
    sources = np.sort(chance.choice(bars, kernels, replace=False)) + steps
    flows = pl.DataFrame({"source": sources, "target": np.arange(kernels) + steps + bars}).select(
        pl.lit("async_npu").alias("kind"), pl.col("target").cast(pl.String).alias("id"), "source", "target"
    )
    quality = Quality(objects=events.height, by_phase={}, faults=(), lost_bytes=0)
    return Trace(
        events.select(*EVENTS).cast(EVENTS),  # type: ignore[arg-type]
        _tracks(),
        flows.select(*FLOWS).cast(FLOWS),  # type: ignore[arg-type]
        pl.DataFrame(schema=CHUNKS),
        quality,
    )


def _thread(
    track: int,
    thread: _Thread,
    count: int,
    length: int,
    steps: int,
    names: int,
    chance: np.random.Generator,
) -> pl.DataFrame:
    """The bars of one thread: the k-th starts in the k-th of equal periods, and ends where its last child
    does.
    """
    depth, parent, last = _tree(count, chance)
    period = length // count
    start = np.arange(count) * period + chance.integers(0, period // 3, count)
    end = np.maximum((last + 1) * period - 1 - depth, start)
    # A bar does not cross the end of its step.
    step = start // (length // steps)
    end = np.minimum(end, (step + 1) * (length // steps) - 1 - depth)
    code = _codes(depth, parent, chance)
    vocabulary = [_RANGES[thread.role], _MODULES, _OPERATORS]
    texts = [text for part in vocabulary for text in part]
    offsets = np.cumsum([0, *map(len, vocabulary)])
    level = np.minimum(depth, 2)
    sizes = np.array([len(part) for part in vocabulary])
    at = offsets[level] + code % sizes[level]
    named = pl.Series(texts).gather(at).str.replace("{i}", "", literal=True)
    indexed = pl.Series(texts).gather(at).str.contains("{i}", literal=True).to_numpy()
    frame = pl.DataFrame(
        {
            "track": np.full(count, track),
            "name": named,
            "index": 100 + step,
            "indexed": indexed,
            "extra": np.arange(count) % max(names, 1),
            "leaf": last == np.arange(count),
            "start_ns": ZERO + start,
            "duration_ns": np.maximum(end - start, 0),
        }
    )
    name = (
        pl.when("indexed")
        .then(pl.col("name").str.replace("  ", pl.format(" {} ", "index"), literal=True))
        .otherwise("name")
    )
    if names:
        name = pl.when("leaf").then(pl.format("made.up_{}", "extra")).otherwise(name)
    return frame.select("track", name.alias("name"), "start_ns", "duration_ns")


def _tree(count: int, chance: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Depth, parent (-1 at the top) and last descendant of bars in the order of their starts."""
    depths, parents, last = [], [], list(range(count))
    around: list[int] = []
    for at, move in enumerate(chance.integers(0, 10, count).tolist()):
        # Down one time in two; else up by nothing to four.
        keep = len(around) if move < 5 else max(0, len(around) - 1 - (move - 5))
        if len(around) >= DEPTH:
            keep = min(keep, DEPTH - 1)
        del around[keep:]
        depths.append(len(around))
        parents.append(around[-1] if around else -1)
        around.append(at)
    for at in range(count - 1, -1, -1):
        if parents[at] >= 0:
            last[parents[at]] = max(last[parents[at]], last[at])
    return np.array(depths), np.array(parents), np.array(last)


def _codes(depth: Ints, parent: Ints, chance: np.random.Generator) -> Ints:
    """What stands for the name of each bar: one of a few that its parent calls, some far more often."""
    choice = np.minimum(chance.zipf(2.0, depth.size) - 1, 40)
    code = choice.astype(np.int64)
    for level in range(1, DEPTH):
        at = np.flatnonzero(depth == level)
        spread = choice[at] % (4 if level > 1 else 41)
        code[at] = code[parent[at]] * 7 + spread * 11 + level
    return code


def _row_of_bars(track: int, name: str, count: int, length: int) -> pl.DataFrame:
    """Bars one after the other on a track of their own."""
    period = length // count
    return pl.DataFrame({"at": np.arange(count)}).select(
        pl.lit(track).alias("track"),
        pl.lit(name).alias("name"),
        (ZERO + pl.col("at") * period).alias("start_ns"),
        pl.lit(period // 2).alias("duration_ns"),
    )


def _frame(bars: pl.DataFrame, cat: str | None) -> pl.DataFrame:
    missing: Sequence[str] = [name for name in EVENTS if name not in {"number", "cat", *bars.columns}]
    return bars.with_columns(
        pl.lit(0, pl.UInt32).alias("number"),
        pl.lit(cat, pl.String).cast(pl.Categorical).alias("cat"),
        *(pl.lit(None, EVENTS[name]).alias(name) for name in missing),
    ).select(pl.col(name).cast(EVENTS[name]) for name in EVENTS)


def _tracks() -> pl.DataFrame:
    roles = [*(thread.role for thread in _THREADS), DEVICE_STREAM, CANN]
    # Calls of CANN carry the number of the thread they are made on.
    tids = [*(f"{100 + at}" for at in range(len(_THREADS))), "2", "100"]
    rows = [
        (at, "1", tid, None, f"Thread {tid}", None, None, role, 1)
        for at, (role, tid) in enumerate(zip(roles, tids, strict=True))
    ]
    return pl.DataFrame(rows, schema=TRACKS, orient="row")
