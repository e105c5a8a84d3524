"""Which phase every host bar belongs to: what its name claims, and what the bars above it let it be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from analysis.datafile import load_toml
from analysis.phases.ancestry import by_level, inside, nearest
from analysis.phases.model import (
    BACKWARD,
    DENSE_UPDATE,
    EMBEDDING_UPDATE,
    FORWARD,
    LOOKUP,
    PHASES,
    Classified,
)
from analysis.trace.intervals import Intervals
from analysis.trace.model import PYTHON_OTHER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from analysis.host_bars import HostBars
    from analysis.phases.model import Codes, Windows
    from analysis.phases.rules import Rule, Rules
    from analysis.trace.nesting import Flags, Ints


_REFINEMENTS: Final = (
    (FORWARD, LOOKUP),
    (BACKWARD, EMBEDDING_UPDATE),
    (BACKWARD, DENSE_UPDATE),
    (DENSE_UPDATE, EMBEDDING_UPDATE),
)
"""A bar of the first phase, and what a bar inside it may be instead (facts/phases.md 2 (4))."""


def classify(bars: HostBars, rules: Rules, windows: Windows) -> Classified:
    """The phase of every bar with the reason for it (facts/phases.md 2).

    A bar inherits the phase of its parent; where that has none, its own name decides. Its name may also
    decide for one of the four allowed refinements, such as a lookup inside forward. A wait whose name says
    nothing (``future.result``) claims the phase of the bar on another thread that ends just before it.

    Args:
        bars: Operators and ranges.
        rules: What names claim.
        windows: The steps: a loader's ``__next__`` counts as a wait where it is long against them.
    """
    claim, sync = _claims(bars, rules)
    claim = _kept(claim, bars, rules)
    wait = _waits(claim, bars, rules, windows)
    claimed = _codes(rules)[claim]
    phase, origin = _resolved(claimed, bars)
    producer = _producers(wait, claimed, phase, bars)
    nameless = np.flatnonzero(wait & (claimed < 0) & (producer >= 0))
    claimed[nameless] = phase[producer[nameless]]
    if nameless.size:
        phase, origin = _resolved(claimed, bars)
    return Classified(
        bars=bars,
        rules=rules,
        phase=phase,
        origin=origin,
        claim=claim,
        wait=wait,
        producer=producer,
        sync=sync,
        in_wait=inside(wait, bars.nesting.parent),
        in_sync=inside(sync, bars.nesting.parent),
    )


def _claims(bars: HostBars, rules: Rules) -> tuple[Ints, Flags]:
    """Rule that each bar's name matches, and whether the name is that of a device sync."""
    names = bars.frame["name"]
    distinct = names.unique(maintain_order=True)
    texts = distinct.cast(pl.String)
    told = pl.DataFrame({"name": distinct, "claim": rules.matches(texts), "sync": rules.syncs(texts)})
    found = names.to_frame().join(told, on="name", how="left", nulls_equal=True, maintain_order="left")
    return found["claim"].to_numpy().astype(np.int64), found["sync"].to_numpy().astype(np.bool_)


def _kept(claim: Ints, bars: HostBars, rules: Rules) -> Ints:
    """The claims without those that need a certain bar inside and have none."""
    for place, rule in enumerate(rules.entries):
        if rule.holds is None:
            continue
        wanting = np.flatnonzero(claim == place)
        if not wanting.size:
            continue
        names = bars.frame["name"]
        distinct = names.unique().drop_nulls()
        sought = distinct.filter(distinct.cast(pl.String).str.contains(rule.holds))
        inside = names.is_in(sought.implode()).fill_null(value=False).to_numpy()
        candidate = np.zeros(claim.size, np.bool_)
        candidate[wanting] = True
        holders = nearest(candidate, bars.nesting.parent)[inside]
        empty = np.setdiff1d(wanting, holders)
        claim = claim.copy()
        claim[empty] = -1
    return claim


def _waits(claim: Ints, bars: HostBars, rules: Rules, windows: Windows) -> Flags:
    """Whether each bar is a wait; those that are so only if long are judged name by name."""
    kinds = np.array([*(rule.wait for rule in rules.entries), "no"])
    doubtful = np.flatnonzero((kinds == "if_long")[claim])
    waits: Flags = (kinds == "yes")[claim]
    waits[doubtful] = _long(bars.frame.select("name", "duration_ns", "step")[doubtful], windows)
    return waits


def _long(calls: pl.DataFrame, windows: Windows) -> Flags:
    """Whether the calls of each name take much of the steps together, or one of them takes very long.

    One answer for all calls of a name: those of a short step alone would tell less than the thread waits.
    """
    limits = _limits("waits")
    whole_ns = int((windows.frame["end_ns"] - windows.frame["start_ns"]).sum())
    inside = pl.lit(value=True) if windows.whole_trace else pl.col("step").is_not_null()
    sums = calls.select(
        total=pl.col("duration_ns").filter(inside).sum().over("name"),
        longest=pl.col("duration_ns").max().over("name"),
    )
    much = sums["total"].to_numpy() > limits["share_above"] * whole_ns
    long: Flags = much | (sums["longest"].to_numpy() > limits["ns_above"])
    return long


def _codes(rules: Rules) -> Codes:
    """Code of the phase that each rule claims; the last is for names without a rule, whose place is -1."""
    return np.array([*map(_code, rules.entries), -1], np.int8)


def _code(rule: Rule) -> int:
    return PHASES.index(rule.phase) if rule.phase in PHASES else -1


def _resolved(claimed: Codes, bars: HostBars) -> tuple[Codes, Ints]:
    """Phase of every bar and the row that decided it, from the top of each thread down."""
    parent = bars.nesting.parent
    has_claim = claimed >= 0
    holder = nearest(has_claim, parent)
    phase = np.full(claimed.size, -1, np.int8)
    origin = np.full(claimed.size, -1, np.int64)
    allowed = _allowed()
    for rows in by_level(np.flatnonzero(has_claim), bars.nesting.depth):
        over = parent[rows]
        above = np.where(over >= 0, holder[over], -1)
        inherited = np.where(above >= 0, phase[above], -1)
        own = (inherited < 0) | allowed[inherited, claimed[rows]]
        phase[rows] = np.where(own, claimed[rows], inherited)
        origin[rows] = np.where(own, rows, origin[above])
    below = np.flatnonzero(~has_claim & (holder >= 0))
    phase[below], origin[below] = phase[holder[below]], origin[holder[below]]
    return phase, origin


def _allowed() -> NDArray[np.bool_]:
    """Whether a bar of the second phase may be one inside the first."""
    allowed = np.zeros((len(PHASES), len(PHASES)), np.bool_)
    for outer, inner in _REFINEMENTS:
        allowed[PHASES.index(outer), PHASES.index(inner)] = True
    return allowed


@dataclass(frozen=True, slots=True)
class _Ends:
    """Ends of the bars of worker threads, in order; of equal ones the outermost bar comes last.

    Of several threads the one that lasts longest, then the first by name: nothing depends on the order of the
    file.
    """

    time: Ints
    row: Ints

    @classmethod
    def of(cls, rows: Ints, bars: HostBars, phase: Codes) -> _Ends:
        frame = bars.frame.select("name", "start_ns", "duration_ns")[rows]
        time = (frame["start_ns"] + frame["duration_ns"]).to_numpy()
        duration, rank = frame["duration_ns"].to_numpy(), _ranks(frame["name"])
        order = np.lexsort((-phase[rows], -rank, duration, -bars.nesting.depth[rows], time))
        return cls(time[order], rows[order])

    def before(self, moments: Ints, within_ns: int) -> Ints:
        """Row of the last one at or before each moment, -1 where it is further away than that."""
        place = np.searchsorted(self.time, moments, side="right") - 1
        near = place >= 0
        near[near] = moments[near] - self.time[place[near]] <= within_ns
        return np.where(near, self.row[place], -1) if self.row.size else place


def _producers(wait: Flags, claimed: Codes, phase: Codes, bars: HostBars) -> Ints:
    """Of every wait the bar of a worker thread whose end let it go on (facts/phases.md 2 (7)).

    A wait that names its phase takes one of that phase only.
    """
    found = np.full(phase.size, -1, np.int64)
    worker = (bars.frame["role"] == PYTHON_OTHER).to_numpy()
    # A wait waits for another thread.
    waits = np.flatnonzero(wait & ~worker)
    end = (bars.frame["start_ns"] + bars.frame["duration_ns"]).to_numpy()
    within_ns = _limits("producer")["within_ns"]
    for code in range(-1, len(PHASES)):
        asked = waits[claimed[waits] == code]
        if asked.size:
            known = phase >= 0 if code < 0 else phase == code
            near = Intervals.of(end[asked] - within_ns, end[asked] + 1)
            rows = np.flatnonzero(worker & known & ~wait)
            ends = _Ends.of(rows[near.coverage(end[rows], end[rows] + 1) > 0], bars, phase)
            found[asked] = ends.before(end[asked], within_ns)
    return found


def _ranks(names: pl.Series) -> Ints:
    """Place of each name among all of them in order."""
    distinct = names.unique().to_frame("name").sort(pl.col("name").cast(pl.String))
    ranked = distinct.with_columns(rank=pl.int_range(pl.len(), dtype=pl.Int64))
    return (
        names.to_frame("name").join(ranked, on="name", how="left", maintain_order="left")["rank"].to_numpy()
    )


def _limits(table: str) -> dict[str, Any]:
    limits: dict[str, Any] = load_toml("analysis.phases", "phases.toml")[table]
    return limits
