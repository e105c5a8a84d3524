"""How long work reports itself and is stopped, without knowing of threads or screens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class FileProgress:
    """How far one file is."""

    kind: str
    file: str
    """Path relative to the profile."""
    state: str
    """reading, done or failed."""
    done_bytes: int
    total_bytes: int
    rows: int | None = None
    seconds: float | None = None


Progress: TypeAlias = Callable[[FileProgress], None]
Cancelled: TypeAlias = Callable[[], bool]


def ignore_progress(_: FileProgress) -> None:
    """For callers that show no progress."""


def never_cancelled() -> bool:
    """For callers that cannot cancel."""
    return False
