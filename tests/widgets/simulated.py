"""A simulated training profile, analysed: two of its steps are enough for the panes on phases."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from analysis.profile.discover import discover
from analysis.result import Analysis
from tests.generators import gen_recsys_trace as generator

_FOLDERS: list[TemporaryDirectory[str]] = []
"""Held until the tests end, for the text of events is read from them."""


@cache
def simulated(flavour: str = "torchrec", steps: int = 3) -> Analysis:
    """The first rank."""
    folder = TemporaryDirectory(prefix="simulated")
    _FOLDERS.append(folder)
    generator.main(["--out", folder.name, "--flavour", flavour, "--steps", str(steps)])
    profile = discover(Path(folder.name))
    return Analysis(profile, profile.select(None))
