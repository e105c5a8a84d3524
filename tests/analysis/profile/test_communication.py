"""communication.json in both nestings, exact to the nanosecond, sums of operations left out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from analysis.errors import UnreadableFileError
from analysis.profile.communication import BANDWIDTH, OPERATIONS, Communication, read_communication
from analysis.profile.discover import SourceFile

EXAMPLE = Path(__file__).parents[2] / "examples" / "training_torch_npu"


def read(path: Path) -> Communication:
    return read_communication(SourceFile("communication", (path,)), root=path.parent)


def content(tmp_path: Path, text: str | bytes) -> Communication:
    path = tmp_path / "communication.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read(path)


def operation(elapse: str = "0.3", start: str = "100.5", **bandwidth: dict[str, float]) -> str:
    return (
        f'{{"Communication Time Info": {{"Start Timestamp(us)": {start}, "Elapse Time(ms)": {elapse}}},'
        f' "Communication Bandwidth Info": {json.dumps(bandwidth)}}}'
    )


def example(pattern: str) -> Communication:
    (path,) = EXAMPLE.glob(pattern)
    return read(path)


def test_the_training_example_has_the_expected_operations() -> None:
    # EXPECTED.md 1.5, in nanoseconds.
    found = example("*_ascend_pt/ASCEND_PROFILER_OUTPUT/communication.json").operations
    columns = ("step", "kind", "elapse_ns", "transit_ns", "wait_ns", "synchronization_ns", "idle_ns")
    assert found.select(columns).rows() == [
        ("10", "collective", 300_000, 180_000, 90_000, 60_000, 30_000),
        ("10", "collective", 140_000, 100_000, 30_000, 20_000, 10_000),
        ("11", "p2p", 60_000, 0, 55_000, 55_000, 5_000),
        ("11", "collective", 280_000, 180_000, 70_000, 40_000, 30_000),
        ("11", "collective", 160_000, 100_000, 50_000, 50_000, 10_000),
    ]
    assert found["wait_ratio"].to_list() == [0.3333, 0.2308, 1.0, 0.28, 0.3333]
    assert found["synchronization_ratio"].to_list() == [0.25, 0.1667, 1.0, 0.1818, 0.3333]
    assert found["start_ns"][0] == 1767607200000300000


def test_msprof_nests_operations_alone_without_step_and_kind() -> None:
    found = example("*_ascend_pt/PROF_*/analyze/communication.json").operations
    assert found["elapse_ns"].sum() == 940_000
    assert found["step"].null_count() == found["kind"].null_count() == found.height == 5


def test_bandwidth_is_one_row_a_transport() -> None:
    found = example("*_ascend_pt/ASCEND_PROFILER_OUTPUT/communication.json").bandwidth
    assert found.height == 5 * 5
    row = found.filter((found["transport"] == "HCCS") & (found["step"] == "10")).rows()[0]
    assert row == ("10", "hcom_alltoallv__990_0_1", "1122334455667788990", "HCCS", 3.6, 180_000, 20.0, 0.0)


def test_a_step_key_without_a_number_is_no_step(tmp_path: Path) -> None:
    found = content(tmp_path, f'{{"step": {{"p2p": {{}}, "collective": {{"a@1": {operation()}}}}}}}')
    assert found.operations.select("step", "kind", "operation", "group").rows() == [
        (None, "collective", "a", "1")
    ]


def test_the_group_follows_the_last_at(tmp_path: Path) -> None:
    names = ("hcom@x@10.1.2.3%eth0_60000_0", "lonely")
    text = ", ".join(f'"{name}": {operation()}' for name in names)
    assert content(tmp_path, f"{{{text}}}").operations.select("operation", "group").rows() == [
        ("hcom@x", "10.1.2.3%eth0_60000_0"),
        ("lonely", None),
    ]


@pytest.mark.parametrize("total", ["Total Op Info", "Total HCCL Operators"])
def test_sums_of_operations_are_no_operation(tmp_path: Path, total: str) -> None:
    one = f'"a@1": {operation()}, "{total}": {operation("9")}'
    for text in (f"{{{one}}}", f'{{"step5": {{"collective": {{{one}}}}}}}'):
        assert content(tmp_path, text).operations["operation"].to_list() == ["a"]


@pytest.mark.parametrize(
    ("written", "ns"),
    [
        ("0.1", 100_000),
        ("0.14", 140_000),
        ("79.08952", 79_089_520),
        ("0.000001", 1),
        ("1e-6", 1),
        ("123456789.123457", 123_456_789_123_457),
        ("0.0000005", 0),
        ("0.0000015", 2),
        ('"0.25"', 250_000),
        ("null", None),
        ('"N/A"', None),
        ("1e300", None),
    ],
)
def test_times_are_exact_to_the_nanosecond(tmp_path: Path, written: str, ns: int | None) -> None:
    found = content(tmp_path, f'{{"a@1": {operation(written)}}}')
    assert found.operations["elapse_ns"].to_list() == [ns]


def test_a_start_of_nineteen_digits_keeps_its_last(tmp_path: Path) -> None:
    found = content(tmp_path, f'{{"a@1": {operation(start="1736408883704643.212")}}}')
    assert found.operations["start_ns"].to_list() == [1736408883704643212]


def test_values_that_are_not_there_are_unknown(tmp_path: Path) -> None:
    found = content(tmp_path, '{"a@1": {"Communication Time Info": {}}}')
    assert found.operations.rows() == [(None, None, "a", "1", *[None] * 8)]
    assert found.bandwidth.height == 0


def test_a_file_without_operations_has_empty_frames(tmp_path: Path) -> None:
    found = content(tmp_path, '{"step7": {"p2p": {}, "collective": {}}}')
    assert dict(found.operations.schema) == OPERATIONS
    assert dict(found.bandwidth.schema) == BANDWIDTH
    assert found.operations.height == found.bandwidth.height == 0


def test_a_packed_file_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "communication.json.gz"
    path.write_bytes(gzip.compress(f'{{"a@1": {operation()}}}'.encode()))
    assert read(path).operations["elapse_ns"].to_list() == [300_000]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b'{"step1": {"collective": {',
        b'{"step1": 5}',
        b'{"step1": {"collective": 5}}',
        b'{"step1": {"collective": {"a@1": 5}}}',
        b'{"a@1": {"Communication Time Info": 5}}',
        b"\xff\xfe",
    ],
)
def test_a_file_of_another_form_is_unreadable(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(UnreadableFileError):
        content(tmp_path, text)


@pytest.mark.parametrize("cut", [5, 40])
def test_a_packed_file_that_is_cut_is_unreadable(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "communication.json.gz"
    path.write_bytes(gzip.compress(f'{{"a@1": {operation()}}}'.encode())[:cut])
    with pytest.raises(UnreadableFileError):
        read(path)


def test_a_file_that_is_not_there_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError):
        read(tmp_path / "communication.json")
