"""The panes that exist, in tab order: what each is called, needs, and where its class is."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from widgets.pane import Pane


@dataclass(frozen=True, slots=True)
class PaneEntry:
    """One pane. Its class is imported only when it is needed, because pane modules import polars (0.3 s)."""

    name: str
    key: str
    module: str
    class_name: str
    needs: tuple[str, ...]
    """Sections of the result that must be there before the pane can be drawn."""

    def load_class(self) -> type[Pane]:
        """The pane's class."""
        return cast("type[Pane]", getattr(import_module(self.module), self.class_name))


PANES: tuple[PaneEntry, ...] = (
    PaneEntry(
        "overview",
        "1",
        "widgets.overview",
        "OverviewPane",
        ("scenario", "trace", "metrics", "phases", "findings"),
    ),
    PaneEntry("operators", "2", "widgets.operators", "OperatorsPane", ("operators",)),
    PaneEntry(
        "host", "3", "widgets.host", "HostPane", ("scenario", "trace", "host", "host_operators", "copies")
    ),
    PaneEntry("phases", "4", "widgets.phases", "PhasesPane", ("scenario", "trace", "phases")),
    PaneEntry("aten", "5", "widgets.aten", "AtenPane", ("scenario", "trace", "phases")),
)
