"""What every pane offers to the frame around it, so that who has learnt one pane knows all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Vertical
from textual.message import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analysis.report.messages import Messages
    from analysis.result import Analysis
    from widgets.frame_table import FrameTable


_LINES_AT_80X24 = 19
"""Lines of a pane on the smallest screen that everything is made for."""


class Pane(Vertical):
    """One numbered page. Subclasses draw results; they compute nothing.

    A pane answers what it can do now (:meth:`allows`), and does it when asked by the action's name.
    """

    DEFAULT_CSS = """
    Pane { height: 1fr; width: 1fr; }
    """
    NAME: ClassVar[str] = ""
    """Last part of the action ``show_<name>`` and of the message ``pane.<name>``."""

    @dataclass
    class Changed(Message):
        """The breadcrumb or the actions that apply have changed."""

        pane: Pane

    @dataclass
    class JumpRequested(Message):
        """The user wants to see what a row is about, in another pane or list."""

        pane: str
        view: str
        filter: str | None = None
        row: Mapping[str, Any] = field(default_factory=dict)
        """Values by which one row is known in the list; empty for its first one."""

    def __init__(self, messages: Messages) -> None:
        super().__init__(id=self.NAME)
        self.messages = messages

    @property
    def is_low(self) -> bool:
        """Whether what explains a list has to give way to its rows: the pane is lower than at 80x24."""
        return 0 < self.size.height < _LINES_AT_80X24

    @property
    def line_width(self) -> int:
        """Cells of a line; before the pane is laid out, those of the screen."""
        return self.size.width or self.app.size.width

    def on_resize(self) -> None:
        """Style sheets follow the one rule of what is low."""
        self.set_class(self.is_low, "-low")

    def show(self, analysis: Analysis) -> None:
        """Draw the result; called once, when the sections that the pane needs are there."""
        raise NotImplementedError

    def relabel(self, messages: Messages) -> None:
        """Draw everything in another language, leaving rows, views and filters where they are."""
        raise NotImplementedError

    def take_focus(self) -> None:
        """Give the keyboard to the pane's list."""
        raise NotImplementedError

    def keep_focus(self) -> None:
        """Move the keyboard along inside the pane; a pane out of view must not take it."""
        if self.display and self.screen.is_current:
            self.take_focus()

    def trail(self) -> tuple[str, ...]:
        """The breadcrumb: where inside the pane the user is, outermost first."""
        return (self.messages.text(f"pane.{self.NAME}"),)

    def table(self) -> FrameTable | None:
        """The table in view, if one is."""
        return None

    def has_list(self) -> bool:
        """Whether the keys that move in a list apply."""
        return self.table() is not None

    def allows(self, action: str) -> bool:
        """Whether the action can do something now; otherwise its key is greyed."""
        return False

    def go_to(self, view: str, filter_text: str | None, row: Mapping[str, Any] | None = None) -> None:
        """Show one of the pane's lists, with the cursor on one row, or else narrowed to a text."""

    def is_where_sent(self) -> bool:
        """Whether the list of the last ``go_to`` is in view as it was then: going back leaves the pane."""
        return False

    def go_back(self) -> None:
        """Return one level."""

    def full_value(self) -> str | None:
        """The selected cell in full, or None where nothing is selected."""
        return None

    def perform(self, action: str) -> None:
        """Carry out an action of the pane, if it applies now."""
        if self.allows(action):
            getattr(self, f"do_{action}")()
