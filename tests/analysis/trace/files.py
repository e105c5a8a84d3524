"""Trace files of a test: written as given, read as recui reads them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from analysis.profile.discover import SourceFile
from analysis.trace.ingest import read_trace
from tests.analysis.trace.builder import MAIN, bar

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.trace.model import Fault, Trace

BASE_US = 1_736_408_883_000_000
HEALTHY = [bar(f"healthy {at}", MAIN, BASE_US + 10 * at, 5) for at in range(5)]
HEALTHY_NAMES = [event["name"] for event in HEALTHY]


def read(folder: Path, content: bytes | str | list[dict[str, Any]], name: str = "trace_view.json") -> Trace:
    path = folder / name
    if isinstance(content, list):
        content = json.dumps(content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_trace(SourceFile("trace_view", (path,)), root=folder)


def names(trace: Trace) -> list[str]:
    return trace.events["name"].to_list()


def fault(trace: Trace, kind: str) -> Fault:
    (found,) = (one for one in trace.quality.faults if one.kind == kind)
    return found


def kinds(trace: Trace) -> set[str]:
    return {one.kind for one in trace.quality.faults}
