"""What the bars of a trace say about the kind of run: backward passes, graphs, shapes, launches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from analysis.datafile import load_toml
from analysis.trace.flows import FORWARD_TO_BACKWARD
from analysis.trace.kernels import kernel_bars
from analysis.trace.model import CANN, HOST_ROLES

if TYPE_CHECKING:
    from analysis.trace.model import Trace


@dataclass(frozen=True, slots=True)
class TiedKernels:
    """How many kernels of a trace a host operator of their own launched (rule C22)."""

    total: int
    """Kernels on device streams, those that accompany communication not counted."""
    tied: int
    """Those tied to a host operator that launched only few."""
    operators: int
    """How many executions of host operators launched them."""
    shared: int
    """Kernels tied to one that launched more than an operator does: a graph, or a range of the user."""


def host_names(trace: Trace) -> pl.DataFrame:
    """Framework operators and user ranges on threads of the program: name (String), count; by name.

    Marks of steps are none: they are there whatever the program does. Neither are frames of the Python stack:
    a file or function may be called anything.
    """
    cats = pl.Series(_rules()["host_cats"], dtype=pl.String)
    return (
        trace.scan(*HOST_ROLES)
        .group_by("name", "cat")
        .agg(pl.len().cast(pl.Int64).alias("count"))
        .with_columns(pl.col("name", "cat").cast(pl.String))
        .filter(pl.col("cat").is_in(cats.implode()), ~pl.col("name").str.starts_with(_step_prefix()))
        .group_by("name")
        .agg(pl.col("count").sum())
        .drop_nulls("name")
        .sort("name")
        .collect()
    )


def backward_names(names: pl.DataFrame) -> pl.DataFrame:
    """Of :func:`host_names` those of a backward pass, the most frequent first (spec S2)."""
    rules = _rules()
    gradient = load_toml("analysis", "scenario.toml")["gradient"]
    word = pl.col("name").str.replace_all(gradient["innocent"], "").str.replace_all(rules["innocent"], "")
    meant = pl.any_horizontal(word.str.contains(pattern) for pattern in rules["backward"])
    return names.filter(meant).sort("count", "name", descending=[True, False])


def backward_arrows(trace: Trace) -> int:
    """How many arrows lead from forward operators to backward ones: autograd alone draws them (spec S2)."""
    return trace.flows.filter(pl.col("kind") == FORWARD_TO_BACKWARD).drop_nulls(["source", "target"]).height


def cann_calls(trace: Trace, rule: str) -> int:
    """How many calls of CANN fit a pattern of scenario.toml [trace]: model_execute, engine or shapes."""
    counts = (
        trace.scan(CANN)
        .group_by("name")
        .agg(pl.len().cast(pl.Int64).alias("count"))
        .filter(pl.col("name").cast(pl.String).str.contains(_rules()[rule]))
        .collect()
    )
    return int(counts["count"].sum())


def tied_kernels(trace: Trace, launches: pl.DataFrame) -> TiedKernels:
    """Which kernels a host operator of their own launched, by flow or queue chain (rule C22).

    A host operator that launched more kernels than ``kernels_of_operator`` stands for a graph or for a whole
    part of the model, so the kernels it launched are not tied to an operator of their own.

    Args:
        trace: Whose bars ``launches`` names.
        launches: The frame of :func:`analysis.trace.flows.launches`: event (device bar) and host.
    """
    kernels = kernel_bars(trace).select("event").collect()
    hosts = (
        launches.select("event", "host")
        .drop_nulls()
        .unique("event", keep="first", maintain_order=True)
        .join(kernels, on="event")
        .group_by("host")
        .agg(pl.len().cast(pl.Int64).alias("kernels"))
    )
    own = hosts["kernels"] <= _rules()["kernels_of_operator"]
    tied = hosts.filter(own)
    return TiedKernels(
        total=kernels.height,
        tied=int(tied["kernels"].sum()),
        operators=tied.height,
        shared=int(hosts.filter(~own)["kernels"].sum()),
    )


def _step_prefix() -> str:
    prefix: str = load_toml("analysis", "metrics.toml")["profiler_step"]["prefix"]
    return prefix


def _rules() -> dict[str, Any]:
    rules: dict[str, Any] = load_toml("analysis", "scenario.toml")["trace"]
    return rules
