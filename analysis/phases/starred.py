"""The nodes of a call tree that cost much, and which of them to look at first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from analysis.phases.model import BACKWARD
from analysis.trace.model import AUTOGRAD

if TYPE_CHECKING:
    from analysis.phases.results import StepTree

_COST = pl.when(pl.col("star") == "self").then("self_ns").otherwise("blocked_ns")
"""What a ★ is about: time of its own, or all the time it blocks."""


@dataclass(frozen=True, slots=True)
class Star:
    """One ★ node."""

    name: str
    star: str
    """Why: wait, sync or self."""
    phase: str | None
    thread: str | None
    parent: str | None
    """Name of the node it is below; None right below the root."""
    cost_ns: int
    share: float | None
    """cost / step."""


def starred(tree: StepTree) -> pl.DataFrame:
    """The ★ nodes with ``cost_ns``, what each is about, costliest first."""
    nodes = tree.nodes.filter(pl.col("star").is_not_null()).with_columns(_COST.alias("cost_ns"))
    return nodes.sort("cost_ns", "node", descending=[True, False])


def costliest_star(tree: StepTree) -> Star | None:
    """The ★ node that costs the step most; None without any.

    While the autograd thread works, the range that started it has time of its own and nothing to look at:
    where no other node has a ★, the node of that thread with most time of its own stands for it.
    """
    found = starred(tree)
    if found.is_empty():
        return None
    autograd = tree.nodes.filter(pl.col("role") == AUTOGRAD, pl.col("phase").is_not_null())
    if not autograd.is_empty():
        started = (pl.col("star") == "self") & (pl.col("phase") == BACKWARD) & (pl.col("role") != AUTOGRAD)
        heaviest = autograd.sort("self_ns", "node", descending=[True, False]).head(1)
        stand_in = heaviest.with_columns(pl.lit("self").alias("star"), pl.col("self_ns").alias("cost_ns"))
        found = pl.concat([found.filter(~started), stand_in])
    row = found.row(0, named=True)
    whole_ns = tree.nodes["total_ns"][0]
    share = row["cost_ns"] / whole_ns if whole_ns else None
    parent = None if row["depth"] < 2 else tree.nodes["name"][row["parent"]]
    return Star(row["name"], row["star"], row["phase"], row["thread"], parent, row["cost_ns"], share)
