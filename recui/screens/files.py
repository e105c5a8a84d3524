"""The files screen: what was found and read, what is missing and how to collect it, remarks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from analysis.report.blocks import note_text
from analysis.report.escape import visible
from recui.screens.dialog import TextDialog, closing
from widgets.file_list import FileLine, file_list_text, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.inventory import FileEntry, MissingFile
    from analysis.report.messages import Messages
    from analysis.result import Analysis


class FilesDialog(TextDialog):
    """The files screen.

    Args:
        analysis: The capture.
        loading: Lines of the loading view, shown until the list of files is complete.
        sections: Sections of the result that are there.
        messages: The language.
    """

    BINDINGS = [closing("files")]

    def __init__(
        self,
        analysis: Analysis,
        loading: Sequence[FileLine],
        sections: frozenset[str],
        messages: Messages,
    ) -> None:
        super().__init__(
            messages.text("files.title"),
            lambda width: files_text(analysis, loading, sections, messages, width),
            messages.text("help.more"),
        )


def files_text(
    analysis: Analysis,
    loading: Sequence[FileLine],
    sections: frozenset[str],
    messages: Messages,
    width: int,
) -> Text:
    """Found files, missing files, remarks."""
    seconds = {line.name: line.seconds for line in loading}
    complete = "files" in sections
    found = (
        [_line(entry, seconds, messages) for entry in sorted(analysis.files, key=_by_state)]
        if complete
        else [line for line in loading if line.state != "missing"]
    )
    text = Text(f"{messages.text('files.found')}\n", "")
    text.stylize("bold")
    text.append_text(file_list_text(found, messages, width))
    text.append(f"\n\n{messages.text('files.missing')}\n", "bold")
    missing = [_missing_line(entry, messages) for entry in analysis.missing]
    if missing:
        text.append_text(file_list_text(missing, messages, width))
    else:
        text.append(f"  {messages.text('files.none_missing')}")
    if complete and analysis.notes:
        text.append(f"\n\n{messages.text('files.notes')}\n", "bold")
        for note in analysis.notes:
            mark = "! " if note.damage else "· "
            for index, line in enumerate(wrapped(visible(note_text(note, messages)), width - 4)):
                text.append(f"  {mark if index == 0 else '  '}{line}\n")
    text.rstrip()
    return text


def _missing_line(entry: MissingFile, messages: Messages) -> FileLine:
    """What the absence costs, then how to collect it."""
    values = {
        "cost": messages.text(f"cost.{entry.kind}"),
        "collect": messages.text(f"collect.{entry.hint}"),
    }
    return FileLine(entry.kind, "missing", remark=messages.text("files.cost", values))


_STATES = ("read", "failed", "passed_over", "listed")


def _by_state(entry: FileEntry) -> int:
    return _STATES.index(entry.state)


def _line(entry: FileEntry, seconds: dict[str, float | None], messages: Messages) -> FileLine:
    from analysis.inventory import counted  # reaches polars, which takes 0.3 s to import

    remark = "" if entry.note is None else messages.text(entry.note)
    return FileLine(
        entry.path, entry.state, entry.rows, counted(entry.kind), seconds.get(entry.path), remark=remark
    )
