"""Phases, call trees and asynchrony in the JSON report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analysis.notes import Missing
from analysis.phases.representative import representative_step
from analysis.phases.tables import growth_rows, is_fused, pair_rows
from analysis.phases.trees import bounded
from analysis.report.json_values import fraction, table, us_or_null
from analysis.report.limits import JSON_TREE_DEPTH, JSON_TREE_NODES, JSON_WAIT_ROWS
from analysis.units import us

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from analysis.phases.model import PhaseTimes
    from analysis.phases.results import Depth, Phases, Prefetch, StepTree, Variation, Waits
    from analysis.report.json_values import Object
    from analysis.report.source import ReportSource

_PHASE_COLUMNS = (
    "phase",
    "main_thread_ns",
    "attributed_ns",
    "share",
    "inferred_ns",
    "autograd_ns",
    "other_threads_ns",
)
_NAMED_COLUMNS = ("name", "calls", "exclusive_ns")
_PARTS = ("device_sync_ns", "named_ns", "no_event_ns", "sync_anywhere_ns")
_GROWTH_COLUMNS = ("growth", "name", "phase", "this_ns", "others_ns", "grown_ns")
_EVENT_COLUMNS = ("name", "why", "count", "total_ns", "thread")
_NODE_TEXTS = ("name", "phase", "rule", "origin", "star", "verdict", "thread", "role")


def phase_objects(source: ReportSource) -> Object:
    """``phases``, ``aten_tree`` and ``asynchrony`` (spec 12); null for inference and without a trace."""
    phases = source.phases
    if isinstance(phases, Missing) or source.scenario.scenario == "inference":
        return dict.fromkeys(("phases", "aten_tree", "asynchrony"))
    return {
        "phases": _phases(phases, source.call_tree(None)),
        "aten_tree": _tree(source.aten_tree(None)),
        "asynchrony": {
            "pairs": [*_pairs(phases)],
            "prefetch": _prefetch(phases.prefetch),
            "waits": _waits(phases.waits),
        },
    }


def _phases(phases: Phases, tree: StepTree | Missing) -> Object:
    times = phases.times
    return {
        "confidence": times.confidence,
        "whole_trace": phases.windows.whole_trace,
        "cut": phases.windows.cut,
        "lossy_steps": [*phases.windows.lossy],
        "fused_update": times.fused_update,
        "tied_backward": times.tied_backward,
        "misplaced_backward": times.misplaced_backward,
        "mean": _window(times.mean, times.mean_remainder, times.mean_named),
        "steps": [*_steps(times)],
        "call_tree_step": representative_step(phases),
        "call_tree": _tree(tree),
        "variation": None if phases.variation is None else _variation(phases.variation),
    }


def _window(rows: pl.DataFrame, parts: Mapping[str, int], named: pl.DataFrame) -> Object:
    """One phase table; its attributed times and the parts of the last row add up to ``total_us``."""
    return {
        "total_us": us(parts["step_ns"]),
        "phases": table(rows, _PHASE_COLUMNS),
        "unclassified": {
            **{f"{part.removesuffix('_ns')}_us": us(parts[part]) for part in _PARTS},
            "named": table(named, _NAMED_COLUMNS),
        },
    }


def _steps(times: PhaseTimes) -> Iterator[Object]:
    rows, named = _by_step(times.by_step), _by_step(times.named)
    for parts in times.steps.iter_rows(named=True):
        step = parts["step"]
        yield {
            "step": step,
            "excluded": parts["excluded"],
            **_window(rows[step], parts, named.get(step, times.named.clear())),
        }


def _by_step(frame: pl.DataFrame) -> dict[int | None, pl.DataFrame]:
    return {key[0]: rows for key, rows in frame.partition_by("step", as_dict=True).items()}


def _variation(variation: Variation) -> Object:
    return {
        "spread": fraction(variation.spread),
        "flagged": variation.flagged,
        "median_us": us(variation.median_ns),
        "slowest": variation.slowest,
        "slowest_us": us(variation.slowest_ns),
        "others_us": us(variation.others_ns),
        "short": [{"step": step, "total_us": us(ns)} for step, ns in variation.short],
        "phases": table(growth_rows(variation.phases), _GROWTH_COLUMNS),
        "names": table(growth_rows(variation.names), _GROWTH_COLUMNS),
    }


def _tree(tree: StepTree | Missing) -> Object | None:
    """The costliest nodes put into each other; ``omitted`` counts what is left out below each."""
    if isinstance(tree, Missing):
        return None
    nodes: dict[int, Object] = {}
    for row in bounded(tree, JSON_TREE_DEPTH, JSON_TREE_NODES).iter_rows(named=True):
        if row["cut"] is not None:
            nodes[row["parent"]]["omitted"] += row["cut"]
            continue
        nodes[row["node"]] = node = _node(row)
        if row["parent"] >= 0:
            nodes[row["parent"]]["children"].append(node)
    return {"step": tree.step, "steps": tree.steps, **nodes[0]}


def _node(row: Mapping[str, Any]) -> Object:
    return {
        **{name: row[name] for name in _NODE_TEXTS},
        "calls": row["calls"],
        "calls_per_step": fraction(row["calls_per_step"]),
        "total_us": us_or_null(row["total_ns"]),
        "self_us": us_or_null(row["self_ns"]),
        "avg_us": us_or_null(row["avg_ns"]),
        "max_us": us_or_null(row["max_ns"]),
        "share": fraction(row["share"]),
        "first_start_us": us_or_null(row["first_start_ns"]),
        "omitted": 0,
        "children": [],
    }


def _pairs(phases: Phases) -> Iterator[Object]:
    for pair, row in zip(phases.pairs, pair_rows(phases.pairs).iter_rows(named=True), strict=True):
        yield {
            "pair": [row["first"], row["second"]],
            "verdict": row["verdict"],
            "confidence": phases.times.confidence,
            "unobservable": row["unobservable"],
            "fused": is_fused(phases.times, pair),
            "hideable_us": us_or_null(row["hideable_ns"]),
            **{key: value for side in ("host", "device") for key, value in _side(row, side).items()},
        }


def _side(row: Mapping[str, Any], side: str) -> Object:
    return {
        f"{side}_ratio": fraction(row[f"{side}_ratio"]),
        f"{side}_both_us": us_or_null(row[f"{side}_both_ns"]),
        f"{side}_us": [us_or_null(row[f"first_{side}_ns"]), us_or_null(row[f"second_{side}_ns"])],
    }


def _prefetch(prefetch: Prefetch) -> Object:
    return {
        "present": prefetch.present,
        "runs_ahead": prefetch.runs_ahead,
        "depth_observed": prefetch.depth,
        "events": table(prefetch.events, _EVENT_COLUMNS),
        "depth": {depth.stage: _depth(depth) for depth in prefetch.depths},
    }


def _depth(depth: Depth) -> Object:
    return {
        "value": depth.batches,
        "at_least": depth.at_least,
        "evidence": depth.evidence,
        "names": list(depth.names),
        "behind": depth.behind,
    }


def _waits(waits: Waits) -> Object:
    return {
        "by_name": {row["name"]: _wait(row) for row in waits.by_name.iter_rows(named=True)},
        "per_step_us": {_step_key(step): us(ns) for step, ns in waits.per_step_ns.items()},
        "by_step": [
            {"step": row["step"], "name": row["name"], **_wait_of_step(row)}
            for row in waits.by_step.head(JSON_WAIT_ROWS).iter_rows(named=True)
        ],
        "by_step_rows": waits.by_step.height,
        "device_syncs": [
            {"name": row["name"], **_wait(row)} for row in waits.device_syncs.iter_rows(named=True)
        ],
    }


def _step_key(step: int | None) -> str:
    return "whole_trace" if step is None else str(step)


def _wait(row: Mapping[str, Any]) -> Object:
    return {
        **_wait_of_step(row),
        "per_step_us": us(row["per_step_ns"]),
        "max_us": us(row["max_ns"]),
    }


def _wait_of_step(row: Mapping[str, Any]) -> Object:
    return {
        "total_us": us(row["total_ns"]),
        "calls": row["count"],
        "share": fraction(row["share"]),
        "phase": row["phase"],
        "producer": row["producer"],
        "flagged": row["flagged"],
    }
