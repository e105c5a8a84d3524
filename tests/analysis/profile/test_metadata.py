"""Rank, level, versions and cores out of the metadata files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from analysis.advice.chips import chip_names, cores_of_chip
from analysis.errors import UnreadableFileError
from analysis.profile.metadata import Cores, read_metadata

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, name: str, content: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(json.dumps(content))
    return file


def test_level_metrics_and_versions_of_torch_npu(tmp_path: Path) -> None:
    settings = {"_profiler_level": "Level1", "_aic_metrics": "ACL_AICORE_PIPE_UTILIZATION"}
    info = {
        "config": {"experimental_config": settings},
        "cann_version": "8.3.RC1",
        "torch_npu_version": "2.7.1",
    }
    metadata = read_metadata([write(tmp_path, "profiler_info_0.json", info)])
    assert metadata.profiler_level == "Level1"
    assert metadata.aic_metrics == "ACL_AICORE_PIPE_UTILIZATION"
    assert metadata.versions == {"cann": "8.3.RC1", "torch_npu": "2.7.1"}


def test_environment_leaves_out_what_was_not_set(tmp_path: Path) -> None:
    file = write(tmp_path, "profiler_metadata.json", {"ENV_VARIABLES": {"A": "1", "B": ""}})
    assert read_metadata([file]).environment == {"A": "1"}


def test_cores_come_from_the_device_asked_for(tmp_path: Path) -> None:
    files = [
        write(
            tmp_path / f"device_{n}",
            f"info.json.{n}",
            {"DeviceInfo": [{"ai_core_num": 20 + n, "aiv_num": 40}]},
        )
        for n in (0, 1)
    ]
    assert read_metadata(files, device=1).cores == Cores(21, 40, "device_info")
    assert read_metadata(files).cores == Cores(20, 40, "device_info")


@pytest.mark.parametrize(
    "content", [{}, {"DeviceInfo": []}, {"DeviceInfo": [{"ai_core_num": 0}]}, {"DeviceInfo": 5}]
)
def test_cores_are_unknown_where_the_file_does_not_tell(tmp_path: Path, content: object) -> None:
    assert read_metadata([write(tmp_path / "device_0", "info.json.0", content)]).cores == Cores()


@pytest.mark.parametrize("content", ["[1]", "{", "\x00"])
def test_a_metadata_file_that_is_no_object_is_an_error_with_its_path(tmp_path: Path, content: str) -> None:
    file = tmp_path / "profiler_info.json"
    file.write_text(content)
    with pytest.raises(UnreadableFileError, match=r"profiler_info\.json"):
        read_metadata([file])


@pytest.mark.parametrize(
    ("name", "cores"),
    [
        ("Ascend910B3", Cores(20, 40, "chip_table")),
        ("910b1", Cores(24, 48, "chip_table")),
        # 910B without a digit is the old 910, whose cores are not split.
        ("Ascend910B", Cores(30, None, "chip_table")),
        ("Ascend310P3", Cores(8, 7, "chip_table")),
        ("Ascend999", Cores()),
    ],
)
def test_cores_by_chip_name(name: str, cores: Cores) -> None:
    assert cores_of_chip(name) == cores


def test_every_chip_of_the_table_has_cube_cores() -> None:
    assert all((cores_of_chip(name).aic or 0) > 0 for name in chip_names())
