"""communication.json as frames: every collective operation with its times, and its bandwidth by transport."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final

import msgspec
import polars as pl

from analysis.errors import UnreadableFileError
from analysis.profile.tables import display_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from analysis.profile.discover import SourceFile

OPERATIONS: Final = {
    "step": pl.String(),
    "kind": pl.String(),
    "operation": pl.String(),
    "group": pl.String(),
    "start_ns": pl.Int64(),
    "elapse_ns": pl.Int64(),
    "transit_ns": pl.Int64(),
    "wait_ns": pl.Int64(),
    "synchronization_ns": pl.Int64(),
    "idle_ns": pl.Int64(),
    "wait_ratio": pl.Float64(),
    "synchronization_ratio": pl.Float64(),
}
"""Columns of :attr:`Communication.operations`."""

BANDWIDTH: Final = {
    "step": pl.String(),
    "operation": pl.String(),
    "group": pl.String(),
    "transport": pl.String(),
    "size_mb": pl.Float64(),
    "transit_ns": pl.Int64(),
    "bandwidth_gbs": pl.Float64(),
    "large_packet_ratio": pl.Float64(),
}
"""Columns of :attr:`Communication.bandwidth`."""

# Sums over the operations beside them, by the two writers.
_TOTALS = frozenset({"Total Op Info", "Total HCCL Operators"})
_TIMES_KEY = "Communication Time Info"
_STEP_WORD = "step"
_NS_PER_MS, _NS_PER_US = 1_000_000, 1_000
_LARGEST_UNZIPPED = 2 << 30
_INT64 = 1 << 63


@dataclass(frozen=True, slots=True)
class Communication:
    """Every operation of one communication.json, in the order of the file, sums of operations left out."""

    operations: pl.DataFrame
    """step (null where the file names none), kind (p2p, collective; null where the file does not tell),
    operation, group (what follows the last ``@``), start_ns, elapse_ns, transit_ns, wait_ns,
    synchronization_ns (part of the wait), idle_ns (elapse - transit - wait), and two ratios as written."""
    bandwidth: pl.DataFrame
    """One row per operation and transport (RDMA, HCCS, PCIE, SDMA, SIO): size_mb, transit_ns (of all planes,
    so that it may exceed the operation's), bandwidth_gbs, large_packet_ratio. SDMA repeats the sum of HCCS,
    PCIE and SIO."""
    file: str
    """Path relative to the profile, for display."""


class _Times(msgspec.Struct):
    # Raw, because the start has 16 digits before its decimals and a float would lose the last of them.
    start: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Start Timestamp(us)")
    elapse: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Elapse Time(ms)")
    transit: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Transit Time(ms)")
    wait: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Wait Time(ms)")
    synchronization: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Synchronization Time(ms)")
    idle: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Idle Time(ms)")
    wait_ratio: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Wait Time Ratio")
    synchronization_ratio: msgspec.Raw = msgspec.field(
        default=msgspec.Raw(), name="Synchronization Time Ratio"
    )


class _Transport(msgspec.Struct):
    size: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Transit Size(MB)")
    transit: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Transit Time(ms)")
    bandwidth: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Bandwidth(GB/s)")
    large_packets: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Large Packet Ratio")


class _Operation(msgspec.Struct):
    times: _Times = msgspec.field(default_factory=_Times, name=_TIMES_KEY)
    transports: dict[str, _Transport] = msgspec.field(
        default_factory=dict, name="Communication Bandwidth Info"
    )


@dataclass(frozen=True, slots=True)
class _Named:
    step: str | None
    kind: str | None
    name: str
    content: _Operation

    def keys(self) -> tuple[str, str | None]:
        """Operation and group."""
        operation, at, group = self.name.rpartition("@")
        return (operation, group) if at else (group, None)


def read_communication(source: SourceFile, *, root: Path) -> Communication:
    """Read both nestings (facts/formats.md 8.1): step -> kind -> operation, and operations alone.

    Raises:
        UnreadableFileError: A file cannot be read, or is not what communication.json is.
    """
    operations: list[tuple[object, ...]] = []
    bandwidth: list[tuple[object, ...]] = []
    for path in source.parts:
        for entry in _entries(path):
            operations.append(_operation_row(entry))
            bandwidth.extend(_bandwidth_rows(entry))
    return Communication(
        pl.DataFrame(operations, schema=OPERATIONS, orient="row"),
        pl.DataFrame(bandwidth, schema=BANDWIDTH, orient="row"),
        display_path(source.parts[0], root),
    )


def _entries(path: Path) -> Iterator[_Named]:
    try:
        content = msgspec.json.decode(_content(path), type=dict[str, dict[str, msgspec.Raw]])
        for key, inner in content.items():
            if _TIMES_KEY in inner:
                if key not in _TOTALS:
                    whole = {name: bytes(raw) for name, raw in inner.items()}
                    yield _Named(None, None, key, _decoded(whole))
                continue
            if key in _TOTALS:
                continue
            step = key.removeprefix(_STEP_WORD) or None
            for kind, raw in inner.items():
                for name, operation in msgspec.json.decode(raw, type=dict[str, _Operation]).items():
                    if name not in _TOTALS:
                        yield _Named(step, kind, name, operation)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableFileError(path, f"not a communication.json: {error}") from error


def _decoded(parts: dict[str, bytes]) -> _Operation:
    """An operation of which only the outermost object is taken apart."""
    text = b",".join(msgspec.json.encode(name) + b":" + raw for name, raw in parts.items())
    return msgspec.json.decode(b"{" + text + b"}", type=_Operation)


def _content(path: Path) -> bytes:
    try:
        if path.suffix != ".gz":
            return path.read_bytes()
        unzip = zlib.decompressobj(wbits=31)
        content = unzip.decompress(path.read_bytes(), _LARGEST_UNZIPPED)
    except OSError as error:
        raise UnreadableFileError(path, error.strerror or str(error)) from error
    except zlib.error as error:
        raise UnreadableFileError(path, f"damaged gzip data: {error}") from error
    if not unzip.eof:
        reason = "larger than 2 GiB unzipped" if unzip.unconsumed_tail else "the gzip data end too early"
        raise UnreadableFileError(path, reason)
    return content


def _operation_row(entry: _Named) -> tuple[object, ...]:
    times = entry.content.times
    return (
        entry.step,
        entry.kind,
        *entry.keys(),
        _ns(times.start, _NS_PER_US),
        *(
            _ns(value, _NS_PER_MS)
            for value in (times.elapse, times.transit, times.wait, times.synchronization, times.idle)
        ),
        _number(times.wait_ratio),
        _number(times.synchronization_ratio),
    )


def _bandwidth_rows(entry: _Named) -> Iterator[tuple[object, ...]]:
    for transport, info in entry.content.transports.items():
        yield (
            entry.step,
            *entry.keys(),
            transport,
            _number(info.size),
            _ns(info.transit, _NS_PER_MS),
            _number(info.bandwidth),
            _number(info.large_packets),
        )


def _decimal(raw: msgspec.Raw) -> Decimal | None:
    """The number as written; None for anything that is no number."""
    try:
        value = Decimal(bytes(raw).decode().strip('"'))
    except (InvalidOperation, ValueError):
        return None
    return value if value.is_finite() else None


def _ns(raw: msgspec.Raw, unit: int) -> int | None:
    """Whole nanoseconds, rounded half to even; None for what is unknown or no time at all."""
    value = _decimal(raw)
    if value is None or not -_INT64 < value * unit < _INT64:
        return None
    return round(value * unit)


def _number(raw: msgspec.Raw) -> float | None:
    value = _decimal(raw)
    return None if value is None else float(value)
