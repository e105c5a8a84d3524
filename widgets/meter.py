"""Bars of block characters that read without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

FILLS = "█▒░▓"
"""Fill characters of neighbouring parts of a stacked bar, in turn."""

_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar_text(fraction: float | None, width: int) -> str:
    """A bar of ``fraction`` (0-1) of ``width`` cells in eighths, filled up with blanks.

    A fraction above 0 shows at least one eighth, so that little never looks like nothing.
    """
    if fraction is None or not fraction > 0:
        return " " * width
    eighths = max(1, round(min(fraction, 1.0) * width * 8))
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(width)


def cell_counts(parts: Sequence[float], width: int) -> list[int]:
    """How many of ``width`` cells each part gets, by largest remainder, so that they fill the width exactly.

    Ties go to the earlier part. Nothing to divide gives no cells.
    """
    total = sum(parts)
    if not total > 0:
        return [0] * len(parts)
    exact = [part * width / total for part in parts]
    counts = [int(value) for value in exact]
    by_remainder = sorted(range(len(parts)), key=lambda index: (counts[index] - exact[index], index))
    for index in by_remainder[: width - sum(counts)]:
        counts[index] += 1
    return counts


def stacked_bar(
    parts: Sequence[float], width: int, *, styles: Sequence[str] = (), fills: str = FILLS
) -> Text:
    """The parts side by side in exactly ``width`` cells, each with its own fill character.

    Args:
        parts: Sizes in any one unit, none below 0; the whole bar is their sum.
        width: Cells of the bar; blank if the sum is 0.
        styles: Style of each part, where wanted.
        fills: Fill characters, used in turn.
    """
    bar = Text(end="", no_wrap=True)
    for index, count in enumerate(cell_counts(parts, width)):
        bar.append(fills[index % len(fills)] * count, styles[index] if index < len(styles) else None)
    bar.append(" " * (width - len(bar)))
    return bar
