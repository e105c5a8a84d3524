"""What the collection says about itself: rank, chip, cores, level, versions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from analysis.errors import UnreadableFileError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

METADATA_NAME = re.compile(
    r"^(profiler_info(_(?P<rank>\d+))?\.json|profiler_metadata\.json|info\.json(\.\d+)?)$"
)
_RANK_IN_NAME = re.compile(r"rank[_-]?(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cores:
    """Physical cores of the device; None where neither a file nor the user tells."""

    aic: int | None = None
    aiv: int | None = None
    source: str | None = None
    """device_info, chip_table, or None."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """Facts of the capture's own metadata files; empty where they are absent."""

    profiler_level: str | None = None
    aic_metrics: str | None = None
    chip: str | None = None
    cores: Cores = field(default_factory=Cores)
    versions: Mapping[str, str] = field(default_factory=dict)
    """cann, torch_npu … as the files name them."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """ENV_VARIABLES of profiler_metadata.json, empty values left out."""


def find_rank(files: Sequence[Path], root: Path) -> tuple[int | None, str | None]:
    """The rank and what names it: profiler_info (its name or content), profiler_metadata, the folder.

    Raises:
        UnreadableFileError: A metadata file is no JSON object.
    """
    for path in files:
        match = METADATA_NAME.match(path.name)
        if match and match["rank"] is not None:
            return int(match["rank"]), "profiler_info"
    for path in files:
        if path.name.startswith("profiler_"):
            content = _read(path)
            places = [content, content.get("distributed_args")]
            rank = next((rank for place in places if (rank := _rank_in(place)) is not None), None)
            if rank is not None:
                return rank, path.stem
    match = _RANK_IN_NAME.search(root.name)
    return (int(match[1]), "folder_name") if match else (None, None)


def _rank_in(place: object) -> int | None:
    """A rank in a metadata object; -1 stands for unset."""
    if not isinstance(place, dict):
        return None
    for key in ("rank_id", "rank"):
        text = str(place.get(key, ""))
        if text.isdigit():
            return int(text)
    return None


def read_metadata(files: Sequence[Path], device: int | None = None) -> Metadata:
    """Everything the metadata files tell; a file that is no JSON object raises UnreadableFileError.

    Args:
        files: profiler_info*.json, profiler_metadata.json and info.json.* of the capture.
        device: Whose info.json counts where there are several; the first otherwise.
    """
    info: dict[str, Any] = {}
    user: dict[str, Any] = {}
    devices: list[tuple[Path, dict[str, Any]]] = []
    for path in files:
        if path.name.startswith("profiler_info"):
            info = _read(path)
        elif path.name == "profiler_metadata.json":
            user = _read(path)
        elif path.parent.name.startswith("device_"):
            devices.append((path, _read(path)))
    config = _table(_table(info, "config"), "experimental_config")
    chip, cores = _device(devices, device)
    environment = {name: str(value) for name, value in _table(user, "ENV_VARIABLES").items() if value}
    return Metadata(
        profiler_level=_text(config, "_profiler_level"),
        aic_metrics=_text(config, "_aic_metrics"),
        chip=chip,
        cores=cores,
        versions={
            name.removesuffix("_version"): str(info[name])
            for name in ("cann_version", "torch_npu_version")
            if info.get(name)
        },
        environment=environment,
    )


def _device(devices: Sequence[tuple[Path, dict[str, Any]]], device: int | None) -> tuple[str | None, Cores]:
    """Chip and cores of ``info.json``: DeviceInfo[0].ai_core_num and aiv_num (knowledge.md 8)."""
    for path, content in devices:
        if device is not None and path.parent.name != f"device_{device}":
            continue
        entries = content.get("DeviceInfo")
        entry = entries[0] if isinstance(entries, list) and entries and isinstance(entries[0], dict) else {}
        aic, aiv = _count(entry, "ai_core_num"), _count(entry, "aiv_num")
        if aic is not None or aiv is not None:
            return None, Cores(aic, aiv, "device_info")
    return None, Cores()


def _read(path: Path) -> dict[str, Any]:
    try:
        content = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise UnreadableFileError(path, f"not readable as JSON ({error.msg})", error.lineno) from error
    except OSError as error:
        raise UnreadableFileError(path, error.strerror or str(error)) from error
    if not isinstance(content, dict):
        raise UnreadableFileError(path, "not a JSON object", 1)
    return content


def _table(content: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = content.get(key)
    return value if isinstance(value, dict) else {}


def _text(content: Mapping[str, Any], key: str) -> str | None:
    value = content.get(key)
    return str(value) if value else None


def _count(content: Mapping[str, Any], key: str) -> int | None:
    text = str(content.get(key, ""))
    return int(text) if text.isdigit() and int(text) > 0 else None
