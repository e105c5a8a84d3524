"""Operators and ranges on the threads of the program, put into each other, for all analyses of the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from analysis.datafile import load_toml
from analysis.trace.model import HOST_ROLES
from analysis.trace.nesting import nest
from analysis.trace.step_windows import step_at

if TYPE_CHECKING:
    from analysis.trace.model import Trace
    from analysis.trace.nesting import Nesting


@dataclass(frozen=True, slots=True, eq=False)
class HostBars:
    """Every operator and range of one trace. A *row* of this frame is what phases and trees call a bar."""

    frame: pl.DataFrame
    """One row per bar in the order of the file: event (row in ``Trace.events``), track, role (String: one of
    HOST_ROLES), thread (Categorical; with its process where the bars are of several), name (Categorical),
    start_ns, duration_ns, input_dims, step (Int64: the step open at its start, whatever its thread, null
    outside of every step), depth (UInt32), self_ns."""
    nesting: Nesting
    """The tree of the rows; ``parent`` is a row, -1 at the top of a thread."""


def host_bars(trace: Trace, steps: pl.DataFrame) -> HostBars:
    """Operators and ranges with their place in the tree of their thread and in the steps.

    A bar belongs to the step in which it starts, on whatever thread (facts/phases.md 2 (6)).

    Args:
        trace: The trace.
        steps: The frame of :func:`analysis.trace.steps.trace_steps`; may be empty.
    """
    bars = _operator_bars(trace)
    tree = nest(bars)
    frame = bars.with_columns(
        step_at(bars["start_ns"], steps).alias("step"), *tree.frame().select("depth", "self_ns")
    )
    return HostBars(frame, tree)


def _operator_bars(trace: Trace) -> pl.DataFrame:
    """Bars that are neither steps, plumbing nor call stacks, in the order of the file."""
    rule: dict[str, Any] = load_toml("analysis", "host_operators.toml")["operators"]
    hosts = trace.tracks.filter(pl.col("role").is_in(HOST_ROLES))["track"]
    names = trace.events["name"].unique().drop_nulls()
    plumbing = names.filter(names.cast(pl.String).str.contains(rule["not_named"]))
    bars = (
        trace.events.lazy()
        .with_row_index("event")
        .filter(
            pl.col("track").is_in(hosts.implode()),
            pl.col("cat").cast(pl.String).is_in(rule["cats"]),
        )
        .filter(~pl.col("name").is_in(plumbing.implode()).fill_null(value=False))
        .with_columns(pl.col("name").fill_null(pl.lit(rule["without_name"], pl.Categorical())))
        .select("event", "track", "name", "start_ns", "duration_ns", "input_dims")
        .collect()
    )
    columns = ("event", "track", "role", "thread", "name", "start_ns", "duration_ns", "input_dims")
    threads = _threads(trace.tracks, bars["track"].unique())
    return bars.join(threads, on="track", how="left", maintain_order="left").select(columns)


def _threads(tracks: pl.DataFrame, used: pl.Series) -> pl.DataFrame:
    """Threads with their roles and names: track, role, thread. Those of several processes name theirs."""
    threads = tracks.filter(pl.col("track").is_in(used.implode()))
    thread = pl.coalesce("thread", "tid")
    if threads["pid"].n_unique() > 1:
        process = pl.concat_str("process", "pid", separator=" ", ignore_nulls=True)
        thread = pl.format("{} ({})", thread.fill_null("?"), process)
    return threads.select("track", "role", thread.cast(pl.Categorical).alias("thread"))
