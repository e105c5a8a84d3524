"""What the panes on training steps share: the choice of a step, and the numbers that go with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual import on

from analysis.datafile import load_toml
from analysis.notes import Missing
from analysis.phases.representative import representative_step
from analysis.report.blocks import note_text
from analysis.report.chapters.trees import cut_text
from analysis.units import percent_text
from widgets.banner import Banner, Remark
from widgets.frame_line import PartLine
from widgets.level import LevelView
from widgets.list_pane import ListPane
from widgets.missing import missing_text
from widgets.step_line import step_line
from widgets.tree_table import TreeTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.app import ComposeResult

    from analysis.notes import Value
    from analysis.phases.model import Windows
    from analysis.phases.results import Phases
    from analysis.report.messages import Messages
    from analysis.result import Analysis
    from widgets.list_pane import View


class StepPane(ListPane):
    """Lists of one step, or of the mean; the row in each stays when another step is chosen."""

    DEFAULT_CSS = """
    StepPane > #step { height: 1; }
    """

    def __init__(self, messages: Messages) -> None:
        super().__init__(messages)
        self._phases: Phases | Missing | None = None
        self._step: int | None = None
        self._reopening: dict[LevelView, Mapping[str, Any]] = {}
        """Lists on their way to another step, and the row that was open in each."""

    def compose(self) -> ComposeResult:
        """The step and its number above the lists."""
        yield PartLine(id="step")
        yield Banner(id="remarks")
        yield from super().compose()

    def show(self, analysis: Analysis) -> None:
        """Fill the lists; without phases say why there are none."""
        self._phases = analysis.phases
        if isinstance(self._phases, Missing):
            self._draw_step()
            return
        self.messages = self._wording(self.messages)
        places = self.places
        self._step = places[0]
        self.set_views(self.views(analysis, self._phases))
        self._draw_step()

    def _wording(self, messages: Messages) -> Messages:
        """The language, in words for a whole trace where no step is marked."""
        phases = self._phases
        if phases is None or isinstance(phases, Missing):
            return messages
        return messages.of_trace(whole=phases.windows.whole_trace)

    def views(self, analysis: Analysis, phases: Phases) -> Mapping[str, View]:
        """The sub-tabs."""
        raise NotImplementedError

    # ------------------------------------------------------------------ step

    @property
    def step(self) -> int | None:
        """Which step is in view; None is the mean, or the whole trace."""
        return self._step

    @property
    def places(self) -> list[int | None]:
        """The mean, then every step; a single step is its own mean."""
        if not isinstance(self._phases, Missing) and self._phases is not None:
            steps: list[int | None] = self._phases.windows.frame["step"].to_list()
            if len(steps) > 1:
                return [None, *steps]
            return steps
        return [None]

    def _draw_step(self) -> None:
        phases = self._phases
        if phases is None:
            return
        width = self.line_width
        line, banner = self.query_one("#step", PartLine), self.query_one(Banner)
        line.display = not isinstance(phases, Missing)
        if isinstance(phases, Missing):
            banner.show([Remark(missing_text(phases, self.messages))], self.messages, width=width, low=False)
            return
        line.show(step_line(phases, self.told_step, self.messages, width))
        banner.show(self._remarks(phases), self.messages, width=width, low=self.is_low)
        self.call_after_refresh(self._share_room)

    @property
    def told_step(self) -> int | None:
        """The step that the line above the lists speaks of; None is the mean."""
        return self._step

    def _remarks(self, phases: Phases) -> list[Remark]:
        """What must be known to read the numbers right."""
        remarks = []
        windows, times, step = phases.windows, phases.times, self.told_step
        if times.confidence == "low":
            limit = load_toml("analysis.phases", "phases.toml")["confidence"]["unclassified_above"]
            full = self.messages.text("steps.low", {"limit": percent_text(limit, 0)})
            remarks.append(Remark(full, self.messages.text("steps.low_brief")))
        if windows.cut and (step is None or not windows.lossy):
            remarks.append(self._cut_remark(windows))
        if windows.doubts:
            full = "; ".join(note_text(note, self.messages) for note in windows.doubts)
            remarks.append(Remark(full, self.messages.text("steps.doubts_brief")))
        if step is None and windows.compile_steps:
            remarks.append(self._remark("left_out", {"steps": _listed(windows.compile_steps)}))
        elif step in windows.lossy:
            remarks.append(self._remark("lossy"))
        elif step in windows.compile_steps:
            remarks.append(self._remark("excluded"))
        if step is None and self.in_call_tree() and not windows.whole_trace:
            nearest = representative_step(phases)
            if nearest is not None:
                remarks.append(Remark(self.messages.text("steps.nearest", {"step": nearest})))
        return remarks

    def _remark(self, name: str, values: Mapping[str, Value] | None = None) -> Remark:
        full, brief = (self.messages.text(f"steps.{key}", values) for key in (name, f"{name}_brief"))
        return Remark(full, brief)

    def _cut_remark(self, windows: Windows) -> Remark:
        key = "cut_brief" if windows.lossy else "cut_unplaced_brief"
        brief = self.messages.text(f"steps.{key}", {"steps": _listed(windows.lossy)})
        return Remark(cut_text(windows, self.messages), brief)

    def on_resize(self) -> None:
        """As many remarks on a line as fit."""
        self._draw_step()

    def in_call_tree(self) -> bool:
        """Whether what is in view is of one step even where the mean is chosen."""
        return False

    def choose_step(self, step: int | None) -> None:
        """Show the lists of another step, and what was opened below a row where that step has the row."""
        self._step = step
        for stack in self._stacks.values():
            self._turn_stack(stack, step)
        self._draw_step()
        self._show_top()

    def _turn_stack(self, stack: list[LevelView], step: int | None) -> None:
        """Bring the lists of one sub-tab to another step; lists that are the same for all steps stay."""
        if all(view.level.again is None for view in stack):
            return
        opened = None
        while len(stack) > 1 and stack[-1].level.again is None:
            stack.pop().remove()
            opened = stack[-1].table.highlighted_row
        if opened is not None:
            self._reopening[stack[-1]] = opened
        for place, view in enumerate(stack):
            if view.level.again is None:
                continue
            level = view.level.again(step)
            if level is None:
                while len(stack) > place:
                    stack.pop().remove()
                return
            view.replace(level)

    @on(LevelView.Filled)
    def _open_again(self, event: LevelView.Filled) -> None:
        """What was opened in another step is opened in this one, if the row is the same."""
        row = self._reopening.pop(event.view, None)
        name = next((name for name, stack in self._stacks.items() if stack[-1] is event.view), None)
        if row is None or name is None or not event.view.table.has_selected(row):
            return
        selected = event.view.table.highlighted_row
        deeper = None if selected is None else event.view.level.opens(selected)
        if deeper is not None:
            self._push(deeper, name)

    def do_next_step(self) -> None:
        """Mean, first step … last step, mean again."""
        self._turn_step(1)

    def do_previous_step(self) -> None:
        """The same the other way round."""
        self._turn_step(-1)

    def _turn_step(self, by: int) -> None:
        places = self.places
        self.choose_step(places[(places.index(self._step) + by) % len(places)])

    def go_to(self, view: str, filter_text: str | None, row: Mapping[str, Any] | None = None) -> None:
        """Show a list of the mean, which is what judgements are on."""
        if self._stacks and self._step != self.places[0]:
            self.choose_step(self.places[0])
        super().go_to(view, filter_text, row)

    @on(PartLine.Clicked, "#step")
    def _step_clicked(self, event: PartLine.Clicked) -> None:
        event.stop()
        if event.name:
            self.perform(event.name)

    # ----------------------------------------------------- asked by the frame

    def allows(self, action: str) -> bool:
        """Whether the action does something now."""
        if action in {"next_step", "previous_step"}:
            return len(self.places) > 1
        table = self.table()
        if action == "toggle_branch":
            return isinstance(table, TreeTable) and table.can_toggle()
        if action == "open_branches":
            return isinstance(table, TreeTable) and table.can_toggle() and table.selected_node is not None
        if action in {"column_left", "column_right"}:
            return isinstance(table, TreeTable) and table.match_count > 0
        return bool(self._stacks) and super().allows(action)

    def relabel(self, messages: Messages) -> None:
        """Another language; step, rows and filters stay."""
        messages = self._wording(messages)
        if self._stacks:
            super().relabel(messages)
        self.messages = messages
        self._draw_step()

    def do_toggle_branch(self) -> None:
        """Open or close the selected node."""
        table = self.table()
        if isinstance(table, TreeTable):
            table.toggle_branch()
            self.post_message(self.Changed(self))

    def do_open_branches(self) -> None:
        """Open everything below the selected node."""
        table = self.table()
        if isinstance(table, TreeTable):
            table.open_branches()
            self.post_message(self.Changed(self))

    def do_column_left(self) -> None:
        """The column before."""
        table = self.table()
        if table is not None:
            table.action_move_column(-1)

    def do_column_right(self) -> None:
        """The next column."""
        table = self.table()
        if table is not None:
            table.action_move_column(1)


def _listed(steps: Sequence[int]) -> str:
    return ", ".join(str(step) for step in steps)
