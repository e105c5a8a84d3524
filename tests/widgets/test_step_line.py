"""The words of the line above the lists of a step: which steps a mean is made of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
import pytest

from tests.analysis.phases import phase_fixtures as made
from widgets.messages import catalogue
from widgets.step_line import step_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.phases.results import Phases

WIDE = 300


def marked(steps: Sequence[int], excluded: Sequence[int]) -> Phases:
    """Phases of a trace that marks these steps."""
    found = made.phases()
    frame = pl.concat([found.windows.frame.head(1)] * len(steps)).with_columns(
        step=pl.Series(steps, dtype=pl.Int64)
    )
    frame = frame.with_columns(excluded=pl.col("step").is_in(excluded))
    return replace(found, windows=replace(found.windows, frame=frame))


def told(found: Phases, step: int | None, language: str = "en") -> str:
    return step_line(found, step, catalogue(language), WIDE)[0].text


@pytest.mark.parametrize(
    ("excluded", "said"),
    [
        ((), "mean of 6 steps (20–25)"),
        ((25,), "mean of 5 steps (20–24)"),
        ((20, 25), "mean of 4 steps (21–24)"),
        ((22,), "mean of 5 steps (20–21, 23–25)"),
        ((21, 25), "mean of 4 steps (20, 22–24)"),
        ((20, 21, 22, 23, 24), "step 25, the only averaged one"),
    ],
)
def test_mean_names_the_averaged_steps_and_no_others(excluded: tuple[int, ...], said: str) -> None:
    assert told(marked(range(20, 26), excluded), None) == said


def test_mean_of_steps_without_an_order_in_their_numbers_names_none() -> None:
    assert told(marked((1, 3, 5, 7), ()), None) == "mean of 4 steps"


@pytest.mark.parametrize(
    ("excluded", "said"), [((25,), "5 个 step 均值（20–24）"), ((20, 21, 22, 23, 24), "仅 step 25 参与平均")]
)
def test_chinese_mean_names_the_averaged_steps(excluded: tuple[int, ...], said: str) -> None:
    assert told(marked(range(20, 26), excluded), None, "zh") == said


def test_one_step_stands_among_all_that_are_marked() -> None:
    # Marked 11, 11 and 12 by the program: the second is called 13 here.
    assert told(marked((11, 13, 12), (12,)), 12) == "step 12 of 11–13"
    assert told(marked((10, 12), ()), 12) == "step 12 of 10, 12"
    assert told(marked((12,), ()), 12) == "step 12"
