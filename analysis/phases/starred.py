"""The nodes of a call tree that cost much, and which of them to look at first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from analysis.phases.results import StepTree

_COST = pl.when(pl.col("star") == "self").then("self_ns").otherwise("total_ns")
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
    """The ★ node that costs the step most; None without any."""
    found = starred(tree)
    if found.is_empty():
        return None
    row = found.row(0, named=True)
    whole_ns = tree.nodes["total_ns"][0]
    share = row["cost_ns"] / whole_ns if whole_ns else None
    parent = None if row["depth"] < 2 else tree.nodes["name"][row["parent"]]
    return Star(row["name"], row["star"], row["phase"], row["thread"], parent, row["cost_ns"], share)
