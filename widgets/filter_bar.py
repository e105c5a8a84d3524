"""A line to type a filter into, shown only while it is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Label

from widgets.messages import catalogue
from widgets.safe_text import safe_text

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.timer import Timer

    from analysis.report.messages import Messages

DEBOUNCE_SECONDS = 0.15


class FilterBar(Horizontal):
    """``/`` and an input, and at the right what the owner counts.

    Hidden until ``open``. Enter keeps the filter, Escape takes it away and hides the bar. The owner binds
    the key that opens it, filters on ``Changed``, and takes the focus back on ``Submitted`` and ``Closed``.
    """

    DEFAULT_CSS = """
    FilterBar { height: 1; display: none; }
    FilterBar.-open { display: block; }
    FilterBar > Label { width: auto; padding: 0 1; }
    FilterBar > Input { width: 1fr; height: 1; border: none; padding: 0; }
    FilterBar > Input:focus { border: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Clear filter", id="filter.close", show=False),
    ]

    @dataclass
    class Changed(Message):
        """The text has been at rest for a moment."""

        filter_bar: FilterBar
        text: str

        @property
        def control(self) -> FilterBar:
            """The bar that changed."""
            return self.filter_bar

    @dataclass
    class Submitted(Message):
        """Enter was pressed; a ``Changed`` with the same text came before."""

        filter_bar: FilterBar
        text: str

        @property
        def control(self) -> FilterBar:
            """The bar that was submitted."""
            return self.filter_bar

    @dataclass
    class Closed(Message):
        """The filter was taken away; a ``Changed`` with an empty text came before."""

        filter_bar: FilterBar

        @property
        def control(self) -> FilterBar:
            """The bar that closed."""
            return self.filter_bar

    def __init__(
        self,
        *,
        messages: Messages | None = None,
        name: str | None = None,
        id: str | None = None,  # noqa: A002  # Textual's own name
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._messages = messages or catalogue("en")
        self._timer: Timer | None = None
        self._sent = ""

    def compose(self) -> ComposeResult:
        """The mark, the input and the count."""
        yield Label("/", markup=False)
        yield Input(
            placeholder=self._messages.text("filter.placeholder"),
            compact=True,
            select_on_focus=False,
            disabled=True,
        )
        yield Label("", classes="count", markup=False)

    @property
    def text(self) -> str:
        """What is typed now."""
        return self.query_one(Input).value

    @property
    def is_open(self) -> bool:
        """True while the bar is shown."""
        return self.has_class("-open")

    def open(self) -> None:
        """Show the bar and let the user type on."""
        self._appear(shown=True)
        self.query_one(Input).focus()

    def show_text(self, text: str) -> None:
        """Show a filter that the owner has set already, without taking the focus."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._sent = text
        with self.prevent(Input.Changed):
            self.query_one(Input).value = text
        self._appear(shown=bool(text))

    def close(self) -> None:
        """Take the filter away and hide the bar."""
        self.query_one(Input).value = ""
        self._send("")
        self._appear(shown=False)
        self.post_message(self.Closed(self))

    def set_count(self, text: str) -> None:
        """Say at the right how many match; see message ``table.match_count``."""
        self.query_one(".count", Label).update(safe_text(text))

    def set_messages(self, messages: Messages) -> None:
        """Switch the language."""
        self._messages = messages
        self.query_one(Input).placeholder = messages.text("filter.placeholder")

    def action_close(self) -> None:
        """Escape."""
        self.close()

    def _appear(self, *, shown: bool) -> None:
        """Show or hide the bar; a hidden input is disabled, or Textual would give it the first focus."""
        self.set_class(shown, "-open")
        self.query_one(Input).disabled = not shown

    @on(Input.Changed)
    def _wait_for_rest(self, event: Input.Changed) -> None:
        event.stop()
        if self._timer is not None:
            self._timer.stop()
        text = event.value
        self._timer = self.set_timer(DEBOUNCE_SECONDS, lambda: self._send(text))

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        event.stop()
        self._send(event.value)
        self.post_message(self.Submitted(self, event.value))

    def _send(self, text: str) -> None:
        """Tell the owner a text, unless it knows it already; a wait for an older one ends."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if text != self._sent:
            self._sent = text
            self.post_message(self.Changed(self, text))
