"""Every word of the results in both languages: one folder a language, one TOML file a subject."""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from analysis.datafile import parse_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from analysis.notes import Value

LANGUAGES = ("en", "zh")


class Messages:
    """The catalogue of one language.

    A key is the dotted path of a text: ``note.whole_run`` is the entry ``whole_run`` of the table
    ``[note]`` in any file of the language's folder. Placeholders are ``{name}``.
    """

    def __init__(
        self,
        language: str,
        packages: tuple[str, ...] = ("analysis.report.messages",),
        *,
        whole_trace: bool = False,
    ) -> None:
        self.language = language
        self._packages = packages
        self._texts: dict[str, str] = {}
        for package in packages:
            self._texts |= _load(package, language)
        if whole_trace:
            texts = self._texts
            self._texts = {key: texts.get(f"{key}{_WHOLE}", text) for key, text in texts.items()}

    def text(self, key: str, values: Mapping[str, Value] | None = None) -> str:
        """The text of ``key`` with its placeholders filled; numbers are printed as given."""
        template = self._texts[key]
        if not values:
            return template
        return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), template)

    def of_trace(self, *, whole: bool) -> Messages:
        """The catalogue for results of steps, or of a ``whole`` trace in which none is marked.

        For the latter a text gives way to its variant ``<key>_whole``, where it has one: the same numbers
        under the same placeholders, but called those of the whole trace.
        """
        return Messages(self.language, self._packages, whole_trace=True) if whole else self

    def __contains__(self, key: str) -> bool:
        return key in self._texts

    def keys(self) -> tuple[str, ...]:
        """All keys, sorted."""
        return tuple(sorted(self._texts))


_WHOLE = "_whole"
_PLACEHOLDER = re.compile(r"\{([a-z_0-9]+)\}")


@cache
def _load(package: str, language: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    folder = files(package).joinpath(language)
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if not file.name.endswith(".toml"):
            continue
        for key, text in _leaves(parse_toml(file.read_text(encoding="utf-8"))):
            if key in texts:
                msg = f"{package}/{language}/{file.name}: {key} is defined twice"
                raise ValueError(msg)
            texts[sys.intern(key)] = text
    return texts


def _leaves(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", str(value)
