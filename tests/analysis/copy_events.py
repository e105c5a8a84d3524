"""Events of copies and what the analysis of copies finds in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analysis.copies import Copies, find_copies
from analysis.iterations import Iterations
from analysis.trace.steps import trace_steps
from tests.analysis.trace.builder import CANN, MAIN, OVERLAP, STREAM, bar, timeline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analysis.trace.model import Trace

H2D, D2H = "host to device", "device to host"
TO_DEVICE, TO_HOST = "host_to_device", "device_to_host"
US = 1000
OTHER_STREAM = ("Ascend Hardware", "Stream 7")
COMPUTING = (OVERLAP, "Computing")


def counted(
    count: int = 2, *, excluded_step: int | None = None, first_ns: int | None = None, source: str = "step_id"
) -> Iterations:
    return Iterations(count, source, False, first_ns, None, excluded_step, None)


def copy(start: float, dur: float, operation: str | None = H2D, place=STREAM, **args: Any) -> dict[str, Any]:
    told = {} if operation is None else {"operation": operation}
    return bar("MEMCPY_ASYNC", place, start, dur, task_type="SDMA_SQE", **told, **args)


def step(number: int, start: float, dur: float) -> dict[str, Any]:
    return bar(f"ProfilerStep#{number}", MAIN, start, dur, "cpu_op")


def execute(start: float, dur: float, name: str = "Model@ModelExecute") -> dict[str, Any]:
    return bar(name, CANN, start, dur)


def kernel(start: float, dur: float, task_type: str = "AI_CORE", name: str = "MatMul") -> dict[str, Any]:
    return bar(name, OTHER_STREAM, start, dur, task_type=task_type)


def launched(
    trace: Trace, pairs: Mapping[tuple[str, float], tuple[str, float]] | None = None
) -> pl.DataFrame:
    """Launches from (name, start in us) of a copy to those of a host bar."""
    rows = {
        (name, start): at
        for at, (name, start) in enumerate(
            zip(trace.events["name"].cast(pl.String), trace.events["start_ns"] // US, strict=True)
        )
    }
    return pl.DataFrame(
        [(rows[device], rows[host], "HostToDevice") for device, host in (pairs or {}).items()],
        schema={"event": pl.UInt32, "host": pl.UInt32, "via": pl.String},
        orient="row",
    )


def found(
    *events: Mapping[str, Any],
    framework: str | None = "pytorch",
    iterations: Iterations | None = None,
    launches: Mapping[tuple[str, float], tuple[str, float]] | None = None,
) -> Copies:
    trace = timeline(*events)
    result = find_copies(
        trace, trace_steps(trace), launched(trace, launches), framework, iterations or counted()
    )
    assert isinstance(result, Copies)
    return result


def direction(copies: Copies, name: str | None) -> dict[str, Any]:
    return copies.by_direction.filter(pl.col("direction").eq_missing(name)).row(0, named=True)


def times(copies: Copies, name: str = TO_DEVICE) -> dict[str, int]:
    rows = copies.by_iteration.filter(pl.col("direction") == name)
    return dict(zip(rows["iteration"], rows["time_ns"], strict=True))
