"""What must be known before a list is read: in full where there is room, on one line of a low screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text
from textual.widgets import Static

from widgets.safe_text import PHRASE_GAP, cut, packed, safe_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.report.messages import Messages

_GAP = " " * PHRASE_GAP
_PADDING = 1


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing to know."""

    full: str
    brief: str = ""
    """What stands for it where all remarks share one line; empty where it is brief already."""

    @property
    def on_one_line(self) -> str:
        """Its shortest words."""
        return self.brief or self.full


class Banner(Static):
    """Remarks above a list, the gravest first. It takes no room without any."""

    DEFAULT_CSS = """
    Banner { height: auto; padding: 0 1; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__("", id=id, markup=False)
        self._folded: tuple[str, ...] = ()
        self.display = False

    @property
    def folded(self) -> tuple[str, ...]:
        """The remarks in full, where the line on screen has room for less; otherwise nothing."""
        return self._folded

    def show(self, remarks: Sequence[Remark], messages: Messages, *, width: int, low: bool) -> None:
        """Replace the remarks.

        Args:
            remarks: The gravest first.
            messages: The language.
            width: Cells of a line of the pane.
            low: Whether all of them have to share one line.
        """
        room = width - 2 * _PADDING
        full = tuple(remark.full for remark in remarks)
        lines = packed(full, room)
        fits = len(lines) <= 1 and all(cell_len(line) <= room for line in lines)
        self._folded = full if low and not fits else ()
        if self._folded:
            lines = [folded_line(remarks, messages, room)]
        self.update(Text("\n").join(safe_text(line) for line in lines))
        self.display = bool(lines)


def folded_line(remarks: Sequence[Remark], messages: Messages, width: int) -> str:
    """As many remarks as fit in their shortest words, and how many more there are and where.

    Args:
        remarks: At least one, the gravest first.
        messages: The language.
        width: Cells of the line.
    """
    words = [remark.on_one_line for remark in remarks]
    for count in range(len(words), 0, -1):
        line = _GAP.join((*words[:count], _pointer(len(words) - count, messages)))
        if cell_len(line) <= width:
            return line
    pointer = _GAP + _pointer(len(words) - 1, messages)
    return cut(words[0], width - cell_len(pointer)) + pointer


def _pointer(hidden: int, messages: Messages) -> str:
    """Where all remarks stand in full."""
    key = "banner.more" if hidden else "banner.full"
    return messages.text(key, {"count": hidden})
