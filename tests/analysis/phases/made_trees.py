"""Trees of hand-written spans, for tests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from analysis.host_bars import HostBars
from analysis.phases.trees import merged_tree, step_tree
from analysis.trace.step_windows import step_at
from tests.analysis.phases.spans import Span, classified_spans, windows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.phases.model import Classified, Windows
    from analysis.phases.results import StepTree

ONE = windows_of((7, 0, 1000))
TWO = windows_of((7, 0, 1000), (8, 1000, 2000))


def stepped(spans: Sequence[Span], windows: Windows) -> Classified:
    """The spans, each in the step in which it starts."""
    found = classified_spans(spans)
    if windows.whole_trace:
        return found
    step = step_at(found.bars.frame["start_ns"], windows.frame)
    return replace(
        found, bars=HostBars(found.bars.frame.with_columns(step.alias("step")), found.bars.nesting)
    )


def tree_of(*spans: Span, windows: Windows = ONE, step: int | None = 7) -> StepTree:
    return step_tree(stepped(spans, windows), windows, step, {})


def merged_of(*spans: Span, windows: Windows = TWO, step: int | None = None) -> StepTree:
    return merged_tree(stepped(spans, windows), windows, step, {})


def rows(tree: StepTree, *columns: str) -> list[tuple[object, ...]]:
    return tree.nodes.select(columns).rows()
