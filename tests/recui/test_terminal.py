"""Where the explorer refuses to start."""

from __future__ import annotations

import io

import pytest

from recui.terminal import obstacle


class Stream(io.TextIOWrapper):
    """A stream that says of itself what a test wants."""

    def __init__(self, *, tty: bool, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding)
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8"])
def test_terminal_is_fine(encoding: str) -> None:
    terminal = Stream(tty=True, encoding=encoding)
    assert obstacle(terminal, terminal, {"TERM": "xterm-256color"}) is None


@pytest.mark.parametrize(("screen", "keyboard"), [(True, False), (False, True), (False, False)])
def test_both_ends_must_be_terminals(screen: bool, keyboard: bool) -> None:
    problem = obstacle(Stream(tty=screen), Stream(tty=keyboard), {"TERM": "xterm"})
    assert problem is not None
    assert "no terminal" in problem


def test_closed_streams_are_no_terminal() -> None:
    assert obstacle(None, None, {"TERM": "xterm"}) is not None


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"TERM": ""}, {}])
def test_dumb_terminal_is_refused(environment: dict[str, str]) -> None:
    terminal = Stream(tty=True)
    problem = obstacle(terminal, terminal, environment)
    assert problem is not None
    assert "TERM=" in problem


@pytest.mark.parametrize("encoding", ["latin-1", "gbk", "ascii"])
def test_locale_without_utf8_is_refused(encoding: str) -> None:
    terminal = Stream(tty=True, encoding=encoding)
    problem = obstacle(terminal, terminal, {"TERM": "xterm"})
    assert problem is not None
    assert "UTF-8" in problem
