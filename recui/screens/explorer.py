"""The explorer's one main screen: header, tabs, the pane in view, breadcrumb, footer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.containers import Vertical
from textual.widgets import ContentSwitcher

from recui.actions import ACTIONS, Action, find_action, key_text, screen_bindings
from recui.loading import SECTIONS
from recui.panes import PANES
from recui.screens.dialog_actions import DialogActions
from recui.screens.failure import FailurePanel
from recui.screens.loading_view import LoadingView
from recui.screens.profile_words import expected_files, header_words
from widgets.breadcrumbs import Breadcrumbs
from widgets.frame_line import HeaderLine, Part, PartLine, fitting_parts

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.events import Resize

    from analysis.report.messages import Messages
    from recui.loading import Request
    from widgets.file_list import FileLine
    from widgets.pane import Pane

_ALWAYS = frozenset(
    {"help", "quit", "language", "theme", "palette", "open_path", "next_pane", "previous_pane"}
)


class ExplorerScreen(DialogActions):
    """One opened profile. A request for another path or rank opens a new screen."""

    BINDINGS = screen_bindings()
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (130, "-broad")]
    AUTO_FOCUS = None

    def __init__(self, request: Request, messages: Messages) -> None:
        super().__init__(request, messages)
        self._current = PANES[0].name
        self._sender: str | None = None
        """The pane that sent the user to the one in view; going back leads there."""

    # ------------------------------------------------------------- layout

    def compose(self) -> ComposeResult:
        """The frame; panes join when their results are there."""
        yield HeaderLine(id="header")
        yield PartLine(id="tabs")
        with Vertical(id="body"), ContentSwitcher(id="panes", initial="loading"):
            yield LoadingView(self.messages, str(self.request.path), id="loading")
            yield FailurePanel(id="failure")
        yield Breadcrumbs(id="breadcrumbs")
        yield PartLine(id="footer")

    def on_mount(self) -> None:
        """Draw the frame, and only then begin to read."""
        self.draw_frame()
        self.call_after_refresh(self.start_loading)

    # ------------------------------------------------------------ drawing

    @property
    def loading_view(self) -> LoadingView:
        """The files, while a pane waits for them."""
        return self.query_one("#loading", LoadingView)

    @property
    def loading_lines(self) -> tuple[FileLine, ...]:
        """The files and how far each has got."""
        return self.loading_view.lines

    @property
    def pane(self) -> Pane | None:
        """The pane in view, if it is there yet."""
        return self.panes.get(self._current)

    def _pane_title(self, name: str) -> str:
        return self.messages.text(f"pane.{name}")

    def draw_frame(self) -> None:
        """Bring header, tabs, body, breadcrumb and footer up to date."""
        self._draw_header()
        self.query_one("#tabs", PartLine).show(
            [
                Part(
                    entry.name,
                    self._pane_title(entry.name),
                    entry.key,
                    selected=entry.name == self._current,
                    dim=entry.name not in self.panes and entry.name != self._current,
                )
                for entry in PANES
            ],
        )
        self._draw_body()
        self._draw_place()

    def _draw_header(self) -> None:
        header = self.query_one("#header", HeaderLine)
        state = self.messages.text("header.loading") if self.is_loading else ""
        if self.analysis is None:
            header.show(f"recui  {self.request.path.name or self.request.path}", "", state)
            return
        name, facts, number = header_words(self.analysis, self.sections, self.messages)
        header.show(f"recui  {name}", facts, number or state)

    def _draw_body(self) -> None:
        switcher = self.query_one("#panes", ContentSwitcher)
        error = self.failures.get(self._current) or self.error
        if self.pane is not None:
            wanted = self._current
        elif error is not None:
            wanted = "failure"
            working = [self._pane_title(name) for name in self.panes]
            self.query_one("#failure", FailurePanel).tell(error, working, self.messages)
        else:
            wanted = "loading"
            self.loading_view.tell(self._loading_story())
        if switcher.current != wanted:
            switcher.current = wanted
        if self.pane is not None and self.is_current:
            self.pane.take_focus()

    def _loading_story(self) -> str:
        if self.loading_state == "cancelled":
            return self.messages.text("loading.cancelled")
        story = []
        joint = self.messages.text("loading.and")
        ready = [
            f"{self._pane_title(entry.name)} ({entry.key})" for entry in PANES if entry.name in self.panes
        ]
        if ready:
            story.append(self.messages.text("loading.ready", {"panes": joint.join(ready)}))
        entry = next(entry for entry in PANES if entry.name == self._current)
        awaited = [part for part in SECTIONS if part in entry.needs and part not in self.sections]
        if awaited and self.analysis is not None:
            parts = joint.join(self.messages.text(f"loading.part_{part}") for part in awaited)
            values = {"pane": self._pane_title(entry.name), "parts": parts}
            story.append(self.messages.text("loading.waits", values))
        return " ".join(story)

    def _draw_place(self) -> None:
        """Bring breadcrumb and footer up to date."""
        trail = self._trail()
        self.query_one("#breadcrumbs", Breadcrumbs).set_crumbs([" " + trail[0], *trail[1:]])
        width = self.size.width or self.app.size.width
        ranked = [
            (action.footer, self._footer_part(action))
            for action in ACTIONS
            if action.footer is not None and self.can(action.name)
        ]
        self.query_one("#footer", PartLine).show(fitting_parts(ranked, width - 1))
        self.refresh_bindings()

    def _trail(self) -> tuple[str, ...]:
        """How the list in view was reached, the pane that led there first."""
        if self.pane is None:
            return (self._pane_title(self._current),)
        sender = () if self._sender is None else (self._pane_title(self._sender),)
        return (*sender, *self.pane.trail())

    def _footer_part(self, action: Action) -> Part:
        label = f"action.{action.name}.label"
        if action.name == "back" and self._back_cancels():
            label = "loading.cancel"
        key = "[ ]" if action.name == "next_step" else key_text(action.keys[0])
        return Part(action.name, self.messages.text(label), key)

    def on_resize(self, event: Resize) -> None:
        """The footer shows as many keys as fit."""
        self.call_after_refresh(self._draw_place)

    # ------------------------------------------------------------ actions

    def can(self, name: str) -> bool:
        """Whether the action does something now."""
        action = find_action(name)
        if action is None or name in _ALWAYS or name.startswith("show_"):
            return True
        if name in {"files", "export", "rank"}:
            return self._can_with_profile(name)
        if name == "back" and self._back_cancels():
            return True
        if self.pane is None:
            return False
        if name == "back" and self._goes_back_to_sender():
            return True
        return self.pane.has_list() if action.by == "list" else self.pane.allows(name)

    def _back_cancels(self) -> bool:
        goes_back = self.pane is not None and self.pane.allows("back")
        return self.is_loading and not goes_back and not self._goes_back_to_sender()

    def _can_with_profile(self, name: str) -> bool:
        if self.analysis is None:
            return False
        if name == "rank":
            return len(self.analysis.profile.captures) > 1
        return name == "files" or self.loading_state == "done"

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """None greys the key of an action that does nothing now."""
        name = str(parameters[0]) if action == "pane" and parameters else action
        return True if self.can(name) else None

    @on(PartLine.Clicked, "#tabs")
    def _tab_clicked(self, event: PartLine.Clicked) -> None:
        self._go(event.name)

    @on(PartLine.Clicked, "#footer")
    async def _footer_clicked(self, event: PartLine.Clicked) -> None:
        action = find_action(event.name)
        if action is not None:
            await self.run_action(action.target)

    @on(Breadcrumbs.CrumbSelected)
    def _crumb_clicked(self, event: Breadcrumbs.CrumbSelected) -> None:
        if self._sender is not None and event.index == 0:
            # The pane is found as it was left, as with Esc.
            self._go(self._sender)
            return
        # A pane first drops its filter, and only then returns a level.
        while self.pane is not None and len(self._trail()) > event.index + 1 and self.pane.allows("back"):
            self.pane.go_back()

    def on_pane_changed(self) -> None:
        """A pane has moved: breadcrumb and footer follow."""
        self._draw_place()

    def on_pane_jump_requested(self, event: Pane.JumpRequested) -> None:
        """Show what a row is about: another pane, one of its lists, or the files."""
        if event.pane == "files":
            self.action_files()
            return
        sender = self._current
        self._go(event.pane)
        if self.pane is not None:
            self._sender = sender if event.pane != sender else None
            self.pane.go_to(event.view, event.filter, event.row)
            self._draw_place()

    def _goes_back_to_sender(self) -> bool:
        return self._sender is not None and self.pane is not None and self.pane.is_where_sent()

    def _go(self, name: str) -> None:
        self._current = name
        self._sender = None
        self.draw_frame()

    def _turn(self, by: int) -> None:
        names = [entry.name for entry in PANES]
        self._go(names[(names.index(self._current) + by) % len(names)])

    def action_show_overview(self) -> None:
        """Pane 1."""
        self._go("overview")

    def action_show_operators(self) -> None:
        """Pane 2."""
        self._go("operators")

    def action_show_host(self) -> None:
        """Pane 3."""
        self._go("host")

    def action_show_phases(self) -> None:
        """Pane 4."""
        self._go("phases")

    def action_show_aten(self) -> None:
        """Pane 5."""
        self._go("aten")

    def action_next_pane(self) -> None:
        """The next pane, the first after the last."""
        self._turn(1)

    def action_previous_pane(self) -> None:
        """The pane before."""
        self._turn(-1)

    def action_pane(self, name: str) -> None:
        """Let the pane in view do it."""
        if self.pane is not None:
            self.pane.perform(name)

    def action_back(self) -> None:
        """One level up in the pane; where there is none while loading, stop loading."""
        if self._back_cancels():
            self.cancel_loading()
        elif self._sender is not None and self._goes_back_to_sender():
            self._go(self._sender)
        elif self.pane is not None:
            self.pane.go_back()

    def relabel(self, messages: Messages) -> None:
        """Another language; place, rows and filters stay."""
        self.messages = messages
        lines = expected_files(self.analysis, messages) if self.analysis is not None else []
        self.loading_view.relabel(messages, [line for line in lines if line.state == "missing"])
        for pane in self.panes.values():
            pane.relabel(messages)
        self.draw_frame()
