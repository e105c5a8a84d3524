"""CSV files as canonical tables: units, quotes, old spellings, and what damage costs."""

from __future__ import annotations

import gzip
from decimal import Decimal
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import CancelledError, MissingColumnError, UnreadableFileError
from analysis.profile.discover import SourceFile
from analysis.profile.tables import Table, read_table

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "Step Id,Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Input Shapes,aic_mac_ratio"
ROW = (
    '7,0,aclnnMatmul_MatMulCommon_MatMulV2,MatMulV2,AI_CORE,1736408883704643.212\t,53.741,"""8,4;4,2""",0.250'
)


def kernels(tmp_path: Path, text: str | bytes, name: str = "kernel_details.csv") -> Table:
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table("kernels", SourceFile("kernel_details", (file,)), root=tmp_path)


def only(table: Table) -> dict[str, object]:
    assert table.frame.height == 1
    return table.frame.row(0, named=True)


def test_absolute_time_keeps_every_nanosecond(tmp_path: Path) -> None:
    row = only(kernels(tmp_path, f"{HEADER}\n{ROW}\n"))
    assert row["start_ns"] == 1736408883704643212
    assert row["duration_ns"] == 53741


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("26.060", 26_060),
        ("857.200000", 857_200),
        ("0", 0),
        ("8827.472999999998", 8_827_473),
        ("607.98", 607_980),
    ],
)
def test_every_way_of_printing_a_duration_is_read_exactly(tmp_path: Path, text: str, ns: int) -> None:
    assert only(kernels(tmp_path, f"{HEADER}\n{ROW.replace('53.741', text)}\n"))["duration_ns"] == ns


@given(st.integers(min_value=0, max_value=2**61))
def test_any_nanosecond_survives_the_way_through_microsecond_text(
    tmp_path_factory: pytest.TempPathFactory, ns: int
) -> None:
    text = f"{ns // 1000}.{ns % 1000:03d}"
    table = kernels(tmp_path_factory.mktemp("ns"), f"{HEADER}\n{ROW.replace('1736408883704643.212', text)}\n")
    assert only(table)["start_ns"] == int(Decimal(text) * 1000) == ns


def test_quotes_of_a_shape_cell_are_taken_off(tmp_path: Path) -> None:
    assert only(kernels(tmp_path, f"{HEADER}\n{ROW}\n"))["input_shapes"] == "8,4;4,2"


def test_a_scalar_has_an_empty_shape_and_na_has_none(tmp_path: Path) -> None:
    scalar = ROW.replace('"""8,4;4,2"""', '""""""')
    absent = ROW.replace('"""8,4;4,2"""', "N/A")
    table = kernels(tmp_path, f"{HEADER}\n{scalar}\n{absent}\n")
    assert table.frame["input_shapes"].to_list() == ["", None]


def test_crlf_and_blank_lines_change_nothing(tmp_path: Path) -> None:
    plain = kernels(tmp_path, f"{HEADER}\n{ROW}\n{ROW}\n").frame
    windows = kernels(tmp_path, f"\ufeff{HEADER}\r\n{ROW}\r\n\r\n{ROW}\r\n").frame
    assert windows.drop("row").equals(plain.drop("row"))


def test_na_with_a_tab_behind_it_is_null(tmp_path: Path) -> None:
    header = "Device_id,Iteration ID,Iteration End(us),Iteration Time(us)"
    file = tmp_path / "step_trace_20260101000000.csv"
    file.write_text(f"{header}\n0,1,N/A\t,12.000\n")
    table = read_table("step_trace", SourceFile("step_trace", (file,)), root=tmp_path)
    assert only(table)["iteration_end_ns"] is None
    assert table.notes == ()


def test_a_header_without_unit_means_nanoseconds_in_old_kernel_files(tmp_path: Path) -> None:
    header = "Op Name,OP Type,Task Type,Task Start Time,Task Duration(us)"
    text = f"{header}\nconv1,Conv2D,AI_CORE,236368325745670,40.000\n"
    row = only(kernels(tmp_path, text, "op_summary_0_1_20230919172400.csv"))
    assert (row["start_ns"], row["duration_ns"]) == (236368325745670, 40_000)


def test_a_header_without_unit_means_microseconds_in_step_trace_time(tmp_path: Path) -> None:
    file = tmp_path / "step_trace_time.csv"
    file.write_text("Step,Computing,Communication(Not Overlapped),Communication,Free\n5,10.5,1,2,3\n")
    table = read_table("step_trace_time", SourceFile("step_trace_time", (file,)), root=tmp_path)
    row = only(table)
    assert (row["computing_ns"], row["not_overlapped_ns"], row["communication_ns"]) == (10_500, 1_000, 2_000)


def test_old_and_new_spellings_meet_in_one_column(tmp_path: Path) -> None:
    old = "Name,Start Time(us),Duration(us),Block Dim,Mix Block Dim\na,1.0,2.0,20,40\n"
    new = "Op Name,Task Start Time(us),Task Duration(us),Block Num,Mix Block Num\na,1.0,2.0,20,40\n"
    assert kernels(tmp_path, old).frame.equals(kernels(tmp_path, new, "op_summary.csv").frame)


def test_repeated_headers_keep_the_first_column(tmp_path: Path) -> None:
    file = tmp_path / "step_trace.csv"
    reduce = "Reduce Start(us),Reduce Duration(us)"
    header = f"Iteration ID,Iteration Time(us),Model ID,{reduce},{reduce}"
    file.write_text(f"{header}\n1,5.000,3,1.0,2.0,3.0,4.0\n2,6.000,3,1.0,2.0,N/A\n3,7.000,3\n")
    table = read_table("step_trace", SourceFile("step_trace", (file,)), root=tmp_path)
    assert table.frame["iteration_ns"].to_list() == [5_000, 6_000, 7_000]
    assert table.notes == ()


def test_level0_file_with_eight_columns_has_all_canonical_columns(tmp_path: Path) -> None:
    text = (
        "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim\n"
        "50,trans_TransData_0,N/A,N/A,1736405443881410.320\t,50.621,0,0\n"
        "50,hcom_allReduce__868_0_1,N/A,N/A,1736405443881510.320\t,50.621,0,0\n"
    )
    table = kernels(tmp_path, text)
    assert table.frame["op_type"].to_list() == [None, None]
    assert table.frame["role"].to_list() == ["compute", "communication"]
    assert "hf32" not in table.present
    assert table.frame.schema["hf32"] == pl.Categorical


@pytest.mark.parametrize(
    ("name", "op_type", "core", "role"),
    [
        ("hcom_allReduce__1_0_1", "hcom_allReduce_", "COMMUNICATION", "communication"),
        ("hcom_allReduce__1_0_1", "hcom_allReduce_", "HCCL", "communication"),
        ("hcom_allReduce_AivKernel", "allReduceAivKernel", "AI_VECTOR_CORE", "communication_kernel"),
        ("HcclLaunchAicpuKernel", "HcclLaunchAicpuKernel", "AI_CPU", "communication_kernel"),
        ("hcom_mixing_layer/MatMul", "MatMulV2", "AI_CORE", "compute"),
        ("aclnnAdd_AddAiCore_Add", "Add", "AI_VECTOR_CORE", "compute"),
    ],
)
def test_role_of_a_kernel(tmp_path: Path, name: str, op_type: str, core: str, role: str) -> None:
    row = ROW.replace("aclnnMatmul_MatMulCommon_MatMulV2", name).replace("MatMulV2", op_type)
    assert only(kernels(tmp_path, f"{HEADER}\n{row.replace('AI_CORE', core)}\n"))["role"] == role


def test_old_hccl_level_reads_as_communication(tmp_path: Path) -> None:
    file = tmp_path / "api_statistic.csv"
    file.write_text(
        "Level,API Name,Time(us),Count\nhccl,Launch,1.0,1\nAscendCL,aclrtMemcpy,2.0,1\nModel,X,3,1\n"
    )
    table = read_table("api_statistic", SourceFile("api_statistic", (file,)), root=tmp_path)
    assert table.frame["level"].to_list() == ["communication", "acl", "model"]


def test_slices_read_as_one_file(tmp_path: Path) -> None:
    parts = []
    for number in range(2):
        part = tmp_path / f"op_summary_slice_{number}_20260106100130.csv"
        part.write_text(f"{HEADER}\n{ROW.replace('7,0', f'{number},0')}\n")
        parts.append(part)
    table = read_table("kernels", SourceFile("op_summary", tuple(parts)), root=tmp_path)
    assert table.frame["step"].to_list() == [0, 1]
    assert table.frame["row"].to_list() == [0, 1]


def test_only_the_asked_device_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "kernel_details.csv"
    file.write_text(f"{HEADER}\n{ROW}\n{ROW.replace('7,0', '7,1')}\n")
    table = read_table("kernels", SourceFile("kernel_details", (file,)), root=tmp_path, device=1)
    assert table.frame["device_id"].to_list() == [1]


def test_gzip_reads_like_plain(tmp_path: Path) -> None:
    plain = kernels(tmp_path, f"{HEADER}\n{ROW}\n").frame
    packed = kernels(tmp_path, gzip.compress(f"{HEADER}\n{ROW}\n".encode()), "kernel_details.csv.gz").frame
    assert packed.equals(plain)


def test_a_row_cut_at_the_end_is_left_out_and_named(tmp_path: Path) -> None:
    cut = f"{HEADER}\n{ROW}\n{ROW}\n{ROW[: ROW.index('53.741') + 2]}"
    table = kernels(tmp_path, cut)
    assert table.frame.height == 2
    (note,) = table.notes
    assert (note.kind, note.values["count"], note.line, note.damage) == ("damaged_rows", 1, 4, True)


def test_the_last_cell_of_a_file_without_line_end_may_have_lost_digits(tmp_path: Path) -> None:
    table = kernels(tmp_path, f"{HEADER}\n{ROW}\n{ROW[:-2]}")
    assert table.frame["aic_mac_ratio"].to_list() == [0.25, None]
    (note,) = table.notes
    assert (note.kind, note.values["column"], note.damage) == ("unfinished", "aic_mac_ratio", True)


@pytest.mark.parametrize("text", ["-1.000", "-0.001"])
def test_a_negative_duration_is_damage(tmp_path: Path, text: str) -> None:
    table = kernels(tmp_path, f"{HEADER}\n{ROW.replace('53.741', text)}\n{ROW}\n")
    assert table.frame["row"].to_list() == [1]
    assert [note.kind for note in table.notes] == ["damaged_rows"]


def test_a_binary_file_is_refused_on_every_python(tmp_path: Path) -> None:
    with pytest.raises(MissingColumnError):
        kernels(tmp_path, b"\x00\x01\x02\nabc\n")


def test_a_header_without_rows_is_said(tmp_path: Path) -> None:
    table = kernels(tmp_path, f"{HEADER}\n")
    assert [(note.kind, note.damage) for note in table.notes] == [("no_rows", False)]


def test_a_cut_inside_quotes_costs_only_that_row(tmp_path: Path) -> None:
    table = kernels(tmp_path, f"{HEADER}\n{ROW}\n{ROW[: ROW.index('4,2')]}")
    assert table.frame.height == 1
    assert [note.line for note in table.notes if note.damage] == [3]


def test_a_lone_quote_in_a_name_costs_only_its_row(tmp_path: Path) -> None:
    odd = ROW.replace("aclnnMatmul", 'acl"nnMatmul')
    table = kernels(tmp_path, f"{HEADER}\n{ROW}\n{odd}\n{ROW.replace('7,0', '8,0')}\n")
    assert table.frame["step"].to_list() == [7, 8]
    (note,) = table.notes
    assert (note.kind, note.line, note.damage) == ("quotes_damaged", 3, True)


def test_a_foreign_byte_keeps_its_row_and_is_named(tmp_path: Path) -> None:
    odd = ROW.encode().replace(b"aclnnMatmul", b"acl\xffMatmul")
    table = kernels(tmp_path, HEADER.encode() + b"\n" + ROW.encode() + b"\n" + odd + b"\n")
    assert table.frame["name"].to_list()[1] == "acl\ufffdMatmul_MatMulCommon_MatMulV2"
    (note,) = table.notes
    assert (note.kind, note.line, note.damage) == ("not_utf8", 3, True)


def test_a_comma_in_a_name_shifts_the_row_out(tmp_path: Path) -> None:
    odd = ROW.replace("aclnnMatmul_", "acl,nnMatmul_")
    table = kernels(tmp_path, f"{HEADER}\n{odd}\n{ROW}\n")
    assert table.frame["row"].to_list() == [1]
    assert table.notes[0].kind == "damaged_rows"


def test_text_in_a_ratio_is_unknown_and_named(tmp_path: Path) -> None:
    table = kernels(tmp_path, f"{HEADER}\n{ROW.replace('0.250', 'high')}\n")
    assert only(table)["aic_mac_ratio"] is None
    assert [(note.kind, note.line) for note in table.notes] == [("bad_cells", 2)]


def test_times_a_spreadsheet_spoiled_are_named(tmp_path: Path) -> None:
    table = kernels(tmp_path, f"{HEADER}\n{ROW.replace('1736408883704643.212', '1.73641E+15')}\n")
    assert [note.kind for note in table.notes] == ["spreadsheet_times"]


def test_a_missing_required_column_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(MissingColumnError, match="Task Duration"):
        kernels(tmp_path, "Name,Start Time(us)\na,1.0\n")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"\xff\xfe\x00\x01" * 10, "UTF-8"),
        (b"x" * (1 << 20), "longer than 1 MiB"),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableFileError, match=reason) as error:
        kernels(tmp_path, content)
    assert "\n" not in str(error.value)


def test_a_broken_gzip_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress((f"{HEADER}\n" + f"{ROW}\n" * 500).encode())
    with pytest.raises(UnreadableFileError, match="cut off"):
        kernels(tmp_path, packed[: len(packed) // 2], "kernel_details.csv.gz")


def test_whoever_is_told_of_progress_may_stop_the_work(tmp_path: Path) -> None:
    file = tmp_path / "kernel_details.csv"
    file.write_text(f"{HEADER}\n{ROW}\n")

    def stop(done: int) -> None:
        assert done == len(ROW) + 1
        raise CancelledError

    with pytest.raises(CancelledError):
        read_table("kernels", SourceFile("kernel_details", (file,)), root=tmp_path, advance=stop)


@pytest.mark.parametrize("piece", [1, 90, 500])
def test_reading_in_pieces_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    lines = [ROW.replace("7,0", f"{step},0") for step in range(20)]
    lines[11] = lines[11].replace("aclnnMatmul", 'acl"nnMatmul')
    lines[15] = ""
    text = "\r\n".join([HEADER, *lines, ""])
    whole = kernels(tmp_path, text)
    monkeypatch.setattr("analysis.profile.csv_file._PIECE", piece)
    pieces = kernels(tmp_path, text)
    assert pieces.frame.equals(whole.frame)
    assert pieces.notes == whole.notes
    assert whole.notes[0].line == 13


def test_a_file_of_the_host_belongs_to_every_device(tmp_path: Path) -> None:
    file = tmp_path / "api_statistic.csv"
    file.write_text("Device_id,Level,API Name,Time(us),Count\nhost,acl,aclrtMemcpy,3.5,2\n")
    source = SourceFile("api_statistic", (file,))
    assert only(read_table("api_statistic", source, root=tmp_path, device=1))["total_ns"] == 3500
