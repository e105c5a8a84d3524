"""Whether phases that need nothing of each other run side by side: on other threads, on other streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from analysis.datafile import load_toml
from analysis.phases.model import EMBEDDING_UPDATE, PAIRS, PHASES
from analysis.phases.results import Pair
from analysis.trace.intervals import Intervals
from analysis.units import mean

if TYPE_CHECKING:
    from analysis.phases.model import Classified, Windows
    from analysis.trace.model import Trace

THREADS: Final = "threads"
STREAMS: Final = "streams"
SERIAL: Final = "serial"
NOT_OBSERVABLE: Final = "not_observable"

_WORK: Final = {"phase": pl.Int8(), "window": pl.Int64(), "start_ns": pl.Int64(), "end_ns": pl.Int64()}


def pair_verdicts(
    classified: Classified,
    windows: Windows,
    slices: pl.DataFrame,
    launches: pl.DataFrame,
    trace: Trace,
    *,
    fused: bool,
) -> tuple[Pair, ...]:
    """How the phases of each pair of PAIRS run, over the whole trace (spec P4; facts/phases.md 3).

    Each ratio is the time during which both phases work, over that of the phase with less work. On the host a
    wait is no work, a device sync is. On the device it is the bars that operators of the phase launched, but
    for those that only wait for an event or a notification. From the limit of phases.toml on, the host ratio
    says ``threads``, else the device ratio ``streams``. Phases that the host issues one after the other may
    still run together on the device: where no device work is tied to anything, that is no evidence of
    ``serial``. A table update that is a part of the backward pass cannot be told from it on the host: there
    only the device tells. A file cut short lists the device apart from the host and may have lost any of its
    work: there only the host tells.

    Args:
        classified: The phase of every host bar.
        windows: The steps: what could be hidden is told of the averaged ones.
        slices: The frame of :func:`analysis.phases.slices.slices`.
        launches: The frame of :func:`analysis.trace.flows.launches`.
        trace: The trace that both are of.
        fused: Whether only the backward pass writes embedding tables.
    """
    codes = [PHASES.index(phase) for pair in PAIRS for phase in pair]
    host = slices.filter(~pl.col("waiting"), pl.col("phase").is_in(codes))
    device = None if windows.cut else _device_work(classified, windows, launches, trace)
    hideable = [None for _ in PAIRS] if device is None else _hideable_ns(host, device, windows)
    return tuple(
        _verdict(pair, host, device, hideable_ns, on_host=not (fused and EMBEDDING_UPDATE in pair))
        for pair, hideable_ns in zip(PAIRS, hideable, strict=True)
    )


def _device_work(
    classified: Classified, windows: Windows, launches: pl.DataFrame, trace: Trace
) -> pl.DataFrame:
    """Bars of the device with the phase and the window of the operator that launched each: columns _WORK.

    The phase is -1 where the operator has none, the window null outside of all. Bars without a known operator
    are left out.
    """
    bars = classified.bars.frame["event"].to_numpy()
    row_of = np.full(trace.events.height, -1, np.int64)
    row_of[bars] = np.arange(bars.size)
    tied = launches.drop_nulls("host").select("event", "host")
    row = row_of[tied["host"].to_numpy()]
    events = trace.events.select("name", "task_type", "start_ns", "duration_ns")
    work = events.select(pl.all().gather(tied["event"].to_numpy()[row >= 0]))
    start = pl.col("start_ns")
    operators = classified.bars.frame["start_ns"].gather(row[row >= 0])
    return (
        work.with_columns(
            pl.Series("phase", classified.phase[row[row >= 0]]),
            windows.at(operators),
        )
        .filter(~_waits(work))
        .select("phase", "window", start, (start + pl.col("duration_ns")).alias("end_ns"))
        .cast(_WORK)  # type: ignore[arg-type]
    )


def _waits(bars: pl.DataFrame) -> pl.Series:
    """Whether each bar of the device only waits: a bar that no kernel stands behind is named by its type."""
    types = bars.select(pl.coalesce("task_type", "name")).to_series()
    names = types.unique().drop_nulls()
    waits = names.filter(names.cast(pl.String).str.contains(_limits()["device_waits"]["task_type"]))
    return types.is_in(waits.implode()).fill_null(value=False)


def _verdict(
    phases: tuple[str, str],
    host: pl.DataFrame,
    device: pl.DataFrame | None,
    hideable_ns: int | None,
    *,
    on_host: bool,
) -> Pair:
    """What the work of both sides says.

    ``device`` is None where its work is not known whole, ``on_host`` is whether the host tells the phases
    apart.
    """
    host_sides = _sides(phases, host)
    device_sides = None if device is None else _sides(phases, device)
    host_ratio = _ratio(*host_sides) if on_host else None
    device_ratio = None if device_sides is None else _ratio(*device_sides)
    limit = _limits()["pairs"]["least_ratio"]
    unobservable = None
    if host_ratio is not None and host_ratio >= limit:
        verdict = THREADS
    elif device_ratio is not None and device_ratio >= limit:
        verdict = STREAMS
    else:
        unobservable = _unobservable((host_ratio, device_ratio), device)
        verdict = SERIAL if unobservable is None else NOT_OBSERVABLE
    return Pair(
        phases=phases,
        verdict=verdict,
        host_ratio=host_ratio,
        device_ratio=device_ratio,
        host_ns=(host_sides[0].total, host_sides[1].total),
        device_ns=None if device_sides is None else (device_sides[0].total, device_sides[1].total),
        hideable_ns=hideable_ns,
        unobservable=unobservable,
    )


def _hideable_ns(host: pl.DataFrame, device: pl.DataFrame, windows: Windows) -> list[int]:
    """Work of the shorter side of each pair in the mean step: of the host or of the device, where it is more.

    Blocked until the device is done, a thread has nothing that could be done elsewhere.
    """
    averaged = windows.frame.with_row_index("window").filter(~pl.col("excluded"))["window"].cast(pl.Int64)
    inside = pl.col("window").is_in(averaged.implode())
    movable = [host.filter(inside, ~pl.col("syncing")), device.filter(inside)]
    shorter = [[min(side.total for side in _sides(pair, work)) for work in movable] for pair in PAIRS]
    return [mean(max(totals), averaged.len()) for totals in shorter]


def _unobservable(ratios: tuple[float | None, float | None], device: pl.DataFrame | None) -> str | None:
    """Why two phases that were not seen together cannot be called serial; None where they can."""
    if device is None:
        return "cut"
    if ratios == (None, None):
        return "host"
    return "device" if device.is_empty() else None


def _sides(phases: tuple[str, str], work: pl.DataFrame) -> tuple[Intervals, Intervals]:
    """When each phase works, whatever the thread or stream."""
    first, second = (work.filter(pl.col("phase") == PHASES.index(phase)) for phase in phases)
    return (
        Intervals.of(first["start_ns"], first["end_ns"]),
        Intervals.of(second["start_ns"], second["end_ns"]),
    )


def _ratio(first: Intervals, second: Intervals) -> float | None:
    """Time of both / time of the shorter; None where one is empty.

    A thread does one thing at a time: what both have in common is on different threads.
    """
    shorter = min(first.total, second.total)
    return (first & second).total / shorter if shorter else None


def _limits() -> dict[str, Any]:
    return load_toml("analysis.phases", "phases.toml")
