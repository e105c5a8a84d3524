"""What can go wrong with an input, each error saying what is wrong and where.

RecuiError
├── UsageError             a value the user gave cannot be used
├── NotAProfileError       the path holds nothing recui reads
├── UnreadableFileError    one file cannot be read (path, line, reason)
│   └── MissingColumnError a file lacks a column that its kind always has
├── OutputError            the report cannot be written
└── CancelledError         the user stopped the work
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class RecuiError(Exception):
    """Base of every error that a bad input or a bad request may cause."""


class UsageError(RecuiError):
    """A value the user gave cannot be used; the text lists what can."""


class NotAProfileError(RecuiError):
    """The path is missing or holds nothing recui reads; the text says what to give instead."""


class UnreadableFileError(RecuiError):
    """One file cannot be read.

    Args:
        path: The file.
        reason: What is wrong with it, in a few words.
        line: The 1-based line where it goes wrong, if one can be named.
    """

    def __init__(self, path: Path, reason: str, line: int | None = None) -> None:
        self.path = path
        self.reason = reason
        self.line = line
        where = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{where}: {reason}")


class MissingColumnError(UnreadableFileError):
    """A file lacks a column without which its rows mean nothing."""

    def __init__(self, path: Path, column: str, found: Sequence[str]) -> None:
        self.column = column
        self.found = tuple(found)
        shown = ", ".join(self.found[:8])
        super().__init__(path, f"no column {column!r}; it has {shown}", line=1)


class OutputError(RecuiError):
    """The report cannot be written; nothing half-written is left behind."""


class CancelledError(RecuiError):
    """The user stopped the work before its end."""
