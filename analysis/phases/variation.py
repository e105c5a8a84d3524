"""Training steps side by side: how much they differ, which is the slowest, and what takes longer in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from analysis.datafile import load_toml
from analysis.phases.batch_index import patterns_of
from analysis.phases.model import PHASES
from analysis.phases.results import Growth, Variation
from analysis.units import mean

if TYPE_CHECKING:
    from analysis.phases.model import Classified, PhaseTimes, Windows

PHASE: Final = "phase"
NAME: Final = "name"
GAP: Final = "gap"

_MOST_NAMES: Final = 5
_PAIR: Final = 2
"""Of so many steps none is the usual one."""


class _Slowest(NamedTuple):
    """The longest of the averaged windows."""

    place: int
    """Its row in ``Windows.frame``."""
    step: int | None
    others: tuple[int, ...]
    """Rows of the other averaged windows that are not unusually short; at least one."""


def step_variation(
    classified: Classified, windows: Windows, times: PhaseTimes, slices: pl.DataFrame
) -> Variation | None:
    """How the averaged steps differ, and what the slowest spends more on than the others do (spec P6).

    spread = (longest - shortest) / mean, of the durations of the steps on the host. The longest stands out
    where it is above both the median and the mean of the steps it is compared with by more than the limit of
    phases.toml; of an even number of steps the median is the mean of the two in the middle. Of two steps the
    longer one stands out where their spread is above the limit. What grew is the time in the slowest step
    less the mean over the other averaged steps that are not unusually short: by phase (attributed time), by
    name (exclusive time of the main thread) and for the time without any bar.

    Args:
        classified: The bars.
        windows: The steps.
        times: What the phases take of each step.
        slices: The frame of :func:`analysis.phases.slices.slices`.

    Returns:
        None where fewer than two steps are averaged.
    """
    steps = windows.frame.with_row_index("window").with_columns(
        (pl.col("end_ns") - pl.col("start_ns")).alias("ns"), pl.col("window").cast(pl.Int64)
    )
    steps = steps.filter(~pl.col("excluded")).sort("ns", "window", descending=[True, False])
    if steps.height < 2:
        return None
    longest = steps.row(0, named=True)
    total_ns = int(steps["ns"].sum())
    spread = (longest["ns"] - steps["ns"][-1]) * steps.height / total_ns if total_ns else 0.0
    limit: float = load_toml("analysis.phases", "phases.toml")["variation"]["spread_above"]
    middle = steps["ns"][(steps.height - 1) // 2 : steps.height // 2 + 1]
    median_ns = mean(int(middle.sum()), middle.len())
    short = _short(steps, median_ns, limit)
    others = steps[1:].filter(~pl.col("step").is_in(short["step"].implode()))
    slowest = _Slowest(longest["window"], longest["step"], tuple(others["window"]))
    others_ns = mean(int(others["ns"].sum()), others.height)
    # Unusually short steps pull the median down, but nobody compares with them.
    usual_ns = max(median_ns, others_ns)
    compared = steps.filter(pl.col("window").is_in([slowest.place, *slowest.others]))
    return Variation(
        spread=spread,
        flagged=spread > limit if steps.height == _PAIR else longest["ns"] > (1 + limit) * usual_ns,
        median_ns=median_ns,
        slowest=slowest.step,
        slowest_ns=longest["ns"],
        others_ns=others_ns,
        short=tuple(short.select("step", "ns").iter_rows()),
        phases=_phases(times, compared, slowest),
        names=_names(classified, windows, slices.join(compared.select("window"), on="window"), slowest),
    )


def _short(steps: pl.DataFrame, median_ns: int, limit: float) -> pl.DataFrame:
    """Steps that take unusually little, in their order; of two steps none is the odd one."""
    several = steps.height > _PAIR
    return steps.filter(pl.lit(several), pl.col("ns") < (1 - limit) * median_ns).sort("window")


def _phases(times: PhaseTimes, compared: pl.DataFrame, slowest: _Slowest) -> tuple[Growth, ...]:
    """The rows of the phase table that are known."""
    own = pl.col("step").eq_missing(pl.lit(slowest.step, pl.Int64))
    # Nothing can be said of phases that no name tells.
    averaged = times.by_step.drop_nulls("attributed_ns").join(compared.select("step"), on="step")
    rows = averaged.group_by("phase").agg(_sides("attributed_ns", own, slowest)).pipe(_by_growth)
    return tuple(
        Growth(PHASE, phase, phase if phase in PHASES else None, ns, others_ns)
        for phase, ns, others_ns in rows.select("phase", "ns", "others_ns").iter_rows()
    )


def _names(
    classified: Classified, windows: Windows, pieces: pl.DataFrame, slowest: _Slowest
) -> tuple[Growth, ...]:
    """Names of the main thread, and its time without any, that grew most.

    Args:
        classified: The bars.
        windows: The steps.
        pieces: The slices of the steps that are compared.
        slowest: The longest step.
    """
    main = pieces.filter(pl.col("track") == windows.main_track)
    names = classified.bars.frame["name"]
    named = (
        main.with_columns(
            names.gather(main["bar"].replace(-1, None)).alias("name"),
            (pl.col("bar") < 0).alias("gap"),
            (pl.col("end_ns") - pl.col("start_ns")).alias("piece_ns"),
        )
        .join(patterns_of(names), on="name", how="left")
        .with_columns(pl.col("pattern").fill_null(""))
    )
    own = pl.col("window") == slowest.place
    keys = ("gap", "pattern")
    phases = named.filter(own).group_by(*keys, "phase").agg(pl.sum("piece_ns"))
    longest = phases.sort("piece_ns", "phase", descending=[True, False]).unique(keys, keep="first")
    rows = named.group_by(keys).agg(_sides("piece_ns", own, slowest)).rename({"pattern": "name"})
    grown = rows.pipe(_by_growth).filter(pl.col("ns") > pl.col("others_ns")).head(_MOST_NAMES)
    return tuple(
        Growth(GAP if gap else NAME, name, PHASES[phase] if phase >= 0 else None, ns, others_ns)
        for gap, name, phase, ns, others_ns in grown.join(
            longest, left_on=["gap", "name"], right_on=keys, maintain_order="left"
        )
        .select("gap", "name", "phase", "ns", "others_ns")
        .iter_rows()
    )


def _sides(time: str, own: pl.Expr, slowest: _Slowest) -> tuple[pl.Expr, pl.Expr]:
    """A time in the slowest step, and its mean over the others, rounded half up."""
    others = pl.col(time).filter(~own).sum()
    count = len(slowest.others)
    mean_ns = (2 * others + count) // (2 * count)
    return pl.col(time).filter(own).sum().alias("ns"), mean_ns.alias("others_ns")


def _by_growth(rows: pl.DataFrame) -> pl.DataFrame:
    """By how much more, descending, then name."""
    names = [name for name in ("phase", "name", "gap") if name in rows.columns]
    return rows.sort(pl.col("others_ns") - pl.col("ns"), *names)
