"""Lines of files: what their rows are called, and how far a file is."""

from __future__ import annotations

import pytest

from analysis.report.messages import Messages
from recui.app import PACKAGES
from widgets.file_list import FileLine, file_list_text


def line(language: str = "en", **known: object) -> str:
    shown = FileLine("trace_view.json", "done", **known)  # type: ignore[arg-type]
    return file_list_text([shown], Messages(language, PACKAGES), 80).plain


@pytest.mark.parametrize(
    ("rows", "counted", "words"),
    [
        (1, "row", "1 row"),
        (1_200, "row", "1,200 rows"),
        (1, "bar", "1 bar"),
        (14_066, "bar", "14,066 bars"),
        (2, "operation", "2 operations"),
    ],
)
def test_what_was_read_has_its_own_word(rows: int, counted: str, words: str) -> None:
    assert line(rows=rows, counted=counted).endswith(f"✓ {words}")


@pytest.mark.parametrize("counted", ["row", "bar", "operation"])
@pytest.mark.parametrize("rows", [1, 2])
def test_every_word_is_there_in_chinese(rows: int, counted: str) -> None:
    assert str(rows) in line("zh", rows=rows, counted=counted)
