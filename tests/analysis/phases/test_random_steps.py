"""Phases of random steps against an oracle that asks each microsecond by itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.phases.model import (
    BACKWARD,
    DENSE_UPDATE,
    EMBEDDING_UPDATE,
    FORWARD,
    LOOKUP,
    PREPROCESSING,
    UNCLASSIFIED,
)
from tests.analysis.phases.hand_made import WORKER, case, op, step
from tests.analysis.trace.builder import AUTOGRAD, MAIN

if TYPE_CHECKING:
    from collections.abc import Sequence

SYNC = "aten::item"
CLAIMS = {
    "## forward 1 ##": FORWARD,
    "[lookup]_[ebc]_[row_wise]": LOOKUP,
    "## backward 1 ##": BACKWARD,
    "Optimizer.step#Adam.step": DENSE_UPDATE,
    "table_update": EMBEDDING_UPDATE,
    "collate": PREPROCESSING,
    "aten::add": None,
    "tick": None,
    SYNC: None,
}
"""What each name claims by facts/phases.md 1 and 2."""
_NODE = "autograd::engine::evaluate_function: "
NODES = {
    _NODE + "AddmmBackward0": BACKWARD,
    _NODE + "torch::autograd::CppNode<SplitLookupFunction_sgd_Op>": EMBEDDING_UPDATE,
    "Optimizer.step#SGD.step": DENSE_UPDATE,
    "aten::mm": None,
}
ALLOWED = {
    (FORWARD, LOOKUP),
    (BACKWARD, EMBEDDING_UPDATE),
    (BACKWARD, DENSE_UPDATE),
    (DENSE_UPDATE, EMBEDDING_UPDATE),
}


@dataclass(frozen=True)
class Range:
    """One bar, microseconds."""

    name: str
    start: int
    end: int


def holds(outer: Range, inner: Range) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def above(bars: Sequence[Range], at: int) -> int | None:
    """The innermost bar that holds another one whole; bars stand by start, longest first."""
    return next((over for over in reversed(range(at)) if holds(bars[over], bars[at])), None)


def phase(bars: Sequence[Range], at: int) -> str | None:
    over = above(bars, at)
    outer = None if over is None else phase(bars, over)
    own = (CLAIMS | NODES)[bars[at].name]
    return own if outer is None or (outer, own) in ALLOWED else outer


def synchronises(bars: Sequence[Range], at: int | None) -> bool:
    return at is not None and (bars[at].name == SYNC or synchronises(bars, above(bars, at)))


def owner(bars: Sequence[Range], moment: int) -> int | None:
    """The bar that started last of those open."""
    return next((at for at in reversed(range(len(bars))) if bars[at].start <= moment < bars[at].end), None)


def work(bars: Sequence[Range], moment: int) -> str | None:
    at = owner(bars, moment)
    return None if at is None else phase(bars, at)


def expected(
    main: Sequence[Range], autograd: Sequence[Range], begin: int, end: int
) -> tuple[Counter[str], Counter[str]]:
    """Main thread and attributed time of a step by phase."""
    cuts = {begin, end} | {edge for bar in main for edge in (bar.start, bar.end) if begin < edge < end}
    pure: Counter[str] = Counter()
    split: Counter[str] = Counter()
    for first, last in pairwise(sorted(cuts)):
        beside = [work(autograd, moment) for moment in range(first, last)]
        at = owner(main, first)
        of_piece = None if at is None else phase(main, at)
        silent = of_piece is None and not synchronises(main, at)
        if silent and 2 * sum(one is not None for one in beside) > last - first:
            of_piece = BACKWARD
        pure[of_piece or UNCLASSIFIED] += last - first
        for one in beside:
            moved = of_piece == BACKWARD and one in (EMBEDDING_UPDATE, DENSE_UPDATE)
            split[(one if moved else of_piece) or UNCLASSIFIED] += 1
    return pure, split


def bars_of(names: Sequence[str]) -> st.SearchStrategy[list[Range]]:
    """Ranges of one thread by start, longest first; some overlap in part."""
    one = st.builds(
        lambda name, start, length: Range(name, start, start + length),
        st.sampled_from(names),
        st.integers(0, 50),
        st.integers(1, 30),
    )
    return st.lists(one, max_size=9).map(lambda found: sorted(found, key=lambda bar: (bar.start, -bar.end)))


@settings(max_examples=150, deadline=None)
@given(
    main=bars_of([*CLAIMS]),
    autograd=bars_of([*NODES]),
    worker=bars_of([*CLAIMS]),
    borders=st.tuples(st.integers(0, 20), st.integers(1, 25), st.integers(0, 5), st.integers(1, 25)),
)
def test_time_of_every_phase_is_that_of_its_microseconds(
    main: list[Range], autograd: list[Range], worker: list[Range], borders: tuple[int, int, int, int]
) -> None:
    start, length, gap, second = borders
    spans = {1: (start, start + length), 2: (start + length + gap, start + length + gap + second)}
    # A node that works all the time, far from the steps, tells the thread of the backward pass.
    apart = Range(_NODE + "AddmmBackward0", 1000, 9000)
    threads = ((MAIN, main), (AUTOGRAD, [*autograd, apart]), (WORKER, worker))
    times = case(
        *(step(number, begin, end - begin) for number, (begin, end) in spans.items()),
        *(op(bar.name, bar.start, bar.end - bar.start, thread) for thread, bars in threads for bar in bars),
    ).times

    for number, (begin, end) in spans.items():
        rows = times.by_step.filter(step=number)
        pure, split = expected(main, autograd, begin, end)
        for column, wanted in (("main_thread_ns", pure), ("attributed_ns", split)):
            found = {row["phase"]: row[column] // 1000 for row in rows.iter_rows(named=True) if row[column]}
            assert found == {name: us for name, us in wanted.items() if us}
