"""Which kind of file a name stands for, and what else the name says: slice, device, model, time stamp."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from analysis.datafile import load_toml

if TYPE_CHECKING:
    from pathlib import Path

GRAPH_KINDS = ("ge_dump", "inductor_code")

# The text after the stem: _slice_0, then whatever makes it a variant, then _<device>_<model>[_<iteration>],
# then the stamp.
_AFTER = re.compile(
    r"^(?:_?slice_?(?P<slice>\d+))?(?P<variant>.*?)"
    r"(?:_(?P<device>\d{1,3})_(?P<model>\d{1,10})(?:_\d{1,10})?)?(?:_(?P<stamp>\d{14,17}))?$"
)
_GE_DUMP = re.compile(r"^ge_(onnx|proto)_\d+.*\.(pbtxt|txt)$|_Build.*\.pbtxt$")
_INDUCTOR_CODE = re.compile(r"output_code.*\.py$|_runnable\.py$")


@dataclass(frozen=True, slots=True)
class KindSpec:
    """One entry of kinds.toml."""

    name: str
    stem: str
    ends: tuple[str, ...]
    needed_for: tuple[str, ...]
    collect: str | None
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file of a known kind with what its name says."""

    path: Path
    kind: str
    variant: str
    """What the name holds besides kind, slice, device, model and stamp; usually empty."""
    slice: int | None
    device: int | None
    model: int | None
    stamp: int
    """0 where the name has none."""


@cache
def kinds() -> dict[str, KindSpec]:
    """All kinds, those with the longest stems first, so that step_trace_time is not taken for step_trace."""
    entries = [
        KindSpec(
            name=name,
            stem=entry["stem"],
            ends=tuple(entry["ends"]),
            needed_for=tuple(entry.get("needed_for", ())),
            collect=entry.get("collect"),
            expected=tuple(entry.get("expected", ())),
        )
        for name, entry in load_toml("analysis.profile", "kinds.toml").items()
    ]
    return {entry.name: entry for entry in sorted(entries, key=lambda entry: -len(entry.stem))}


def identify(path: Path) -> NamedFile | None:
    """The kind of ``path`` by its name; None for files recui has no use for."""
    name = path.name.removesuffix(".gz")
    for spec in kinds().values():
        end = next((end for end in spec.ends if name.endswith(end)), None)
        if end is None:
            continue
        before, stem, after = name.removesuffix(end).rpartition(spec.stem)
        if not stem or (before and not before.endswith("_") and not spec.stem.startswith(".")):
            continue
        match = _AFTER.match(after)
        if match is None or _is_other_module(spec, match["variant"]):
            continue
        return NamedFile(
            path=path,
            kind=spec.name,
            variant="" if spec.stem.startswith(".") else before + match["variant"],
            slice=_number(match["slice"]),
            device=_number(match["device"]),
            model=_number(match["model"]),
            stamp=int(match["stamp"] or 0),
        )
    return None


def _is_other_module(spec: KindSpec, variant: str) -> bool:
    """``msprof_tx_…`` and the like are other modules that begin with the same word."""
    return spec.stem in {"msprof", "communication"} and variant not in {"", "_"}


def graph_kind(path: Path) -> str | None:
    """ge_dump or inductor_code, by name; what the file really is shows when it is read."""
    if _GE_DUMP.search(path.name):
        return "ge_dump"
    return "inductor_code" if _INDUCTOR_CODE.search(path.name) else None


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)
