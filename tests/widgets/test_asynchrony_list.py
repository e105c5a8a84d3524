"""The list of what runs beside what: how far ahead, and whether that is a lower bound."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import polars as pl
import pytest

from tests.analysis.phases import phase_fixtures as made
from widgets.asynchrony_list import asynchrony_list

if TYPE_CHECKING:
    from widgets.phase_levels import PhaseLevels


@pytest.mark.parametrize(("at_least", "ahead"), [(True, ">= 1"), (False, "1")])
def test_prefetching_is_ahead_by_at_least_what_its_nearest_stage_is(*, at_least: bool, ahead: str) -> None:
    found = made.phases()
    data, ids, *others = found.prefetch.depths
    depths = (data, replace(ids, at_least=at_least), *others)
    found = replace(found, prefetch=replace(found.prefetch, depths=depths))
    frame = asynchrony_list(found, cast("PhaseLevels", None), None).frame
    assert isinstance(frame, pl.DataFrame)
    rows = {row["subject"]: row["ahead"] for row in frame.iter_rows(named=True)}
    assert (rows["prefetch"], rows["stage_input_dist"], rows["stage_data"]) == (ahead, ahead, "2")
