"""Pane 5: all host operators of a step as one tree, the costliest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from widgets.list_pane import View
from widgets.phase_levels import PhaseLevels
from widgets.step_pane import StepPane

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analysis.phases.results import Phases
    from analysis.result import Analysis


class AtenPane(StepPane):
    """The aten IR of a step: threads and phases side by side, means over the steps or one of them."""

    NAME = "aten"

    def views(self, analysis: Analysis, phases: Phases) -> Mapping[str, View]:
        """The one tree."""
        return {"tree": View("tree", PhaseLevels(analysis, phases).aten_tree(self.step), 1, counted=False)}
