"""Whether work for later batches is started ahead of training, and how far ahead each stage runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from analysis.datafile import load_toml
from analysis.phases.ancestry import nearest
from analysis.phases.batch_index import index_depths, patterns_of
from analysis.phases.model import FORWARD, LOOKUP, PHASES, PREPROCESSING
from analysis.phases.presence import find_presence
from analysis.phases.results import (
    STAGE_DATA,
    STAGE_INPUT_DIST,
    STAGE_LOOKUP,
    STAGES,
    Depth,
    Prefetch,
)
from analysis.phases.worker_items import worker_depths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analysis.phases.model import Classified, Windows
    from analysis.phases.presence import Presence

SINGLE_PROCESS: Final = "single_process"
INSIDE_FORWARD: Final = "inside_forward"
UNSEEN: Final = "unseen"


def find_prefetch(classified: Classified, windows: Windows) -> Prefetch:
    """Whether batches are prepared ahead of training, and how many ahead (spec P5).

    Of each stage the surest evidence counts: a batch index in names, then ends of waits that meet ends of a
    worker's items, then an order of the main thread that leaves no room for working ahead.

    Args:
        classified: The bars.
        windows: The steps.
    """
    index = index_depths(classified, windows)
    presence = find_presence(classified, index.ahead)
    workers = worker_depths(classified, windows)
    found = _single_process(classified, windows) | _inside_forward(classified, windows, presence)
    found |= workers.depths | index.depths
    unseen = {stage: Depth(stage, None, at_least=False, evidence=UNSEEN) for stage in STAGES}
    depths = unseen | found
    ahead = workers.working or any((depth.batches or 0) > 0 for depth in found.values())
    runs_ahead = True if ahead else False if _nothing_ahead(depths) else None
    # Nothing seen is no proof: workers of a loader are other processes, and names of a program are its own.
    seen = presence.events.height > 0 or ahead
    return Prefetch(
        present=True if seen else runs_ahead,
        runs_ahead=runs_ahead,
        events=presence.events,
        depths=tuple(depths[stage] for stage in STAGES),
    )


def _nothing_ahead(depths: Mapping[str, Depth]) -> bool:
    """Whether all that is known says 0, and both the data and what comes of its ids are known."""
    known = {stage: depth for stage, depth in depths.items() if depth.batches is not None}
    return (
        STAGE_DATA in known
        and bool({STAGE_INPUT_DIST, STAGE_LOOKUP} & known.keys())
        and all(depth.batches == 0 and not depth.at_least for depth in known.values())
    )


def _single_process(classified: Classified, windows: Windows) -> dict[str, Depth]:
    """Depth 0 of the data where the loader does all its work on the thread that trains, and no other any."""
    rule: dict[str, Any] = load_toml("analysis.phases", "prefetch.toml")["single_process"]
    bars = classified.bars
    distinct = bars.frame["name"].unique().drop_nulls()
    texts = distinct.cast(pl.String)
    loaders = distinct.filter(texts.str.contains(rule["pattern"]))
    rows = bars.frame["name"].is_in(loaders.implode()).fill_null(value=False).arg_true().to_numpy()
    elsewhere = (bars.frame["track"] != windows.main_track).to_numpy()
    others_load = classified.phase[elsewhere] == PHASES.index(PREPROCESSING)
    if not rows.size or elsewhere[rows].any() or others_load.any():
        return {}
    pipeline = distinct.filter(texts.str.contains(rule["not_under"]))
    ranges = bars.frame["name"].is_in(pipeline.implode()).fill_null(value=False).to_numpy()
    if (nearest(ranges, bars.nesting.parent)[rows] >= 0).any():
        return {}
    names = tuple(loaders.cast(pl.String).sort())
    return {STAGE_DATA: Depth(STAGE_DATA, 0, at_least=False, evidence=SINGLE_PROCESS, names=names)}


def _inside_forward(classified: Classified, windows: Windows, presence: Presence) -> dict[str, Depth]:
    """Depth 0 of lookup and id exchange where forward holds all of them, and none speaks of prefetching."""
    bars = classified.bars
    lookup = classified.phase == PHASES.index(LOOKUP)
    inside = windows.at(bars.frame["start_ns"]).is_not_null().to_numpy()
    rows = np.flatnonzero(lookup & inside)
    ahead = np.isin(rows, presence.rows.to_numpy())
    elsewhere = bars.frame["track"].to_numpy()[rows] != windows.main_track
    if not rows.size or ahead.any() or elsewhere.any():
        return {}
    forward = classified.phase == PHASES.index(FORWARD)
    if (nearest(forward, bars.nesting.parent)[rows] < 0).any():
        return {}
    names = _longest(bars.frame[np.unique(classified.origin[rows])])
    return {
        stage: Depth(stage, 0, at_least=False, evidence=INSIDE_FORWARD, names=names)
        for stage in (STAGE_INPUT_DIST, STAGE_LOOKUP)
    }


def _longest(bars: pl.DataFrame) -> tuple[str, ...]:
    """Patterns of the names that take most of the time, by time, then name."""
    rule: dict[str, Any] = load_toml("analysis.phases", "prefetch.toml")["names"]
    times = bars.join(patterns_of(bars["name"]), on="name").group_by("pattern").agg(pl.sum("duration_ns"))
    return tuple(times.sort("duration_ns", "pattern", descending=[True, False])["pattern"].head(rule["most"]))
