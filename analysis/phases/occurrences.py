"""From a node of a tree down to its bars and the device work they launched, and why it has its phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from analysis.phases.model import PHASES
from analysis.phases.step_calls import StepCalls
from analysis.trace.intervals import union_by

if TYPE_CHECKING:
    from analysis.host_bars import HostBars
    from analysis.phases.model import Classified, Windows
    from analysis.phases.results import StepTree
    from analysis.phases.rules import Rule
    from analysis.trace.model import Trace
    from analysis.trace.nesting import Ints

OCCURRENCES: Final = {
    "row": pl.Int64(),
    "event": pl.UInt32(),
    "step": pl.Int64(),
    "thread": pl.String(),
    "start_ns": pl.Int64(),
    "offset_ns": pl.Int64(),
    "duration_ns": pl.Int64(),
    "self_ns": pl.Int64(),
    "kernels": pl.Int64(),
    "kernel_ns": pl.Int64(),
    "input_dims": pl.String(),
}
"""Columns of :func:`occurrences`."""

KERNELS: Final = {
    "event": pl.UInt32(),
    "name": pl.String(),
    "task_type": pl.String(),
    "stream_id": pl.Int64(),
    "start_ns": pl.Int64(),
    "duration_ns": pl.Int64(),
    "launched_by": pl.String(),
    "lag_ns": pl.Int64(),
}
"""Columns of :func:`kernels_of`."""


def occurrences(
    tree: StepTree,
    node: int,
    classified: Classified,
    windows: Windows,
    launches: pl.DataFrame,
    trace: Trace,
) -> pl.DataFrame:
    """Every bar behind a node of a tree, by start, then row.

    Args:
        tree: Either tree.
        node: Which of its nodes; the root and the nodes of threads have no bars.
        classified: Bars and their phases.
        windows: The steps.
        launches: The frame of :func:`analysis.trace.flows.launches`.
        trace: What all of this was found in.

    Returns:
        Frame of the columns OCCURRENCES: ``row`` (of ``bars.frame``), ``event`` (of ``trace.events``),
        ``step`` (that of the outermost call around the bar, which may outlast it), ``offset_ns`` (start less
        that of the step), ``kernels`` (device bars launched by the bar or by anything below it) and
        ``kernel_ns`` (time in which any of them runs), both null where no launch is known in the whole trace.
    """
    frame = classified.bars.frame
    found = frame.with_row_index("row").filter(pl.Series(tree.node == node)).sort("start_ns", "row")
    rows = found["row"].to_numpy().astype(np.int64)
    steps = _steps_of(rows, classified.bars, windows)
    return (
        found.with_columns(*_device_work(rows, classified.bars, launches, trace), step=steps["step"])
        .with_columns(offset_ns=pl.col("start_ns") - steps["start_ns"])
        .select(*OCCURRENCES)
        .cast(OCCURRENCES)  # type: ignore[arg-type]
    )


def kernels_of(row: int, classified: Classified, launches: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """The device bars that a bar, or anything below it, launched; by start, then event.

    Args:
        row: Row of ``bars.frame``.
        classified: Bars and their phases.
        launches: The frame of :func:`analysis.trace.flows.launches`.
        trace: What all of this was found in.

    Returns:
        Frame of the columns KERNELS: ``launched_by`` is the innermost operator on the host, ``lag_ns`` the
        time from its start to that of the device bar.
    """
    launched = _launched(np.array([row], np.int64), classified.bars, launches, trace)
    events, hosts = trace.events[launched["event"]], trace.events[launched["host"]]
    return (
        events.with_columns(
            launched["event"],
            launched_by=hosts["name"],
            lag_ns=events["start_ns"] - hosts["start_ns"],
        )
        .sort("start_ns", "event")
        .select(*KERNELS)
        .cast(KERNELS)  # type: ignore[arg-type]
    )


@dataclass(frozen=True, slots=True)
class Why:
    """Why a bar has its phase, or has none."""

    phase: str | None
    rule: str | None
    """Id of the rule that decided; None without a phase."""
    strength: str | None
    """How sure that rule is of its names: one of :data:`analysis.phases.rules.STRENGTHS`."""
    inherited_from: str | None
    """Name of the bar above that the phase is inherited from; None where the bar's own name decided."""
    ignored_rule: str | None
    """Id of the rule that the bar's own name matches, where it claims another phase and the precedence
    (facts/phases.md 2 (4)) does not let it decide."""
    ignored_phase: str | None
    """What that rule claims."""
    wait: bool
    sync: bool
    """Whether it is a call that blocks until the device is done."""
    producer: str | None
    """Of a wait: name of the bar on another thread whose end let it go on."""
    frameworks: tuple[str, ...]
    """Who writes names of the rule that decided."""
    note: str | None
    note_zh: str | None
    """``note`` in Chinese."""
    source: str | None
    """Where that rule is from."""
    user: bool
    """Whether it is one of the user's own."""


def why(classified: Classified, row: int) -> Why:
    """Which rule gave a bar its phase, and which one it had no right to.

    Args:
        classified: Bars and their phases.
        row: Row of ``bars.frame``.
    """
    origin, claim, producer = (
        int(array[row]) for array in (classified.origin, classified.claim, classified.producer)
    )
    decided = _rule(classified, classified.rule_of(row))
    code = int(classified.phase[row])
    phase = PHASES[code] if code >= 0 else None
    own = _rule(classified, claim)
    ignored = own if own and own.phase not in (None, phase) else None
    return Why(
        phase=phase,
        rule=decided.id if decided else None,
        strength=decided.strength if decided else None,
        inherited_from=_name(classified, origin) if origin != row else None,
        ignored_rule=ignored.id if ignored else None,
        ignored_phase=ignored.phase if ignored else None,
        wait=bool(classified.wait[row]),
        sync=bool(classified.sync[row]),
        producer=_name(classified, producer),
        frameworks=decided.frameworks if decided else (),
        note=decided.note if decided else None,
        note_zh=decided.note_zh if decided else None,
        source=decided.source if decided else None,
        user=decided.user if decided else False,
    )


def why_node(tree: StepTree, node: int, classified: Classified) -> Why | None:
    """:func:`why` for the first bar of a node; None for the root and the nodes of threads."""
    rows = np.flatnonzero(tree.node == node)
    if not rows.size:
        return None
    starts = classified.bars.frame["start_ns"].gather(rows).to_numpy()
    return why(classified, int(rows[np.argmin(starts)]))


def _rule(classified: Classified, place: int) -> Rule | None:
    return classified.rules.entries[place] if place >= 0 else None


def _name(classified: Classified, row: int) -> str | None:
    name: str | None = classified.bars.frame["name"][row] if row >= 0 else None
    return name


def _steps_of(rows: Ints, bars: HostBars, windows: Windows) -> pl.DataFrame:
    """The windows that these bars, all of a tree, count for."""
    window = np.empty(bars.frame.height, np.int64)
    window[bars.nesting.bars.rows] = StepCalls.of(bars, windows).window
    return windows.frame[window[rows]]


def _device_work(
    rows: Ints, bars: HostBars, launches: pl.DataFrame, trace: Trace
) -> tuple[pl.Series, pl.Series]:
    """The columns kernels and kernel_ns of these bars."""
    if launches.is_empty():
        nothing = pl.Series("kernels", [None] * rows.size, pl.Int64)
        return nothing, nothing.alias("kernel_ns")
    launched = _launched(rows, bars, launches, trace)
    events = trace.events.select("start_ns", "duration_ns")[launched["event"]]
    counts = np.bincount(launched["at"].to_numpy(), minlength=rows.size)
    spans = union_by(launched["at"], events["start_ns"], events["start_ns"] + events["duration_ns"])
    times = np.zeros(rows.size, np.int64)
    np.add.at(times, spans["group"].to_numpy(), (spans["end_ns"] - spans["start_ns"]).to_numpy())
    return pl.Series("kernels", counts), pl.Series("kernel_ns", times)


def _launched(rows: Ints, bars: HostBars, launches: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Launches by these bars and by what is below them: event, host, and which of the bars (``at``)."""
    order = bars.nesting.bars
    place = np.empty(order.rows.size, np.int64)
    place[order.rows] = np.arange(order.rows.size)
    known = launches.drop_nulls("host").select("event", "host")
    host = _bars_of(known["host"], bars, trace)
    inside = np.flatnonzero(host >= 0)
    inside = inside[np.argsort(place[host[inside]], kind="stable")]
    # Whatever is below a bar stands right behind it.
    hosts, first = place[host[inside]], place[rows]
    low = np.searchsorted(hosts, first)
    count = np.searchsorted(hosts, order.below(first)) - low
    at = np.repeat(np.arange(rows.size), count)
    chosen = np.arange(at.size) - np.repeat(np.cumsum(count) - count, count) + np.repeat(low, count)
    return known.select(pl.all().gather(inside[chosen])).with_columns(at=pl.lit(pl.Series(at)))


def _bars_of(hosts: pl.Series, bars: HostBars, trace: Trace) -> Ints:
    """Row of the bar of each launching event; of one that is no bar, of the bar it runs in, else -1."""
    own = np.full(trace.events.height, -1, np.int64)
    own[bars.frame["event"].to_numpy()] = np.arange(bars.frame.height)
    events = hosts.to_numpy()
    found: Ints = own[events]
    foreign = np.flatnonzero(found < 0)
    points = trace.events.select("track", "start_ns")[events[foreign]]
    found[foreign] = bars.nesting.bars.innermost(points["track"], points["start_ns"])
    return found
