"""One line that says how the list on screen was reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.message import Message
from textual.widget import Widget

from widgets.safe_text import ELLIPSIS, cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events

_SEPARATOR = " › "
_EARLIER = ELLIPSIS + _SEPARATOR


class Breadcrumbs(Widget):
    """The way from the first list to this one; a click on a crumb asks to go back to it.

    What does not fit is left out at the left, because the last crumb says where one is.
    """

    DEFAULT_CSS = """
    Breadcrumbs { height: 1; width: 1fr; }
    Breadcrumbs > .breadcrumbs--last { text-style: bold; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "breadcrumbs--crumb",
        "breadcrumbs--last",
        "breadcrumbs--separator",
    }

    @dataclass
    class CrumbSelected(Message):
        """A crumb before the last was clicked."""

        breadcrumbs: Breadcrumbs
        index: int

        @property
        def control(self) -> Breadcrumbs:
            """The line that was clicked."""
            return self.breadcrumbs

    def __init__(
        self,
        crumbs: Sequence[str] = (),
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002  # Textual's own name
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._crumbs = tuple(crumbs)

    @property
    def crumbs(self) -> tuple[str, ...]:
        """The way as it is shown."""
        return self._crumbs

    def set_crumbs(self, crumbs: Sequence[str]) -> None:
        """Show another way."""
        self._crumbs = tuple(crumbs)
        self.refresh()

    def render(self) -> Text:
        """The crumbs that fit."""
        width = self.size.width
        first = self._first_that_fits(width)
        line = Text(end="", no_wrap=True)
        separator = self.get_component_rich_style("breadcrumbs--separator", partial=True)
        if first:
            line.append(_EARLIER, separator)
        for index in range(first, len(self._crumbs)):
            last = index == len(self._crumbs) - 1
            style = self.get_component_rich_style(f"breadcrumbs--{'last' if last else 'crumb'}", partial=True)
            room = width - line.cell_len
            line.append(cut(self._crumbs[index], room), style + Style.from_meta({"crumb": index}))
            if not last:
                line.append(_SEPARATOR, separator)
        return line

    def on_click(self, event: events.Click) -> None:
        """Tell the owner which crumb was meant."""
        index = event.style.meta.get("crumb")
        if index is not None and index < len(self._crumbs) - 1:
            event.stop()
            self.post_message(self.CrumbSelected(self, index))

    def _first_that_fits(self, width: int) -> int:
        for first in range(len(self._crumbs)):
            shown = (*([ELLIPSIS] if first else []), *(cut(crumb, width) for crumb in self._crumbs[first:]))
            if cell_len(_SEPARATOR.join(shown)) <= width:
                return first
        return max(0, len(self._crumbs) - 1)
