"""Pane 1: where the time goes, what stands out, the core metrics, the steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from textual import on
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import ContentSwitcher, OptionList, Static

from analysis.notes import Missing
from analysis.report.blocks import MARKS
from analysis.report.chapters.core import core_rows
from analysis.report.tables import STEPS
from analysis.units import count_text
from widgets.finding_list import FindingList
from widgets.frame_line import Part, PartLine
from widgets.frame_table import FrameTable
from widgets.level import Level, LevelView, Row, Story, arranged
from widgets.pane import Pane
from widgets.phase_line import brief_phase_line, phase_line
from widgets.phase_marks import PHASE_PARTS
from widgets.safe_text import safe_text
from widgets.stories import exact_pairs
from widgets.time_bar import time_bar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl
    from textual.app import ComposeResult

    from analysis.finding import Finding
    from analysis.notes import Value
    from analysis.report.messages import Messages
    from analysis.result import Analysis
    from analysis.trace.summary import TraceSummary

_VIEWS = ("findings", "numbers", "steps")
_TABS = {"overview": "1", "operators": "2", "host": "3", "phases": "4", "aten": "5", "files": "f"}

_LEAST_ROOM = 40
"""Cells that lines are worded for where there are fewer."""


class OverviewPane(Pane):
    """The answer to "what do I change first?"."""

    NAME = "overview"
    COMPONENT_CLASSES = {"bar--first", "bar--second", "bar--third", *PHASE_PARTS.values()}
    DEFAULT_CSS = """
    OverviewPane > Static { text-wrap: nowrap; text-overflow: ellipsis; }
    OverviewPane > #bar { height: auto; margin-bottom: 1; }
    OverviewPane.-low > #bar { margin-bottom: 0; }
    OverviewPane > #phase-line { height: auto; display: none; }
    OverviewPane > #views { height: 1; }
    OverviewPane #sheets { height: 1fr; }
    OverviewPane #beside { display: none; width: 2fr; }
    OverviewPane FindingList { width: 3fr; height: 1fr; }
    OverviewPane #findings { height: 1fr; }
    OverviewPane > #files { height: 1; }
    OverviewPane > #trace { height: 1; }
    """

    def __init__(self, messages: Messages) -> None:
        super().__init__(messages)
        self._analysis: Analysis | None = None
        self._findings: tuple[Finding, ...] = ()
        self._view = _VIEWS[0]
        self._step: int | None = None
        self._steps: pl.DataFrame | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What stands out, worst first."""
        return self._findings

    def compose(self) -> ComposeResult:
        """Bar, sub-tabs, the sheet in view, the lines on files and trace."""
        yield Static("", id="bar", markup=False)
        yield Static("", id="phase-line", markup=False)
        yield PartLine(id="views")
        with ContentSwitcher(id="sheets", initial="findings"):
            with Horizontal(id="findings"):
                yield FindingList(id="list")
                with VerticalScroll(id="beside", can_focus=False):
                    yield Static("", id="core-beside", markup=False)
            with VerticalScroll(id="numbers"):
                yield Static("", id="core", markup=False)
        yield Static("", id="files", markup=False)
        yield Static("", id="trace", markup=False)

    # ------------------------------------------------------------ drawing

    def show(self, analysis: Analysis) -> None:
        """Draw bar, findings, numbers and steps."""
        self._analysis = analysis
        self._findings = analysis.findings
        steps = analysis.metrics.steps
        if not isinstance(steps, Missing):
            self._steps = steps
        level = LevelView(_steps_level(steps), self.messages)
        level.id = "steps"
        level.display = False
        self.query_one("#sheets", ContentSwitcher).mount(level)
        self._draw()

    def relabel(self, messages: Messages) -> None:
        """Another language; view, row and step stay."""
        self.messages = messages
        for level in self.query(LevelView):
            level.set_messages(messages)
        self._draw()

    def on_resize(self) -> None:
        """The bar is as wide as the pane; on a low one the findings come before what explains them."""
        self._draw_bar()
        self._draw_phases()
        self._draw_files()

    def _draw(self) -> None:
        if self._analysis is None:
            return
        self._draw_bar()
        self._draw_phases()
        self._draw_views()
        self.query_one(FindingList).show(self._findings, self.messages, self._target)
        numbers = _numbers(core_rows(self._analysis, self.messages))
        for name in ("#core", "#core-beside"):
            self.query_one(name, Static).update(numbers)
        self._draw_files()

    def _draw_bar(self) -> None:
        if self._analysis is None:
            return
        step = None if self._step is None or self._steps is None else self._steps.row(self._step, named=True)
        bar = time_bar(self._analysis.metrics, step, self.messages)
        styles = [
            str(self.get_component_rich_style(f"bar--{place}", partial=True))
            for place in ("first", "second", "third")
        ]
        self.query_one("#bar", Static).update(bar.drawn(self._room, styles, low=self.is_low))

    @property
    def _room(self) -> int:
        """Cells for which the lines are worded."""
        return max(_LEAST_ROOM, self.line_width - 1)

    def _draw_phases(self) -> None:
        """Phases of the step in view, of the mean or of the whole trace, where there are any."""
        phases = None if self._analysis is None else self._analysis.phases
        line = self.query_one("#phase-line", Static)
        line.display = not (phases is None or isinstance(phases, Missing))
        if phases is None or isinstance(phases, Missing):
            return

        def style_of(phase: str) -> str:
            return str(self.get_component_rich_style(PHASE_PARTS[phase], partial=True))

        step = None if self._step is None or self._steps is None else self._steps["step"][self._step]
        by_step = phases.times.by_step
        of_step = by_step.clear() if step is None else by_step.filter(by_step["step"] == step)
        rows, key = (phases.times.mean, "mean") if of_step.is_empty() else (of_step, "step")
        key = "trace" if phases.windows.whole_trace else key
        title = self.messages.text(f"overview.phases_{key}", {"step": "" if step is None else str(step)})
        if self.is_low:
            line.update(brief_phase_line(rows, title, self._room, style_of, self._more_phases))
        else:
            line.update(phase_line(rows, title, self._room, style_of))

    def _more_phases(self, count: int) -> str:
        return self.messages.text("overview.phases_more", {"count": count, "key": _TABS["phases"]})

    def _draw_views(self) -> None:
        parts = []
        for name in _VIEWS:
            words = self.messages.text(f"view.overview.{name}")
            count = {
                "findings": len(self._findings),
                "steps": None if self._steps is None else self._steps.height,
            }
            if count.get(name) is not None:
                words += f" {count[name]}"
            parts.append(
                Part(name, words, selected=name == self._view, dim=name == "steps" and self._steps is None)
            )
        self.query_one("#views", PartLine).show(parts)

    def _target(self, finding: Finding) -> str:
        return f"→ {_TABS[finding.pane]}"

    def _draw_files(self) -> None:
        """What was found and read; on a low screen one line, and only if something is missing or damaged."""
        if self._analysis is None:
            return
        files, trace = self._files_line(self._analysis), self._trace_line(self._analysis)
        if self.is_low:
            files, trace = "   ".join(self._faults_of_files(self._analysis, files)), ""
        for name, words in (("#files", files), ("#trace", trace)):
            line = self.query_one(name, Static)
            line.update(safe_text(f" {words}"))
            line.display = bool(words)

    def _faults_of_files(self, analysis: Analysis, files: str) -> Iterator[str]:
        summary = analysis.trace_summary
        if not isinstance(summary, Missing) and summary.damaged:
            yield self._faults(summary)
        if analysis.missing or any(entry.state == "failed" for entry in analysis.files):
            yield files

    def _files_line(self, analysis: Analysis) -> str:
        found = sum(entry.state != "failed" for entry in analysis.files)
        missing = [entry.kind for entry in analysis.missing]
        failed = len(analysis.files) - found
        unreadable = self.messages.text("overview.files_failed", {"failed": failed}) if failed else ""
        if not missing:
            return self.messages.text("overview.files_all", {"found": found}) + unreadable
        names = ", ".join(missing)
        values: dict[str, Value] = {"found": found, "missing": len(missing), "names": names}
        return self.messages.text("overview.files", values) + unreadable

    def _trace_line(self, analysis: Analysis) -> str:
        """What was read of the trace, and whether all of it; empty without a trace."""
        summary = analysis.trace_summary
        if isinstance(summary, Missing):
            return ""
        counts: dict[str, Value] = {
            "bars": count_text(summary.bars),
            "tracks": count_text(summary.tracks.height),
            "faults": self._faults(summary),
        }
        return self.messages.text("overview.trace", counts)

    def _faults(self, summary: TraceSummary) -> str:
        if not summary.damaged and not summary.repaired:
            return self.messages.text("overview.trace_no_faults")
        if not summary.damaged:
            return self.messages.text("overview.trace_repaired", {"count": count_text(summary.repaired)})
        told = []
        if summary.lost_events:
            lost = {"count": count_text(summary.lost_events)}
            told.append(self.messages.text("overview.trace_damaged", lost))
        if summary.lost_bytes:
            cut = {"bytes": count_text(summary.lost_bytes)}
            told.append(self.messages.text("overview.trace_cut", cut))
        return f"{MARKS[True]} {self.messages.text('report.comma').join(told)} (f)"

    # ----------------------------------------------------- asked by the frame

    def _show_view(self, name: str) -> None:
        self._view = name
        self.query_one("#sheets", ContentSwitcher).current = name
        self._draw_views()
        self.call_after_refresh(self.keep_focus)
        self.post_message(self.Changed(self))

    @on(PartLine.Clicked, "#views")
    def _view_clicked(self, event: PartLine.Clicked) -> None:
        event.stop()
        self._show_view(event.name)

    @on(OptionList.OptionSelected)
    def _finding_opened(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.do_open_row()

    @on(LevelView.Filled)
    @on(FrameTable.RowHighlighted)
    def _steps_changed(self, event: LevelView.Filled | FrameTable.RowHighlighted) -> None:
        event.stop()
        self.post_message(self.Changed(self))

    def take_focus(self) -> None:
        """The keyboard goes to what is in view."""
        if self._view == "findings":
            self.query_one(FindingList).focus()
        elif self._view == "numbers":
            self.query_one("#numbers").focus()
        else:
            for level in self.query(LevelView):
                level.take_focus()

    def trail(self) -> tuple[str, ...]:
        """Pane and view."""
        return (*super().trail(), self.messages.text(f"view.overview.{self._view}"))

    def table(self) -> FrameTable | None:
        """The steps, when they are in view."""
        level = self._steps_view()
        return level.table if self._view == "steps" and level is not None and level.ready else None

    def has_list(self) -> bool:
        """Findings are a list too."""
        return self._view != "numbers"

    def _steps_view(self) -> LevelView | None:
        return next(iter(self.query(LevelView)), None)

    def allows(self, action: str) -> bool:
        """Whether the action does something now."""
        if action in {"next_view", "previous_view"}:
            return True
        if action in {"next_step", "previous_step"}:
            return self._steps is not None and self._steps.height > 1
        if action == "back":
            return self._view != _VIEWS[0]
        if action == "open_row":
            return self._view == "findings" and self.query_one(FindingList).selected is not None
        if action == "full_value":
            return self.full_value() is not None
        table = self.table()
        return table is not None and action in {"copy", "sort"} and table.match_count > 0

    def go_to(self, view: str, filter_text: str | None, row: Mapping[str, Any] | None = None) -> None:
        """Show a sheet."""
        if view in _VIEWS:
            self._show_view(view)

    def go_back(self) -> None:
        """Return to what stands out."""
        if self._view != _VIEWS[0]:
            self._show_view(_VIEWS[0])

    def full_value(self) -> str | None:
        """The selected finding, or the selected cell of the steps."""
        table = self.table()
        if table is not None:
            return table.full_value() or None
        finding = self.query_one(FindingList).selected if self._view == "findings" else None
        return None if finding is None else self.query_one(FindingList).words(self.messages)

    def do_open_row(self) -> None:
        """Go where the selected finding leads."""
        finding = self.query_one(FindingList).selected
        if finding is not None:
            self.post_message(self.JumpRequested(finding.pane, finding.view, finding.filter, finding.row))

    def do_next_view(self) -> None:
        """The next sheet."""
        self._turn_view(1)

    def do_previous_view(self) -> None:
        """The sheet before."""
        self._turn_view(-1)

    def _turn_view(self, by: int) -> None:
        self._show_view(_VIEWS[(_VIEWS.index(self._view) + by) % len(_VIEWS)])

    def do_next_step(self) -> None:
        """Mean, first step … last step, mean again."""
        self._turn_step(1)

    def do_previous_step(self) -> None:
        """The same the other way round."""
        self._turn_step(-1)

    def _turn_step(self, by: int) -> None:
        if self._steps is None:
            return
        places = [None, *range(self._steps.height)]
        self._step = places[(places.index(self._step) + by) % len(places)]
        self._draw_bar()
        self._draw_phases()

    def do_sort(self) -> None:
        """Sort the steps by the column of the cursor."""
        table = self.table()
        if table is not None:
            table.cycle_sort()


def _steps_level(steps: pl.DataFrame | Missing) -> Level:
    return Level(
        crumb=lambda messages: messages.text("view.overview.steps"),
        columns=arranged(STEPS, steps),
        frame=steps,
        story=_step_story,
        identity=("step",),
    )


def _step_story(row: Row, messages: Messages) -> Story:
    return Story(messages.text("bar.step", {"step": row["step"]}), exact_pairs(STEPS, row, messages))


def _numbers(rows: Sequence[Sequence[str]]) -> Table:
    """The core metrics: what, its value, what it rests on."""
    grid = Table.grid(expand=True, padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(ratio=1, overflow="fold")
    for row in rows:
        value = safe_text(row[1])
        value.stylize("bold")
        if len(row) > 2 and row[2]:
            value.append(f"\n{safe_text(row[2]).plain}", "dim not bold")
        grid.add_row(safe_text(row[0]), value)
    return grid
