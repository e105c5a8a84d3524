"""Leaving in good order when the connection is gone or a job is stopped."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

_SECONDS_TO_LEAVE = 2
_leaving: list[int] = []
"""The exit code, once a signal has asked to leave."""


def leave_on_signals() -> None:
    """Let temporary files go too when a signal ends recui."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP, and so it stays
            signal.signal(number, _leave)


def leaving_code() -> int | None:
    """The exit code that a signal has set; None where none has asked to leave."""
    return _leaving[0] if _leaving else None


def _leave(number: int, _frame: object) -> NoReturn:
    """Unwind the main thread.

    Textual's threads may hang on a terminal that is gone: what has not ended by then is ended by the alarm.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_SECONDS_TO_LEAVE)
    _leaving.append(128 + number)
    sys.exit(_leaving[0])
