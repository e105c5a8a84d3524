"""Copies that arrive: through tmux where it runs, else through the terminal, and always in a file."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_TMUX_SECONDS = 2.0
_LAST_COPY = "last-copy.md"


@dataclass(frozen=True, slots=True)
class Copied:
    """Where a copy went."""

    way: Literal["tmux", "osc52"]
    kept: Path | None
    """The file that holds it too; None if the state directory cannot be written."""


def copy_text(text: str, write_osc52: Callable[[str], None], environment: Mapping[str, str]) -> Copied:
    """Put ``text`` where the user can paste it from.

    tmux with its default ``set-clipboard external`` swallows OSC 52 of the programs inside it, so
    there the text goes through ``tmux load-buffer -w``, which also hands it to the outer terminal.
    A terminal may ignore OSC 52 without a word, hence the file.

    Args:
        text: What to copy.
        write_osc52: Sends the text through the terminal; called when tmux cannot take it.
        environment: The process environment.
    """
    way: Literal["tmux", "osc52"] = "tmux"
    if not environment.get("TMUX") or not _load_tmux_buffer(text):
        write_osc52(text)
        way = "osc52"
    return Copied(way, _keep(text, state_directory(environment)))


def state_directory(environment: Mapping[str, str]) -> Path:
    """The user's state directory for recui (XDG)."""
    base = environment.get("XDG_STATE_HOME")
    root = Path(base) if base else Path(environment.get("HOME") or Path.home()) / ".local" / "state"
    return root / "recui"


def _load_tmux_buffer(text: str) -> bool:
    try:
        subprocess.run(
            ["tmux", "load-buffer", "-w", "-"],  # noqa: S607  # the tmux of the user's own path
            input=text.encode("utf-8", "replace"),
            check=True,
            capture_output=True,
            timeout=_TMUX_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def _keep(text: str, directory: Path) -> Path | None:
    """Write the copy readable by its owner only, replacing the last one in a single step."""
    target = directory / _LAST_COPY
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(dir=directory)  # mkstemp makes the file 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as stream:
                stream.write(text)
            Path(temporary).replace(target)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError:
        return None
    return target
