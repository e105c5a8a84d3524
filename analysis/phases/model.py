"""Words and shapes of the phase analysis: what classification, attribution, trees and asynchrony hand on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from analysis.host_bars import HostBars
    from analysis.notes import Note
    from analysis.phases.rules import Rules
    from analysis.trace.nesting import Ints

    Codes: TypeAlias = "NDArray[np.int8]"

PREPROCESSING: Final = "data_preprocessing"
LOOKUP: Final = "embedding_lookup"
FORWARD: Final = "forward"
BACKWARD: Final = "backward"
EMBEDDING_UPDATE: Final = "embedding_update"
DENSE_UPDATE: Final = "dense_update"
UNCLASSIFIED: Final = "unclassified"

PHASES: Final = (PREPROCESSING, LOOKUP, FORWARD, BACKWARD, EMBEDDING_UPDATE, DENSE_UPDATE)
"""The six phases of a training step in their order; a phase's *code* is its place here, -1 is no phase."""

ROWS: Final = (*PHASES, UNCLASSIFIED)
"""The rows of a phase table."""

LETTERS: Final = {
    PREPROCESSING: "P",
    LOOKUP: "L",
    FORWARD: "F",
    BACKWARD: "B",
    EMBEDDING_UPDATE: "E",
    DENSE_UPDATE: "D",
    UNCLASSIFIED: "·",
}
"""What stands for a phase where there is no room for its name."""

PAIRS: Final = ((PREPROCESSING, LOOKUP), (EMBEDDING_UPDATE, DENSE_UPDATE))
"""Phases that need nothing of each other and may run side by side (spec P4)."""

WINDOWS: Final = {
    "step": pl.Int64(),
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
    "excluded": pl.Boolean(),
}
"""Columns of :attr:`Windows.frame`."""


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """The stretches of the main thread that phases are cut by."""

    frame: pl.DataFrame
    """step (null for the whole trace), start_ns, end_ns, excluded (the compile step and those of ``lossy``,
    which averages leave out); by start, columns WINDOWS. Windows do not overlap."""
    main_track: int
    """The thread that holds the steps; without steps the one with the most operators."""
    whole_trace: bool
    """True where no step is marked: then everything recorded on the main thread is one window."""
    cut: bool = False
    """Whether the file of the trace was cut short."""
    lossy: tuple[int, ...] = ()
    """Steps that may have lost bars to that; none where they cannot be told from the others."""
    doubts: tuple[Note, ...] = ()
    """What else to know before numbers of steps are read: marks that contradict each other, nameless bars."""

    def places(self, moments_ns: Ints) -> Ints:
        """Place in ``frame`` of the window that holds each moment, -1 where none does."""
        start, end = (self.frame[name].to_numpy() for name in ("start_ns", "end_ns"))
        place = np.searchsorted(start, moments_ns, side="right") - 1
        held = (place >= 0) & (moments_ns < end[np.maximum(place, 0)])
        return np.where(held, place, -1)

    def at(self, moments_ns: pl.Series) -> pl.Series:
        """The same as a column ``window``, null where no window holds the moment (no nulls)."""
        place = pl.Series("window", self.places(moments_ns.to_numpy()), pl.Int64)
        return place.set(place < 0, None)

    @property
    def averaged(self) -> pl.DataFrame:
        """The windows that averages are made of."""
        return self.frame.filter(~pl.col("excluded"))

    @property
    def compile_steps(self) -> tuple[int, ...]:
        """The steps that averages leave out because they compiled."""
        return tuple(step for step in self.frame.filter("excluded")["step"] if step not in self.lossy)


@dataclass(frozen=True, slots=True, eq=False)
class Classified:
    """Which phase every host bar belongs to, and why. Arrays are aligned with the rows of ``bars.frame``."""

    bars: HostBars
    rules: Rules
    phase: Codes
    """Code of the phase, -1 without one."""
    origin: Ints
    """Row of the bar whose name decided the phase: the bar itself, or the one it inherits from; -1 without
    a phase."""
    claim: Ints
    """Place in ``rules.entries`` of the rule that the bar's own name matches, whether or not it may decide
    (precedence: facts/phases.md 2 (4)); -1 if none does."""
    wait: NDArray[np.bool_]
    """Whether the bar is a wait by its rule; its phase stays."""
    producer: Ints
    """Of a wait the row of the bar on another thread whose end let it go on; -1 if none was seen."""
    sync: NDArray[np.bool_]
    """Whether the bar is a call that blocks until the device is done (aten::item, synchronize …)."""
    in_wait: NDArray[np.bool_]
    """Whether the bar is a wait or lies in one."""
    in_sync: NDArray[np.bool_]
    """Whether the bar is such a call or lies in one."""
    in_calls_ns: Ints | None = None
    """How long the bar itself is blocked in synchronising calls of the runtime, which are no bars
    (:func:`analysis.phases.device_calls.blocked_in_calls`); None where nobody looked for them."""

    def rule_of(self, row: int) -> int:
        """Place in ``rules.entries`` of the rule that decided the phase of a bar, -1 without a phase."""
        return int(self.claim[self.origin[row]]) if self.origin[row] >= 0 else -1


SLICES: Final = {
    "track": pl.UInt32(),
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
    "bar": pl.Int64(),
    "phase": pl.Int8(),
    "waiting": pl.Boolean(),
    "syncing": pl.Boolean(),
    "window": pl.Int64(),
}
"""Columns of :func:`analysis.phases.slices.slices`: the time of every thread, cut so that each piece has one
innermost bar (its row; -1 where none is open) and lies in one window (its place in ``Windows.frame``; -1
outside of all). ``phase`` is that bar's code, ``waiting`` and ``syncing`` say whether a wait or a device sync
is open there, at whatever depth. Pieces of a thread do not overlap and stand by track, then start."""

STEP_PHASES: Final = {
    "step": pl.Int64(),
    "excluded": pl.Boolean(),
    "phase": pl.String(),
    "main_thread_ns": pl.Int64(),
    "attributed_ns": pl.Int64(),
    "share": pl.Float64(),
    "inferred_ns": pl.Int64(),
    "autograd_ns": pl.Int64(),
    "other_threads_ns": pl.Int64(),
}
"""Columns of :attr:`PhaseTimes.by_step`."""

REMAINDER: Final = {
    "step": pl.Int64(),
    "excluded": pl.Boolean(),
    "step_ns": pl.Int64(),
    "device_sync_ns": pl.Int64(),
    "named_ns": pl.Int64(),
    "no_event_ns": pl.Int64(),
    "sync_anywhere_ns": pl.Int64(),
}
"""Columns of :attr:`PhaseTimes.steps`."""

NAMED: Final = {"step": pl.Int64(), "name": pl.String(), "calls": pl.Int64(), "exclusive_ns": pl.Int64()}
"""Columns of :attr:`PhaseTimes.named`."""


@dataclass(frozen=True, slots=True, eq=False)
class PhaseTimes:
    """What each phase takes of each step on the host (spec P1). Every table sums up to the step."""

    by_step: pl.DataFrame
    """Seven rows a step, in the order of ROWS; columns STEP_PHASES. The numbers of a phase that no name in
    the whole trace tells are null, those of one that a step lacks are 0. ``main_thread_ns`` is the main
    thread's time in the phase, a backward pass it leaves no trace of included (``inferred_ns`` of it);
    ``attributed_ns`` splits what it delegates to the autograd thread by what that one does; ``share`` is
    attributed / step. ``autograd_ns`` and ``other_threads_ns`` are time of those threads in the phase inside
    the step, waits left out on the others: they run beside the main thread and are never added to it."""
    steps: pl.DataFrame
    """One row a step, columns REMAINDER: its duration, and the parts of its unclassified row: the main thread
    blocked until the device is done, inside named but unknown bars, under no bar at all (Python, or waiting
    for the GIL). ``sync_anywhere_ns`` is all time of the step in device syncs, that of phases included."""
    named: pl.DataFrame
    """Names of the part ``named_ns`` by exclusive time, the largest five of each step; columns NAMED."""
    mean: pl.DataFrame
    """The seven rows as means over the averaged steps; columns of ``by_step`` without step and excluded."""
    mean_remainder: dict[str, int]
    """Means of step_ns and of the parts; those of the parts sum to the mean of the unclassified row."""
    mean_named: pl.DataFrame
    """The five largest names over all averaged steps: name, calls (Float64, a step), exclusive_ns (mean)."""
    confidence: str
    """``low`` where more than a fifth of the averaged steps is unclassified (spec P1), else ``high``."""
    fused_update: bool
    """Whether the backward pass itself writes embedding tables: then the update has no host phase of its
    own, and splitting it off is nothing to advise (facts/phases.md 2 (5))."""
    tied_backward: int
    """fwdbwd arrows from a forward operator to its backward one; 0 where the trace has none."""
    misplaced_backward: int
    """Those whose backward operator starts in another step than the forward one."""
