"""Calls below the framework in which the main thread blocks until the device is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analysis.datafile import load_toml
from analysis.trace.model import CANN
from analysis.trace.nesting import nest

if TYPE_CHECKING:
    from analysis.phases.model import Classified, Windows
    from analysis.trace.model import Trace
    from analysis.trace.nesting import Ints


def device_calls(classified: Classified, windows: Windows, trace: Trace) -> pl.DataFrame:
    """Synchronising calls of the runtime made by the main thread, the outermost of nested ones.

    CANN's lie on a thread of the same number in a process of their own, those that Kineto records on the main
    thread itself.

    Returns:
        event (row of ``trace.events``), name (Categorical), start_ns, duration_ns, in the order of the file.
    """
    main = trace.tracks.filter(pl.col("track") == windows.main_track)["tid"]
    tracks = trace.tracks.filter((pl.col("role") == CANN) & pl.col("tid").is_in(main.implode()))["track"]
    cats = pl.Series(load_toml("analysis.phases", "rules.toml")["sync"]["runtime_cats"], dtype=pl.String)
    of_runtime = (pl.col("track") == windows.main_track) & pl.col("cat").cast(pl.String).is_in(cats.implode())
    on_main = pl.col("track").is_in(tracks.implode()) | of_runtime
    numbered = trace.events.lazy().with_row_index("event").filter(on_main)
    bars = numbered.select("event", "track", "name", "start_ns", "duration_ns").collect()
    names = bars["name"].unique().drop_nulls()
    blocking = names.filter(pl.Series(classified.rules.syncs(names.cast(pl.String))))
    calls = bars.filter(pl.col("name").is_in(blocking.implode()))
    return calls.filter(pl.Series(nest(calls).parent < 0)).drop("track")


def holders(calls: pl.DataFrame, classified: Classified, windows: Windows) -> Ints:
    """The innermost bar of the main thread that is open when each call starts, -1 where none is.

    Args:
        calls: Of :func:`device_calls`.
        classified: The bars.
        windows: Which thread is the main one.
    """
    track = pl.Series(np.full(calls.height, windows.main_track))
    return classified.bars.nesting.bars.innermost(track, calls["start_ns"])


def blocked_in_calls(classified: Classified, windows: Windows, trace: Trace) -> Ints:
    """How long each bar itself is blocked in calls of the runtime, those inside of waits and syncs left out.

    These are counted with the wait or the sync that they are a part of. A bar that is open at the end of the
    step in which it starts is blocked up to there (:class:`analysis.phases.step_calls.StepCalls`).
    """
    calls = device_calls(classified, windows, trace)
    row = holders(calls, classified, windows)
    counted = row >= 0
    counted[counted] = ~(classified.in_wait | classified.in_sync)[row[counted]]
    row, calls = row[counted], calls.filter(counted)
    start = calls["start_ns"].to_numpy()
    step = windows.places(classified.bars.frame["start_ns"].to_numpy()[row])
    left_ns = np.maximum(windows.frame["end_ns"].to_numpy()[step] - start, 0)
    times = calls["duration_ns"].to_numpy()
    blocked = np.zeros(classified.phase.size, np.int64)
    np.add.at(blocked, row, np.where(step >= 0, np.minimum(times, left_ns), times))
    return blocked
