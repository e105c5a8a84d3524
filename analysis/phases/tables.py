"""Results of the phase analysis as rows, as report and screens show them in tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from analysis.datafile import load_toml
from analysis.phases.model import EMBEDDING_UPDATE, PHASES, ROWS, UNCLASSIFIED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from analysis.phases.model import PhaseTimes
    from analysis.phases.results import Depth, Growth, Pair, Phases

STEP_ROWS: Final = {
    "step": pl.Int64(),
    "excluded": pl.Boolean(),
    "step_ns": pl.Int64(),
    **{f"{phase}_ns": pl.Int64() for phase in ROWS},
}
"""Columns of :func:`step_rows`."""

PAIR_ROWS: Final = {
    "first": pl.String(),
    "second": pl.String(),
    "verdict": pl.String(),
    "host_ratio": pl.Float64(),
    "host_both_ns": pl.Int64(),
    "first_host_ns": pl.Int64(),
    "second_host_ns": pl.Int64(),
    "device_ratio": pl.Float64(),
    "device_both_ns": pl.Int64(),
    "first_device_ns": pl.Int64(),
    "second_device_ns": pl.Int64(),
    "hideable_ns": pl.Int64(),
    "unobservable": pl.String(),
}
"""Columns of :func:`pair_rows`."""

DEPTH_ROWS: Final = {
    "stage": pl.String(),
    "batches": pl.Int64(),
    "at_least": pl.Boolean(),
    "evidence": pl.String(),
    "names": pl.String(),
    "behind": pl.String(),
}
"""Columns of :func:`depth_rows`."""

GROWTH_ROWS: Final = {
    "growth": pl.String(),
    "name": pl.String(),
    "phase": pl.String(),
    "this_ns": pl.Int64(),
    "others_ns": pl.Int64(),
    "grown_ns": pl.Int64(),
}
"""Columns of :func:`growth_rows`."""

STEP_WAITS: Final = {
    "step": pl.Int64(),
    "excluded": pl.Boolean(),
    "step_ns": pl.Int64(),
    "waits_ns": pl.Int64(),
    "share": pl.Float64(),
    "name": pl.String(),
    "total_ns": pl.Int64(),
    "flagged": pl.Boolean(),
}
"""Columns of :func:`step_waits`."""


def step_rows(times: PhaseTimes) -> pl.DataFrame:
    """One row a step with the attributed time of each phase beside the others; columns STEP_ROWS.

    Those of the seven times of a row that are known add up to ``step_ns``.
    """
    parts = [
        times.by_step.filter(pl.col("phase") == phase).select(
            "step", pl.col("attributed_ns").alias(f"{phase}_ns")
        )
        for phase in ROWS
    ]
    wide = times.steps.select("step", "excluded", "step_ns")
    for part in parts:
        wide = wide.join(part, on="step", how="left", nulls_equal=True, maintain_order="left")
    return wide.select(*STEP_ROWS)


@dataclass(frozen=True, slots=True)
class StepHead:
    """What a step, or the mean of them, takes and leaves unclassified."""

    step_ns: int
    unclassified_share: float | None
    device_sync_ns: int
    """Of the unclassified time that in which the main thread waits for the device."""


def step_head(times: PhaseTimes, step: int | None) -> StepHead:
    """The head of the phase table of one step; None is the mean, or the whole trace."""
    of_step = times.mean if step is None else times.by_step.filter(pl.col("step") == step)
    share = of_step.filter(pl.col("phase") == UNCLASSIFIED)["share"][0]
    parts = times.mean_remainder
    if step is not None:
        parts = times.steps.filter(pl.col("step") == step).row(0, named=True)
    return StepHead(parts["step_ns"], share, parts["device_sync_ns"])


def pair_rows(pairs: Iterable[Pair]) -> pl.DataFrame:
    """One row a pair of phases with what its ratios are made of; columns PAIR_ROWS.

    ``host_both_ns`` and ``device_both_ns`` are the time both sides work at once, numerators of the ratios.
    """
    rows = [
        {
            "first": pair.phases[0],
            "second": pair.phases[1],
            "verdict": pair.verdict,
            "host_ratio": pair.host_ratio,
            "host_both_ns": _both_ns(pair.host_ratio, pair.host_ns),
            "first_host_ns": pair.host_ns[0],
            "second_host_ns": pair.host_ns[1],
            "device_ratio": pair.device_ratio,
            "device_both_ns": _both_ns(pair.device_ratio, pair.device_ns),
            "first_device_ns": None if pair.device_ns is None else pair.device_ns[0],
            "second_device_ns": None if pair.device_ns is None else pair.device_ns[1],
            "hideable_ns": pair.hideable_ns,
            "unobservable": pair.unobservable,
        }
        for pair in pairs
    ]
    return pl.DataFrame(rows, schema=PAIR_ROWS)


def _both_ns(ratio: float | None, sides_ns: tuple[int, int] | None) -> int | None:
    return None if ratio is None or sides_ns is None else round(ratio * min(sides_ns))


def depth_rows(depths: Iterable[Depth]) -> pl.DataFrame:
    """One row a stage of prefetching; columns DEPTH_ROWS, names joined with semicolons."""
    rows = [
        {
            "stage": depth.stage,
            "batches": depth.batches,
            "at_least": depth.at_least,
            "evidence": depth.evidence,
            "names": "; ".join(depth.names) or None,
            "behind": depth.behind,
        }
        for depth in depths
    ]
    return pl.DataFrame(rows, schema=DEPTH_ROWS)


def growth_rows(growths: Iterable[Growth]) -> pl.DataFrame:
    """What one step spends more on than the others, a row each; columns GROWTH_ROWS.

    A row of the phase table stands under its phase, a gap without a name.
    """
    rows = [
        {
            "growth": growth.kind,
            "name": growth.name if growth.kind == "name" else None,
            "phase": growth.name if growth.kind == "phase" else growth.phase,
            "this_ns": growth.ns,
            "others_ns": growth.others_ns,
            "grown_ns": growth.grown_ns,
        }
        for growth in growths
    ]
    return pl.DataFrame(rows, schema=GROWTH_ROWS)


@dataclass(frozen=True, slots=True)
class Largest:
    """The phase that takes most of the mean step."""

    phase: str
    attributed_ns: int
    share: float
    step_ns: int


def largest_phase(times: PhaseTimes) -> Largest | None:
    """Which of the six phases takes most of the mean step; None where none takes any."""
    six = times.mean.filter(pl.col("phase").is_in(PHASES), pl.col("attributed_ns") > 0)
    if six.is_empty():
        return None
    row = six.sort("attributed_ns", descending=True, maintain_order=True).row(0, named=True)
    return Largest(row["phase"], row["attributed_ns"], row["share"], times.mean_remainder["step_ns"])


def wholly_fused(times: PhaseTimes) -> bool:
    """Whether the table update is inside backward and nowhere else: then it cannot be moved by itself."""
    update = times.mean.row(by_predicate=pl.col("phase") == EMBEDDING_UPDATE, named=True)
    return times.fused_update and update["main_thread_ns"] + update["other_threads_ns"] == 0


def is_fused(times: PhaseTimes, pair: Pair) -> bool:
    """Whether one side of a pair is the table update, and that a part of the backward pass."""
    return EMBEDDING_UPDATE in pair.phases and wholly_fused(times)


def advisable(times: PhaseTimes, pair: Pair) -> bool:
    """Whether letting a pair run side by side is something to try.

    It is serial, can be split, and its shorter side does enough work for the step (limit in phases.toml).
    """
    return pair.verdict == "serial" and not is_fused(times, pair) and not too_small(times, pair)


def too_small(times: PhaseTimes, pair: Pair) -> bool:
    """Whether the shorter side of a pair does so little that hiding it changes nothing."""
    limit: float = load_toml("analysis.phases", "phases.toml")["pairs"]["least_share"]
    return pair.at_stake_ns < limit * times.mean_remainder["step_ns"]


@dataclass(frozen=True, slots=True)
class Blocked:
    """How long the main thread stands still."""

    per_step_ns: int
    share: float | None
    """Of the step."""


def all_syncs(phases: Phases) -> Blocked:
    """All device syncs of the main thread together, in the mean step."""
    per_step_ns = int(phases.waits.device_syncs["per_step_ns"].sum())
    step_ns = phases.times.mean_remainder["step_ns"]
    return Blocked(per_step_ns, per_step_ns / step_ns if step_ns else None)


def step_waits(phases: Phases) -> pl.DataFrame:
    """One row a step: all its waits, the longest by name and time, whether any is flagged; STEP_WAITS."""
    waits = phases.waits
    of_step = (
        waits.by_step.sort("step", "total_ns", "name", descending=[False, True, False])
        .group_by("step", maintain_order=True)
        .agg(
            pl.col("total_ns").sum().alias("waits_ns"),
            pl.col("name").first(),
            pl.col("total_ns").first(),
            pl.col("flagged").any(),
        )
    )
    return (
        phases.times.steps.select("step", "excluded", "step_ns")
        .join(of_step, on="step", how="left", nulls_equal=True, maintain_order="left")
        .with_columns(pl.col("waits_ns").fill_null(0), pl.col("flagged").fill_null(value=False))
        .with_columns(
            pl.when(pl.col("step_ns") > 0).then(pl.col("waits_ns") / pl.col("step_ns")).alias("share")
        )
        .select(*STEP_WAITS)
    )
