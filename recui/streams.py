"""Standard output carries the report, standard error what recui has to say; neither fails loudly."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from analysis.errors import OutputError

if TYPE_CHECKING:
    from typing import TextIO


def say(text: str) -> None:
    """One line on standard error."""
    line = " ".join(text.splitlines())
    with suppress(OSError, ValueError):  # a closed standard error leaves nobody to tell
        print(f"recui: {line}", file=sys.stderr, flush=True)  # noqa: T201


def write_stdout(content: bytes) -> None:
    """Write to standard output as it is, whatever the locale.

    A reader that had enough (``head``) is no error.

    Raises:
        OutputError: Standard output is closed, or the disk behind it is full.
    """
    if sys.stdout is None:
        raise OutputError("cannot write to standard output: it is closed")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _to_nowhere(sys.stdout)
    except OSError as error:
        _to_nowhere(sys.stdout)
        raise OutputError(f"cannot write to standard output: {error.strerror}") from error


def flush_stdout() -> None:
    """Write what is buffered now: the interpreter's end would report a broken pipe."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        _to_nowhere(sys.stdout)


def _to_nowhere(stream: TextIO) -> None:
    """What is still buffered would be tried again, loudly, when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
