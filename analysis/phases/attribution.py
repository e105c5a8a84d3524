"""What each phase takes of each step: on the main thread, and with the backward pass split as it ran."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from analysis.datafile import load_toml
from analysis.phases.main_thread import autograd_tracks, main_pieces
from analysis.phases.model import (
    DENSE_UPDATE,
    EMBEDDING_UPDATE,
    PHASES,
    ROWS,
    STEP_PHASES,
    UNCLASSIFIED,
    PhaseTimes,
)
from analysis.phases.remainder import mean_names, mean_remainder, names_by_step, remainder, summing_to
from analysis.trace.flows import FORWARD_TO_BACKWARD
from analysis.trace.intervals import union_by
from analysis.trace.step_windows import step_at
from analysis.units import mean

if TYPE_CHECKING:
    from analysis.phases.model import Classified, Windows
    from analysis.trace.model import Trace

_SUMS: Final = ("main_thread_ns", "attributed_ns", "inferred_ns")
_BESIDE: Final = ("autograd_ns", "other_threads_ns")


def phase_times(
    classified: Classified, windows: Windows, pieces: pl.DataFrame, trace: Trace, steps: pl.DataFrame
) -> PhaseTimes:
    """The phase table of every step and of the mean (spec P1; facts/phases.md 2 (6), (9)).

    Args:
        classified: The phase of every bar.
        windows: The steps.
        pieces: The frame of :func:`analysis.phases.slices.slices`.
        trace: For what the main thread does outside of the framework, and the arrows to the backward pass.
        steps: The frame of :func:`analysis.trace.steps.trace_steps`.
    """
    main = main_pieces(classified, windows, pieces, trace)
    by_step = _known(_by_step(main, _beside(windows, pieces, trace), windows), classified)
    parts = remainder(main, windows)
    averaged = by_step.filter(~pl.col("excluded"))
    by_phase = _mean(averaged, parts.filter(~pl.col("excluded")))
    rest = by_phase.filter(phase=UNCLASSIFIED)["attributed_ns"][0]
    names = names_by_step(classified, main, windows)
    whole_ns = int(parts.filter(~pl.col("excluded"))["step_ns"].sum())
    rest_ns = int(averaged.filter(phase=UNCLASSIFIED)["attributed_ns"].sum())
    tied, misplaced = _backward_arrows(trace, steps)
    return PhaseTimes(
        by_step=by_step,
        steps=parts,
        named=names,
        mean=by_phase,
        mean_remainder=mean_remainder(parts, rest),
        mean_named=mean_names(classified, main, windows),
        confidence="low" if rest_ns > _limit("confidence", "unclassified_above") * whole_ns else "high",
        fused_update=_writes_tables(classified),
        tied_backward=tied,
        misplaced_backward=misplaced,
    )


def _by_step(main: pl.DataFrame, beside: pl.DataFrame, windows: Windows) -> pl.DataFrame:
    """The rows of every step; one that nothing is recorded of has them too."""
    rows = (
        windows.frame.with_row_index("window")
        .select(
            pl.col("window").cast(pl.Int64), "step", "excluded", step_ns=pl.col("end_ns") - pl.col("start_ns")
        )
        .join(pl.DataFrame({"phase": ROWS, "code": [*range(len(PHASES)), -1]}), how="cross")
        .join(_on_main(main), on=["window", "code"], how="left", maintain_order="left")
        .join(beside, on=["window", "code"], how="left", maintain_order="left")
        .with_columns(pl.col(*_SUMS, *_BESIDE).fill_null(0))
    )
    share = pl.col("attributed_ns") / pl.when(pl.col("step_ns") > 0).then("step_ns")
    return rows.with_columns(share.alias("share")).select(*STEP_PHASES).cast(STEP_PHASES)  # type: ignore[arg-type]


def _known(by_step: pl.DataFrame, classified: Classified) -> pl.DataFrame:
    """The same without numbers for phases that nothing in the whole trace tells of: unknown is not 0."""
    named = [PHASES[code] for code in np.unique(classified.phase) if code >= 0]
    seen = pl.col("phase").is_in([*named, UNCLASSIFIED]) | (pl.col("main_thread_ns").sum().over("phase") > 0)
    return by_step.with_columns(pl.when(seen).then(pl.col(*_SUMS, "share", *_BESIDE)))


def _on_main(main: pl.DataFrame) -> pl.DataFrame:
    """Sums of the main thread's pieces: window, code, main_thread_ns, attributed_ns, inferred_ns."""
    updates = {PHASES.index(phase): pl.col(f"{phase}_ns") for phase in (EMBEDDING_UPDATE, DENSE_UPDATE)}
    sums = main.group_by("window", code=pl.col("phase").cast(pl.Int64)).agg(
        pl.col("ns").sum().alias("main_thread_ns"),
        pl.col("ns").filter("inferred").sum().alias("inferred_ns"),
        *(update.sum() for update in updates.values()),
    )
    moved = [
        sums.group_by("window").agg(code=pl.lit(code, pl.Int64).first(), moved_ns=update.sum())
        for code, update in updates.items()
    ]
    kept = pl.col("main_thread_ns") - pl.sum_horizontal(updates.values())
    return (
        sums.join(pl.concat(moved), on=["window", "code"], how="full", coalesce=True)
        .with_columns(pl.exclude("window", "code").fill_null(0))
        .with_columns(attributed_ns=kept + pl.col("moved_ns"))
        .select("window", "code", *_SUMS)
    )


def _beside(windows: Windows, pieces: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Work of the other threads inside steps, each instant once: window, code and the columns of _BESIDE."""
    autograd = pl.col("track").is_in(autograd_tracks(windows, trace).implode())
    work = pieces.filter(pl.col("bar") >= 0, pl.col("window") >= 0, ~pl.col("waiting"))
    found = pl.DataFrame(schema={"window": pl.Int64(), "code": pl.Int64()})
    others = ~autograd & (pl.col("track") != windows.main_track)
    for column, of_threads in zip(_BESIDE, (autograd, others), strict=True):
        own = work.filter(of_threads)
        group = own["window"] * len(ROWS) + own["phase"] + 1
        union = union_by(group, own["start_ns"], own["end_ns"])
        sums = union.group_by(window=pl.col("group") // len(ROWS), code=pl.col("group") % len(ROWS) - 1).agg(
            (pl.col("end_ns") - pl.col("start_ns")).sum().alias(column)
        )
        found = found.join(sums, on=["window", "code"], how="full", coalesce=True)
    return found


def _mean(averaged: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """The seven rows of the mean step; they sum to it."""
    steps = parts.height
    step_ns = mean(int(parts["step_ns"].sum()), steps)
    known = pl.col("attributed_ns").is_not_null().any()
    rows = averaged.group_by("phase").agg(pl.col(*_SUMS, *_BESIDE).sum(), known=known)
    sums = pl.DataFrame({"phase": ROWS}).join(rows, on="phase", how="left", maintain_order="left")
    means = {name: [mean(total, steps) for total in sums[name]] for name in (*_SUMS, *_BESIDE)}
    for column in ("main_thread_ns", "attributed_ns"):
        means[column] = summing_to(step_ns, means[column])
    wanted = {name: dtype for name, dtype in STEP_PHASES.items() if name not in ("step", "excluded")}
    # One by one: a whole column by one number is a product with its rounded inverse.
    shares = [part / step_ns if step_ns else None for part in means["attributed_ns"]]
    frame = pl.DataFrame({"phase": ROWS, "share": shares, **means}, schema_overrides={"share": pl.Float64()})
    known_only = pl.when(pl.lit(sums["known"])).then(pl.exclude("phase")).name.keep()
    return frame.with_columns(known_only).select(*wanted).cast(wanted)  # type: ignore[arg-type]


def _writes_tables(classified: Classified) -> bool:
    """Whether a node of the backward pass writes an embedding table itself (facts/phases.md 2 (5))."""
    writers = np.array([*(rule.writes_table for rule in classified.rules.entries), False])
    of_tables = classified.phase == PHASES.index(EMBEDDING_UPDATE)
    return bool((writers[classified.claim] & of_tables).any())


def _backward_arrows(trace: Trace, steps: pl.DataFrame) -> tuple[int, int]:
    """How many arrows tie a forward operator to its backward one, and how many of them leave its step."""
    arrows = trace.flows.filter(pl.col("kind") == FORWARD_TO_BACKWARD).drop_nulls(["source", "target"])
    starts = trace.events["start_ns"]
    forward, backward = (step_at(starts.gather(arrows[end]), steps) for end in ("source", "target"))
    return arrows.height, int((forward.is_not_null() & forward.ne_missing(backward)).sum())


def _limit(table: str, key: str) -> float:
    limits: dict[str, Any] = load_toml("analysis.phases", "phases.toml")[table]
    return float(limits[key])
