"""Names that speak of work for later batches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import polars as pl

from analysis.datafile import load_toml
from analysis.phases.batch_index import patterns_of
from analysis.phases.model import BACKWARD, DENSE_UPDATE, EMBEDDING_UPDATE, FORWARD, PHASES
from analysis.phases.results import EVENTS

if TYPE_CHECKING:
    from analysis.phases.model import Classified

BATCH_INDEX: Final = "batch_index"

_TRAINING: Final = (FORWARD, BACKWARD, EMBEDDING_UPDATE, DENSE_UPDATE)
_TRAINING_CODES: Final = [PHASES.index(phase) for phase in _TRAINING]
_NO_LETTER: Final = r"[^\p{L}\p{N}]"


class Presence(NamedTuple):
    """What speaks of prefetching."""

    events: pl.DataFrame
    """Columns EVENTS."""
    rows: pl.Series
    """The bars that are counted in it, UInt32."""


def find_presence(classified: Classified, ahead: frozenset[str]) -> Presence:
    """Bars whose names speak of work for later batches (spec P5, patterns in prefetch.toml).

    The first pattern that a name fits is the reason: ranges of frameworks, words of free text, then a batch
    index ahead of training. Names that the rules switch off speak of nothing.

    Args:
        classified: The bars.
        ahead: Patterns of names whose batch index is ahead.
    """
    frame = classified.bars.frame
    names = _reasons(patterns_of(frame["name"]), ahead)
    names = names.filter(~classified.rules.switched_off(names["name"].cast(pl.String)))
    rows = frame["name"].is_in(names["name"].implode()).fill_null(value=False).arg_true()
    phases = np.array([*(rule.phase in _TRAINING for rule in classified.rules.entries), False])
    bars = (
        frame.select(pl.col("name", "duration_ns", "thread").gather(rows))
        .with_columns(
            row=rows,
            trains=pl.Series(phases[classified.claim[rows.to_numpy()]]),
            inside=pl.Series(np.isin(classified.phase[rows.to_numpy()], _TRAINING_CODES)),
        )
        .join(names, on="name")
        .filter(~pl.col("free") | ~(pl.col("trains") | pl.col("inside") & ~pl.col("inside_training")))
        .sort("row")
    )
    events = (
        bars.group_by("pattern", "why", pl.col("thread").cast(pl.String))
        .agg(pl.len().alias("count"), pl.col("duration_ns").sum().alias("total_ns"))
        .rename({"pattern": "name"})
        .sort("total_ns", "name", "thread", "why", descending=[True, False, False, False])
    )
    return Presence(events.select(*EVENTS).cast(EVENTS), bars["row"])  # type: ignore[arg-type]


def _reasons(names: pl.DataFrame, ahead: frozenset[str]) -> pl.DataFrame:
    """Names that fit a pattern: name, pattern, why, free (whether by words of free text), inside_training."""
    data: dict[str, Any] = load_toml("analysis.phases", "prefetch.toml")
    text = pl.col("text")
    none_of = ~pl.any_horizontal(text.str.contains(entry["pattern"]) for entry in data["negatives"])
    framework = pl.coalesce(
        pl.when(text.str.contains(entry["pattern"])).then(pl.lit(entry["id"])) for entry in data["frameworks"]
    )
    token = pl.coalesce(
        pl.when(none_of & text.str.contains(_words(entry["tokens"]))).then(pl.lit(entry["id"]))
        for entry in data["tokens"]
    )
    index = pl.when(pl.col("pattern").is_in(sorted(ahead))).then(pl.lit(BATCH_INDEX))
    anywhere = [entry["id"] for entry in data["tokens"] if entry["inside_training"]]
    return (
        names.with_columns(framework.alias("framework"), token.alias("token"), index.alias("index_ahead"))
        .with_columns(pl.coalesce("framework", "token", "index_ahead").alias("why"))
        .drop_nulls("why")
        .select(
            "name",
            "pattern",
            "why",
            pl.col("framework").is_null().and_(pl.col("token").is_not_null()).alias("free"),
            pl.col("why").is_in(anywhere).alias("inside_training"),
        )
    )


def _words(tokens: list[str]) -> str:
    """Regex of whole tokens in a row."""
    row = f"{_NO_LETTER}+".join(re.escape(token) for token in tokens)
    return f"(?i)(^|{_NO_LETTER}){row}({_NO_LETTER}|$)"
