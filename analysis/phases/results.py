"""What the phase analysis hands to report and panes: trees, waits, pairs, prefetch, steps side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analysis.phases.model import Classified, PhaseTimes, Windows
    from analysis.trace.nesting import Ints

TREE: Final = {
    "node": pl.Int64(),
    "parent": pl.Int64(),
    "depth": pl.UInt32(),
    "children": pl.Int64(),
    "name": pl.String(),
    "thread": pl.String(),
    "role": pl.String(),
    "phase": pl.String(),
    "rule": pl.String(),
    "origin": pl.String(),
    "calls": pl.Int64(),
    "calls_per_step": pl.Float64(),
    "total_ns": pl.Int64(),
    "self_ns": pl.Int64(),
    "avg_ns": pl.Int64(),
    "max_ns": pl.Int64(),
    "share": pl.Float64(),
    "blocked_ns": pl.Int64(),
    "star": pl.String(),
    "verdict": pl.String(),
    "first_start_ns": pl.Int64(),
}
"""Columns of :attr:`StepTree.nodes`."""


@dataclass(frozen=True, slots=True, eq=False)
class StepTree:
    """Host bars of a step merged by name under their parent (spec P2), or of all averaged steps (P3)."""

    nodes: pl.DataFrame
    """One row per node, the root (``ProfilerStep#N``, or the whole trace) first, then depth first with
    siblings in the order of the tree: P2 by first start, threads other than the main one below a node each,
    behind the main thread's; P3 by total descending, then name, threads side by side. Columns TREE:

    ``node`` the row, ``parent`` that of its parent (-1 for the root), ``children`` how many it has; ``name``
    (P3: batch indices as ``{i}``; a thread node of P2 has the name of the thread); ``thread`` and ``role``;
    ``phase`` (null without one), ``rule`` (id of the rule that decided it, null without), ``origin`` (name of
    the bar it was inherited from, null where its own name decided); ``calls``; ``calls_per_step``;
    ``total_ns``, ``self_ns`` (P3 over several steps: means per step, rounded half up), ``avg_ns`` of a call,
    ``max_ns`` of a call; ``share`` = total / step; ``blocked_ns`` of the total, in waits and device
    syncs that are the node itself or calls of the runtime right below it (0 inside of such ones; rounded as
    the total); ``star`` why it is a bottleneck: wait, sync, self or null;
    ``verdict`` of the phase's pair where the node is the root of a phase, else null; ``first_start_ns``
    (relative to the step; null over several steps)."""
    node: Ints
    """Node of every row of ``bars.frame``, -1 for a bar outside of the tree."""
    step: int | None
    """Which step; None for the mean over the averaged steps, or the whole trace."""
    steps: int
    """How many steps it is made of."""


WAITS: Final = {
    "name": pl.String(),
    "phase": pl.String(),
    "count": pl.Int64(),
    "total_ns": pl.Int64(),
    "per_step_ns": pl.Int64(),
    "max_ns": pl.Int64(),
    "share": pl.Float64(),
    "producer": pl.String(),
    "flagged": pl.Boolean(),
}
"""Columns of :attr:`Waits.by_name`."""

WAITS_BY_STEP: Final = {
    "step": pl.Int64(),
    "excluded": pl.Boolean(),
    "name": pl.String(),
    "phase": pl.String(),
    "count": pl.Int64(),
    "total_ns": pl.Int64(),
    "share": pl.Float64(),
    "producer": pl.String(),
    "flagged": pl.Boolean(),
}
"""Columns of :attr:`Waits.by_step`."""


@dataclass(frozen=True, slots=True, eq=False)
class Waits:
    """Waits of the main thread: what it stands still for (facts/phases.md 2 (7)).

    A wait inside another one counts with the outer one only.
    """

    by_name: pl.DataFrame
    """Over all steps, the compile step left out: name (batch indices as ``{i}``), phase (of most of its time;
    null where what it waits for is unknown), count, total_ns, per_step_ns, max_ns, share (of the steps'
    time), producer (the bar of another thread that it waited for, by most of its time; null if none was
    seen), flagged (any averaged step is); by total descending, then name."""
    by_step: pl.DataFrame
    """The same per step and name, every step: flagged above 50 ms or 5 % of the step (spec P5); by step, then
    total descending, then name."""
    per_step_ns: Mapping[int | None, int]
    """All waits of each step."""
    synced_ns: Mapping[str, int]
    """Of the waits of ``by_name`` that are blocked on the device meanwhile, how long they are so a step: that
    time is in ``device_syncs`` too."""
    device_syncs: pl.DataFrame
    """Main thread blocked until the device is done, by name of the outermost call and phase: columns of
    ``by_name`` (producer null)."""
    syncs_by_step: pl.DataFrame
    """The same per step, every step: columns of ``by_step``; by step, then total descending, name, phase."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Whether two phases that need nothing of each other run side by side (spec P4)."""

    phases: tuple[str, str]
    verdict: str
    """``threads``, ``streams``, ``serial`` or ``not_observable``."""
    host_ratio: float | None
    """Time both work on different threads at once / shorter side; waiting for another thread is no work, a
    device sync is. None where a side has no host time, or cannot be told from backward (fused update)."""
    device_ratio: float | None
    """The same of device work tied to the phases. None where a side has none, and where the file is cut short
    and may have lost some."""
    host_ns: tuple[int, int]
    """Host time of each side over the whole trace, union over threads, waits left out."""
    device_ns: tuple[int, int] | None
    """Device time of each side over the whole trace, union over streams. None where the file is cut short."""
    hideable_ns: int | None
    """What side by side could hide of the mean step at most: the work of the shorter side on the host without
    device syncs, or on the device where that is more. None where the device is not known."""
    unobservable: str | None
    """Why nothing can be said: ``host`` (a side has no events, or the sides were seen in different places),
    ``device`` (no device work at all is tied to the host), ``cut`` (the file is cut short and may have lost
    device work), or None."""

    @property
    def at_stake_ns(self) -> int:
        """What is known that side by side could hide: nothing where the device is not known."""
        return self.hideable_ns or 0


STAGE_DATA: Final = "data"
STAGE_INPUT_DIST: Final = "input_dist"
STAGE_DIST_WAIT: Final = "dist_wait"
STAGE_LOOKUP: Final = "lookup"
STAGES: Final = (STAGE_DATA, STAGE_INPUT_DIST, STAGE_DIST_WAIT, STAGE_LOOKUP)
"""Stages of a batch on its way to training, in their order."""


@dataclass(frozen=True, slots=True)
class Depth:
    """How many batches ahead of training one stage works."""

    stage: str
    """One of STAGES."""
    batches: int | None
    """None where the trace cannot tell."""
    at_least: bool
    """True where ``batches`` is a lower bound only."""
    evidence: str
    """Message ``depth.<evidence>``: index (batch index in names), index_gap (index of two stages, none in
    training), fifo (end of a wait meets end of a worker's item), chained (start of one worker's item meets
    the end of another's), single_process (the loader runs on the main thread), inside_forward (the lookup
    runs inside forward), never_blocks (no wait ever blocks: at least enough), unseen (nothing tells)."""
    names: tuple[str, ...] = ()
    """Patterns of the names it was read from."""
    behind: str | None = None
    """With index_gap the stage it was compared with."""


EVENTS: Final = {
    "name": pl.String(),
    "why": pl.String(),
    "count": pl.Int64(),
    "total_ns": pl.Int64(),
    "thread": pl.String(),
}
"""Columns of :attr:`Prefetch.events`."""


@dataclass(frozen=True, slots=True, eq=False)
class Prefetch:
    """Whether work for later batches is started ahead, and how far (spec P5)."""

    present: bool | None
    """False only where what is known of the data and of its ids shows that nothing is started ahead; None
    where nothing speaks of prefetching, and nothing shows that there is none."""
    runs_ahead: bool | None
    """Whether anything is seen to work ahead: a batch index, a worker thread, a depth above 0; None where
    only names speak of prefetching."""
    events: pl.DataFrame
    """Names that speak of it: name (indices as ``{i}``), why (id of the pattern), count, total_ns, thread;
    by total descending, then name."""
    depths: tuple[Depth, ...]
    """One per stage, in the order of STAGES."""

    @property
    def nearest(self) -> Depth | None:
        """The stage that works least far ahead, of those that can be told; of equal ones the first."""
        known = [depth for depth in self.depths if depth.batches is not None]
        return min(known, key=lambda depth: depth.batches or 0, default=None)

    @property
    def depth(self) -> int | None:
        """The smallest depth observed over the stages (facts.md: prefetch_depth)."""
        return None if self.nearest is None else self.nearest.batches


@dataclass(frozen=True, slots=True)
class Growth:
    """What one step spends more on than the others do."""

    kind: str
    """``phase`` (a row of the phase table), ``name`` (exclusive time of a name on the main thread) or ``gap``
    (time of the main thread without any event)."""
    name: str
    phase: str | None
    ns: int
    others_ns: int
    """Mean over the other averaged steps."""

    @property
    def grown_ns(self) -> int:
        """How much more."""
        return self.ns - self.others_ns


@dataclass(frozen=True, slots=True)
class Variation:
    """The averaged steps side by side (spec P6); only where there are at least two."""

    spread: float
    """(longest - shortest) / mean."""
    flagged: bool
    """Whether the slowest one stands out from the median (limit in phases.toml)."""
    median_ns: int
    slowest: int | None
    slowest_ns: int
    others_ns: int
    """Mean of the other averaged steps, without those of ``short``."""
    short: tuple[tuple[int, int], ...]
    """Steps that stand out for taking little, and their time: they pull the means down."""
    phases: tuple[Growth, ...]
    """The rows of the phase table that are known, by growth descending."""
    names: tuple[Growth, ...]
    """Names and gaps that grew, by growth descending, at most five."""


@dataclass(frozen=True, slots=True, eq=False)
class Phases:
    """Everything about the phases of one capture but the trees, which are built when asked for."""

    windows: Windows
    classified: Classified
    times: PhaseTimes
    waits: Waits
    pairs: tuple[Pair, ...]
    """In the order of PAIRS."""
    prefetch: Prefetch
    variation: Variation | None

    def pair_of(self, phase: str) -> Pair | None:
        """The pair a phase belongs to."""
        return next((pair for pair in self.pairs if phase in pair.phases), None)
