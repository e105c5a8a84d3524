"""A trace as one run of bytes and back: what an entry of the cache holds.

An entry is ``magic, identity, parts, directory, length of the directory, digest``. The parts are Parquet
files (zstd), the directory is JSON: where the parts lie, and what of the trace is no frame. The digest is of
all that stands before it, so a part is handed to the Parquet reader only if it is exactly what was written.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import blake2b
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from analysis.trace.model import CHUNKS, EVENTS, FLOWS, TRACKS, Fault, Quality, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VERSION: Final = 2
"""To be raised whenever the same file gives another trace than before: older entries then count no more."""

MAGIC: Final = b"recui trace\x00"
DIGEST_BYTES: Final = 32
HEAD_BYTES: Final = len(MAGIC) + DIGEST_BYTES
"""The magic and the identity, enough to turn an entry down."""

_LENGTH_BYTES = 8
_PART_ROWS = 1 << 20
_FRAMES: Final[Mapping[str, Mapping[str, pl.DataType]]] = {
    "events": EVENTS,
    "tracks": TRACKS,
    "flows": FLOWS,
    "chunks": CHUNKS,
}


def digest(*pieces: bytes) -> bytes:
    """A hash of the pieces one by one: where one ends and the next begins counts."""
    state = blake2b(digest_size=DIGEST_BYTES)
    for piece in pieces:
        state.update(len(piece).to_bytes(_LENGTH_BYTES, "little"))
        state.update(piece)
    return state.digest()


def layout() -> bytes:
    """What must be the same for an entry to be read: version, columns, fields, roles, and polars itself."""
    columns = {
        name: [[column, str(dtype)] for column, dtype in schema.items()] for name, schema in _FRAMES.items()
    }
    fields = [list(kind.__dataclass_fields__) for kind in (Trace, Quality, Fault)]
    described = json.dumps([VERSION, columns, fields, pl.__version__])
    return digest(described.encode(), files("analysis.trace").joinpath("tracks.toml").read_bytes())


def pack(trace: Trace, identity: bytes) -> Iterator[bytes]:
    """The pieces of an entry, in order; each takes well below a second to make.

    Args:
        trace: The trace.
        identity: What the entry stands for, 32 bytes.
    """
    state = blake2b(digest_size=DIGEST_BYTES)
    places: list[tuple[str, int]] = []
    head = MAGIC + identity
    state.update(head)
    yield head
    for name in _FRAMES:
        for rows in getattr(trace, name).iter_slices(_PART_ROWS):
            buffer = BytesIO()
            rows.write_parquet(buffer, compression="zstd", statistics=False)
            part = buffer.getvalue()
            places.append((name, len(part)))
            state.update(part)
            yield part
    text = json.dumps({"parts": places, "base_ns": trace.base_ns, **_kept(trace.quality)}).encode()
    end = text + len(text).to_bytes(_LENGTH_BYTES, "little")
    state.update(end)
    yield end + state.digest()


def unpack(entry: bytes, identity: bytes) -> Trace | None:
    """The trace of an entry; None if it is not whole, or stands for something else."""
    if entry[:HEAD_BYTES] != MAGIC + identity:
        return None
    view = memoryview(entry)
    body, written = view[:-DIGEST_BYTES], view[-DIGEST_BYTES:]
    if len(entry) < HEAD_BYTES + _LENGTH_BYTES + DIGEST_BYTES or _plain_digest(body) != written:
        return None
    length = int.from_bytes(body[-_LENGTH_BYTES:], "little")
    directory = json.loads(bytes(body[-_LENGTH_BYTES - length : -_LENGTH_BYTES]))
    frames = {name: _frame(name, directory["parts"], view) for name in _FRAMES}
    if any(dict(frame.schema) != _FRAMES[name] for name, frame in frames.items()):
        return None
    return Trace(**frames, quality=_quality(directory), base_ns=directory["base_ns"])


def _plain_digest(body: memoryview) -> bytes:
    return blake2b(body, digest_size=DIGEST_BYTES).digest()


def _frame(name: str, places: list[list[Any]], entry: memoryview) -> pl.DataFrame:
    offset = HEAD_BYTES
    parts: list[pl.DataFrame] = []
    for owner, length in places:
        if owner == name:
            parts.append(pl.read_parquet(bytes(entry[offset : offset + length])))
        offset += length
    return pl.concat(parts, rechunk=True) if parts else pl.DataFrame(schema=_FRAMES[name])


def _kept(quality: Quality) -> dict[str, Any]:
    return {
        "objects": quality.objects,
        "by_phase": dict(quality.by_phase),
        "faults": [asdict(fault) for fault in quality.faults],
        "lost_bytes": quality.lost_bytes,
    }


def _quality(kept: Mapping[str, Any]) -> Quality:
    return Quality(
        objects=kept["objects"],
        by_phase=kept["by_phase"],
        faults=tuple(Fault(**fault) for fault in kept["faults"]),
        lost_bytes=kept["lost_bytes"],
    )
