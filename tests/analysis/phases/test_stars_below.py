"""How many bottlenecks are below a node."""

from __future__ import annotations

import polars as pl

from analysis.phases.stars_below import stars_below

SCHEMA = {"parent": pl.Int64(), "depth": pl.UInt32(), "star": pl.String()}


def test_stars_count_for_all_above_them_and_not_for_themselves() -> None:
    # The root (0) holds 1 and 4; 1 holds 2, and that holds 3.
    nodes = pl.DataFrame(
        {"parent": [-1, 0, 1, 2, 0], "depth": [0, 1, 2, 3, 1], "star": [None, None, "wait", "sync", "self"]},
        schema=SCHEMA,
    )
    assert stars_below(nodes).tolist() == [3, 2, 1, 0, 0]


def test_no_tree_has_no_stars() -> None:
    assert stars_below(pl.DataFrame(schema=SCHEMA)).tolist() == []
