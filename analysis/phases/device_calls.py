"""Calls below the framework in which the main thread blocks until the device is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analysis.trace.model import CANN
from analysis.trace.nesting import nest

if TYPE_CHECKING:
    from analysis.phases.model import Classified, Windows
    from analysis.trace.model import Trace


def device_calls(classified: Classified, windows: Windows, trace: Trace) -> pl.DataFrame:
    """Synchronising calls of CANN on the thread of the main thread's number, the outermost of nested ones.

    Returns:
        name (Categorical), start_ns, duration_ns, in the order of the file.
    """
    main = trace.tracks.filter(pl.col("track") == windows.main_track)["tid"]
    tracks = trace.tracks.filter((pl.col("role") == CANN) & pl.col("tid").is_in(main.implode()))["track"]
    bars = trace.events.filter(pl.col("track").is_in(tracks.implode())).select(
        "track", "name", "start_ns", "duration_ns"
    )
    names = bars["name"].unique().drop_nulls()
    blocking = names.filter(pl.Series(classified.rules.syncs(names.cast(pl.String))))
    calls = bars.filter(pl.col("name").is_in(blocking.implode()))
    return calls.filter(pl.Series(nest(calls).parent < 0)).drop("track")
