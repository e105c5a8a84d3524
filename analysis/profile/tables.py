"""CSV files as frames with canonical columns: integer nanoseconds, clean text, null for N/A."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from analysis.datafile import load_toml
from analysis.errors import MissingColumnError
from analysis.notes import Note
from analysis.profile.columns import FoundColumn, TableSpec, find_columns, table_spec
from analysis.profile.csv_file import ROW, CsvText, Damage
from analysis.profile.discover import size_on_disk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from analysis.profile.discover import SourceFile

POLARS_TYPE = {"text": pl.Categorical, "int": pl.Int64, "time": pl.Int64, "number": pl.Float64}
_BAD_CELLS = "bad_cells"
_PLACES = {1_000_000_000: 9, 1_000_000: 6, 1_000: 3, 1: 0}


@dataclass(frozen=True, slots=True)
class Table:
    """One logical file with the canonical columns of columns.toml.

    Text columns are Categorical, int and time columns Int64, number columns Float64; a column the file
    lacks is null throughout. Kernel tables have two columns more: ``row``, the position in the file, and
    ``role`` (compute, communication, communication_kernel).
    """

    frame: pl.DataFrame
    present: frozenset[str]
    """Canonical columns that the file really has."""
    file: str
    """Path relative to the profile, for display."""
    notes: tuple[Note, ...] = field(default_factory=tuple)

    def operators(self, *columns: str) -> pl.DataFrame:
        """Of a kernel table the rows that are operators, and of them only ``columns``.

        A million rows of all columns are not copied for the sake of a few.
        """
        return self.frame.lazy().filter(pl.col("role") == "compute").select(columns).collect()


def read_table(
    name: str,
    source: SourceFile,
    *,
    root: Path,
    device: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> Table:
    """Read all slices of ``source`` as the table ``name`` of columns.toml.

    Args:
        name: kernels, op_statistic, api_statistic, step_trace or step_trace_time.
        source: The logical file.
        root: What paths in notes are relative to.
        device: Keep only this Device_id (rows without one stay).
        advance: Told how many bytes are done, every 32 MiB; it may raise to stop the work.

    Raises:
        UnreadableFileError: A slice cannot be read, or lacks a required column.
    """
    spec = table_spec(name)
    frames: list[pl.DataFrame] = []
    notes: list[Note] = []
    present: set[str] = set()
    before = 0
    for path in source.parts:
        shown = display_path(path, root)
        frame, found, slice_notes = _read_slice(spec, path, shown, _after(before, advance))
        before += size_on_disk(path)
        present.update(column.spec.name for column in found)
        notes.extend(slice_notes)
        frames.append(frame.with_columns(pl.col(ROW) + sum(part.height for part in frames)))
    frame = pl.concat(frames)
    if not frame.height:
        notes.append(Note("no_rows", {}, display_path(source.parts[0], root)))
    # Of a file that names no device by number, such as api_statistic, all rows are everybody's.
    if device is not None and "device_id" in present and frame.schema["device_id"] == pl.Int64:
        frame = frame.filter((pl.col("device_id") == device) | pl.col("device_id").is_null())
    is_kernels = name == "kernels"
    frame = frame.with_columns(_roles(frame)) if is_kernels else _with_aliases(name, frame).drop(ROW)
    return Table(frame, frozenset(present), display_path(source.parts[0], root), tuple(notes))


def of_one_device(table: Table) -> Table:
    """A table that names several devices, reduced to the lowest of them; a note names the others.

    For captures that are not split by device because their small files name one only (spec L2: devices are
    never mixed).
    """
    if table.frame.schema["device_id"] != pl.Int64:
        return table
    first, *others = table.frame["device_id"].drop_nulls().unique().sort().to_list() or [None]
    if not others:
        return table
    values = {"used": first, "others": ", ".join(map(str, others))}
    rows = table.frame.filter((pl.col("device_id") == first) | pl.col("device_id").is_null())
    return replace(table, frame=rows, notes=(*table.notes, Note("other_devices", values, table.file)))


def _after(before: int, advance: Callable[[int], None]) -> Callable[[int], None]:
    """``advance`` for a slice that begins when ``before`` bytes are done."""
    return lambda done: advance(before + done)


def display_path(path: Path, root: Path) -> str:
    """``path`` relative to the profile, or its name where it lies outside."""
    return str(path.relative_to(root)) if path.is_relative_to(root) and path != root else path.name


def _read_slice(
    spec: TableSpec, path: Path, shown: str, advance: Callable[[int], None]
) -> tuple[pl.DataFrame, tuple[FoundColumn, ...], list[Note]]:
    text = CsvText.open(path)
    found = find_columns(spec, text.header)
    names = {column.spec.name for column in found}
    for column in spec.columns:
        if column.required and column.name not in names:
            raise MissingColumnError(path, column.title, text.header)
    frame, damage = text.collect(lambda rows: _clean(rows, spec, found), advance)
    notes = [_damage_note(damage, shown)] if damage else []
    if text.unfinished:
        frame, unfinished = _without_last_cell(frame, text, found)
        notes += [Note("unfinished", {"column": unfinished}, shown, damage=True)]
    frame, dropped = _drop_damaged(frame, spec, cut=text.cut)
    if dropped is not None:
        notes.append(Note("damaged_rows", {"count": dropped[0]}, shown, dropped[1] + 2, damage=True))
    bad = frame.filter(pl.col(_BAD_CELLS) > 0)
    if bad.height:
        values = {"count": int(bad[_BAD_CELLS].cast(pl.Int64).sum())}
        notes.append(Note("bad_cells", values, shown, int(bad[ROW][0]) + 2, damage=True))
    notes.extend(_spreadsheet_note(text, found, shown))
    return frame.drop(_BAD_CELLS), found, notes


def _clean(rows: pl.LazyFrame, spec: TableSpec, found: tuple[FoundColumn, ...]) -> pl.LazyFrame:
    at = {column.spec.name: column for column in found}
    cleaned = [
        _cell(at[column.name]).alias(column.name)
        if column.name in at
        else pl.lit(None, POLARS_TYPE[column.type]).alias(column.name)
        for column in spec.columns
    ]
    numeric = [column for column in found if column.spec.type != "text"]
    bad = pl.sum_horizontal(
        [(_stripped(column).is_not_null() & _cell(column).is_null()).cast(pl.UInt8) for column in numeric]
    )
    some_cell = pl.any_horizontal([pl.col(str(column.position)).is_not_null() for column in found])
    return rows.filter(some_cell).select(pl.col(ROW), *cleaned, bad.cast(pl.UInt8).alias(_BAD_CELLS))


def _stripped(column: FoundColumn) -> pl.Expr:
    text = pl.col(str(column.position)).str.strip_chars(" \t\r")
    # A tab behind N/A hides it from the CSV reader's own list of null values.
    return pl.when(text.is_in(["", "N/A"])).then(None).otherwise(text)


def _cell(column: FoundColumn) -> pl.Expr:
    if column.spec.type == "text":
        # msprof wraps shapes in quotes of their own; one pair stays after CSV decoding.
        text = pl.col(str(column.position)).str.strip_chars(" \t\r")
        return text.str.strip_prefix('"').str.strip_suffix('"').cast(pl.Categorical)
    value = _number(column)
    least = column.spec.least
    return value if least is None else pl.when(value >= least).then(value)


def _number(column: FoundColumn) -> pl.Expr:
    if column.spec.type == "int":
        return _stripped(column).cast(pl.Int64, strict=False)
    if column.spec.type == "number":
        return _stripped(column).cast(pl.Float64, strict=False)
    # Decimal, because 16 digits of microseconds do not fit a float.
    places = _PLACES[column.ns_per_unit]
    decimal = _stripped(column).cast(pl.Decimal(38, places), strict=False)
    return (decimal * column.ns_per_unit).cast(pl.Int64, strict=False)


def _drop_damaged(
    frame: pl.DataFrame, spec: TableSpec, cut: bool
) -> tuple[pl.DataFrame, tuple[int, int] | None]:
    """Leave out rows without their required values; returns how many and the position of the first."""
    required = [column.name for column in spec.columns if column.required]
    damaged = pl.any_horizontal([pl.col(name).is_null() for name in required])
    if cut and frame.height:
        damaged = damaged | (pl.col(ROW) == frame[ROW].max())
    lost = frame.filter(damaged)
    if not lost.height:
        return frame, None
    return frame.filter(~damaged), (lost.height, int(lost[ROW][0]))


def _without_last_cell(
    frame: pl.DataFrame, text: CsvText, found: tuple[FoundColumn, ...]
) -> tuple[pl.DataFrame, str]:
    """Forget the very last cell of a file without a line end at its end, and say which column it is of.

    Every writer ends each row with a line end, so the file is cut, and the cell may have lost digits.
    """
    position = len(text.header) - 1
    last = pl.col(ROW) == frame[ROW].max()
    lost = [
        pl.when(~last).then(pl.col(column.spec.name)).alias(column.spec.name)
        for column in found
        if column.position == position
    ]
    return frame.with_columns(lost), text.header[position].strip()


def _damage_note(damage: tuple[Damage, ...], shown: str) -> Note:
    first = damage[0]
    kind = "quotes_damaged" if first.reason == "quotes" else "not_utf8"
    return Note(kind, {"count": len(damage)}, shown, first.line, damage=True)


def _spreadsheet_note(text: CsvText, found: tuple[FoundColumn, ...], shown: str) -> list[Note]:
    """A spreadsheet that saved the file anew prints times as 1.76E+15 and so loses their digits."""
    start = next((column for column in found if column.spec.name in {"start_ns", "iteration_end_ns"}), None)
    if start is None:
        return []
    cell = text.first_row[start.position] if start.position < len(text.first_row) else ""
    return [Note("spreadsheet_times", {}, shown, 2, damage=True)] if "E+" in cell.upper() else []


def _roles(frame: pl.DataFrame) -> pl.Expr:
    rules = load_toml("analysis.profile", "columns.toml")["roles"]
    prefixes, endings = rules["communication_prefixes"], rules["accompanying"]
    accompanying = _distinct_where(frame, "name", [pl.col("name").str.ends_with(end) for end in endings])
    named = pl.lit(value=False)
    for column in ("name", "op_type"):
        starts = [pl.col(column).str.starts_with(prefix) for prefix in prefixes]
        named = named | _is_one_of(column, _distinct_where(frame, column, starts))
    role = (
        pl.when(_is_one_of("name", accompanying))
        .then(pl.lit("communication_kernel"))
        .when(_is_one_of("core_type", rules["communication_cores"]) | (pl.col("core_type").is_null() & named))
        .then(pl.lit("communication"))
        .otherwise(pl.lit("compute"))
    )
    return role.cast(pl.Categorical).alias("role")


def _distinct_where(frame: pl.DataFrame, column: str, tests: list[pl.Expr]) -> list[str]:
    """Distinct values of a text column that pass one of ``tests``; far fewer than rows."""
    values = frame.select(pl.col(column).unique().cast(pl.String)).drop_nulls()
    return values.filter(pl.any_horizontal(tests)).to_series().to_list()


def _is_one_of(column: str, values: list[str]) -> pl.Expr:
    if not values:
        return pl.lit(value=False)
    return pl.col(column).is_in(pl.Series(values, dtype=pl.Categorical).implode()).fill_null(value=False)


def _with_aliases(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    aliases = load_toml("analysis.profile", "columns.toml")["aliases"].get(name, {})
    return frame.with_columns(
        pl.col(column).cast(pl.String).str.to_lowercase().replace(renamed).cast(pl.Categorical)
        for column, renamed in aliases.items()
    )
