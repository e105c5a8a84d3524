"""Framework operators on the host, from the trace: which of them take the time, and how often they run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from analysis.datafile import load_toml
from analysis.host import Verdict
from analysis.notes import Missing
from analysis.trace.nesting import nest
from analysis.trace.step_windows import averaged_steps
from analysis.units import mean

if TYPE_CHECKING:
    from analysis.host_bars import HostBars
    from analysis.iterations import Iterations

_ABSENT: Final = Missing(("trace_view", "kineto_trace"), "step", lacks="host_operators")

_BY_NAME: Final = {
    "name": pl.String(),
    "group": pl.String(),
    "calls": pl.Int64(),
    "calls_per_step": pl.Float64(),
    "total_ns": pl.Int64(),
    "per_step_ns": pl.Int64(),
    "self_per_step_ns": pl.Int64(),
    "self_ns": pl.Int64(),
    "avg_ns": pl.Int64(),
    "max_ns": pl.Int64(),
    "share": pl.Float64(),
    "threads": pl.UInt32(),
}
_CALLS: Final = (
    "event",
    "name",
    "start_ns",
    "duration_ns",
    "self_ns",
    "step",
    "thread",
    "depth",
    "input_dims",
)


@dataclass(frozen=True, slots=True)
class HostOperators:
    """Operators of all host threads (spec H2), the compile step left out where steps are known."""

    by_name: pl.DataFrame
    """name, group (aten, npu, c10d, torch, autograd …: see host_operators.toml), calls, calls_per_step
    (Float64, null where steps are unknown), total_ns (outermost calls of the name only, so that one nested in
    its like does not count twice), per_step_ns (total / steps, null where steps are unknown),
    self_per_step_ns (self / steps, a half rounded up; null where steps are unknown), self_ns (without
    operators below it), avg_ns (of all calls), max_ns, share (total / host step time, null where unknown;
    above 1 where threads work side by side), threads (UInt32: how many); by self_ns descending, then name."""
    calls: pl.DataFrame
    """One row per call: event, name, start_ns, duration_ns, self_ns, step (Int64), thread, depth, input_dims;
    by start, then depth. Those outside of every step and of the compile step are among them."""
    steps: int | None
    """What calls_per_step divides by; None where the trace has no steps."""
    outside: int
    """Calls outside of every step; they are in by_name only where there are no steps."""
    partial: int
    """Bars that overlap another of their thread only in part; each hangs below the nearest that holds it."""
    verdicts: tuple[Verdict, ...]
    """Spec H3: kinds aten_copy_, aten_to, aten_to_copy."""


@dataclass(frozen=True, slots=True)
class _Steps:
    """The steps in the averages."""

    count: int | None
    """None where the trace has no steps: then everything recorded counts as one."""
    whole_ns: int | None
    """Their time on the host."""


def find_host_operators(
    bars: HostBars, steps: pl.DataFrame, iterations: Iterations
) -> HostOperators | Missing:
    """The operators of one trace by name, call by call, and what H3 says about copies and conversions.

    Args:
        bars: The operators and ranges of the trace.
        steps: The frame of :func:`analysis.trace.steps.trace_steps`.
        iterations: Which step the averages leave out.
    """
    calls = bars.frame
    if calls.is_empty():
        return _ABSENT
    averaged = averaged_steps(iterations, steps)
    counted = calls
    if averaged.height:
        counted = calls.filter(pl.col("step").is_in(averaged["step"].implode()))
    window = _Steps(
        averaged.height or None,
        int((averaged["end_ns"] - averaged["start_ns"]).sum()) if averaged.height else None,
    )
    by_name = _by_name(counted, window)
    return HostOperators(
        by_name=by_name,
        calls=calls.sort("start_ns", "depth", "event").select(_CALLS),
        steps=window.count,
        outside=calls["step"].null_count(),
        partial=int(bars.nesting.partial.sum()),
        verdicts=tuple(_verdict(by_name, rule, window) for rule in _rules()["verdicts"]),
    )


def operator_group(name: pl.Expr) -> pl.Expr:
    """The group of host_operators.toml that an operator's name belongs to."""
    group: pl.Expr = pl.lit(None, pl.String)
    for entry in reversed(_rules()["groups"]):
        group = pl.when(name.str.contains(entry["pattern"])).then(pl.lit(entry["group"])).otherwise(group)
    return group


def _by_name(calls: pl.DataFrame, window: _Steps) -> pl.DataFrame:
    number, total, own = pl.col("calls"), pl.col("total_ns"), pl.col("self_ns")
    steps = pl.lit(window.count, pl.Int64)
    return (
        _with_outermost(calls)
        .group_by("name")
        .agg(
            pl.len().cast(pl.Int64).alias("calls"),
            pl.col("duration_ns").filter("outermost").sum().alias("total_ns"),
            pl.col("duration_ns").sum().alias("all_ns"),
            pl.col("duration_ns").max().alias("max_ns"),
            pl.col("self_ns").sum(),
            pl.col("track").n_unique().alias("threads"),
        )
        .with_columns(
            pl.col("name").cast(pl.String),
            (number / steps).alias("calls_per_step"),
            ((2 * total + steps) // (2 * steps)).alias("per_step_ns"),
            ((2 * own + steps) // (2 * steps)).alias("self_per_step_ns"),
            ((2 * pl.col("all_ns") + number) // (2 * number)).alias("avg_ns"),
            (total / pl.lit(window.whole_ns or None, pl.Int64)).alias("share"),
        )
        .with_columns(operator_group(pl.col("name")).alias("group"))
        .select(*_BY_NAME)
        .cast(_BY_NAME)  # type: ignore[arg-type]
        .sort("self_ns", "name", descending=[True, False], nulls_last=True)
    )


def _with_outermost(calls: pl.DataFrame) -> pl.DataFrame:
    """The calls with ``outermost``: no call of the same name on the thread holds it."""
    names = pl.col("name").to_physical().cast(pl.Int64).fill_null(-1)
    # Nested among calls of one name, as if each name of a thread were a thread of its own.
    alike = calls.select(
        (names * (pl.col("track").max().cast(pl.Int64) + 1) + pl.col("track")).alias("track"),
        "start_ns",
        "duration_ns",
    )
    return calls.with_columns(outermost=nest(alike).parent < 0)


def _verdict(by_name: pl.DataFrame, rule: dict[str, Any], window: _Steps) -> Verdict:
    """One operator against its limits, compared over all steps so that no rounding can move it across one."""
    found = by_name.filter(pl.col("name") == rule["name"])
    calls, total_ns, avg_ns = (
        found.select("calls", "total_ns", "avg_ns").row(0) if found.height else (0, 0, None)
    )
    steps = window.count or 1
    flagged = None
    if window.count is not None and window.whole_ns is not None:
        # A quotient, so that exactly a tenth is one: rounding the product could go over it.
        much = window.whole_ns > 0 and total_ns / window.whole_ns >= rule["share_at_least"]
        flagged = calls > rule["calls_above"] * steps or much
    return Verdict(
        kind=rule["kind"],
        per="trace" if window.count is None else "step",
        calls_per_iteration=calls / steps,
        total_per_iteration_ns=mean(total_ns, steps),
        avg_ns=avg_ns,
        flagged=flagged,
    )


def _rules() -> dict[str, Any]:
    return load_toml("analysis", "host_operators.toml")
