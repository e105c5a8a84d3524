"""The lines of a tree in view as a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable

    from widgets.tree_rows import TreeLines


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
