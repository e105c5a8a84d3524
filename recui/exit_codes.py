"""What a script can tell from the exit of recui."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Why recui ended; 0 is fine."""

    USAGE = 2
    """Wrong usage, no such path, not a profile, no terminal."""
    DAMAGED = 3
    """Part of the input was lost; the report is written and lists what."""
    OUTPUT = 4
    """The report cannot be written."""
    BUG = 70
    """recui itself failed (EX_SOFTWARE)."""
    INTERRUPTED = 130
    """Ctrl-C."""
