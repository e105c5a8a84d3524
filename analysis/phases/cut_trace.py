"""Which steps a trace file that was cut short may have lost bars of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

if TYPE_CHECKING:
    from analysis.host_bars import HostBars
    from analysis.trace.model import Trace

_CUT: Final = "cut"


def is_cut(trace: Trace) -> bool:
    """Whether the file ends before its end."""
    return any(fault.kind == _CUT for fault in trace.quality.faults)


def lossy_steps(windows: pl.DataFrame, bars: HostBars, main_track: int) -> tuple[int, ...]:
    """The steps that the lost end of the file may have had bars of, by what is left of the main thread.

    A file lists the bars of a thread by their start or by their end, not strictly: one may stand behind
    others that start later, by its *lateness*. What is lost then starts no earlier than the last start of the
    thread less its largest lateness; or ends, by the order that reaches further. Steps that are over before
    that are whole.

    Args:
        windows: The steps of the main thread, columns WINDOWS.
        bars: Operators and ranges in the order of the file.
        main_track: The main thread.

    Returns:
        In the order of the steps; none where that would leave no step, for then nothing can be told apart.
    """
    own = bars.frame.filter(pl.col("track") == main_track)
    end = pl.col("start_ns") + pl.col("duration_ns")
    reaches = own.select(starts=_reach(pl.col("start_ns")), ends=_reach(end)).row(0)
    reach_ns = max((reach for reach in reaches if reach is not None), default=0)
    lossy = windows.filter(~pl.col("excluded"), pl.col("end_ns") > reach_ns)
    if lossy.height == windows.filter(~pl.col("excluded")).height:
        return ()
    return tuple(lossy["step"])


def _reach(times: pl.Expr) -> pl.Expr:
    """The last of the times less their largest lateness."""
    return times.max() - (times.cum_max() - times).max()
