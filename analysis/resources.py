"""What the work may use of the machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_MOST_JOBS = 8


@dataclass(frozen=True, slots=True)
class Resources:
    """What the work may use; it changes how long a result takes, never the result."""

    jobs: int = 1
    """Processes that may read one large file together."""
    cache: Path | None = None
    """Folder that keeps what was read of a trace for the next opening; None keeps nothing."""


def usual_jobs() -> int:
    """How many processes to use where nobody says: the cores this process may run on, at most 8."""
    return min(_cores(), _MOST_JOBS)


def _cores() -> int:
    """Cores of this process; a container or a job scheduler may give fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
