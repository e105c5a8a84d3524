"""Why there is nothing to draw, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.notes import Missing
    from analysis.report.messages import Messages


def missing_text(missing: Missing, messages: Messages) -> str:
    """The files that are needed and the collection setting that gives them, or where the reason stands."""
    if f"not_of_this_kind.{missing.lacks}" in messages:
        return messages.text(f"not_of_this_kind.{missing.lacks}")
    kinds = messages.text("report.or").join(missing.needs)
    if missing.unreadable:
        return messages.text("missing.unreadable", {"kinds": kinds})
    if missing.lacks is not None:
        what = {"what": messages.text(f"lacks.{missing.lacks}")}
        if missing.cut:
            return messages.text("report.lost", what)
        absent = messages.text("report.lacks", what)
    else:
        absent = messages.text("missing.absent", {"kinds": kinds})
    return f"{absent} {messages.text(f'collect.{missing.hint}')}"
