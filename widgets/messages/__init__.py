"""Words of the explorer alone: one folder a language, one TOML file a subject."""

from __future__ import annotations

from analysis.report.messages import Messages

PACKAGES = ("analysis.report.messages", "widgets.messages")


def catalogue(language: str) -> Messages:
    """All words that a pane may need in this language: those of the results and those of the screen."""
    return Messages(language, PACKAGES)
