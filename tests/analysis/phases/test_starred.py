"""Which node of a tree to look at first."""

from __future__ import annotations

from typing import Any

from analysis.phases.starred import costliest_star
from tests.analysis.phases import phase_fixtures as made

BACKWARD = {
    "name": "## backward 4 ##",
    "parent": 0,
    "total_ns": 400,
    "self_ns": 400,
    "phase": "backward",
    "star": "self",
}
"""The main thread while the autograd thread works."""


def first(*nodes: dict[str, Any]) -> tuple[str, int, float | None] | None:
    """Name, cost and share of the node to look at."""
    star = costliest_star(made.tree({"name": "ProfilerStep#4", "parent": -1, "total_ns": 1_000}, *nodes))
    return None if star is None else (star.name, star.cost_ns, star.share)


def autograd(name: str, parent: int, self_ns: int) -> dict[str, Any]:
    """A node of the autograd thread."""
    return {
        "name": name,
        "parent": parent,
        "total_ns": 300,
        "self_ns": self_ns,
        "role": "autograd",
        "thread": "Thread 2",
        "phase": "backward",
    }


def test_a_backward_range_gives_way_to_what_the_autograd_thread_does_in_it() -> None:
    nodes = (BACKWARD, autograd("AddmmBackward0", 0, 20), autograd("aten::mm", 2, 50))
    assert first(*nodes) == ("aten::mm", 50, 0.05)


def test_a_backward_range_gives_way_to_another_star() -> None:
    other = {"name": "aten::item", "parent": 0, "total_ns": 90, "star": "sync", "phase": "forward"}
    assert first(BACKWARD, other, autograd("aten::mm", 0, 50)) == ("aten::item", 90, 0.09)


def test_a_backward_pass_of_the_main_thread_is_looked_at_itself() -> None:
    assert first(BACKWARD) == ("## backward 4 ##", 400, 0.4)


def test_without_a_star_there_is_nothing_to_look_at() -> None:
    assert first(autograd("aten::mm", 0, 50)) is None
