"""What stands out in a profile, worst first: the answer to "what do I change first?"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl

from analysis.datafile import load_toml
from analysis.finding import ACTION, FINE, LOOK, SEVERITIES, UNKNOWN, Finding, weight
from analysis.findings_operators import operator_findings
from analysis.findings_phases import phase_findings, same_syncs
from analysis.host import host_verdicts
from analysis.notes import Missing
from analysis.units import percent_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from analysis.copies import Copies
    from analysis.host import Verdict
    from analysis.metrics import CoreMetrics
    from analysis.notes import Value
    from analysis.report.source import ReportSource
    from analysis.scenario import Scenario
    from analysis.steps import StepDecomposition


def find_findings(source: ReportSource) -> tuple[Finding, ...]:
    """Every finding of one capture, by severity, then by the time at stake (descending), then by kind.

    What is merely large comes after all that was judged: how much of its time could be won is unknown.
    """
    of_phases = [*phase_findings(source, _idle_ns(source.metrics))]
    told = any(finding.kind.startswith("device_sync") for finding in of_phases)
    found = [
        *_step_findings(source.metrics),
        *_dispatch_findings(source.metrics),
        *operator_findings(source.operators, source.metrics),
        *_host_findings(source, same_syncs(source) if told else None),
        *_copy_findings(source.copies, source.metrics),
        *of_phases,
        *_scenario_findings(source.scenario, source.metrics),
        *_quality_findings(source),
    ]
    return tuple(
        sorted(
            found,
            key=lambda finding: (
                SEVERITIES.index(finding.severity),
                finding.kind in _MERELY_LARGE,
                -finding.stake_ns,
                finding.kind,
                sorted((name, str(value)) for name, value in finding.values.items()),
            ),
        ),
    )


_MERELY_LARGE: Final = frozenset({"largest_operator", "largest_phase"})
"""Findings that say where the time is, and judge nothing."""


def _limit_text(name: str, key: str) -> str:
    """A limit that the core metrics judge by."""
    return percent_text(load_toml("analysis", "metrics.toml")[name][key], 0)


def _step_findings(metrics: CoreMetrics) -> Iterator[Finding]:
    step = metrics.step_trace
    if isinstance(step, Missing):
        return
    whole_run = "_whole_run" if step.whole_run else ""
    if step.exposed_share is not None:
        stake_ns = _of_one(step, step.not_overlapped_ns, metrics)
        yield Finding(
            severity=weight(stake_ns, metrics) if step.exposed_flagged else FINE,
            kind=f"exposed_communication{whole_run}" if step.exposed_flagged else "hidden_communication",
            pane="overview",
            view="steps",
            values={
                "share": percent_text(step.exposed_share),
                "time": time_text(step.not_overlapped_ns),
                "limit": _limit_text("exposed_communication", "share_above"),
            },
            stake_ns=stake_ns,
        )
    if step.free_share is not None:
        stake_ns = _of_one(step, step.free_ns, metrics)
        yield Finding(
            severity=weight(stake_ns, metrics) if step.free_flagged else FINE,
            kind=f"device_free{whole_run}" if step.free_flagged else "device_busy",
            pane="overview",
            view="steps",
            values={
                "share": percent_text(step.free_share),
                "time": time_text(step.free_ns),
                "limit": _limit_text("free", "share_above"),
            },
            stake_ns=stake_ns,
        )


def _of_one(step: StepDecomposition, time_ns: int, metrics: CoreMetrics) -> int:
    """A time of the decomposition for one iteration: a row without a step holds all of them."""
    return time_ns // metrics.iterations.recorded if step.whole_run else time_ns


def _dispatch_findings(metrics: CoreMetrics) -> Iterator[Finding]:
    if metrics.op_share is None:
        timed = metrics.op_time is None and metrics.headline is not None
        lacking = "dispatch_without_operators" if timed else "dispatch_unknown"
        yield Finding(UNKNOWN, lacking, "files", "missing")
        return
    gap_ns = _idle_ns(metrics) or 0
    yield Finding(
        severity=weight(gap_ns, metrics) if metrics.dispatch_bound else FINE,
        kind="dispatch_bound" if metrics.dispatch_bound else "device_bound",
        pane="host" if metrics.dispatch_bound else "operators",
        view="calls" if metrics.dispatch_bound else "type",
        values={
            "share": percent_text(metrics.op_share),
            "limit": _limit_text("dispatch", "op_share_below"),
        },
        stake_ns=gap_ns,
    )


def _idle_ns(metrics: CoreMetrics) -> int | None:
    """Time of an iteration that the device waits for the host: Free, or what operators leave of it (GE).

    None where no file tells.
    """
    if not isinstance(metrics.step_trace, Missing):
        return _of_one(metrics.step_trace, metrics.step_trace.free_ns, metrics)
    whole = metrics.device_iteration or metrics.model_execute
    if whole is None or metrics.op_time is None:
        return None
    return max(0, whole.value_ns - metrics.op_time.value_ns)


_FRAMEWORK_OPERATORS: Final = {
    "aten_copy_": "aten::copy_",
    "aten_to": "aten::to",
    "aten_to_copy": "aten::_to_copy",
}
"""Verdicts on one framework operator, and its name."""


def _host_findings(source: ReportSource, told: Verdict | None) -> Iterator[Finding]:
    """What the host does too often or for too long, but for the verdict that another finding has told."""
    host, metrics = source.host, source.metrics
    if isinstance(host, Missing):
        yield Finding(UNKNOWN, "host_unknown", "files", "missing")
    verdicts = host_verdicts(host, source.host_operators)
    flagged = [verdict for verdict in verdicts if verdict.flagged and verdict != told]
    copying = [verdict for verdict in flagged if verdict.kind in _FRAMEWORK_OPERATORS]
    copying.sort(key=lambda verdict: (-verdict.total_per_iteration_ns, verdict.kind))
    for verdict in flagged:
        if verdict not in copying:
            yield _host_finding(verdict, (), metrics)
    if copying:
        # They call each other: largely one time, told once.
        yield _host_finding(copying[0], copying[1:], metrics)


def _host_finding(verdict: Verdict, nested: Sequence[Verdict], metrics: CoreMetrics) -> Finding:
    """What the host does while the device works costs nothing; no more can be won than the device waits."""
    total_ns, idle_ns = verdict.total_per_iteration_ns, _idle_ns(metrics)
    stake_ns = total_ns if idle_ns is None else min(total_ns, idle_ns)
    others = (f"{_FRAMEWORK_OPERATORS[one.kind]}: {time_text(one.total_per_iteration_ns)}" for one in nested)
    return Finding(
        severity=weight(stake_ns, metrics),
        kind=f"host_{verdict.kind}{'_and_others' if nested else ''}",
        pane="host",
        view="operators" if verdict.kind in _FRAMEWORK_OPERATORS else "calls",
        values={
            "calls": f"{verdict.calls_per_iteration:,.1f}",
            "time": time_text(total_ns),
            "avg": time_text(verdict.avg_ns),
            "others": ", ".join(others),
        },
        stake_ns=stake_ns,
        filter=_FRAMEWORK_OPERATORS.get(verdict.kind),
    )


def _copy_findings(copies: Copies | Missing, metrics: CoreMetrics) -> Iterator[Finding]:
    """What copying in each direction costs an iteration; what computing hides is not at stake.

    An unknown direction is one like the others.
    """
    if isinstance(copies, Missing):
        return
    for direction in ("host_to_device", "device_to_host", None):
        own = pl.col("direction").cast(pl.String).eq_missing(pl.lit(direction, pl.String))
        for row in copies.by_direction.filter(own).iter_rows(named=True):
            yield from _copy_finding(row, metrics)


def _copy_finding(row: Mapping[str, Any], metrics: CoreMetrics) -> Iterator[Finding]:
    time_ns, hidden = row["per_iteration_ns"], row["overlapped_share"]
    if time_ns is None or not time_ns:
        return
    stake_ns = time_ns if hidden is None else round(time_ns * (1 - min(hidden, 1.0)))
    yield Finding(
        # No limit judges copies; a share of the step that would be worth acting on is worth a look.
        severity=LOOK if weight(stake_ns, metrics) == ACTION else FINE,
        kind=f"copies_{row['direction'] or 'undirected'}{'' if hidden is not None else '_only'}",
        pane="host",
        view="copies",
        values={
            "time": time_text(time_ns),
            "hidden": percent_text(hidden),
        },
        stake_ns=stake_ns,
        row={"direction": row["direction"]},
    )


def _scenario_findings(scenario: Scenario, metrics: CoreMetrics) -> Iterator[Finding]:
    if scenario.scenario == "unknown":
        yield Finding(UNKNOWN, "scenario_unknown", "files", "missing")
    if scenario.dynamic_shape:
        yield Finding(LOOK, "dynamic_shape", "overview", "numbers")
    if scenario.fusion.enabled:
        yield Finding(
            FINE,
            "fusion_on",
            "operators",
            "type",
            {
                "kinds": ", ".join(kind.prefix for kind in scenario.fusion.kinds),
                "share": percent_text(scenario.fusion.time_share),
            },
        )
    elif scenario.fusion.enabled is False:
        yield Finding(LOOK, "fusion_off", "overview", "numbers")
    if metrics.iterations.excluded_first_ns is not None:
        yield Finding(
            FINE,
            "first_excluded",
            "overview",
            "steps",
            {"time": time_text(metrics.iterations.excluded_first_ns)},
        )
    if metrics.instance_room is not None:
        more = metrics.instance_room > 0
        yield Finding(
            FINE if more else LOOK,
            "instance_room" if more else "no_instance_room",
            "overview",
            "numbers",
            {"count": metrics.instance_room},
        )


def _quality_findings(source: ReportSource) -> Iterator[Finding]:
    failed = [entry.path for entry in source.files if entry.state == "failed"]
    if failed:
        values: dict[str, Value] = {"count": len(failed), "file": failed[0]}
        yield Finding(ACTION, "unreadable_files", "files", "found", values)
    elif source.damaged:
        yield Finding(ACTION, "damaged_input", "files", "found")
    for check in source.metrics.checks:
        if not check.agrees:
            yield Finding(
                LOOK,
                "disagree",
                "files",
                "notes",
                {
                    "check": check.kind,
                    "left": time_text(check.left_ns),
                    "right": time_text(check.right_ns),
                    "difference": percent_text(check.difference),
                },
            )
