"""One line a file: kind, state, rows, seconds; for a missing file the setting that collects it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from analysis.report.escape import visible
from analysis.units import count_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.report.messages import Messages

_BAR_CELLS = 22
_LEAST_NAME_CELLS = 22
_MOST_NAME_CELLS = 44
_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class FileLine:
    """What is known of one file so far."""

    name: str
    """Path to show; for a missing file its kind."""
    state: str
    """waiting, reading, done, read, listed, passed_over, failed or missing."""
    rows: int | None = None
    counted: str = "row"
    """What ``rows`` counts: row, bar or operation."""
    seconds: float | None = None
    done_bytes: int = 0
    total_bytes: int = 0
    remark: str = ""
    """Why it failed or was passed over, or how to collect it, in words."""


_MARKS = {
    "waiting": "·",
    "reading": " ",
    "done": "✓",
    "read": "✓",
    "listed": "○",
    "passed_over": "○",
    "failed": "!",
    "missing": "–",
}


def file_list_text(lines: Sequence[FileLine], messages: Messages, width: int) -> Text:
    """The lines below one another, each wrapped so that remarks stay readable in ``width`` cells."""
    names = _short_names(lines)
    longest = max(map(cell_len, names), default=0)
    name_cells = min(max(longest, _LEAST_NAME_CELLS), _MOST_NAME_CELLS, max(_LEAST_NAME_CELLS, width // 2))
    out = Text()
    for line, name in zip(lines, names, strict=True):
        shown = name if cell_len(name) <= name_cells else "…" + _tail(name, name_cells - 1)
        head = f"  {set_cell_size(shown, name_cells)} {_MARKS[line.state]} "
        room = max(20, width - cell_len(head) - 1)
        for index, piece in enumerate(wrapped(_story(line, messages), room)):
            out.append(head if index == 0 else " " * cell_len(head))
            out.append(piece, "dim" if line.state in ("missing", "waiting", "listed", "passed_over") else "")
            out.append("\n")
    out.rstrip()
    return out


def _short_names(lines: Sequence[FileLine]) -> list[str]:
    """File names without their folders, where they tell the files apart."""
    names = [visible(line.name.rpartition("/")[2]) for line in lines]
    return [
        visible(line.name) if names.count(name) > 1 else name for line, name in zip(lines, names, strict=True)
    ]


def _story(line: FileLine, messages: Messages) -> str:
    if line.state == "reading" and line.done_bytes:
        return _progress(line, messages)
    if line.state == "reading":
        return messages.text("loading.reading", {"size": f"{line.total_bytes / _MEGABYTE:,.0f} MB"})
    if line.state in ("done", "read"):
        rows = _rows(line, messages)
        return rows if line.seconds is None else f"{set_cell_size(rows, 18)} {line.seconds:>6.1f} s"
    state = messages.text(f"loading.{line.state}")
    return f"{state}: {visible(line.remark)}" if line.remark else state


def _rows(line: FileLine, messages: Messages) -> str:
    if line.rows is None:
        return messages.text("loading.read")
    key = f"loading.{line.counted}" if line.rows == 1 else f"loading.{line.counted}s"
    return messages.text(key, {"rows": count_text(line.rows)})


def _progress(line: FileLine, messages: Messages) -> str:
    total = line.total_bytes
    if total <= 0:
        return messages.text("loading.waiting")
    share = min(1.0, line.done_bytes / total)
    filled = int(share * _BAR_CELLS)
    bar = "━" * filled + "─" * (_BAR_CELLS - filled)
    return f"{bar} " + messages.text(
        "loading.percent",
        {
            "percent": int(share * 100),
            "done": f"{line.done_bytes / _MEGABYTE:,.0f}",
            "total": f"{total / _MEGABYTE:,.0f} MB",
        },
    )


def _tail(text: str, cells: int) -> str:
    """The last ``cells`` cells of a text."""
    start = 0
    while cell_len(text[start:]) > cells:
        start += 1
    return text[start:]


def wrapped(text: str, cells: int) -> list[str]:
    """The text in lines of at most ``cells`` cells, broken at blanks or, in CJK, between characters."""
    lines: list[str] = []
    rest = text
    while cell_len(rest) > cells:
        end = 0
        while cell_len(rest[: end + 1]) <= cells:
            end += 1
        blank = rest.rfind(" ", 0, end + 1)
        cut = blank if blank > cells // 3 else end
        lines.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    lines.append(rest)
    return lines
