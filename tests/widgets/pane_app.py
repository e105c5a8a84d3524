"""One pane on a screen of its own, over a hand-made analysis."""

from __future__ import annotations

from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

from textual.app import App, ComposeResult

from analysis.findings import find_findings
from tests.analysis.report_fixtures import NO_TRACE, Source
from widgets.pane import Pane

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from textual.pilot import Pilot

P = TypeVar("P", bound=Pane)


def with_kernels(source: Source, kernels: object) -> Any:
    """The analysis with its findings and with the kernels that drill-downs read."""
    results = {name: getattr(source, name) for name in source.__slots__}
    no_trace = {"trace": NO_TRACE, "trace_steps": NO_TRACE, "trace_source": None}
    return SimpleNamespace(**results, **no_trace, averaged_kernels=kernels, findings=find_findings(source))


class PaneApp(App[None]):
    """Shows one pane and keeps what it asked for."""

    def __init__(self, pane: Pane, source: Any) -> None:
        super().__init__()
        self.pane = pane
        self.source = with_kernels(source, None) if isinstance(source, Source) else source
        self.jumps: list[tuple[str, str, str | None]] = []

    def compose(self) -> ComposeResult:
        yield self.pane

    def on_mount(self) -> None:
        # As in the explorer, the widgets of the pane are mounted before it is filled.
        self.call_after_refresh(self.pane.show, self.source)

    def on_pane_jump_requested(self, event: Pane.JumpRequested) -> None:
        self.jumps.append((event.pane, event.view, event.filter))


@asynccontextmanager
async def shown(
    pane: P, source: Any, *, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[P, Pilot[None]]]:
    """The pane, filled and at rest."""
    app = PaneApp(pane, source)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        yield pane, pilot


async def settle(pilot: Pilot[None]) -> None:
    """Wait for workers and drawing."""
    for _ in range(3):
        await pilot.pause()
        await pilot.app.workers.wait_for_complete()


async def do(pilot: Pilot[None], pane: Pane, *actions: str) -> None:
    """Carry out actions as the frame would."""
    for action in actions:
        pane.perform(action)
        await settle(pilot)


def text_of(pilot: Pilot[None]) -> str:
    """What stands on the screen."""
    strips = pilot.app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)
