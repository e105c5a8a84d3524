"""Writes the sample's files the way the profilers write theirs: line endings, tabs, quotes and digits."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

Cell = str | int | float
JsonObject = dict[str, object]

NOT_AVAILABLE = "N/A"


def us_text(ns: int) -> str:
    """Microseconds with three decimals."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def moment_cell(ns: int) -> str:
    """A moment as a CSV cell: the profilers end it with a tab."""
    return us_text(ns) + "\t"


def shape_cell(shapes: str) -> str:
    """Shapes as a CSV cell: in quote characters that belong to the value."""
    return f'"{shapes}"'


def per_mille_text(value: int) -> str:
    """Thousandths as a fraction with three decimals."""
    return f"{value // 1000}.{value % 1000:03d}"


def write_torch_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """Write a table as torch_npu does: lines end in CR LF."""
    _write_csv(path, header, rows, "\r\n")


def write_msprof_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """Write a table as msprof does: lines end in LF."""
    _write_csv(path, header, rows, "\n")


def _write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Cell]], line_end: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator=line_end)
        writer.writerow(header)
        writer.writerows(rows)


def write_json(path: Path, content: object, *, indent: int | None = None) -> None:
    """Write a JSON file; traces are one line, settings are indented."""
    path.write_text(json.dumps(content, indent=indent), encoding="utf-8", newline="\n")
