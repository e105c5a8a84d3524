"""Phases in words: a phase with its letter, and why a bar belongs to one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.phases.model import LETTERS
from analysis.report.escape import visible
from widgets.safe_text import cut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.notes import Value
    from analysis.phases.occurrences import Why
    from analysis.report.messages import Messages
    from widgets.level import Row

NAME_CELLS = 120
"""Of a name within a sentence."""
TITLE_CELLS = 400
"""Of a name as the title of a story."""


def phase_name(phase: str | None, messages: Messages) -> str:
    """``L embedding lookup``."""
    known = phase or "unclassified"
    return f"{LETTERS[known]} {messages.text(f'phase.{known}')}"


def why_lines(row: Row, why: Why | None, messages: Messages) -> list[str]:
    """Why a node has its phase, in one line; what blocks it and what its rule remarks, in others."""
    lines = []
    if row["star"] is not None:
        star = row["star"]
        lines.append(f"★ {messages.text(f'star_why.{star}')}")
    if why is not None:
        lines += [messages.text("why.line", {"why": messages.text("why.joint").join(_whys(why, messages))})]
        note = (why.note_zh if messages.language == "zh" else None) or why.note
        if note:
            lines.append(messages.text("why.note", {"note": visible(note)}))
    return lines


def _whys(why: Why, messages: Messages) -> Iterator[str]:
    """The parts of the line, the deciding one first."""
    if why.phase is None:
        yield messages.text("why.none")
    if why.rule is not None:
        strength = messages.text(f"why.strength_{why.strength}")
        yield messages.text("why.user_rule" if why.user else "why.rule", _rule(why.rule, strength))
    if why.inherited_from is not None:
        yield messages.text("why.inherited", {"name": _short(why.inherited_from)})
    if why.ignored_rule is not None:
        phase = messages.text(f"phase.{why.ignored_phase or 'unclassified'}")
        yield messages.text("why.ignored", {"rule": visible(why.ignored_rule), "phase": phase})
    if why.wait:
        key = "why.wait" if why.producer is None else "why.wait_for"
        yield messages.text(key, {"name": _short(why.producer or "")})
    if why.sync:
        yield messages.text("why.sync")
    if why.frameworks:
        yield messages.text("why.frameworks", {"names": visible(", ".join(why.frameworks))})


def _rule(rule: str, strength: str) -> dict[str, Value]:
    return {"rule": visible(rule), "strength": strength}


def _short(name: str) -> str:
    return cut(name, NAME_CELLS)
