"""Which operators cost the device time, which are in trouble, and which cores they use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from analysis.datafile import load_toml
from analysis.notes import Missing
from analysis.operator_groups import (
    communication_kind,
    compute_rows,
    core_in,
    distribution,
    in_iterations,
    mean_ns,
    published,
    shape_tables,
    share_of,
    with_role,
)
from analysis.operator_problems import find_problems, unjudged_problems

if TYPE_CHECKING:
    from analysis.custom_operators import CustomOperators
    from analysis.iterations import Iterations
    from analysis.profile.metadata import Cores
    from analysis.profile.tables import Table

_TYPE_KEYS = ("op_type", "core_type")


@dataclass(frozen=True, slots=True)
class Extra:
    """One training-only finding on operators (spec O4)."""

    kind: str
    """embedding_sort_unique, communication_operations, communication_kernels (rows that accompany the
    operations: never to be added to them), custom_operators, short_vector_kernels, matmul_hf32_off."""
    count: int | None
    """Kernels meant; for matmul_hf32_off the FLOAT MatMul kernels that run without HF32."""
    total_ns: int | None
    value: float | None
    """The judged number (a share, or an average in us); None where the file that tells is not read."""
    threshold: float | None
    flagged: bool | None
    count_per_iteration: float | None = None
    """Judged too by short_vector_kernels."""
    threshold_per_iteration: float | None = None
    largest_type: str | None = None
    """Of several operator types that are meant together, the one that takes most time."""


@dataclass(frozen=True, slots=True)
class CoreUse:
    """Cores used against cores present, for one kind of core."""

    kind: str
    """aic or aiv."""
    max_block_num: int | None
    """Largest Block Num of the kernels led by this kind of core."""
    physical: int | None
    verdict: str
    """all_cores, maybe_limited, possible (cores unknown), not_recorded."""
    max_mix_block_num: int | None = None
    """Largest Mix Block Num of the kernels led by the other kind; the verdict takes the larger of both."""


@dataclass(frozen=True, slots=True)
class Operators:
    """Every operator table of one capture; the compile iteration is left out of all of them."""

    source: str
    """kernels, or op_statistic where no kernel file is there (its totals hold the compile iteration)."""
    by_type: pl.DataFrame | Missing
    """op_type, core_type, count, count_per_iteration, per_iteration_ns, total_ns, share, avg_ns, min_ns,
    max_ns; total descending. Kernels outside of every step count in all but the two per-iteration columns."""
    by_core_type: pl.DataFrame | Missing
    """core_type, count, total_ns, share, avg_ns."""
    communication: pl.DataFrame
    """op_type, count, count_per_iteration, per_iteration_ns, total_ns, share (of communication), avg_ns,
    min_ns, max_ns."""
    top: pl.DataFrame | Missing
    """One row per (op_type, input_shapes, input_dtypes), all of them, total descending; the report prints 20.

    op_type, name (only where the level records no type), core_type, input_shapes, input_dtypes, count,
    total_ns, share, avg_ns, max_ns, block_num, aic_mac_ratio, aic_vec_ratio, aic_scalar_ratio,
    aic_mte1_ratio, aic_mte2_ratio, aic_mte3_ratio, aiv_vec_ratio, aiv_scalar_ratio, aiv_mte1_ratio,
    aiv_mte2_ratio, aiv_mte3_ratio, cube_utilization_pct."""
    shapes: pl.DataFrame | Missing
    """The rows of ``top`` told apart by core type: what a row of ``by_type`` consists of."""
    problems: pl.DataFrame | Missing
    """problem, name, op_type, core_type, input_shapes, output_shapes, count, total_ns, share, value; total
    descending, all of them; the report prints 50."""
    extras: tuple[Extra, ...]
    core_use: tuple[CoreUse, ...] | Missing
    compute_ns: int
    communication_ns: int
    unjudged_problems: tuple[str, ...] = ()
    """Problems that could not be looked for because the collection lacks their PMU columns
    (aic_metrics=PipeUtilization records them)."""


def find_operators(
    kernels: pl.DataFrame | Missing,
    present: frozenset[str],
    op_statistic: Table | Missing,
    iterations: Iterations,
    scenario: str,
    cores: Cores,
) -> Operators | Missing:
    """The operator tables of one capture (spec O1-O5).

    Args:
        kernels: Kernels of all roles without the compile iteration.
        present: Canonical columns that the kernel file really has.
        op_statistic: Used where kernels are missing.
        iterations: What per-iteration numbers divide by.
        scenario: Only ``training`` has extras.
        cores: Physical cores of the device.
    """
    if not isinstance(kernels, Missing):
        return _of_kernels(kernels, present, iterations, scenario, cores)
    if not isinstance(op_statistic, Missing):
        return _of_statistic(op_statistic.frame, kernels, iterations, scenario)
    needs = tuple(dict.fromkeys((*kernels.needs, *op_statistic.needs)))
    return Missing(needs, kernels.hint, unreadable=kernels.unreadable or op_statistic.unreadable)


def _of_kernels(
    kernels: pl.DataFrame, present: frozenset[str], iterations: Iterations, scenario: str, cores: Cores
) -> Operators:
    compute = compute_rows(kernels)
    communication = with_role(kernels, "communication")
    inside = in_iterations(kernels)
    compute_ns = int(compute["duration_ns"].sum())
    types = distribution(compute, _TYPE_KEYS, inside)
    collectives = distribution(communication_kind(communication), ["op_type"], inside)
    typed = _any_known(types, "op_type")
    cored = _any_known(types, "core_type")
    top, shapes = shape_tables(compute, compute_ns)
    return Operators(
        source="kernels",
        by_type=published(types, _TYPE_KEYS, iterations.in_kernels) if typed else _not_recorded("op_type"),
        by_core_type=_by_core_type(types) if cored else _not_recorded("core_type"),
        communication=published(collectives, ["op_type"], iterations.in_kernels),
        top=top,
        shapes=shapes,
        problems=find_problems(compute, compute_ns) if cored else _not_recorded("core_type"),
        extras=_extras(types, iterations, iterations.in_kernels, kernels) if scenario == "training" else (),
        core_use=_core_use(compute, cores) if "block_num" in present else _not_recorded("block_num"),
        compute_ns=compute_ns,
        communication_ns=int(communication["duration_ns"].sum()),
        unjudged_problems=unjudged_problems(compute) if cored else (),
    )


def _of_statistic(
    statistic: pl.DataFrame, kernels: Missing, iterations: Iterations, scenario: str
) -> Operators:
    """Totals are all that op_statistic has, so the compile iteration stays in, and in the divisor."""
    groups = _statistic_groups(statistic)
    roles = load_toml("analysis.profile", "columns.toml")["roles"]
    prefixes = [pl.col("op_type").str.starts_with(prefix) for prefix in roles["communication_prefixes"]]
    is_communication = pl.any_horizontal(prefixes).fill_null(value=False) | core_in(
        roles["communication_cores"]
    )
    types = groups.filter(~is_communication)
    collectives = groups.filter(is_communication)
    missing = Missing(("kernel_details", "op_summary"), "level1", unreadable=kernels.unreadable)
    return Operators(
        source="op_statistic",
        by_type=published(types, _TYPE_KEYS, iterations.recorded),
        by_core_type=_by_core_type(types),
        communication=published(_merged(collectives, ["op_type"]), ["op_type"], iterations.recorded),
        top=missing,
        shapes=missing,
        problems=missing,
        extras=_extras(types, iterations, iterations.recorded, None) if scenario == "training" else (),
        core_use=missing,
        compute_ns=int(types["total_ns"].sum()),
        communication_ns=int(collectives["total_ns"].sum()),
    )


def _statistic_groups(statistic: pl.DataFrame) -> pl.DataFrame:
    """Rows of op_statistic as a distribution; one type has several rows where models are kept apart."""
    rows = statistic.select(
        pl.col(_TYPE_KEYS).cast(pl.String),
        "count",
        "total_ns",
        "min_ns",
        "max_ns",
        pl.col("count").alias("inside_count"),
        pl.col("total_ns").alias("inside_ns"),
    )
    return _merged(rows, _TYPE_KEYS)


def _merged(groups: pl.DataFrame, keys: tuple[str, ...] | list[str]) -> pl.DataFrame:
    return groups.group_by(*keys).agg(
        pl.col("count", "total_ns").sum(),
        pl.col("min_ns").min(),
        pl.col("max_ns").max(),
        pl.col("inside_count", "inside_ns").sum(),
    )


def _not_recorded(what: str) -> Missing:
    """The kernel file is there, but this level of collection leaves a column empty."""
    return Missing(("kernel_details", "op_summary"), "level1", lacks=what)


def _any_known(groups: pl.DataFrame, column: str) -> bool:
    """Whether a column is recorded at all; where there is no kernel, nothing lacks."""
    return groups.height == 0 or groups[column].null_count() < groups.height


def _by_core_type(types: pl.DataFrame) -> pl.DataFrame:
    return (
        types.group_by("core_type")
        .agg(pl.col("count", "total_ns").sum())
        .select(
            "core_type",
            "count",
            "total_ns",
            share_of(int(types["total_ns"].sum())),
            mean_ns().alias("avg_ns"),
        )
        .sort("total_ns", "core_type", descending=[True, False], nulls_last=True)
    )


def _extras(
    types: pl.DataFrame, iterations: Iterations, divisor: int, kernels: pl.DataFrame | None
) -> tuple[Extra, ...]:
    rules = load_toml("analysis", "operators.toml")
    compute_ns = int(types["total_ns"].sum())
    return (
        _embedding_sort_unique(types, compute_ns, rules["embedding_sort_unique"]),
        _communication_extra("communication_operations", kernels, "communication"),
        _communication_extra("communication_kernels", kernels, "communication_kernel"),
        # Only the trace tells which host operator launched a kernel: with_custom_operators adds it.
        Extra("custom_operators", None, None, None, None, flagged=None),
        _short_vector_kernels(types, divisor, rules, judged=iterations.known),
        _matmul_hf32_off(types, compute_ns, kernels, rules["matmul_hf32_off"]),
    )


def with_custom_operators(extras: tuple[Extra, ...], custom: CustomOperators | Missing) -> tuple[Extra, ...]:
    """The extras with what the trace tells of custom operators; they stay unknown without it.

    A trace cut short tells some of them only.
    """
    if isinstance(custom, Missing) or custom.cut_short:
        return extras
    told = Extra("custom_operators", custom.count, custom.total_ns, None, None, flagged=None)
    return tuple(told if extra.kind == told.kind else extra for extra in extras)


def _embedding_sort_unique(types: pl.DataFrame, compute_ns: int, rule: dict[str, Any]) -> Extra:
    limit = float(rule["share_above"])
    if not _any_known(types, "op_type"):
        return Extra("embedding_sort_unique", None, None, None, limit, flagged=None)
    found = types.filter(pl.col("op_type").str.contains(rule["types"]))
    total = int(found["total_ns"].sum())
    share = total / compute_ns if compute_ns else None
    flagged = None if share is None else share > limit
    by_type = found.group_by("op_type").agg(pl.col("total_ns").sum())
    largest = by_type.sort("total_ns", "op_type", descending=[True, False]).head(1)["op_type"]
    return Extra(
        "embedding_sort_unique",
        int(found["count"].sum()),
        total,
        share,
        limit,
        flagged=flagged,
        largest_type=largest[0] if largest.len() else None,
    )


def _communication_extra(kind: str, kernels: pl.DataFrame | None, role: str) -> Extra:
    if kernels is None:
        return Extra(kind, None, None, None, None, flagged=None)
    rows = with_role(kernels, role)
    return Extra(kind, rows.height, int(rows["duration_ns"].sum()), None, None, flagged=None)


def _short_vector_kernels(
    types: pl.DataFrame, iterations: int, rules: dict[str, Any], *, judged: bool
) -> Extra:
    rule = rules["short_vector_kernels"]
    least, most_us = float(rule["per_iteration_at_least"]), float(rule["avg_us_at_most"])
    if not _any_known(types, "core_type"):
        return Extra("short_vector_kernels", None, None, None, most_us, None, None, least)
    vector = types.filter(core_in(rules["cores"]["aiv"]))
    count, total = int(vector["count"].sum()), int(vector["total_ns"].sum())
    average_us = total / count / 1000 if count else None
    per_iteration = int(vector["inside_count"].sum()) / iterations
    flagged = average_us is not None and per_iteration >= least and average_us <= most_us if judged else None
    return Extra("short_vector_kernels", count, total, average_us, most_us, flagged, per_iteration, least)


def _matmul_hf32_off(
    types: pl.DataFrame, compute_ns: int, kernels: pl.DataFrame | None, rule: dict[str, Any]
) -> Extra:
    """``value`` is the time share of all MatMul kernels; count and total are of those without HF32."""
    limit = float(rule["share_at_least"])
    is_matmul = pl.col("op_type").str.contains(rule["types"])
    matmul = types.filter(is_matmul)
    share = None
    if compute_ns and _any_known(types, "op_type"):
        share = int(matmul["total_ns"].sum()) / compute_ns
    without = None if kernels is None else _without_hf32(kernels, matmul["op_type"].to_list(), rule)
    count, total = (None, None) if without is None else without
    flagged: bool | None = None
    if share is not None and (share < limit or count is not None):
        flagged = share >= limit and bool(count)
    return Extra("matmul_hf32_off", count, total, share, limit, flagged=flagged)


def _without_hf32(
    kernels: pl.DataFrame, matmul_types: list[str], rule: dict[str, Any]
) -> tuple[int, int] | None:
    """Count and time of FLOAT MatMul kernels that are not eligible; None if eligibility is not recorded."""
    if kernels["hf32"].null_count() == kernels.height:
        return None
    dtypes = kernels.select(pl.col("input_dtypes").unique().cast(pl.String)).to_series().drop_nulls()
    # The first two inputs are the factors; a bias or an index list may be of another type.
    float_inputs = [text for text in dtypes if set(text.split(";")[:2]) <= set(rule["float_dtypes"])]
    found = kernels.filter(
        pl.col("role") == "compute",
        pl.col("hf32") == rule["not_eligible"],
        pl.col("op_type").is_in(matmul_types),
        pl.col("input_dtypes").is_in(float_inputs),
    )
    return found.height, int(found["duration_ns"].sum())


def _core_use(compute: pl.DataFrame, cores: Cores) -> tuple[CoreUse, ...]:
    kinds = load_toml("analysis", "operators.toml")["cores"]
    on_aic, on_aiv = core_in(kinds["aic"]), core_in(kinds["aiv"])
    block, mix = pl.col("block_num"), pl.col("mix_block_num")
    most = compute.select(
        aic=block.filter(on_aic, block > 0).max(),
        aiv=block.filter(on_aiv, block > 0).max(),
        aic_mix=mix.filter(on_aiv, mix > 0).max(),
        aiv_mix=mix.filter(on_aic, mix > 0).max(),
    ).row(0, named=True)
    return (
        _core_verdict("aic", most["aic"], most["aic_mix"], cores.aic),
        _core_verdict("aiv", most["aiv"], most["aiv_mix"], cores.aiv),
    )


def _core_verdict(kind: str, block: int | None, mix: int | None, physical: int | None) -> CoreUse:
    used = max((number for number in (block, mix) if number is not None), default=None)
    if used is None:
        verdict = "not_recorded"
    elif physical is None:
        verdict = "possible"
    else:
        verdict = "all_cores" if used >= physical else "maybe_limited"
    return CoreUse(kind, block, physical, verdict, mix)
