"""How bars become the nodes of a tree: merged along their paths, with their reasons, times and marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from analysis.datafile import load_toml
from analysis.phases.ancestry import inside
from analysis.phases.model import PHASES
from analysis.phases.preorder import Preorder
from analysis.phases.results import TREE, StepTree
from analysis.phases.rules import with_index_marks
from analysis.phases.step_calls import StepCalls
from analysis.trace.call_tree import paths
from analysis.trace.intervals import Intervals
from analysis.units import mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analysis.phases.model import Classified, Windows
    from analysis.trace.nesting import Ints

_KEYS: Final = {"kind": pl.Int64(), "track": pl.Int64(), "code": pl.Int64(), "first": pl.Int64()}
"""What nodes have beside the columns of TREE: kind (_ROOT, _THREAD, _BARS), track, code of the phase, place
of the first bar."""
_ROOT, _THREAD, _BARS = range(3)


@dataclass(frozen=True, slots=True, eq=False)
class TreeBuilder:
    """The bars of some windows, on their way to a tree; built by :meth:`of`. *Place* is one in ``rows``."""

    classified: Classified
    windows: Windows
    chosen: pl.DataFrame
    """The windows of the tree, at least one."""
    merging: bool
    """Whether names are merged over batch indices and siblings stand by their cost: P3, else P2."""
    rows: Ints
    """Rows of the bars, in the order in which they hold each other on their threads."""
    time_ns: Ints
    """How much of the duration of each counts (:class:`StepCalls`)."""
    self_ns: Ints
    """How much of the self time of each does."""
    parent: Ints
    """Place of the parent of each, -1 at the top."""

    @classmethod
    def of(
        cls, classified: Classified, windows: Windows, chosen: pl.DataFrame, *, merging: bool
    ) -> TreeBuilder:
        """The bars that count for some windows.

        Raises:
            ValueError: There are no windows.
        """
        if chosen.is_empty():
            raise ValueError("no such step")
        calls = StepCalls.of(classified.bars, windows)
        places = windows.frame["start_ns"].search_sorted(chosen["start_ns"]).to_numpy()
        taken = np.flatnonzero(np.isin(calls.window, places))
        number = np.full(calls.window.size, -1, np.int64)
        number[taken] = np.arange(taken.size)
        up = calls.up[taken]
        return cls(
            classified,
            windows,
            chosen,
            merging,
            rows=classified.bars.nesting.bars.rows[taken],
            time_ns=calls.time_ns[taken],
            self_ns=calls.self_ns[taken],
            parent=np.where(up >= 0, number[up], -1) if taken.size else up,
        )

    def tree(self, step: int | None, verdicts: Mapping[str, str]) -> StepTree:
        """The tree, said to be of ``step``; ``verdicts`` maps phases to the verdicts of their pairs."""
        names = self._names()
        path = self._paths(names)
        merged = self._merged(path)
        number = np.empty(merged.height, np.int64)
        number[merged["path"].to_numpy()] = np.arange(merged.height)
        path = number[path]
        first = merged["first"].to_numpy()
        above = np.where(self.parent[first] >= 0, path[self.parent[first]], -1) if first.size else first
        nodes = self._described(merged, names, self._blocked(path, merged.height))
        heads = self._heads(nodes.filter(pl.Series(above < 0)))
        parent = self._below_heads(nodes, above, heads)
        frame = pl.concat([heads, nodes], how="diagonal")
        order = Preorder.of(parent, self._rank(frame))
        node = np.full(self.classified.phase.size, -1, np.int64)
        node[self.rows] = order.place[heads.height + path]
        return StepTree(_arranged(frame, parent, order, verdicts), node, step, self.chosen.height)

    @property
    def _whole_ns(self) -> int:
        """All the windows together."""
        return int((self.chosen["end_ns"] - self.chosen["start_ns"]).sum())

    def _names(self) -> pl.Series:
        """Names of the bars (Categorical), with marks for their batch indices where they are merged."""
        names = self.classified.bars.frame["name"].gather(self.rows)
        return _marked(names) if self.merging else names

    def _paths(self, names: pl.Series) -> Ints:
        """A number for every bar, the same for those of one node."""
        keys = pl.DataFrame(
            {
                "name": names,
                "track": self.classified.bars.frame["track"].gather(self.rows),
                "phase": self.classified.phase[self.rows],
            }
        )
        return paths(keys, self.parent)

    def _merged(self, path: Ints) -> pl.DataFrame:
        """What the bars of each node add up to: one row per node, every parent before its children."""
        start = self.classified.bars.frame["start_ns"].gather(self.rows)
        bars = pl.DataFrame({"path": path, "start": start, "time": self.time_ns, "own": self.self_ns})
        return (
            bars.lazy()
            .with_row_index("first")
            .group_by("path")
            .agg(
                pl.col("first").min().cast(pl.Int64),
                calls=pl.len().cast(pl.Int64),
                total_ns=pl.col("time").sum(),
                self_ns=pl.col("own").sum(),
                max_ns=pl.col("time").max(),
                first_start_ns=pl.col("start").min(),
            )
            .sort("first")
            .collect()
        )

    def _blocked(self, path: Ints, count: int) -> dict[str, Ints]:
        """Time of each node in waits and in device syncs, and the self time of ``inner`` ones.

        One inside another counts with the outer one. A sync that is a call of the runtime is no node: it
        counts for the one that makes it.
        """
        wait, sync = self.classified.wait[self.rows], self.classified.sync[self.rows]
        marked = np.flatnonzero(wait | sync)
        held = np.append(inside(wait | sync, self.parent), [False])[self.parent[marked]]
        outer, inner = marked[~held], marked[held]
        blocked = {}
        for kind, places, times in (
            ("wait", outer[wait[outer]], self.time_ns),
            ("sync", outer[sync[outer]], self.time_ns),
            ("inner", inner, self.self_ns),
        ):
            blocked[kind] = np.zeros(count, np.int64)
            np.add.at(blocked[kind], path[places], times[places])
        if self.classified.in_calls_ns is not None:
            np.add.at(blocked["sync"], path, self.classified.in_calls_ns[self.rows])
        return blocked

    def _described(self, merged: pl.DataFrame, names: pl.Series, blocked: Mapping[str, Ints]) -> pl.DataFrame:
        """The nodes of bars with everything but their place in the tree."""
        first = merged["first"].to_numpy()
        rows = self.rows[first]
        frame = self.classified.bars.frame
        nodes = merged.with_columns(
            frame["track"].gather(rows).cast(pl.Int64),
            *(frame[name].gather(rows).cast(pl.String) for name in ("thread", "role")),
            *self._reasons(rows),
            name=names.gather(first).cast(pl.String),
            star=pl.lit(self._stars(merged, blocked)),
            blocked_ns=pl.lit(pl.Series(blocked["wait"] + blocked["sync"])),
            kind=pl.lit(_BARS, pl.Int64),
        )
        steps, calls, total = self.chosen.height, pl.col("calls"), pl.col("total_ns")
        start = self.chosen["start_ns"][0] if steps == 1 else None
        return nodes.with_columns(
            calls_per_step=calls / steps,
            total_ns=(2 * total + steps) // (2 * steps),
            self_ns=(2 * pl.col("self_ns") + steps) // (2 * steps),
            blocked_ns=(2 * pl.col("blocked_ns") + steps) // (2 * steps),
            avg_ns=(2 * total + calls) // (2 * calls),
            share=total / pl.lit(self._whole_ns or None, pl.Int64),
            first_start_ns=pl.col("first_start_ns") - pl.lit(start, pl.Int64),
        )

    def _reasons(self, rows: Ints) -> tuple[pl.Series, pl.Series, pl.Series, pl.Series]:
        """code, phase, rule and origin of these bars."""
        origin = self.classified.origin[rows]
        known = origin >= 0
        rule = np.where(known, self.classified.claim[origin], -1) if rows.size else origin
        code = self.classified.phase[rows].astype(np.int64)
        names = self.classified.bars.frame["name"].gather(_gathered(np.where(origin == rows, -1, origin)))
        ids = pl.Series([entry.id for entry in self.classified.rules.entries], dtype=pl.String)
        return (
            pl.Series("code", code),
            pl.Series("phase", PHASES).gather(_gathered(code)),
            ids.gather(_gathered(rule)).alias("rule"),
            (_marked(names) if self.merging else names).cast(pl.String).alias("origin"),
        )

    def _stars(self, merged: pl.DataFrame, blocked: Mapping[str, Ints]) -> pl.Series:
        """Why each node is a bottleneck (spec P2); null if it is none.

        A sync inside another is none for its self time: the outer one tells of it.
        """
        limits = _limits()
        own_ns = merged["self_ns"].to_numpy() - blocked["inner"]
        found: pl.Expr = pl.lit(None, pl.String)
        # From the weakest reason to the strongest, so that this one is left standing.
        for reason, times, least in (
            ("self", own_ns, limits["self_share_at_least"]),
            ("sync", blocked["sync"], limits["blocked_share_at_least"]),
            ("wait", blocked["wait"], limits["blocked_share_at_least"]),
        ):
            # numpy divides one by one, so that exactly a tenth is one; polars multiplies with an inverse.
            much = times / self._whole_ns >= least if self._whole_ns else times < 0
            found = pl.when(pl.lit(pl.Series(much))).then(pl.lit(reason)).otherwise(found)
        return merged.select(found.alias("star"))["star"]

    def _heads(self, tops: pl.DataFrame) -> pl.DataFrame:
        """The root and, in P2, the nodes of threads."""
        root = pl.DataFrame([self._root()], schema_overrides={**TREE, **_KEYS})
        if self.merging:
            return root
        others = tops.filter(pl.col("track") != self.windows.main_track)
        threads = (
            others.group_by("track")
            .agg(
                pl.col("thread", "role", "first").first(),
                pl.col("total_ns").sum(),
                pl.col("first_start_ns").min(),
            )
            .sort("first_start_ns", "track")
            .with_columns(
                name="thread",
                kind=pl.lit(_THREAD, pl.Int64),
                code=pl.lit(-1, pl.Int64),
                self_ns=pl.lit(0, pl.Int64),
                share=pl.col("total_ns") / pl.lit(self._whole_ns or None, pl.Int64),
            )
        )
        return pl.concat([root, threads], how="diagonal")

    def _root(self) -> dict[str, Any]:
        steps, whole = self.chosen.height, self._whole_ns
        frame = self.classified.bars.frame
        tops = np.flatnonzero(self.parent < 0)
        own = frame.select("track", "start_ns")[self.rows[tops]].with_columns(time_ns=self.time_ns[tops])
        own = own.filter(pl.col("track") == self.windows.main_track)
        inside = Intervals.of(own["start_ns"], own["start_ns"] + own["time_ns"])
        thread = frame.select("thread", "role")[(frame["track"] == self.windows.main_track).arg_true()[:1]]
        return {
            "name": self._title(),
            "thread": str(thread["thread"][0]) if thread.height else None,
            "role": thread["role"][0] if thread.height else None,
            "calls": steps,
            "calls_per_step": 1.0,
            "total_ns": mean(whole, steps),
            "self_ns": mean(whole - inside.total, steps),
            "avg_ns": mean(whole, steps),
            "max_ns": int((self.chosen["end_ns"] - self.chosen["start_ns"]).to_numpy().max()),
            "share": 1.0,
            "first_start_ns": 0 if steps == 1 else None,
            "track": self.windows.main_track,
            "code": -1,
            "kind": _ROOT,
        }

    def _title(self) -> str | None:
        """Name of the root; null for a whole trace, which has none."""
        if self.windows.whole_trace:
            return None
        step = self.chosen["step"][0] if self.chosen.height == 1 else "{i}"
        prefix = load_toml("analysis", "metrics.toml")["profiler_step"]["prefix"]
        return f"{prefix}{step}"

    def _below_heads(self, nodes: pl.DataFrame, above: Ints, heads: pl.DataFrame) -> Ints:
        """Parent of every head and node, by their numbers one behind the other."""
        track = nodes["track"].to_numpy()
        head = np.zeros(int(track.max(initial=0)) + 1, np.int64)
        for at, thread in enumerate(heads["track"].to_list()):
            if at:
                head[thread] = at
        top = head[track]
        below = np.where(above >= 0, above + heads.height, top)
        return np.concatenate([[-1], np.zeros(heads.height - 1, np.int64), below])

    def _rank(self, frame: pl.DataFrame) -> Ints:
        """What orders siblings: P2 by their first start, threads last; P3 by total, name, thread."""
        keys = frame.select("total_ns", "name", "thread", "code", "track", "first", "kind").with_row_index(
            "at"
        )
        if self.merging:
            columns = ["total_ns", "name", "thread", "code", "track", "first"]
            keys = keys.sort(columns, descending=[True, *[False] * 5], nulls_last=True)
        else:
            # Bars of one thread stand in the order of their starts already.
            keys = keys.sort(-pl.col("kind"), "at")
        rank = np.empty(frame.height, np.int64)
        rank[keys["at"].to_numpy()] = np.arange(frame.height)
        return rank


def _marked(names: pl.Series) -> pl.Series:
    """Names (Categorical) with ``{i}`` for their batch indices."""
    distinct = names.unique(maintain_order=True)
    marks = pl.DataFrame({"name": distinct, "mark": with_index_marks(distinct.cast(pl.String))})
    marks = marks.cast({"mark": pl.Categorical()})
    return names.to_frame("name").join(marks, on="name", how="left", nulls_equal=True, maintain_order="left")[
        "mark"
    ]


def _gathered(places: Ints) -> pl.Series:
    """Places to gather by; a negative one gives null."""
    return pl.Series(places).set(pl.Series(places < 0), None)


def _arranged(
    frame: pl.DataFrame, parent: Ints, order: Preorder, verdicts: Mapping[str, str]
) -> pl.DataFrame:
    """The nodes in tree order with their places in it."""
    code = frame["code"].to_numpy()
    above = np.where(parent >= 0, code[parent], -1)
    said = pl.Series([verdicts.get(phase) for phase in PHASES], dtype=pl.String)
    own = np.where(code == above, -1, code)
    placed = frame.with_columns(
        node=pl.lit(pl.Series(order.place)),
        parent=pl.lit(pl.Series(np.where(parent >= 0, order.place[parent], -1))),
        depth=pl.lit(pl.Series(order.depth)),
        children=pl.lit(pl.Series(order.children)),
        verdict=pl.lit(said.gather(_gathered(own))),
    )
    return placed[order.order].select(*TREE).cast(TREE)  # type: ignore[arg-type]


def _limits() -> dict[str, Any]:
    limits: dict[str, Any] = load_toml("analysis.phases", "phases.toml")["star"]
    return limits
