"""What the user says beside the profile: facts no file holds, and what throughput needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Options:
    """Values from the command line that change results."""

    batch_size: int | None = None
    instances: int | None = None
    """Concurrent inference instances; ``None`` counts as one."""
    latency_ms: float | None = None
    """Latency budget of one inference iteration."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """``--fact NAME=VALUE``, checked by :func:`analysis.user_facts.parse_facts`."""
    graphs: tuple[Path, ...] = ()
    """``--graph FILE``; without any, the graphs below the profile count."""
    phase_rules: Path | None = None
    """``--phase-rules FILE``, checked by :func:`analysis.phases.rules.load_rules`."""
