"""The analysis against the bookkeeping of the sample's generator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from analysis.demo import write_sample
from analysis.host import Host
from analysis.notes import Missing
from analysis.operators import Operators
from analysis.profile.discover import discover
from analysis.result import Analysis
from analysis.steps import StepDecomposition

if TYPE_CHECKING:
    from analysis.demo.answers import Answers
    from analysis.metrics import NamedTime


@pytest.fixture(scope="module", params=["training", "inference"])
def sample(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Analysis, Answers]:
    written = write_sample(request.param, tmp_path_factory.mktemp(request.param))
    profile = discover(written.path)
    return Analysis(profile, profile.select()), written.answers


def value(time: NamedTime | None) -> int | None:
    return None if time is None else time.value_ns


def operators_of(analysis: Analysis) -> Operators:
    assert isinstance(analysis.operators, Operators)
    return analysis.operators


def frame(table: object) -> pl.DataFrame:
    assert isinstance(table, pl.DataFrame)
    return table


def test_iterations_and_the_compile_iteration(sample: tuple[Analysis, Answers]) -> None:
    analysis, answers = sample
    iterations = analysis.metrics.iterations
    assert (iterations.recorded, iterations.count) == (answers.recorded, answers.averaged)
    assert iterations.excluded_first_ns == answers.excluded_first_ns
    assert analysis.scenario.scenario == answers.scenario


def test_named_times(sample: tuple[Analysis, Answers]) -> None:
    analysis, answers = sample
    metrics = analysis.metrics
    assert value(metrics.model_execute) == answers.model_execute_ns
    assert value(metrics.device_iteration) == answers.device_iteration_ns
    assert value(metrics.device_step) == answers.device_step_ns
    assert value(metrics.op_time) == answers.op_time_ns
    if answers.scenario == "inference":
        assert (value(metrics.h2d), value(metrics.d2h)) == (answers.h2d_ns, answers.d2h_ns)
        assert value(metrics.iteration) == answers.iteration_ns


def test_operator_share_and_dispatch(sample: tuple[Analysis, Answers]) -> None:
    analysis, answers = sample
    assert analysis.metrics.op_share == pytest.approx(answers.op_share, rel=1e-5)
    assert analysis.metrics.dispatch_bound == answers.dispatch_bound


def test_every_operator_type(sample: tuple[Analysis, Answers]) -> None:
    analysis, answers = sample
    columns = ("op_type", "core_type", "count", "total_ns", "min_ns", "max_ns")
    found = set(frame(operators_of(analysis).by_type).select(columns).iter_rows())
    assert found == {
        (total.op_type, total.core_type, total.count, total.total_ns, total.min_ns, total.max_ns)
        for total in answers.by_type
    }
    assert operators_of(analysis).compute_ns == answers.compute_ns
    assert operators_of(analysis).communication_ns == answers.communication_ns


def test_every_problem_group(sample: tuple[Analysis, Answers]) -> None:
    analysis, answers = sample
    columns = (
        "problem",
        "name",
        "op_type",
        "core_type",
        "input_shapes",
        "output_shapes",
        "count",
        "total_ns",
    )
    found = set(frame(operators_of(analysis).problems).select(columns).iter_rows())
    assert found == {tuple(getattr(group, column) for column in columns) for group in answers.problems}


def test_every_host_api(sample: tuple[Analysis, Answers]) -> None:
    analysis, answers = sample
    assert isinstance(analysis.host, Host)
    columns = ("level", "name", "count", "total_ns", "min_ns", "max_ns")
    found = set(analysis.host.apis.select(columns).iter_rows())
    assert found == {tuple(getattr(api, column) for column in columns) for api in answers.apis}


def test_step_decomposition(sample: tuple[Analysis, Answers]) -> None:
    analysis, answers = sample
    if answers.step_mean is None:
        assert isinstance(analysis.metrics.step_trace, Missing)
        return
    mean = analysis.metrics.step_trace
    assert isinstance(mean, StepDecomposition)
    for part in (
        "computing_ns",
        "communication_ns",
        "not_overlapped_ns",
        "overlapped_ns",
        "free_ns",
        "wall_ns",
    ):
        assert getattr(mean, part) == pytest.approx(getattr(answers.step_mean, part), abs=1), part
    assert mean.exposed_share == pytest.approx(answers.exposed_share)
    assert mean.free_share == pytest.approx(answers.free_share)


def test_the_files_of_the_sample_agree(sample: tuple[Analysis, Answers]) -> None:
    analysis, _ = sample
    assert analysis.metrics.checks
    assert all(check.agrees for check in analysis.metrics.checks)
    assert not analysis.damaged
