"""What the main thread stands still for: waits for other threads, and for the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from analysis.datafile import load_toml
from analysis.phases.device_calls import device_calls, holders
from analysis.phases.model import PHASES
from analysis.phases.results import WAITS, WAITS_BY_STEP, Waits
from analysis.phases.rules import with_index_marks
from analysis.trace.intervals import Intervals
from analysis.units import mean

if TYPE_CHECKING:
    from analysis.phases.model import Classified, Windows
    from analysis.trace.model import Trace
    from analysis.trace.nesting import Flags, Ints


def find_waits(classified: Classified, windows: Windows, trace: Trace) -> Waits:
    """Waits and device syncs of the main thread by name (spec P5; facts/phases.md 2 (7)).

    A wait counts with its whole duration in the window in which it starts, one inside another wait only with
    that one; syncs likewise among themselves, so that a sync inside a wait is in both tables. Calls below the
    framework that synchronise outside of these are device syncs under their own names.

    Args:
        classified: The phase of every bar.
        windows: The steps.
        trace: For the calls below the framework.
    """
    bars = _waits(classified, windows)
    blocked = _syncs(classified, windows, trace)
    averaged = bars.filter(~pl.col("excluded"))
    per_window = _per_window(bars, "name")
    by_step = per_window.join(_of_most_time(bars, "window", "name"), on=["window", "name"], how="left")
    by_name = _over_windows(per_window, windows, "name").join(
        _of_most_time(averaged, "name"), on="name", how="left"
    )
    unseen = pl.lit(None, pl.String).alias("producer")
    syncs_per_window = _per_window(blocked, "name", "phase").with_columns(unseen)
    syncs = _over_windows(syncs_per_window, windows, "name", "phase").with_columns(unseen)
    return Waits(
        by_name=_ordered(by_name),
        by_step=_by_step(by_step),
        per_step_ns=_per_step(per_window, windows),
        synced_ns=_synced(averaged, blocked, windows.averaged.height),
        # Calls that took no time at all tell nothing of how long anything stood still.
        device_syncs=_ordered(syncs.filter(pl.col("total_ns") > 0)),
        syncs_by_step=_by_step(syncs_per_window.filter(pl.col("total_ns") > 0)),
    )


STOPS: Final = {
    "event": pl.UInt32(),
    "step": pl.Int64(),
    "start_ns": pl.Int64(),
    "offset_ns": pl.Int64(),
    "duration_ns": pl.Int64(),
    "phase": pl.String(),
    "producer": pl.String(),
}
"""Columns of :func:`waits_of` and :func:`syncs_of`."""


def waits_of(name: str, step: int | None, classified: Classified, windows: Windows) -> pl.DataFrame:
    """Every single wait that a row of ``Waits.by_name``, or of ``by_step``, is made of; by start, then event.

    Args:
        name: Of the row.
        step: Which step; None for all averaged ones.
        classified: The phase of every bar.
        windows: The steps.

    Returns:
        Frame of the columns STOPS: ``event`` (of ``trace.events``), ``offset_ns`` (start less that of the
        step, or of the whole trace), ``producer`` (what it waited for, null if none was seen).
    """
    return _stops(_waits(classified, windows).filter(pl.col("name") == name), step, windows)


def syncs_of(
    name: str, phase: str | None, step: int | None, classified: Classified, windows: Windows, trace: Trace
) -> pl.DataFrame:
    """The same of a row of ``Waits.device_syncs``, or of ``syncs_by_step``."""
    wanted = (pl.col("name") == name) & pl.col("phase").eq_missing(pl.lit(phase, pl.String))
    return _stops(_syncs(classified, windows, trace).filter(wanted), step, windows)


def _stops(bars: pl.DataFrame, step: int | None, windows: Windows) -> pl.DataFrame:
    starts = windows.frame.with_row_index("window").select(
        pl.col("window").cast(pl.Int64), window_ns="start_ns"
    )
    return (
        bars.filter(~pl.col("excluded") if step is None else pl.col("step") == step)
        .join(starts, on="window", how="left")
        .with_columns(offset_ns=pl.col("start_ns") - pl.col("window_ns"), duration_ns=pl.col("ns"))
        .sort("start_ns", "event")
        .select(*STOPS)
        .cast(STOPS)  # type: ignore[arg-type]
    )


def _waits(classified: Classified, windows: Windows) -> pl.DataFrame:
    return _outermost(classified.wait, classified.in_wait, classified, windows)


def _syncs(classified: Classified, windows: Windows, trace: Trace) -> pl.DataFrame:
    """Those of the framework, and the calls below it that none of them holds."""
    bars = _outermost(classified.sync, classified.in_sync, classified, windows)
    return pl.concat([bars, _calls(classified, windows, trace)], how="diagonal")


def _outermost(marked: Flags, inside: Flags, classified: Classified, windows: Windows) -> pl.DataFrame:
    """Marked bars of the main thread that no other marked bar holds, of those that start in a window.

    Args:
        marked: Which bars count.
        inside: Which of them are marked or lie in a marked one.
        classified: The bars.
        windows: The steps.

    Returns:
        Frame with window (its place), step, excluded, step_ns, name (indices as ``{i}``), phase, producer
        (name, indices as ``{i}``), ns, start_ns, event.
    """
    frame, parent = classified.bars.frame, classified.bars.nesting.parent
    main = frame["track"].to_numpy() == windows.main_track
    rows = np.flatnonzero(marked & main)
    rows = rows[~np.append(inside, [False])[parent[rows]]]
    name = frame["name"]
    bars = pl.DataFrame(
        [
            windows.at(frame["start_ns"].gather(rows)),
            _index_marked(name.gather(rows)),
            pl.Series("phase", PHASES, pl.String).gather(_known(classified.phase[rows].astype(np.int64))),
            _index_marked(name.gather(_known(classified.producer[rows]))).alias("producer"),
            frame["duration_ns"].gather(rows).alias("ns"),
            frame["start_ns"].gather(rows),
            frame["event"].gather(rows),
        ]
    )
    return bars.join(_numbered(windows), on="window")


def _calls(classified: Classified, windows: Windows, trace: Trace) -> pl.DataFrame:
    """Calls below the framework that no device sync of the framework holds: as :func:`_outermost`."""
    calls = device_calls(classified, windows, trace)
    row = holders(calls, classified, windows)
    inside_sync = np.append(classified.in_sync, [False])[row]
    codes = np.append(classified.phase, -1)[row].astype(np.int64)
    bars = calls.select(
        windows.at(calls["start_ns"]),
        pl.col("name").cast(pl.String),
        pl.Series("phase", PHASES, pl.String).gather(_known(codes)),
        pl.col("duration_ns").alias("ns"),
        "start_ns",
        "event",
    )
    return bars.filter(~pl.Series(inside_sync)).join(_numbered(windows), on="window")


def _synced(waits: pl.DataFrame, syncs: pl.DataFrame, steps: int) -> dict[str, int]:
    """How much of each wait a step is blocked on the device."""
    blocked = Intervals.of(syncs["start_ns"], syncs["start_ns"] + syncs["ns"])
    start, length = waits["start_ns"].to_numpy(), waits["ns"].to_numpy()
    covered = waits.select("name", pl.Series("ns", blocked.coverage(start, start + length), pl.Int64))
    sums = covered.group_by("name").agg(pl.col("ns").sum()).filter(pl.col("ns") > 0).sort("name")
    return {name: mean(total, steps) for name, total in sums.iter_rows()}


def _numbered(windows: Windows) -> pl.DataFrame:
    """The windows by their places: window, step, excluded, step_ns."""
    return windows.frame.with_row_index("window").select(
        pl.col("window").cast(pl.Int64),
        "step",
        "excluded",
        (pl.col("end_ns") - pl.col("start_ns")).alias("step_ns"),
    )


def _known(places: Ints) -> pl.Series:
    """Places to gather from, null for -1."""
    series = pl.Series(places)
    return series.set(series < 0, None)


def _index_marked(names: pl.Series) -> pl.Series:
    """Names as text, batch indices as ``{i}``: ``name``."""
    distinct = names.unique().drop_nulls()
    marked = pl.DataFrame([distinct.alias("raw"), with_index_marks(distinct.cast(pl.String)).alias("name")])
    raw = names.alias("raw").to_frame()
    return raw.join(marked, on="raw", how="left", maintain_order="left")["name"]


def _per_window(bars: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Bars of each window together by the keys: count, total_ns, max_ns, share of the window, flagged."""
    limits = _limits()
    total, share = pl.col("total_ns"), pl.col("share")
    long = (total > limits["ns_above"]) | (share > limits["share_above"]).fill_null(value=False)
    return (
        bars.group_by("window", "step", "excluded", "step_ns", *keys)
        .agg(
            pl.len().cast(pl.Int64).alias("count"),
            pl.col("ns").sum().alias("total_ns"),
            pl.col("ns").max().alias("max_ns"),
        )
        .with_columns(pl.when(pl.col("step_ns") > 0).then(total / pl.col("step_ns")).alias("share"))
        .with_columns(long.alias("flagged"))
    )


def _over_windows(per_window: pl.DataFrame, windows: Windows, *keys: str) -> pl.DataFrame:
    """The averaged windows together by the keys, with per_step_ns and the share of their time."""
    averaged = windows.averaged
    time = (averaged["end_ns"] - averaged["start_ns"]).sum()
    table = (
        per_window.filter(~pl.col("excluded"))
        .group_by(*keys)
        .agg(
            pl.col("count", "total_ns").sum(),
            pl.col("max_ns").max(),
            pl.col("flagged").any(),
        )
    )
    totals = table["total_ns"]
    return table.with_columns(
        pl.Series("per_step_ns", [mean(total, averaged.height) for total in totals], pl.Int64),
        pl.Series("share", [total / time if time else None for total in totals], pl.Float64),
    )


def _of_most_time(bars: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """The phase and the producer that bars of the same keys have for most of their time.

    An unknown phase competes with the known ones, an unseen producer does not.

    Returns:
        Frame with the keys, phase, producer.
    """
    phases = _largest(bars, "phase", *keys)
    producers = _largest(bars.drop_nulls("producer"), "producer", *keys)
    return phases.join(producers, on=keys, how="left")


def _largest(bars: pl.DataFrame, column: str, *keys: str) -> pl.DataFrame:
    """The value with the most time, then bars, then first by name: keys, column."""
    return (
        bars.group_by(*keys, column)
        .agg(pl.col("ns").sum().alias("total_ns"), pl.len().alias("count"))
        .sort("total_ns", "count", column, descending=[True, True, False], nulls_last=True)
        .unique(keys, keep="first", maintain_order=True)
        .select(*keys, column)
    )


def _per_step(per_window: pl.DataFrame, windows: Windows) -> dict[int | None, int]:
    """Time of all waits of every window by its step."""
    totals = dict(per_window.group_by("window").agg(pl.col("total_ns").sum()).iter_rows())
    return {step: totals.get(window, 0) for window, step in enumerate(windows.frame["step"])}


def _by_step(table: pl.DataFrame) -> pl.DataFrame:
    keys = ["window", "total_ns", "name", "phase"]
    ordered = table.sort(keys, descending=[False, True, False, False], nulls_last=True)
    return ordered.select(*WAITS_BY_STEP).cast(WAITS_BY_STEP)  # type: ignore[arg-type]


def _ordered(table: pl.DataFrame) -> pl.DataFrame:
    ordered = table.sort("total_ns", "name", "phase", descending=[True, False, False], nulls_last=True)
    return ordered.select(*WAITS).cast(WAITS)  # type: ignore[arg-type]


def _limits() -> dict[str, Any]:
    limits: dict[str, Any] = load_toml("analysis.phases", "phases.toml")["waits"]
    return limits
