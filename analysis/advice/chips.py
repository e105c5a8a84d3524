"""Physical cores by chip name (chips.toml)."""

from __future__ import annotations

from analysis.datafile import load_toml
from analysis.profile.metadata import Cores


def chip_names() -> tuple[str, ...]:
    """All chips of the table, as their SoC strings."""
    return tuple(load_toml("analysis.advice", "chips.toml"))


def cores_of_chip(name: str) -> Cores:
    """Cube and vector cores of one device of chip ``name``; unknown for a chip the table lacks.

    The name is compared without case and with or without the leading ``Ascend``. A chip without vector
    cores of its own has ``aiv`` None.
    """
    wanted = name.strip().lower().removeprefix("ascend")
    for soc, entry in load_toml("analysis.advice", "chips.toml").items():
        if soc.lower().removeprefix("ascend") == wanted:
            return Cores(entry["aic"], entry["aiv"] or None, "chip_table")
    return Cores()
