"""Trees of simulated profiles: the times of every node add up, and every bar counts once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from analysis.phases.trees import merged_tree, step_tree
from tests.analysis.phases.simulated import simulate

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.phases.results import StepTree

PROFILES = [
    *(
        f"--flavour {flavour} --steps 2 --depth {depth} --seed {3 + depth}"
        for flavour, depths in (("naive", (0,)), ("torchrec", (1, 5)), ("embcache", (2, 4)))
        for depth in depths
    ),
    *(f"--flavour seed --steps 5 --depth {depth} --seed {3 + depth}" for depth in range(6)),
    "--flavour seed --steps 8 --depth 3 --seed 10 --worker-load 6",
]


def gaps(tree: StepTree) -> pl.Series:
    """Total less self less the totals of the children, of all nodes but the root, whose threads overlap."""
    below = tree.nodes.group_by("parent").agg(below=pl.col("total_ns").sum())
    nodes = tree.nodes.join(below, left_on="node", right_on="parent", how="left", maintain_order="left")
    return nodes.select(pl.col("total_ns") - pl.col("self_ns") - pl.col("below").fill_null(0))["total_ns"][1:]


@pytest.mark.parametrize("profile", PROFILES)
def test_times_of_every_node_add_up_and_every_bar_counts_once(profile: str, tmp_path: Path) -> None:
    found = simulate(profile, tmp_path).phases
    frame = found.classified.bars.frame
    times = np.zeros(frame.height, np.int64)
    for step in found.windows.frame["step"]:
        tree = step_tree(found.classified, found.windows, step, {})
        merged = merged_tree(found.classified, found.windows, step, {})
        assert (gaps(tree) == 0).all()
        assert (gaps(merged) == 0).all()
        assert ((tree.node >= 0) == (merged.node >= 0)).all()
        times += tree.node >= 0
        main = tree.nodes.filter((pl.col("parent") == 0) & (pl.col("thread") == tree.nodes["thread"][0]))
        assert tree.nodes["total_ns"][0] == tree.nodes["self_ns"][0] + main["total_ns"].sum()
        counted = frame.filter(pl.Series(tree.node >= 0))
        assert merged.nodes["self_ns"][1:].sum() == counted["self_ns"].sum()
    tops = frame.filter(pl.Series(times > 0), pl.col("depth") == 0)
    assert times.max() == 1
    assert frame["self_ns"].filter(pl.Series(times > 0)).sum() == tops["duration_ns"].sum()
    mean = merged_tree(found.classified, found.windows, None, {})
    # Each mean is rounded by itself.
    assert (gaps(mean).abs() <= (mean.nodes["children"][1:] + 2) / 2).all()
