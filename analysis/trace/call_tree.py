"""Calls of one path merged: how often a bar runs below the same bars, and how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.trace.nesting import Ints, Nesting

NODES: Final = {
    "node": pl.Int64(),
    "parent_node": pl.Int64(),
    "name": pl.Categorical(),
    "depth": pl.UInt32(),
    "calls": pl.UInt32(),
    "total_ns": pl.Int64(),
    "self_ns": pl.Int64(),
    "max_ns": pl.Int64(),
    "first_start_ns": pl.Int64(),
}
"""Columns of :attr:`CallTree.nodes`; the key columns asked for stand behind ``name``."""


@dataclass(frozen=True, slots=True)
class CallTree:
    """Bars merged into one node where their names agree, and those of all bars above them."""

    nodes: pl.DataFrame
    """One row per node, ``node`` its number: by first start, depth, first row among the bars, so that a
    parent stands before its children and siblings stand by their first start. ``parent_node`` is -1 at the
    top; ``total_ns``, ``self_ns`` and ``max_ns`` are of the durations and self times of its bars."""
    node: Ints
    """Node of every bar, aligned with the rows."""


def call_tree(bars: pl.DataFrame, nesting: Nesting, keys: Sequence[str] = ()) -> CallTree:
    """Merge the bars of all tracks by the names on their way to the top.

    Args:
        bars: The rows that were nested: name, start_ns, duration_ns and the key columns.
        nesting: :func:`analysis.trace.nesting.nest` of them.
        keys: Columns that must agree as well, of the bar and of all above it, such as ``track``.
    """
    node = paths(bars.select("name", *keys), nesting.parent)
    merged = (
        bars.lazy()
        .select(
            "start_ns",
            "duration_ns",
            node=pl.lit(pl.Series(node)),
            own_ns=pl.lit(pl.Series(nesting.self_ns)),
            depth=pl.lit(pl.Series(nesting.depth)),
        )
        .with_row_index("row")
        .group_by("node")
        .agg(
            pl.col("row").min(),
            pl.col("depth").first(),
            calls=pl.len(),
            total_ns=pl.col("duration_ns").sum(),
            self_ns=pl.col("own_ns").sum(),
            max_ns=pl.col("duration_ns").max(),
            first_start_ns=pl.col("start_ns").min(),
        )
        .sort("first_start_ns", "depth", "row")
        .collect()
    )
    number = np.empty(merged.height, np.int64)
    number[merged["node"].to_numpy()] = np.arange(merged.height)
    node = number[node]
    first = merged["row"].to_numpy()
    above = nesting.parent[first]
    parent = np.where(above >= 0, node[above], -1) if above.size else above
    texts = bars.select("name", *keys)[first]
    nodes = texts.with_columns(
        merged.select(pl.exclude("node", "row")),
        node=pl.lit(pl.Series(np.arange(merged.height, dtype=np.int64))),
        parent_node=pl.lit(pl.Series(parent)),
    )
    wanted = ("node", "parent_node", "name", *keys, *list(NODES)[3:])
    return CallTree(nodes.select(wanted).cast({"depth": NODES["depth"], "calls": NODES["calls"]}), node)


def paths(keys: pl.DataFrame, parent: Ints) -> Ints:
    """A number for every bar from 0 on, the same where the keys from the top down to it agree.

    First it stands for the bar's own keys, then for the last 2, 4, 8 … of the path: its own, followed by
    those of the ancestor where they end. No path, however deep, takes more rounds than its length has binary
    digits. Which number a path has may differ from call to call.

    Args:
        keys: What must agree, a row for every bar.
        parent: Row of the parent of each bar, -1 at the top.
    """
    path = _labels(keys)
    count = int(path.max(initial=-1)) + 1
    ancestor = parent.copy()
    waiting = np.flatnonzero(ancestor >= 0)
    while waiting.size:
        above = ancestor[waiting]
        pairs = path[waiting] * count + path[above]
        distinct, rank = np.unique(pairs, return_inverse=True)
        farther = ancestor[above]
        # Paths that end here keep their numbers; longer ones must not share them.
        path[waiting] = count + rank
        ancestor[waiting] = farther
        count += distinct.size
        waiting = waiting[farther >= 0]
    used = np.zeros(count, np.int64)
    used[path] = 1
    return (np.cumsum(used) - 1)[path]


def _labels(keys: pl.DataFrame) -> Ints:
    """A number for every row, the same where all columns agree."""
    distinct = keys.unique().with_row_index("label")
    joined = keys.join(distinct, on=keys.columns, how="left", nulls_equal=True, maintain_order="left")
    return joined["label"].to_numpy().astype(np.int64)
