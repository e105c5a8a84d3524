"""What all dialogs share: a titled box that Esc closes and the mouse can leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from rich.text import Text
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Label, OptionList
from textual.widgets.option_list import Option

from recui.actions import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.events import Click
    from textual.widget import Widget

Result = TypeVar("Result")


class Dialog(ModalScreen[Result], Generic[Result]):
    """A box in the middle of the screen; Esc and a click beside it close it without a result."""

    BINDINGS = [Binding("escape", "leave", "close", show=False)]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._heading = title

    def compose(self) -> ComposeResult:
        """The box with its title."""
        with Vertical(id="box") as box:
            box.border_title = Text(self._heading).markup
            yield from self.content()

    def content(self) -> Sequence[Widget]:
        """What stands in the box."""
        raise NotImplementedError

    def action_leave(self) -> None:
        """Close without a result."""
        self.dismiss(None)

    def on_click(self, event: Click) -> None:
        """A click beside the box closes it."""
        if event.widget is self:
            self.dismiss(None)


class TextDialog(Dialog[None]):
    """A text to read and scroll. Subclasses bind the key that opened them, so that it closes them too."""

    BINDINGS = [Binding("q", "leave", show=False)]

    def __init__(self, title: str, text: Callable[[int], Text], hint: str = "") -> None:
        """Args: the title, what draws the text for a width, a last line."""
        super().__init__(title)
        self._text = text
        self._hint = hint

    def content(self) -> Sequence[Widget]:
        """The text, scrolling, and the hint below it."""
        self._label = Label("", markup=False)
        return (_Scroll(self._label), Label(self._hint, id="hint", markup=False))

    def on_mount(self) -> None:
        """Draw the text as wide as the box."""
        self.query_one(_Scroll).focus()
        self._draw()

    def on_resize(self) -> None:
        """The width has changed, and with it the line breaks."""
        self._draw()

    def _draw(self) -> None:
        # The box takes 90 % of the screen, at most 110 cells; border, padding and scroll bar take six.
        self._label.update(self._text(min(self.app.size.width * 9 // 10, 110) - 6))


def closing(name: str) -> Binding:
    """The binding that lets the key of an action close the dialog it opened."""
    action = next(action for action in ACTIONS if action.name == name)
    return Binding(",".join(action.keys), "leave", show=False, id=name)


class _Scroll(VerticalScroll):
    BINDINGS = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
    ]


class ChoiceList(OptionList):
    """An option list that also knows j, k, g and G."""

    BINDINGS = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
        Binding("g", "first", show=False),
        Binding("G", "last", show=False),
    ]


class ChoiceDialog(Dialog[str]):
    """One of a few choices; the result is the name of the one chosen."""

    def __init__(self, title: str, choices: Sequence[tuple[str, str]], chosen: str | None = None) -> None:
        """Args: the title, (name, words) of every choice, the name selected at first."""
        super().__init__(title)
        self._choices = tuple(choices)
        self._chosen = chosen

    def content(self) -> Sequence[Widget]:
        """The list."""
        options = [
            Option(Text(words), id=f"choice-{index}") for index, (_, words) in enumerate(self._choices)
        ]
        return (ChoiceList(*options),)

    def on_mount(self) -> None:
        """Select the choice in force."""
        choices = self.query_one(ChoiceList)
        names = [name for name, _ in self._choices]
        choices.highlighted = names.index(self._chosen) if self._chosen in names else 0
        choices.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter or a click chooses."""
        self.dismiss(self._choices[event.option_index][0])


class PromptDialog(Dialog[str]):
    """One line of text; the result is what was typed."""

    def __init__(self, title: str, prompt: str, value: str) -> None:
        super().__init__(title)
        self._prompt = prompt
        self._value = value

    def content(self) -> Sequence[Widget]:
        """The prompt and the line to type in."""
        return (Label(self._prompt, markup=False), Input(self._value))

    def on_mount(self) -> None:
        """Typing starts at once."""
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter hands the text over; an empty one counts as leaving."""
        self.dismiss(event.value.strip() or None)
