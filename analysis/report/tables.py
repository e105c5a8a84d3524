"""The columns of every result table, in the order the report and the explorer show them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from analysis.phases.model import ROWS
from analysis.report.columns import COLUMNS, columns

if TYPE_CHECKING:
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

HOST_OPERATORS = (
    *columns(
        "name",
        "self_per_step_ns",
        "per_step_ns",
        "calls_per_step",
        "avg_ns",
        "max_ns",
        "self_ns",
        "total_ns",
        "share",
    ),
    replace(COLUMNS["group"], words="operator_group"),
    *columns("calls", "threads"),
)

CUSTOM_KERNELS = columns("name", "launched_by", "count", "total_ns", "per_step_ns", "avg_ns", "max_ns")

HOST_CALLS = columns(
    "step", "offset_ns", "duration_ns", "self_ns", "thread", "depth", "input_dims", "name", "start_ns"
)

_HIDDEN = replace(COLUMNS["hidden_ns"], key="overlapped_ns")
"""Of copies, what runs beside computing; of communication the same word means communication."""
_COPY_STREAM = replace(COLUMNS["stream"], kind="text", width=9)
"""The trace names streams, the tables number them."""

COPIES = (
    *columns(
        "direction",
        "count",
        "count_per_iteration",
        "per_iteration_ns",
        "total_ns",
        "avg_ns",
        "max_ns",
        "bytes",
        "gb_per_s",
    ),
    _HIDDEN,
    *columns("overlapped_share"),
)

COPIES_BY_ITERATION = (*columns("iteration", "direction", "count", "time_ns", "gap_ns"), _HIDDEN)

COPY_BARS = (
    *columns("iteration", "offset_ns", "duration_ns", "bytes", "direction"),
    _COPY_STREAM,
    *columns("start_ns"),
)

EVENT_FIELDS = columns("field", "text")

TRACK_ROLES = columns("role", "tracks", "bars")

FLOWS = (replace(COLUMNS["kind"], words="flow"), *columns("count", "tied", "tied_share"))

FAULTS = (replace(COLUMNS["kind"], words="trace_fault"), *columns("count", "lost", "example"))

PHASES = columns(
    "phase", "main_thread_ns", "inferred_ns", "attributed_ns", "share", "autograd_ns", "other_threads_ns"
)

STEP_PHASES = columns("step", "step_ns", *(f"{phase}_ns" for phase in ROWS))

NAMED = columns("name", "calls", "exclusive_ns")

NAMED_PER_STEP = (
    COLUMNS["name"],
    replace(COLUMNS["calls_per_step"], key="calls"),
    replace(COLUMNS["self_per_step_ns"], key="exclusive_ns"),
)
"""The same as means over steps."""

GROWTHS = columns("growth", "name", "phase", "this_ns", "others_ns", "grown_ns")

CALL_TREE = columns(
    "name", "total_ns", "share", "calls", "self_ns", "phase", "star", "verdict", "thread", "rule", "origin"
)

ATEN_TREE = columns(
    "name",
    "total_ns",
    "share",
    "calls_per_step",
    "avg_ns",
    "max_ns",
    "self_ns",
    "star",
    "thread",
    "phase",
    "rule",
    "origin",
)

WAITS = (
    *columns("name", "phase", "per_step_ns", "share"),
    replace(COLUMNS["count"], title="column.count_averaged_steps"),
    replace(COLUMNS["total_ns"], title="column.total_averaged_steps_ns"),
    *columns("max_ns", "producer", "flagged"),
)

WAITS_OF_TRACE = tuple(column for column in WAITS if column.key != "total_ns")
"""The same where no step is marked, and the time of a step is the total."""

WAITS_BY_STEP = columns("step", "name", "phase", "total_ns", "share", "count", "producer", "flagged")

STEP_WAITS = (
    *columns("step", "step_ns", "waits_ns", "share"),
    replace(COLUMNS["name"], title="column.longest_wait"),
    replace(COLUMNS["total_ns"], title="column.longest_wait_ns"),
    *columns("flagged"),
)

PAIRS = columns(
    "first",
    "second",
    "verdict",
    "host_ratio",
    "host_both_ns",
    "first_host_ns",
    "second_host_ns",
    "device_ratio",
    "device_both_ns",
    "first_device_ns",
    "second_device_ns",
    "unobservable",
)

DEPTHS = columns("stage", "batches", "at_least", "evidence", "behind", "names")

PREFETCH_EVENTS = (
    *columns("name", "why"),
    replace(COLUMNS["count"], title="column.count_whole_trace"),
    replace(COLUMNS["total_ns"], title="column.total_whole_trace_ns"),
    COLUMNS["thread"],
)
"""Steps that averages leave out count too: what they fetch is for later steps."""

OCCURRENCES = columns(
    "step",
    "thread",
    "offset_ns",
    "duration_ns",
    "self_ns",
    "kernels",
    "kernel_ns",
    "input_dims",
    "start_ns",
    "row",
)

OCCURRENCE_KERNELS = columns(
    "name", "task_type", "stream_id", "start_ns", "duration_ns", "launched_by", "lag_ns"
)

STOPS = columns("step", "offset_ns", "duration_ns", "producer", "phase", "start_ns")

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
    "host_operators": HOST_OPERATORS,
    "host_calls": HOST_CALLS,
    "custom_kernels": CUSTOM_KERNELS,
    "copies": COPIES,
    "copies_by_iteration": COPIES_BY_ITERATION,
    "copy_bars": COPY_BARS,
    "event_fields": EVENT_FIELDS,
    "track_roles": TRACK_ROLES,
    "flows": FLOWS,
    "faults": FAULTS,
    "phases": PHASES,
    "step_phases": STEP_PHASES,
    "named": NAMED,
    "named_per_step": NAMED_PER_STEP,
    "growths": GROWTHS,
    "call_tree": CALL_TREE,
    "aten_tree": ATEN_TREE,
    "waits": WAITS,
    "waits_of_trace": WAITS_OF_TRACE,
    "waits_by_step": WAITS_BY_STEP,
    "step_waits": STEP_WAITS,
    "pairs": PAIRS,
    "depths": DEPTHS,
    "prefetch_events": PREFETCH_EVENTS,
    "occurrences": OCCURRENCES,
    "occurrence_kernels": OCCURRENCE_KERNELS,
    "stops": STOPS,
}
"""All of them by name."""


UNRECORDED = "unrecorded"
"""What stands for a direction that was not collected, so that its copies have a name too."""


def with_directions(copies: pl.DataFrame) -> pl.DataFrame:
    """Rows of copies in which an unknown direction is UNRECORDED."""
    return copies.with_columns(pl.col("direction").cast(pl.String).fill_null(UNRECORDED))


def recorded(columns: tuple[Column, ...], frame: pl.DataFrame) -> tuple[Column, ...]:
    """The columns in which ``frame`` holds anything; a table without rows keeps all of them."""
    if frame.is_empty():
        return columns
    return tuple(column for column in columns if frame[column.key].null_count() < frame.height)
