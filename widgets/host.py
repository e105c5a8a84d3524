"""Pane 3: framework operators, host APIs by level, copies, and whether the host holds the device back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.host import host_verdicts
from analysis.notes import Missing
from analysis.report.blocks import MARKS
from analysis.report.escape import visible
from analysis.report.tables import APIS
from analysis.units import often_text, time_text
from widgets.banner import Banner, Remark
from widgets.level import Level, Row, Story, arranged
from widgets.list_pane import ListPane, View, row_count
from widgets.stories import exact_pairs
from widgets.trace_levels import TraceLevels

if TYPE_CHECKING:
    import polars as pl
    from textual.app import ComposeResult

    from analysis.host import Host, Verdict
    from analysis.report.messages import Messages
    from analysis.result import Analysis

_GRAVEST_FIRST = (True, None, False)
"""What a verdict says, where only the first have room."""


class HostPane(ListPane):
    """What the host spends its time on. Levels are nested views of the same time and are never added."""

    NAME = "host"

    def __init__(self, messages: Messages) -> None:
        super().__init__(messages)
        self._verdicts: tuple[Verdict, ...] = ()
        self._includes_compile = False
        self._training = False

    def compose(self) -> ComposeResult:
        """The verdicts above the lists."""
        yield Banner(id="verdicts")
        yield from super().compose()

    def relabel(self, messages: Messages) -> None:
        """Another language; the verdicts too."""
        super().relabel(messages)
        self._draw_verdicts()

    def on_resize(self) -> None:
        """As many verdicts on a line as fit."""
        self._draw_verdicts()

    def _draw_verdicts(self) -> None:
        low, verdicts = self.is_low, self._verdicts
        if low:
            verdicts = tuple(sorted(verdicts, key=lambda verdict: _GRAVEST_FIRST.index(verdict.flagged)))
        remarks = [
            Remark(verdict_text(verdict, self.messages, training=self._training)) for verdict in verdicts
        ]
        if self._includes_compile:
            remarks.append(Remark(f"· {self.messages.text('verdict.includes_compile')}"))
        self.query_one(Banner).show(remarks, self.messages, width=self.line_width, low=low)

    def show(self, analysis: Analysis) -> None:
        """Fill the lists."""
        host, operators = analysis.host, analysis.host_operators
        self._verdicts = host_verdicts(host, operators)
        self._includes_compile = not isinstance(host, Missing) and host.includes_compile
        self._training = analysis.scenario.scenario == "training"
        self._draw_verdicts()
        levels = TraceLevels(analysis)
        by_name = operators if isinstance(operators, Missing) else operators.by_name
        views = {"operators": View("operators", levels.operators(), row_count(by_name)), **_api_views(host)}
        if not row_count(by_name):  # captures of msprof never have any
            views["operators"] = views.pop("operators")
        copies = analysis.copies
        directions = copies if isinstance(copies, Missing) else copies.by_direction
        views["copies"] = View("copies", levels.copies(), row_count(directions))
        self.set_views(views)


def _api_views(host: Host | Missing) -> dict[str, View]:
    if isinstance(host, Missing):
        level = Level(lambda _: "", (), host, lambda _row, _messages: Story())
        return {"calls": View("calls", level, None)}
    return {
        name: View(name, _level(name, frame, host), frame.height)
        for name, frame in (
            ("calls", host.top),
            ("watched", host.watched),
            ("one_off", host.one_off),
            ("all", host.apis),
        )
    }


def _level(name: str, frame: pl.DataFrame, host: Host) -> Level:
    return Level(
        crumb=lambda messages: messages.text(f"view.host.{name}"),
        columns=arranged(
            APIS, frame, "level", "name", "per_iteration_ns", "count_per_iteration", "avg_ns", "max_ns"
        ),
        frame=frame,
        story=lambda row, messages: _story(row, host, messages),
        identity=("level", "name"),
        empty="host.no_such_call",
    )


def _story(row: Row, host: Host, messages: Messages) -> Story:
    level = (
        messages.text(f"api_level.{row['level']}")
        if f"api_level.{row['level']}" in messages
        else row["level"]
    )
    group = messages.text(f"api_group.{row['group']}")
    rules = [messages.text(f"host_verdict.{verdict.kind}") for verdict in host.verdicts]
    compiled = [messages.text("host.includes_compile")] if host.includes_compile else []
    return Story(
        f"{visible(row['name'])} · {level} · {group}",
        exact_pairs(APIS, row, messages),
        [messages.text("host.nested"), *compiled, *rules],
    )


def verdict_text(verdict: Verdict, messages: Messages, *, training: bool) -> str:
    """A verdict with its mark and the numbers behind it; the rule stands in the detail.

    Training counts in steps, inference in iterations.
    """
    if verdict.avg_ns is None:
        return f"{MARKS[verdict.flagged]} {messages.text(f'verdict.no_{verdict.kind}')}"
    values = {
        "calls": often_text(verdict.calls_per_iteration),
        "time": time_text(verdict.total_per_iteration_ns),
        "avg": time_text(verdict.avg_ns),
        "each": messages.text("verdict.each_step" if training else "verdict.each_iteration"),
    }
    words = messages.of_trace(whole=verdict.per == "trace")
    return f"{MARKS[verdict.flagged]} {words.text(f'verdict.{verdict.kind}', values)}"
