"""One result object: computed once on demand, with progress, cancel, and Missing where a file lacks."""

from __future__ import annotations

import threading
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING

import pytest

from analysis.errors import CancelledError
from analysis.host import Host
from analysis.notes import Missing
from analysis.operators import Operators
from analysis.profile.discover import discover
from analysis.profile.tables import Table
from analysis.result import Analysis

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


def test_a_trace_that_is_not_read_is_named_where_it_could_settle_the_scenario(training: Path) -> None:
    analysis = analyse(training)
    assert analysis.scenario.scenario == "inference"
    assert "scenario_without_trace" in [note.kind for note in analysis.notes]
    output(training, "trace_view.json").unlink()
    assert "scenario_without_trace" not in [note.kind for note in analyse(training).notes]


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
