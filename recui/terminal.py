"""Whether the explorer can be drawn here."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO


def obstacle(screen: TextIO | None, keyboard: TextIO | None, environment: Mapping[str, str]) -> str | None:
    """Why the explorer cannot run in this terminal, in a few words; None if it can.

    Both ends must be terminals: Textual would wait forever for keys from a pipe, and would fill a
    file with escape sequences. A dumb terminal shows these sequences as text, and an output that
    is not UTF-8 has no box characters.
    """
    if screen is None or keyboard is None or not (screen.isatty() and keyboard.isatty()):
        return "standard input and output are no terminal"
    if environment.get("TERM", "") in {"", "dumb", "unknown"}:
        return f"the terminal cannot move its cursor (TERM={environment.get('TERM', '')})"
    if not _is_utf8(screen.encoding):
        return f"the locale's encoding is {screen.encoding}; the explorer needs UTF-8 (LC_ALL=C.UTF-8)"
    return None


def _is_utf8(encoding: str) -> bool:
    try:
        return codecs.lookup(encoding).name == "utf-8"
    except LookupError:
        return False
