"""``recui open``: the explorer, where the terminal can show it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from analysis.errors import UsageError
from recui.streams import say
from recui.terminal import obstacle

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.options import Options
    from analysis.resources import Resources
    from recui.config import Config


def explore(
    path: Path,
    rank: int | None,
    options: Options,
    settings: Config,
    theme: str | None,
    resources: Resources,
    *,
    mouse: bool,
) -> int:
    """Run the explorer until the user leaves it, and return its exit code.

    Raises:
        UsageError: The terminal cannot show it, or there is no such theme.
    """
    problem = obstacle(sys.stdout, sys.stdin, os.environ)
    if problem:
        raise UsageError(f"{problem}; 'recui export' writes the report without one")
    # 550 ms that no other command needs.
    from recui.app import ExplorerApp

    if theme:
        from textual.theme import BUILTIN_THEMES

        if theme not in BUILTIN_THEMES:
            raise UsageError(f"no theme {theme!r}; there are {', '.join(sorted(BUILTIN_THEMES))}")
    language, theme = settings.language or "en", theme or settings.theme
    explorer = ExplorerApp(path, rank, options, language, theme, settings, resources)
    last_words = explorer.run(mouse=mouse)
    if last_words:
        say(str(last_words))
    return explorer.return_code or 0
