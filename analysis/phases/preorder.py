"""Nodes of a tree put into the order in which they are read: every node, then all below it, then the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from analysis.trace.nesting import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Preorder:
    """Depth-first order of the nodes of one tree; built by :meth:`of`, without recursion at any depth."""

    order: Ints
    """The nodes in order."""
    place: Ints
    """Place of each node in it."""
    depth: Ints
    """Of each node: how many are above it."""
    children: Ints
    """Of each node: how many hang right below it."""

    @classmethod
    def of(cls, parent: Ints, rank: Ints) -> Preorder:
        """Order the nodes of a tree.

        Args:
            parent: Parent of each node, -1 for the root, which is the first; every parent comes before its
                children.
            rank: What siblings are ordered by; no two of them have the same.
        """
        above = parent.tolist()
        count = len(above)
        depth, size = [0] * count, [1] * count
        for node in range(1, count):
            depth[node] = depth[above[node]] + 1
        for node in range(count - 1, 0, -1):
            size[above[node]] += size[node]
        depths = np.array(depth, np.int64)
        place, free = [0] * count, [1] * count
        # By depth, so that the place of a parent is known before those of its children.
        for node in np.lexsort((rank, depths))[1:].tolist():
            over = above[node]
            place[node] = free[over]
            free[over] += size[node]
            free[node] = place[node] + 1
        places = np.array(place, np.int64)
        order = np.empty(count, np.int64)
        order[places] = np.arange(count)
        return cls(
            order=order,
            place=places,
            depth=depths,
            children=np.bincount(parent[1:], minlength=count),
        )
