"""One CSV file as text columns, whatever a broken write or a foreign hand did to it."""

from __future__ import annotations

import csv
import os
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
from polars.exceptions import PolarsError

from analysis.errors import UnreadableFileError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROW = "row"
_LONGEST_LINE = 1 << 20
_LARGEST_UNZIPPED = 2 << 30
_ZIP_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Damage:
    """One line that could not be used whole."""

    line: int
    reason: str
    """cut, quotes or encoding: message ``damage.<reason>``."""


@dataclass(frozen=True, slots=True)
class CsvText:
    """A CSV file whose header is read and whose rows are not yet.

    Rows are addressed by position: column ``k`` of the file is called ``str(k)``, because a file may
    repeat a header (step_trace does).
    """

    path: Path
    header: tuple[str, ...]
    source: Path | bytes
    cut: bool
    """True if the last line ends in the middle of a row."""
    unfinished: bool
    """True if the last row has all its cells but no line end: its last cell may have lost digits."""

    @classmethod
    def open(cls, path: Path) -> CsvText:
        """Read the header and look at the end of ``path`` (plain or .gz).

        Raises:
            UnreadableFileError: The file cannot be opened, is empty, is no CSV, or is too large unzipped.
        """
        try:
            source = _source(path)
            first, last, previous, complete = _ends(source)
        except OSError as error:
            raise UnreadableFileError(path, error.strerror or str(error)) from error
        header = _header(path, first)
        # A cut inside quotes unbalances them, which `collect` finds and repairs.
        balanced = last.count(b'"') % 2 == 0
        short = _cells(last) < len(header) and _cells(last) != _cells(previous)
        cut = not complete and last != first and balanced and short
        unfinished = not complete and last != first and balanced and not short
        return cls(path, header, source, cut, unfinished)

    def collect(
        self, select: Callable[[pl.LazyFrame], pl.LazyFrame]
    ) -> tuple[pl.DataFrame, tuple[Damage, ...]]:
        """Run ``select`` over the rows; the damage names what had to be repaired to do so.

        The frame given to ``select`` has the text columns ``"0"``, ``"1"`` … and ``row``, the 0-based
        position of the row in the file. ``N/A`` and empty cells are null.

        Raises:
            UnreadableFileError: The rows cannot be read even after repair.
        """
        try:
            return select(self._scan(self.source)).collect(engine="streaming"), ()
        except PolarsError:
            text, damage = _repair(self.source)
        try:
            return select(self._scan(text)).collect(engine="streaming"), damage
        except PolarsError as error:
            reason = str(error).splitlines()[0]
            raise UnreadableFileError(self.path, f"not readable as CSV ({reason})") from error

    def _scan(self, source: Path | bytes) -> pl.LazyFrame:
        return pl.scan_csv(
            source,
            has_header=False,
            skip_lines=1,
            schema={str(position): pl.String for position in range(len(self.header))},
            null_values=["N/A"],
            truncate_ragged_lines=True,
            extra_columns="ignore",
            missing_columns="insert",
            row_index_name=ROW,
            glob=False,
        )


def _source(path: Path) -> Path | bytes:
    """What polars can read: it takes neither .gz streams nor paths that are not UTF-8."""
    if path.suffix == ".gz":
        return _unzip(path)
    return path if os.fsencode(path).decode("utf-8", "ignore") == str(path) else path.read_bytes()


def _unzip(path: Path) -> bytes:
    unzip = zlib.decompressobj(wbits=31)
    pieces: list[bytes] = []
    size = 0
    with path.open("rb") as file:
        while chunk := file.read(_ZIP_CHUNK):
            try:
                pieces.append(unzip.decompress(chunk))
            except zlib.error as error:
                raise UnreadableFileError(path, f"not a whole gzip file ({error})") from error
            size += len(pieces[-1])
            if size > _LARGEST_UNZIPPED:
                raise UnreadableFileError(path, "more than 2 GiB when unzipped; unzip it first")
    if not unzip.eof:
        raise UnreadableFileError(path, "the gzip file is cut off; unzip what can be saved first")
    return b"".join(pieces)


def _ends(source: Path | bytes) -> tuple[bytes, bytes, bytes, bool]:
    """First line, last line, the line before it, and whether the text ends with a line end."""
    if isinstance(source, bytes):
        head, tail = source[:_LONGEST_LINE], source[-_LONGEST_LINE:]
    else:
        with source.open("rb") as file:
            head = file.read(_LONGEST_LINE)
            size = file.seek(0, 2)
            file.seek(max(0, size - _LONGEST_LINE))
            tail = file.read()
    lines = tail.rstrip(b"\r\n").split(b"\n")
    return head.split(b"\n", 1)[0], lines[-1], lines[-2] if len(lines) > 1 else b"", tail.endswith(b"\n")


def _header(path: Path, first: bytes) -> tuple[str, ...]:
    if not first.strip():
        raise UnreadableFileError(path, "the file is empty, or its first line is", line=1)
    if len(first) >= _LONGEST_LINE:
        raise UnreadableFileError(path, "the first line is longer than 1 MiB: not a CSV table", line=1)
    try:
        text = first.decode("utf-8-sig").rstrip("\r")
    except UnicodeDecodeError as error:
        raise UnreadableFileError(path, "the header is not UTF-8 text", line=1) from error
    return tuple(_split(text))


def _cells(line: bytes) -> int:
    return len(_split(line.decode("utf-8", "replace").rstrip("\r")))


def _split(line: str) -> list[str]:
    # Older csv modules refuse NUL, which binary files are full of.
    return next(csv.reader([line.replace("\0", "\ufffd")]), [])


def _repair(source: Path | bytes) -> tuple[bytes, tuple[Damage, ...]]:
    """The text without lines of unbalanced quotes and with foreign bytes made visible.

    None of the tables read here has line breaks inside cells, so a line is a row, and an odd number of
    quotes means that the row cannot be split into cells.
    """
    data = source if isinstance(source, bytes) else source.read_bytes()
    damage: list[Damage] = []
    kept: list[bytes] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.count(b'"') % 2 and number > 1:
            damage.append(Damage(number, "quotes"))
            # An empty row keeps the numbering of the rows after it; it is dropped as blank later.
            kept.append(b"")
            continue
        try:
            line.decode()
        except UnicodeDecodeError:
            damage.append(Damage(number, "encoding"))
            kept.append(line.decode("utf-8", "replace").encode())
        else:
            kept.append(line)
    return b"\n".join(kept), tuple(damage)
