"""Pane 3: host API calls, level by level, and whether the host holds the device back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual.widgets import Static

from analysis.notes import Missing
from analysis.report.blocks import MARKS
from analysis.report.escape import visible
from analysis.report.tables import APIS
from analysis.units import three_digits, time_text
from widgets.level import Level, Row, Story, arranged
from widgets.list_pane import ListPane, View
from widgets.stories import exact_pairs

if TYPE_CHECKING:
    import polars as pl
    from textual.app import ComposeResult

    from analysis.host import Host, Verdict
    from analysis.report.messages import Messages
    from analysis.result import Analysis


class HostPane(ListPane):
    """What the host spends its time on. Levels are nested views of the same time and are never added."""

    NAME = "host"
    DEFAULT_CSS = """
    HostPane > #verdicts { height: auto; }
    """

    def __init__(self, messages: Messages) -> None:
        super().__init__(messages)
        self._host: Host | None = None

    def compose(self) -> ComposeResult:
        """The verdicts above the lists."""
        yield Static("", id="verdicts", markup=False)
        yield from super().compose()

    def relabel(self, messages: Messages) -> None:
        """Another language; the verdicts too."""
        super().relabel(messages)
        self._draw_verdicts()

    def _draw_verdicts(self) -> None:
        verdicts = () if self._host is None else self._host.verdicts
        lines = [verdict_text(verdict, self.messages) for verdict in verdicts]
        if self._host is not None and self._host.includes_compile:
            lines.append(f" · {self.messages.text('host.includes_compile')}")
        text = Text("\n", no_wrap=True, overflow="ellipsis").join(map(Text, lines))
        self.query_one("#verdicts", Static).update(text)

    def show(self, analysis: Analysis) -> None:
        """Fill the lists."""
        host = analysis.host
        if isinstance(host, Missing):
            level = Level(lambda _: "", (), host, lambda _row, _messages: Story())
            self.set_views({"calls": View("calls", level, None)})
            return
        self._host = host
        self._draw_verdicts()
        self.set_views(
            {
                name: View(name, _level(name, frame, host), frame.height)
                for name, frame in (
                    ("calls", host.top),
                    ("watched", host.watched),
                    ("one_off", host.one_off),
                    ("all", host.apis),
                )
            },
        )


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
    return Story(
        f"{visible(row['name'])} · {level} · {group}",
        exact_pairs(APIS, row, messages),
        [messages.text("host.nested"), *rules],
    )


def verdict_text(verdict: Verdict, messages: Messages) -> str:
    """A verdict with its mark and the numbers behind it; the rule stands in the detail."""
    if verdict.avg_ns is None:
        return f" {MARKS[verdict.flagged]} {messages.text(f'verdict.no_{verdict.kind}')}"
    values = {
        "calls": three_digits(verdict.calls_per_iteration),
        "time": time_text(verdict.total_per_iteration_ns),
        "avg": time_text(verdict.avg_ns),
    }
    return f" {MARKS[verdict.flagged]} {messages.text(f'verdict.{verdict.kind}', values)}"
