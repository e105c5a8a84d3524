"""Where a copy goes: tmux, the terminal, and always a private file."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

from recui.clipboard import copy_text, state_directory

if TYPE_CHECKING:
    import pytest


def fake_tmux(folder: Path, *, works: bool = True) -> dict[str, str]:
    """An environment whose tmux keeps its standard input in a file, or fails."""
    folder.mkdir()
    script = folder / "tmux"
    script.write_text(
        f'#!/bin/sh\necho "$@" > {folder}/arguments\ncat > {folder}/buffer\nexit {0 if works else 1}\n'
    )
    script.chmod(0o755)
    return {"TMUX": "socket,1,0", "PATH": str(folder)}


def test_without_tmux_the_terminal_gets_the_copy(tmp_path: Path) -> None:
    sent: list[str] = []
    copied = copy_text("| a |", sent.append, {"XDG_STATE_HOME": str(tmp_path)})
    assert (copied.way, sent) == ("osc52", ["| a |"])


def test_inside_tmux_the_buffer_gets_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = fake_tmux(tmp_path / "bin") | {"XDG_STATE_HOME": str(tmp_path)}
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    sent: list[str] = []
    copied = copy_text("算子", sent.append, environment)
    assert (copied.way, sent) == ("tmux", [])
    assert (tmp_path / "bin" / "buffer").read_text(encoding="utf-8") == "算子"
    assert (tmp_path / "bin" / "arguments").read_text().split() == ["load-buffer", "-w", "-"]


def test_a_failing_tmux_falls_back_to_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = fake_tmux(tmp_path / "bin", works=False) | {"XDG_STATE_HOME": str(tmp_path)}
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    sent: list[str] = []
    assert copy_text("x", sent.append, environment).way == "osc52"
    assert sent == ["x"]


def test_last_copy_is_kept_for_its_owner_only(tmp_path: Path) -> None:
    environment = {"XDG_STATE_HOME": str(tmp_path)}
    copy_text("first", lambda _: None, environment)
    kept = copy_text("second", lambda _: None, environment).kept
    assert kept == tmp_path / "recui" / "last-copy.md"
    assert kept.read_text(encoding="utf-8") == "second"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert [file.name for file in kept.parent.iterdir()] == ["last-copy.md"]


def test_a_copy_works_where_nothing_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert copy_text("x", lambda _: None, {"XDG_STATE_HOME": str(tmp_path / "file")}).kept is None


def test_state_directory_is_below_home_by_default() -> None:
    assert state_directory({"HOME": "/home/u"}) == Path("/home/u/.local/state/recui")
