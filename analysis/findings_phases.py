"""What stands out in the phases of training steps: phases, waits, pairs, prefetching, slow steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analysis.datafile import load_toml
from analysis.finding import FINE, LOOK, UNKNOWN, Finding, weight
from analysis.notes import Missing
from analysis.phases.model import UNCLASSIFIED
from analysis.phases.tables import advisable, all_syncs, is_fused, largest_phase, shorter_side_ns
from analysis.units import UNKNOWN as UNKNOWN_TEXT
from analysis.units import count_text, mean, percent_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from analysis.metrics import CoreMetrics
    from analysis.notes import Value
    from analysis.phases.model import PhaseTimes
    from analysis.phases.results import Depth, Pair, Phases, Prefetch, Variation
    from analysis.report.source import ReportSource

_PARTS = ("device_sync_ns", "named_ns", "no_event_ns")


def phase_findings(source: ReportSource, idle_ns: int | None) -> Iterator[Finding]:
    """Findings on the phases of one capture; none for inference and without a trace.

    Args:
        source: The capture, analysed.
        idle_ns: Time of a step that the device waits for the host: no more can be won on the host. None
            where no file tells.
    """
    phases = source.phases
    if isinstance(phases, Missing) or source.scenario.scenario == "inference":
        return
    yield from _largest_phase(phases.times)
    yield from _unclassified(phases.times)
    yield from _waits(phases, source.metrics, idle_ns)
    yield from _device_syncs(phases, source.metrics, idle_ns)
    for pair in phases.pairs:
        yield from _pair(pair, phases.times, source.metrics)
    yield from _prefetch(phases.prefetch)
    if phases.variation is not None and phases.variation.flagged:
        yield _slow_step(phases, phases.variation, source.metrics)


def _limits(table: str) -> dict[str, Any]:
    limits: dict[str, Any] = load_toml("analysis.phases", "phases.toml")[table]
    return limits


def _at_stake(time_ns: int, idle_ns: int | None) -> int:
    """What can be won of a time on the host: what it does while the device works costs nothing."""
    return time_ns if idle_ns is None else min(time_ns, idle_ns)


def _largest_phase(times: PhaseTimes) -> Iterator[Finding]:
    largest = largest_phase(times)
    if largest is None:
        return
    yield Finding(
        FINE,
        "largest_phase",
        "phases",
        "phases",
        {
            "phase": largest.phase,
            "time": time_text(largest.attributed_ns),
            "share": percent_text(largest.share),
        },
        largest.attributed_ns,
    )


def _unclassified(times: PhaseTimes) -> Iterator[Finding]:
    if times.confidence != "low":
        return
    parts = times.mean_remainder
    largest = max(_PARTS, key=lambda part: parts[part])
    row = next(row for row in times.mean.iter_rows(named=True) if row["phase"] == UNCLASSIFIED)
    yield Finding(
        UNKNOWN,
        "unclassified",
        "phases",
        "phases",
        {
            "share": percent_text(row["share"]),
            "limit": percent_text(_limits("confidence")["unclassified_above"], 0),
            "part": largest,
            "time": time_text(parts[largest]),
        },
        row["attributed_ns"],
    )


def _waits(phases: Phases, metrics: CoreMetrics, idle_ns: int | None) -> Iterator[Finding]:
    for row in phases.waits.by_name.iter_rows(named=True):
        if row["flagged"]:
            yield _wait(row, metrics, idle_ns)


def _wait(row: Mapping[str, Any], metrics: CoreMetrics, idle_ns: int | None) -> Finding:
    stake_ns = _at_stake(row["per_step_ns"], idle_ns)
    return Finding(
        weight(stake_ns, metrics),
        "wait" if row["producer"] is None else "wait_for",
        "phases",
        "waits",
        {
            "name": row["name"],
            "time": time_text(row["per_step_ns"]),
            "share": percent_text(row["share"]),
            "max": time_text(row["max_ns"]),
            "producer": row["producer"] or UNKNOWN_TEXT,
        },
        stake_ns,
        row["name"],
    )


def _device_syncs(phases: Phases, metrics: CoreMetrics, idle_ns: int | None) -> Iterator[Finding]:
    whole, limit = all_syncs(phases), _limits("star")["blocked_share_at_least"]
    if whole.share is None or whole.share < limit:
        return
    first = phases.waits.device_syncs.row(0, named=True)
    stake_ns = _at_stake(whole.per_step_ns, idle_ns)
    yield Finding(
        weight(stake_ns, metrics),
        "device_sync",
        "phases",
        "waits",
        {
            "time": time_text(whole.per_step_ns),
            "share": percent_text(whole.share),
            "limit": percent_text(limit, 0),
            "name": first["name"],
            "phase": first["phase"] or UNCLASSIFIED,
        },
        stake_ns,
        first["name"],
    )


def _pair(pair: Pair, times: PhaseTimes, metrics: CoreMetrics) -> Iterator[Finding]:
    """A pair that is serial, or fine; one that cannot be judged is told in its chapter only."""
    if is_fused(times, pair):
        yield Finding(FINE, "fused_update", "phases", "phases")
        return
    if pair.verdict == "not_observable":
        return
    values: dict[str, Value] = {
        "phase": pair.phases[0],
        "other": pair.phases[1],
        "ratio": percent_text(max(pair.host_ratio or 0.0, pair.device_ratio or 0.0)),
        "confidence": times.confidence,
    }
    if not advisable(times, pair):
        yield Finding(FINE, f"pair_{pair.verdict}", "phases", "asynchrony", values)
        return
    stake_ns = shorter_side_ns(times, pair)
    severity = weight(stake_ns, metrics) if times.confidence == "high" else LOOK
    values["time"] = time_text(stake_ns)
    yield Finding(severity, "pair_serial", "phases", "asynchrony", values, stake_ns)


def _prefetch(prefetch: Prefetch) -> Iterator[Finding]:
    if prefetch.present is None:
        return
    if not prefetch.present:
        yield Finding(LOOK, "prefetch_absent", "phases", "asynchrony")
    elif prefetch.runs_ahead is None:
        yield Finding(UNKNOWN, "prefetch_maybe", "phases", "asynchrony")
    elif not prefetch.runs_ahead:
        yield Finding(LOOK, "prefetch_not_ahead", "phases", "asynchrony")
    else:
        yield _depth(prefetch.nearest)


def _depth(nearest: Depth | None) -> Finding:
    """How far ahead the stage works that is least ahead; "at least 0" says nothing."""
    if nearest is None or (nearest.at_least and not nearest.batches):
        return Finding(FINE, "prefetch_ahead_unmeasured", "phases", "asynchrony")
    kind = "prefetch_ahead_at_least" if nearest.at_least else "prefetch_ahead"
    values: dict[str, Value] = {"stage": nearest.stage, "depth": count_text(nearest.batches)}
    return Finding(FINE, kind, "phases", "asynchrony", values)


def _slow_step(phases: Phases, variation: Variation, metrics: CoreMetrics) -> Finding:
    """A step that stands out, with the phase and the name that grew most."""
    averaged = int((~phases.times.steps["excluded"]).sum())
    stake_ns = mean(variation.slowest_ns - variation.others_ns, averaged)
    phase = variation.phases[0]
    values: dict[str, Value] = {
        "step": UNKNOWN_TEXT if variation.slowest is None else variation.slowest,
        "time": time_text(variation.slowest_ns),
        "others": time_text(variation.others_ns),
        "phase": phase.name,
        "grown": time_text(phase.grown_ns),
    }
    kind = "slow_step"
    if variation.names:
        name = variation.names[0]
        kind = "slow_step_gap" if name.kind == "gap" else "slow_step_name"
        values |= {"name": name.name, "name_grown": time_text(name.grown_ns)}
    return Finding(weight(stake_ns, metrics), kind, "phases", "steps", values, stake_ns)
