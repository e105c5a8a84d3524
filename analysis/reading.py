"""Reading one file of a capture while the caller is told how far it is and may stop it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from analysis.errors import CancelledError, UnreadableFileError
from analysis.profile.tables import display_path
from analysis.progress import FileProgress

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from analysis.profile.discover import SourceFile
    from analysis.progress import Cancelled, Progress

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading:
    """How files below ``root`` are read: whom to tell, and whom to ask whether to go on."""

    root: Path
    progress: Progress
    cancelled: Cancelled

    def read(
        self,
        source: SourceFile,
        read: Callable[[Callable[[int], None]], T],
        rows: Callable[[T], int],
    ) -> T:
        """What ``read`` gives, told about as reading, then done with its number of rows, or failed.

        Args:
            source: The file.
            read: Is given what to call with the bytes done; that raises CancelledError.
            rows: How many rows the result holds.

        Raises:
            UnreadableFileError: As raised by ``read``.
            CancelledError: The user stopped the work.
        """
        shown = display_path(source.parts[0], self.root)
        started = time.monotonic()
        size = source.size
        self.progress(FileProgress(source.kind, shown, "reading", 0, size))

        def advance(done: int) -> None:
            self.check()
            self.progress(FileProgress(source.kind, shown, "reading", min(done, size), size))

        try:
            result = read(advance)
        except UnreadableFileError:
            self.progress(FileProgress(source.kind, shown, "failed", 0, size))
            raise
        seconds = time.monotonic() - started
        self.progress(FileProgress(source.kind, shown, "done", size, size, rows(result), seconds))
        return result

    def check(self) -> None:
        """Raises CancelledError if the user stopped the work."""
        if self.cancelled():
            raise CancelledError
