"""Names from a profile as terminal text: nothing acts, nothing is markup, widths are cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from analysis.report.escape import visible
from analysis.units import count_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.report.messages import Messages

ELLIPSIS = "…"

MOST_CHARACTERS = 20_000
"""Of one text on screen: more takes seconds to wrap, and no one reads it there."""
_MOST_LINES = 2_000
"""Of one text on screen: a line costs as much as ten characters."""
PHRASE_GAP = 3
"""Cells between two phrases of a line."""
_PER_CELL = 16
"""Characters looked at for each cell: combining ones take none, and a name may hold millions."""


def safe_text(name: str, style: str = "") -> Text:
    """The name as rich text; brackets in it stay brackets."""
    return Text(visible(name), style=style)


def cut(name: str, width: int) -> str:
    """The name in at most ``width`` cells, ``…`` at its end where something is left out."""
    head = name[: _PER_CELL * max(width, 1)]
    text = visible(head)
    if len(head) == len(name) and cell_len(text) <= width:
        return text
    if width <= 0:
        return ""
    # A wide character on the edge leaves a blank cell, which would stand between the name and the mark.
    return set_cell_size(text, width - 1).rstrip(" ") + ELLIPSIS


def fit(name: str, width: int, *, right: bool = False) -> str:
    """The name in exactly ``width`` cells, cut or filled with blanks."""
    text = cut(name, width)
    blanks = " " * (width - cell_len(text))
    return blanks + text if right else text + blanks


def text_lines(text: str, messages: Messages) -> list[str]:
    """The lines of a text, each made visible; a last one tells how much of a very long text is left out."""
    head = text[:MOST_CHARACTERS]
    lines = head.replace("\r\n", "\n").split("\n", _MOST_LINES)
    left_out = len(text) - len(head)
    if len(lines) > _MOST_LINES:
        left_out += len(lines.pop())
    shown = [visible(line) for line in lines]
    if left_out:
        shown.append(messages.text("table.left_out", {"count": count_text(left_out)}))
    return shown


def packed(phrases: Sequence[str], width: int) -> list[str]:
    """The phrases in their order, on as few lines of ``width`` cells as hold them."""
    lines: list[str] = []
    for phrase in phrases:
        if lines and cell_len(lines[-1]) + PHRASE_GAP + cell_len(phrase) <= width:
            lines[-1] += f"{' ' * PHRASE_GAP}{phrase}"
        else:
            lines.append(phrase)
    return lines


def packed_texts(phrases: Sequence[Text], width: int, gap: int = PHRASE_GAP) -> list[Text]:
    """The same for phrases with styles of their own; ``gap`` cells stand between two of them."""
    lines: list[Text] = []
    for phrase in phrases:
        if lines and lines[-1].cell_len + gap + phrase.cell_len <= width:
            lines[-1].append(" " * gap)
            lines[-1].append_text(phrase)
        else:
            lines.append(phrase.copy())
    return lines
