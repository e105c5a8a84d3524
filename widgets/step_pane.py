"""What the panes on training steps share: the choice of a step, and the numbers that go with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual import on
from textual.widgets import Static

from analysis.datafile import load_toml
from analysis.notes import Missing
from analysis.phases.representative import representative_step
from analysis.phases.tables import step_head
from analysis.units import count_text, percent_text, time_text
from widgets.frame_line import Part, PartLine
from widgets.list_pane import ListPane
from widgets.missing import missing_text
from widgets.safe_text import packed, safe_text
from widgets.tree_table import TreeTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import ComposeResult

    from analysis.phases.results import Phases
    from analysis.report.messages import Messages
    from analysis.result import Analysis
    from widgets.list_pane import View


class StepPane(ListPane):
    """Lists of one step, or of the mean; the row in each stays when another step is chosen."""

    DEFAULT_CSS = """
    StepPane > #step { height: 1; }
    StepPane > #remarks { height: auto; }
    """

    def __init__(self, messages: Messages) -> None:
        super().__init__(messages)
        self._phases: Phases | Missing | None = None
        self._step: int | None = None

    def compose(self) -> ComposeResult:
        """The step and its number above the lists."""
        yield PartLine(id="step")
        yield Static("", id="remarks", markup=False)
        yield from super().compose()

    def show(self, analysis: Analysis) -> None:
        """Fill the lists; without phases say why there are none."""
        self._phases = analysis.phases
        if isinstance(self._phases, Missing):
            self._draw_step()
            return
        places = self.places
        self._step = places[0]
        self.set_views(self.views(analysis, self._phases))
        self._draw_step()

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
        if isinstance(phases, Missing):
            self.query_one("#step").display = False
            self.query_one("#remarks", Static).update(safe_text(f" {missing_text(phases, self.messages)}"))
            return
        head = step_head(phases.times, self._step)
        parts = [Part("", self._step_words(phases))]
        if len(self.places) > 1:
            parts += [Part("previous_step", "◂"), Part("next_step", "▸")]
        parts.append(Part("", f" {time_text(head.step_ns)}"))
        unclassified = {
            "share": percent_text(head.unclassified_share),
            "sync": time_text(head.device_sync_ns),
        }
        parts.append(Part("", f" {self.messages.text('steps.unclassified', unclassified)}"))
        self.query_one("#step", PartLine).show(parts)
        remarks = self._remarks(phases)
        lines = packed(remarks, max(40, self.size.width or self.app.size.width) - 1)
        text = Text("\n", no_wrap=True, overflow="ellipsis").join(safe_text(f" {line}") for line in lines)
        self.query_one("#remarks", Static).update(text)
        self.query_one("#remarks").display = bool(remarks)

    def _step_words(self, phases: Phases) -> str:
        if phases.windows.whole_trace:
            return self.messages.text("steps.whole_trace")
        numbers = phases.windows.frame["step"]
        ends = {"first": str(numbers[0]), "last": str(numbers[-1])}
        if self._step is None:
            count = count_text(phases.windows.averaged.height)
            return self.messages.text("steps.mean", {"count": count, **ends})
        if len(numbers) == 1:
            return self.messages.text("bar.step", {"step": self._step})
        return self.messages.text("steps.one", {"step": self._step, **ends})

    def _remarks(self, phases: Phases) -> list[str]:
        """What must be known to read the numbers right."""
        remarks = []
        windows, times = phases.windows, phases.times
        if times.confidence == "low":
            limit = load_toml("analysis.phases", "phases.toml")["confidence"]["unclassified_above"]
            remarks.append(self.messages.text("steps.low", {"limit": percent_text(limit, 0)}))
        excluded = windows.frame.filter("excluded")["step"].to_list()
        if self._step is None and excluded and not windows.whole_trace:
            numbers = ", ".join(str(step) for step in excluded)
            remarks.append(self.messages.text("steps.left_out", {"steps": numbers}))
        elif self._step in excluded and self._step is not None:
            remarks.append(self.messages.text("steps.excluded"))
        if self._step is None and self.in_call_tree() and not windows.whole_trace:
            nearest = representative_step(phases)
            if nearest is not None:
                remarks.append(self.messages.text("steps.nearest", {"step": nearest}))
        return remarks

    def on_resize(self) -> None:
        """As many remarks on a line as fit."""
        self._draw_step()

    def in_call_tree(self) -> bool:
        """Whether what is in view is of one step even where the mean is chosen."""
        return False

    def choose_step(self, step: int | None) -> None:
        """Show the lists of another step; those that belong to the old one alone are closed."""
        self._step = step
        for stack in self._stacks.values():
            while len(stack) > 1 and stack[-1].level.again is None:
                stack.pop().remove()
            for view in stack:
                if view.level.again is not None:
                    view.replace(view.level.again(step))
        self._draw_step()
        self._show_top()

    def do_next_step(self) -> None:
        """Mean, first step … last step, mean again."""
        self._turn_step(1)

    def do_previous_step(self) -> None:
        """The same the other way round."""
        self._turn_step(-1)

    def _turn_step(self, by: int) -> None:
        places = self.places
        self.choose_step(places[(places.index(self._step) + by) % len(places)])

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
