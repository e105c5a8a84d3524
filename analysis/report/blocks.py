"""Pieces of Markdown: paragraphs, lists and tables whose every text is escaped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analysis.report.columns import exact_title, value_text
from analysis.report.escape import markdown_cell, markdown_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import polars as pl

    from analysis.notes import Evidence, Missing, Note
    from analysis.report.columns import Column
    from analysis.report.messages import Messages

MARKS = {True: "!", False: "·", None: "?"}
"""Before a judgement: needs a look, fine, could not be judged."""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of one table column."""

    title: str
    numeric: bool = False


def heading(level: int, text: str) -> str:
    """A heading; names in it are escaped."""
    return f"{'#' * level} {markdown_line(text)}"


def paragraph(*sentences: str) -> str:
    """One paragraph of these sentences; empty ones are left out."""
    return markdown_line(joined(*sentences))


def joined(*sentences: str) -> str:
    """The sentences one after the other; Chinese sets no blank after its full stop."""
    text = ""
    for sentence in filter(None, sentences):
        blank = "" if not text or text.endswith("。") else " "
        text += f"{blank}{sentence}"
    return text


def bullets(lines: Iterable[str]) -> str:
    """A list, one line an item."""
    return "\n".join(f"- {markdown_line(line)}" for line in lines)


def table(heads: Sequence[Head], rows: Iterable[Sequence[str]]) -> str:
    """A GitHub-flavoured table; numbers stand at the right."""
    lines = [
        _row(head.title for head in heads),
        "|" + "|".join(" ---: " if head.numeric else " :--- " for head in heads) + "|",
    ]
    lines.extend(_row(row) for row in rows)
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(markdown_cell(cell) for cell in cells) + " |"


def frame_table(
    columns: Sequence[Column],
    frame: pl.DataFrame,
    messages: Messages,
    texts: Mapping[str, Callable[[Mapping[str, Any]], str]] | None = None,
) -> str:
    """The rows of a result frame in exact values; ``texts`` gives columns whose text needs the whole row."""
    special = texts or {}
    return table(
        [Head(exact_title(column, messages), column.numeric) for column in columns],
        (
            [
                special[column.key](row)
                if column.key in special
                else value_text(column, row[column.key], messages, exact=True)
                for column in columns
            ]
            for row in frame.iter_rows(named=True)
        ),
    )


def cut_line(shown: int, total: int, things: str, messages: Messages) -> str:
    """How many rows of how many a table prints, as in ``20 of 311 groups``."""
    return paragraph(messages.text(f"report.cut.{things}", {"shown": shown, "total": total}))


def missing_line(missing: Missing, messages: Messages) -> str:
    """Why a chapter is empty: the files it needs, and the collection setting that gives them."""
    return paragraph(missing_text(missing, messages))


def missing_text(missing: Missing, messages: Messages) -> str:
    """The sentences of :func:`missing_line`, not yet escaped."""
    if f"not_of_this_kind.{missing.lacks}" in messages:
        return messages.text(f"not_of_this_kind.{missing.lacks}")
    kinds = messages.text("report.or").join(missing.needs)
    if missing.unreadable:
        return messages.text("report.unreadable", {"kinds": kinds})
    if missing.lacks is not None:
        what = {"what": messages.text(f"lacks.{missing.lacks}")}
        if missing.cut:
            return messages.text("report.lost", what)
        absent = messages.text("report.lacks", what)
    else:
        absent = messages.text("report.missing", {"kinds": kinds})
    return joined(absent, messages.text(f"collect.{missing.hint}"))


def note_text(note: Note, messages: Messages) -> str:
    """A note with the file and line it is about."""
    text = messages.text(f"note.{note.kind}", note.values)
    if note.file is None:
        return text
    where = note.file if note.line is None else f"{note.file}:{note.line}"
    return messages.text("report.note_at", {"where": where, "text": text})


def evidence_text(evidence: Evidence, messages: Messages) -> str:
    """What was seen that speaks for a conclusion."""
    return messages.text(f"evidence.{evidence.kind}", evidence.values)
