"""How far ahead worker threads run, read from the waits of the main thread that they end."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import polars as pl

from analysis.datafile import load_toml
from analysis.phases.batch_index import patterns_of
from analysis.phases.model import LOOKUP, PHASES, PREPROCESSING
from analysis.phases.results import STAGE_DATA, STAGE_LOOKUP, Depth
from analysis.trace.model import PYTHON_OTHER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analysis.phases.model import Classified, Windows
    from analysis.trace.nesting import Ints

FIFO: Final = "fifo"
CHAINED: Final = "chained"
NEVER_BLOCKS: Final = "never_blocks"

_STAGES: Final = ((PREPROCESSING, STAGE_DATA), (LOOKUP, STAGE_LOOKUP))
"""Phases that work for later batches, and the stage a worker's item of that phase is."""


class WorkerDepths(NamedTuple):
    """What the threads beside the main one tell."""

    working: bool
    """Whether any of them prepares batches."""
    depths: dict[str, Depth]
    """By stage; stages that no such thread works on are not there."""


@dataclass(frozen=True, slots=True)
class _Items:
    """Items of work of one phase on worker threads, by start, then row."""

    start: Ints
    end: Ints
    number: Ints
    """How many came before: the place in the queue."""
    window: Ints
    """Place of the window that was open at the start, or the last one before; 0 before the first."""
    pattern: pl.Series


@dataclass(frozen=True, slots=True)
class _Waits:
    """Waits of the main thread for one phase inside of steps, by start, then row."""

    end: Ints
    window: Ints
    blocked: Ints
    """Places of those that were long."""
    pattern: pl.Series


def worker_depths(classified: Classified, windows: Windows) -> WorkerDepths:
    """The depth of stages that worker threads do, without a batch index (facts/phases.md 3 (c)).

    An item is a bar at the top of a worker thread. A blocked wait of the main thread ends with the item that
    it waited for, so that this item belongs to the wait's window. Workers take their work in turn: the n-th
    item was handed over in the n-th window or before it began, hence depth = window of the wait - the smaller
    of n and the window in which the item began, max over waits. Items that were waiting in line when the
    trace began make n too large, so it is a lower bound. Where items of one worker begin as those of another
    end, the other is ahead of the first by the difference of their numbers.

    Args:
        classified: The bars.
        windows: The steps.
    """
    items = {phase: _items(classified, windows, phase) for phase, _ in _STAGES}
    waits = {phase: _waits(classified, windows, phase) for phase, _ in _STAGES}
    depths = {} if windows.whole_trace else _fifo_depths(items, waits)
    return WorkerDepths(
        any(own.start.size for own in items.values()),
        _unblocked(items, waits) | _chained(items, depths) | depths,
    )


def _fifo_depths(items: Mapping[str, _Items], waits: Mapping[str, _Waits]) -> dict[str, Depth]:
    """Stages whose items let blocked waits go on."""
    found = ((stage, _met_waits(items[phase], waits[phase])) for phase, stage in _STAGES)
    return {
        stage: Depth(stage, met.batches, at_least=True, evidence=FIFO, names=met.names)
        for stage, met in found
        if met is not None
    }


def _chained(items: Mapping[str, _Items], depths: Mapping[str, Depth]) -> dict[str, Depth]:
    """Stages whose items let those of a stage of known depth begin."""
    found: dict[str, Depth] = {}
    for (phase, stage), (behind_phase, behind_stage) in permutations(_STAGES):
        behind = depths.get(behind_stage)
        met = _met_starts(items[phase], items[behind_phase])
        if behind is not None and behind.batches is not None and met is not None and met.batches >= 0:
            batches = behind.batches + met.batches
            found[stage] = Depth(stage, batches, at_least=True, evidence=CHAINED, names=met.names)
    return found


def _unblocked(items: Mapping[str, _Items], waits: Mapping[str, _Waits]) -> dict[str, Depth]:
    """Stages that workers do, and that the main thread never had to wait long for."""
    if not any(own.end.size for own in waits.values()):
        return {}
    return {
        stage: Depth(stage, None, at_least=False, evidence=NEVER_BLOCKS, names=_most(items[phase].pattern))
        for phase, stage in _STAGES
        if items[phase].start.size and not waits[phase].blocked.size
    }


class _Met(NamedTuple):
    """Ends that met, and what follows."""

    batches: int
    names: tuple[str, ...]


def _items(classified: Classified, windows: Windows, phase: str) -> _Items:
    """The items of a phase.

    Those of one thread are one queue, and so are those of one name, which several threads may share.
    """
    own = pl.Series(classified.phase == PHASES.index(phase))
    bars = _bars(classified, own & (classified.bars.frame["role"] == PYTHON_OTHER), top=True)
    place = pl.int_range(pl.len(), dtype=pl.Int64)
    before = place.over("track") + place.over("pattern") - place.over("track", "pattern")
    starts = windows.frame["start_ns"].to_numpy()
    start = bars["start_ns"].to_numpy()
    return _Items(
        start=start,
        end=bars["end_ns"].to_numpy(),
        number=bars.select(before.alias("number"))["number"].to_numpy(),
        window=np.maximum(np.searchsorted(starts, start, side="right") - 1, 0),
        pattern=bars["pattern"],
    )


def _waits(classified: Classified, windows: Windows, phase: str) -> _Waits:
    rule: dict[str, Any] = load_toml("analysis.phases", "prefetch.toml")["blocked"]
    own = pl.Series(classified.wait & (classified.phase == PHASES.index(phase)))
    bars = _bars(classified, own & (classified.bars.frame["track"] == windows.main_track), top=False)
    bars = bars.with_columns(windows.at(bars["start_ns"])).drop_nulls("window")
    blocked = bars["end_ns"] - bars["start_ns"] >= rule["at_least_ns"]
    return _Waits(
        end=bars["end_ns"].to_numpy(),
        window=bars["window"].to_numpy(),
        blocked=np.flatnonzero(blocked.to_numpy()),
        pattern=bars["pattern"],
    )


def _bars(classified: Classified, wanted: pl.Series, *, top: bool) -> pl.DataFrame:
    """The wanted bars: track, start_ns, end_ns, pattern; by start, then row."""
    frame = classified.bars.frame.select("track", "name", "start_ns", "duration_ns", "depth")
    frame = frame.with_row_index("row").filter(wanted)
    if top:
        frame = frame.filter(pl.col("depth") == 0)
    return (
        frame.join(patterns_of(frame["name"]), on="name")
        .sort("start_ns", "row")
        .select("track", "start_ns", (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns"), "pattern")
    )


def _met_waits(items: _Items, waits: _Waits) -> _Met | None:
    """How far ahead of the blocked waits the items began that those waited for; None if none was seen."""
    wait, item = _near(waits.end[waits.blocked], items.end, after=False)
    if not item.size:
        return None
    wait = waits.blocked[wait]
    ahead = waits.window[wait] - np.minimum(items.number[item], items.window[item])
    return _farthest(ahead, (waits.pattern.gather(wait), items.pattern.gather(item)))


def _met_starts(first: _Items, second: _Items) -> _Met | None:
    """How far the first items are ahead of the second ones that begin as they end; None if none does.

    A worker hands over its result before its own bar ends, so the other may begin just before that.
    """
    later, earlier = _near(second.start, first.end, after=True)
    if not later.size:
        return None
    ahead = second.number[later] - first.number[earlier]
    return _farthest(ahead, (first.pattern.gather(earlier), second.pattern.gather(later)))


def _farthest(ahead: Ints, patterns: tuple[pl.Series, pl.Series]) -> _Met:
    """The largest difference, and the names of both sides that it was found with."""
    shown = ahead == ahead.max()
    return _Met(int(ahead.max()), tuple(name for side in patterns for name in _most(side.filter(shown))))


def _near(moments: Ints, ends: Ints, *, after: bool) -> tuple[Ints, Ints]:
    """Moments that an end is near, and that end: the last one not after the moment, else the next one.

    Args:
        moments: When something begins or ends.
        ends: When items end, in any order.
        after: Whether an end after the moment counts as well.
    """
    rule: dict[str, Any] = load_toml("analysis.phases", "phases.toml")["producer"]
    if not ends.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    order = np.argsort(ends, kind="stable")
    following = np.searchsorted(ends[order], moments, side="right")
    last, coming = order[np.maximum(following - 1, 0)], order[np.minimum(following, ends.size - 1)]
    met = (following > 0) & (moments - ends[last] <= rule["within_ns"])
    comes = ~met & after & (following < ends.size) & (ends[coming] - moments <= rule["within_ns"])
    found = np.flatnonzero(met | comes)
    return found, np.where(met, last, coming)[found]


def _most(patterns: pl.Series) -> tuple[str, ...]:
    """The patterns that occur most often, by count, then name."""
    rule: dict[str, Any] = load_toml("analysis.phases", "prefetch.toml")["names"]
    counts = patterns.alias("pattern").value_counts().sort("count", "pattern", descending=[True, False])
    return tuple(counts["pattern"].head(rule["most"]))
