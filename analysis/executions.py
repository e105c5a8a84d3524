"""From a row of an operator table down to the kernels behind it (spec O7)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from analysis.operator_groups import RATIOS, communication_kind
from analysis.operator_problems import problem_rule

if TYPE_CHECKING:
    from collections.abc import Iterator


class Unfiltered(Enum):
    """Tells "do not look at this column" from None, which selects the rows where it is not recorded."""

    ANY = "any"


ANY = Unfiltered.ANY
Choice: TypeAlias = "str | Unfiltered | None"


@dataclass(frozen=True, slots=True)
class KernelSelection:
    """Which kernels a row of an operator table stands for: the row's own cells, ``ANY`` for the others."""

    op_type: Choice = ANY
    core_type: Choice = ANY
    name: Choice = ANY
    input_shapes: Choice = ANY
    input_dtypes: Choice = ANY
    output_shapes: Choice = ANY
    problem: str | None = None
    """Only kernels that have this problem, judged as in ``Operators.problems``."""
    role: str = "compute"
    """compute, communication or communication_kernel."""

    def conditions(self) -> Iterator[pl.Expr]:
        """One condition per column that is looked at."""
        for column in ("op_type", "core_type", "name", "input_shapes", "input_dtypes", "output_shapes"):
            wanted: Choice = getattr(self, column)
            if isinstance(wanted, str):
                yield pl.col(column) == wanted
            elif wanted is None:
                yield pl.col(column).is_null()
        if self.problem is not None:
            yield problem_rule(self.problem).found()


def executions(kernels: pl.DataFrame, selection: KernelSelection) -> pl.DataFrame:
    """Every execution that ``selection`` stands for, by start.

    Args:
        kernels: Averaged kernels of all roles.
        selection: What to keep.

    Returns:
        row, step, name, op_type, core_type, stream, start_ns, offset_ns (start less the earliest start of
        all ``kernels``), duration_ns, wait_ns, input_shapes, input_dtypes, output_shapes, block_num (null
        where 0, which means not recorded), and the measured ratios. Texts stay Categorical: there may be
        a million rows.
    """
    rows = kernels.lazy().filter(pl.col("role") == selection.role)
    if selection.role == "communication":
        rows = communication_kind(rows.collect()).lazy()
    found = (
        rows.filter(*selection.conditions())
        .select(
            "row",
            "step",
            "name",
            "op_type",
            "core_type",
            "stream",
            "start_ns",
            (pl.col("start_ns") - kernels["start_ns"].min()).alias("offset_ns"),
            "duration_ns",
            "wait_ns",
            "input_shapes",
            "input_dtypes",
            "output_shapes",
            pl.when(pl.col("block_num") > 0).then("block_num").alias("block_num"),
            *RATIOS,
        )
        .collect()
    )
    # Files are written by start, so that a million rows seldom need to be moved.
    return found if found["start_ns"].is_sorted() else found.sort("start_ns", "row")
