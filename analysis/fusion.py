"""Which operators were fused automatically, and what the names of the fused ones say is inside."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from analysis.agreement import operator_statistics
from analysis.datafile import load_toml
from analysis.notes import Missing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from analysis.profile.tables import Table

_KIND: Final = "kind"


@dataclass(frozen=True, slots=True)
class FusedKind:
    """One family of automatically fused operators (spec S5)."""

    prefix: str
    """As scenario.toml lists it: autofuse_, autofused_, triton_*_fused_, dvm_, mlir_fused_, catlass_,
    AscBackend, FusedAscBackend."""
    op_types: int
    """Distinct fused operator types (or names, where a level records no types)."""
    kernels: int
    total_ns: int
    share: float
    """Of all operator time."""
    inside: tuple[str, ...]
    """Operators that the fused names say are inside, most frequent first."""


@dataclass(frozen=True, slots=True)
class Fusion:
    """Whether automatic fusion is already on; ``enabled`` is None if nothing is there to judge by."""

    enabled: bool | None
    kinds: tuple[FusedKind, ...]
    op_types: tuple[str, ...]
    time_share: float | None


def find_fusion(kernels: Table | Missing, op_statistic: Table | Missing) -> Fusion:
    """Which families of fused operators ran, their share of all operator time, and what is inside (spec S5).

    Type and name of every operator are matched; op_statistic, which has types only, stands in where
    there are no kernels. The whole capture counts, the compile iteration too.
    """
    operators = distinct_operators(kernels, op_statistic)
    if not operators.height:
        return Fusion(None, (), (), None)
    fused = (
        operators.filter(_named(f"(?:{'|'.join(family['match'] for family in families())})"))
        .with_columns(_kind_column().alias(_KIND))
        .filter(pl.col(_KIND).is_not_null())
    )
    total_ns = int(operators["total_ns"].sum())
    kinds = tuple(_kind(family["prefix"], fused, total_ns) for family in families())
    types = fused.select(pl.coalesce("op_type", "name").unique().sort()).to_series().to_list()
    share = int(fused["total_ns"].sum()) / total_ns if total_ns else None
    return Fusion(bool(types), tuple(kind for kind in kinds if kind.kernels), tuple(types), share)


def distinct_operators(kernels: Table | Missing, op_statistic: Table | Missing) -> pl.DataFrame:
    """Operators as strings: op_type, name (both may be null), kernels, total_ns; one row for each pair.

    From the kernels if they hold operators, else from op_statistic, which knows no names.
    """
    schema = pl.Schema({"op_type": pl.String, "name": pl.String, "kernels": pl.Int64, "total_ns": pl.Int64})
    if not isinstance(kernels, Missing):
        rows = (
            kernels.operators("op_type", "name", "duration_ns")
            .group_by("op_type", "name")
            .agg(pl.len().alias("kernels"), pl.col("duration_ns").sum().alias("total_ns"))
        )
        if rows.height:
            return rows.cast(schema)
    if isinstance(op_statistic, Missing):
        return pl.DataFrame(schema=schema)
    return (
        operator_statistics(op_statistic)
        .group_by("op_type")
        .agg(pl.col("count").sum().alias("kernels"), pl.col("total_ns").sum())
        .with_columns(pl.lit(None).alias("name"))
        .select(*schema)
        .cast(schema)
    )


def parts_of(fused_name: str) -> tuple[str, ...]:
    """The operators a fused name says are inside, in its order, folded repeats written out.

    ``autofuse_pointwise_0_3Add_Mul`` holds Add, Add, Add, Mul; ``triton_poi_fused_mul_sigmoid_1`` holds
    mul and sigmoid. Empty if the name tells nothing.
    """
    for family in families():
        match = _pattern(family["match"]).search(fused_name)
        if match:
            rest = fused_name[match.end() :]
            return _graph_parts(rest, fused_name) if family["parts"] == "graph" else _aten_parts(rest)
    return ()


def families() -> Sequence[dict[str, Any]]:
    """The families of fused operators, the order in which names are tried."""
    families: list[dict[str, Any]] = load_toml("analysis", "scenario.toml")["fused"]
    return families


def _kind_column() -> pl.Expr:
    """The family of an operator: the first one whose pattern its type or its name matches."""
    return pl.coalesce(
        pl.when(_named(family["match"])).then(pl.lit(family["prefix"], pl.String)) for family in families()
    )


def _named(pattern: str) -> pl.Expr:
    found = [pl.col(column).str.contains(pattern).fill_null(value=False) for column in ("op_type", "name")]
    return pl.any_horizontal(*found)


def _kind(prefix: str, fused: pl.DataFrame, total_ns: int) -> FusedKind:
    rows = fused.filter(pl.col(_KIND) == prefix)
    own_ns = int(rows["total_ns"].sum())
    return FusedKind(
        prefix=prefix,
        op_types=rows.select(pl.coalesce("op_type", "name").n_unique()).item() if rows.height else 0,
        kernels=int(rows["kernels"].sum()),
        total_ns=own_ns,
        share=own_ns / total_ns if total_ns else 0.0,
        inside=_inside(rows),
    )


def _inside(rows: pl.DataFrame) -> tuple[str, ...]:
    counts: Counter[str] = Counter()
    for op_type, name in rows.select("op_type", "name").unique().iter_rows():
        counts.update(next((parts for parts in map(parts_of, _texts(name, op_type)) if parts), ()))
    return tuple(sorted(counts, key=lambda part: (-counts[part], part)))


def _texts(*values: str | None) -> Iterator[str]:
    return (value for value in values if value)


def _graph_parts(rest: str, fused_name: str) -> tuple[str, ...]:
    """What GE AutoFuse writes: [fuse type or ``fused``_]<n>_<OpType>_<OpType>, repeats as ``3Add``."""
    rules = load_toml("analysis", "scenario.toml")["inside"]
    words = rest.split("_")
    if len(fused_name) >= rules["graph_name_limit"]:
        # The name was cut there, so its last operator may be half a word.
        words = words[:-1]
    while words and (words[0] in rules["graph_fuse_types"] or words[0].isdigit()):
        words = words[1:]
    parts: list[str] = []
    for word in words:
        folded = _pattern(rules["graph_folded"]).fullmatch(word)
        if folded:
            parts.extend([folded[2]] * min(int(folded[1]), rules["graph_folded_limit"]))
        elif word and not word.isdigit():
            parts.append(word)
    return tuple(parts)


def _aten_parts(rest: str) -> tuple[str, ...]:
    """What Inductor writes: aten names joined by ``_``, then a number or an MD5 sum."""
    rules = load_toml("analysis", "scenario.toml")["inside"]
    text = _pattern(rules["aten_ending"]).sub("", rest)
    return tuple(_pattern(_aten_words()).findall(text))


@cache
def _aten_words() -> str:
    """One alternation: names of several words, longest first, else a single word."""
    compound = sorted(
        load_toml("analysis", "scenario.toml")["inside"]["aten_compound"], key=len, reverse=True
    )
    return "|".join(
        (*[f"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])" for name in compound], "[A-Za-z0-9]+")
    )


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)
