"""How wide the columns of a table are and where each begins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MARGIN = 2
"""Cells left of the first column, for the cursor mark."""
GAP = 2
"""Cells right of each column; the first of them holds the sort mark."""

_TEXT_MINIMUM = 12
_TEXT_NATURAL = 48
_TEXT_LEAST = 4
_BAR_MINIMUM = 5
_BAR_MAXIMUM = 10
_FROZEN_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Demand:
    """What one column would like."""

    natural: int
    """Cells of its widest known value or title."""
    minimum: int | None
    """Cells down to which it may be cut; None if it must not be cut."""
    bar: bool = False
    least_bar: int = 0
    """Cells of the bar for which text is cut; 0 where a bar only takes what is left over."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one column stands."""

    index: int
    """Which column."""
    x: int
    """Left edge; before any horizontal scrolling, or on screen."""
    width: int
    """Cells of the value."""
    bar: int
    """Cells of the bar right of the value, 0 without one."""
    text: bool
    """True if the values may be cut."""

    @property
    def end(self) -> int:
        """First cell right of the column and its gap."""
        return self.x + self.width + (self.bar + 1 if self.bar else 0) + GAP


@dataclass(frozen=True, slots=True)
class Layout:
    """Places of all columns; horizontal scrolling goes by whole columns, for half a number is a wrong one."""

    places: tuple[Place, ...]
    frozen: int
    """How many columns at the left stay when the others scroll."""

    @property
    def frozen_width(self) -> int:
        """Cells of the columns that stay."""
        return self.places[self.frozen - 1].end if self.frozen else MARGIN

    def offset(self, first: int) -> int:
        """Cells scrolled away when ``first`` is the first column behind the frozen ones."""
        return self.places[first].x - self.frozen_width if first < len(self.places) else 0

    def first_at(self, offset: int) -> int:
        """The first column behind the frozen ones when this many cells are scrolled away."""
        for first in range(self.frozen, len(self.places)):
            if self.offset(first) >= offset:
                return first
        return max(self.frozen, len(self.places) - 1)

    def first_for(self, column: int, first: int, width: int) -> int:
        """The first column behind the frozen ones that brings ``column`` whole on screen, else ``first``."""
        if column < self.frozen:
            return first
        if column < first:
            return column
        while first < column and self.places[column].end - self.offset(first) > width:
            first += 1
        return first

    def scroll_width(self, width: int) -> int:
        """Cells to scroll over, so that at the far end the last column is whole."""
        if not self.places or self.places[-1].end <= width:
            return width
        return width + self.offset(self.first_for(len(self.places) - 1, self.frozen, width))

    def on_screen(self, first: int, width: int) -> tuple[Place, ...]:
        """The columns that a screen shows, at their place on it; a number that does not fit is left out."""
        shown = list(self.places[: self.frozen])
        offset = self.offset(first)
        for place in self.places[first:]:
            moved = replace(place, x=place.x - offset)
            if moved.end > width:
                room = width - GAP - moved.x
                if moved.text and room >= _TEXT_LEAST:
                    shown.append(replace(moved, width=room))
                break
            shown.append(moved)
        return tuple(shown)


def place_columns(demands: Sequence[Demand], frozen: int, available: int) -> Layout:
    """Share the available cells among the columns.

    Text columns are cut first, the widest before the others and none below its minimum; what still does
    not fit scrolls. Cells left over go to bars first, then to text longer than the usual limit.
    """
    widths = [
        demand.natural if demand.minimum is None else min(demand.natural, _TEXT_NATURAL) for demand in demands
    ]
    bars = [demand.least_bar if demand.bar else 0 for demand in demands]
    room = available - sum(bar + 1 for bar in bars if bar)
    spare = room - (MARGIN + sum(widths) + GAP * len(widths))
    shown = demands
    if spare < 0:
        _shrink(widths, [_least(demand) for demand in demands], -spare)
        shown, spare = _fill_first_screen(widths, demands, room)
    for index, demand in enumerate(shown):
        if demand.bar and not bars[index] and spare > _BAR_MINIMUM:
            bars[index] = min(_BAR_MAXIMUM, spare - 1)
            spare -= bars[index] + 1
    for index, demand in enumerate(shown):
        grown = min(demand.natural - widths[index], spare)
        if demand.minimum is not None and grown > 0:
            widths[index] += grown
            spare -= grown
    if frozen:
        _limit_frozen(widths, bars, frozen, int(available * _FROZEN_SHARE))
    places: list[Place] = []
    x = MARGIN
    for index, demand in enumerate(demands):
        places.append(Place(index, x, widths[index], bars[index], demand.minimum is not None))
        x = places[-1].end
    return Layout(tuple(places), frozen)


def text_minimum(preferred: int | None) -> int:
    """Cells down to which a text column may be cut."""
    return _TEXT_MINIMUM if preferred is None else preferred


def _least(demand: Demand) -> int:
    return demand.natural if demand.minimum is None else min(demand.minimum, demand.natural)


def _shrink(widths: list[int], least: Sequence[int], excess: int) -> None:
    """Take ``excess`` cells, one by one, from the widest column that may be cut."""
    for _ in range(excess):
        able = [index for index, width in enumerate(widths) if width > least[index]]
        if not able:
            return
        widths[max(able, key=lambda index: (widths[index], -index))] -= 1


def _fill_first_screen(
    widths: list[int], demands: Sequence[Demand], available: int
) -> tuple[Sequence[Demand], int]:
    """Where columns scroll anyway, give text the cells that the last whole column leaves empty.

    Not where the column after it is text, for that shows in those cells what it can.

    Returns:
        The columns that stand whole on the first screen, and the cells still empty behind them.
    """
    ends = list(accumulate((width + GAP for width in widths), initial=MARGIN))
    whole = max(0, sum(end <= available for end in ends) - 1)
    if whole == len(widths) or demands[whole].minimum is not None:
        return demands[:whole], 0
    room = available - ends[whole]
    for index, demand in enumerate(demands[:whole]):
        grown = min(min(demand.natural, _TEXT_NATURAL) - widths[index], room)
        if demand.minimum is not None and grown > 0:
            widths[index] += grown
            room -= grown
    return demands[:whole], room


def _limit_frozen(widths: list[int], bars: Sequence[int], frozen: int, limit: int) -> None:
    """Cut the last frozen column so that the scrolling part keeps room of its own, if there is one."""
    if frozen == len(widths):
        return
    others = MARGIN + sum(widths[: frozen - 1]) + sum(bars[:frozen]) + GAP * frozen
    widths[frozen - 1] = max(1, min(widths[frozen - 1], limit - others))
