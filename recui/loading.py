"""Loading a profile in a worker thread: section by section, with progress, and stopped when asked.

Nothing here touches a widget; everything that happens is posted as a message.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING

from textual.message import Message

from analysis.errors import CancelledError, RecuiError
from analysis.resources import Resources

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from analysis.options import Options
    from analysis.profile.discover import Capture, Profile
    from analysis.progress import Cancelled, FileProgress
    from analysis.result import Analysis
    from widgets.pane import Pane

SECTIONS = (
    "operators",
    "scenario",
    "trace",
    "metrics",
    "host",
    "host_operators",
    "copies",
    "phases",
    "files",
    "findings",
)
"""Parts of the result in the order they are computed; panes name those they need. Operators come before the
trace, which may take long to read."""

_WITH: Mapping[str, tuple[str, ...]] = {
    "operators": ("averaged_kernels",),
    "trace": ("trace_summary", "trace_steps"),
    "files": ("notes", "missing"),
}
"""What panes also read of a section."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to open."""

    path: Path
    options: Options
    rank: int | None = None
    capture_index: int | None = None
    """Which capture of the profile; chosen from the list, where ranks may not tell them apart."""
    resources: Resources = field(default_factory=Resources)


@dataclass
class ProfileFound(Message):
    """The captures are known, and the one to read is chosen; no file is read yet."""

    profile: Profile
    capture: Capture
    analysis: Analysis
    pane_classes: dict[str, type[Pane]]


@dataclass
class FileMoved(Message):
    """One file has got further."""

    progress: FileProgress

    def can_replace(self, message: Message) -> bool:
        """A newer report on the same file makes an older one pointless."""
        return isinstance(message, FileMoved) and message.progress.file == self.progress.file


@dataclass
class SectionReady(Message):
    """One part of the result is there; reading it costs nothing any more."""

    section: str


@dataclass
class SectionFailed(Message):
    """One part of the result cannot be had; the others go on."""

    section: str
    error: RecuiError


@dataclass
class LoadFailed(Message):
    """The path cannot be opened at all."""

    error: RecuiError


@dataclass
class LoadEnded(Message):
    """The worker has stopped: at the end, or because the user asked."""

    cancelled: bool


def load(request: Request, post: Callable[[Message], None], cancelled: Cancelled) -> None:
    """Read the profile and compute every section, posting what happens.

    Runs in a thread of its own. polars and the panes are imported here (0.5 s), so that the first
    screen stands before.

    Args:
        request: What to open.
        post: Hands a message to the screen; safe to call from any thread.
        cancelled: Asked often; True stops the work.
    """
    if request.resources.jobs > 1:
        _let_processes_start()
    try:
        analysis = _open(request, post, cancelled)
    except CancelledError:
        post(LoadEnded(cancelled=True))
        return
    except RecuiError as error:
        post(LoadFailed(error))
        return
    for section in SECTIONS:
        if cancelled():
            post(LoadEnded(cancelled=True))
            return
        try:
            _compute(analysis, section)
        except CancelledError:
            post(LoadEnded(cancelled=True))
            return
        except RecuiError as error:
            post(SectionFailed(section, error))
        else:
            post(SectionReady(section))
    post(LoadEnded(cancelled=False))


def _open(request: Request, post: Callable[[Message], None], cancelled: Cancelled) -> Analysis:
    from analysis.profile.discover import discover
    from analysis.result import Analysis
    from recui.panes import PANES

    profile = discover(request.path, request.options.graphs)
    index = request.capture_index
    capture = profile.select(request.rank) if index is None else profile.captures[index]
    analysis = Analysis(
        profile,
        capture,
        request.options,
        progress=lambda progress: post(FileMoved(progress)),
        cancelled=cancelled,
        resources=request.resources,
    )
    if cancelled():
        raise CancelledError
    classes = {entry.name: entry.load_class() for entry in PANES}
    post(ProfileFound(profile, capture, analysis, classes))
    return analysis


def _let_processes_start() -> None:
    """Start multiprocessing's resource tracker while standard error is a real file.

    Starting it hands on the descriptor of ``sys.stderr``. Textual's stand-in for that has none and says -1,
    which no process can be started with. Once it runs, it is not started again.
    """
    if sys.__stderr__ is not None:
        with redirect_stderr(sys.__stderr__):
            resource_tracker.ensure_running()


def _compute(analysis: Analysis, section: str) -> None:
    """Ask for a section, so that reading it later costs nothing."""
    for name in (section, *_WITH.get(section, ())):
        getattr(analysis, name)
