"""The actions of the explorer's screen that open a dialog: files, copy, value, export, rank, open."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual import work

from recui.loading import Request
from recui.screens.profile_screen import ProfileScreen
from recui.screens.profile_words import rank_choices

if TYPE_CHECKING:
    from analysis.report.messages import Messages
    from analysis.result import Analysis
    from recui.app import ExplorerApp
    from widgets.file_list import FileLine
    from widgets.pane import Pane


class DialogActions(ProfileScreen):
    """What can be done with one opened profile in a dialog.

    Dialogs are imported when they are opened, so that the first paint does not wait for them.
    """

    @property
    def explorer(self) -> ExplorerApp:
        """The application, which alone opens other profiles and reaches the clipboard."""
        return cast("ExplorerApp", self.app)

    @property
    def pane(self) -> Pane | None:
        """The pane in view, if it is there yet."""
        raise NotImplementedError

    @property
    def loading_lines(self) -> tuple[FileLine, ...]:
        """The files and how far each has got."""
        raise NotImplementedError

    def action_files(self) -> None:
        """The files found and missing."""
        from recui.screens.files import FilesDialog

        if self.analysis is not None:
            self.app.push_screen(FilesDialog(self.analysis, self.loading_lines, self.sections, self.messages))

    def action_copy(self) -> None:
        """Ask what to copy: cell, row or table."""
        from recui.screens.copying import copied_text, copy_dialog

        table = self.pane.table() if self.pane is not None else None
        if table is None:
            return

        def copy(choice: str | None) -> None:
            if choice is not None:
                self.explorer.copy_markdown(copied_text(table, choice))

        self.app.push_screen(copy_dialog(table, self.messages), copy)

    def action_full_value(self) -> None:
        """The selected cell in full length."""
        from recui.screens.value import ValueDialog

        value = self.pane.full_value() if self.pane is not None else None
        if value is not None:
            self.app.push_screen(ValueDialog(value, self.messages))

    def action_export(self) -> None:
        """Ask where the report goes, then write it."""
        from recui.screens.exporting import export_dialog

        if self.analysis is not None:
            self.app.push_screen(export_dialog(self.messages), self._export_to)

    def _export_to(self, output: str | None) -> None:
        if output is not None and self.analysis is not None:
            self.notify(self.messages.text("export.running"), timeout=1)
            self._export(self.analysis, output, self.messages)

    @work(thread=True, exclusive=True, group="export")
    def _export(self, analysis: Analysis, output: str, messages: Messages) -> None:
        from recui.screens.exporting import export

        worked, words = export(analysis, output, messages)
        self.app.call_from_thread(self.explorer.tell, words, failed=not worked)

    def action_rank(self) -> None:
        """Choose another capture of this profile."""
        from recui.screens.dialog import ChoiceDialog

        if self.analysis is None:
            return
        captures = self.analysis.profile.captures
        current = captures.index(self.analysis.capture)
        choices = rank_choices(captures, current, self.messages)
        title = self.messages.text("rank.title")

        def open_capture(index: str | None) -> None:
            if index is not None and int(index) != current:
                self.explorer.open_request(replace(self.request, rank=None, capture_index=int(index)))

        self.app.push_screen(ChoiceDialog(title, choices, str(current)), open_capture)

    def action_open_path(self) -> None:
        """Open another profile."""
        from recui.screens.dialog import PromptDialog

        def open_profile(answer: str | None) -> None:
            if answer is None:
                return
            path = Path(answer).expanduser()
            if path.exists():
                request = Request(path, self.request.options, resources=self.request.resources)
                self.explorer.open_request(request)
            else:
                words = self.messages.text("open.absent", {"path": str(path)})
                self.explorer.tell(words, failed=True)

        title, prompt = self.messages.text("open.title"), self.messages.text("open.prompt")
        self.app.push_screen(PromptDialog(title, prompt, str(self.request.path)), open_profile)
