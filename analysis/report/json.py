"""The report as JSON: every number of the result object under the names of the published schema.

Times are microseconds with three decimals, shares and ratios fractions; what is unknown is null. The
tables are cut as in the Markdown report (20 operators, 50 problems, 15 host APIs, 20 framework operators)
and say how many rows there are; call trees are cut to their costliest nodes and count what is left out.
``schema.json`` beside this file is the JSON Schema (2020-12) of what is written.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import orjson

from analysis.finding import finding_text
from analysis.notes import Missing
from analysis.report.json_host import copies_object, host_object
from analysis.report.json_phases import phase_objects
from analysis.report.json_values import encodable, fraction, table, us_or_null
from analysis.report.limits import PROBLEM_ROWS, TOP_ROWS
from analysis.units import us

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from analysis.finding import Finding
    from analysis.fusion import Fusion
    from analysis.metrics import CoreMetrics, NamedTime
    from analysis.notes import Evidence, Note
    from analysis.operators import CoreUse, Extra, Operators
    from analysis.report.json_values import Object
    from analysis.report.messages import Messages
    from analysis.report.source import ReportSource
    from analysis.scenario import Scenario
    from analysis.steps import StepDecomposition
    from analysis.trace.summary import TraceSummary

SCHEMA_VERSION = 1

_AIC_RATIOS = ("mac", "vec", "scalar", "mte1", "mte2", "mte3")
_AIV_RATIOS = ("vec", "scalar", "mte1", "mte2", "mte3")
_STEP_TIMES = (
    "computing",
    "communication",
    "not_overlapped",
    "overlapped",
    "free",
    "copies",
    "stage",
    "bubble",
    "preparing",
    "wall",
)
_TYPE_COLUMNS = (
    "op_type",
    "core_type",
    "count",
    "count_per_iteration",
    "per_iteration_ns",
    "total_ns",
    "avg_ns",
    "min_ns",
    "max_ns",
    "share",
)


def json_report(analysis: ReportSource, messages: Messages) -> bytes:
    """The whole report as indented UTF-8 JSON with a newline at its end.

    Args:
        analysis: The capture, analysed.
        messages: The language of notes, evidence and sources.
    """
    report = {
        "schema_version": SCHEMA_VERSION,
        "profile": _profile(analysis, messages),
        "core_metrics": {
            **_core_metrics(analysis.metrics, messages),
            **copies_object(analysis.copies),
        },
        "operators": None
        if isinstance(analysis.operators, Missing)
        else _operators(analysis.operators, analysis.extras),
        "host": host_object(analysis.host, analysis.host_operators),
        **phase_objects(analysis),
        "findings": [_finding(finding, messages) for finding in analysis.findings],
        "notes": [_note(note, messages) for note in analysis.notes],
    }
    return orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _finding(finding: Finding, messages: Messages) -> Object:
    return {
        "severity": finding.severity,
        "kind": finding.kind,
        "text": finding_text(finding, messages),
        "per_iteration_us": us(finding.stake_ns) if finding.stake_ns else None,
    }


def report_schema() -> Object:
    """The JSON Schema of what :func:`json_report` writes."""
    schema: Object = orjson.loads(files("analysis.report").joinpath("schema.json").read_bytes())
    return schema


def _profile(analysis: ReportSource, messages: Messages) -> Object:
    metadata = analysis.metadata
    return {
        "path": encodable(str(analysis.profile.root)),
        "framework": analysis.scenario.framework,
        **_scenario(analysis.scenario, messages),
        "chip": metadata.chip,
        "cores": {"aic": analysis.cores.aic, "aiv": analysis.cores.aiv},
        "versions": dict(sorted(metadata.versions.items())),
        "user_facts": dict(sorted(analysis.options.facts.items())),
        "rank": analysis.capture.rank,
        "ranks": [capture.rank for capture in analysis.profile.captures if capture.rank is not None],
        "files": [
            {
                "kind": entry.kind,
                "path": encodable(entry.path),
                "rows": entry.rows,
                "state": entry.state,
                "note": None if entry.note is None else messages.text(entry.note),
            }
            for entry in analysis.files
        ],
        "missing": [
            {
                "kind": gap.kind,
                "needed_for": list(gap.needed_for),
                "hint": messages.text(f"collect.{gap.hint}"),
            }
            for gap in analysis.missing
        ],
        "trace": None if isinstance(analysis.trace_summary, Missing) else _trace(analysis.trace_summary),
    }


def _trace(summary: TraceSummary) -> Object:
    return {
        "file": encodable(summary.file),
        "objects": summary.objects,
        "by_phase": dict(summary.by_phase),
        "bars": summary.bars,
        "tracks": table(summary.tracks, ("process", "thread", "role", "device", "bars")),
        "flows": table(summary.flows, ("kind", "count", "tied")),
        "faults": table(summary.faults, ("kind", "count", "example", "lost")),
        "lost_bytes": summary.lost_bytes,
    }


def _scenario(scenario: Scenario, messages: Messages) -> Object:
    return {
        "stacks": [
            {"name": stack.name, "evidence": _evidence(stack.evidence, messages)} for stack in scenario.stacks
        ],
        "scenario": scenario.scenario,
        "scenario_evidence": _evidence(scenario.scenario_evidence, messages),
        "execution_mode": {
            "id": scenario.mode,
            "evidence": _evidence(scenario.mode_evidence, messages),
        },
        "dynamic_shape": scenario.dynamic_shape,
        "fusion": _fusion(scenario.fusion),
    }


def _fusion(fusion: Fusion) -> Object:
    return {
        "enabled": fusion.enabled,
        "kinds": [
            {
                "prefix": kind.prefix,
                "op_types": kind.op_types,
                "kernels": kind.kernels,
                "total_us": us(kind.total_ns),
                "share": fraction(kind.share),
                "inside": list(kind.inside),
            }
            for kind in fusion.kinds
        ],
        "op_types": list(fusion.op_types),
        "time_share": fraction(fusion.time_share),
    }


def _core_metrics(metrics: CoreMetrics, messages: Messages) -> Object:
    iterations = metrics.iterations
    return {
        "iterations": {
            "count": iterations.count,
            "source": iterations.source,
            "estimated": iterations.estimated,
            "excluded_first_us": us_or_null(iterations.excluded_first_ns),
            "excluded_source": iterations.excluded_source,
        },
        "h2d_us": _named_time(metrics.h2d),
        "model_execute_us": _named_time(metrics.model_execute),
        "d2h_us": _named_time(metrics.d2h),
        "iteration_us": _named_time(metrics.iteration),
        "device_iteration_us": _named_time(metrics.device_iteration),
        "host_step_us": _named_time(metrics.host_step),
        "device_step_us": _named_time(metrics.device_step),
        "step_us": _named_time(metrics.step),
        "op_time_us": _named_time(metrics.op_time),
        "op_share": fraction(metrics.op_share),
        "op_share_of": metrics.op_share_of,
        "dispatch_bound": metrics.dispatch_bound,
        "step_trace": None if isinstance(metrics.step_trace, Missing) else _decomposition(metrics.step_trace),
        "steps": None if isinstance(metrics.steps, Missing) else [*_steps(metrics.steps)],
        "throughput": None
        if metrics.throughput is None
        else {"value": round(metrics.throughput.value, 6), "unit": metrics.throughput.unit},
        "instance_room": metrics.instance_room,
        "checks": [
            {
                "kind": check.kind,
                "text": messages.text(f"check.{check.kind}"),
                "left_us": us(check.left_ns),
                "right_us": us(check.right_ns),
                "difference": fraction(check.difference),
                "agrees": check.agrees,
            }
            for check in metrics.checks
        ],
    }


def _named_time(time: NamedTime | None) -> Object | None:
    if time is None:
        return None
    return {"value": us(time.value_ns), "share": fraction(time.share), "source": time.source}


def _decomposition(step: StepDecomposition) -> Object:
    return {
        **{f"{name}_us": us_or_null(getattr(step, f"{name}_ns")) for name in _STEP_TIMES},
        "exposed_share": fraction(step.exposed_share),
        "free_share": fraction(step.free_share),
        "exposed_flagged": step.exposed_flagged,
        "free_flagged": step.free_flagged,
        "whole_run": step.whole_run,
    }


def _steps(steps: pl.DataFrame) -> Iterator[Object]:
    for row in steps.iter_rows(named=True):
        yield {
            "step": None if row["step"] is None else str(row["step"]),
            **{f"{name}_us": us_or_null(row.get(f"{name}_ns")) for name in _STEP_TIMES},
            "excluded": row["excluded"],
        }


def _operators(operators: Operators, extras: Sequence[Extra]) -> Object:
    return {
        "source": operators.source,
        "compute_us": us(operators.compute_ns),
        "communication_us": us(operators.communication_ns),
        "by_type": table(operators.by_type, _TYPE_COLUMNS),
        "by_core_type": table(operators.by_core_type, ("core_type", "count", "total_ns", "avg_ns", "share")),
        "communication": table(
            operators.communication, [name for name in _TYPE_COLUMNS if name != "core_type"]
        ),
        "top": None if isinstance(operators.top, Missing) else [*_top(operators.top.head(TOP_ROWS))],
        "top_groups": None if isinstance(operators.top, Missing) else operators.top.height,
        "problems": None
        if isinstance(operators.problems, Missing)
        else [*_problems(operators.problems.head(PROBLEM_ROWS))],
        "problem_groups": None if isinstance(operators.problems, Missing) else operators.problems.height,
        "unjudged_problems": list(operators.unjudged_problems),
        "extras": [
            {
                "kind": extra.kind,
                "count": extra.count,
                "total_us": us_or_null(extra.total_ns),
                "value": fraction(extra.value),
                "threshold": extra.threshold,
                "count_per_iteration": fraction(extra.count_per_iteration),
                "threshold_per_iteration": extra.threshold_per_iteration,
                "flagged": extra.flagged,
            }
            for extra in extras
        ],
        "core_limit": None if isinstance(operators.core_use, Missing) else _core_limit(operators.core_use),
    }


def _top(top: pl.DataFrame) -> Iterator[Object]:
    for row in top.iter_rows(named=True):
        yield {
            "op_type": row["op_type"],
            "name": row["name"],
            "input_shapes": row["input_shapes"],
            "input_dtypes": row["input_dtypes"],
            "core_type": row["core_type"],
            "count": row["count"],
            "total_us": us_or_null(row["total_ns"]),
            "avg_us": us_or_null(row["avg_ns"]),
            "max_us": us_or_null(row["max_ns"]),
            "share": fraction(row["share"]),
            "block_num": row["block_num"],
            "aic": {f"{unit}_ratio": fraction(row[f"aic_{unit}_ratio"]) for unit in _AIC_RATIOS},
            "aiv": {f"{unit}_ratio": fraction(row[f"aiv_{unit}_ratio"]) for unit in _AIV_RATIOS},
            "cube_utilization_pct": fraction(row["cube_utilization_pct"]),
        }


def _problems(problems: pl.DataFrame) -> Iterator[Object]:
    for row in problems.iter_rows(named=True):
        yield {
            "problem": row["problem"],
            "op_name": row["name"],
            "op_type": row["op_type"],
            "core_type": row["core_type"],
            "input_shapes": row["input_shapes"],
            "output_shapes": row["output_shapes"],
            "count": row["count"],
            "total_us": us_or_null(row["total_ns"]),
            "share": fraction(row["share"]),
            "value": fraction(row["value"]),
        }


def _core_limit(uses: Sequence[CoreUse]) -> Object:
    known = {use.kind: use for use in uses}
    return {
        kind: None
        if kind not in known
        else {
            "max_block_num": known[kind].max_block_num,
            "max_mix_block_num": known[kind].max_mix_block_num,
            "physical": known[kind].physical,
            "verdict": known[kind].verdict,
        }
        for kind in ("aic", "aiv")
    }


def _evidence(evidence: Sequence[Evidence], messages: Messages) -> list[str]:
    return [messages.text(f"evidence.{item.kind}", item.values) for item in evidence]


def _note(note: Note, messages: Messages) -> Object:
    return {
        "kind": note.kind,
        "text": _note_text(note, messages),
        "file": None if note.file is None else encodable(note.file),
        "line": note.line,
        "damage": note.damage,
    }


def _note_text(note: Note, messages: Messages) -> str:
    return encodable(messages.text(f"note.{note.kind}", note.values))
