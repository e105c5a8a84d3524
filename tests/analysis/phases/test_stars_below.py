"""How many bottlenecks are below a node."""

from __future__ import annotations

import polars as pl

from analysis.phases.stars_below import stars_below


def test_stars_count_for_all_above_them_and_not_for_themselves() -> None:
    # The root (0) holds 1 and 4; 1 holds 2, and that holds 3.
    nodes = pl.DataFrame(
        {"parent": [-1, 0, 1, 2, 0], "star": [None, None, "wait", "sync", "self"]},
        schema={"parent": pl.Int64(), "star": pl.String()},
    )
    assert stars_below(nodes) == [3, 2, 1, 0, 0]


def test_no_tree_has_no_stars() -> None:
    assert stars_below(pl.DataFrame(schema={"parent": pl.Int64(), "star": pl.String()})) == []
