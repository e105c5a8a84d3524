"""Which of several files of one kind count: all slices of one export, the newest, the fullest."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from analysis.profile.kinds import NamedFile

_SAMPLE_BYTES = 1 << 16
# Folders of one capture in order of trust; the others come after them.
_FOLDERS = ("ASCEND_PROFILER_OUTPUT", "mindstudio_profiler_output", "summary", "timeline", "analyze")


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A file of a known kind that is not used, and why."""

    kind: str
    path: Path
    reason: str
    """older_export, other_copy or less_complete: message ``passed_over.<reason>``."""


@dataclass(frozen=True, slots=True)
class _Group:
    """One whole candidate: all slices of one export."""

    files: tuple[NamedFile, ...]
    stamp: int


def choose(files: Sequence[NamedFile], outside: Path) -> tuple[tuple[Path, ...], tuple[PassedOver, ...]]:
    """The paths that make up one logical file out of all ``files`` of one kind, and the others.

    Candidates are compared by folder, variant of the name and export; models of one device (older layouts
    write one file each) are parts of one logical file.

    Args:
        files: All files of one kind in one capture.
        outside: The capture's folder, which ranks right after ASCEND_PROFILER_OUTPUT.
    """
    places: dict[tuple[Path, str], list[NamedFile]] = {}
    for file in sorted(files, key=lambda file: str(file.path)):
        places.setdefault((file.path.parent, file.variant), []).append(file)
    best = max(
        places, key=lambda place: (*_score(places[place]), -_folder_rank(place[0], outside), str(place))
    )
    parts: list[Path] = []
    passed: list[PassedOver] = []
    for place, members in places.items():
        if place != best:
            reason = "other_copy" if _score(members) >= _score(places[best]) else "less_complete"
            passed.extend(PassedOver(file.kind, file.path, reason) for file in members)
            continue
        for model_files in _by_model(members):
            newest, older = _newest_export(model_files)
            parts.extend(file.path for file in newest)
            passed.extend(PassedOver(file.kind, file.path, "older_export") for file in older)
    return tuple(parts), tuple(passed)


def _by_model(files: Iterable[NamedFile]) -> list[list[NamedFile]]:
    def model(file: NamedFile) -> int:
        return -1 if file.model is None else file.model

    return [list(group) for _, group in groupby(sorted(files, key=model), key=model)]


def _newest_export(files: Sequence[NamedFile]) -> tuple[list[NamedFile], list[NamedFile]]:
    """Split into the slices of the newest export and all older files.

    Slices of one export may differ in their stamps by seconds, so that a stamp is no key. Walking by stamp,
    an export ends where a slice number comes again.
    """
    exports: list[dict[int | None, NamedFile]] = [{}]
    for file in sorted(files, key=lambda file: (file.stamp, -1 if file.slice is None else file.slice)):
        current = exports[-1]
        if file.slice in current or (current and None in current) or (current and file.slice is None):
            exports.append({})
        exports[-1][file.slice] = file
    newest = sorted(exports[-1].values(), key=lambda file: file.slice or 0)
    return newest, [file for export in exports[:-1] for file in export.values()]


def _score(files: Sequence[NamedFile]) -> tuple[int, int, int]:
    """How complete an op_summary is: named operators with data, no ``no_op_name``, no ``output`` variant."""
    if files[0].kind != "op_summary":
        return (0, 0, 0)
    variant = f"{files[0].variant}_"
    return (
        int(any(_has_named_rows(file.path) for file in files)),
        int("_no_op_name_" not in variant),
        int("_output_" not in variant and not variant.startswith("output_")),
    )


def _has_named_rows(path: Path) -> bool:
    if path.suffix == ".gz":
        return True
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            rows = list(csv.reader(file.read(_SAMPLE_BYTES).splitlines()))
    except (OSError, csv.Error):
        return False
    if not rows or "Op Name" not in rows[0]:
        return False
    column = rows[0].index("Op Name")
    return any(len(row) > column and row[column].strip() not in {"", "N/A"} for row in rows[1:])


def _folder_rank(folder: Path, outside: Path) -> int:
    if folder == outside:
        return 1
    if folder.name in _FOLDERS:
        return 2 * _FOLDERS.index(folder.name)
    return 2 * len(_FOLDERS)
