"""How the panes on phases look on a simulated training run, narrow and wide, in both languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.explorer import NARROW, WIDE, after, explorer_app
from tests.generators import gen_recsys_trace as generator

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.looks

SIZES = {"80x24": NARROW, "140x40": WIDE}
VIEWS = {
    "phases": ("4", "j"),
    "phase_tree": ("4", "j", "enter"),
    "call_tree": ("4", "t", "G", "k", "k", "right_square_bracket"),
    "steps": ("4", "t", "t"),
    "waits": ("4", "t", "t", "t"),
    "asynchrony": ("4", "t", "t", "t", "t"),
    "aten": ("5", "j", "j", "asterisk"),
}


@pytest.fixture(scope="session")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulated") / "run7"
    folder.mkdir()
    generator.main(["--out", str(folder), "--flavour", "torchrec", "--steps", "3"])
    return folder


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("view", VIEWS)
def test_view(view: str, size: str, language: str, profile: Path, snap_compare: Any) -> None:
    app = explorer_app(profile, language)
    assert snap_compare(app, terminal_size=SIZES[size], run_before=after(*VIEWS[view]))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_overview_with_phases(language: str, profile: Path, snap_compare: Any) -> None:
    app = explorer_app(profile, language)
    assert snap_compare(app, terminal_size=NARROW, run_before=after("1"))
