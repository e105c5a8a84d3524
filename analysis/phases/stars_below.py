"""Which nodes of a tree hold a bottleneck somewhere below them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def stars_below(nodes: pl.DataFrame) -> list[int]:
    """How many ★ are below each node of a tree, its own left out.

    Args:
        nodes: A whole tree (columns ``analysis.phases.results.TREE``), every parent before its children.
    """
    starred, parents = nodes["star"].is_not_null().to_list(), nodes["parent"].to_list()
    below = [0] * nodes.height
    for node in range(nodes.height - 1, 0, -1):
        below[parents[node]] += below[node] + starred[node]
    return below
