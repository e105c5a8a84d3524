"""Every old and new column name of the CSV files mapped to one canonical name (columns.toml)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from analysis.datafile import load_toml

if TYPE_CHECKING:
    from collections.abc import Sequence

ColumnType = Literal["text", "int", "time", "number"]

NS_PER_UNIT = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_UNIT = re.compile(r"\((ns|us|ms|s|%|kb|mb|gb/s)\)$")


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """One canonical column of a table."""

    name: str
    type: ColumnType
    title: str
    """Its newest spelling, for messages."""
    spellings: frozenset[str]
    required: bool
    least: int | None
    """Values below are impossible and count as damage."""


@dataclass(frozen=True, slots=True)
class TableSpec:
    """The canonical columns of one kind of table."""

    name: str
    kinds: tuple[str, ...]
    unit: str
    """Unit of a time column whose header names none."""
    columns: tuple[ColumnSpec, ...]


@dataclass(frozen=True, slots=True)
class FoundColumn:
    """Where a canonical column lies in one file."""

    spec: ColumnSpec
    position: int
    ns_per_unit: int


def normalise(header: str) -> tuple[str, str | None]:
    """Header without blanks, case and unit, and the unit: ``Start Time(us)`` is ``starttime``, ``us``."""
    plain = re.sub(r"\s+", "", header.replace("\ufeff", "")).lower()
    match = _UNIT.search(plain)
    return (plain[: match.start()], match[1]) if match else (plain, None)


@cache
def table_spec(name: str) -> TableSpec:
    """The declaration of table ``name`` in columns.toml."""
    table = load_toml("analysis.profile", "columns.toml")[name]
    columns = tuple(
        ColumnSpec(
            name=column,
            type=entry["type"],
            title=entry["spellings"][0],
            spellings=frozenset(normalise(spelling)[0] for spelling in entry["spellings"]),
            required=entry.get("required", False),
            least=entry.get("least"),
        )
        for column, entry in table["columns"].items()
    )
    return TableSpec(name=name, kinds=tuple(table["kinds"]), unit=table["unit"], columns=columns)


def find_columns(spec: TableSpec, header: Sequence[str]) -> tuple[FoundColumn, ...]:
    """The canonical columns that ``header`` holds; of repeated headers the first counts."""
    positions: dict[str, tuple[int, str | None]] = {}
    for position, text in enumerate(header):
        plain, unit = normalise(text)
        positions.setdefault(plain, (position, unit))
    found: list[FoundColumn] = []
    for column in spec.columns:
        hits = [positions[spelling] for spelling in sorted(column.spellings) if spelling in positions]
        if hits:
            position, unit = min(hits, key=lambda hit: hit[0])
            found.append(FoundColumn(column, position, NS_PER_UNIT.get(unit or spec.unit, 1)))
    return tuple(found)
