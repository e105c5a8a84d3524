"""What the reader must know about the choice of a capture: others beside it, ranks and devices it shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.notes import Note

if TYPE_CHECKING:
    from analysis.profile.discover import Capture, Profile


def capture_notes(profile: Profile, capture: Capture) -> tuple[Note, ...]:
    """Notes on captures that are left aside, and on files that are not of this capture alone.

    Args:
        profile: All that was found.
        capture: What the numbers are of.
    """
    captures = profile.captures
    notes: list[Note] = []
    if len(captures) > 1:
        names = ", ".join(_label(one) for one in captures)
        notes.append(Note("several_captures", {"count": len(captures), "names": names, "used": capture.name}))
    if sum(one.rank == capture.rank for one in captures) > 1:
        rank = "–" if capture.rank is None else capture.rank
        notes.append(Note("rank_shared", {"rank": rank, "used": capture.name}))
    if capture.device is not None and "api_statistic" in capture.files:
        notes.append(Note("host_of_all_devices", {"device": capture.device}))
    return tuple(notes)


def _label(capture: Capture) -> str:
    return capture.name if capture.rank is None else f"{capture.name} (rank {capture.rank})"
