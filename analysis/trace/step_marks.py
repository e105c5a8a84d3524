"""Which bars mark the steps of the program, and which of them contradict each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from analysis.datafile import load_toml
from analysis.trace.model import HOST_ROLES, PYTHON_MAIN
from analysis.trace.nesting import nest

if TYPE_CHECKING:
    from analysis.trace.model import Trace

FOLLOWING: Final = pl.col("start_ns").shift(-1)
"""When the next step begins, of steps by start."""


@dataclass(frozen=True, slots=True)
class DoubtfulMarks:
    """Steps whose marks contradict each other or say no number, in order."""

    repeated: tuple[int, ...] = ()
    """Numbers with marks that are left aside: on a thread that does not run the steps, at the same time as a
    longer one of the number, inside a step, or around several."""
    shared: tuple[int, ...] = ()
    """Numbers that mark one stretch after another; each is a step."""
    renumbered: tuple[int, ...] = ()
    """What the later steps of a shared number are called, as numbers tell steps apart."""
    overlapping: tuple[int, ...] = ()
    """Not over when the next step begins; cut there."""
    unnumbered: int = 0
    """How many bars are called like a step but say no number that steps have, or take no time."""
    example: str = ""
    """The name of the first of them."""


def chosen_marks(trace: Trace) -> pl.DataFrame:
    """One mark a step, by start: step, number (as marked), event, track, start_ns, end_ns.

    One thread runs the steps: the main thread, else the one that has most marks. Of marks of one number at
    one time the longest counts. A mark inside another is a part of that step, unless that one holds several,
    which then are the steps. One number for several stretches makes several steps: the first keeps it, the
    others take numbers above all marked ones.
    """
    return _chosen(_marks(trace).drop_nulls("number"))


def doubtful_marks(trace: Trace) -> DoubtfulMarks:
    """Which steps of :func:`chosen_marks` are not what one mark says."""
    marks = _marks(trace)
    numbered = marks.drop_nulls("number")
    chosen = _chosen(numbered)
    places = numbered.unique(["number", "track", "start_ns", "end_ns"]).group_by("number").len()
    used = chosen.group_by("number").len(name="used")
    repeated = places.join(used, on="number", how="left").filter(pl.col("len") > pl.col("used").fill_null(0))[
        "number"
    ]
    renumbered = chosen.filter(pl.col("step") != pl.col("number"))
    overlapping = chosen.filter(pl.col("end_ns") > FOLLOWING)["step"]
    unnumbered = marks.filter(pl.col("number").is_null())
    return DoubtfulMarks(
        repeated=_ordered(repeated),
        shared=_ordered(renumbered["number"]),
        renumbered=_ordered(renumbered["step"]),
        overlapping=_ordered(overlapping),
        unnumbered=unnumbered.height,
        example=unnumbered["name"][0] if unnumbered.height else "",
    )


def _ordered(steps: pl.Series) -> tuple[int, ...]:
    return tuple(steps.unique().sort().to_list())


def _marks(trace: Trace) -> pl.DataFrame:
    """Every bar called like a step on threads of the program, ``number`` null where it cannot be one.

    It cannot where the name says no number, and where it takes no time.

    Kineto repeats the marks on device tracks, where they tell nothing of the host.
    """
    rule: dict[str, Any] = load_toml("analysis", "metrics.toml")["profiler_step"]
    prefix: str = rule["prefix"]
    roles = trace.tracks.filter(pl.col("role").is_in(HOST_ROLES)).select("track", "role")
    return (
        trace.events.lazy()
        .with_row_index("event")
        .filter(pl.col("name").cat.starts_with(rule["without_number"]))
        .select("event", "track", "name", "cat", "start_ns", "duration_ns")
        .collect()
        .with_columns(pl.col("name", "cat").cast(pl.String))
        .filter(
            pl.col("name").str.starts_with(prefix) | (pl.col("name") == rule["without_number"]),
            pl.col("cat").ne_missing(rule["device_cat"]),
        )
        .join(roles, on="track", maintain_order="left")
        .select(
            pl.when(pl.col("duration_ns") > 0)
            .then(pl.col("name").str.strip_prefix(prefix).cast(pl.Int64, strict=False))
            .alias("number"),
            (pl.col("role") == PYTHON_MAIN).alias("main"),
            "start_ns",
            (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns"),
            "event",
            "name",
            "track",
            "duration_ns",
        )
    )


def _chosen(marks: pl.DataFrame) -> pl.DataFrame:
    starts_anew = (pl.col("start_ns") >= pl.col("end_ns").cum_max().shift(1).over("number")).fill_null(True)
    later = pl.int_range(pl.len()).over("number") > 0
    return (
        _on_one_thread(marks)
        .sort("number", "start_ns", "duration_ns", descending=[False, False, True])
        .with_columns(starts_anew.cum_sum().over("number").alias("stretch"))
        .sort("duration_ns", "start_ns", "event", descending=[True, False, False])
        .unique(["number", "stretch"], keep="first", maintain_order=True)
        .pipe(_without_nested)
        .sort("start_ns", "number")
        .with_columns(later.alias("later"), pl.col("number").max().alias("highest"))
        .select(
            pl.when("later")
            .then(pl.col("highest") + pl.col("later").cum_sum())
            .otherwise("number")
            .alias("step"),
            "number",
            "event",
            "track",
            "start_ns",
            "end_ns",
        )
        .sort("start_ns", "step")
    )


def _on_one_thread(marks: pl.DataFrame) -> pl.DataFrame:
    """The marks of the thread that runs the steps."""
    threads = (
        marks.group_by("track")
        .agg(pl.col("main").first(), pl.len(), pl.col("duration_ns").sum().alias("total_ns"))
        .sort("main", "len", "total_ns", "track", descending=[True, True, True, False])
    )
    return marks.join(threads.head(1).select("track"), on="track", how="semi", maintain_order="left")


def _without_nested(marks: pl.DataFrame) -> pl.DataFrame:
    """The marks but for those around several steps, and those inside of a step."""
    marks = marks.sort("track", "start_ns", "duration_ns", "number", descending=[False, False, True, False])
    parent = nest(marks.select("track", "start_ns", "duration_ns")).parent.tolist()
    below = [0] * marks.height
    for row in range(marks.height - 1, -1, -1):
        if parent[row] >= 0:
            below[parent[row]] += max(below[row], 1)
    inside = [False] * marks.height
    for row, above in enumerate(parent):
        inside[row] = above >= 0 and (inside[above] or below[above] == 1)
    return marks.filter(pl.Series(below, dtype=pl.Int64) <= 1, ~pl.Series(inside, dtype=pl.Boolean))
