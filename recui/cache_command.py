"""``recui cache``: what is kept of traces that were read, and its removal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.errors import OutputError
from analysis.report.escape import visible
from analysis.trace.cache import clear, info
from analysis.units import bytes_text, count_text
from recui.streams import write_stdout

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.trace.cache import CacheInfo


def show_cache(folder: Path) -> None:
    """Print the folder, the number of traces and their size on disk."""
    held = info(folder)
    _print(f"{visible(str(folder))}: {_amount(held)}")


def clear_cache(folder: Path) -> None:
    """Remove what recui has written there, and print what that was.

    Raises:
        OutputError: Some of it cannot be removed.
    """
    removed = clear(folder)
    _print(f"removed {_amount(removed)} from {visible(str(folder))}")
    if removed.failed:
        files = "1 file" if removed.failed == 1 else f"{count_text(removed.failed)} files"
        raise OutputError(f"cannot remove {files} in {visible(str(folder))}")


def _amount(cache: CacheInfo) -> str:
    traces = "1 trace" if cache.entries == 1 else f"{count_text(cache.entries)} traces"
    return f"{traces}, {bytes_text(cache.bytes)}"


def _print(text: str) -> None:
    write_stdout(f"{text}\n".encode("utf-8", "replace"))
