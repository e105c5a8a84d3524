"""What is kept between runs, and where: ``recui/config.toml`` of the user, the cache of recui (XDG)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.datafile import parse_toml
from analysis.report.messages import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEYS = ("language", "theme")


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of the file; None where it says nothing."""

    language: str | None = None
    theme: str | None = None
    problem: str | None = None
    """One line on what is wrong with the file; what is wrong is left out, the rest holds."""


def config_file(environment: Mapping[str, str]) -> Path:
    """Where the settings are; a relative ``XDG_CONFIG_HOME`` is invalid by the XDG specification."""
    base = Path(environment.get("XDG_CONFIG_HOME", ""))
    if not base.is_absolute():
        base = Path(environment.get("HOME") or Path.home()) / ".config"
    return base / "recui" / "config.toml"


def cache_folder(environment: Mapping[str, str]) -> Path | None:
    """Where traces are kept: ``recui/traces`` in the cache directory (XDG); None without a home."""
    base = Path(environment.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():
        try:
            base = Path(environment.get("HOME") or Path.home()) / ".cache"
        except RuntimeError:  # a user that the system does not know, as in some containers
            return None
    return base / "recui" / "traces" if base.is_absolute() else None


def read_config(environment: Mapping[str, str]) -> Config:
    """The user's settings. A broken file must not keep anyone from a profile: it is one line to say."""
    path = config_file(environment)
    try:
        table = parse_toml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Config()
    except OSError as error:
        return Config(problem=f"{path}: {error.strerror}")
    except ValueError as error:  # broken TOML or not UTF-8
        return Config(problem=f"{path}: {error}")
    wrong = [key for key in sorted(table) if key not in _KEYS or not isinstance(table[key], str)]
    language = None if "language" in wrong else table.get("language")
    if language is not None and language not in LANGUAGES:
        wrong.append("language")
        language = None
    known = f"known are language ({', '.join(LANGUAGES)}) and theme"
    return Config(
        language,
        None if "theme" in wrong else table.get("theme"),
        f"{path}: {', '.join(wrong)} not understood; {known}" if wrong else None,
    )
