"""communication.json of the training sample: each collective's times and traffic, and their totals."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from analysis.demo.files import JsonObject
    from analysis.demo.records import Collective

TRANSPORTS = ("RDMA", "HCCS", "PCIE", "SDMA", "SIO")
CARRIERS = ("HCCS", "SDMA")
"""The traffic runs over HCCS; SDMA repeats it."""


def communication_json(steps: Iterable[int], collectives: Sequence[Collective]) -> JsonObject:
    """Step -> kind -> operation; no operation of the sample is point to point."""
    return {
        f"step{step}": {"p2p": {}, "collective": _step([one for one in collectives if one.step == step])}
        for step in steps
    }


def _step(collectives: Sequence[Collective]) -> JsonObject:
    operations: JsonObject = {
        f"{one.name}@{one.group}": {
            "Communication Time Info": {"Start Timestamp(us)": one.start_ns / 1000, **_times([one])},
            "Communication Bandwidth Info": _traffic([one], single=True),
        }
        for one in collectives
    }
    operations["Total Op Info"] = {
        "Communication Time Info": _times(collectives),
        "Communication Bandwidth Info": _traffic(collectives, single=False),
    }
    return operations


def _times(collectives: Sequence[Collective]) -> JsonObject:
    transit_ns = sum(one.transit_ns for one in collectives)
    wait_ns = sum(one.wait_ns for one in collectives)
    # Four fifths of the waiting come before the first transfer.
    synchronisation_ns = sum(one.wait_ns * 4 // 5 for one in collectives)
    return {
        "Elapse Time(ms)": sum(one.duration_ns for one in collectives) / 1_000_000,
        "Transit Time(ms)": transit_ns / 1_000_000,
        "Wait Time(ms)": wait_ns / 1_000_000,
        "Synchronization Time(ms)": synchronisation_ns / 1_000_000,
        "Idle Time(ms)": sum(one.idle_ns for one in collectives) / 1_000_000,
        "Wait Time Ratio": round(wait_ns / (wait_ns + transit_ns), 4),
        "Synchronization Time Ratio": round(synchronisation_ns / (synchronisation_ns + transit_ns), 4),
    }


def _traffic(collectives: Sequence[Collective], *, single: bool) -> JsonObject:
    return {transport: _transport(transport, collectives, single=single) for transport in TRANSPORTS}


def _transport(transport: str, collectives: Sequence[Collective], *, single: bool) -> JsonObject:
    carried = collectives if transport in CARRIERS else []
    size_mb = sum(one.size_bytes for one in carried) / 1_000_000
    transit_ms = sum(one.transit_ns for one in carried) / 1_000_000
    entry: JsonObject = {
        "Transit Size(MB)": size_mb,
        "Transit Time(ms)": transit_ms,
        "Size Distribution": _distribution(carried) if transport == "HCCS" else {},
    }
    if single:
        # The totals carry neither of these keys.
        entry["Bandwidth(GB/s)"] = round(size_mb / transit_ms, 4) if transit_ms else 0
        entry["Large Packet Ratio"] = 0
    return entry


def _distribution(collectives: Iterable[Collective]) -> JsonObject:
    """Packet size in MB -> number of packets and their time."""
    packets: dict[str, tuple[int, int]] = {}
    for one in collectives:
        size = str(round(one.size_bytes / one.packets / 1_000_000, 6))
        count, time_ns = packets.get(size, (0, 0))
        packets[size] = (count + one.packets, time_ns + one.transit_ns)
    return {size: [count, time_ns / 1_000_000] for size, (count, time_ns) in packets.items()}
