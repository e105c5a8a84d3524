"""What is left of a step when its phases are known, and what the main thread does in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from analysis.phases.model import NAMED, REMAINDER
from analysis.phases.rules import with_index_marks
from analysis.units import mean

if TYPE_CHECKING:
    from analysis.phases.model import Classified, Windows

_NAMES: Final = 5
"""Names told of a step (spec P1)."""
_PARTS: Final = ("device_sync_ns", "named_ns", "no_event_ns")
_MEAN_NAMED: Final = {"name": pl.String(), "calls": pl.Float64(), "exclusive_ns": pl.Int64()}


def remainder(main: pl.DataFrame, windows: Windows) -> pl.DataFrame:
    """Every step with the parts of its time without a phase (facts/phases.md 2 (9)): columns REMAINDER.

    Args:
        main: The frame of :func:`analysis.phases.main_thread.main_pieces`.
        windows: The steps.
    """
    rest = pl.col("phase") < 0
    own = pl.col("ns") - pl.col("sync_ns")
    sums = main.group_by("window").agg(
        device_sync_ns=pl.col("sync_ns").filter(rest).sum(),
        named_ns=own.filter(rest & (pl.col("bar") >= 0)).sum(),
        no_event_ns=own.filter(rest & (pl.col("bar") < 0)).sum(),
        sync_anywhere_ns=pl.col("sync_ns").sum(),
    )
    return (
        _numbered(windows)
        .with_columns(step_ns=pl.col("end_ns") - pl.col("start_ns"))
        .join(sums, on="window", how="left", maintain_order="left")
        .select(*REMAINDER)
        .with_columns(pl.exclude("step", "excluded").fill_null(0))
        .cast(REMAINDER)  # type: ignore[arg-type]
    )


def mean_remainder(parts: pl.DataFrame, unclassified_ns: int) -> dict[str, int]:
    """The frame of :func:`remainder` as a mean over the averaged steps.

    Args:
        parts: Every step.
        unclassified_ns: The mean of the unclassified row, which the three parts of it sum to.
    """
    averaged = parts.filter(~pl.col("excluded"))
    names = [name for name in REMAINDER if name.endswith("_ns")]
    means = {name: mean(int(averaged[name].sum()), averaged.height) for name in names}
    fitted = summing_to(unclassified_ns, [means[name] for name in _PARTS])
    return means | dict(zip(_PARTS, fitted, strict=True))


def summing_to(whole: int, parts: list[int]) -> list[int]:
    """Rounded parts of a whole that was rounded as well: the largest takes what rounding lost or won."""
    largest = parts.index(max(parts))
    return [part + (whole - sum(parts) if place == largest else 0) for place, part in enumerate(parts)]


def names_by_step(classified: Classified, main: pl.DataFrame, windows: Windows) -> pl.DataFrame:
    """The names that hold most of each step's named remainder: columns NAMED, by step, then time."""
    return (
        _named(classified, main)
        .join(_numbered(windows).select("window", "step"), on="window", maintain_order="left")
        .sort("window", "exclusive_ns", "name", descending=[False, True, False], nulls_last=True)
        .group_by("window", maintain_order=True)
        .head(_NAMES)
        .select(*NAMED)
        .cast(NAMED)  # type: ignore[arg-type]
    )


def mean_names(classified: Classified, main: pl.DataFrame, windows: Windows) -> pl.DataFrame:
    """The names that hold most of it over all averaged steps: name, calls per step, mean exclusive_ns."""
    averaged = _numbered(windows).filter(~pl.col("excluded"))
    steps = averaged.height
    total = pl.col("exclusive_ns").sum()
    return (
        _named(classified, main)
        .filter(pl.col("window").is_in(averaged["window"].implode()))
        .group_by("name")
        .agg(calls=pl.col("calls").sum() / steps, exclusive_ns=(2 * total + steps) // (2 * steps))
        .sort("exclusive_ns", "name", descending=[True, False], nulls_last=True)
        .head(_NAMES)
        .cast(_MEAN_NAMED)  # type: ignore[arg-type]
    )


def _named(classified: Classified, main: pl.DataFrame) -> pl.DataFrame:
    """Time without a phase by window and innermost name: window, name, calls, exclusive_ns."""
    rest = main.filter((pl.col("phase") < 0) & (pl.col("bar") >= 0) & (pl.col("ns") > pl.col("sync_ns")))
    names = classified.bars.frame["name"].gather(rest["bar"])
    distinct = names.unique()
    texts = pl.DataFrame({"code": distinct, "name": with_index_marks(distinct.cast(pl.String))})
    return (
        rest.with_columns(names.alias("code"))
        .join(texts, on="code", how="left", nulls_equal=True)
        .group_by("window", "name")
        .agg(
            pl.col("bar").n_unique().cast(pl.Int64).alias("calls"),
            exclusive_ns=(pl.col("ns") - pl.col("sync_ns")).sum(),
        )
    )


def _numbered(windows: Windows) -> pl.DataFrame:
    return windows.frame.with_row_index("window").with_columns(pl.col("window").cast(pl.Int64))
