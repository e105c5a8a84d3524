"""Simulated training profiles with the answers of the simulation, analysed as a user's profile is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from analysis.notes import Missing
from analysis.profile.discover import discover
from analysis.result import Analysis
from tests.generators import gen_recsys_trace as generator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from analysis.phases.results import Phases


@dataclass(frozen=True, eq=False)
class Simulated:
    """One simulated rank: what was found in its files, and what the simulation knows."""

    phases: Phases
    rank: Any
    truth: dict[str, Any]

    def exclusive(self) -> list[Exclusive]:
        """Spans of the main thread but the steps themselves, with their time outside of their children."""
        spans = [span for span in self.rank.spans if span.tid == self.rank.main]
        spans.sort(key=lambda span: (span.start, -span.end))
        found: list[Exclusive] = []
        own: list[int] = []
        above: list[int | None] = []
        for at, span in enumerate(spans):
            up = at - 1 if at else None
            while up is not None and spans[up].end <= span.start:
                up = above[up]
            above.append(up)
            own.append(span.end - span.start)
            if up is not None:
                own[up] -= own[at]
        place: dict[int, int] = {}
        for at, span in enumerate(spans):
            if span.name.startswith("ProfilerStep#"):
                continue
            place[at] = len(found)
            parent = above[at]
            found.append(
                Exclusive(span.name, span.step, own[at], None if parent is None else place.get(parent))
            )
        return found


@dataclass(frozen=True)
class Exclusive:
    """Time of one span outside of its children."""

    name: str
    step: int
    ns: int
    parent: int | None
    """Place of the span around it, None directly below the step."""


def simulate(
    arguments: str,
    folder: Path,
    *,
    before_step: Callable[[Any, int], object] = lambda rank, at: None,
    renamed: Callable[[str], str] = lambda name: name,
) -> Simulated:
    """Simulate one rank, write its files and analyse them.

    Args:
        arguments: Command line of the generator.
        folder: Where the profile goes.
        before_step: Called with the rank and the place of each step before it runs.
        renamed: What a span is called in the files.
    """
    options = generator.parse([*arguments.split(), "--out", str(folder)])
    rank = generator.Rank(0, options)
    for at in range(options.steps):
        before_step(rank, at)
        with rank.train_step(options.first_step + at):
            generator.FLAVOURS[options.flavour](rank, 100 + at)
    truth = generator.Truth(rank)
    for span in rank.spans:
        span.name = renamed(span.name)
    generator.write_rank(rank, truth, str(folder), options.csv == "new")
    profile = discover(folder, ())
    phases = Analysis(profile, profile.captures[0]).phases
    assert not isinstance(phases, Missing)
    return Simulated(phases, rank, truth.report())


def ns(us: float) -> int:
    """Microseconds of the simulation, which have three decimals."""
    return round(Fraction(str(us)) * 1000)


def largest(spans: list[Exclusive], count: int) -> list[tuple[str, int]]:
    """Names by exclusive time over all steps."""
    times = Counter[str]()
    for span in spans:
        times[span.name] += span.ns
    return sorted(times.items(), key=lambda item: (-item[1], item[0]))[:count]
