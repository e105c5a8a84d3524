"""A sorted and filtered view of a polars frame that leaves the frame itself alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from widgets.row_order import stable_order

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PAGE_ROWS = 64
"""Rows gathered at once: more than a screen, few enough to gather in well under a millisecond."""

_CACHED_PAGES = 32
_SAMPLE_ROWS = 400

Wording: TypeAlias = "Callable[[str], str] | None"
"""How the values of a text column read on screen, if not as they are."""


class FrameView:
    """Which rows of a frame are shown, and in which order.

    Sort order and filter mask are kept apart as index arrays, so that each changes without the other. Text
    is searched and ranked on its distinct values only. A *row* is a number in the frame, a *position* one
    in the view.
    """

    def __init__(self, frame: pl.DataFrame, keys: Sequence[str], text: Mapping[str, Wording]) -> None:
        """Show a frame.

        Args:
            frame: The rows; may be a million.
            keys: Columns that ``values`` returns, in that order.
            text: Columns that a filter searches.
        """
        self.frame = frame
        self._shown = frame.select(keys)
        self._text = dict(text)
        self._dictionaries: dict[str, _Dictionary] = {}
        self._order: pl.Series | None = None
        self._mask: pl.Series | None = None
        self._rows: pl.Series | None = None
        self._pages: dict[int, list[tuple[Any, ...]]] = {}

    def __len__(self) -> int:
        return self.frame.height if self._rows is None else len(self._rows)

    def sort_by(self, key: str | None, *, descending: bool = False) -> None:
        """Order by a column, unknown values last, equal ones as in the frame; None is the frame's order."""
        self._order = None if key is None else self._sorted(key, descending)
        self._combine()

    def set_filter(self, text: str) -> None:
        """Show only rows with ``text`` in any text column, whatever its case; empty shows all."""
        self._mask = self._matching(text) if text else None
        self._combine()

    def row_at(self, position: int) -> int:
        """The frame row at a position of the view."""
        return position if self._rows is None else int(self._rows[position])

    def position_of(self, row: int) -> int | None:
        """Where a frame row stands in the view, or None if the filter hides it."""
        return row if self._rows is None else self._rows.index_of(row)

    def values(self, position: int) -> tuple[Any, ...]:
        """The shown values at a position; pages are kept, so neighbours are free."""
        number, place = divmod(position, PAGE_ROWS)
        page = self._pages.get(number)
        if page is None:
            if len(self._pages) >= _CACHED_PAGES:
                self._pages.clear()
            page = self._pages[number] = self._gather(number * PAGE_ROWS, PAGE_ROWS)
        return page[place]

    def head(self, count: int) -> list[tuple[Any, ...]]:
        """The shown values of the first ``count`` positions."""
        return self._gather(0, count)

    def record(self, position: int) -> dict[str, Any]:
        """Every column of the row at a position."""
        return self.frame.row(self.row_at(position), named=True)

    def find(self, text: str, position: int, step: int) -> int | None:
        """The next position (``step`` 1) or the one before (-1) with ``text`` in its row, around the ends."""
        mask = self._matching(text)
        hits = (mask if self._rows is None else mask.gather(self._rows)).arg_true()
        if hits.is_empty():
            return None
        if step > 0:
            after = int(hits.search_sorted(position, side="right"))
            return int(hits[after % len(hits)])
        before = int(hits.search_sorted(position, side="left"))
        return int(hits[(before - 1) % len(hits)])

    def find_identity(self, identity: Mapping[str, Any]) -> int | None:
        """The first frame row with exactly these values."""
        wanted = [pl.col(key).eq_missing(pl.lit(value)) for key, value in identity.items()]
        hits = self.frame.select(pl.all_horizontal(wanted).arg_true().first()).item()
        return None if hits is None else int(hits)

    def extremes(self, keys: Sequence[str]) -> dict[str, tuple[Any, Any]]:
        """Smallest and largest value of number columns."""
        low = self._shown.select(pl.col(keys).min()).row(0) if keys else ()
        high = self._shown.select(pl.col(keys).max()).row(0) if keys else ()
        return dict(zip(keys, zip(low, high, strict=True), strict=True))

    def sample(self) -> list[tuple[Any, ...]]:
        """Some rows from all over the frame, the same ones each time, to measure widths by."""
        stride = max(1, self._shown.height // _SAMPLE_ROWS)
        return [*self._shown.head(_SAMPLE_ROWS).rows(), *self._shown.gather_every(stride).rows()]

    def _gather(self, start: int, count: int) -> list[tuple[Any, ...]]:
        if self._rows is None:
            return self._shown.slice(start, count).rows()
        return self._shown[self._rows.slice(start, count)].rows()

    def _combine(self) -> None:
        self._pages.clear()
        if self._mask is None:
            self._rows = self._order
        elif self._order is None:
            self._rows = self._mask.arg_true()
        else:
            self._rows = self._order.filter(self._mask.gather(self._order))

    def _sorted(self, key: str, descending: bool) -> pl.Series:
        by = self._dictionary(key).ranks() if key in self._text else self.frame[key]
        return stable_order(by, descending=descending)

    def _matching(self, text: str) -> pl.Series:
        mask = pl.repeat(False, self.frame.height, dtype=pl.Boolean, eager=True)
        for key, wording in self._text.items():
            mask = mask | self._dictionary(key).containing(text, wording)
        return mask

    def _dictionary(self, key: str) -> _Dictionary:
        if key not in self._dictionaries:
            self._dictionaries[key] = _Dictionary(self.frame[key])
        return self._dictionaries[key]


class _Dictionary:
    """The distinct values of a text column and, for each row, which of them it has."""

    def __init__(self, column: pl.Series) -> None:
        if column.dtype != pl.Categorical:
            column = column.cast(pl.String).cast(pl.Categorical)
        distinct = column.unique().drop_nulls()
        self._codes = column.to_physical()
        self._distinct_codes = distinct.to_physical()
        self._names = distinct.cast(pl.String)

    def ranks(self) -> pl.Series:
        """Each row's place in alphabetic order, small and capital letters together."""
        order = (
            pl.DataFrame({"name": self._names, "code": self._distinct_codes})
            .sort(pl.col("name").str.to_lowercase(), "name")
            .with_columns(rank=pl.int_range(pl.len(), dtype=pl.UInt32))
        )
        return self._spread(order["code"], order["rank"], pl.UInt32)

    def containing(self, text: str, wording: Wording) -> pl.Series:
        """Whether each row's value contains ``text``; an unknown value contains nothing."""
        names = self._names
        if wording is not None:
            names = pl.Series([wording(name) for name in names], dtype=pl.String)
        found = names.str.to_lowercase().str.contains(text.lower(), literal=True)
        return self._spread(self._distinct_codes, found, pl.Boolean).fill_null(value=False)

    def _spread(self, codes: pl.Series, values: pl.Series, dtype: type[pl.DataType]) -> pl.Series:
        """One value per distinct name, spread to the rows by their codes."""
        if codes.is_empty():
            return pl.repeat(None, len(self._codes), dtype=dtype, eager=True)
        size = int(codes.max()) + 1  # type: ignore[arg-type]  # never null: nulls were dropped
        by_code = pl.repeat(None, size, dtype=dtype, eager=True).scatter(codes, values)
        return by_code.gather(self._codes)
