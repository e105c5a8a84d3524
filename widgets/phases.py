"""Pane 4: what each phase takes, the call tree, steps side by side, waits, what runs beside what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from widgets.list_pane import View
from widgets.phase_levels import PhaseLevels
from widgets.phase_lists import PhaseLists
from widgets.step_pane import StepPane

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analysis.phases.results import Phases
    from analysis.report.messages import Messages
    from analysis.result import Analysis


class PhasesPane(StepPane):
    """Whose time a training step is, and what it waits for."""

    NAME = "phases"

    def __init__(self, messages: Messages) -> None:
        super().__init__(messages)
        self._lists: PhaseLists | None = None

    def views(self, analysis: Analysis, phases: Phases) -> Mapping[str, View]:
        """Phases, call tree, steps, waits, asynchrony."""
        levels = PhaseLevels(analysis, phases)
        lists = self._lists = PhaseLists(phases, levels)
        waits = lists.waits(self.step)
        blocking = phases.waits.by_name.height + phases.waits.device_syncs.height
        return {
            "phases": View("phases", lists.phases(self.step, self.messages), 7, counted=False),
            "tree": View("tree", levels.call_tree(self.step), 1, counted=False),
            "steps": View("steps", lists.steps(), phases.times.steps.height),
            "waits": View("waits", waits, blocking),
            "asynchrony": View("asynchrony", lists.asynchrony(), 1, counted=False),
        }

    def in_call_tree(self) -> bool:
        """The call tree, or the part of it below a phase."""
        return self._view == "tree" or (self._view == "phases" and len(self._stack) > 1)

    def relabel(self, messages: Messages) -> None:
        """Another language; the remarks on phases are words of it."""
        super().relabel(messages)
        if self._lists is not None:
            self._stacks["phases"][0].replace(self._lists.phases(self.step, messages))

    def _show_top(self) -> None:
        super()._show_top()
        self._draw_step()
