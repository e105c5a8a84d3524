"""What was read of a trace, kept compact while reading: growing numpy columns and their dictionaries."""

from __future__ import annotations

import mmap
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.trace.decode import EMPTY, Dictionaries, Flaws, Metadata

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from analysis.trace.chunks import Chunk, Run

_BLOCK_BYTES = 1 << 20


class Growing:
    """A column that grows block by block.

    Each block is memory of its own that goes back to the system as soon as it is done with; out of the heap
    it would stay with the process, and be missing when frames are built.
    """

    def __init__(self, dtype: np.dtype[Any], empty: int) -> None:
        self._dtype = dtype
        self._rows = _BLOCK_BYTES // dtype.itemsize
        self._blocks: list[npt.NDArray[Any]] = []
        self._size = 0
        self._empty = empty

    def put(self, at: int, values: npt.NDArray[Any]) -> None:
        """Write values from row ``at`` on; rows before it that have none are empty."""
        while self._size < at:
            room = self._room(at - self._size)
            room[:] = self._empty
            self._size += len(room)
        done = 0
        while done < len(values):
            room = self._room(len(values) - done)
            room[:] = values[done : done + len(room)]
            done += len(room)
            self._size += len(room)

    def take(self, rows: int) -> npt.NDArray[Any]:
        """All rows, those at the end that have no value empty; the column is gone then."""
        self.put(rows, np.empty(0, self._dtype))
        result = np.empty(rows, self._dtype)
        self._blocks.reverse()
        for at in range(0, rows, self._rows):
            result[at : at + self._rows] = self._blocks.pop()[: rows - at]
        return result

    def _room(self, most: int) -> npt.NDArray[Any]:
        """The next rows that are free, at most so many."""
        block, at = divmod(self._size, self._rows)
        if block == len(self._blocks):
            self._blocks.append(np.frombuffer(mmap.mmap(-1, _BLOCK_BYTES), self._dtype))
        return self._blocks[block][at : at + most]


class Rows:
    """Columns of one length; a column that no chunk had yet does not exist."""

    def __init__(self) -> None:
        self.height = 0
        self._columns: dict[str, Growing] = {}

    def add(self, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        """Append rows."""
        if not columns:
            return
        for name, values in columns.items():
            column = self._columns.get(name)
            if column is None:
                column = self._columns[name] = Growing(values.dtype, EMPTY.get(name, 0))
            column.put(self.height, values)
        self.height += len(columns["number"])

    def take(self, name: str) -> npt.NDArray[Any] | None:
        """A column, which is forgotten here; None if it does not exist."""
        column = self._columns.pop(name, None)
        return None if column is None else column.take(self.height)


@dataclass(slots=True)
class Segment:
    """What a stretch of one slice holds; numbers count from its first event."""

    part: int
    dictionaries: Dictionaries = field(default_factory=Dictionaries)
    objects: int = 0
    phases: Counter[str] = field(default_factory=Counter)
    bars: Rows = field(default_factory=Rows)
    ends: Rows = field(default_factory=Rows)
    ids: bytearray = field(default_factory=bytearray)
    """The ids of ``ends`` as JSON, each with a line end."""
    metadata: list[Metadata] = field(default_factory=list)
    flaws: Flaws = field(default_factory=Flaws)
    runs: list[Run] = field(default_factory=list)

    def add(self, chunk: Chunk) -> None:
        """Append the events of a chunk."""
        columns = chunk.columns
        self.objects += columns.objects
        self.phases.update(columns.phases)
        self.bars.add(columns.bars)
        self.ends.add(columns.ends)
        self.ids += columns.ids
        self.metadata.extend(columns.metadata)
        for kind, flaw in columns.flaws.items():
            self.flaws.note(kind, flaw.example, flaw.number, flaw.count)
        self.runs.extend(chunk.runs)
