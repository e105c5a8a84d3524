"""Which kernels are in trouble: each one judged for itself, then grouped (spec O3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import polars as pl

from analysis.datafile import load_toml
from analysis.operator_groups import core_in, share_of, weighted_mean, weighted_sums

_KEYS = ("name", "op_type", "core_type", "input_shapes", "output_shapes")
_COLUMNS = ("problem", *_KEYS, "count", "total_ns", "share", "value")


@dataclass(frozen=True, slots=True)
class Problem:
    """One rule of operators.toml: kernels on ``cores`` whose ``ratio`` is on the wrong side of a limit."""

    id: str
    cores: tuple[str, ...]
    ratio: str | None
    """Judged column; None if the core type alone is the problem."""
    at_least: float | None
    below: float | None
    cube_only: bool
    """Only kernels that use the cube unit (aic_mac_ratio > 0)."""

    def judged(self) -> pl.Expr:
        """Whether the rule can decide about a kernel at all: right core, and every value it needs there."""
        judged = core_in(self.cores)
        for column in self._needed():
            judged = judged & pl.col(column).is_not_null()
        return judged

    def found(self) -> pl.Expr:
        """Whether a kernel has the problem; false where a value is not recorded."""
        found = core_in(self.cores)
        if self.cube_only:
            found = found & (pl.col("aic_mac_ratio") > 0)
        if self.ratio is not None and self.at_least is not None:
            found = found & (pl.col(self.ratio) >= self.at_least)
        if self.ratio is not None and self.below is not None:
            found = found & (pl.col(self.ratio) < self.below)
        return found.fill_null(value=False)

    def _needed(self) -> tuple[str, ...]:
        needed = {self.ratio} if self.ratio else set()
        return tuple(sorted(needed | {"aic_mac_ratio"} if self.cube_only else needed))


@cache
def problem_rules() -> tuple[Problem, ...]:
    """The rules in the order of the data file."""
    return tuple(
        Problem(
            id=entry["id"],
            cores=tuple(entry["cores"]),
            ratio=entry.get("ratio"),
            at_least=entry.get("at_least"),
            below=entry.get("below"),
            cube_only=entry.get("cube_only", False),
        )
        for entry in load_toml("analysis", "operators.toml")["problem"]
    )


def problem_rule(problem_id: str) -> Problem:
    """The rule with this id."""
    return {rule.id: rule for rule in problem_rules()}[problem_id]


def find_problems(compute: pl.DataFrame, whole_ns: int) -> pl.DataFrame:
    """Kernels with a problem, grouped by problem, name, type, core, input and output shapes.

    ``value`` is the duration-weighted mean of the judged ratio over the kernels of the group (a fraction,
    percent for cube_utilization, null for ai_cpu); ``share`` is of ``whole_ns``, all compute time.

    Returns:
        The columns of ``Operators.problems``, the longest total first.
    """
    tables = pl.collect_all([_grouped(compute, rule) for rule in problem_rules()], engine="streaming")
    return (
        pl.concat(tables)
        .with_columns(share_of(whole_ns))
        .select(_COLUMNS)
        .sort(
            "total_ns",
            "problem",
            *_KEYS,
            descending=[True, *[False] * (len(_KEYS) + 1)],
            nulls_last=True,
        )
    )


def _grouped(compute: pl.DataFrame, rule: Problem) -> pl.LazyFrame:
    sums = weighted_sums(rule.ratio) if rule.ratio else ()
    value = weighted_mean(rule.ratio) if rule.ratio else pl.lit(None, pl.Float64)
    return (
        compute.lazy()
        .filter(rule.found())
        .group_by(*_KEYS)
        .agg(pl.len().cast(pl.Int64).alias("count"), pl.col("duration_ns").sum().alias("total_ns"), *sums)
        .select(
            pl.lit(rule.id).alias("problem"),
            pl.col(*_KEYS).cast(pl.String),
            "count",
            "total_ns",
            value.alias("value"),
        )
    )


def unjudged_problems(compute: pl.DataFrame) -> tuple[str, ...]:
    """Ids of the rules that find kernels on their cores but in none of them the values they need."""
    rules = [rule for rule in problem_rules() if rule.ratio]
    seen = compute.select(
        *[core_in(rule.cores).any().alias(f"on {rule.id}") for rule in rules],
        *[rule.judged().any().alias(rule.id) for rule in rules],
    ).row(0, named=True)
    return tuple(rule.id for rule in rules if seen[f"on {rule.id}"] and not seen[rule.id])
