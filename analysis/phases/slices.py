"""The time of every host thread, cut so that each piece has one innermost bar and one phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analysis.phases.model import SLICES
from analysis.trace.nesting import SortedBars

if TYPE_CHECKING:
    from analysis.phases.model import Classified, Windows
    from analysis.trace.nesting import Ints


def slices(classified: Classified, windows: Windows) -> pl.DataFrame:
    """What every thread of the program does at each instant.

    A piece belongs to the bar that started last of those open (facts/phases.md 2 (4)); bars without a
    duration own no time. Pieces also end at the borders of the windows.

    Returns:
        Frame of the columns SLICES.
    """
    frame = classified.bars.frame
    bars, lasting = _lasting(classified)
    track, time = _borders(bars, windows)
    bar = bars.innermost(pl.Series(track), pl.Series(time))
    bar = np.where(bar >= 0, lasting[bar], -1) if lasting.size else bar
    lasts = np.flatnonzero(np.diff(track) == 0)
    row = bar[lasts]
    known = row >= 0
    return pl.DataFrame(
        {
            "track": track[lasts],
            "start_ns": time[lasts],
            "end_ns": time[lasts + 1],
            "bar": row,
            "phase": np.where(known, classified.phase[row], -1) if frame.height else row,
            "waiting": known & classified.in_wait[row] if frame.height else known,
            "syncing": known & classified.in_sync[row] if frame.height else known,
            "window": windows.places(time[lasts]),
        }
    ).cast(SLICES)  # type: ignore[arg-type]


def _lasting(classified: Classified) -> tuple[SortedBars, Ints]:
    """The bars that have a duration, in order, and the row of each."""
    frame = classified.bars.frame
    rows = np.flatnonzero(frame["duration_ns"].to_numpy() > 0)
    if rows.size == frame.height:
        return classified.bars.nesting.bars, rows
    return SortedBars.of(frame.select("track", "start_ns", "duration_ns")[rows]), rows


def _borders(bars: SortedBars, windows: Windows) -> tuple[Ints, Ints]:
    """Track and time of every moment at which a piece begins or ends, by track, then time."""
    recorded = bars.track[np.flatnonzero(np.diff(bars.track, prepend=-1))]
    tracks = np.union1d(recorded, windows.main_track)
    cuts = windows.frame.select(pl.concat_list("start_ns", "end_ns").explode())["start_ns"].to_numpy()
    # Thread by thread: times alone are sorted many times faster than the order of pairs is found.
    times = [
        np.sort(np.concatenate([bars.start[first:last], bars.end[first:last], cuts]))
        for first, last in zip(*bars.ranges(tracks), strict=True)
    ]
    track, time = np.repeat(tracks, [own.size for own in times]), np.concatenate(times)
    fresh = np.append([True], (np.diff(track) != 0) | (np.diff(time) != 0))
    return track[fresh], time[fresh]
