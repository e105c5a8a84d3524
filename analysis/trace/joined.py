"""Columns of several segments put end to end, their codes brought to one dictionary, as polars series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from analysis.trace.decode import EMPTY, NO_INTEGER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from analysis.trace.decode import Codes
    from analysis.trace.segments import Rows


class Texts:
    """One dictionary out of those of all segments, in the order of first appearance; code 0 is null."""

    def __init__(self, dictionaries: Sequence[Codes], text: Callable[[Any], Any]) -> None:
        common: dict[Any, int] = {None: 0}
        self.codes = [
            np.array([common.setdefault(text(key), len(common)) for key in dictionary], np.uint32)
            for dictionary in dictionaries
        ]
        """The common code of every code, by segment."""
        self.texts = list(common)
        """What the common codes stand for."""


class JoinedRows:
    """The rows of all segments as if of one; every column can be taken once and is gone from them then."""

    def __init__(self, rows: Sequence[Rows], firsts: Sequence[int]) -> None:
        self.height = sum(one.height for one in rows)
        self._rows = rows
        self._firsts = firsts

    def take(self, name: str) -> npt.NDArray[Any] | None:
        """A column; None if no event has it."""
        columns = [one.take(name) for one in self._rows]
        present = [column for column in columns if column is not None]
        if len(columns) == 1 or not present:
            return present[0] if present else None
        result = np.full(self.height, EMPTY.get(name, 0), present[0].dtype)
        at = 0
        for one, column in zip(self._rows, columns, strict=True):
            if column is not None:
                result[at : at + one.height] = column
            at += one.height
        return result

    def numbers(self) -> npt.NDArray[np.uint32]:
        """The column ``number``, counted from the first object of the file."""
        result = np.zeros(self.height, np.uint32)
        at = 0
        for one, first in zip(self._rows, self._firsts, strict=False):
            column = one.take("number")
            if column is not None:
                np.add(column, np.uint32(first), out=result[at : at + one.height])
            at += one.height
        return result

    def coded(self, name: str, texts: Texts) -> npt.NDArray[np.uint32] | None:
        """A column of codes of ``texts``; None if no event has it."""
        columns = [one.take(name) for one in self._rows]
        if all(column is None for column in columns):
            return None
        result = np.zeros(self.height, np.uint32)
        at = 0
        for one, column, codes in zip(self._rows, columns, texts.codes, strict=True):
            if column is not None:
                np.take(codes, column, out=result[at : at + one.height])
            at += one.height
        return result


def integers(name: str, values: npt.NDArray[Any] | None, height: int, dtype: pl.DataType) -> pl.Series:
    """A column of integers, null where NO_INTEGER stands."""
    if values is None:
        return pl.Series(name, [], dtype=dtype).extend_constant(None, height)
    series = pl.Series(name, values, dtype=dtype)
    if values.dtype != np.int64:
        return series
    missing = pl.Series(values == NO_INTEGER)
    return series.set(missing, None) if missing.any() else series


def categories(
    name: str, codes: npt.NDArray[np.uint32] | None, texts: Sequence[str | None], height: int
) -> pl.Series:
    """A column of texts, given by their codes."""
    if codes is None:
        return pl.Series(name, [], dtype=pl.Categorical).extend_constant(None, height)
    return pl.Series(name, texts, dtype=pl.Categorical).gather(pl.Series(codes))
