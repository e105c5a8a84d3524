"""Which iteration a copy belongs to: by the steps of the program, or by the executions of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from analysis.datafile import load_toml
from analysis.iterations import first_is_compile
from analysis.trace.model import CANN
from analysis.trace.step_windows import averaged_steps, step_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from analysis.iterations import Iterations
    from analysis.trace.model import Trace

HOST_TO_DEVICE: Final = "host_to_device"
DEVICE_TO_HOST: Final = "device_to_host"

_NEVER: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Cut:
    """The iterations of a trace, and where each copy lies."""

    by: str
    """profiler_step, model_execute or none."""
    names: tuple[str, ...]
    """What the iterations are called, in the order of time."""
    excluded: tuple[int, ...]
    """Places in ``names`` of those that averages leave out: the compile iteration, those of a cut file."""
    place: pl.Series
    """For every copy the place of its iteration in ``names``; null for a copy in none."""

    @property
    def averaged(self) -> int:
        """Iterations in the averages."""
        return len(self.names) - len(self.excluded)


def model_executions(trace: Trace) -> pl.DataFrame:
    """The executions of a graph, seen from the host at level model: start_ns, end_ns, by start."""
    name = load_toml("analysis", "copies.toml")["model_execute"]["name"]
    return (
        trace.scan(CANN)
        .filter(pl.col("name").cast(pl.String) == name)
        .select("start_ns", (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns"))
        .sort("start_ns", "end_ns")
        .collect()
    )


def uncut(bars: pl.DataFrame) -> Cut:
    """No iteration is known, so no copy lies in one."""
    return Cut("none", (), (), pl.repeat(None, bars.height, dtype=pl.UInt32, eager=True))


def cut_by_steps(bars: pl.DataFrame, steps: pl.DataFrame, iterations: Iterations) -> Cut:
    """A copy belongs to the step that launched it, else to the step on whose host time it starts.

    Args:
        bars: start_ns and launched_ns (start of the host operator that launched the copy, or null).
        steps: The frame of :func:`analysis.trace.steps.trace_steps`.
        iterations: Tells the compile step.
    """
    ordered = steps.sort("start_ns", "step")
    moment = bars.select(pl.coalesce("launched_ns", "start_ns"))["launched_ns"]
    numbers = ordered["step"].to_list()
    places = {number: place for place, number in enumerate(numbers)}
    averaged = set(averaged_steps(iterations, steps)["step"])
    return Cut(
        by="profiler_step",
        names=tuple(map(str, numbers)),
        excluded=tuple(place for number, place in places.items() if number not in averaged),
        place=step_at(moment, steps).replace_strict(places, default=None, return_dtype=pl.UInt32),
    )


def cut_by_model_execute(
    bars: pl.DataFrame, executions: pl.DataFrame, kernels: pl.DataFrame, iterations: Iterations
) -> Cut:
    """A copy to the device belongs to the next execution, one to the host to the last (spec M3).

    What counts is when the copy was launched, else when it starts. The device may lag behind, so that a copy
    which starts during ModelExecute on the host is an input if no kernel of that execution has started, and
    an output if all of them have ended; any other belongs to the graph itself and to no iteration. Copies
    of other directions belong to the execution that ends next.

    Args:
        bars: direction, start_ns and launched_ns.
        executions: The frame of :func:`model_executions`; not empty.
        kernels: start_ns and end_ns of the compute kernels on the device.
        iterations: Tells whether the first execution compiled.
    """
    start = executions["start_ns"].to_numpy()
    end = np.sort(executions["end_ns"].to_numpy())
    moment = bars.select(pl.coalesce("launched_ns", "start_ns"))["launched_ns"].to_numpy()
    on_device = bars["start_ns"].to_numpy()
    first_kernel, last_kernel_end = _device_work(start, kernels)
    place, known = _next(moment, end)
    outgoing = bars.select((pl.col("direction") == DEVICE_TO_HOST).fill_null(value=False))[
        "direction"
    ].to_numpy()
    incoming = bars.select((pl.col("direction") == HOST_TO_DEVICE).fill_null(value=False))[
        "direction"
    ].to_numpy()
    during = incoming & known & (moment >= start[place])
    known &= ~during | (on_device < first_kernel[place])
    last = np.searchsorted(start, moment, side="right") - 1
    place = np.where(outgoing, np.maximum(last, 0), place)
    during = outgoing & (last >= 0) & (moment < end[place])
    known = np.where(outgoing, (last >= 0) & (~during | (on_device >= last_kernel_end[place])), known)
    names = tuple(map(str, range(1, start.size + 1)))
    return Cut(
        by="model_execute",
        names=names,
        excluded=(0,) if _first_compiles(executions, iterations) else (),
        place=pl.DataFrame({"place": place.astype(np.uint32), "known": known}).select(
            pl.when("known").then("place")
        )["place"],
    )


def _next(moment: NDArray[np.int64], end: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The first execution that has not ended at each moment, and whether there is one."""
    place = np.searchsorted(end, moment, side="right")
    return np.minimum(place, end.size - 1), place < end.size


def _device_work(
    start: NDArray[np.int64], kernels: pl.DataFrame
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First start and last end of the kernels that start from each execution on until the next one."""
    first = np.full(start.size, _NEVER, np.int64)
    last = np.full(start.size, -_NEVER, np.int64)
    kernel_start = kernels["start_ns"].to_numpy()
    place = np.searchsorted(start, kernel_start, side="right") - 1
    inside = place >= 0
    np.minimum.at(first, place[inside], kernel_start[inside])
    np.maximum.at(last, place[inside], kernels["end_ns"].to_numpy()[inside])
    return first, last


def _first_compiles(executions: pl.DataFrame, iterations: Iterations) -> bool:
    """As the files say; where they do not count iterations, as the executions themselves say."""
    if iterations.excluded_first_ns is not None:
        return True
    times = executions.select(pl.col("end_ns") - pl.col("start_ns"))["end_ns"].to_list()
    return not iterations.known and first_is_compile(times)
