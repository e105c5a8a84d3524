"""The host side and the copies in the JSON report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.host import host_verdicts
from analysis.notes import Missing
from analysis.report.json_values import table, us_or_null
from analysis.report.limits import HOST_OPERATOR_ROWS
from analysis.units import us

if TYPE_CHECKING:
    from analysis.copies import Copies
    from analysis.host import Host, Verdict
    from analysis.host_operators import HostOperators
    from analysis.report.json_values import Object

_COPY_COLUMNS = (
    "direction",
    "count",
    "count_per_iteration",
    "per_iteration_ns",
    "total_ns",
    "avg_ns",
    "max_ns",
    "bytes",
    "gb_per_s",
    "overlapped_ns",
    "overlapped_share",
)
_HOST_OPERATOR_COLUMNS = (
    "name",
    "group",
    "calls",
    "calls_per_step",
    "total_ns",
    "per_step_ns",
    "self_per_step_ns",
    "self_ns",
    "avg_ns",
    "max_ns",
    "share",
    "threads",
)
_API_COLUMNS = (
    "level",
    "name",
    "total_ns",
    "count",
    "count_per_iteration",
    "per_iteration_ns",
    "avg_ns",
    "min_ns",
    "max_ns",
)


def copies_object(copies: Copies | Missing) -> Object:
    """Copies by direction, what cuts their iterations, and how many lie outside; null without a trace."""
    known = None if isinstance(copies, Missing) else copies
    return {
        "copies": None if known is None else table(known.by_direction, _COPY_COLUMNS),
        "copies_cut_by": None if known is None else known.cut_by,
        "copies_outside": None if known is None else known.outside,
    }


def host_object(host: Host | Missing, operators: HostOperators | Missing) -> Object | None:
    """Host APIs, framework operators and verdicts; null where neither file is there."""
    if isinstance(host, Missing) and isinstance(operators, Missing):
        return None
    return {
        **_apis(None if isinstance(host, Missing) else host),
        **_host_operators(None if isinstance(operators, Missing) else operators),
        "verdicts": [_verdict(verdict) for verdict in host_verdicts(host, operators)],
    }


def _apis(host: Host | None) -> Object:
    return {
        "apis": None if host is None else table(host.top, _API_COLUMNS),
        "api_rows": None if host is None else host.apis.height,
        "includes_compile": None if host is None else host.includes_compile,
        "watched": None if host is None else table(host.watched, _API_COLUMNS),
        "one_off": None if host is None else table(host.one_off, _API_COLUMNS),
    }


def _host_operators(operators: HostOperators | None) -> Object:
    if operators is None:
        return {"operators": None, "operator_rows": None, "steps": None}
    return {
        "operators": table(operators.by_name.head(HOST_OPERATOR_ROWS), _HOST_OPERATOR_COLUMNS),
        "operator_rows": operators.by_name.height,
        "steps": operators.steps,
    }


def _verdict(verdict: Verdict) -> Object:
    return {
        "kind": verdict.kind,
        "per": verdict.per,
        "level": verdict.level,
        "calls_per_iteration": round(verdict.calls_per_iteration, 6),
        "total_per_iteration_us": us(verdict.total_per_iteration_ns),
        "avg_us": us_or_null(verdict.avg_ns),
        "flagged": verdict.flagged,
    }
