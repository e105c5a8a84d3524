from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.phases.model import EMBEDDING_UPDATE, FORWARD, LOOKUP, PREPROCESSING
from analysis.phases.occurrences import KERNELS, OCCURRENCES, kernels_of, occurrences, why, why_node
from analysis.phases.rules import ANCHORED, Rules
from analysis.phases.trees import merged_tree, step_tree
from analysis.trace import model as schema
from analysis.trace.flows import launches
from tests.analysis.phases.hand_made import WORKER, case, op, row_of, step
from tests.analysis.phases.made_rules import rule_named
from tests.analysis.phases.spans import AUTOGRAD, Span, classified_spans, windows_of
from tests.analysis.trace.builder import MAIN, STREAM, arrow, bar, timeline

if TYPE_CHECKING:
    from analysis.phases.model import Classified
    from analysis.phases.results import StepTree
    from tests.analysis.phases.hand_made import Case

SIDE = ("Ascend Hardware", "Stream 5")


def kernel(name: str, start: float, duration: float, launched: float, place: tuple[str, str] = STREAM) -> Any:
    """A kernel and the arrow from the operator of the main thread that starts at ``launched``, in us."""
    stream = int(place[1].split()[-1])
    flow = arrow("async_npu", f"{name}{start}", (MAIN, launched), (place, start))
    return [bar(name, place, start, duration, task_type="AI_CORE", stream_id=stream), *flow]


EVENTS = [
    step(7, 0, 1000),
    step(8, 1000, 1000),
    bar("forward", MAIN, 100, 300, "cpu_op", input_dims="8,16"),
    op("add", 110, 20),
    op("mul", 150, 40),
    op("add", 160, 10),
    op("other", 500, 50),
    op("forward", 1200, 100),
    op("add", 1210, 20),
    op("forward", 100, 10, WORKER),
    *kernel("Add", 200, 100, 110),
    *kernel("Add2", 250, 100, 160, SIDE),
    *kernel("Mul", 900, 20, 150),
    *kernel("Other", 700, 5, 500),
    *kernel("Add", 1500, 30, 1210),
]


def found_in(case: Case, tree: StepTree, name: str, thread: str | None = None) -> pl.DataFrame:
    """Occurrences of the first node of that name."""
    nodes = tree.nodes.filter(pl.col("name") == name)
    if thread is not None:
        nodes = nodes.filter(pl.col("thread") == thread)
    launched = launches(case.trace)
    return occurrences(tree, nodes["node"][0], case.classified, case.windows, launched, case.trace)


def mean_tree(case: Case) -> StepTree:
    return merged_tree(case.classified, case.windows, None, {})


def test_every_bar_of_a_node_is_told_by_start() -> None:
    made = case(*EVENTS)
    found = found_in(made, mean_tree(made), "forward", MAIN[1])

    assert found.schema == pl.Schema(OCCURRENCES)
    columns = ("step", "thread", "offset_ns", "duration_ns", "self_ns", "input_dims")
    assert found.select(columns).rows() == [
        (7, "Thread 100", 100_000, 300_000, 240_000, "8,16"),
        (8, "Thread 100", 200_000, 100_000, 80_000, None),
    ]


def test_a_row_leads_to_its_bar_and_to_its_event() -> None:
    made = case(*EVENTS)
    found = found_in(made, mean_tree(made), "forward", MAIN[1])

    for row, event, start in found.select("row", "event", "start_ns").rows():
        assert made.classified.bars.frame["event"][row] == event
        assert made.trace.events.select("name", "start_ns").row(event) == ("forward", start)


def test_kernels_launched_at_any_depth_count_and_overlapping_ones_take_their_time_once() -> None:
    made = case(*EVENTS)

    assert found_in(made, mean_tree(made), "forward", MAIN[1]).select("kernels", "kernel_ns").rows() == [
        (3, 170_000),
        (1, 30_000),
    ]
    assert found_in(made, mean_tree(made), "mul").select("kernels", "kernel_ns").rows() == [(2, 120_000)]


def test_a_bar_that_launched_nothing_has_no_kernels() -> None:
    made = case(*EVENTS)

    assert found_in(made, mean_tree(made), "forward", WORKER[1]).select("kernels", "kernel_ns").rows() == [
        (0, 0)
    ]


def test_without_any_launch_kernels_are_unknown() -> None:
    made = case(*EVENTS[:10])
    found = found_in(made, mean_tree(made), "mul")

    assert found.select("kernels", "kernel_ns").rows() == [(None, None)]
    assert found.schema == pl.Schema(OCCURRENCES)


def test_a_bar_in_a_call_that_outlasts_its_step_is_told_with_that_step() -> None:
    made = case(
        step(7, 0, 1000), step(8, 1000, 1000), op("fetch", 900, 300, WORKER), op("copy", 1100, 50, WORKER)
    )
    found = found_in(made, mean_tree(made), "copy")

    assert found.select("step", "offset_ns").rows() == [(7, 1_100_000)]


def test_root_and_threads_have_no_occurrences() -> None:
    made = case(*EVENTS)
    tree = step_tree(made.classified, made.windows, 7, {})

    assert found_in(made, tree, "ProfilerStep#7").is_empty()
    assert found_in(made, tree, WORKER[1]).is_empty()


def test_offsets_of_a_whole_trace_count_from_its_start() -> None:
    made = case(op("a", 100, 300), op("b", 150, 10))
    tree = merged_tree(made.classified, made.windows, None, {})

    assert found_in(made, tree, "b").select("step", "offset_ns").rows() == [(None, 50_000)]


def test_a_launch_of_an_event_that_is_no_bar_belongs_to_the_bar_it_runs_in() -> None:
    launching = bar("aclnnAdd", MAIN, 160, 10, "other")
    made = case(
        step(7, 0, 1000), op("a", 100, 300), op("b", 150, 30), launching, *kernel("Add", 300, 40, 160)
    )

    assert found_in(made, mean_tree(made), "b").select("kernels", "kernel_ns").rows() == [(1, 40_000)]
    assert kernels_by(made, "b")["launched_by"].to_list() == ["aclnnAdd"]


def test_a_bar_inside_another_of_the_same_node_has_its_kernels_and_the_outer_one_too() -> None:
    # The outer one starts in the step before, so that both are at the top of their step.
    bars = (op("f", 900, 300), op("f", 1010, 50))
    made = case(step(7, 0, 1000), step(8, 1000, 1000), *bars, *kernel("Add", 1100, 7, 1010))

    found = found_in(made, mean_tree(made), "f")

    assert found.select("offset_ns", "kernels", "kernel_ns").rows() == [
        (900_000, 1, 7_000),
        (10_000, 1, 7_000),
    ]


# ---------------------------------------------------------------------------------------- kernels


def kernels_by(made: Case, name: str) -> pl.DataFrame:
    return kernels_of(row_of(made.classified, name), made.classified, launches(made.trace), made.trace)


def test_the_kernels_of_a_bar_name_who_launched_them_and_how_long_before() -> None:
    found = kernels_by(case(*EVENTS), "mul")

    assert found.schema == pl.Schema(KERNELS)
    assert found.select("name", "task_type", "stream_id", "duration_ns", "launched_by", "lag_ns").rows() == [
        ("Add2", "AI_CORE", 5, 100_000, "add", 90_000),
        ("Mul", "AI_CORE", 2, 20_000, "mul", 750_000),
    ]


def test_the_kernels_of_a_bar_lead_to_their_events() -> None:
    made = case(*EVENTS)

    for event, name, start in kernels_by(made, "mul").select("event", "name", "start_ns").rows():
        assert made.trace.events.select("name", "start_ns").row(event) == (name, start)


def test_where_no_launch_is_known_a_bar_has_no_kernels() -> None:
    found = kernels_by(case(*EVENTS[:10]), "mul")

    assert found.is_empty()
    assert found.schema == pl.Schema(KERNELS)


BLANK = timeline(op("x", 0, 1))


@st.composite
def hosts(draw: st.DrawFn) -> tuple[list[Span], list[int]]:
    """Bars, and which of them launched a kernel of 10 ns each."""
    spans = draw(
        st.lists(
            st.builds(
                lambda name, start, length, thread: Span(name, start, start + length, None, thread),
                st.sampled_from("ab"),
                st.integers(0, 20),
                st.integers(0, 10),
                st.sampled_from([0, AUTOGRAD]),
            ),
            min_size=1,
            max_size=12,
        )
    )
    return spans, draw(st.lists(st.integers(0, len(spans) - 1), max_size=8))


@settings(deadline=None, max_examples=60)
@given(hosts())
def test_a_bar_has_the_kernels_of_all_below_it(drawn: tuple[list[Span], list[int]]) -> None:
    spans, launching = drawn
    kernel_starts = [1000 + 7 * at for at in range(len(launching))]
    events = pl.DataFrame(
        {
            "track": [span.thread for span in spans] + [9] * len(launching),
            "start_ns": [span.start_ns for span in spans] + kernel_starts,
            "duration_ns": [span.end_ns - span.start_ns for span in spans] + [10] * len(launching),
        }
    )
    unknown = [pl.lit(None, kind).alias(name) for name, kind in schema.EVENTS.items() if name not in events]
    trace = replace(BLANK, events=events.with_columns(unknown))
    first = len(spans)
    launched = pl.DataFrame(
        {"event": range(first, first + len(launching)), "host": launching},
        schema={"event": pl.UInt32, "host": pl.UInt32},
    )
    found = classified_spans(spans)
    windows = windows_of((None, 0, 40))
    tree = merged_tree(found, windows, None, {})

    for node in range(1, tree.nodes.height):
        for row, count, time_ns in (
            occurrences(tree, node, found, windows, launched, trace)
            .select("row", "kernels", "kernel_ns")
            .rows()
        ):
            own = [at for at, host in enumerate(launching) if row in line_of(found, host)]
            covered = {ns for at in own for ns in range(kernel_starts[at], kernel_starts[at] + 10)}
            expected = (len(own), len(covered)) if launching else (None, None)
            assert (count, time_ns) == expected
            events_of = kernels_of(row, found, launched, trace)["event"].to_list()
            assert events_of == [first + at for at in own]


def line_of(found: Classified, row: int) -> list[int]:
    """The bar and all above it."""
    line = []
    while row >= 0:
        line.append(row)
        row = int(found.bars.nesting.parent[row])
    return line


# -------------------------------------------------------------------------------------------- why


def explained() -> Classified:
    spans = [
        Span("backward", 0, 400, EMBEDDING_UPDATE),
        Span("copy_batch", 10, 50, EMBEDDING_UPDATE),
        Span("mul", 60, 70, EMBEDDING_UPDATE),
        Span("log", 500, 600),
        Span("load", 500, 690, PREPROCESSING, thread=2),
        Span("result", 600, 700, PREPROCESSING, wait=True, producer=4),
        Span("item", 800, 900, sync=True),
    ]
    rules = (
        rule_named("mine.backward", EMBEDDING_UPDATE, note="writes tables", user=True),
        rule_named("torchrec.copy_batch", PREPROCESSING),
        rule_named("result", None),
    )
    return replace(
        classified_spans(spans),
        rules=Rules(rules, sync=""),
        origin=np.array([0, 0, 0, -1, 4, 5, -1]),
        claim=np.array([0, 1, -1, -1, 1, 2, -1]),
    )


def test_a_bar_whose_own_name_decides_tells_its_rule() -> None:
    found = why(explained(), 0)

    assert (found.phase, found.rule, found.strength) == (EMBEDDING_UPDATE, "mine.backward", ANCHORED)
    assert (found.inherited_from, found.ignored_rule, found.ignored_phase) == (None, None, None)
    assert (found.frameworks, found.note, found.source) == (
        ("torchrec",), "writes tables", "source of mine.backward",
    )  # fmt: skip
    assert found.user
    assert not found.wait
    assert not found.sync


def test_a_bar_that_inherits_tells_from_whom_and_what_its_own_name_claims_in_vain() -> None:
    found = why(explained(), 1)

    assert (found.phase, found.rule, found.inherited_from) == (EMBEDDING_UPDATE, "mine.backward", "backward")
    assert (found.ignored_rule, found.ignored_phase) == ("torchrec.copy_batch", PREPROCESSING)


def test_a_bar_without_a_rule_of_its_own_claims_nothing() -> None:
    found = why(explained(), 2)

    assert (found.inherited_from, found.ignored_rule) == ("backward", None)


def test_a_claim_of_the_phase_that_is_inherited_is_not_ignored() -> None:
    found = replace(explained(), claim=np.array([0, 0, 2, -1, 1, 2, -1]))

    assert [why(found, row).ignored_rule for row in (1, 2)] == [None, None]


def test_a_bar_without_a_phase_has_no_reason() -> None:
    found = why(explained(), 3)

    assert (found.phase, found.rule, found.strength, found.source, found.frameworks) == (None,) * 4 + ((),)
    assert found.inherited_from is None


def test_a_wait_names_what_it_waited_for() -> None:
    found = why(explained(), 5)

    assert (found.wait, found.producer, found.rule, found.phase) == (True, "load", "result", PREPROCESSING)


def test_a_device_sync_says_so() -> None:
    assert why(explained(), 6).sync


def test_a_node_has_the_reason_of_its_first_bar() -> None:
    found = replace(
        classified_spans([Span("f", 50, 60, FORWARD), Span("f", 10, 20, FORWARD), Span("g", 0, 40, LOOKUP)]),
        rules=Rules((rule_named("late"), rule_named("early")), sync=""),
        claim=np.array([0, 1, 1]),
    )
    windows = windows_of((None, 0, 100))
    tree = step_tree(found, windows, None, {})

    assert [why_node(tree, int(tree.node[row]), found) for row in range(3)] == [
        why(found, row) for row in range(3)
    ]
    assert why_node(tree, 0, found) is None


@pytest.mark.parametrize(("late", "early"), [(0, 1), (1, 0)])
def test_of_several_bars_of_a_node_the_first_to_start_gives_the_reason(late: int, early: int) -> None:
    starts = {late: 50, early: 10}
    found = replace(
        classified_spans([Span("f", starts[row], starts[row] + 5, FORWARD) for row in (0, 1)]),
        rules=Rules((rule_named("of row 0"), rule_named("of row 1")), sync=""),
        claim=np.array([0, 1]),
    )
    tree = step_tree(found, windows_of((None, 0, 100)), None, {})
    reason = why_node(tree, 1, found)

    assert reason is not None
    assert reason.rule == tree.nodes["rule"][1] == f"of row {early}"
