"""Which host APIs cost time, level by level, and whether the host holds the device back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from analysis.datafile import load_toml
from analysis.notes import Missing
from analysis.units import mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from analysis.host_operators import HostOperators
    from analysis.iterations import Iterations
    from analysis.profile.tables import Table

_COLUMNS = (
    "level",
    "name",
    "count",
    "count_per_iteration",
    "total_ns",
    "per_iteration_ns",
    "avg_ns",
    "min_ns",
    "max_ns",
    "group",
    "watched",
)
_RANK = "level_rank"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judgement of spec H3 with the numbers behind it."""

    kind: str
    """stream_sync, short_launches."""
    per: str
    """What the numbers are of: iteration, or step; trace where no step is marked, and so all of it is one."""
    calls_per_iteration: float
    total_per_iteration_ns: int
    avg_ns: int | None
    """None without any call."""
    flagged: bool | None
    """None where a needed number (iterations, dispatch_bound) is unknown."""
    level: str | None = None
    """The one level whose calls were counted; None if no recorded level has such a call."""


@dataclass(frozen=True, slots=True)
class Host:
    """Host APIs of api_statistic. Levels are nested views of the same time and are never added."""

    apis: pl.DataFrame
    """All rows: level, name, count, count_per_iteration, total_ns, per_iteration_ns, avg_ns, min_ns, max_ns,
    group (call, one_off), watched (Boolean); level order acl, model, node, communication, runtime, other,
    then total descending, then name."""
    top: pl.DataFrame
    """The 15 recurring calls with the largest total over all levels; same columns and order."""
    watched: pl.DataFrame
    """ModelExecute, aclrtSynchronizeStream*, aclrtMemcpy* (spec H1), whether or not they are in ``top``."""
    one_off: pl.DataFrame
    """Build and load APIs, which do not recur per iteration."""
    verdicts: tuple[Verdict, ...]
    """stream_sync, short_launches; without the ones whose levels were not collected."""
    includes_compile: bool = False
    """True if the totals hold a compile iteration, which the file cannot tell apart."""


def find_host(api_statistic: Table, iterations: Iterations, dispatch_bound: bool | None) -> Host:
    """The host APIs of one capture and what they say about launches and synchronisation (spec H1, H3).

    The file has only totals, so they hold the compile iteration where there is one; per-iteration numbers
    divide by all recorded iterations, that one counted.
    """
    rules = load_toml("analysis", "host.toml")
    recorded = iterations.recorded
    apis = _apis(api_statistic.frame, rules, recorded)
    recurring = apis.filter(pl.col("group") == "call")
    order = ("total_ns", _RANK, "level", "name")
    longest = recurring.sort(order, descending=[True, False, False, False], nulls_last=True)
    return Host(
        apis=apis.select(_COLUMNS),
        top=_in_order(longest.head(rules["top"]["rows"])).select(_COLUMNS),
        watched=apis.filter("watched").select(_COLUMNS),
        one_off=apis.filter(pl.col("group") == "one_off").select(_COLUMNS),
        verdicts=(
            *_stream_sync(apis, rules["stream_sync"], iterations),
            *_short_launches(apis, rules["short_launches"], iterations, dispatch_bound),
        ),
        includes_compile=iterations.excluded_first_ns is not None,
    )


def host_verdicts(*results: Host | HostOperators | Missing) -> tuple[Verdict, ...]:
    """Every judgement of spec H3 that these results allow, in their order."""
    return tuple(
        verdict for result in results if not isinstance(result, Missing) for verdict in result.verdicts
    )


def _apis(rows: pl.DataFrame, rules: dict[str, Any], recorded: int) -> pl.DataFrame:
    """One row per (level, name), also where the file keeps threads or devices apart."""
    levels = rules["levels"]["order"]
    count, total = pl.col("count"), pl.col("total_ns")
    grouped = (
        rows.select(pl.col("level", "name").cast(pl.String), "count", "total_ns", "min_ns", "max_ns")
        .group_by("level", "name")
        .agg(pl.col("count", "total_ns").sum(), pl.col("min_ns").min(), pl.col("max_ns").max())
        .with_columns(
            (count / recorded).alias("count_per_iteration"),
            ((2 * total + recorded) // (2 * recorded)).alias("per_iteration_ns"),
            ((2 * total + count) // (2 * count)).alias("avg_ns"),
            pl.when(_matches(rules["one_off"]))
            .then(pl.lit("one_off"))
            .otherwise(pl.lit("call"))
            .alias("group"),
            _matches(rules["watched"]).alias("watched"),
            pl.col("level")
            .replace_strict(levels, list(range(len(levels))), default=len(levels), return_dtype=pl.Int64)
            .alias(_RANK),
        )
    )
    return _in_order(grouped)


def _in_order(apis: pl.DataFrame) -> pl.DataFrame:
    return apis.sort(
        _RANK, "level", "total_ns", "name", descending=[False, False, True, False], nulls_last=True
    )


def _matches(entries: Sequence[dict[str, Any]]) -> pl.Expr:
    """Whether a name fits one of the patterns: exact, or the start of it if the pattern ends in ``*``."""
    tests = [
        pl.col("name").str.starts_with(entry["pattern"][:-1])
        if entry["pattern"].endswith("*")
        else pl.col("name") == entry["pattern"]
        for entry in entries
    ]
    return pl.any_horizontal(tests).fill_null(value=False)


@dataclass(frozen=True, slots=True)
class _Calls:
    level: str | None
    count: int
    total_ns: int


def _calls_of_one_level(apis: pl.DataFrame, views: Sequence[dict[str, Any]]) -> _Calls | None:
    """Calls seen in the first of ``views`` that has any; levels nest, so one level must do.

    None if none of the levels was collected: then no call is no evidence.
    """
    levels = set(apis["level"].to_list())
    if not any(view["level"] in levels for view in views):
        return None
    for view in views:
        found = apis.filter(pl.col("level") == view["level"], _matches([view]))
        if found.height:
            return _Calls(view["level"], int(found["count"].sum()), int(found["total_ns"].sum()))
    return _Calls(None, 0, 0)


def _stream_sync(apis: pl.DataFrame, rule: dict[str, Any], iterations: Iterations) -> Iterator[Verdict]:
    calls = _calls_of_one_level(apis, rule["views"])
    if calls is None:
        return
    recorded = iterations.recorded
    # Compared over the whole run, so that rounding per iteration cannot move a value across a limit.
    flagged = (
        calls.count > rule["calls_above"] * recorded
        or calls.total_ns > rule["total_ms_above"] * 1_000_000 * recorded
    )
    yield _verdict("stream_sync", calls, recorded, flagged=flagged if iterations.known else None)


def _short_launches(
    apis: pl.DataFrame, rule: dict[str, Any], iterations: Iterations, dispatch_bound: bool | None
) -> Iterator[Verdict]:
    calls = _calls_of_one_level(apis, rule["views"])
    if calls is None:
        return
    recorded = iterations.recorded
    many_and_short = (
        calls.count >= rule["calls_at_least"] * recorded
        and calls.total_ns <= rule["avg_us_at_most"] * 1000 * calls.count
    )
    flagged = dispatch_bound if many_and_short else False
    yield _verdict("short_launches", calls, recorded, flagged=flagged if iterations.known else None)


def _verdict(kind: str, calls: _Calls, recorded: int, *, flagged: bool | None) -> Verdict:
    return Verdict(
        kind,
        per="iteration",
        calls_per_iteration=calls.count / recorded,
        total_per_iteration_ns=mean(calls.total_ns, recorded),
        avg_ns=mean(calls.total_ns, calls.count) if calls.count else None,
        flagged=flagged,
        level=calls.level,
    )
