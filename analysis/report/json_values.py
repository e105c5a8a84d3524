"""Values of the JSON report: units, rounding, rows of result tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from analysis.notes import Missing
from analysis.units import us

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

Object: TypeAlias = "dict[str, Any]"


def table(frame: pl.DataFrame | Missing, columns: Sequence[str]) -> list[Object] | None:
    """The rows of a result table; times under ``*_us`` names, fractions rounded."""
    if isinstance(frame, Missing):
        return None
    return [
        {_border_name(name): _border_value(name, row[name]) for name in columns}
        for row in frame.select(columns).iter_rows(named=True)
    ]


def _border_name(column: str) -> str:
    return f"{column.removesuffix('_ns')}_us" if column.endswith("_ns") else column


def _border_value(column: str, value: Any) -> Any:
    if column.endswith("_ns"):
        return us_or_null(value)
    return fraction(value) if isinstance(value, float) else value


def us_or_null(ns: int | None) -> float | None:
    """Microseconds with three decimals; null stays null."""
    return None if ns is None else us(ns)


def fraction(value: float | None) -> float | None:
    """Six decimals: beyond them a sum of floats depends on the order polars added them in."""
    return None if value is None else round(value, 6)


def encodable(text: str) -> str:
    """A path as UTF-8 can hold it: bytes that are no text in the file system become ``?``-marks."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
