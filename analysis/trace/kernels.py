"""Compute kernels on the device streams of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analysis.datafile import load_toml
from analysis.trace.model import DEVICE_STREAM

if TYPE_CHECKING:
    from analysis.trace.model import Trace


def kernel_bars(trace: Trace) -> pl.LazyFrame:
    """The compute kernels, in the order of the file: ``event`` beside the columns of EVENTS.

    Told by their Task Type, in Kineto traces by their category; waits, copies, events and kernels that do the
    work of a communication operation are none.
    """
    rule = load_toml("analysis.trace", "kernels.toml")["kernels"]
    task_types = pl.Series(rule["task_types"], dtype=pl.Categorical)
    is_kernel = pl.col("task_type").is_in(task_types.implode()).fill_null(value=False) | (
        pl.col("cat").cast(pl.String) == rule["cat"]
    ).fill_null(value=False)
    name = pl.col("name").cat
    others = [name.starts_with(prefix) for prefix in rule["not_prefixes"]]
    others += [name.ends_with(suffix) for suffix in rule["not_suffixes"]]
    return trace.scan(DEVICE_STREAM).filter(is_kernel, ~pl.any_horizontal(others).fill_null(value=False))
