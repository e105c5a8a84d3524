"""Arrows of a trace: which start belongs to which end, and the bars at both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import polars as pl

from analysis.datafile import load_toml
from analysis.trace.model import CANN, COLLECTIVE, DEVICE_STREAM, FLOWS, HOST_ROLES
from analysis.trace.nesting import SortedBars

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from analysis.trace.model import Trace
    from analysis.trace.nesting import Flags, Ints

Rows: TypeAlias = "NDArray[np.uint32]"

HOST_TO_DEVICE: Final = "HostToDevice"
"""Kind of the arrows from a CANN interface to what it launched."""

FORWARD_TO_BACKWARD: Final = "fwdbwd"
"""Kind of the arrows from a forward operator to its backward one, which autograd alone draws."""

_COMPARED: Final = 1 << 18
"""Ends looked at in one go."""

QUEUE_CHAIN: Final = "queue_chain"
SAME_THREAD: Final = "same_thread"
"""Ways from a device bar to its operator that are no single arrow (:func:`launches`)."""


def match_flows(ends: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Arrows with the bars they tie together, one row per arrow.

    Starts (``s``) and ends (``f``) of one kind and id belong together. Where there are as many of both, the
    k-th start of the file goes to the k-th end; otherwise every end takes the latest start at or before its
    time (of several at one time the last of the file), and the first start of the file where all are later.
    An end without any start, and a start that no end took, are rows with one side only.

    An end is tied to the bar of its track that starts exactly at its time; of several to the innermost, the
    shortest, the last of the file. A start of HostToDevice lies anywhere inside its bar (187 of the 210 of a
    genuine file do): it is tied to the innermost one that is open then.

    Args:
        ends: Ends of arrows: number (UInt32, position in the file), phase (Categorical, s or f), kind
            (Categorical), id (String), track (UInt32), ts_ns (Int64).
        events: ``Trace.events``; track, start_ns and duration_ns are read.

    Returns:
        Frame of the columns FLOWS, by the number of the end, starts without one last, by their number.
    """
    if not ends["number"].is_sorted():
        ends = ends.sort("number")
    finish = ends["phase"].eq("f").to_numpy()
    source, target = _pairs(_groups(ends["kind"], ends["id"]), finish, ends["ts_ns"].to_numpy())
    bars = _bars(ends, finish, events)
    rows = _rows("source", source, bars), _rows("target", target, bars)
    named = np.where(target >= 0, target, source)
    del source, target, bars
    return ends.select(pl.col("kind", "id").gather(named)).with_columns(*rows)


def _groups(kinds: pl.Series, ids: pl.Series) -> Ints:
    """For every end the place of the first one of its kind and id.

    Sorting hashes takes a fraction of the memory of a window over the texts themselves.
    """
    digest = ids.hash().to_numpy() ^ kinds.hash().to_numpy()
    order = np.argsort(digest, kind="stable")
    digest = digest[order]
    head = np.flatnonzero(np.concatenate([np.ones(min(order.size, 1), np.bool_), digest[1:] != digest[:-1]]))
    del digest
    group = np.empty(order.size, np.int64)
    group[order] = np.repeat(order[head], np.diff(head, append=order.size))
    for at in range(0, order.size, _COMPARED):
        first = group[at : at + _COMPARED]
        for texts in (kinds, ids):
            if not texts[at : at + _COMPARED].eq_missing(texts.gather(first)).all():
                # Two texts of one hash.
                placed = pl.DataFrame([kinds.alias("kind"), ids.alias("id")]).with_row_index("place")
                exact = placed.select(pl.col("place").min().over("kind", "id")).to_series()
                return exact.to_numpy().astype(np.int64)
    return group


def _rows(name: str, ends: Ints, bars: Ints) -> pl.Series:
    """Rows of the bars at some ends, null without an end or a bar."""
    rows = np.where(ends >= 0, bars[ends], -1) if bars.size else ends
    series = pl.Series(name, rows)
    return series.set(series < 0, None).cast(FLOWS[name])


def _pairs(group: Ints, finish: Flags, time: Ints) -> tuple[Ints, Ints]:
    """Places of both ends of every arrow, -1 where one is missing, in the order of the result."""
    groups = int(group.max(initial=-1)) + 1
    starts = np.bincount(group[~finish], minlength=groups)
    finishes = np.bincount(group[finish], minlength=groups)
    even, both = (starts == finishes)[group], ((starts > 0) & (finishes > 0))[group]
    del starts, finishes
    source = np.full(group.size, -1, np.int64)
    first, second = (
        side[np.argsort(group[side], kind="stable")]
        for side in (np.flatnonzero(even & ~finish), np.flatnonzero(even & finish))
    )
    source[second] = first
    mixed = np.flatnonzero(~even & both)
    if mixed.size:
        targets, sources = _latest(mixed, group, finish, time)
        source[targets] = sources
    taken = np.zeros(group.size, np.bool_)
    targets = np.flatnonzero(finish)
    taken[source[targets][source[targets] >= 0]] = True
    alone = np.flatnonzero(~finish & ~taken)
    missing = np.full(alone.size, -1, np.int64)
    return np.concatenate([source[targets], alone]), np.concatenate([targets, missing])


def _latest(mixed: Ints, group: Ints, finish: Flags, time: Ints) -> tuple[Ints, Ints]:
    """Ends of arrows among ``mixed``, and for each the start it takes by time (every group has both)."""
    places = mixed[np.lexsort((mixed, finish[mixed], time[mixed], group[mixed]))]
    # A start carries its position on to the ends after it, as far as its group reaches.
    position = np.arange(places.size)
    last = np.maximum.accumulate(np.where(finish[places], -1, position))
    head = np.flatnonzero(np.diff(group[places], prepend=-1))
    begin = np.repeat(head, np.diff(head, append=places.size))
    first_of_file = np.minimum.reduceat(np.where(finish[places], group.size, places), head)
    first = np.repeat(first_of_file, np.diff(head, append=places.size))
    chosen = np.where(last >= begin, places[last], first)
    ending = finish[places]
    return places[ending], chosen[ending]


def _bars(ends: pl.DataFrame, finish: Flags, events: pl.DataFrame) -> Ints:
    """Row of the bar at every end, -1 where there is none.

    One track after the other: never are all bars held a second time.
    """
    bars = np.full(ends.height, -1, np.int64)
    launching = ends["kind"].eq(HOST_TO_DEVICE).fill_null(False).to_numpy() & ~finish
    time, tracks = ends["ts_ns"].to_numpy(), ends["track"].unique()
    rows_on = dict(_by_track(events["track"], tracks))
    for track, places in _by_track(ends["track"], tracks):
        rows = rows_on.pop(track, None)
        if rows is None:
            continue
        inside, exact = places[launching[places]], places[~launching[places]]
        if inside.size:
            bars[inside] = _open(events, rows, time[inside])
        if exact.size:
            bars[exact] = _starting(events, rows, time[exact])
    return bars


def _by_track(column: pl.Series, wanted: pl.Series) -> Iterator[tuple[int, Rows]]:
    """Each of the tracks wanted that occurs, with its rows in their order."""
    codes = column.to_numpy()
    asked = np.zeros(max(int(codes.max(initial=0)), int(wanted.to_numpy().max(initial=0))) + 1, np.bool_)
    asked[wanted.to_numpy()] = True
    rows = np.flatnonzero(asked[codes]).astype(np.uint32)
    # Numbers of 16 bits are sorted digit by digit, several times as fast.
    codes = codes[rows].astype(np.uint16 if asked.size <= 1 << 16 else np.uint32)
    rows = rows[np.argsort(codes, kind="stable")]
    counts = np.bincount(codes, minlength=1)
    before = np.cumsum(counts) - counts
    for track in np.flatnonzero(counts).tolist():
        yield track, rows[before[track] : before[track] + counts[track]]


def _open(events: pl.DataFrame, rows: Rows, time: Ints) -> Ints:
    """Row of the innermost bar of one track that is open at every moment, -1 without one.

    Args:
        events: All bars.
        rows: Those of the track.
        time: The moments.
    """
    track = pl.Series("track", np.zeros(rows.size, np.uint32))
    bars = events.select(pl.col("start_ns", "duration_ns").gather(rows)).with_columns(track)
    at = SortedBars.of(bars).innermost(pl.Series(np.zeros(time.size, np.uint32)), pl.Series(time))
    return np.where(at >= 0, rows[at].astype(np.int64), -1)


def _starting(events: pl.DataFrame, rows: Rows, time: Ints) -> Ints:
    """Row of the innermost bar of one track that starts exactly at every moment, -1 without one.

    Args:
        events: All bars.
        rows: Those of the track.
        time: The moments.
    """
    start = events["start_ns"].to_numpy()[rows]
    order = np.argsort(start, kind="stable")
    start = start[order]
    if (start[1:] == start[:-1]).any():
        # Of bars that start together the innermost comes last: the shortest, the last of the file.
        start = events["start_ns"].to_numpy()[rows]
        order = np.lexsort((-events["duration_ns"].to_numpy()[rows], start))
        start = start[order]
    rows = rows[order]
    found = np.empty(time.size, np.int64)
    for at in range(0, time.size, _COMPARED):
        some = time[at : at + _COMPARED]
        place = np.searchsorted(start, some, side="right") - 1
        found[at : at + _COMPARED] = np.where(
            (place >= 0) & (start[place] == some), rows[place].astype(np.int64), -1
        )
    return found


def launches(trace: Trace) -> pl.DataFrame:
    """Which host operator launched which bar of the device.

    An operator is any bar on the program's own threads but steps, Python frames and the plumbing that
    flows.toml names; the innermost one counts. A device bar takes the first of these ways that leads to one:

    1. An arrow from the program (async_npu of torch_npu, ac2g of Kineto): the operator that is open where the
       bar at its start starts. Of several arrows the first of the file with a bar there.
    2. HostToDevice from a CANN bar that starts inside a Dequeue bar of its own thread (of any thread, where
       the program shows none of that number); the Enqueue before it with its correlation_id, else the one its
       arrow comes from; the operator that is open where that starts.
    3. HostToDevice from a CANN bar, the operator that is open then on the thread of the same number: there is
       no task queue, or the call went past it.

    Returns:
        One row per device bar with an operator, by its row: event (of device streams and collectives), host
        (row of the operator), via (String: the kind of the arrow in way 1, queue_chain, same_thread), launch
        (row of the CANN bar at the first HostToDevice arrow that has one, null without).
    """
    starts = trace.events.select("track", "start_ns")
    operators = _Open.of(trace.on(*HOST_ROLES).filter(_is_operator()))
    arrows = _device_arrows(trace)
    direct = _first(arrows.filter(pl.col("role").is_in(HOST_ROLES)))
    called = _first(arrows.filter(pl.col("role") == CANN))
    found = direct.select(
        "event",
        host=operators.at(starts[direct["source"]]),
        via=pl.col("kind").cast(pl.String),
    ).drop_nulls("host")
    calls = called.join(found, on="event", how="anti", maintain_order="left")
    here = _on_program_threads(trace, starts[calls["source"]])
    queued = starts.select(pl.all().gather(_enqueues(trace, here)))
    chain, beside = operators.at(queued), operators.at(here)
    chained = calls.select(
        "event",
        host=chain.fill_null(beside),
        via=pl.when(chain.is_not_null()).then(pl.lit(QUEUE_CHAIN)).otherwise(pl.lit(SAME_THREAD)),
    ).drop_nulls("host")
    launch = called.select("event", launch="source")
    return pl.concat([found, chained]).join(launch, on="event", how="left").sort("event")


@dataclass(frozen=True, slots=True)
class _Open:
    """Some bars of a trace, to ask which of them are open."""

    events: pl.Series
    bars: SortedBars

    @classmethod
    def of(cls, bars: pl.DataFrame) -> _Open:
        return cls(bars["event"], SortedBars.of(bars))

    def at(self, points: pl.DataFrame) -> pl.Series:
        """The ``event`` of the innermost bar open at each point; null without one or without a place."""
        track = points["track"].cast(pl.Int64).fill_null(-1)
        rows = pl.Series(self.bars.innermost(track, points["start_ns"].fill_null(0)))
        return self.events.gather(rows.set(rows < 0, None))


def _is_operator() -> pl.Expr:
    rules = load_toml("analysis.trace", "flows.toml")["operators"]
    other = pl.col("cat").is_in(rules["other_cats"]) | pl.col("name").cat.starts_with(rules["step_prefix"])
    return ~other.fill_null(value=False)


def _device_arrows(trace: Trace) -> pl.DataFrame:
    """Arrows from a bar to one of the device, in their order: event, source, kind, role (of the source)."""
    role = trace.tracks["role"].gather(trace.events["track"])
    arrows = trace.flows.drop_nulls(["source", "target"])
    ends = arrows.select("source", "kind", event="target").with_columns(
        role.gather(arrows["source"]).alias("role"), role.gather(arrows["target"]).alias("to")
    )
    return ends.filter(pl.col("to").is_in((DEVICE_STREAM, COLLECTIVE)))


def _first(arrows: pl.DataFrame) -> pl.DataFrame:
    """The first arrow to every device bar."""
    return arrows.unique("event", keep="first", maintain_order=True)


def _on_program_threads(trace: Trace, points: pl.DataFrame) -> pl.DataFrame:
    """Points on CANN threads, moved to the program's thread of the same number; null where it shows none."""
    program = trace.tracks.filter(pl.col("role").is_in(HOST_ROLES))
    threads = program.select("tid", own="track").unique("tid", keep="first", maintain_order=True)
    own = trace.tracks.join(threads, on="tid", how="left", maintain_order="left")["own"]
    return points.with_columns(own.gather(points["track"]).alias("track"))


def _enqueues(trace: Trace, points: pl.DataFrame) -> pl.Series:
    """The Enqueue bar of the Dequeue bar that is open at each point, null where one of them is missing.

    A point without a thread may lie in a Dequeue bar of any.
    """
    rules = load_toml("analysis.trace", "flows.toml")["queue"]
    bars = trace.on(*HOST_ROLES).select("event", "track", "cat", "start_ns", "duration_ns", "correlation_id")
    dequeues = bars.filter(pl.col("cat") == rules["dequeue"])
    anywhere = pl.when(pl.col("track").is_null()).then(0).alias("track")
    of_any = _Open.of(dequeues.with_columns(pl.lit(0).alias("track")))
    taken = _Open.of(dequeues).at(points).fill_null(of_any.at(points.with_columns(anywhere)))
    enqueues = bars.filter(pl.col("cat") == rules["enqueue"], pl.col("correlation_id").is_not_null())
    numbered = dequeues.sort("start_ns", "event").join_asof(
        enqueues.sort("start_ns", "event").select("start_ns", "correlation_id", enqueue="event"),
        on="start_ns",
        by="correlation_id",
        check_sortedness=False,
    )
    arrows = trace.flows.filter(pl.col("kind") == rules["arrow"]).drop_nulls(["source", "target"])
    tied = _first(arrows.select("source", event="target"))
    pairs = numbered.join(tied, on="event", how="left").select("event", pl.coalesce("enqueue", "source"))
    return taken.to_frame("event").join(pairs, on="event", how="left", maintain_order="left")["enqueue"]
