"""One judgement on a profile, and how grave it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from analysis.datafile import load_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analysis.metrics import CoreMetrics
    from analysis.notes import Value
    from analysis.report.messages import Messages

ACTION: Final = "action"
LOOK: Final = "look"
FINE: Final = "fine"
UNKNOWN: Final = "unknown"

SEVERITIES: Final = (ACTION, LOOK, FINE, UNKNOWN)
"""From worst to least."""

MARKS: Final = {ACTION: "!", LOOK: "~", FINE: "·", UNKNOWN: "?"}
"""What stands before a finding of each severity."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One judgement with its numbers; its text is that of :func:`finding_text`."""

    severity: str
    """One of SEVERITIES."""
    kind: str
    pane: str
    """The pane that shows more: overview, operators, host, phases, aten or files."""
    view: str
    """The list inside the pane: steps, type, top, problems, calls …"""
    values: Mapping[str, Value] = field(default_factory=dict)
    stake_ns: int = 0
    """Time per iteration that the finding is about; decides the order inside a severity."""
    filter: str | None = None
    """Text that narrows the list to the rows meant."""
    row: Mapping[str, Value | None] = field(default_factory=dict)
    """Values by which the one row meant is known in the list; empty where the list as a whole is meant."""


_WORDS: Final = {
    "check": "check",
    "phase": "phase",
    "other": "phase",
    "part": "remainder",
    "stage": "stage",
    "confidence": "sure",
    "per": "per",
}
"""Values that are codes, and the messages they are in."""


def finding_text(finding: Finding, messages: Messages) -> str:
    """The finding in words: the message ``finding.<kind>``, checks and phases in words of their own."""
    messages = messages.of_trace(whole=finding.values.get("per") == "trace")
    values = {
        name: messages.text(f"{_WORDS[name]}.{value}") if name in _WORDS else value
        for name, value in finding.values.items()
    }
    return messages.text(f"finding.{finding.kind}", values)


def least_share(name: str) -> float:
    """A limit of findings.toml."""
    return float(load_toml("analysis", "findings.toml")[name]["share_at_least"])


def weight(stake_ns: int, metrics: CoreMetrics) -> str:
    """Whether a flagged judgement touches enough of the step to act on."""
    if metrics.headline is None:
        return LOOK
    whole_ns = metrics.headline[1].value_ns
    return ACTION if whole_ns > 0 and stake_ns >= least_share("action") * whole_ns else LOOK
