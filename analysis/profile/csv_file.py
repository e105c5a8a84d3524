"""One CSV file as text columns, whatever a broken write or a foreign hand did to it."""

from __future__ import annotations

import csv
import io
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
from polars.exceptions import PolarsError

from analysis.errors import UnreadableFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ROW = "row"
_LONGEST_LINE = 1 << 20
_PIECE = 32 << 20
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
    first_row: tuple[str, ...]
    """The cells of the first row; empty if the file has none."""
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
            source: Path | bytes = _unzip(path) if path.suffix == ".gz" else path
            first, second, last, previous, complete = _ends(source)
        except OSError as error:
            raise UnreadableFileError(path, error.strerror or str(error)) from error
        header = _header(path, first)
        # A cut inside quotes unbalances them, which `collect` finds and repairs.
        balanced = last.count(b'"') % 2 == 0
        short = _cells(last) < len(header) and _cells(last) != _cells(previous)
        cut = not complete and last != first and balanced and short
        unfinished = not complete and last != first and balanced and not short
        return cls(path, header, _row(second), source, cut, unfinished)

    def collect(
        self,
        select: Callable[[pl.LazyFrame], pl.LazyFrame],
        advance: Callable[[int], None] = lambda _: None,
    ) -> tuple[pl.DataFrame, tuple[Damage, ...]]:
        """Run ``select`` over the rows; the damage names what had to be repaired to do so.

        The file is read in pieces of whole lines, which bounds the memory to that of the result, and
        ``select`` runs over each piece. The frame given to it has the text columns ``"0"``, ``"1"`` … and
        ``row``, the 0-based position of the row in the file. ``N/A`` and empty cells are null.

        Args:
            select: What to keep of a piece.
            advance: Told how many bytes are done; it may raise to stop the work.

        Raises:
            UnreadableFileError: The rows cannot be read even after repair.
        """
        frames: list[pl.DataFrame] = []
        damage: list[Damage] = []
        row = done = 0
        for piece in self._pieces():
            frame, repaired = self._collect_piece(select, piece, row)
            frames.append(frame)
            damage += repaired
            row += piece.count(b"\n")
            done += len(piece)
            advance(done)
        return pl.concat(frames), tuple(damage)

    def _pieces(self) -> Iterator[bytes]:
        """The rows without the header; at least one piece, even if it is empty."""
        with io.BytesIO(self.source) if isinstance(self.source, bytes) else self.source.open("rb") as file:
            file.readline()
            piece = file.read(_PIECE) + file.readline()
            yield piece
            while piece := file.read(_PIECE) + file.readline():
                yield piece

    def _collect_piece(
        self, select: Callable[[pl.LazyFrame], pl.LazyFrame], piece: bytes, row: int
    ) -> tuple[pl.DataFrame, tuple[Damage, ...]]:
        try:
            return select(self._scan(piece, row)).collect(engine="streaming"), ()
        except PolarsError:
            text, damage = _repair(piece, row + 2)
        try:
            return select(self._scan(text, row)).collect(engine="streaming"), damage
        except PolarsError as error:
            reason = str(error).splitlines()[0]
            raise UnreadableFileError(self.path, f"not readable as CSV ({reason})") from error

    def _scan(self, piece: bytes, row: int) -> pl.LazyFrame:
        schema = {str(position): pl.String for position in range(len(self.header))}
        if not piece:
            return pl.LazyFrame(schema={ROW: pl.UInt32, **schema})
        return pl.scan_csv(
            piece,
            has_header=False,
            schema=schema,
            null_values=["N/A"],
            truncate_ragged_lines=True,
            extra_columns="ignore",
            missing_columns="insert",
            row_index_name=ROW,
            row_index_offset=row,
        )


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


def _ends(source: Path | bytes) -> tuple[bytes, bytes, bytes, bytes, bool]:
    """First two lines, last line, the line before it, and whether the text ends with a line end."""
    if isinstance(source, bytes):
        head, tail = source[:_LONGEST_LINE], source[-_LONGEST_LINE:]
    else:
        with source.open("rb") as file:
            head = file.read(_LONGEST_LINE)
            size = file.seek(0, 2)
            file.seek(max(0, size - _LONGEST_LINE))
            tail = file.read()
    lines = tail.rstrip(b"\r\n").split(b"\n")
    first, _, rest = head.partition(b"\n")
    previous = lines[-2] if len(lines) > 1 else b""
    return first, rest.partition(b"\n")[0], lines[-1], previous, tail.endswith(b"\n")


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


def _row(line: bytes) -> tuple[str, ...]:
    return tuple(_split(line.decode("utf-8", "replace").rstrip("\r")))


def _cells(line: bytes) -> int:
    return len(_row(line))


def _split(line: str) -> list[str]:
    # Older csv modules refuse NUL, which binary files are full of.
    return next(csv.reader([line.replace("\0", "\ufffd")]), [])


def _repair(text: bytes, first_line: int) -> tuple[bytes, tuple[Damage, ...]]:
    """The text without lines of unbalanced quotes and with foreign bytes made visible.

    None of the tables read here has line breaks inside cells, so a line is a row, and an odd number of
    quotes means that the row cannot be split into cells.
    """
    damage: list[Damage] = []
    kept: list[bytes] = []
    for number, line in enumerate(text.split(b"\n"), start=first_line):
        if line.count(b'"') % 2:
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
