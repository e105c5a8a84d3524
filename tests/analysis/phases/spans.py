"""Classified host bars for tests, written down one by one instead of found by rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analysis.host_bars import HostBars
from analysis.phases.ancestry import inside
from analysis.phases.model import PHASES, WINDOWS, Classified, Windows
from analysis.phases.rules import Rules
from analysis.trace.nesting import nest

if TYPE_CHECKING:
    from collections.abc import Sequence

MAIN, AUTOGRAD, WORKER = 0, 1, 2
"""Threads."""

_ROLES = {MAIN: "python_main", AUTOGRAD: "autograd"}


@dataclass(frozen=True)
class Span:
    """One bar of a host thread."""

    name: str
    start_ns: int
    end_ns: int
    phase: str | None = None
    thread: int = MAIN
    wait: bool = False
    sync: bool = False
    producer: int = -1
    """Place of the span it waited for."""


def classified_spans(spans: Sequence[Span], first_event: int = 0) -> Classified:
    """The spans as rows in their order; they are bars of the trace from ``first_event`` on."""
    bars = pl.DataFrame(
        {
            "event": range(first_event, first_event + len(spans)),
            "track": [span.thread for span in spans],
            "role": [_ROLES.get(span.thread, "python_other") for span in spans],
            "thread": [str(span.thread) for span in spans],
            "name": [span.name for span in spans],
            "start_ns": [span.start_ns for span in spans],
            "duration_ns": [span.end_ns - span.start_ns for span in spans],
            "input_dims": [None for _ in spans],
            "step": [None for _ in spans],
        },
        schema={
            "event": pl.UInt32,
            "track": pl.UInt32,
            "role": pl.String,
            "thread": pl.Categorical,
            "name": pl.Categorical,
            "start_ns": pl.Int64,
            "duration_ns": pl.Int64,
            "input_dims": pl.Categorical,
            "step": pl.Int64,
        },
    )
    tree = nest(bars)
    codes = [-1 if span.phase is None else PHASES.index(span.phase) for span in spans]
    wait = np.array([span.wait for span in spans], np.bool_)
    sync = np.array([span.sync for span in spans], np.bool_)
    return Classified(
        bars=HostBars(bars.with_columns(*tree.frame().select("depth", "self_ns")), tree),
        rules=Rules((), sync=""),
        phase=np.array(codes, np.int8),
        origin=np.where(np.array(codes, np.int64) >= 0, np.arange(len(spans)), -1),
        claim=np.full(len(spans), -1, np.int32),
        wait=wait,
        producer=np.array([span.producer for span in spans], np.int64),
        sync=sync,
        in_wait=inside(wait, tree.parent),
        in_sync=inside(sync, tree.parent),
    )


def windows_of(*rows: tuple[int | None, int, int], excluded: int | None = None) -> Windows:
    """Windows of the main thread from (step, start, end), one of them the compile step."""
    frame = pl.DataFrame(
        [(step, start, end, step is not None and step == excluded) for step, start, end in rows],
        schema=WINDOWS,
        orient="row",
    )
    return Windows(frame, MAIN, whole_trace=any(step is None for step, _, _ in rows))
