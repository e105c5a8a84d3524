"""How far ahead of training stages work, read from the batch index in names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import polars as pl

from analysis.datafile import load_toml
from analysis.phases.results import STAGES, Depth
from analysis.phases.rules import STAGE_TRAIN, batch_indices, with_index_marks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.phases.model import Classified, Windows

INDEX: Final = "index"
INDEX_GAP: Final = "index_gap"


class IndexDepths(NamedTuple):
    """What batch indices tell."""

    depths: dict[str, Depth]
    """By stage; stages that indices tell nothing of are not there."""
    ahead: frozenset[str]
    """Patterns of names with an index ahead of what it is compared with."""


def index_depths(classified: Classified, windows: Windows) -> IndexDepths:
    """The depth of stages whose names hold a batch index (facts/phases.md 3 (a), (b)).

    depth = max over the bars of the stage of (its index - the index in training at that time), that is the
    first one in training from then on in the same window, else the last one before. Where no name of
    training has an index, the stage with the smallest one takes its place, and the difference is a lower
    bound. Without steps, training is looked for from then on only, which is a lower bound as well. A lead
    above the limit of prefetch.toml is none: such numbers do not count batches.

    Args:
        classified: The bars.
        windows: The steps.
    """
    bars = _indexed(classified, windows)
    staged = bars.filter(pl.col("stage") != STAGE_TRAIN)
    if staged.is_empty():
        return IndexDepths({}, frozenset())
    training = bars.filter(pl.col("stage") == STAGE_TRAIN)
    base = _hindmost(staged) if training.is_empty() else None
    reference = training if base is None else staged.filter(pl.col("stage") == base)
    leads = staged.with_columns(_leads(staged, reference, whole_trace=windows.whole_trace))
    most = load_toml("analysis.phases", "prefetch.toml")["lead"]["most"]
    known = leads.drop_nulls("lead").filter(pl.col("lead").is_between(0 if base is None else 1, most))
    depths = dict(_depths(known, base, whole_trace=windows.whole_trace))
    return IndexDepths(depths, frozenset(known.filter(pl.col("lead") > 0)["pattern"].unique()))


def patterns_of(names: pl.Series) -> pl.DataFrame:
    """The distinct names: name (Categorical), text, pattern (batch indices as ``{i}``), index."""
    distinct = names.unique().drop_nulls().cast(pl.Categorical)
    text = distinct.cast(pl.String)
    return pl.DataFrame(
        {
            "name": distinct,
            "text": text,
            "pattern": with_index_marks(text),
            "index": batch_indices(text).cast(pl.Int64),
        }
    )


def _indexed(classified: Classified, windows: Windows) -> pl.DataFrame:
    """Bars with a batch index and a stage: start_ns, window, stage, pattern, index; by start, then row."""
    frame = classified.bars.frame
    stages = pl.DataFrame(
        {
            "claim": np.arange(len(classified.rules.entries), dtype=np.int64),
            "stage": pl.Series([rule.stage for rule in classified.rules.entries], dtype=pl.String),
        }
    ).drop_nulls()
    bars = (
        frame.select("name", "start_ns", pl.Series("claim", classified.claim.astype(np.int64)))
        .with_row_index("row")
        .join(stages, on="claim")
        .join(patterns_of(frame["name"]).drop_nulls("index"), on="name")
    )
    return (
        bars.with_columns(windows.at(bars["start_ns"]))
        .drop_nulls("window")
        .sort("start_ns", "row")
        .select("start_ns", "window", "stage", "pattern", "index")
    )


def _hindmost(staged: pl.DataFrame) -> str:
    """The stage with the smallest index, of several the one nearest to training."""
    smallest = {stage: staged.filter(pl.col("stage") == stage)["index"].min() for stage in STAGES}
    known = staged["index"].min()
    return next(stage for stage in reversed(STAGES) if smallest[stage] == known)


def _leads(items: pl.DataFrame, reference: pl.DataFrame, *, whole_trace: bool) -> pl.Series:
    """By how much each index is ahead of the reference's at that time; null where there is none."""
    start, window, index = (reference[name].to_numpy() for name in ("start_ns", "window", "index"))
    following = np.searchsorted(start, items["start_ns"].to_numpy(), side="left")
    own = items["window"].to_numpy()
    place = np.minimum(following, start.size - 1)
    known = (following < start.size) & (window[place] == own)
    if not whole_trace:
        before = np.maximum(following - 1, 0)
        late = ~known & (following > 0) & (window[before] == own)
        place, known = np.where(late, before, place), known | late
    leads = pl.DataFrame({"lead": items["index"].to_numpy() - index[place], "known": known})
    return leads.select(pl.when("known").then("lead").alias("lead"))["lead"]


def _depths(known: pl.DataFrame, base: str | None, *, whole_trace: bool) -> Iterator[tuple[str, Depth]]:
    rule: dict[str, Any] = load_toml("analysis.phases", "prefetch.toml")["names"]
    for stage in STAGES:
        own = known.filter(pl.col("stage") == stage)
        if own.is_empty() or stage == base:
            continue
        farthest = own.filter(pl.col("lead") == pl.col("lead").max())
        yield (
            stage,
            Depth(
                stage=stage,
                batches=int(farthest["lead"][0]),
                at_least=whole_trace or base is not None,
                evidence=INDEX if base is None else INDEX_GAP,
                names=tuple(farthest["pattern"].unique().sort().head(rule["most"])),
                behind=base,
            ),
        )
