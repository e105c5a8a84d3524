"""What a trace holds, counted: tracks by role, arrows by kind, faults."""

from __future__ import annotations

import polars as pl

from analysis.trace.model import (
    CHUNKS,
    DEVICE_STREAM,
    EVENTS,
    FLOWS,
    OTHER,
    PYTHON_MAIN,
    TRACKS,
    Fault,
    Quality,
    Trace,
)
from analysis.trace.summary import ROLES, TraceSummary, summarize


def summary(
    tracks: tuple[tuple[str, int], ...] = (),
    flows: tuple[tuple[str, int | None, int | None], ...] = (),
    faults: tuple[Fault, ...] = (),
    lost_bytes: int = 0,
) -> TraceSummary:
    """The summary of a trace with tracks (role, bars), arrows (kind, source, target) and faults."""
    bars = sum(count for _, count in tracks)
    trace = Trace(
        events=pl.DataFrame({"number": range(bars)}, schema={"number": pl.UInt32}).with_columns(
            pl.lit(None, dtype).alias(name) for name, dtype in EVENTS.items() if name != "number"
        ),
        tracks=pl.DataFrame(
            [
                {"track": row, "thread": f"t{row}", "role": role, "bars": count}
                for row, (role, count) in enumerate(tracks)
            ],
            schema=TRACKS,
        ),
        flows=pl.DataFrame(
            [{"kind": kind, "id": "1", "source": source, "target": target} for kind, source, target in flows],
            schema=FLOWS,
        ),
        chunks=pl.DataFrame(schema=CHUNKS),
        quality=Quality(9, {"X": bars, "M": 2, "": 1}, faults, lost_bytes),
    )
    return summarize(trace, "trace_view.json")


def test_tracks_go_from_the_program_down_to_the_device() -> None:
    found = summary(((OTHER, 1), (DEVICE_STREAM, 2), (PYTHON_MAIN, 3), (DEVICE_STREAM, 4)))
    assert found.tracks.select("role", "thread", "bars").rows() == [
        (PYTHON_MAIN, "t2", 3),
        (DEVICE_STREAM, "t1", 2),
        (DEVICE_STREAM, "t3", 4),
        (OTHER, "t0", 1),
    ]
    assert found.roles.rows() == [(PYTHON_MAIN, 1, 3), (DEVICE_STREAM, 2, 6), (OTHER, 1, 1)]
    assert found.bars == 10


def test_every_role_of_the_model_has_its_place() -> None:
    from analysis.trace import model

    words = {value for name, value in vars(model).items() if name.isupper() and isinstance(value, str)}
    assert words == set(ROLES)


def test_arrow_is_tied_only_if_both_ends_are() -> None:
    found = summary(flows=(("a", 1, 2), ("a", None, 2), ("a", 1, None), ("b", 1, 2)))
    assert found.flows.rows() == [("a", 3, 1, 1 / 3), ("b", 1, 1, 1.0)]


def test_objects_are_counted_by_ph_in_alphabetical_order() -> None:
    found = summary(((OTHER, 3),))
    assert (found.objects, list(found.by_phase.items())) == (9, [("", 1), ("M", 2), ("X", 3)])


def test_lost_events_are_told_from_harmless_faults() -> None:
    found = summary(
        faults=(
            Fault("late_metadata", 5, "x", None, lost=False),
            Fault("encoding", 4, "w", 1, lost=False),
            Fault("no_ts", 2, "y", 3, lost=True),
            Fault("cut", 1, "z", None, lost=True),
        ),
        lost_bytes=40,
    )
    assert (found.repaired, found.lost_events, found.lost_bytes, found.damaged) == (4, 2, 40, True)
    assert found.faults.rows()[2] == ("no_ts", 2, "y", True)


def test_trace_with_harmless_faults_only_is_not_damaged() -> None:
    assert not summary(faults=(Fault("late_metadata", 5, "x", None, lost=False),)).damaged


def test_example_with_half_a_surrogate_pair_is_kept_as_marks() -> None:
    found = summary(faults=(Fault("no_ts", 1, "a\ud800b", 1, lost=True),))
    assert found.faults["example"][0].strip("ab") == "\ufffd" * 3


def test_empty_trace_has_no_tracks_and_no_arrows() -> None:
    found = summary()
    assert (found.bars, found.tracks.height, found.roles.height, found.flows.height) == (0, 0, 0, 0)
