"""What became of the rules of the user: which fit, which decided nothing, which fit nearly every name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from analysis.datafile import load_toml
from analysis.notes import Note
from analysis.phases.model import PHASES
from analysis.units import count_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.phases.model import Classified
    from analysis.phases.rules import Rule
    from analysis.trace.nesting import Flags, Ints

_MOST_NAMED: Final = 5


def rule_notes(classified: Classified, file: str) -> tuple[Note, ...]:
    """One note on all rules of the user, then one for each thing that may be wrong with some of them.

    A rule is idle where no name of the trace is left for it, without effect where every bar with such a name
    lies in one whose phase it may not refine (facts/phases.md 2 (4)), and wide where it takes more of the
    names than the limit of phases.toml.

    Args:
        classified: The bars, classified by these rules.
        file: The file of the rules, as it is shown.
    """
    rules = classified.rules.entries
    own = [place for place, rule in enumerate(rules) if rule.user]
    names = classified.bars.frame["name"].unique().drop_nulls().cast(pl.String)
    fitted = np.bincount(classified.rules.places(names), minlength=len(rules) + 1)
    decided = _counts(classified.claim[_deciders(classified)], len(rules))
    waits = _counts(classified.claim[classified.wait], len(rules))
    idle = [rules[place] for place in own if not fitted[place]]
    without_effect = [
        rules[place]
        for place in own
        if fitted[place] and rules[place].phase in PHASES and not decided[place] and not waits[place]
    ]
    share = load_toml("analysis.phases", "phases.toml")["user_rules"]["wide_above"]
    wide = [rules[place] for place in own if fitted[place] > share * len(names)]
    bars = int(decided[own].sum())
    summary = {"count": count_text(len(own)), "bars": count_text(bars)}
    return (
        Note("phase_rules", summary, file),
        *_about("phase_rules_idle", idle, file),
        *_about("phase_rules_inside", without_effect, file),
        *_about("phase_rules_wide", wide, file),
    )


def _deciders(classified: Classified) -> Flags:
    """Whether each bar's own name decided its phase."""
    own: Flags = classified.origin == np.arange(classified.origin.size)
    return own


def _counts(places: Ints, rules: int) -> Ints:
    """How many bars each rule has."""
    return np.bincount(places[places >= 0], minlength=rules).astype(np.int64)


def _about(kind: str, rules: Sequence[Rule], file: str) -> tuple[Note, ...]:
    if not rules:
        return ()
    names = ", ".join(rule.id for rule in rules[:_MOST_NAMED])
    more = ", …" if len(rules) > _MOST_NAMED else ""
    return (Note(kind, {"count": count_text(len(rules)), "rules": names + more}, file),)
