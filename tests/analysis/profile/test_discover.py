"""Layouts, ranks, slices, export generations and the choice among several op_summary files."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from analysis.errors import NotAProfileError, UsageError
from analysis.profile.discover import Capture, discover
from analysis.profile.tables import Table
from analysis.result import Analysis

EXAMPLES = Path(__file__).parents[2] / "examples"
LAYOUTS = EXAMPLES / "layouts"
PROF = "PROF_000001_20260106090000111_ABCDEFGHIJKLMNOP"
OP_SUMMARY = "Device_id,Op Name,OP Type,Task Start Time(us),Task Duration(us)\n0,a,Add,1.000\t,2.000\n"


def write(folder: Path, name: str, text: str = OP_SUMMARY) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def only_capture(path: Path) -> Capture:
    (capture,) = discover(path).captures
    return capture


def used(capture: Capture, kind: str = "op_summary") -> list[str]:
    return [part.name for part in capture.files[kind].parts]


def passed(capture: Capture) -> dict[str, str]:
    return {other.path.name: other.reason for other in capture.passed_over}


@pytest.mark.parametrize("below", ["", "ASCEND_PROFILER_OUTPUT"])
def test_torch_npu_directory_and_its_output_folder_are_the_same_capture(below: str) -> None:
    (folder,) = (EXAMPLES / "training_torch_npu").iterdir()
    capture = only_capture(folder / below)
    assert (capture.producer, capture.rank, capture.rank_source) == ("torch_npu", 0, "profiler_info")
    assert used(capture, "kernel_details") == ["kernel_details.csv"]


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_msprof_is_found_from_parent_prof_and_output(depth: int) -> None:
    path = EXAMPLES / "inference_msprof"
    for _ in range(depth):
        (path,) = (entry for entry in path.iterdir() if entry.is_dir())
    capture = only_capture(path)
    assert (capture.producer, capture.rank, capture.rank_source) == ("msprof", 0, "device_id")
    assert {"op_summary", "op_statistic", "api_statistic", "step_trace", "fusion_op"} <= capture.files.keys()


def test_slices_with_different_stamps_are_one_file() -> None:
    capture = only_capture(LAYOUTS / "sliced")
    assert used(capture) == ["op_summary_slice_0_20260106100130.csv", "op_summary_slice_1_20260106100131.csv"]
    assert len(capture.files["msprof_timeline"].parts) == 2


def test_one_file_with_two_devices_is_two_captures() -> None:
    captures = discover(LAYOUTS / "multi_device").captures
    assert [(capture.rank, capture.device) for capture in captures] == [(0, 0), (1, 1)]


def test_communication_only_file_loads() -> None:
    assert used(only_capture(LAYOUTS / "comm_only")) == ["op_summary_20260106120100.csv"]


def test_device_of_the_old_layout_comes_from_its_folder() -> None:
    capture = only_capture(LAYOUTS / "old_per_device")
    assert (capture.rank, capture.rank_source, capture.device) == (0, "device_id", None)
    assert {"op_summary", "step_trace", "msprof_timeline", "task_time"} <= capture.files.keys()


def test_ranks_of_a_parent_come_from_profiler_info() -> None:
    profile = discover(LAYOUTS / "multi_rank_parent")
    assert [capture.rank for capture in profile.captures] == [0, 1]
    assert profile.select().rank == 0
    assert profile.select(1).name.startswith("node02")


def test_an_unknown_rank_lists_those_there() -> None:
    with pytest.raises(UsageError, match=r"no rank 7 .*0, 1"):
        discover(LAYOUTS / "multi_rank_parent").select(7)


@pytest.mark.parametrize(
    ("info", "folder", "rank", "source"),
    [
        ({"profiler_info_3.json": '{"rank_id": 9}'}, "w_ascend_pt", 3, "profiler_info"),
        ({"profiler_info.json": '{"rank_id": "4"}'}, "w_ascend_pt", 4, "profiler_info"),
        ({"profiler_info.json": '{"rank_id": -1}'}, "rank6_ascend_pt", 6, "folder_name"),
        (
            {"profiler_metadata.json": '{"distributed_args": {"rank": 5}}'},
            "w_ascend_pt",
            5,
            "profiler_metadata",
        ),
        ({}, "rank_2_ascend_pt", 2, "folder_name"),
        ({}, "w_ascend_pt", 1, "device_id"),
    ],
)
def test_order_of_what_names_the_rank(
    tmp_path: Path, info: dict[str, str], folder: str, rank: int, source: str
) -> None:
    for name, text in info.items():
        write(tmp_path / folder, name, text)
    header = "Device_id,Step,Computing,Communication(Not Overlapped),Communication,Free"
    write(tmp_path / folder / "ASCEND_PROFILER_OUTPUT", "step_trace_time.csv", f"{header}\n1,,1,1,1,1\n")
    capture = only_capture(tmp_path)
    assert (capture.rank, capture.rank_source) == (rank, source)


def test_a_broken_profiler_info_costs_only_the_rank(tmp_path: Path) -> None:
    folder = tmp_path / "w_ascend_pt"
    write(folder, "profiler_info.json", "{")
    write(folder / "ASCEND_PROFILER_OUTPUT", "kernel_details.csv")
    profile = discover(tmp_path)
    assert profile.captures[0].files.keys() == {"kernel_details"}
    assert [(note.kind, note.damage) for note in profile.notes] == [("metadata_unreadable", True)]


def test_the_newest_export_of_a_module_counts(tmp_path: Path) -> None:
    for stamp in (20260106090130, 20260107090130, 20260105090130):
        write(tmp_path / PROF / "mindstudio_profiler_output", f"op_summary_{stamp}.csv")
    capture = only_capture(tmp_path)
    assert used(capture) == ["op_summary_20260107090130.csv"]
    assert set(passed(capture).values()) == {"older_export"}


def test_slices_of_an_older_export_do_not_mix_in(tmp_path: Path) -> None:
    output = tmp_path / PROF / "mindstudio_profiler_output"
    for number, stamp in [(0, 30), (1, 31), (2, 32), (0, 50), (1, 50)]:
        write(output, f"op_summary_slice_{number}_202601060901{stamp}.csv")
    capture = only_capture(tmp_path)
    assert used(capture) == ["op_summary_slice_0_20260106090150.csv", "op_summary_slice_1_20260106090150.csv"]
    assert len(capture.passed_over) == 3


def test_op_summary_without_operator_names_is_passed_over(tmp_path: Path) -> None:
    output = tmp_path / PROF / "mindstudio_profiler_output"
    nameless = "Device_id,OP Type,Task Start Time(us),Task Duration(us)\n0,Add,1.0,2.0\n"
    write(output, "op_summary_20260109090130.csv", nameless)
    write(output, "op_summary_no_op_name_20260108090130.csv")
    write(output, "run_output_op_summary_20260107090130.csv")
    write(output, "full_op_summary_20260106090130.csv")
    capture = only_capture(tmp_path)
    assert used(capture) == ["full_op_summary_20260106090130.csv"]
    assert set(passed(capture).values()) == {"less_complete"}


def test_an_op_summary_whose_names_are_all_na_loses(tmp_path: Path) -> None:
    output = tmp_path / PROF / "mindstudio_profiler_output"
    write(output, "a_op_summary_20260109090130.csv", OP_SUMMARY.replace("0,a,", "0,N/A,"))
    write(output, "b_op_summary_20260106090130.csv")
    assert used(only_capture(tmp_path)) == ["b_op_summary_20260106090130.csv"]


def test_models_of_one_device_in_the_old_layout_are_one_file(tmp_path: Path) -> None:
    folder = tmp_path / PROF / "device_0" / "summary"
    write(folder, "op_summary_0_1_20230919172400.csv")
    write(folder, "op_summary_0_2_20230919172401.csv")
    assert len(used(only_capture(tmp_path))) == 2


def test_msprof_tx_and_communication_statistic_are_other_files(tmp_path: Path) -> None:
    output = tmp_path / PROF / "mindstudio_profiler_output"
    write(output, "msprof_tx_20260106090130.json", "[]")
    write(output, "communication_statistic_20260106090130.csv")
    write(output, "op_summary_20260106090130.csv")
    assert only_capture(tmp_path).files.keys() == {"op_summary"}


def test_graph_files_are_listed_with_the_profile() -> None:
    kinds = {graph.kind: len(graph.parts) for graph in discover(EXAMPLES).graphs}
    assert kinds == {"ge_dump": 2, "inductor_code": 4}


@pytest.mark.parametrize("name", ["trace_view.json", "worker0.pt.trace.json", "any_rank-3.json.gz"])
def test_a_single_trace_opens_alone(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    text = b'[{"ph": "X", "name": "aten::add", "ts": "1.000", "dur": 1}]'
    file.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    assert len(only_capture(file).files) == 1


@pytest.mark.parametrize("text", [b"", b"garbage", b'{"a": 1}', b"\x1f\x8bcut"])
def test_a_file_that_does_not_begin_like_a_trace_is_refused(tmp_path: Path, text: bytes) -> None:
    for name in ("x.json", "x.json.gz"):
        (tmp_path / name).write_bytes(text)
        with pytest.raises(NotAProfileError, match=r"is no trace|cannot be read"):
            discover(tmp_path / name)


def test_of_captures_with_one_rank_the_fullest_comes_first(tmp_path: Path) -> None:
    for number, names in (("1", ["op_summary"]), ("2", ["op_summary", "op_statistic", "api_statistic"])):
        for name in names:
            folder = tmp_path / PROF.replace("000001", f"00000{number}") / "mindstudio_profiler_output"
            write(folder, f"{name}_20260106090130.csv")
    assert len(discover(tmp_path).captures[0].files) == 3


def test_a_profile_is_named_after_its_folder_not_its_output_folder(tmp_path: Path) -> None:
    write(tmp_path / "run7_ascend_pt" / "ASCEND_PROFILER_OUTPUT", "kernel_details.csv")
    assert discover(tmp_path / "run7_ascend_pt" / "ASCEND_PROFILER_OUTPUT").name == "run7_ascend_pt"


def test_a_path_that_is_no_utf8_reads_like_any_other(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"run\xff_ascend_pt") / "ASCEND_PROFILER_OUTPUT"
    write(folder, "kernel_details.csv")
    profile = discover(tmp_path)
    kernels = Analysis(profile, profile.select()).kernels
    assert isinstance(kernels, Table)
    assert kernels.frame.height == 1


def test_a_graph_file_is_named_like_one(tmp_path: Path) -> None:
    write(tmp_path / "w_ascend_pt", "kernel_details.csv")
    with pytest.raises(UsageError, match="neither a GE dump"):
        discover(tmp_path, [write(tmp_path, "notes.txt")])


def test_a_name_with_odd_characters_is_a_name(tmp_path: Path) -> None:
    folder = tmp_path / "run [7] 模型|*_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    write(folder, "kernel_details.csv")
    assert only_capture(tmp_path).name == "run [7] 模型|*_ascend_pt"


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (lambda folder: folder / "gone", "(?i)no such file"),
        (lambda folder: folder, "holds no profile"),
        (lambda folder: write(folder, "notes.txt").parent, "holds no profile"),
        (lambda folder: write(folder, "kernel_details.csv"), "single file; give the directory"),
        (
            lambda folder: write(folder, "ge_onnx_00000042_graph_1_Build.pbtxt").parent,
            "graphs but no profile",
        ),
        (lambda folder: write(folder, "msprof_20260101000000.db").parent, "database"),
    ],
)
def test_what_is_no_profile_is_refused_with_what_to_do(tmp_path: Path, prepare, reason: str) -> None:
    with pytest.raises(NotAProfileError, match=reason) as error:
        discover(prepare(tmp_path))
    assert "\n" not in str(error.value)


def test_a_link_loop_ends(tmp_path: Path) -> None:
    folder = tmp_path / "w_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    write(folder, "kernel_details.csv")
    (folder / "again").symlink_to(tmp_path, target_is_directory=True)
    assert len(discover(tmp_path).captures) == 1


def test_a_missing_slice_is_told(tmp_path: Path) -> None:
    for number in (0, 2):
        write(tmp_path, f"op_summary_slice_{number}_20260106090000.csv")
    (note,) = discover(tmp_path).notes
    assert (note.kind, note.values["slices"], note.damage) == ("slices_missing", "1", True)


@pytest.mark.parametrize(
    ("text", "producer"),
    [
        ('[{"ph":"X","name":"aten::mm","cat":"cpu_op"}]', "torch_npu"),
        ('[{"ph":"M","name":"process_name","args":{"name":"Ascend Hardware"}}]', "msprof"),
        ('{"traceEvents":[{"ph":"X","cat":"cpu_op"}]}', "kineto"),
    ],
)
def test_the_writer_of_a_trace_of_any_name_is_known_by_its_content(
    tmp_path: Path, text: str, producer: str
) -> None:
    assert only_capture(write(tmp_path, "anything.json", text)).producer == producer


def test_a_small_packed_trace_that_was_cut_opens(tmp_path: Path) -> None:
    packed = gzip.compress(b'[{"ph":"X","name":"aten::mm"},' + os.urandom(3000).hex().encode())
    path = tmp_path / "trace_view.json.gz"
    path.write_bytes(packed[: len(packed) // 2])
    assert only_capture(path).producer == "torch_npu"
