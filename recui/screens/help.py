"""The help screen: every action of the registry, by scope, with its keys and its help line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from recui.actions import ACTIONS, SCOPES, key_text
from recui.screens.dialog import TextDialog, closing
from widgets.file_list import wrapped

if TYPE_CHECKING:
    from collections.abc import Callable

    from analysis.report.messages import Messages

_KEY_CELLS = 13


def help_text(messages: Messages, width: int, can: Callable[[str], bool]) -> Text:
    """Keys and help lines; actions that do nothing now are dimmed."""
    text = Text()
    for scope in SCOPES:
        text.append(f"{messages.text(f'scope.{scope}')}\n", "bold")
        for action in ACTIONS:
            if action.scope != scope:
                continue
            keys = " ".join(key_text(key) for key in action.keys)
            head = f"  {set_cell_size(keys, max(_KEY_CELLS, cell_len(keys)))} "
            room = max(20, width - _KEY_CELLS - 3)
            style = "" if can(action.name) else "dim"
            for index, line in enumerate(wrapped(messages.text(f"action.{action.name}.help"), room)):
                text.append(head if index == 0 else " " * (_KEY_CELLS + 3), style or "bold")
                text.append(f"{line}\n", style)
        text.append("\n")
    text.rstrip()
    return text


class HelpDialog(TextDialog):
    """The help screen."""

    BINDINGS = [closing("help")]

    def __init__(self, messages: Messages, can: Callable[[str], bool]) -> None:
        super().__init__(
            messages.text("help.title"),
            lambda width: help_text(messages, width, can),
            messages.text("help.more"),
        )
