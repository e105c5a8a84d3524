"""Which device bars of a trace are copies, and when the device computes."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import polars as pl

from analysis.datafile import load_toml
from analysis.trace.intervals import Intervals
from analysis.trace.kernels import kernel_bars
from analysis.trace.model import COMPUTING, DEVICE_STREAM

if TYPE_CHECKING:
    from collections.abc import Iterable

    from analysis.trace.model import Trace

_DURATION = ("device", "start_ns", "duration_ns")


def copy_bars(trace: Trace) -> pl.DataFrame:
    """Every physical copy once: event, direction, start_ns, end_ns, duration_ns, bytes, stream; by start.

    A bar that is a copy only by its task type repeats one that says more if it has the same device, start and
    duration; so does one with the same launch on another track.
    """
    rules = _rules()
    by_name = _starts_with(rules["names"])
    by_task = pl.col("task_type").cast(pl.String).is_in([entry["name"] for entry in rules["task_types"]])
    told = by_name.fill_null(value=False) | pl.col("operation").is_not_null()
    return (
        trace.scan(DEVICE_STREAM)
        .filter(told | by_task)
        .join(
            trace.tracks.lazy().select("track", "device", pl.col("thread").str.strip_chars().alias("stream")),
            on="track",
        )
        .with_columns(told.alias("told"), _direction(rules).alias("direction"))
        .filter(pl.col("told") | ~pl.col("told").any().over(_DURATION))
        .sort(pl.col("direction").is_null(), "event")
        .filter(
            (pl.col("connection_id") < 0).fill_null(value=True)
            | pl.struct(*_DURATION, "connection_id").is_first_distinct()
        )
        .sort("start_ns", "event")
        .select(
            "event",
            "direction",
            "start_ns",
            (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns"),
            "duration_ns",
            "bytes",
            "stream",
        )
        .collect()
    )


def computing(trace: Trace) -> Intervals | None:
    """When the device computes; None if nothing tells.

    The bars of the Computing track (kernels only, no copies, no communication: facts/formats.md 7.5), else
    the kernels on device streams.
    """
    analysed = _spans(trace.scan(COMPUTING))
    found = analysed if analysed.height else kernels(trace)
    return Intervals.of(found["start_ns"], found["end_ns"]) if found.height else None


def kernels(trace: Trace) -> pl.DataFrame:
    """Compute kernels on device streams: start_ns, end_ns, by start."""
    return _spans(kernel_bars(trace))


def _spans(bars: pl.LazyFrame) -> pl.DataFrame:
    end = (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns")
    return bars.select("start_ns", end).sort("start_ns", "end_ns").collect()


def _starts_with(entries: Iterable[dict[str, Any]]) -> pl.Expr:
    return reduce(or_, (pl.col("name").cat.starts_with(entry["prefix"]) for entry in entries))


def _direction(rules: dict[str, Any]) -> pl.Expr:
    """What ``operation`` says, else what the name says; null where neither tells a known direction."""
    said = {entry["operation"]: entry["direction"] for entry in rules["operations"]}
    words = pl.col("operation").cast(pl.String).str.to_lowercase().str.replace_all("_", " ")
    text = words.str.replace(rules["operation"]["calls"], "")
    named: pl.Expr = pl.lit(None, pl.String)
    for entry in rules["named"]:
        named = (
            pl.when(pl.col("name").cat.starts_with(entry["prefix"]))
            .then(pl.lit(entry["direction"]))
            .otherwise(named)
        )
    return pl.coalesce(text.replace_strict(said, default=None, return_dtype=pl.String), named)


def _rules() -> dict[str, Any]:
    return load_toml("analysis", "copies.toml")
