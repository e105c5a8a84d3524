"""The lines of a tree in view, from top to bottom, and as a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class TreeLine:
    """One line: a node, or what stands for children left out."""

    node: int
    """The node; of a line that stands for children left out, their parent."""
    left_out: int
    """How many children the line stands for; 0 where it is a node."""


@dataclass(frozen=True, slots=True, eq=False)
class TreeLines:
    """All lines, as columns of :class:`TreeLine`."""

    node: NDArray[np.int64]
    left_out: NDArray[np.int64]

    def at(self, position: int) -> TreeLine | None:
        """The line at a position, if there is one."""
        if not 0 <= position < len(self.node):
            return None
        return TreeLine(int(self.node[position]), int(self.left_out[position]))

    def position_of(self, node: int) -> int | None:
        """Where a node stands; None if it is not in view."""
        found = ((self.node == node) & (self.left_out == 0)).nonzero()[0]
        return int(found[0]) if len(found) else None


def line_frame(nodes: pl.DataFrame, lines: TreeLines, more_text: Callable[[int], str]) -> pl.DataFrame:
    """One row per line with all columns of the tree.

    A line that stands for children left out has no values but its name: how many they are.
    """
    rows = pl.Series(lines.node)
    places = lines.left_out.nonzero()[0]
    if len(places):
        rows = rows.scatter(places, None)
    frame = nodes.select(pl.all().gather(rows))
    if not len(places):
        return frame
    texts = [more_text(int(count)) for count in lines.left_out[places]]
    return frame.with_columns(frame["name"].cast(pl.String).scatter(places, texts))
