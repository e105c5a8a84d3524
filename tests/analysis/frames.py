"""Tiny tables for tests, written as rows of the canonical columns that matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analysis.notes import Missing
from analysis.profile.columns import table_spec
from analysis.profile.tables import POLARS_TYPE, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

ABSENT = Missing(("file",), "level1")
"""Stands for any table that a capture lacks."""

US = 1000
"""Nanoseconds of one microsecond."""


def kernels_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Kernels; name, op_type, role, start_ns and duration_ns have values of their own where not given."""
    filled = [
        {"row": at, "name": f"op_{at}", "op_type": "Mul", "role": "compute", "start_ns": at, "duration_ns": 1}
        | row
        for at, row in enumerate(rows)
    ]
    return _table("kernels", filled, {"row": pl.UInt32(), "role": pl.Categorical()})


def named_kernels(*names: str, **columns: object) -> Table:
    """One kernel for each name, all with the same further columns."""
    return kernels_table([{"name": name} | columns for name in names])


def op_statistic_table(rows: Sequence[dict[str, Any]]) -> Table:
    """op_statistic; count 1 where not given."""
    return _table("op_statistic", [{"core_type": "AI_CORE", "count": 1} | row for row in rows])


def api_statistic_table(rows: Sequence[dict[str, Any]]) -> Table:
    """api_statistic; Level model where not given."""
    return _table("api_statistic", [{"level": "model", "count": 1, "total_ns": 0} | row for row in rows])


def step_trace_table(rows: Sequence[dict[str, Any]]) -> Table:
    """step_trace; device 0, model 1 where not given."""
    return _table("step_trace", [{"device_id": 0, "model_id": 1} | row for row in rows])


def iterations_table(*times_ns: int, model_id: int = 1) -> Table:
    """step_trace of one model whose iterations, one right after the other, took these times."""
    ends = [sum(times_ns[: at + 1]) for at in range(len(times_ns))]
    return step_trace_table(
        [
            {"iteration_id": at + 1, "iteration_ns": time, "iteration_end_ns": ends[at], "model_id": model_id}
            for at, time in enumerate(times_ns)
        ]
    )


def step_trace_time_table(rows: Sequence[dict[str, Any]]) -> Table:
    """step_trace_time; times that are not given are 0, Stage, Bubble and Preparing unknown."""
    times = ("computing_ns", "not_overlapped_ns", "communication_ns", "free_ns")
    return _table("step_trace_time", [dict.fromkeys(times, 0) | row for row in rows])


def steps_table(*walls_ns: int) -> Table:
    """step_trace_time of steps 1, 2, … that only computed, for these times."""
    return step_trace_time_table(
        [{"step": str(at + 1), "computing_ns": wall} for at, wall in enumerate(walls_ns)]
    )


def _table(name: str, rows: Sequence[dict[str, Any]], more: dict[str, pl.DataType] | None = None) -> Table:
    columns = {column.name: POLARS_TYPE[column.type]() for column in table_spec(name).columns}
    schema = pl.Schema(columns | (more or {}))
    given = {column for row in rows for column in row}
    unknown = given - set(schema)
    assert not unknown, unknown
    frame = pl.DataFrame([dict.fromkeys(schema) | row for row in rows], schema=schema)
    return Table(frame, frozenset(given & set(columns)), f"{name}.csv")
