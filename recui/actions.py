"""Every action a user can start, once: name, keys, scope. Footer, help, palette and key map all read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from textual.binding import Binding, BindingType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Scope: TypeAlias = Literal["place", "list", "profile", "application"]
"""Where an action belongs in the help: moving about, the list in view, the profile, the application."""

Carrier: TypeAlias = Literal["list", "pane", "frame", "application"]
"""Who carries an action out: the list with the focus, the pane in view, the frame around it, the app."""

SCOPES: tuple[Scope, ...] = ("place", "list", "profile", "application")


@dataclass(frozen=True, slots=True)
class Action:
    """One action. Its words are ``action.<name>.label`` (footer), ``.title`` (palette) and ``.help``."""

    name: str
    keys: tuple[str, ...]
    """Default keys in Textual's spelling, the one shown first; none for what only the palette offers."""
    scope: Scope
    footer: int | None = None
    """Rank in the footer, where the lowest stay when the line is full; None keeps it out."""
    by: Carrier = "frame"

    @property
    def target(self) -> str:
        """The action in Textual's spelling."""
        if self.by == "pane":
            return f"pane('{self.name}')"
        return f"app.{self.name}" if self.by == "application" else self.name


ACTIONS: tuple[Action, ...] = (
    Action("open_row", ("enter",), "place", footer=3, by="pane"),
    Action("back", ("escape",), "place", footer=4),
    Action("show_overview", ("1",), "place"),
    Action("show_operators", ("2",), "place"),
    Action("show_host", ("3",), "place"),
    Action("show_phases", ("4",), "place"),
    Action("show_aten", ("5",), "place"),
    Action("next_pane", ("tab",), "place"),
    Action("previous_pane", ("shift+tab",), "place"),
    Action("next_view", ("t",), "place", footer=5, by="pane"),
    Action("previous_view", ("T",), "place", by="pane"),
    Action("previous_step", ("[",), "place", by="pane"),
    Action("next_step", ("]",), "place", footer=10, by="pane"),
    Action("cursor_down", ("j", "down"), "list", by="list"),
    Action("cursor_up", ("k", "up"), "list", by="list"),
    Action("cursor_left", ("h", "left"), "list", by="list"),
    Action("cursor_right", ("l", "right"), "list", by="list"),
    Action("toggle_branch", ("space",), "list", footer=7, by="pane"),
    Action("open_branches", ("asterisk",), "list", footer=12, by="pane"),
    Action("column_left", ("less_than_sign",), "list", by="pane"),
    Action("column_right", ("greater_than_sign",), "list", by="pane"),
    Action("page_down", ("pagedown",), "list", by="list"),
    Action("page_up", ("pageup",), "list", by="list"),
    Action("cursor_first", ("g", "home"), "list", by="list"),
    Action("cursor_last", ("G", "end"), "list", by="list"),
    Action("detail_down", ("J", "shift+down"), "list", by="pane"),
    Action("detail_up", ("K", "shift+up"), "list", by="pane"),
    Action("filter", ("/",), "list", footer=6, by="pane"),
    Action("next_match", ("n",), "list", by="pane"),
    Action("previous_match", ("N",), "list", by="pane"),
    Action("sort", ("s",), "list", footer=7, by="pane"),
    Action("copy", ("y",), "list", footer=8),
    Action("full_value", ("v",), "list", footer=11),
    Action("files", ("f",), "profile", footer=9),
    Action("export", ("e",), "profile", footer=12),
    Action("rank", ("r",), "profile", footer=13),
    Action("open_path", ("o",), "profile", footer=15),
    Action("language", ("L",), "application", by="application"),
    Action("theme", (), "application", by="application"),
    Action("palette", ("ctrl+p",), "application", footer=14, by="application"),
    Action("help", ("?",), "application", footer=1, by="application"),
    Action("quit", ("q",), "application", footer=2, by="application"),
)
"""In the order in which footer and help show them."""

_KEY_TEXTS: Mapping[str, str] = {
    "escape": "Esc",
    "enter": "Enter",
    "space": "Space",
    "asterisk": "*",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "tab": "Tab",
    "shift+tab": "Shift+Tab",
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
    "home": "Home",
    "end": "End",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "shift+down": "Shift+↓",
    "shift+up": "Shift+↑",
}


def key_text(key: str) -> str:
    """How a key is written for the user: ``escape`` is ``Esc``, ``ctrl+p`` is ``^p``."""
    if key.startswith("ctrl+"):
        return f"^{key.removeprefix('ctrl+')}"
    return _KEY_TEXTS.get(key, key)


def screen_bindings(actions: Iterable[Action] = ACTIONS) -> list[BindingType]:
    """The bindings of the screen; each has its action's name as id, so that a key map reaches it."""
    return [
        Binding(
            ",".join(action.keys),
            action.target,
            action.name,
            show=False,
            id=action.name,
        )
        for action in actions
        if action.keys and action.by != "list"
    ]


def find_action(name: str) -> Action | None:
    """The action of that name."""
    return next((action for action in ACTIONS if action.name == name), None)
