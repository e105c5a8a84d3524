"""What the tracks of a trace are: by the names their processes and threads have, never by their numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import polars as pl

from analysis.datafile import load_toml
from analysis.trace import model
from analysis.trace.model import Fault, Trace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAMES = ("process_name", "process_labels", "thread_name")
_EXAMPLE = 80


def describe_tracks(
    pairs: pl.DataFrame, metadata: pl.DataFrame, events: pl.DataFrame
) -> tuple[pl.DataFrame, tuple[Fault, ...]]:
    """Name every track and say what role it has.

    Args:
        pairs: One row a track: track (UInt32, the row), pid, tid (String), first_number (UInt32, the first
            bar or flow end).
        metadata: number (UInt32), name, pid, tid, value (String) of the metadata objects, in any order; other
            names than process_name, process_labels and thread_name count for nothing.
        events: The bars, columns EVENTS.

    Returns:
        The tracks (columns TRACKS) and the faults late_metadata and duplicate_metadata, if any. Of metadata
        that contradicts itself the last one in the file holds.
    """
    tells = pl.col("name").is_in(_NAMES) & pl.col("value").is_not_null()
    named = metadata.filter(tells).sort("number", "name", "pid", "tid", "value")
    process = _last(named, "process_name", "process", ("pid",))
    label = _last(named, "process_labels", "label", ("pid",))
    thread = _last(named, "thread_name", "thread", ("pid", "tid"))
    tracks = (
        pairs.select("track", "pid", "tid")
        .join(process, on="pid", how="left", nulls_equal=True, maintain_order="left")
        .join(thread, on=["pid", "tid"], how="left", nulls_equal=True, maintain_order="left")
        .join(label, on="pid", how="left", nulls_equal=True, maintain_order="left")
        .join(_bars(events), on="track", how="left", maintain_order="left")
        .with_columns(pl.col("bars", "host", "cann", "device_tasks").fill_null(0))
    )
    roles = _roles(tracks, events)
    devices = [_device(text) for text in tracks["label"]]
    described = tracks.with_columns(
        pl.Series("role", roles, dtype=pl.String), pl.Series("device", devices, dtype=pl.Int64)
    )
    faults = (*_contradictions(named), *_late(pairs, named))
    return described.select(pl.col(name).cast(dtype) for name, dtype in model.TRACKS.items()), faults


def of_device(trace: Trace, device: int) -> Trace:
    """The trace as seen from one device: tracks of other devices have the role ``other_device``.

    Tracks without a device (host, labels without a number) stay as they are.
    """
    others = pl.col("device") != device
    role = pl.when(others).then(pl.lit(model.OTHER_DEVICE)).otherwise(pl.col("role"))
    return replace(trace, tracks=trace.tracks.with_columns(role.alias("role")))


# ------------------------------------------------------------------------------- names and their faults


def _last(named: pl.DataFrame, name: str, column: str, keys: tuple[str, ...]) -> pl.DataFrame:
    """The value that holds for each process or thread: the last in the file."""
    rows = named.filter(pl.col("name") == name)
    return rows.group_by(keys, maintain_order=True).agg(pl.col("value").last().alias(column))


def _whose() -> list[pl.Expr]:
    """What a metadata object names: labels and names of a process whatever their thread number is."""
    of_thread = pl.col("name") == "thread_name"
    return [pl.col("name"), pl.col("pid"), pl.when(of_thread).then(pl.col("tid")).alias("of_tid")]


def _contradictions(named: pl.DataFrame) -> tuple[Fault, ...]:
    """Metadata that later metadata overrules."""
    overruled = named.filter(pl.col("value") != pl.col("value").last().over(_whose(), order_by="number"))
    return _fault("duplicate_metadata", overruled)


def _late(pairs: pl.DataFrame, named: pl.DataFrame) -> tuple[Fault, ...]:
    """Metadata that stands behind the first bar or arrow of what it names."""
    first = pl.col("first_number").min()
    processes = pairs.group_by("pid").agg(first.alias("of_process"))
    threads = pairs.group_by("pid", "tid").agg(first.alias("of_thread"))
    placed = named.join(processes, on="pid", how="left", nulls_equal=True, maintain_order="left").join(
        threads, on=["pid", "tid"], how="left", nulls_equal=True, maintain_order="left"
    )
    of_thread = pl.col("name") == "thread_name"
    begun = pl.when(of_thread).then(pl.col("of_thread")).otherwise(pl.col("of_process"))
    return _fault("late_metadata", placed.filter(pl.col("number") > begun))


def _fault(kind: str, rows: pl.DataFrame) -> tuple[Fault, ...]:
    if rows.is_empty():
        return ()
    first = rows.row(0, named=True)
    example = f"{first['name']}: {first['value']}"[:_EXAMPLE]
    return (Fault(kind, rows.height, example, first["number"], lost=False),)


# ----------------------------------------------------------------------------------------------- roles


def _bars(events: pl.DataFrame) -> pl.DataFrame:
    """How many bars each track has, and how many of those that tell what it is."""
    data = load_toml("analysis.trace", "tracks.toml")
    cann = [pl.col("name").cat.starts_with(prefix) for prefix in data["unnamed"]["cann"]["prefixes"]]
    return (
        events.lazy()
        .group_by("track")
        .agg(
            pl.len().alias("bars"),
            pl.col("cat").is_in(data["host"]["cats"]).sum().alias("host"),
            (pl.col("cat") == data["operators"]["cat"]).sum().alias("operators"),
            pl.any_horizontal(cann).sum().alias("cann"),
            pl.col("task_type").is_not_null().sum().alias("device_tasks"),
            pl.col("name").cat.starts_with(data["steps"]["prefix"]).sum().alias("steps"),
            pl.col("name").is_in(_node_names(events)).sum().alias("nodes"),
        )
        .collect()
    )


@dataclass(frozen=True, slots=True)
class _Rule:
    """One entry of [[named]] or [[labelled]]."""

    process: re.Pattern[str]
    thread: re.Pattern[str]
    role: str


@cache
def _rules(table: str, key: str) -> tuple[_Rule, ...]:
    entries = load_toml("analysis.trace", "tracks.toml")[table]
    return tuple(
        _Rule(re.compile(entry[key]), re.compile(entry["thread"], re.DOTALL), entry["role"])
        for entry in entries
    )


def _roles(tracks: pl.DataFrame, events: pl.DataFrame) -> list[str]:
    """The role of every track; those of the program's own threads depend on one another."""
    of_process = tracks.group_by("pid").agg(pl.col("host", "cann", "bars").sum())
    processes = {row["pid"]: row for row in of_process.iter_rows(named=True)}
    rows = tracks.to_dicts()
    kinds = [_kind(row, processes[row["pid"]]) for row in rows]
    program = [row for row, kind in zip(rows, kinds, strict=True) if kind is None]
    own = _program_roles(program, events)
    return [own[row["track"]] if kind is None else kind for row, kind in zip(rows, kinds, strict=True)]


def _kind(track: Mapping[str, object], process: Mapping[str, int]) -> str | None:
    """The role of a track; None for a thread of the program itself."""
    name, thread, label = (_stripped(track[key]) for key in ("process", "thread", "label"))
    ours = [rule for rule in _rules("named", "process") if rule.process.fullmatch(name or "")]
    ours += [rule for rule in _rules("labelled", "label") if rule.process.fullmatch(label or "")]
    for rule in ours:
        if rule.thread.fullmatch(thread or ""):
            return rule.role
    if ours:
        unnamed_stream = thread is None and any(rule.role == model.DEVICE_STREAM for rule in ours)
        return _kind_by_tasks(track) if unnamed_stream else model.OTHER
    if name == load_toml("analysis.trace", "tracks.toml")["host"]["process"] or process["host"]:
        return None
    if name is not None:
        return model.OTHER
    return model.CANN if 2 * process["cann"] > process["bars"] else _kind_by_tasks(track)


def _kind_by_tasks(track: Mapping[str, object]) -> str:
    return model.DEVICE_STREAM if track["device_tasks"] else model.OTHER


def _program_roles(program: Sequence[Mapping[str, object]], events: pl.DataFrame) -> dict[object, str]:
    """Which of the program's own threads is the main one, and which run the backward pass."""
    autograd = _autograd(program, events)
    stepped = [row for row in program if row["steps"]]
    if all(row["track"] in autograd for row in stepped):
        # The main thread runs its backward pass itself.
        autograd.discard(_main(stepped))
    main = _main([row for row in program if row["track"] not in autograd])
    if main is None:
        main = _main(program)
    roles = dict.fromkeys((row["track"] for row in program), model.PYTHON_OTHER)
    roles.update(dict.fromkeys(autograd, model.AUTOGRAD))
    if main is not None:
        roles[main] = model.PYTHON_MAIN
    return roles


def _main(program: Sequence[Mapping[str, object]]) -> object | None:
    """The thread with the most steps; without any, with the most operators; the first of equal ones."""

    def evidence(row: Mapping[str, object]) -> tuple[int, int]:
        return _count(row["steps"]), _count(row["operators"])

    most = max(program, key=lambda row: (evidence(row), -_count(row["track"])), default=None)
    return most["track"] if most is not None and any(evidence(most)) else None


def _autograd(program: Sequence[Mapping[str, object]], events: pl.DataFrame) -> set[object]:
    """Threads that autograd has named, or whose operators lie mostly inside nodes of the backward pass."""
    data = load_toml("analysis.trace", "tracks.toml")
    pattern = re.compile(data["autograd"]["thread"])
    found = {row["track"] for row in program if pattern.search(str(row["thread"] or ""))}
    candidates = [row["track"] for row in program if row["nodes"]]
    if not candidates:
        return found
    operators = events.lazy().filter(
        pl.col("track").is_in(candidates),
        pl.col("cat") == data["operators"]["cat"],
        ~pl.col("name").cat.starts_with(data["steps"]["prefix"]).fill_null(value=False),
    )
    nodes = operators.filter(pl.col("name").is_in(_node_names(events)))
    all_ns, node_ns = _covered_ns(operators), _covered_ns(nodes)
    share = data["autograd"]["covered_share"]
    return found | {track for track, ns in node_ns.items() if ns and ns >= share * all_ns[track]}


def _node_names(events: pl.DataFrame) -> pl.Series:
    """The names that nodes of the backward pass have here."""
    pattern = load_toml("analysis.trace", "tracks.toml")["autograd"]["node"]
    names = events["name"].unique().cast(pl.String).drop_nulls()
    return names.filter(names.str.contains(pattern)).sort().implode()


def _covered_ns(bars: pl.LazyFrame) -> dict[object, int]:
    """Length of the union of the bars of each track."""
    end = pl.col("start_ns") + pl.col("duration_ns")
    before = pl.col("end_ns").cum_max().shift(1).over("track")
    fresh = pl.col("end_ns") - pl.max_horizontal("start_ns", "before_ns")
    rows = (
        bars.select("track", "start_ns", end.alias("end_ns"))
        .sort("track", "start_ns")
        .with_columns(before.alias("before_ns"))
        .group_by("track")
        .agg(fresh.clip(0).sum().alias("ns"))
        .collect()
    )
    return dict(zip(rows["track"].to_list(), rows["ns"].to_list(), strict=True))


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _stripped(value: object) -> str | None:
    return value.strip() if isinstance(value, str) else None


def _device(label: str | None) -> int | None:
    pattern = load_toml("analysis.trace", "tracks.toml")["device"]["label"]
    match = re.fullmatch(pattern, label.strip()) if label is not None else None
    return int(match[2]) if match else None
