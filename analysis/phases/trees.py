"""The trees of the phase analysis: one step as it ran, all threads and steps by cost, parts of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from analysis.phases.model import UNCLASSIFIED
from analysis.phases.results import TREE
from analysis.phases.tree_builder import TreeBuilder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analysis.phases.model import Classified, Windows
    from analysis.phases.results import StepTree
    from analysis.trace.nesting import Flags

BOUNDED: Final = {**TREE, "cut": pl.Int64()}
"""Columns of :func:`bounded`."""


def step_tree(
    classified: Classified, windows: Windows, step: int | None, verdicts: Mapping[str, str]
) -> StepTree:
    """What one step did in its order (spec P2): the main thread, then every other thread below a node.

    Bars are merged where their names and phases agree, and those of all bars above them. A call belongs to
    the step in which it starts, with everything in it (:class:`analysis.phases.step_calls.StepCalls`). The
    first bar of a node stands for it where they differ (rule, origin).

    total = self + totals of the children, of every node, unless bars of a thread overlap in part. The root
    takes the step: its self time is that in which the main thread is inside no bar of the step, and of its
    children those of the main thread add up with it. A thread node has the sum of what is below it; it is
    never called: ``calls`` and what follows from them are null.

    Args:
        classified: Bars and their phases.
        windows: The steps.
        step: Which of them; None where the whole trace is one.
        verdicts: Verdict of its pair for phases that have one.

    Raises:
        ValueError: There is no such step.
    """
    chosen = _only(windows, step)
    return TreeBuilder.of(classified, windows, chosen, merging=False).tree(step, verdicts)


def merged_tree(
    classified: Classified, windows: Windows, step: int | None, verdicts: Mapping[str, str]
) -> StepTree:
    """All threads and phases side by side, the costliest first (spec P3).

    As :func:`step_tree`, but names that differ in their batch index only are one, and several steps are:
    each node has the mean over the steps, whether or not it occurs in all of them. Means are rounded one by
    one, so that their sums may be a nanosecond off for each.

    Args:
        classified: Bars and their phases.
        windows: The steps.
        step: Which of them; None for the mean over the averaged ones.
        verdicts: Verdict of its pair for phases that have one.

    Raises:
        ValueError: There is no such step, or none is averaged.
    """
    chosen = windows.averaged if step is None else _only(windows, step)
    return TreeBuilder.of(classified, windows, chosen, merging=True).tree(step, verdicts)


def phase_roots(tree: StepTree, phase: str) -> list[int]:
    """Nodes that belong to a phase below a node that does not: what a row of the phase table opens.

    By total descending, then in tree order. Unclassified ones are the topmost bars of their threads.
    """
    nodes = tree.nodes
    above = nodes["phase"].gather(nodes["parent"].replace(-1, None))
    of_bars = np.zeros(nodes.height, np.bool_)
    of_bars[tree.node[tree.node >= 0]] = True
    wanted = pl.lit(None if phase == UNCLASSIFIED else phase, pl.String)
    has_bars = pl.Series(of_bars)
    # A node without a phase is below such nodes only: it is a root below one that stands for no bars.
    topmost = ~has_bars.gather(nodes["parent"].clip(0))
    roots = nodes.with_columns(above=above, has_bars=has_bars, topmost=topmost).filter(
        "has_bars",
        pl.col("phase").eq_missing(wanted),
        pl.col("above").ne_missing(wanted) | (pl.col("topmost") & pl.col("phase").is_null()),
    )
    return roots.sort("total_ns", "node", descending=[True, False])["node"].to_list()


def bounded(tree: StepTree, depth: int, rows: int) -> pl.DataFrame:
    """The part of a tree that a report prints: its costliest nodes, and how many are left out where.

    A node costs its total, but no more than any node above it, so that none is kept without its parents.

    Args:
        tree: Either tree.
        depth: Down to which depth; the root is at 0.
        rows: How many nodes at most; the root is always kept. Rows of what is cut come on top, at most one
            for each node.

    Returns:
        Frame of the columns BOUNDED in tree order. A row of a cut stands behind what is kept of its
        ``parent``: ``cut`` is the number of nodes below that one that are neither kept nor counted in
        another row, ``depth`` and ``total_ns`` (their sum) are of its missing children; all else is null.
    """
    nodes = tree.nodes
    above = nodes["parent"].to_list()
    cost = nodes["total_ns"].to_list()
    for node in range(2, nodes.height):
        # The root limits nothing: threads beside the main one may take longer than the step.
        if above[node]:
            cost[node] = min(cost[node], cost[above[node]])
    near = np.flatnonzero(nodes["depth"].to_numpy() <= depth)
    inner = near[near > 0]
    costliest = inner[np.argsort(-np.array(cost, np.int64)[inner], kind="stable")][: max(rows - 1, 0)]
    kept = np.zeros(nodes.height, np.bool_)
    kept[0] = True
    kept[costliest] = True
    cuts = _cuts(nodes, kept)
    shown = nodes.filter(pl.Series(kept)).with_columns(last="node", level=pl.lit(0, pl.Int64))
    both = pl.concat([shown, cuts], how="diagonal")
    return both.sort("last", "level").select(*BOUNDED).cast(BOUNDED)  # type: ignore[arg-type]


def _cuts(nodes: pl.DataFrame, kept: Flags) -> pl.DataFrame:
    """A row for every node that lost children, with ``last``, the last node below it, and ``level``."""
    above, keeps = nodes["parent"].to_list(), kept.tolist()
    last = list(range(nodes.height))
    for node in range(nodes.height - 1, 0, -1):
        last[above[node]] = max(last[above[node]], last[node])
    holder = last.copy()
    for node in range(nodes.height):
        holder[node] = node if keeps[node] else holder[above[node]]
    missing = nodes.select("parent", "depth", "total_ns", holder=pl.Series(holder)).filter(pl.Series(~kept))
    cuts = (
        missing.group_by("holder")
        .agg(
            cut=pl.len().cast(pl.Int64),
            depth=pl.col("depth").min(),
            total_ns=pl.col("total_ns").filter(pl.col("parent") == pl.col("holder")).sum(),
        )
        .rename({"holder": "parent"})
    )
    # Of two cuts that end at one node the deeper comes first, and behind that node itself.
    return cuts.with_columns(
        last=pl.Series(last, dtype=pl.Int64).gather(cuts["parent"]),
        level=nodes.height - pl.col("depth").cast(pl.Int64),
    )


def _only(windows: Windows, step: int | None) -> pl.DataFrame:
    return windows.frame.filter(pl.col("step").eq_missing(pl.lit(step, pl.Int64)))
