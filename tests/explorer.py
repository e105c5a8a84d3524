"""Drives the explorer as a user does: opens a profile, waits for it, presses keys, reads the screen."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from analysis.options import Options
from recui.app import ExplorerApp

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from textual.pilot import Pilot

    from recui.screens.explorer import ExplorerScreen

NARROW = (80, 24)
WIDE = (140, 40)


def explorer_app(path: Path, language: str = "en", rank: int | None = None) -> ExplorerApp:
    """The application on a profile."""
    return ExplorerApp(path, rank, Options(), language, None)


@asynccontextmanager
async def explorer(
    path: Path,
    *,
    size: tuple[int, int] = NARROW,
    language: str = "en",
    rank: int | None = None,
) -> AsyncIterator[tuple[ExplorerScreen, Pilot[str]]]:
    """The explorer with the profile loaded."""
    app = explorer_app(path, language, rank)
    async with app.run_test(size=size) as pilot:
        yield await loaded(pilot), pilot


async def loaded(pilot: Pilot[str]) -> ExplorerScreen:
    """Wait until the load has ended and all is drawn."""
    app = pilot.app
    assert isinstance(app, ExplorerApp)
    while app.explorer is None or app.explorer.loading_state == "running":
        await pilot.pause(0.01)
    await settled(pilot)
    while app.explorer.pane is not None and app.focused is None:
        await pilot.pause(0.01)
    return app.explorer


async def settled(pilot: Pilot[str]) -> None:
    """Wait until workers and drawing are at rest."""
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    await pilot.pause()


async def press(pilot: Pilot[str], *keys: str) -> None:
    """Press keys one after the other, each with its consequences."""
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


def screen_text(pilot: Pilot[str]) -> str:
    """What stands on the screen, line by line."""
    screen = pilot.app.screen
    return "\n".join(
        "".join(segment.text for segment in strip).rstrip() for strip in screen._compositor.render_strips()
    )


def after(*keys: str) -> Callable[[Pilot[str]], Awaitable[None]]:
    """Wait for the profile, then press keys: what a picture is taken after."""

    async def run(pilot: Pilot[str]) -> None:
        await loaded(pilot)
        await press(pilot, *keys)

    return run
