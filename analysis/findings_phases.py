"""What stands out in the phases of training steps: phases, waits, pairs, prefetching, slow steps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from analysis.datafile import load_toml
from analysis.finding import ACTION, FINE, LOOK, UNKNOWN, Finding, weight
from analysis.notes import Missing
from analysis.phases.model import EMBEDDING_UPDATE, PAIRS, UNCLASSIFIED
from analysis.phases.tables import advisable, all_syncs, is_fused, largest_phase, too_small
from analysis.units import UNKNOWN as UNKNOWN_TEXT
from analysis.units import count_text, mean, percent_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from analysis.host import Verdict
    from analysis.metrics import CoreMetrics
    from analysis.notes import Value
    from analysis.phases.model import PhaseTimes
    from analysis.phases.results import Depth, Pair, Phases, Prefetch, Variation
    from analysis.report.source import ReportSource

_PREFETCH_ROW: Final[dict[str, Value | None]] = {"subject": "prefetch"}
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
    whole, steps = phases.windows.whole_trace, _iterations(source, phases)
    for finding in _findings(source, phases, None if idle_ns is None else idle_ns * steps):
        values = {**finding.values, "per": "trace" if whole else "step"}
        stake_ns = finding.stake_ns // steps
        # A judgement on the whole trace weighs what one of its steps would.
        acts = finding.severity != ACTION or weight(stake_ns, source.metrics) == ACTION
        yield replace(finding, severity=finding.severity if acts else LOOK, values=values, stake_ns=stake_ns)


def _iterations(source: ReportSource, phases: Phases) -> int:
    """How many iterations a time of the phases is of: one, or where no step is marked all of them."""
    return source.metrics.iterations.recorded if phases.windows.whole_trace else 1


def _findings(source: ReportSource, phases: Phases, idle_ns: int | None) -> Iterator[Finding]:
    """The findings, where no step is marked with times of the whole trace."""
    yield from _largest_phase(phases.times)
    yield from _unclassified(phases.times)
    yield from _blocked(phases, _same_names(source, phases), source.metrics, idle_ns)
    for pair in phases.pairs:
        yield from _pair(pair, phases.times, source.metrics)
    yield from _prefetch(phases.prefetch, phases.times.confidence)
    if phases.variation is not None and phases.variation.short:
        yield _short_step(phases.variation)
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
            "confidence": times.confidence,
        },
        largest.attributed_ns,
        row={"phase": largest.phase},
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
        row={"phase": UNCLASSIFIED},
    )


def same_syncs(source: ReportSource) -> Verdict | None:
    """The verdict on stream syncs where the device syncs of the main thread are most of that time."""
    phases, host = source.phases, source.host
    if isinstance(phases, Missing) or isinstance(host, Missing):
        return None
    flagged = (one for one in host.verdicts if one.kind == "stream_sync" and one.flagged)
    seen_ns, iterations = all_syncs(phases).per_step_ns, _iterations(source, phases)
    return next((one for one in flagged if 2 * seen_ns >= one.total_per_iteration_ns * iterations), None)


def _same_names(source: ReportSource, phases: Phases) -> list[str]:
    """Stream syncs that are the same time as the device syncs, and how many."""
    streams = same_syncs(source)
    if streams is None:
        return []
    calls = streams.calls_per_iteration * _iterations(source, phases)
    return [f"aclrtSynchronizeStream* × {calls:,.1f}"]


def _blocked(
    phases: Phases, streams: Sequence[str], metrics: CoreMetrics, idle_ns: int | None
) -> Iterator[Finding]:
    """Waits and device syncs of the main thread, no stretch of time twice.

    A wait that stands still for the device most of its time is told as the device sync that it is, where that
    is one to tell; syncs inside of other waits are told with these.
    """
    synced = phases.waits.synced_ns
    flagged = [row for row in phases.waits.by_name.iter_rows(named=True) if row["flagged"]]
    of_device = [row for row in flagged if 2 * synced.get(row["name"], 0) >= row["per_step_ns"] > 0]
    of_others = [row for row in flagged if row not in of_device]
    elsewhere_ns = sum(synced.get(row["name"], 0) for row in of_others)
    same = [*(row["name"] for row in of_device), *streams]
    sync = _device_sync(phases, elsewhere_ns, same, metrics, idle_ns)
    for row in flagged if sync is None else of_others:
        yield _wait(row, metrics, idle_ns)
    if sync is not None:
        yield sync


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
        {"blocking": "wait", "name": row["name"], "phase": row["phase"]},
    )


def _device_sync(
    phases: Phases, elsewhere_ns: int, same: Sequence[str], metrics: CoreMetrics, idle_ns: int | None
) -> Finding | None:
    """All device syncs but for ``elsewhere_ns``, with what else is the ``same`` time; None for few.

    What is left out is told beside it, so that both add up to the total of the chapter.
    """
    step_ns, limit = phases.times.mean_remainder["step_ns"], _limits("star")["blocked_share_at_least"]
    time_ns = all_syncs(phases).per_step_ns - elsewhere_ns
    share = time_ns / step_ns if step_ns else None
    if share is None or share < limit:
        return None
    first = phases.waits.device_syncs.row(0, named=True)
    stake_ns = _at_stake(time_ns, idle_ns)
    return Finding(
        weight(stake_ns, metrics),
        f"device_sync{'_same' if same else ''}{'_inside' if elsewhere_ns else ''}",
        "phases",
        "waits",
        {
            "time": time_text(time_ns),
            "share": percent_text(share),
            "limit": percent_text(limit, 0),
            "name": first["name"],
            "phase": first["phase"] or UNCLASSIFIED,
            "same": ", ".join(same),
            "elsewhere": time_text(elsewhere_ns),
        },
        stake_ns,
        first["name"],
        {"blocking": "sync", "name": first["name"], "phase": first["phase"]},
    )


def _pair(pair: Pair, times: PhaseTimes, metrics: CoreMetrics) -> Iterator[Finding]:
    """A pair that is serial, or fine; one that cannot be judged or matters little is in the chapter only."""
    if is_fused(times, pair):
        sure: dict[str, Value] = {"confidence": times.confidence}
        yield Finding(FINE, "fused_update", "phases", "phases", sure, row={"phase": EMBEDDING_UPDATE})
        return
    if pair.verdict == "not_observable" or (pair.verdict == "serial" and too_small(times, pair)):
        return
    values: dict[str, Value] = {
        "phase": pair.phases[0],
        "other": pair.phases[1],
        "ratio": percent_text(max(pair.host_ratio or 0.0, pair.device_ratio or 0.0)),
        "confidence": times.confidence,
    }
    row: dict[str, Value | None] = {"subject": f"pair_{PAIRS.index(pair.phases)}"}
    if not advisable(times, pair):
        yield Finding(FINE, f"pair_{pair.verdict}", "phases", "asynchrony", values, row=row)
        return
    stake_ns = pair.at_stake_ns
    severity = weight(stake_ns, metrics) if times.confidence == "high" else LOOK
    values["time"] = time_text(stake_ns)
    yield Finding(severity, "pair_serial", "phases", "asynchrony", values, stake_ns, row=row)


def _prefetch(prefetch: Prefetch, confidence: str) -> Iterator[Finding]:
    sure = {"confidence": confidence}
    if prefetch.present is None:
        yield Finding(UNKNOWN, "prefetch_unknown", "phases", "asynchrony", row=_PREFETCH_ROW)
    elif not prefetch.present:
        yield Finding(LOOK, "prefetch_absent", "phases", "asynchrony", sure, row=_PREFETCH_ROW)
    elif prefetch.runs_ahead is None:
        yield Finding(UNKNOWN, "prefetch_maybe", "phases", "asynchrony", row=_PREFETCH_ROW)
    elif not prefetch.runs_ahead:
        yield Finding(LOOK, "prefetch_not_ahead", "phases", "asynchrony", sure, row=_PREFETCH_ROW)
    else:
        yield _depth(prefetch.nearest)


def _depth(nearest: Depth | None) -> Finding:
    """How far ahead the stage works that is least ahead; "at least 0" says nothing."""
    if nearest is None or (nearest.at_least and not nearest.batches):
        return Finding(FINE, "prefetch_ahead_unmeasured", "phases", "asynchrony", row=_PREFETCH_ROW)
    kind = "prefetch_ahead_at_least" if nearest.at_least else "prefetch_ahead"
    values: dict[str, Value] = {"stage": nearest.stage, "depth": count_text(nearest.batches)}
    return Finding(FINE, kind, "phases", "asynchrony", values, row={"subject": f"stage_{nearest.stage}"})


def _short_step(variation: Variation) -> Finding:
    """Steps that pull the means down; the first one is named."""
    step, time_ns = variation.short[0]
    values: dict[str, Value] = {
        "count": count_text(len(variation.short)),
        "step": step,
        "time": time_text(time_ns),
        "median": time_text(variation.median_ns),
    }
    return Finding(LOOK, "short_step", "phases", "steps", values, row={"step": step})


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
        "confidence": phases.times.confidence,
    }
    kind = "slow_step"
    if variation.names:
        name = variation.names[0]
        kind = "slow_step_gap" if name.kind == "gap" else "slow_step_name"
        values |= {"name": name.name, "name_grown": time_text(name.grown_ns)}
    row = {"step": variation.slowest}
    return Finding(weight(stake_ns, metrics), kind, "phases", "steps", values, stake_ns, row=row)
