"""Kernels that custom operators launched: operators outside of the namespaces of PyTorch and torch_npu."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from analysis.cut_trace import is_cut
from analysis.datafile import load_toml
from analysis.host_operators import operator_group
from analysis.notes import Missing
from analysis.trace.kernels import kernel_bars
from analysis.trace.step_windows import averaged_steps, step_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from analysis.host_bars import HostBars
    from analysis.iterations import Iterations
    from analysis.trace.model import Trace

_KERNELS: Final = {
    "name": pl.String(),
    "launched_by": pl.String(),
    "count": pl.Int64(),
    "count_per_step": pl.Float64(),
    "total_ns": pl.Int64(),
    "per_step_ns": pl.Int64(),
    "avg_ns": pl.Int64(),
    "max_ns": pl.Int64(),
}


@dataclass(frozen=True, slots=True)
class CustomOperators:
    """Kernels launched by custom operators (spec O4), the compile step left out where steps are known."""

    kernels: pl.DataFrame
    """name (of the kernel), launched_by (the custom operator), count, count_per_step (Float64) and
    per_step_ns (both null where steps are unknown, and where the file is cut short and may have lost
    kernels of any step), total_ns, avg_ns, max_ns; by total_ns descending, then
    name and launched_by."""
    unknown: int
    """Compute kernels whose host operator the trace does not tell; they may be custom as well."""
    cut_short: bool
    """Whether the file is cut and may have lost kernels."""

    @property
    def count(self) -> int:
        """Kernels of custom operators."""
        return int(self.kernels["count"].sum())

    @property
    def total_ns(self) -> int:
        """Their time."""
        return int(self.kernels["total_ns"].sum())


def find_custom_operators(
    trace: Trace, bars: HostBars, steps: pl.DataFrame, launches: pl.DataFrame, iterations: Iterations
) -> CustomOperators | Missing:
    """Which kernels custom operators launched, and which operator it was.

    A kernel belongs to the innermost operator with a namespace around its launch: torch_npu launches under
    bare names (``aclnnMm``), which belong to the operator that holds them. It is a custom one if its
    namespace is none of aten, npu, prims, c10d, torch, autograd (facts.md: custom_op_contains_sync).

    Args:
        trace: The trace.
        bars: Its operators and ranges.
        steps: The frame of :func:`analysis.trace.steps.trace_steps`.
        launches: The frame of :func:`analysis.trace.flows.launches`.
        iterations: Which step the averages leave out.
    """
    kernels = kernel_bars(trace).select("event", "name", "duration_ns").collect()
    operators = bars.frame
    if kernels.is_empty() or operators.is_empty():
        return _absent("host_operators")
    hosts = launches.select("event", "host").drop_nulls()
    linked = kernels.join(hosts, on="event", maintain_order="left")
    if linked.is_empty():
        return _absent("launches")
    unknown = kernels.height - linked.height
    linked = linked.with_columns(
        pl.Series("operator", _owners(bars, linked["host"])),
        step_at(trace.events["start_ns"].gather(linked["host"]), steps).alias("step"),
    )
    averaged = averaged_steps(iterations, steps)["step"]
    if averaged.len():
        linked = linked.filter(pl.col("step").is_in(averaged.implode()))
    names = operators.with_row_index("operator").select(
        pl.col("operator").cast(pl.Int64), pl.col("name").cast(pl.String).alias("launched_by")
    )
    custom = linked.join(names, on="operator", maintain_order="left").filter(_is_custom("launched_by"))
    cut_short = is_cut(trace)
    return CustomOperators(
        _grouped(custom, None if cut_short else averaged.len() or None), unknown, cut_short
    )


def _absent(lacks: str) -> Missing:
    return Missing(("trace_view", "kineto_trace"), "step", lacks=lacks)


def _owners(bars: HostBars, hosts: pl.Series) -> NDArray[np.int64]:
    """Row in ``operators`` of the innermost one with a namespace at or around each host operator, else -1."""
    operators = bars.frame
    names = operators["name"].unique().cast(pl.String).drop_nulls()
    named = names.filter(names.str.contains(_rules()["namespace"]))
    has_namespace = operators["name"].cast(pl.String).is_in(named.implode()).fill_null(value=False).to_numpy()
    parent = bars.nesting.parent
    events = operators["event"].to_numpy()
    wanted = hosts.to_numpy()
    row = np.minimum(np.searchsorted(events, wanted), events.size - 1).astype(np.int64)
    row[events[row] != wanted] = -1
    bare = np.flatnonzero(row >= 0)
    while bare.size:
        bare = bare[~has_namespace[row[bare]]]
        row[bare] = parent[row[bare]]
        bare = bare[row[bare] >= 0]
    return row


def _is_custom(column: str) -> pl.Expr:
    return ~operator_group(pl.col(column)).is_in(_rules()["not_groups"])


def _grouped(kernels: pl.DataFrame, steps: int | None) -> pl.DataFrame:
    count, total, divisor = pl.col("count"), pl.col("total_ns"), pl.lit(steps, pl.Int64)
    return (
        kernels.group_by(pl.col("name").cast(pl.String), "launched_by")
        .agg(
            pl.len().cast(pl.Int64).alias("count"),
            pl.col("duration_ns").sum().alias("total_ns"),
            pl.col("duration_ns").max().alias("max_ns"),
        )
        .with_columns(
            (count / divisor).alias("count_per_step"),
            ((2 * total + divisor) // (2 * divisor)).alias("per_step_ns"),
            ((2 * total + count) // (2 * count)).alias("avg_ns"),
        )
        .select(*_KERNELS)
        .cast(_KERNELS)  # type: ignore[arg-type]
        .sort("total_ns", "name", "launched_by", descending=[True, False, False])
    )


def _rules() -> dict[str, Any]:
    rules: dict[str, Any] = load_toml("analysis", "host_operators.toml")["custom"]
    return rules
