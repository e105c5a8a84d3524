"""How many iterations the averages divide by, and which one is left out of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from analysis.datafile import load_toml
from analysis.notes import Missing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from analysis.profile.tables import Table


@dataclass(frozen=True, slots=True)
class Iterations:
    """How many iterations (inference) or steps (training) the averages divide by, and why (spec M1, M2)."""

    count: int
    """Iterations in the averages; the excluded one is not among them."""
    source: str
    """step_trace, model_execute, step_trace_time, whole_run, profiler_step, step_id, infer_id, op_name_mode,
    sync_count or single."""
    estimated: bool
    excluded_first_ns: int | None
    """Duration of the compile iteration left out, if one was."""
    excluded_source: str | None
    """Whose times decided that: step_trace, step_trace_time, api_statistic, trace or kernels."""
    excluded_step: int | None
    """Step Id of the excluded step where kernels carry one."""
    excluded_until_ns: int | None
    """Kernels that start before this moment belong to the excluded iteration (step_trace only)."""
    main_model: int | None = None
    """The Model ID that ``count`` counts, where step_trace holds several models (spec L2)."""

    @property
    def recorded(self) -> int:
        """All iterations in the files, the excluded one too: the divisor of totals that still contain it."""
        return self.count + (self.excluded_first_ns is not None)

    @property
    def known(self) -> bool:
        """Whether ``count`` is a count of iterations, so that limits per iteration can be judged."""
        return not self.estimated and self.source not in {"whole_run", "single"}

    @property
    def kernels_cut(self) -> bool:
        """Whether :func:`averaged_kernels` can tell the kernels of the excluded iteration."""
        return self.excluded_step is not None or self.excluded_until_ns is not None

    @property
    def in_kernels(self) -> int:
        """Iterations that :func:`averaged_kernels` holds: the divisor of every total over its rows."""
        return self.count if self.kernels_cut else self.recorded


@dataclass(frozen=True, slots=True)
class ModelIterations:
    """The iterations of one model on one device (spec L2), in the order of their ids."""

    device: int | None
    model: int | None
    times_ns: tuple[int, ...]
    first_end_ns: int | None
    """When the first of them ended."""

    @property
    def total_ns(self) -> int:
        """All its iterations together."""
        return sum(self.times_ns)


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One row of api_statistic."""

    total_ns: int
    count: int
    max_ns: int | None

    @property
    def first_is_compile(self) -> bool:
        """Whether the longest call stands out as a compile iteration does; the file has no order to go by."""
        longest = self.max_ns
        return longest is not None and stands_out(longest, self.total_ns - longest, self.count - 1)


def find_iterations(
    kernels: Table | Missing,
    api_statistic: Table | Missing,
    step_trace: Table | Missing,
    step_trace_time: Table | Missing,
    trace_steps: Callable[[], pl.DataFrame | Missing],
) -> Iterations:
    """How many iterations were recorded, from the best source there is, and whether the first one compiled.

    Sources in the order of spec M1; the compile iteration by spec M2: first > 5 x mean of the others.

    Args:
        kernels: kernel_details or op_summary.
        api_statistic: Its ModelExecute, and at last its synchronise calls, count.
        step_trace: Iterations of graph captures.
        step_trace_time: Steps of torch_npu captures.
        trace_steps: Gives the frame of :func:`analysis.trace.steps.trace_steps`; asked only where no file
            of a better source exists, because a trace may take long to read.
    """
    finders: tuple[Callable[[], Iterations | None], ...] = (
        lambda: _from_step_trace(step_trace),
        lambda: _from_model_execute(api_statistic),
        lambda: _from_step_trace_time(step_trace_time, kernels),
        lambda: _from_profiler_steps(trace_steps(), kernels),
        lambda: _whole_run(step_trace_time),
        lambda: _from_step_ids(kernels),
        lambda: _from_distinct(kernels, "infer_id", "infer_id"),
        lambda: _from_operator_names(kernels),
        lambda: _from_synchronise(api_statistic),
    )
    for find in finders:
        found = find()
        if found is not None:
            return found
    return _counted(1, "single")


def averaged_kernels(kernels: Table, iterations: Iterations) -> pl.DataFrame:
    """The kernels that averages are made of: all roles, the compile iteration left out (spec M2).

    By step where kernels carry one, else by start before the end of the first iteration. Where neither
    is known nothing is left out, and ``iterations.in_kernels`` counts the compile iteration as well.
    """
    return averaged_rows(kernels.frame, iterations)


def averaged_rows(kernels: pl.DataFrame, iterations: Iterations) -> pl.DataFrame:
    """Of any kernel rows with ``step`` and ``start_ns`` those that :func:`averaged_kernels` keeps."""
    if iterations.excluded_step is not None:
        return kernels.filter(pl.col("step").ne_missing(iterations.excluded_step))
    if iterations.excluded_until_ns is not None:
        return kernels.filter(pl.col("start_ns") >= iterations.excluded_until_ns)
    return kernels


def model_iterations(step_trace: Table) -> tuple[ModelIterations, ...]:
    """The iterations of each (device, model), the main model first: the one with the largest summed time.

    Rows without a time (``N/A``, which newer exporters write as 0) are no iterations.
    """
    groups = (
        step_trace.frame.filter(pl.col("iteration_ns") > 0)
        .sort("iteration_id", "iteration_end_ns", "iteration_ns", nulls_last=True)
        .group_by("device_id", "model_id", maintain_order=True)
        .agg("iteration_ns", pl.col("iteration_end_ns").first(), pl.col("iteration_ns").sum().alias("total"))
        .sort("total", "device_id", "model_id", descending=[True, False, False], nulls_last=True)
    )
    return tuple(
        ModelIterations(
            row["device_id"], row["model_id"], tuple(row["iteration_ns"]), row["iteration_end_ns"]
        )
        for row in groups.iter_rows(named=True)
    )


def counted_rows(step_trace_time: Table) -> pl.DataFrame:
    """The rows that count: those with a step, by step; where no row has one, those of the whole run."""
    with_step = step_trace_time.frame.filter(has_step())
    number = pl.col("step").cast(pl.String).cast(pl.Int64, strict=False)
    by_step = with_step.sort(number, nulls_last=True, maintain_order=True)
    return by_step if by_step.height else step_trace_time.frame


def is_whole_run(step_trace_time: Table) -> bool:
    """True if no row names a step: the values are of the whole run."""
    return step_trace_time.frame.height > 0 and not step_trace_time.frame.select(has_step().any()).item()


def has_step() -> pl.Expr:
    """Rows of step_trace_time that name a step."""
    return pl.col("step").is_not_null() & (pl.col("step").cast(pl.String) != "")


def wall_ns() -> pl.Expr:
    """Wall time of a step_trace_time row: Computing + Not Overlapped + Free (rules C7, C20)."""
    return pl.col("computing_ns") + pl.col("not_overlapped_ns") + pl.col("free_ns")


def first_is_compile(times_ns: Sequence[int]) -> bool:
    """Whether the first of these times is a compile iteration (spec M2); never with fewer than two."""
    return bool(times_ns) and stands_out(times_ns[0], sum(times_ns[1:]), len(times_ns) - 1)


def stands_out(one_ns: int, rest_ns: int, rest_count: int) -> bool:
    """Whether one iteration takes more than 5 x the mean of the rest; in integers, so just 5 x does not."""
    limit = int(_rules()["first_iteration"]["times_the_rest"])
    return rest_count >= 1 and one_ns * rest_count > limit * rest_ns


def model_call(api_statistic: Table | Missing, call: str) -> ApiCall | None:
    """One call at Level model: ``execute``, ``input_copy`` or ``output_copy``; None if it never occurs."""
    if isinstance(api_statistic, Missing):
        return None
    rules = _rules()["model_calls"]
    rows = api_statistic.frame.filter(
        (pl.col("level").cast(pl.String) == rules["level"])
        & (pl.col("name").cast(pl.String) == rules[call])
        & (pl.col("count") >= 1)
        & pl.col("total_ns").is_not_null()
    )
    if not rows.height:
        return None
    return ApiCall(int(rows["total_ns"].sum()), int(rows["count"].sum()), _largest(rows["max_ns"]))


def _largest(values: pl.Series) -> int | None:
    # One unknown value leaves the largest unknown.
    return None if values.null_count() else max(int(value) for value in values)


def _from_step_trace(step_trace: Table | Missing) -> Iterations | None:
    models = () if isinstance(step_trace, Missing) else model_iterations(step_trace)
    if not models:
        return None
    main = models[0]
    several = len({model.model for model in models}) > 1
    only_model = main.model if several else None
    if not first_is_compile(main.times_ns):
        return _counted(len(main.times_ns), "step_trace", main_model=only_model)
    return Iterations(
        count=len(main.times_ns) - 1,
        source="step_trace",
        estimated=False,
        excluded_first_ns=main.times_ns[0],
        excluded_source="step_trace",
        excluded_step=None,
        excluded_until_ns=main.first_end_ns,
        main_model=only_model,
    )


def _from_model_execute(api_statistic: Table | Missing) -> Iterations | None:
    call = model_call(api_statistic, "execute")
    if call is None:
        return None
    if not call.first_is_compile:
        return _counted(call.count, "model_execute")
    return Iterations(
        count=call.count - 1,
        source="model_execute",
        estimated=False,
        excluded_first_ns=call.max_ns,
        excluded_source="api_statistic",
        excluded_step=None,
        excluded_until_ns=None,
    )


def _from_step_trace_time(step_trace_time: Table | Missing, kernels: Table | Missing) -> Iterations | None:
    if isinstance(step_trace_time, Missing) or not step_trace_time.frame.height:
        return None
    if is_whole_run(step_trace_time):
        return None
    rows = counted_rows(step_trace_time)
    walls = rows.select(wall_ns()).to_series().to_list()
    if None in walls or not first_is_compile(walls):
        return _counted(rows.height, "step_trace_time")
    return Iterations(
        count=rows.height - 1,
        source="step_trace_time",
        estimated=False,
        excluded_first_ns=walls[0],
        excluded_source="step_trace_time",
        excluded_step=_step_of_kernels(str(rows["step"][0]), kernels),
        excluded_until_ns=None,
    )


def _from_profiler_steps(steps: pl.DataFrame | Missing, kernels: Table | Missing) -> Iterations | None:
    """Steps as the framework marked them on the host; one takes as long as its mark."""
    if isinstance(steps, Missing) or not steps.height:
        return None
    times = (steps["end_ns"] - steps["start_ns"]).to_list()
    if not first_is_compile(times):
        return _counted(steps.height, "profiler_step")
    return Iterations(
        count=steps.height - 1,
        source="profiler_step",
        estimated=False,
        excluded_first_ns=times[0],
        excluded_source="trace",
        excluded_step=_step_of_kernels(str(steps["step"][0]), kernels),
        excluded_until_ns=None,
    )


def _whole_run(step_trace_time: Table | Missing) -> Iterations | None:
    """A row without a step is the whole run; how many steps it was, it does not tell."""
    if isinstance(step_trace_time, Missing) or not is_whole_run(step_trace_time):
        return None
    return _counted(1, "whole_run")


def _step_of_kernels(step: str, kernels: Table | Missing) -> int | None:
    if isinstance(kernels, Missing) or not step.isascii() or not step.isdigit():
        return None
    return int(step) if kernels.frame.select((pl.col("step") == int(step)).any()).item() else None


def _from_step_ids(kernels: Table | Missing) -> Iterations | None:
    """Steps by the Step Id of the kernels; one takes from the start of its first kernel to its last end."""
    if isinstance(kernels, Missing):
        return None
    steps = (
        kernels.operators("step", "start_ns", "duration_ns")
        .drop_nulls("step")
        .group_by("step")
        .agg(span=(pl.col("start_ns") + pl.col("duration_ns")).max() - pl.col("start_ns").min())
        .sort("step")
    )
    spans = steps["span"].to_list()
    if not first_is_compile(spans):
        return _from_distinct(kernels, "step", "step_id")
    return Iterations(
        count=steps.height - 1,
        source="step_id",
        estimated=False,
        excluded_first_ns=spans[0],
        excluded_source="kernels",
        excluded_step=int(steps["step"][0]),
        excluded_until_ns=None,
    )


def _from_distinct(kernels: Table | Missing, column: str, source: str) -> Iterations | None:
    if isinstance(kernels, Missing):
        return None
    ids = kernels.frame.select(pl.col(column).drop_nulls().n_unique()).item()
    return _counted(ids, source) if ids else None


def _from_operator_names(kernels: Table | Missing) -> Iterations | None:
    """The count that most operator names of a graph share: each of them runs once per iteration."""
    if isinstance(kernels, Missing):
        return None
    single_operator = _rules()["operator_names"]["single_operator"]
    modes = (
        kernels.operators("name")
        .group_by("name")
        .agg(pl.len().alias("count"))
        .filter(~pl.col("name").cast(pl.String).str.contains(f"(?i){single_operator}"))
        .group_by("count")
        .agg(pl.len().alias("names"))
        .sort("names", "count", descending=[True, False])
    )
    return _counted(int(modes["count"][0]), "op_name_mode") if modes.height else None


def _from_synchronise(api_statistic: Table | Missing) -> Iterations | None:
    if isinstance(api_statistic, Missing):
        return None
    rules = _rules()["synchronise"]
    counts = api_statistic.frame.filter(
        pl.col("level").cast(pl.String).is_in(rules["levels"])
        & pl.col("name").cast(pl.String).str.contains(rules["names"])
        & (pl.col("count") >= 1)
    )["count"]
    return _counted(max(counts.to_list()), "sync_count", estimated=True) if counts.len() else None


def _counted(
    count: int, source: str, *, estimated: bool = False, main_model: int | None = None
) -> Iterations:
    return Iterations(count, source, estimated, None, None, None, None, main_model)


def _rules() -> dict[str, Any]:
    return load_toml("analysis", "metrics.toml")
