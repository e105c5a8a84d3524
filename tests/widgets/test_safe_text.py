"""Names as terminal text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from widgets.messages import catalogue
from widgets.safe_text import cut, fit, safe_text, text_lines


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("op[red]", "op[red]"),
        ("[bold]x[/bold]", "[bold]x[/bold]"),
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("a\x9b2Jb", r"a\x9b2Jb"),
        ("a\u202eb\u2066c", r"a\u202eb\u2066c"),
        ("zero\u200bwidth", r"zero\u200bwidth"),
        ("line\nbreak\ttab\r", r"line\nbreak\ttab\r"),
        ("算子 é", "算子 é"),
    ],
)
def test_only_what_a_terminal_acts_upon_is_written_out(name: str, shown: str) -> None:
    text = safe_text(name)
    assert text.plain == shown
    assert text.spans == []


@pytest.mark.parametrize(
    ("name", "width", "shown"),
    [
        ("MatMulV2", 8, "MatMulV2"),
        ("MatMulV2", 7, "MatMul…"),
        ("MatMulV2", 1, "…"),
        ("MatMulV2", 0, ""),
        # Each sign takes two cells: three cells hold one and the mark, four would leave half a sign.
        ("算子查找", 8, "算子查找"),
        ("算子查找", 7, "算子查…"),
        ("算子查找", 6, "算子…"),
        ("a\x1bb", 4, r"a\x…"),
    ],
)
def test_cut_counts_cells_and_marks_what_is_left_out(name: str, width: int, shown: str) -> None:
    assert cut(name, width) == shown


@given(st.text(max_size=40), st.integers(0, 30), st.booleans())
def test_fit_takes_exactly_its_cells(name: str, width: int, right: bool) -> None:
    assert cell_len(fit(name, width, right=right)) == width


def test_fit_puts_numbers_to_the_right() -> None:
    assert fit("12", 5, right=True) == "   12"
    assert fit("ab", 5) == "ab   "


def test_very_long_text_tells_how_much_of_it_is_left_out() -> None:
    shown = text_lines("a" * 25_000 + "\nb", catalogue("en"))
    assert shown == ["a" * 20_000, "… 5,002 more characters not shown"]


def test_text_of_very_many_lines_tells_how_much_of_it_is_left_out() -> None:
    # 2,000 lines with their breaks are 4,000 characters.
    shown = text_lines("x\n" * 2_000 + "rest", catalogue("zh"))
    assert (len(shown), shown[-1]) == (2_001, "… 另有 4 个字符未显示")


def test_lines_of_a_text_are_whole_and_harmless() -> None:
    assert text_lines("a\x1b\r\n\nb", catalogue("en")) == ["a\\x1b", "", "b"]


def test_very_long_name_is_cut_as_a_short_one() -> None:
    assert cut("ab" * 3_000_000, 5) == "abab…"
