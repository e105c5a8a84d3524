"""Names from a profile as terminal text: nothing acts, nothing is markup, widths are cells."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from analysis.report.escape import visible

ELLIPSIS = "…"


def safe_text(name: str, style: str = "") -> Text:
    """The name as rich text; brackets in it stay brackets."""
    return Text(visible(name), style=style)


def cut(name: str, width: int) -> str:
    """The name in at most ``width`` cells, ``…`` at its end where something is left out."""
    text = visible(name)
    if cell_len(text) <= width:
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
