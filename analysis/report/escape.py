"""Names from a profile, made harmless for a terminal and literal in Markdown.

A name may hold anything: pipes, markup, escape sequences, characters that turn the writing direction.
:func:`visible` keeps terminals and readers safe; :func:`markdown_cell` and :func:`markdown_line` also keep
every Markdown renderer from taking a character of a name for structure.
"""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories without a glyph of their own: controls, formats (bidi overrides, zero width, tags), lone
surrogates, line and paragraph separators."""

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

# References rather than backslashes where dialects disagree: in `\\|` GitHub sees the end of a cell and
# markdown-it does not, while a reference is structure in none of them (CommonMark 2.5).
_REFERENCES = {
    "&": "&amp;",
    "<": "&lt;",
    "|": "&#124;",
    "\\": "&#92;",
    "`": "&#96;",
    "$": "&#36;",
}
_SPECIAL = re.compile(
    r"""[&<|\\`$*\[\]{}~^@"']"""  # structure, attributes, citations, sub- and superscript, curly quotes
    r"|(?<![A-Za-z0-9_])_+|_+(?![A-Za-z0-9_])"  # an underscore inside a word opens nothing anywhere
    r"|([-=+])(?=\1)|\.(?=\.\.)"  # dashes and ellipses of "smart" dialects, marks
    r"|:(?=[A-Za-z0-9_+-]+:)"  # emoji short codes
    r"|:(?=//)|(?<=www)\."  # bare addresses
)
_BLOCK_START = re.compile(r"[#+\-=:>]")
# Also what pandoc counts with: letters and Roman numbers, in brackets or not.
_LIST_NUMBER = re.compile(r"\(?(?:\d+|[A-Za-z]|[ivxlcdm]+|[IVXLCDM]+)(?=[.)](?:\s|$))")
_LOST_BLANKS = re.compile(r"^\s+|\s+$| (?= )")


def visible(text: str) -> str:
    r"""The text with what a terminal would act upon written out: ``\x1b``, ``\u202e``, ``\n``."""
    if text.isprintable():
        return text
    return "".join(_written_out(char) for char in text)


def markdown_cell(text: str) -> str:
    """Markdown that every renderer shows as exactly ``visible(text)``, in a table cell or inside a line.

    Blanks that HTML would swallow (at an end, or after another) stand as ``␣``.
    """
    shown = _LOST_BLANKS.sub(lambda match: "␣" * len(match[0]), visible(text))
    return _SPECIAL.sub(lambda match: "".join(_escaped(char) for char in match[0]), shown)


def markdown_line(text: str) -> str:
    """As :func:`markdown_cell`, for text that begins a paragraph or an item: no heading, list or rule."""
    escaped = markdown_cell(text)
    if _BLOCK_START.match(escaped):
        return f"\\{escaped}"
    number = _LIST_NUMBER.match(escaped)
    return f"{number[0]}\\{escaped[number.end() :]}" if number else escaped


def _escaped(char: str) -> str:
    return _REFERENCES.get(char) or f"\\{char}"


def _written_out(char: str) -> str:
    if unicodedata.category(char) not in _HIDDEN:
        return char
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
