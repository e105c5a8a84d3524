"""Copies between host and device as the trace shows them: by direction, by iteration, hidden or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from analysis.copy_bars import computing, copy_bars, kernels
from analysis.copy_iterations import (
    DEVICE_TO_HOST,
    HOST_TO_DEVICE,
    cut_by_model_execute,
    cut_by_steps,
    model_executions,
    uncut,
)
from analysis.cut_trace import is_cut
from analysis.notes import Missing, Note
from analysis.trace.flows import HOST_TO_DEVICE as CALL
from analysis.trace.intervals import union_by
from analysis.units import count_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.copy_iterations import Cut
    from analysis.iterations import Iterations
    from analysis.trace.intervals import Intervals
    from analysis.trace.model import Trace

_ABSENT: Final = Missing(("trace_view", "msprof_timeline"), "level1", lacks="copies")

_BY_DIRECTION: Final = {
    "direction": pl.String(),
    "count": pl.Int64(),
    "count_per_iteration": pl.Float64(),
    "total_ns": pl.Int64(),
    "avg_ns": pl.Int64(),
    "max_ns": pl.Int64(),
    "bytes": pl.Int64(),
    "gb_per_s": pl.Float64(),
    "per_iteration_ns": pl.Int64(),
    "overlapped_ns": pl.Int64(),
    "overlapped_share": pl.Float64(),
}
_BY_ITERATION: Final = {
    "iteration": pl.String(),
    "direction": pl.String(),
    "count": pl.Int64(),
    "time_ns": pl.Int64(),
    "gap_ns": pl.Int64(),
    "overlapped_ns": pl.Int64(),
    "excluded": pl.Boolean(),
}
_BARS: Final = {
    "event": pl.UInt32(),
    "iteration": pl.String(),
    "direction": pl.String(),
    "start_ns": pl.Int64(),
    "duration_ns": pl.Int64(),
    "bytes": pl.Int64(),
    "stream": pl.String(),
}


@dataclass(frozen=True, slots=True)
class Copies:
    """Device bars that are copies (spec M3). Copies whose direction was not collected are told apart.

    No bar is no proof that nothing was copied: synchronous copies leave none (facts/formats.md 7.3).
    """

    by_direction: pl.DataFrame
    """direction (host_to_device, device_to_host, device_to_device …: the trace's ``operation`` with
    underscores; null where not collected), count, count_per_iteration (Float64, null without iterations),
    total_ns, avg_ns, max_ns, bytes (null where not collected), gb_per_s (bytes / ns over the copies that tell
    bytes), per_iteration_ns (mean of by_iteration.time_ns over all iterations in the averages, null without,
    and where no copy of the direction lies in any iteration), overlapped_ns (of the whole union, while
    computing), overlapped_share; without the copies of the compile iteration; total_ns descending."""
    by_iteration: pl.DataFrame
    """iteration (String: step number or position of the ModelExecute from 1), direction, count, time_ns,
    gap_ns (between the first start and the last end, without a copy of the direction), overlapped_ns (of the
    union; Int64, null where the trace does not tell when the device computes), excluded (Boolean: the compile
    iteration); in the order of time, then direction. ``time_ns`` is the union of the copies; to and from the
    device, where ModelExecute cuts, the span from the first start to the last end, gaps included."""
    bars: pl.DataFrame
    """Every copy: event, iteration, direction, start_ns, duration_ns, bytes, stream (its name); by start."""
    cut_by: str
    """What cuts iterations: profiler_step, model_execute, or none (then by_iteration is empty)."""
    outside: int
    """Copies in no iteration, those inside the execution of a graph among them; they count in total_ns and
    not per iteration."""
    cut_short: bool
    """Whether the file is cut and may have lost copies of any iteration, as it lists the bars of the device
    apart from those of the host; by_iteration is empty then."""

    def per_iteration_ns(self, direction: str) -> int | None:
        """Mean time per iteration in one direction.

        None if there is no such copy or no iteration, and if some copies do not tell their direction: then
        only a part is known.
        """
        if self.undirected:
            return None
        found = self.by_direction.filter(pl.col("direction") == direction)["per_iteration_ns"]
        return found[0] if found.len() else None

    @property
    def undirected(self) -> int:
        """Copies whose direction was not collected."""
        return int(self.by_direction.filter(pl.col("direction").is_null())["count"].sum())


def find_copies(
    trace: Trace,
    steps: pl.DataFrame,
    launches: pl.DataFrame,
    framework: str | None,
    iterations: Iterations,
) -> Copies | Missing:
    """The copies of one trace, by direction and by iteration (spec M3).

    Iterations are the steps of the program, of a GE run the executions of the graph; each stands in where
    the trace lacks the other.

    Args:
        trace: The trace.
        steps: The frame of :func:`analysis.trace.steps.trace_steps`.
        launches: The frame of :func:`analysis.trace.flows.launches`.
        framework: ``ge``, ``pytorch`` or unknown.
        iterations: Which iteration the averages leave out.
    """
    bars = copy_bars(trace)
    if bars.is_empty():
        return _ABSENT
    bars = _with_launch(bars, launches, trace)
    cut = _cut(bars, trace, steps, framework, iterations)
    cut_short = is_cut(trace)
    busy = None if cut_short else computing(trace)
    placed = bars.with_columns(
        cut.place.alias("place"),
        pl.Series([*cut.names, None], dtype=pl.String)
        .gather(cut.place.fill_null(len(cut.names)))
        .alias("iteration"),
        cut.place.is_in(cut.excluded).fill_null(value=False).alias("excluded"),
    )
    by_iteration = _by_iteration(placed, busy, spans=cut.by == "model_execute")
    averaged = cut.averaged or None
    if cut_short:
        by_iteration, averaged = by_iteration.clear(), None
    return Copies(
        by_direction=_by_direction(placed.filter(~pl.col("excluded")), by_iteration, busy, averaged),
        by_iteration=by_iteration.select(*_BY_ITERATION),
        bars=placed.select(*_BARS),
        cut_by=cut.by,
        outside=cut.place.null_count(),
        cut_short=cut_short,
    )


def copy_notes(copies: Copies, file: str | None = None) -> Iterator[Note]:
    """Why copies are recorded and yet no time per iteration is known; a file cut short has its own note."""
    if copies.cut_short:
        return
    if copies.undirected:
        counts = {"count": count_text(copies.undirected), "copies": count_text(copies.bars.height)}
        yield Note("copies_undirected", counts, file)
        return
    for direction, kind in ((HOST_TO_DEVICE, "h2d_outside"), (DEVICE_TO_HOST, "d2h_outside")):
        found = copies.by_direction.filter(pl.col("direction") == direction)
        if found.height and found["per_iteration_ns"][0] is None:
            yield Note(kind, {"count": count_text(found["count"][0])}, file)


def _with_launch(bars: pl.DataFrame, launches: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """The bars with ``launched_ns``: when the operator, else the interface, that launched each started."""
    calls = trace.flows.filter(pl.col("kind") == CALL).drop_nulls(["source", "target"])
    sources = pl.concat(
        [
            launches.drop_nulls("host").select("event", pl.col("host").cast(pl.UInt32).alias("source")),
            calls.select(pl.col("target").alias("event"), "source"),
        ]
    ).unique("event", keep="first", maintain_order=True)
    found = bars.join(sources, on="event", how="left", maintain_order="left")
    return found.with_columns(trace.events["start_ns"].gather(found["source"]).alias("launched_ns"))


def _cut(
    bars: pl.DataFrame, trace: Trace, steps: pl.DataFrame, framework: str | None, iterations: Iterations
) -> Cut:
    by_steps_first = framework != "ge"
    if by_steps_first and steps.height:
        return cut_by_steps(bars, steps, iterations)
    executions = model_executions(trace)
    if executions.height:
        return cut_by_model_execute(bars, executions, kernels(trace), iterations)
    return cut_by_steps(bars, steps, iterations) if steps.height else uncut(bars)


def _by_iteration(placed: pl.DataFrame, busy: Intervals | None, *, spans: bool) -> pl.DataFrame:
    """The frame of ``Copies.by_iteration`` with ``place`` beside it."""
    keys = ["place", "iteration", "direction", "excluded"]
    whole = pl.col("last_ns") - pl.col("first_ns")
    to_or_from = pl.col("direction").is_in([HOST_TO_DEVICE, DEVICE_TO_HOST]).fill_null(value=False)
    groups = (
        placed.filter(pl.col("place").is_not_null())
        .group_by(keys)
        .agg(
            "start_ns",
            "end_ns",
            pl.len().cast(pl.Int64).alias("count"),
            pl.col("start_ns").min().alias("first_ns"),
            pl.col("end_ns").max().alias("last_ns"),
        )
        .sort("place", "direction", nulls_last=True)
    )
    return _with_union(groups, busy).with_columns(
        pl.when(to_or_from & pl.lit(spans)).then(whole).otherwise("union_ns").alias("time_ns"),
        (whole - pl.col("union_ns")).alias("gap_ns"),
    )


def _by_direction(
    bars: pl.DataFrame, by_iteration: pl.DataFrame, busy: Intervals | None, iterations: int | None
) -> pl.DataFrame:
    inside = (
        by_iteration.filter(~pl.col("excluded"))
        .group_by("direction")
        .agg(pl.col("count").sum().alias("inside"), pl.col("time_ns").sum().alias("inside_ns"))
    )
    size, measured = pl.col("bytes"), pl.col("duration_ns").filter(pl.col("bytes").is_not_null()).sum()
    total, count = pl.col("total_ns"), pl.col("count")
    divisor = pl.lit(iterations, pl.Int64)
    groups = (
        bars.group_by("direction")
        .agg(
            "start_ns",
            "end_ns",
            pl.len().cast(pl.Int64).alias("count"),
            pl.col("duration_ns").sum().alias("total_ns"),
            pl.col("duration_ns").max().alias("max_ns"),
            pl.when(size.count() > 0).then(size.sum()).alias("bytes"),
            pl.when(measured > 0).then(size.sum() / measured).alias("gb_per_s"),
        )
        .sort("total_ns", "direction", descending=[True, False], nulls_last=True)
    )
    return (
        _with_union(groups, busy)
        .join(inside, on="direction", how="left", nulls_equal=True, maintain_order="left")
        .with_columns(
            ((2 * total + count) // (2 * count)).alias("avg_ns"),
            (pl.col("inside").fill_null(0) / divisor).alias("count_per_iteration"),
            ((2 * pl.col("inside_ns") + divisor) // (2 * divisor)).alias("per_iteration_ns"),
            pl.when(pl.col("union_ns") > 0)
            .then(pl.col("overlapped_ns") / pl.col("union_ns"))
            .alias("overlapped_share"),
        )
        .select(*_BY_DIRECTION)
        .cast(_BY_DIRECTION)  # type: ignore[arg-type]
    )


def _with_union(groups: pl.DataFrame, busy: Intervals | None) -> pl.DataFrame:
    """Groups with the length of the union of their copies, and of what of it the device computes.

    Args:
        groups: start_ns and end_ns hold the lists of each group.
        busy: When the device computes; None where that is unknown.
    """
    numbered = groups.with_row_index("group")
    bars = numbered.select("group", "start_ns", "end_ns").explode("start_ns", "end_ns")
    pieces = union_by(bars["group"], bars["start_ns"], bars["end_ns"])
    overlapped = None if busy is None else pl.Series(busy.coverage(pieces["start_ns"], pieces["end_ns"]))
    sums = (
        pieces.with_columns(
            (pl.col("end_ns") - pl.col("start_ns")).alias("union_ns"),
            pl.lit(None, pl.Int64).alias("overlapped_ns")
            if overlapped is None
            else overlapped.alias("overlapped_ns"),
        )
        .group_by(pl.col("group").cast(pl.UInt32))
        .agg(pl.col("union_ns", "overlapped_ns").sum())
    )
    return numbered.join(sums, on="group", how="left", maintain_order="left").with_columns(
        pl.col("union_ns").fill_null(0),
        # A sum over nothing is 0, but what is not known stays unknown.
        pl.lit(None, pl.Int64).alias("overlapped_ns")
        if busy is None
        else pl.col("overlapped_ns").fill_null(0),
    )
