"""Remarks above a list: in full, or on one line that says how many more there are."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from widgets.banner import Remark, folded_line
from widgets.messages import catalogue

REMARKS = [Remark("x" * 70, "! confidence low"), Remark("y" * 70, "trace cut"), Remark("z" * 70)]


def test_brief_words_stand_for_those_that_fit_and_the_others_are_counted() -> None:
    line = folded_line(REMARKS, catalogue("en"), 58)
    assert line == "! confidence low   trace cut   +1 more (v)"


def test_all_in_brief_words_still_point_to_the_full_ones() -> None:
    assert folded_line(REMARKS[:2], catalogue("en"), 58) == "! confidence low   trace cut   (v)"


def test_first_remark_is_cut_before_the_count_of_the_others() -> None:
    line = folded_line([Remark("x" * 70), Remark("y" * 70)], catalogue("en"), 30)
    assert line == "x" * 15 + "…   +1 more (v)"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [40, 58, 78])
def test_line_fits(language: str, width: int) -> None:
    remarks = [Remark("各阶段" * 30, "! 置信度低"), Remark("各阶段" * 30), Remark("y" * 70, "trace cut")]
    assert cell_len(folded_line(remarks, catalogue(language), width)) <= width
