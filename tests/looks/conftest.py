"""Pictures of the explorer: kept in the top-level snapshots/, drawn the same on every machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_textual_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from syrupy.location import PyTestLocation

FOLDER = Path(__file__).parents[2] / "snapshots"


class TopLevelPictures(pytest_textual_snapshot.SVGImageExtension):  # type: ignore[misc]
    """Keeps the pictures of a test file in snapshots/<its name>/; the plugin has no option for it."""

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        return str(FOLDER / Path(test_location.filepath).stem)


@pytest.fixture(autouse=True, scope="session")
def _pictures_at_the_top() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pytest_textual_snapshot, "SVGImageExtension", TopLevelPictures)
        yield


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may have set these; they change colours and the clipboard's way."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TMUX", "STY", "SSH_CONNECTION", "TEXTUAL_ANIMATIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
