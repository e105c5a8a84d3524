"""Kernels grouped into operators: by type and core, and by type and input shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analysis.datafile import load_toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
"""Measured columns that tables show as duration-weighted means: fractions, but ``*_pct`` is percent."""

_DURATION = pl.col("duration_ns")
_WEIGHT = "__weight"
_OPERATOR_COLUMNS = (
    "step",
    "name",
    "op_type",
    "core_type",
    "input_shapes",
    "input_dtypes",
    "output_shapes",
    "duration_ns",
    "block_num",
    "mix_block_num",
    *RATIOS,
)
_SHAPE_KEYS = ("op_type", "name", "input_shapes", "input_dtypes")


def compute_rows(kernels: pl.DataFrame) -> pl.DataFrame:
    """The kernels that compute, with the columns that operator tables are made of and no others.

    Of a million kernels each column is worth megabytes.
    """
    operators = kernels.lazy().filter(pl.col("role") == "compute").select(_OPERATOR_COLUMNS)
    return operators.collect(engine="streaming")


def with_role(kernels: pl.DataFrame, role: str) -> pl.DataFrame:
    """Only the kernels of one role."""
    return kernels.filter(pl.col("role") == role)


def core_in(cores: Iterable[str]) -> pl.Expr:
    """Whether a kernel's core type is one of ``cores``; false where none is recorded."""
    return pl.col("core_type").is_in(list(cores)).fill_null(value=False)


def mean_ns(total: str = "total_ns", count: str = "count") -> pl.Expr:
    """The mean of ``count`` values that add up to ``total``, rounded half up, as ``units.mean`` does."""
    return (2 * pl.col(total) + pl.col(count)) // (2 * pl.col(count))


def share_of(whole_ns: int, total: str = "total_ns") -> pl.Expr:
    """Fraction of ``whole_ns``; null if nothing took any time."""
    return (pl.col(total) / whole_ns if whole_ns else pl.lit(None, pl.Float64)).alias("share")


def weighted_sums(column: str) -> tuple[pl.Expr, pl.Expr]:
    """Sum of ratio x duration, and sum of the durations that have a ratio, to be divided later.

    Both are integers, so that the mean does not depend on the order in which threads add.
    """
    scaled = (pl.col(column) * _scale(column)).round().cast(pl.Int64, strict=False)
    return (
        (scaled * _DURATION).sum().alias(column),
        pl.when(scaled.is_not_null()).then(_DURATION).sum().alias(column + _WEIGHT),
    )


def weighted_mean(column: str) -> pl.Expr:
    """The duration-weighted mean out of the sums of :func:`weighted_sums`; null if nothing was weighed."""
    weight = pl.col(column + _WEIGHT) * _scale(column)
    return pl.when(weight > 0).then(pl.col(column) / weight).alias(column)


def _scale(column: str) -> int:
    # The files print three decimals; percent is a hundred times larger and sums must fit 64 bits.
    return 10_000 if column.endswith("_pct") else 1_000_000


def in_iterations(kernels: pl.DataFrame) -> pl.Expr:
    """Whether a kernel counts per iteration: all do, unless steps are recorded and it lies in none."""
    steps_recorded = kernels["step"].null_count() < kernels.height
    return pl.col("step").is_not_null() | pl.lit(not steps_recorded)


def distribution(kernels: pl.DataFrame, keys: Sequence[str], inside: pl.Expr) -> pl.DataFrame:
    """Count and time of the kernels by ``keys``, all of them and those ``inside`` iterations.

    Returns:
        keys (String), count, total_ns, min_ns, max_ns, inside_count, inside_ns; not sorted.
    """
    return (
        kernels.lazy()
        .select(*keys, _DURATION, inside.alias("inside"))
        .group_by(*keys)
        .agg(
            pl.len().cast(pl.Int64).alias("count"),
            _DURATION.sum().alias("total_ns"),
            _DURATION.min().alias("min_ns"),
            _DURATION.max().alias("max_ns"),
            pl.col("inside").sum().cast(pl.Int64).alias("inside_count"),
            pl.when("inside").then(_DURATION).sum().alias("inside_ns"),
        )
        .with_columns(pl.col(*keys).cast(pl.String))
        .collect(engine="streaming")
    )


def published(groups: pl.DataFrame, keys: Sequence[str], iterations: int) -> pl.DataFrame:
    """A distribution as results show it: per iteration, mean and share added, the longest first."""
    return groups.select(
        *keys,
        "count",
        (pl.col("inside_count") / iterations).alias("count_per_iteration"),
        ((2 * pl.col("inside_ns") + iterations) // (2 * iterations)).alias("per_iteration_ns"),
        "total_ns",
        share_of(int(groups["total_ns"].sum())),
        mean_ns().alias("avg_ns"),
        "min_ns",
        "max_ns",
    ).sort("total_ns", *keys, descending=[True, *[False] * len(keys)], nulls_last=True)


def communication_kind(kernels: pl.DataFrame) -> pl.DataFrame:
    """The kernels with the kind of communication in ``op_type``, taken from the name where it is null."""
    if not kernels["op_type"].null_count():
        return kernels
    instance = load_toml("analysis", "operators.toml")["communication"]["instance"]
    kinds = kernels.select(pl.col("name").unique()).with_columns(
        pl.col("name").cast(pl.String).str.replace(instance, "").cast(pl.Categorical).alias("kind")
    )
    named = kernels.join(kinds, on="name", how="left", maintain_order="left")
    return named.with_columns(pl.coalesce("op_type", "kind").alias("op_type")).drop("kind")


def shape_tables(compute: pl.DataFrame, whole_ns: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compute kernels by (op_type, input_shapes, input_dtypes), the longest total first (spec O2).

    Rows without a type (Level0) are told apart by kernel name instead.

    Args:
        compute: The kernels to group.
        whole_ns: What shares are of: the time of all compute kernels.

    Returns:
        ``Operators.top`` and ``Operators.shapes``, which tells its rows apart by core type.
    """
    measured = [column for column in RATIOS if compute[column].null_count() < compute.height]
    typed = compute["op_type"].null_count() == 0
    # Names are a key only where types lack; elsewhere they would split the groups.
    name = pl.lit(None, pl.Categorical) if typed else pl.when(pl.col("op_type").is_null()).then("name")
    sums = [part for column in measured for part in weighted_sums(column)]
    by_core = (
        compute.lazy()
        .with_columns(name.alias("name"))
        .group_by(*_SHAPE_KEYS, "core_type")
        .agg(
            pl.len().cast(pl.Int64).alias("count"),
            _DURATION.sum().alias("total_ns"),
            _DURATION.max().alias("max_ns"),
            pl.col("block_num").max().alias("block_num"),
            *sums,
        )
        .with_columns(pl.col(*_SHAPE_KEYS, "core_type").cast(pl.String))
        .collect(engine="streaming")
    )
    added = [column for part in measured for column in (part, part + _WEIGHT)]
    merged = by_core.group_by(*_SHAPE_KEYS).agg(
        pl.col("core_type").drop_nulls().sort().str.join(", "),
        pl.col("count", "total_ns", *added).sum(),
        pl.col("max_ns", "block_num").max(),
    )
    return _published_shapes(merged, measured, whole_ns), _published_shapes(by_core, measured, whole_ns)


def _published_shapes(groups: pl.DataFrame, measured: Sequence[str], whole_ns: int) -> pl.DataFrame:
    return groups.select(
        "op_type",
        "name",
        pl.when(pl.col("core_type") != "").then("core_type"),
        "input_shapes",
        "input_dtypes",
        "count",
        "total_ns",
        share_of(whole_ns),
        mean_ns().alias("avg_ns"),
        "max_ns",
        pl.when(pl.col("block_num") > 0).then("block_num"),
        *[weighted_mean(c) if c in measured else pl.lit(None, pl.Float64).alias(c) for c in RATIOS],
    ).sort(
        "total_ns",
        *_SHAPE_KEYS,
        "core_type",
        descending=[True, *[False] * (len(_SHAPE_KEYS) + 1)],
        nulls_last=True,
    )
