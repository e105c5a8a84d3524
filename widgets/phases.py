"""Pane 4: what each phase takes, the call tree, steps side by side, waits, what runs beside what."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from widgets.asynchrony_list import asynchrony_list
from widgets.list_pane import View
from widgets.phase_levels import PhaseLevels
from widgets.phase_list import phase_list
from widgets.step_list import step_list
from widgets.step_pane import StepPane
from widgets.wait_list import wait_list

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from analysis.phases.results import Phases
    from analysis.report.messages import Messages
    from analysis.result import Analysis
    from widgets.level import Level


class PhasesPane(StepPane):
    """Whose time a training step is, and what it waits for."""

    NAME = "phases"

    def __init__(self, messages: Messages) -> None:
        super().__init__(messages)
        self._phase_list: Callable[[int | None, Messages], Level] | None = None

    def views(self, analysis: Analysis, phases: Phases) -> Mapping[str, View]:
        """Phases, call tree, steps, waits, asynchrony."""
        levels = PhaseLevels(analysis, phases)
        phase_rows = self._phase_list = partial(phase_list, phases, levels)
        waits = wait_list(phases, levels, self.step)
        blocking = phases.waits.by_name.height + phases.waits.device_syncs.height
        views = {
            "phases": View("phases", phase_rows(self.step, self.messages), 7, counted=False),
            "tree": View("tree", levels.call_tree(self.step), 1, counted=False),
            "steps": View("steps", step_list(phases, levels), phases.times.steps.height),
            "waits": View("waits", waits, blocking),
            "asynchrony": View("asynchrony", asynchrony_list(phases, levels, self.step), 1, counted=False),
        }
        if phases.windows.whole_trace:
            del views["steps"]
        return views

    @property
    def told_step(self) -> int | None:
        """The list of all steps is of no single one, until one is opened."""
        return self.places[0] if self._in_steps() else self._step

    def _in_steps(self) -> bool:
        return self._view == "steps" and len(self._stack) == 1

    def choose_step(self, step: int | None) -> None:
        """The list of steps has the cursor on the one chosen."""
        super().choose_step(step)
        if step is not None and "steps" in self._stacks:
            self._stacks["steps"][0].select_row({"step": step})

    def _turn_step(self, by: int) -> None:
        """In the list of steps, and in what it opens, the mean is no place to go to."""
        steps = [step for step in self.places if step is not None]
        table = self.table()
        if self._view != "steps" or not steps or table is None:
            super()._turn_step(by)
            return
        row = table.highlighted_row
        step = row["step"] if self._in_steps() and row is not None else self._step
        place = steps.index(step) + by if step in steps else 0
        self.choose_step(steps[place % len(steps)])

    def _open(self, row: Mapping[str, Any]) -> None:
        """A step that is opened is the one that all lists are of."""
        if self._in_steps() and row["step"] is not None:
            self.choose_step(int(row["step"]))
        super()._open(row)

    def in_call_tree(self) -> bool:
        """The call tree, or the part of it below a phase."""
        return self._view == "tree" or (self._view == "phases" and len(self._stack) > 1)

    def relabel(self, messages: Messages) -> None:
        """Another language; the remarks on phases are words of it."""
        super().relabel(messages)
        if self._phase_list is not None:
            self._stacks["phases"][0].replace(self._phase_list(self.step, self.messages))

    def _show_top(self) -> None:
        super()._show_top()
        self._draw_step()
