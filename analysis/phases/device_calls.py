"""Calls below the framework in which the main thread blocks until the device is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analysis.datafile import load_toml
from analysis.trace.model import CANN
from analysis.trace.nesting import nest

if TYPE_CHECKING:
    from analysis.phases.model import Classified, Windows
    from analysis.trace.model import Trace


def device_calls(classified: Classified, windows: Windows, trace: Trace) -> pl.DataFrame:
    """Synchronising calls of the runtime made by the main thread, the outermost of nested ones.

    CANN's lie on a thread of the same number in a process of their own, those that Kineto records on the main
    thread itself.

    Returns:
        name (Categorical), start_ns, duration_ns, in the order of the file.
    """
    main = trace.tracks.filter(pl.col("track") == windows.main_track)["tid"]
    tracks = trace.tracks.filter((pl.col("role") == CANN) & pl.col("tid").is_in(main.implode()))["track"]
    cats = pl.Series(load_toml("analysis.phases", "rules.toml")["sync"]["runtime_cats"], dtype=pl.String)
    of_runtime = (pl.col("track") == windows.main_track) & pl.col("cat").cast(pl.String).is_in(cats.implode())
    bars = trace.events.filter(pl.col("track").is_in(tracks.implode()) | of_runtime).select(
        "track", "name", "start_ns", "duration_ns"
    )
    names = bars["name"].unique().drop_nulls()
    blocking = names.filter(pl.Series(classified.rules.syncs(names.cast(pl.String))))
    calls = bars.filter(pl.col("name").is_in(blocking.implode()))
    return calls.filter(pl.Series(nest(calls).parent < 0)).drop("track")
