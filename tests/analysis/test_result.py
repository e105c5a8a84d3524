"""One result object: computed once on demand, with progress, cancel, and Missing where a file lacks."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from shutil import copytree, rmtree
from typing import TYPE_CHECKING

import polars as pl
import pytest

from analysis import capture_files
from analysis.copies import Copies
from analysis.errors import CancelledError
from analysis.host import Host
from analysis.host_operators import HostOperators
from analysis.notes import Missing
from analysis.operators import Operators
from analysis.profile.discover import discover
from analysis.profile.tables import Table
from analysis.resources import Resources
from analysis.result import Analysis
from analysis.trace import cache
from analysis.trace.model import FREE, Trace
from tests.analysis.trace.builder import MAIN, OVERLAP, bar, named, training_events

if TYPE_CHECKING:
    from analysis.progress import FileProgress

EXAMPLES = Path(__file__).parents[1] / "examples"


def analyse(path: Path, **arguments: object) -> Analysis:
    profile = discover(path)
    return Analysis(profile, profile.select(), **arguments)  # type: ignore[arg-type]


@pytest.fixture
def training(tmp_path: Path) -> Path:
    """A copy of the training example that a test may damage."""
    (source,) = (EXAMPLES / "training_torch_npu").iterdir()
    return copytree(source, tmp_path / source.name)


def output(training: Path, name: str) -> Path:
    return training / "ASCEND_PROFILER_OUTPUT" / name


def test_each_file_is_read_once(training: Path) -> None:
    seen: list[FileProgress] = []
    analysis = analyse(training, progress=seen.append)
    for _ in range(2):
        assert isinstance(analysis.operators, Operators)
        assert isinstance(analysis.host, Host)
        assert analysis.notes == analysis.notes
    read = [event.kind for event in seen if event.state == "done"]
    assert sorted(read) == sorted(set(read))
    assert {"kernel_details", "op_statistic", "api_statistic", "step_trace_time"} <= set(read)


def test_progress_tells_rows_and_bytes(training: Path) -> None:
    seen: list[FileProgress] = []
    assert isinstance(analyse(training, progress=seen.append).kernels, Table)
    begin, *between, end = seen
    assert [event.state for event in between] == ["reading"]
    size = output(training, "kernel_details.csv").stat().st_size
    assert (begin.state, begin.done_bytes, begin.total_bytes) == ("reading", 0, size)
    assert (end.state, end.done_bytes, end.rows) == ("done", size, 13)


def test_cancel_stops_and_asking_again_goes_on(training: Path) -> None:
    stop = True
    analysis = analyse(training, cancelled=lambda: stop)
    with pytest.raises(CancelledError):
        _ = analysis.operators
    stop = False
    assert isinstance(analysis.operators, Operators)


def test_threads_share_one_computation(training: Path) -> None:
    analysis = analyse(training)
    results: list[object] = []
    threads = [threading.Thread(target=lambda: results.append(analysis.operators)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(result) for result in results}) == 1


def test_a_missing_file_is_named_with_its_hint(training: Path) -> None:
    output(training, "api_statistic.csv").unlink()
    analysis = analyse(training)
    assert analysis.host == Missing(("api_statistic",), "api")
    assert [file.kind for file in analysis.missing] == ["api_statistic"]
    assert isinstance(analysis.operators, Operators)
    assert not analysis.damaged


def test_an_unreadable_file_costs_only_its_own_results(training: Path) -> None:
    output(training, "api_statistic.csv").write_bytes(b"\xff\x00")
    analysis = analyse(training)
    assert isinstance(analysis.host, Missing)
    assert analysis.host.unreadable
    assert isinstance(analysis.operators, Operators)
    assert analysis.damaged
    (note,) = (note for note in analysis.notes if note.kind == "file_unreadable")
    assert (note.file, note.line) == ("ASCEND_PROFILER_OUTPUT/api_statistic.csv", 1)
    assert {file.kind: file.state for file in analysis.files}["api_statistic"] == "failed"


def test_op_summary_stands_in_for_an_unreadable_kernel_details(training: Path) -> None:
    output(training, "kernel_details.csv").write_bytes(b"")
    analysis = analyse(training)
    assert isinstance(analysis.kernels, Table)
    assert "op_summary" in analysis.kernels.file
    states = {file.kind: file.state for file in analysis.files}
    assert (states["kernel_details"], states["op_summary"]) == ("failed", "read")
    assert analysis.damaged


def test_a_broken_metadata_file_is_noted_once(training: Path) -> None:
    (training / "profiler_metadata.json").write_text("{")
    analysis = analyse(training)
    assert analysis.metadata.profiler_level == "Level1"
    assert [note.kind for note in analysis.notes if note.damage] == ["file_unreadable"]


def test_the_trace_tells_what_the_tables_leave_open(training: Path) -> None:
    # The example has no gradient operators in its tables.
    add_event(training, bar("loss.backward", ("4242", "4242"), "1767607200000300.000", 5, "cpu_op"))
    analysis = analyse(training)
    assert analysis.scenario.scenario == "training"
    assert analysis.scenario.scenario_evidence[0].kind == "backward_events"
    output(training, "trace_view.json").unlink()
    without = analyse(training)
    assert without.scenario.scenario == "inference"
    assert without.scenario.scenario_evidence[-1].kind == "no_trace"


def add_event(training: Path, *events: dict[str, object]) -> None:
    """Write more events to the end of the trace."""
    file = output(training, "trace_view.json")
    file.write_text(json.dumps([*json.loads(file.read_text()), *events]))


def test_operators_come_without_the_trace_where_the_tables_decide(training: Path) -> None:
    seen: list[FileProgress] = []
    with_gradient(training)
    analysis = analyse(training, progress=seen.append)
    assert isinstance(analysis.operators, Operators)
    assert isinstance(analysis.averaged_kernels, pl.DataFrame)
    assert analysis.iterations.source == "step_trace_time"
    assert analysis.scenario.mode == "eager"
    assert "trace_view" not in {event.kind for event in seen}
    assert analysis.metrics.host_step is not None
    assert "trace_view" in {event.kind for event in seen}


def with_gradient(training: Path) -> None:
    """Make one kernel of the example a gradient operator."""
    for name in ("kernel_details.csv", "op_statistic.csv"):
        file = output(training, name)
        file.write_text(file.read_text().replace("Mul,", "MulGrad,"))


def test_the_trace_is_read_once_and_counted_in_bars(training: Path) -> None:
    seen: list[FileProgress] = []
    analysis = analyse(training, progress=seen.append)
    assert isinstance(analysis.trace, Trace)
    assert isinstance(analysis.host_operators, HostOperators)
    assert isinstance(analysis.copies, Copies)
    assert not isinstance(analysis.trace_summary, Missing)
    assert analysis.trace_source is not None
    (entry,) = (entry for entry in analysis.files if entry.kind == "trace_view")
    assert (entry.state, entry.rows) == ("read", analysis.trace.events.height)
    done = [event for event in seen if event.kind == "trace_view" and event.state == "done"]
    assert [event.rows for event in done] == [entry.rows]


def test_cancel_while_the_trace_is_read_leaves_it_to_be_read_again(training: Path) -> None:
    seen: list[FileProgress] = []
    patient = False

    def cancelled() -> bool:
        return bool(seen) and not patient

    analysis = analyse(training, progress=seen.append, cancelled=cancelled)
    with pytest.raises(CancelledError):
        _ = analysis.trace
    assert [event.state for event in seen] == ["reading"]
    patient = True
    assert isinstance(analysis.trace, Trace)
    assert seen[-1].state == "done"


def test_a_trace_that_was_read_before_comes_from_the_cache(
    training: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "SMALLEST_SOURCE", 0)
    resources = Resources(cache=tmp_path / "cache")
    first = analyse(training, resources=resources).trace
    assert isinstance(first, Trace)

    def never(*_: object, **__: object) -> Trace:
        raise AssertionError

    monkeypatch.setattr(capture_files, "read_trace", never)
    second = analyse(training, resources=resources)
    assert isinstance(second.trace, Trace)
    assert second.trace.events.equals(first.events)
    assert not second.damaged


def test_communication_json_is_counted_in_operations(training: Path) -> None:
    found = [(entry.state, entry.rows) for entry in analyse(training).files if entry.kind == "communication"]
    assert found == [("read", 5), ("passed_over", None)]


def test_an_unreadable_trace_costs_only_its_own_results(training: Path) -> None:
    output(training, "trace_view.json").write_bytes(b"no trace")
    (training / "PROF_000001_20260105101500200_ABCDEFGHIJKLMNOP" / "mindstudio_profiler_output").rename(
        training.parent / "elsewhere"
    )
    analysis = analyse(training)
    for result in (analysis.trace, analysis.trace_steps, analysis.launches, analysis.copies):
        assert isinstance(result, Missing)
        assert result.unreadable
    assert isinstance(analysis.host_operators, Missing)
    assert analysis.trace_source is None
    assert isinstance(analysis.operators, Operators)
    assert analysis.metrics.host_step is None
    assert {file.kind: file.state for file in analysis.files}["trace_view"] == "failed"
    (note,) = (note for note in analysis.notes if note.damage)
    assert (note.kind, note.file) == ("file_unreadable", "ASCEND_PROFILER_OUTPUT/trace_view.json")


def test_faults_of_the_trace_are_noted_and_lost_events_are_damage(training: Path) -> None:
    add_event(training, bar("aten::lost", ("4242", "4242"), "1767607200000300.000", -5))
    analysis = analyse(training)
    (note,) = (note for note in analysis.notes if note.kind == "trace_negative_dur")
    assert (note.values, note.damage) == ({"count": "1", "example": "aten::lost"}, True)
    assert note.file == "ASCEND_PROFILER_OUTPUT/trace_view.json"
    assert analysis.damaged


def test_doubts_of_the_phases_are_notes_of_the_trace(tmp_path: Path) -> None:
    odd = bar("ProfilerStep#x", MAIN, 5000, 5, "cpu_op")
    (tmp_path / "trace_view.json").write_text(json.dumps(named([*training_events(), odd])))
    analysis = analyse(tmp_path)
    assert not isinstance(analysis.phases, Missing)
    doubts = analysis.phases.windows.doubts
    assert "steps_unnumbered" in {note.kind for note in doubts}
    told = {note.kind: note for note in analysis.notes}
    assert [told[note.kind].values for note in doubts] == [note.values for note in doubts]
    assert {told[note.kind].file for note in doubts} == {"trace_view.json"}


def test_a_trace_that_is_cut_is_used_and_noted(training: Path) -> None:
    file = output(training, "trace_view.json")
    text = file.read_text()
    file.write_text(text[: text.rindex('"ph"')])
    analysis = analyse(training)
    assert isinstance(analysis.trace, Trace)
    assert [note.kind for note in analysis.notes if note.damage] == ["trace_cut"]
    assert analysis.metrics.host_step is not None


def test_devices_of_one_trace_are_never_mixed(training: Path) -> None:
    add_event(training, *named([bar("Free", (OVERLAP, "Free"), "1767607200000000.000", 900)], device=1))
    analysis = analyse(training)
    assert isinstance(analysis.trace, Trace)
    assert analysis.trace.on(FREE).height == 5
    (note,) = (note for note in analysis.notes if note.kind == "other_devices")
    assert note.values == {"used": 0, "others": "1"}


def test_the_user_s_chip_gives_the_cores(training: Path) -> None:
    from analysis.options import Options

    assert analyse(training).cores.aic is None
    assert analyse(training, options=Options(facts={"chip": "Ascend910B3"})).cores.aiv == 40


def test_devices_of_one_file_are_never_mixed() -> None:
    profile = discover(EXAMPLES / "layouts" / "multi_device")
    for rank, start in ((0, 1767691800000010000), (1, 1767691800000011000)):
        kernels = Analysis(profile, profile.select(rank)).kernels
        assert isinstance(kernels, Table)
        assert kernels.frame["start_ns"].to_list() == [start]


def test_a_second_device_in_a_capture_of_one_rank_is_left_out_and_named(training: Path) -> None:
    file = output(training, "kernel_details.csv")
    lines = file.read_text().splitlines()
    other = lines[1].replace("10,0,", "10,1,", 1)
    file.write_text("\n".join([*lines, other, ""]))
    analysis = analyse(training)
    assert isinstance(analysis.kernels, Table)
    assert analysis.kernels.frame.height == 13
    (note,) = (note for note in analysis.notes if note.kind == "other_devices")
    assert note.values == {"used": 0, "others": "1"}


def test_slices_are_one_file_in_the_list() -> None:
    analysis = analyse(EXAMPLES / "layouts" / "sliced")
    assert isinstance(analysis.kernels, Table)
    assert analysis.kernels.frame.height == 2
    (entry,) = (entry for entry in analysis.files if entry.kind == "op_summary")
    assert entry.path.endswith("(+1)")
    assert entry.rows == 2


def test_a_profile_that_goes_away_after_it_was_read_keeps_its_results(tmp_path: Path) -> None:
    folder = Path(copytree(EXAMPLES / "training_torch_npu", tmp_path / "gone"))
    analysis = analyse(folder)
    assert isinstance(analysis.trace, Trace)
    rmtree(folder)
    assert isinstance(analysis.kernels, Missing)
    states = {entry.kind: entry.state for entry in analysis.files}
    assert (states["trace_view"], states["kernel_details"]) == ("read", "failed")
    assert analysis.damaged


def test_a_tree_can_be_asked_for_after_the_load_was_stopped(tmp_path: Path) -> None:
    (tmp_path / "trace_view.json").write_text(json.dumps(named(training_events())))
    stop = False
    analysis = analyse(tmp_path, cancelled=lambda: stop)
    assert not isinstance(analysis.phases, Missing)
    stop = True
    assert not isinstance(analysis.call_tree(None), Missing)
    assert not isinstance(analysis.aten_tree(None), Missing)
