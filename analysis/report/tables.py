"""The columns of every result table, in the order the report and the explorer show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.report.columns import columns

if TYPE_CHECKING:
    import polars as pl

    from analysis.report.columns import Column

RATIOS = (
    "aic_mac_ratio",
    "aic_vec_ratio",
    "aic_scalar_ratio",
    "aic_mte1_ratio",
    "aic_mte2_ratio",
    "aic_mte3_ratio",
    "aiv_vec_ratio",
    "aiv_scalar_ratio",
    "aiv_mte1_ratio",
    "aiv_mte2_ratio",
    "aiv_mte3_ratio",
    "cube_utilization_pct",
)
_TIMES = (
    "count",
    "count_per_iteration",
    "per_iteration_ns",
    "total_ns",
    "share",
    "avg_ns",
    "min_ns",
    "max_ns",
)

FILES = columns("kind", "path", "rows", "state", "note")

STEPS = columns(
    "step",
    "computing_ns",
    "communication_ns",
    "not_overlapped_ns",
    "overlapped_ns",
    "free_ns",
    "stage_ns",
    "bubble_ns",
    "preparing_ns",
    "wall_ns",
)

BY_TYPE = columns("op_type", "core_type", *_TIMES)

BY_CORE = columns("core_type", "count", "total_ns", "share", "avg_ns")

COMMUNICATION = columns("op_type", *_TIMES)

TOP = columns(
    "op_type",
    "name",
    "input_shapes",
    "input_dtypes",
    "core_type",
    "count",
    "total_ns",
    "share",
    "avg_ns",
    "max_ns",
    "block_num",
    *RATIOS,
)

PROBLEMS = columns(
    "problem",
    "op_type",
    "name",
    "core_type",
    "input_shapes",
    "output_shapes",
    "count",
    "total_ns",
    "share",
    "value",
)

EXECUTIONS = columns(
    "row",
    "step",
    "stream",
    "start_ns",
    "offset_ns",
    "duration_ns",
    "wait_ns",
    "block_num",
    "input_shapes",
    "input_dtypes",
    "output_shapes",
    "op_type",
    "name",
    *RATIOS,
)

APIS = columns(
    "level",
    "name",
    "count",
    "count_per_iteration",
    "total_ns",
    "per_iteration_ns",
    "avg_ns",
    "min_ns",
    "max_ns",
)

ONE_OFF_APIS = tuple(column for column in APIS if "per_iteration" not in column.key)
"""Calls that do not recur: a number per iteration would mean nothing."""

TABLES = {
    "files": FILES,
    "steps": STEPS,
    "by_type": BY_TYPE,
    "by_core": BY_CORE,
    "communication": COMMUNICATION,
    "top": TOP,
    "problems": PROBLEMS,
    "executions": EXECUTIONS,
    "apis": APIS,
    "one_off_apis": ONE_OFF_APIS,
}
"""All of them by name."""


def recorded(columns: tuple[Column, ...], frame: pl.DataFrame) -> tuple[Column, ...]:
    """The columns in which ``frame`` holds anything; a table without rows keeps all of them."""
    if frame.is_empty():
        return columns
    return tuple(column for column in columns if frame[column.key].null_count() < frame.height)
