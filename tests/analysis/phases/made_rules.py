"""Rules for tests that look at what a rule tells, not at what it matches."""

from __future__ import annotations

from analysis.phases.model import FORWARD
from analysis.phases.rules import ANCHORED, Rule


def rule_named(
    ident: str, phase: str | None = FORWARD, *, note: str | None = None, user: bool = False
) -> Rule:
    """A rule of this id that claims a phase."""
    return Rule(
        id=ident,
        strength=ANCHORED,
        pattern="^never$",
        heads=(),
        companions=(),
        phase=phase,
        wait="no",
        frameworks=("torchrec",),
        stage=None,
        writes_table=False,
        holds=None,
        note=note,
        source=f"source of {ident}",
        user=user,
    )
