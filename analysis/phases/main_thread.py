"""The main thread piece by piece: what is backward without saying so, what the autograd thread took over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from analysis.datafile import load_toml
from analysis.phases.device_calls import device_calls
from analysis.phases.model import BACKWARD, DENSE_UPDATE, EMBEDDING_UPDATE, PHASES
from analysis.trace.intervals import Intervals
from analysis.trace.model import AUTOGRAD

if TYPE_CHECKING:
    from analysis.phases.model import Classified, Windows
    from analysis.trace.model import Trace
    from analysis.trace.nesting import Flags, Ints

MAIN_PIECES: Final = {
    "window": pl.Int64(),
    "bar": pl.Int64(),
    "phase": pl.Int8(),
    "inferred": pl.Boolean(),
    "ns": pl.Int64(),
    "embedding_update_ns": pl.Int64(),
    "dense_update_ns": pl.Int64(),
    "sync_ns": pl.Int64(),
}
"""Columns of :func:`main_pieces`."""


def main_pieces(classified: Classified, windows: Windows, pieces: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """The pieces of the main thread inside steps, in any order.

    A piece without a phase is backward, *inferred*, if classified work of the autograd thread covers more
    than half of it: user code that calls ``backward()`` leaves no trace on the main thread (facts/phases.md
    2 (6)). One that is blocked until the device is done is not.

    Args:
        classified: The phase of every bar.
        windows: The steps.
        pieces: The frame of :func:`analysis.phases.slices.slices`.
        trace: For the calls of the main thread that block until the device is done.

    Returns:
        Columns MAIN_PIECES: ``ns`` is the length, of which the autograd thread does ``embedding_update_ns``
        and ``dense_update_ns`` if the piece is backward, and ``sync_ns`` stand still for the device.
    """
    own = pieces.filter((pl.col("track") == windows.main_track) & (pl.col("window") >= 0))
    own = _cut(own, Intervals.of_bars(device_calls(classified, windows, trace)))
    start, end = own["start_ns"].to_numpy(), own["end_ns"].to_numpy()
    ns, phase = end - start, own["phase"].to_numpy()
    syncing = own["syncing"].to_numpy()
    work = _autograd_work(autograd_tracks(windows, trace), pieces)
    covered = _covered((phase < 0) & ~syncing, _all(work), start, end)
    inferred = covered > _least_covered() * ns
    phase = np.where(inferred, PHASES.index(BACKWARD), phase)
    backward = phase == PHASES.index(BACKWARD)
    tables = work[PHASES.index(EMBEDDING_UPDATE)]
    dense = work[PHASES.index(DENSE_UPDATE)] - tables
    return own.select(
        "window",
        "bar",
        phase=pl.Series(phase),
        inferred=pl.Series(inferred),
        ns=pl.Series(ns),
        embedding_update_ns=pl.Series(_covered(backward, tables, start, end)),
        dense_update_ns=pl.Series(_covered(backward, dense, start, end)),
        sync_ns=pl.Series(np.where(syncing, ns, 0)),
    ).cast(MAIN_PIECES)  # type: ignore[arg-type]


def _covered(asked: Flags, work: Intervals, start: Ints, end: Ints) -> Ints:
    """How much of each piece that is asked for lies in the work, 0 of the others."""
    covered = np.zeros(asked.size, np.int64)
    covered[asked] = work.coverage(start[asked], end[asked])
    return covered


def _cut(pieces: pl.DataFrame, calls: Intervals) -> pl.DataFrame:
    """The pieces, cut where a call that blocks begins and ends; what lies inside one is ``syncing``."""
    met = pl.Series(_met(pieces, calls))
    parts = [pieces.filter(~met)]
    pieces = pieces.filter(met)
    starts = pieces["start_ns"].to_numpy()
    whole = Intervals(starts, pieces["end_ns"].to_numpy())
    for part, blocked in ((whole - calls, False), (whole & calls, True)):
        place = np.searchsorted(starts, part.starts, side="right") - 1
        parts.append(
            pieces[place].with_columns(
                pl.Series("start_ns", part.starts),
                pl.Series("end_ns", part.ends),
                pl.col("syncing") | blocked,
            )
        )
    return pl.concat(parts)


def _met(pieces: pl.DataFrame, calls: Intervals) -> Flags:
    """Whether each piece has an instant in common with any of the calls."""
    first = np.searchsorted(pieces["end_ns"].to_numpy(), calls.starts, side="right")
    behind = np.searchsorted(pieces["start_ns"].to_numpy(), calls.ends, side="left")
    opened, closed = (np.bincount(places, minlength=pieces.height + 1) for places in (first, behind))
    met: Flags = np.cumsum(opened - closed)[: pieces.height] > 0
    return met


def autograd_tracks(windows: Windows, trace: Trace) -> pl.Series:
    """Threads that run the backward pass of the main thread: another process runs one of its own."""
    tracks = trace.tracks
    process = tracks.filter(pl.col("track") == windows.main_track)["pid"]
    own = pl.col("pid").is_in(process.implode(), nulls_equal=True)
    return tracks.filter((pl.col("role") == AUTOGRAD) & own)["track"]


def _autograd_work(tracks: pl.Series, pieces: pl.DataFrame) -> list[Intervals]:
    """When autograd threads work in each phase."""
    own = pieces.filter(pl.col("track").is_in(tracks.implode()))
    found = []
    for code in range(len(PHASES)):
        of_phase = own.filter(pl.col("phase") == code)
        found.append(Intervals.of(of_phase["start_ns"], of_phase["end_ns"]))
    return found


def _all(parts: list[Intervals]) -> Intervals:
    whole = Intervals.of([], [])
    for part in parts:
        whole = whole | part
    return whole


def _least_covered() -> float:
    limits: dict[str, Any] = load_toml("analysis.phases", "phases.toml")["inferred_backward"]
    return float(limits["covered_above"])
