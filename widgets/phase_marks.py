"""How a phase is marked where there is no room for its name: a letter, in a colour of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from analysis.phases.model import LETTERS, ROWS, UNCLASSIFIED
from widgets.frame_table import FrameTable
from widgets.row_painter import Lead, Mark

if TYPE_CHECKING:
    from widgets.row_painter import Leads

PHASE_PARTS = {phase: f"phase--{phase}" for phase in ROWS}
"""Component class of every phase; the theme gives them colours."""


def phase_mark(phase: str | None) -> Mark:
    """The letter of a phase and a blank; without a phase it is unclassified."""
    known = phase if phase in LETTERS else UNCLASSIFIED
    return Mark(f"{LETTERS[known]} ", PHASE_PARTS[known])


class PhaseTable(FrameTable):
    """A table whose phases stand with their letters."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(PHASE_PARTS.values())
    LEAST_BAR: ClassVar[int] = 6

    def leads(self, position: int) -> dict[str, Leads]:
        """The letter of the row's phase at its beginning."""
        if self._view is None or not self._shown or "phase" not in self._view.frame.columns:
            return {}
        phase = self._view.frame["phase"][self._view.row_at(position)]
        return {self._shown[0].key: lambda _: Lead(before=(phase_mark(phase),))}

    def lead_cells(self, key: str) -> int:
        """Letter and blank."""
        return 2 if self._shown and key == self._shown[0].key else 0
