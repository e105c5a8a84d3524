"""Traces whose file was cut short: which steps may have lost events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pytest
from jsonschema import Draft202012Validator

from analysis.copies import Copies
from analysis.custom_operators import CustomOperators
from analysis.cut_trace import with_lossy
from analysis.host_bars import host_bars
from analysis.notes import Missing
from analysis.phases.tables import is_fused
from analysis.phases.windows import find_windows
from analysis.profile.discover import discover
from analysis.report.chapters.asynchrony import pair_sentences
from analysis.report.json import json_report, report_schema
from analysis.report.markdown import markdown_report
from analysis.report.messages import Messages
from analysis.result import Analysis
from analysis.trace.steps import trace_steps
from tests.analysis.phases.hand_made import WORKER, averages, op, step
from tests.analysis.phases.simulated import simulate
from tests.analysis.trace.builder import cut_short, timeline

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from analysis.phases.model import Windows

STEPS = (step(1, 0, 100), step(2, 100, 100), step(3, 200, 100))


def windows_of(*events: dict[str, Any], excluded: int | None = None, cut: bool = True) -> Windows:
    """The windows of a trace of these events, whose file was cut short behind them."""
    trace = cut_short(timeline(*events)) if cut else timeline(*events)
    steps = trace_steps(trace)
    bars = host_bars(trace, steps)
    judged = with_lossy(steps, bars, excluded) if cut else steps
    found = find_windows(trace, bars, judged, averages(excluded))
    assert found is not None
    return found


def averaged(found: Windows) -> list[int]:
    return found.averaged["step"].to_list()


def test_a_whole_file_loses_nothing() -> None:
    found = windows_of(*STEPS, op("a", 10, 5), cut=False)
    assert (found.cut, found.lossy, averaged(found)) == (False, (), [1, 2, 3])


def test_steps_from_the_last_bar_on_may_have_lost_some() -> None:
    found = windows_of(*STEPS, op("a", 10, 5), op("a", 150, 5), op("a", 210, 5))
    assert (found.cut, found.lossy, averaged(found)) == (True, (3,), [1, 2])


def test_bars_may_stand_behind_others_that_start_later() -> None:
    # The last but one stands 60 us late: what is lost may start from 150 us on.
    found = windows_of(*STEPS, op("a", 10, 5), op("a", 210, 5), op("a", 150, 1), op("a", 205, 2))
    assert (found.lossy, averaged(found)) == ((2, 3), [1])


def test_bars_in_the_order_of_their_ends_are_taken_so() -> None:
    outer = op("outer", 105, 85)
    found = windows_of(*STEPS, op("a", 10, 5), op("a", 110, 5), outer, op("a", 195, 20))
    # By their starts, 5 us late; by their ends none is, and the last end is at 215.
    assert found.lossy == (3,)


def test_other_threads_do_not_tell_how_far_the_main_one_goes() -> None:
    found = windows_of(*STEPS, op("a", 10, 5), op("a", 150, 5), op("b", 290, 5, WORKER))
    assert found.lossy == (2, 3)


def test_where_every_step_may_have_lost_bars_none_is_left_out() -> None:
    found = windows_of(*STEPS, op("a", 250, 5), op("a", 10, 5))
    assert (found.cut, found.lossy, averaged(found)) == (True, (), [1, 2, 3])


def test_the_compile_step_is_told_apart() -> None:
    found = windows_of(*STEPS, op("a", 10, 5), op("a", 150, 5), op("a", 210, 5), excluded=1)
    assert (found.compile_steps, found.lossy, averaged(found)) == ((1,), (3,), [2])


def test_a_cut_trace_without_steps_says_so() -> None:
    found = windows_of(op("a", 10, 5))
    assert (found.cut, found.lossy, found.whole_trace) == (True, (), True)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_means_of_a_cut_file_are_of_whole_steps(tmp_path: Path, share: float) -> None:
    simulated = simulate("--flavour torchrec --steps 8 --seed 3", tmp_path)
    whole = simulated.phases.times.by_step
    (file,) = tmp_path.rglob("trace_view.json")
    text = file.read_bytes()
    file.write_bytes(text[: int(share * len(text))])
    analysis = Analysis(profile := discover(tmp_path), profile.captures[0])
    phases, operators = analysis.phases, analysis.host_operators
    assert not isinstance(phases, Missing)
    assert not isinstance(operators, Missing)
    assert phases.windows.cut
    host_step = analysis.metrics.host_step
    assert host_step is not None
    assert host_step.value_ns == phases.times.mean_remainder["step_ns"]
    assert operators.steps == phases.windows.averaged.height
    assert _times(phases.times.by_step, averaged(phases.windows)) == _times(whole, averaged(phases.windows))


@pytest.fixture(scope="module")
def cut_analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """A simulated profile whose trace lost its last tenth, where most bars of the device stand."""
    folder = tmp_path_factory.mktemp("cut")
    simulate("--flavour torchrec --steps 8 --seed 3", folder)
    (file,) = folder.rglob("trace_view.json")
    text = file.read_bytes()
    file.write_bytes(text[: int(0.9 * len(text))])
    return Analysis(profile := discover(folder), profile.captures[0])


def test_times_per_step_of_the_device_are_unknown(cut_analysis: Analysis) -> None:
    copies, custom = cut_analysis.copies, cut_analysis.custom_operators
    assert isinstance(copies, Copies)
    assert isinstance(custom, CustomOperators)
    assert copies.by_direction["per_iteration_ns"].null_count() == copies.by_direction.height > 0
    assert custom.kernels["per_step_ns"].null_count() == custom.kernels.height > 0
    report = markdown_report(cut_analysis, Messages("en"))
    assert "may have lost copies of any iteration, so there is no time per iteration" in report
    assert "may have lost kernels of any step: these are the ones that are left" in report


def test_counts_of_what_is_left_stand_beside_no_counts_of_whole_files(cut_analysis: Analysis) -> None:
    (custom,) = [extra for extra in cut_analysis.extras if extra.kind == "custom_operators"]
    assert (custom.count, custom.total_ns) == (None, None)
    assert not [check for check in cut_analysis.metrics.checks if check.kind.startswith("trace_")]


def test_the_device_tells_nothing_of_pairs(cut_analysis: Analysis) -> None:
    phases = cut_analysis.phases
    assert not isinstance(phases, Missing)
    for pair in phases.pairs:
        assert (pair.device_ratio, pair.device_ns, pair.hideable_ns) == (None, None, None)
        assert (pair.verdict, pair.unobservable) in {("threads", None), ("not_observable", "cut")}
    unknown = [pair for pair in phases.pairs if pair.unobservable]
    assert [is_fused(phases.times, pair) for pair in unknown] == [False, True]
    for pair in unknown:
        told = pair_sentences(pair, phases, Messages("en"))
        assert [text for text in told if "so the device tells nothing" in text], told
    loaded = orjson.loads(json_report(cut_analysis, Messages("en")))
    Draft202012Validator(report_schema()).validate(loaded)


@pytest.mark.parametrize(("end", "cut"), [(b"", False), (b"[{", True)])
def test_what_a_cut_trace_lacks_may_be_in_its_lost_end(tmp_path: Path, end: bytes, cut: bool) -> None:
    events = orjson.dumps([op("a", 0, 5)])
    folder = tmp_path / "node_1_20260101000000000_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    folder.mkdir(parents=True)
    (folder / "trace_view.json").write_bytes(events[:-1] + b"," + end if cut else events)
    analysis = Analysis(profile := discover(tmp_path), profile.captures[0])
    copies = analysis.copies
    assert isinstance(copies, Missing)
    assert (copies.lacks, copies.cut) == ("copies", cut)


def _times(by_step: Any, steps: Sequence[int]) -> list[tuple[Any, ...]]:
    """Times on the main thread in these steps."""
    rows = by_step.filter(by_step["step"].is_in(list(steps)))
    return list(rows.select("step", "phase", "main_thread_ns").iter_rows())
