"""H2D and D2H of the core metrics, from api_statistic or from the copies of the trace (spec M3, M4)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from analysis.fusion import Fusion
from analysis.iterations import find_iterations
from analysis.metrics import core_metrics
from analysis.options import Options
from analysis.report.markdown import markdown_report
from analysis.report.messages import LANGUAGES, Messages
from analysis.scenario import Scenario
from tests.analysis.copy_events import D2H, US, copy, execute, found, step
from tests.analysis.frames import ABSENT, api_statistic_table
from tests.analysis.report_fixtures import full_source
from tests.analysis.trace_frames import traced

if TYPE_CHECKING:
    from analysis.copies import Copies
    from analysis.notes import Missing
    from analysis.profile.tables import Table

GE_RUN = Scenario("ge", (), (), False, "inference", (), "ge", (), None, (), Fusion(None, (), (), None))
TORCH_RUN = replace(GE_RUN, framework="pytorch", scenario="training", mode="eager")


def metrics(copies: Copies, scenario: Scenario = GE_RUN, **calls_us: int) -> Any:
    """The metrics of a run with these copies, and with these totals of one call each at Level model."""
    api: Table | Missing = ABSENT
    if calls_us:
        rows = [{"name": name, "count": 1, "total_ns": total * US} for name, total in calls_us.items()]
        api = api_statistic_table(rows)
    told = traced(copies=copies)
    iterations = find_iterations(ABSENT, api, ABSENT, ABSENT, lambda: told.steps)
    return core_metrics(iterations, scenario, Options(), ABSENT, ABSENT, api, ABSENT, ABSENT, told)


def graph_run(*copies: dict[str, Any]) -> Copies:
    return found(*copies, execute(50, 100), framework="ge")


def test_graph_run_takes_copies_of_the_trace_where_api_statistic_has_none():
    run = metrics(graph_run(copy(0, 10), copy(160, 5, D2H)), ModelExecute=100)
    assert (run.h2d.value_ns, run.h2d.source) == (10 * US, "trace_copies_model_execute")
    assert (run.d2h.value_ns, run.d2h.source) == (5 * US, "trace_copies_model_execute")
    assert (run.iteration.value_ns, run.iteration.source) == (115 * US, "sum_of_parts")
    assert run.h2d.share == pytest.approx(10 / 115)


def test_graph_run_prefers_the_host_view_of_its_copies():
    run = metrics(graph_run(copy(0, 10), copy(160, 5, D2H)), InputCopy=30, ModelExecute=100, OutputCopy=20)
    assert (run.h2d.value_ns, run.d2h.value_ns, run.iteration.value_ns) == (30 * US, 20 * US, 150 * US)


def test_graph_iteration_is_unknown_without_one_of_its_parts():
    run = metrics(graph_run(copy(0, 10)), ModelExecute=100)
    assert run.h2d.value_ns == 10 * US
    assert (run.d2h, run.iteration) == (None, None)


def test_training_takes_the_copies_of_its_steps_and_adds_nothing_up():
    copies = found(step(1, 0, 100), step(2, 100, 100), copy(10, 10), copy(110, 20), copy(150, 4, D2H))
    run = metrics(copies, TORCH_RUN, InputCopy=70, ModelExecute=80, OutputCopy=90)
    assert (run.h2d.value_ns, run.h2d.source) == (15 * US, "trace_copies_step")
    assert run.d2h.value_ns == 2 * US
    assert run.iteration is None


def test_copies_outside_of_every_step_leave_h2d_unknown_with_a_note():
    run = metrics(found(step(1, 10, 90), copy(0, 5)), TORCH_RUN)
    assert run.h2d is None
    assert [note.kind for note in run.notes if note.kind.endswith("outside")] == ["h2d_outside"]


def test_copies_without_direction_leave_both_unknown_with_a_note():
    run = metrics(found(step(1, 10, 90), copy(20, 5, None)), TORCH_RUN)
    assert (run.h2d, run.d2h) == (None, None)
    assert "copies_undirected" in [note.kind for note in run.notes]


def test_nothing_is_said_about_the_trace_where_another_file_tells_both():
    run = metrics(graph_run(copy(20, 5, None)), InputCopy=30, ModelExecute=100, OutputCopy=20)
    assert "copies_undirected" not in [note.kind for note in run.notes]


@pytest.mark.parametrize("copies", [found(copy(0, 5)), found(step(1, 10, 90), copy(0, 5))])
def test_note_on_copies_of_no_iteration_is_true_with_and_without_iterations(copies: Copies):
    (note,) = (note for note in metrics(copies, TORCH_RUN).notes if note.kind == "h2d_outside")
    said = Messages("en").text(f"note.{note.kind}", note.values)
    assert said.startswith("copies to the device in the trace: 1; no iteration of the averages is known to")


@pytest.mark.parametrize("language", LANGUAGES)
def test_sources_and_notes_of_copies_have_words(language: str):
    messages = Messages(language)
    keys = ["source.trace_copies_step", "source.trace_copies_model_execute", "lacks.copies"]
    keys += ["report.unknown_time.no_direction", "report.unknown_time.outside", "lacks.launches"]
    keys += ["note.copies_undirected", "note.h2d_outside", "note.d2h_outside", "lacks.host_operators"]
    assert [key for key in keys if key not in messages] == []


@pytest.mark.parametrize(
    ("copies", "why"),
    [
        (
            found(step(1, 10, 90), copy(20, 5, None)),
            "the trace does not tell the direction of all its copies",
        ),
        (found(step(1, 10, 90), copy(0, 5)), "the copies in the trace lie in no iteration of the averages"),
        (found(copy(20, 5)), "nothing in the trace cuts iterations"),
        (found(step(1, 10, 90), copy(20, 5, D2H)), "the trace has none"),
    ],
)
def test_report_says_why_h2d_is_unknown(copies: Copies, why: str):
    source = full_source()
    known = replace(source, copies=copies, metrics=replace(source.metrics, h2d=None))
    assert f"| H2D | – | {why} |" in markdown_report(known, Messages("en"))
