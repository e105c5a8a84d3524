from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.phases.model import FORWARD, Classified
from analysis.phases.trees import bounded, merged_tree, step_tree
from analysis.units import mean
from tests.analysis.phases.made_trees import stepped
from tests.analysis.phases.spans import AUTOGRAD, MAIN, Span, windows_of

if TYPE_CHECKING:
    from analysis.phases.model import Windows
    from analysis.phases.results import StepTree

SPANS = st.lists(
    st.builds(
        lambda name, start, length, thread, phase, wait: Span(
            name, start, start + length, phase, thread, wait=wait
        ),
        st.sampled_from(["a", "b", "## forward 1 ##", "## forward 2 ##"]),
        st.integers(0, 29),
        st.integers(0, 12),
        st.sampled_from([MAIN, AUTOGRAD]),
        st.sampled_from([None, FORWARD]),
        st.booleans(),
    ),
    max_size=14,
)
THREE = windows_of((1, 0, 10), (2, 10, 20), (3, 20, 30), excluded=1)


@dataclass
class Counted:
    """How much of one bar counts for which step, and below which row."""

    step: int | None
    parent: int
    time_ns: int
    self_ns: int = 0


def counted(found: Classified, windows: Windows) -> list[Counted]:
    """Bar by bar, what :class:`analysis.phases.step_calls.StepCalls` tells of all at once."""
    frame, parent = found.bars.frame, found.bars.nesting.parent.tolist()
    ends = dict(windows.frame.select("step", "end_ns").iter_rows())
    columns = ("step", "track", "start_ns", "duration_ns")
    steps, tracks, starts, durations = (frame[name].to_list() for name in columns)
    left = [
        ends[step] - start if step is not None and track == MAIN else duration
        for step, track, start, duration in zip(steps, tracks, starts, durations, strict=True)
    ]
    bars = []
    for row in range(frame.height):
        step, at = steps[row], row
        while at >= 0:
            if steps[at] is not None and durations[at] <= left[at]:
                step = steps[at]
            at = parent[at]
        bars.append(Counted(step, parent[row], min(durations[row], left[row])))
    for one in bars:
        if one.parent >= 0 and bars[one.parent].step != one.step:
            one.parent = -1
    for row, one in enumerate(bars):
        own = set(range(starts[row], starts[row] + one.time_ns))
        for child, other in enumerate(bars):
            if other.parent == row:
                own -= set(range(starts[child], starts[child] + other.time_ns))
        one.self_ns = len(own)
    return bars


def paths_of(found: Classified, bars: list[Counted], *, marked: bool) -> list[tuple[tuple[object, ...], ...]]:
    """The way from the top of its step down to every bar."""
    names, tracks = (found.bars.frame[name].to_list() for name in ("name", "track"))
    ways = []
    for row in range(len(bars)):
        way: list[tuple[object, ...]] = []
        at = row
        while at >= 0:
            name = names[at].replace("1", "{i}").replace("2", "{i}") if marked else names[at]
            way.insert(0, (name, tracks[at], int(found.phase[at])))
            at = bars[at].parent
        ways.append(tuple(way))
    return ways


def outermost_waits(found: Classified, bars: list[Counted]) -> list[bool]:
    """Whether each bar is a wait that lies in no other wait of its step."""
    outer = []
    for row, wait in enumerate(found.wait.tolist()):
        at = bars[row].parent
        while at >= 0 and not found.wait[at]:
            at = bars[at].parent
        outer.append(wait and at < 0)
    return outer


@settings(deadline=None)
@given(SPANS)
def test_nodes_are_the_bars_of_one_path(spans: list[Span]) -> None:
    found = stepped(spans, THREE)
    bars = counted(found, THREE)
    durations, selves = [one.time_ns for one in bars], [one.self_ns for one in bars]
    outer = outermost_waits(found, bars)
    for tree, taken, marked in (
        (step_tree(found, THREE, 2, {}), {2}, False),
        (merged_tree(found, THREE, 2, {}), {2}, True),
        (merged_tree(found, THREE, None, {}), {2, 3}, True),
    ):
        ways = paths_of(found, bars, marked=marked)
        members: dict[tuple[tuple[object, ...], ...], list[int]] = {}
        for row, one in enumerate(bars):
            if one.step in taken:
                members.setdefault(ways[row], []).append(row)
        nodes = tree.nodes.rows(named=True)
        seen = {}
        for way, inside in members.items():
            (number,) = {int(tree.node[row]) for row in inside}
            node = nodes[number]
            seen[way] = number
            total, own = (sum(times[row] for row in inside) for times in (durations, selves))
            assert (node["name"], node["calls"]) == (way[-1][0], len(inside))
            assert (node["total_ns"], node["self_ns"]) == (mean(total, len(taken)), mean(own, len(taken)))
            assert (node["avg_ns"], node["max_ns"]) == (
                mean(total, len(inside)), max(durations[row] for row in inside),
            )  # fmt: skip
            blocked = sum(durations[row] for row in inside if outer[row])
            waits_inside = [row for row in inside if found.wait[row] and not outer[row]]
            free = own - sum(selves[row] for row in waits_inside)
            whole = 10 * len(taken)
            assert node["star"] == (
                "wait" if 20 * blocked >= whole else "self" if 10 * free >= whole else None
            )
        for way, number in seen.items():
            over = nodes[nodes[number]["parent"]]
            if len(way) > 1:
                assert over["node"] == seen[way[:-1]]
            else:
                # The root, or the node of its thread.
                assert over["node"] not in seen.values()
        assert sum(one.step not in taken for one in bars) == (tree.node < 0).sum()
        assert_in_order(tree, by_cost=marked)


def assert_in_order(tree: StepTree, *, by_cost: bool) -> None:
    """Depth first, siblings in the order of their tree."""
    nodes = tree.nodes.rows(named=True)
    children: dict[int, list[int]] = {}
    for one in nodes[1:]:
        children.setdefault(one["parent"], []).append(one["node"])
    waiting, seen = [0], []
    while waiting:
        node = waiting.pop()
        seen.append(node)
        below = children.get(node, [])
        assert nodes[node]["children"] == len(below)
        keys = [
            (-nodes[child]["total_ns"], nodes[child]["name"])
            if by_cost
            else (nodes[child]["calls"] is None, nodes[child]["first_start_ns"])
            for child in below
        ]
        assert keys == sorted(keys)
        assert all(nodes[child]["depth"] == nodes[node]["depth"] + 1 for child in below)
        waiting.extend(reversed(below))
    assert seen == list(range(len(nodes)))


@settings(deadline=None)
@given(SPANS, st.integers(0, 5), st.integers(0, 8))
def test_what_is_kept_and_what_is_cut_make_up_the_tree(spans: list[Span], depth: int, count: int) -> None:
    tree = merged_tree(stepped(spans, THREE), THREE, None, {})
    found = bounded(tree, depth, count)
    kept = found.filter(pl.col("cut").is_null())

    assert kept.height + (found["cut"].sum() or 0) == tree.nodes.height
    assert kept.height <= max(count, 1)
    assert (kept["depth"] <= depth).all()
    assert set(kept["parent"]) <= {-1, *kept["node"]}
    assert found.filter(pl.col("cut").is_not_null())["parent"].is_unique().all()
    for node in kept["node"]:
        shown = found.filter(pl.col("parent") == node)["total_ns"].sum()
        assert shown == tree.nodes.filter(pl.col("parent") == node)["total_ns"].sum()
