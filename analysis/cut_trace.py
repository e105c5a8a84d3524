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


def with_lossy(steps: pl.DataFrame, bars: HostBars, excluded: int | None) -> pl.DataFrame:
    """The steps of a cut trace with ``lossy``: what the lost end of the file may have held bars of.

    A file lists the bars of a thread by their start or by their end, not strictly: one may stand behind
    others that start later, by its *lateness*. What is lost then starts no earlier than the last start of the
    main thread less its largest lateness; or ends, by the order that reaches further. Steps that are over
    before that are whole.

    Args:
        steps: The frame of :func:`analysis.trace.steps.trace_steps`.
        bars: Operators and ranges in the order of the file.
        excluded: The compile step, which averages leave out anyway.

    Returns:
        The steps; none is lossy where that would leave none to average, for then nothing can be told apart.
    """
    if steps.is_empty():
        return steps
    own = bars.frame.filter(pl.col("track") == steps["track"][0])
    end = pl.col("start_ns") + pl.col("duration_ns")
    reaches = own.select(starts=_reach(pl.col("start_ns")), ends=_reach(end)).row(0)
    reach_ns = max((reach for reach in reaches if reach is not None), default=0)
    others = pl.col("step").ne_missing(excluded)
    lossy = others & (pl.col("end_ns") > reach_ns)
    return steps.with_columns(lossy=lossy & ((others & ~lossy).any()))


def _reach(times: pl.Expr) -> pl.Expr:
    """The last of the times less their largest lateness."""
    return times.max() - (times.cum_max() - times).max()
