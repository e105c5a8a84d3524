"""What a trace holds, in numbers a reader can check: tracks by role, arrows by kind, faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from analysis.trace.model import (
    AUTOGRAD,
    CANN,
    COLLECTIVE,
    COMMUNICATION,
    COMPUTING,
    DEVICE_STREAM,
    FREE,
    NOT_OVERLAPPED,
    OTHER,
    OTHER_DEVICE,
    PLANE,
    PYTHON_MAIN,
    PYTHON_OTHER,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analysis.trace.model import Fault, Trace

ROLES: Final = (
    PYTHON_MAIN,
    PYTHON_OTHER,
    AUTOGRAD,
    CANN,
    DEVICE_STREAM,
    COLLECTIVE,
    PLANE,
    COMPUTING,
    COMMUNICATION,
    NOT_OVERLAPPED,
    FREE,
    OTHER,
    OTHER_DEVICE,
)
"""Roles of tracks from the program down to the device; the order of every list of tracks."""

QUIET: Final = frozenset({"late_metadata", "duplicate_metadata"})
"""Faults that change no result and that most files have."""

_FAULTS: Final = {
    "kind": pl.String(),
    "count": pl.Int64(),
    "example": pl.String(),
    "lost": pl.Boolean(),
}


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """One trace file, counted."""

    file: str
    """Relative to the profile."""
    objects: int
    """All readable objects of the file, of every ``ph``."""
    by_phase: Mapping[str, int]
    """Objects by ``ph``, by name."""
    bars: int
    """Objects with a duration that could be placed on the time axis."""
    tracks: pl.DataFrame
    """process, thread, role, device, bars: every (pid, tid), in the order of ROLES, then of the file."""
    roles: pl.DataFrame
    """role, tracks, bars: in the order of ROLES; roles without a track are left out."""
    flows: pl.DataFrame
    """kind, count, tied (a bar was found at both ends), tied_share; by count descending, then kind."""
    faults: pl.DataFrame
    """kind, count, example, lost: as :attr:`Quality.faults`."""
    repaired: int
    """Events that were repaired; names that come late or twice, as they do in most files, are none."""
    lost_events: int
    """Events that are not on the axis; where the file was cut is not one."""
    lost_bytes: int
    """Bytes after the last whole event of a file that was cut."""
    damaged: bool
    """Whether something is not on the axis: the file was cut, or events could not be placed."""


def summarize(trace: Trace, file: str) -> TraceSummary:
    """What was found in one trace and what was wrong with it, counted and with an example.

    Args:
        trace: The trace.
        file: Its path relative to the profile.
    """
    quality = trace.quality
    tracks = _in_role_order(trace.tracks.with_row_index("place"), "place")
    return TraceSummary(
        file=file,
        objects=quality.objects,
        by_phase=dict(sorted(quality.by_phase.items())),
        bars=trace.events.height,
        tracks=tracks.select("process", "thread", "role", "device", "bars"),
        roles=_in_role_order(
            tracks.group_by("role").agg(
                pl.len().cast(pl.Int64).alias("tracks"), pl.col("bars").cast(pl.Int64).sum()
            ),
            "role",
        ),
        flows=_flows(trace.flows),
        faults=_faults(quality.faults),
        repaired=sum(fault.count for fault in quality.faults if not fault.lost and fault.kind not in QUIET),
        lost_events=sum(fault.count for fault in quality.faults if fault.lost and fault.kind != "cut"),
        lost_bytes=quality.lost_bytes,
        damaged=quality.damaged,
    )


def _in_role_order(rows: pl.DataFrame, then: str) -> pl.DataFrame:
    rank = pl.col("role").replace_strict(
        ROLES, list(range(len(ROLES))), default=len(ROLES), return_dtype=pl.Int64
    )
    return rows.sort(rank, then)


def _flows(flows: pl.DataFrame) -> pl.DataFrame:
    tied = pl.col("source").is_not_null() & pl.col("target").is_not_null()
    return (
        flows.group_by(pl.col("kind").cast(pl.String))
        .agg(pl.len().cast(pl.Int64).alias("count"), tied.sum().cast(pl.Int64).alias("tied"))
        .with_columns((pl.col("tied") / pl.col("count")).alias("tied_share"))
        .sort("count", "kind", descending=[True, False])
    )


def _faults(faults: tuple[Fault, ...]) -> pl.DataFrame:
    rows = [(fault.kind, fault.count, storable(fault.example), fault.lost) for fault in faults]
    return pl.DataFrame(rows, schema=_FAULTS, orient="row")


def storable(text: str) -> str:
    """The text as a column can hold it: half of a surrogate pair, which JSON allows, becomes ``\ufffd``."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
