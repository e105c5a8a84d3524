"""Which nodes of a tree hold a bottleneck somewhere below them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analysis.phases.ancestry import by_level

if TYPE_CHECKING:
    import polars as pl

    from analysis.trace.nesting import Ints


def stars_below(nodes: pl.DataFrame) -> Ints:
    """How many ★ are below each node of a tree, its own left out.

    Args:
        nodes: A whole tree (columns ``analysis.phases.results.TREE``).
    """
    starred, parent = nodes["star"].is_not_null().to_numpy(), nodes["parent"].to_numpy()
    below = np.zeros(nodes.height, np.int64)
    for rows in reversed(by_level(np.flatnonzero(parent >= 0), nodes["depth"].to_numpy())):
        np.add.at(below, parent[rows], below[rows] + starred[rows])
    return below
