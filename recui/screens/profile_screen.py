"""A screen that reads one profile in a thread: what is there, what cannot be had, which panes are ready."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from textual import work
from textual.screen import Screen
from textual.widgets import ContentSwitcher
from textual.worker import WorkerState, get_current_worker

from recui.loading import (
    FileMoved,
    LoadEnded,
    LoadFailed,
    ProfileFound,
    Request,
    SectionFailed,
    SectionReady,
    load,
)
from recui.panes import PANES, PaneEntry
from recui.screens.profile_words import expected_files

if TYPE_CHECKING:
    from textual.message import Message
    from textual.worker import Worker

    from analysis.report.messages import Messages
    from analysis.result import Analysis
    from recui.screens.loading_view import LoadingView
    from widgets.pane import Pane


class ProfileScreen(Screen[None]):
    """What is known of one profile while it is read, and afterwards; the explorer's screen draws it."""

    def __init__(self, request: Request, messages: Messages) -> None:
        super().__init__()
        self.request = request
        self.messages = messages
        self.analysis: Analysis | None = None
        self.sections: frozenset[str] = frozenset()
        """Sections of the result that are there."""
        self.loading_state = "running"
        """running, done, cancelled or failed."""
        self.panes: dict[str, Pane] = {}
        """Those whose sections are there, by name."""
        self.failures: dict[str, Exception] = {}
        """Why panes cannot be drawn, by their names."""
        self.error: Exception | None = None
        """Why the profile could not be opened at all."""
        self._pane_classes: dict[str, type[Pane]] = {}
        self._load_worker: Worker[None] | None = None

    def draw_frame(self) -> None:
        """Bring header, tabs, body, breadcrumb and footer up to date."""
        raise NotImplementedError

    @property
    def loading_view(self) -> LoadingView:
        """The files, while a pane waits for them."""
        raise NotImplementedError

    @property
    def is_loading(self) -> bool:
        """Whether the profile is still being read."""
        return self.loading_state == "running"

    def start_loading(self) -> None:
        """Begin to read."""
        self._load_worker = self._load()

    def cancel_loading(self) -> None:
        """Stop reading; what is there stays."""
        if self._load_worker is not None:
            self._load_worker.cancel()

    @work(thread=True, exclusive=True, group="load", exit_on_error=False)
    def _load(self) -> None:
        worker = get_current_worker()

        def post(message: Message) -> None:
            self.post_message(message)

        load(self.request, post, lambda: worker.is_cancelled)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A fault of recui itself is shown like an unreadable profile, not as a traceback."""
        if event.worker is self._load_worker and event.state is WorkerState.ERROR:
            error = event.worker.error
            self._fail(error if isinstance(error, Exception) else RuntimeError(str(error)))

    def on_profile_found(self, event: ProfileFound) -> None:
        """Name the files; nothing is read yet."""
        self.analysis = event.analysis
        self._pane_classes = event.pane_classes
        self.loading_view.expect(expected_files(event.analysis, self.messages))
        self.draw_frame()

    def on_file_moved(self, event: FileMoved) -> None:
        """One file has got further."""
        self.loading_view.advance(event.progress)

    async def on_section_ready(self, event: SectionReady) -> None:
        """Fill the panes that waited for this section only."""
        self.sections |= {event.section}
        for entry in PANES:
            waits = entry.name not in self.panes and self.sections.issuperset(entry.needs)
            if waits and self.analysis is not None:
                await self._add_pane(entry, self.analysis)
        self.draw_frame()

    def on_section_failed(self, event: SectionFailed) -> None:
        """The panes that need this section cannot be drawn; the others go on."""
        for entry in PANES:
            if event.section in entry.needs:
                self.failures.setdefault(entry.name, event.error)
        self.draw_frame()

    def on_load_failed(self, event: LoadFailed) -> None:
        """Nothing can be shown."""
        self._fail(event.error)

    def on_load_ended(self, event: LoadEnded) -> None:
        """Everything is there that will be.

        It stays for as long as the screen does, so the garbage collector need not go through it again and
        again: on a large profile that stops every few keys for 0.1 s.
        """
        gc.freeze()
        self.loading_state = "cancelled" if event.cancelled else "done"
        self.draw_frame()

    def on_unmount(self) -> None:
        """The collector gets back what it was kept from."""
        gc.unfreeze()

    def _fail(self, error: Exception) -> None:
        self.error = error
        self.loading_state = "failed"
        self.draw_frame()

    async def _add_pane(self, entry: PaneEntry, analysis: Analysis) -> None:
        pane = self._pane_classes[entry.name](self.messages)
        self.panes[entry.name] = pane
        await self.query_one("#panes", ContentSwitcher).mount(pane)
        pane.display = False
        pane.show(analysis)
