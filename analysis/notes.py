"""What an analysis tells the reader besides its numbers: notes, evidence, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Value: TypeAlias = "str | int | float"


@dataclass(frozen=True, slots=True)
class Note:
    """One remark on data quality or on how a number came about.

    Its text is the message ``note.<kind>`` of the catalogue, filled with ``values``.
    """

    kind: str
    values: Mapping[str, Value] = field(default_factory=dict)
    file: str | None = None
    """Path relative to the profile, where one file is meant."""
    line: int | None = None
    damage: bool = False
    """True if part of the input was lost to damage (exit code 3)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One observation that speaks for a conclusion; its text is the message ``evidence.<kind>``."""

    kind: str
    values: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Missing:
    """Stands in place of a result whose files are absent or unreadable.

    Its text names ``needs`` and adds the message ``collect.<hint>``: the collection setting that
    produces the file.
    """

    needs: tuple[str, ...]
    """File kinds, any of which would do."""
    hint: str
    unreadable: bool = False
    """True if a file is there but could not be read; a note then names path, line and reason."""
    lacks: str | None = None
    """What the file, which is there, does not record: message ``lacks.<name>``; None if it is absent."""
    cut: bool = False
    """True if the file was cut short, and what it lacks may have been in its lost end."""
