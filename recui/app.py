"""The explorer: opens profiles, switches language and theme, reaches the clipboard."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.command import CommandPalette

from analysis.report.messages import LANGUAGES, Messages
from analysis.resources import Resources
from recui.actions import ACTIONS, key_text
from recui.clipboard import copy_text
from recui.exit_codes import ExitCode
from recui.loading import Request
from recui.phase_colours import phase_colours
from recui.screens.explorer import ExplorerScreen

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from textual.screen import Screen

    from analysis.options import Options
    from recui.config import Config

PACKAGES = ("analysis.report.messages", "widgets.messages", "recui.messages")
"""Where the words of the explorer come from: results, panes, frame."""


class ExplorerApp(App[str]):
    """The application around one opened profile.

    Args:
        path: The profile.
        rank: Which rank to show; None takes the lowest.
        options: What the user says beside the profile.
        language: en or zh.
        theme: A theme of Textual; None or one it does not know keeps the default.
        config: The user's settings, whose problem, if any, is told once.
        resources: What reading may use of the machine.
    """

    CSS_PATH = "theme.tcss"
    TITLE = "recui"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    BINDINGS = [Binding("ctrl+c", "interrupt", show=False, priority=True, id="application.interrupt")]

    def __init__(
        self,
        path: Path,
        rank: int | None,
        options: Options,
        language: str,
        theme: str | None,
        config: Config | None = None,
        resources: Resources | None = None,
    ) -> None:
        super().__init__()
        self.messages = Messages(language, PACKAGES)
        self._first = Request(path, options, rank, resources=resources or Resources())
        self._wanted_theme = theme
        self._config = config

    def on_mount(self) -> None:
        """Show the frame of the profile at once; the screen then reads it in a thread."""
        if self._wanted_theme in self.available_themes:
            self.theme = self._wanted_theme
        self.push_screen(ExplorerScreen(self._first, self.messages))
        if self._config is not None and self._config.problem is not None:
            self.notify(self._config.problem, severity="warning", markup=False)

    @property
    def explorer(self) -> ExplorerScreen | None:
        """The screen of the opened profile."""
        return next((screen for screen in self.screen_stack if isinstance(screen, ExplorerScreen)), None)

    def open_request(self, request: Request) -> None:
        """Open another profile or rank in place of this one."""
        self.switch_screen(ExplorerScreen(request, self.messages))

    def copy_markdown(self, text: str) -> None:
        """Copy, and say which way the copy went."""
        if not text:
            self.notify(self.messages.text("copy.empty"))
            return
        copied = copy_text(text, self.copy_to_clipboard, os.environ)
        if copied.kept is None:
            words = self.messages.text(f"copy.unsaved_{copied.way}")
        else:
            words = self.messages.text(f"copy.{copied.way}", {"path": str(copied.kept)})
        self.tell(words)

    def tell(self, words: str, *, failed: bool = False) -> None:
        """One notice at a time, and not for long: it covers what the user works on."""
        self.clear_notifications()
        self.notify(words, severity="error" if failed else "information", timeout=4, markup=False)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours of the phases, which a theme may name itself (``phase-forward``)."""
        return phase_colours(dark=self.current_theme.dark)

    # ------------------------------------------------------------ actions

    async def action_quit(self) -> None:
        """Leave; where nothing could be opened, with the reason on stderr and the exit code for it."""
        error = None if self.explorer is None else self.explorer.error
        if error is None:
            self.exit()
        else:
            self.exit(str(error), return_code=ExitCode.USAGE)

    def action_interrupt(self) -> None:
        """Ctrl-C ends recui as it ends any command."""
        self.exit(return_code=ExitCode.INTERRUPTED)

    def action_language(self) -> None:
        """Switch to the next language; place, rows and filters stay."""
        index = LANGUAGES.index(self.messages.language)
        self.messages = Messages(LANGUAGES[(index + 1) % len(LANGUAGES)], PACKAGES)
        if self.explorer is not None:
            self.explorer.relabel(self.messages)

    def action_help(self) -> None:
        """All keys."""
        from recui.screens.help import HelpDialog

        if self.explorer is not None:
            self.push_screen(HelpDialog(self.messages, self.explorer.can))

    def action_theme(self) -> None:
        """Choose the colours."""
        self.search_themes()

    def action_palette(self) -> None:
        """Find an action by its name."""
        self.action_command_palette()

    def action_command_palette(self) -> None:
        """The palette with its prompt in the language in use."""
        if self.use_command_palette and not isinstance(self.screen, CommandPalette):
            self.push_screen(
                CommandPalette(placeholder=self.messages.text("palette.prompt"), id="--command-palette")
            )

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action of the registry that applies now, with its key and its help line."""
        explorer = self.explorer
        if explorer is None:
            return
        for action in ACTIONS:
            if action.by == "list" or action.name == "palette" or not explorer.can(action.name):
                continue
            title = self.messages.text(f"action.{action.name}.title")
            key = f" ({key_text(action.keys[0])})" if action.keys else ""
            target = action.target
            yield SystemCommand(
                f"{title}{key}",
                self.messages.text(f"action.{action.name}.help"),
                lambda target=target: self.call_later(explorer.run_action, target),
            )
