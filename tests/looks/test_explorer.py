"""How the explorer looks: every pane on both samples' terms, narrow and wide, in both languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from analysis.demo import write_sample
from tests.explorer import NARROW, WIDE, after, explorer_app

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


pytestmark = pytest.mark.looks

SIZES = {"80x24": NARROW, "140x40": WIDE}
PANES = {"overview": "1", "operators": "2", "host": "3"}


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("samples")
    return {kind: write_sample(kind, folder).path for kind in ("training", "inference")}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("pane", PANES)
def test_training(pane: str, size: str, language: str, samples: dict[str, Path], snap_compare: Any) -> None:
    app = explorer_app(samples["training"], language)
    assert snap_compare(app, terminal_size=SIZES[size], run_before=after(PANES[pane]))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("pane", PANES)
def test_inference(pane: str, size: str, language: str, samples: dict[str, Path], snap_compare: Any) -> None:
    app = explorer_app(samples["inference"], language)
    assert snap_compare(app, terminal_size=SIZES[size], run_before=after(PANES[pane]))


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(("2", "enter"), id="shapes"),
        pytest.param(("2", "enter", "enter"), id="executions"),
        pytest.param(("2", "t", "t"), id="problems"),
        pytest.param(("1", "t"), id="core_metrics"),
        pytest.param(("1", "t", "t"), id="steps"),
        pytest.param(("3", "enter"), id="operator_calls"),
        pytest.param(("3", "enter", "enter"), id="event"),
        pytest.param(("3", "T"), id="copies"),
        pytest.param(("3", "T", "enter"), id="copies_of_a_direction"),
        pytest.param(("question_mark",), id="help"),
        pytest.param(("2", "y"), id="copy"),
    ],
)
def test_deeper(keys: tuple[str, ...], samples: dict[str, Path], snap_compare: Any) -> None:
    app = explorer_app(samples["training"])
    assert snap_compare(app, terminal_size=NARROW, run_before=after(*keys))


def test_failure(snap_compare: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from analysis.errors import NotAProfileError
    from recui.loading import LoadFailed

    def fail(_request: object, post: Callable[[object], None], _cancelled: object) -> None:
        post(
            LoadFailed(NotAProfileError("run7: no profile files here; give the directory that msprof wrote"))
        )

    monkeypatch.setattr("recui.screens.profile_screen.load", fail)
    app = explorer_app(tmp_path / "run7")
    assert snap_compare(app, terminal_size=NARROW, run_before=after())
