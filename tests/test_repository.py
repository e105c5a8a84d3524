"""What holds for the repository as a whole, whichever file breaks it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from analysis.datafile import parse_toml
from analysis.report.messages import LANGUAGES

ROOT = Path(__file__).parents[1]
HOUSES = ("recui", "widgets", "analysis")
CATALOGUES = ("analysis/report/messages", "widgets/messages")
PLACEHOLDER = re.compile(r"\{[^{}]*\}")

# Character classes keep these patterns from finding themselves.
HERE = "|".join(re.escape(str(folder)) for folder in (ROOT.parent, Path.home()) if len(folder.parts) > 1)
MACHINE_PATH = re.compile(rf"(?<![\w.])/(?:roo[t]|wor[k])/|(?:{HERE or 'no such text'})/")
REGISTRY = re.compile(r"index-ur[l]|pythonhoste[d]|pypi\.or[g]")


def texts() -> dict[str, str]:
    folders = [*HOUSES, "tests", "docs", ".ci"]
    files = [path for path in ROOT.iterdir() if path.is_file()]
    files += [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    found = {}
    for path in sorted(files):
        if "__pycache__" in path.parts or path.name == "snapshot_report.html":
            continue
        try:
            found[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return found


def leaves(table: dict[str, object], prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            found |= leaves(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = str(value)
    return found


def catalogue(folder: str, language: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted((ROOT / folder / language).glob("*.toml")):
        texts_of_file = leaves(parse_toml(path.read_text(encoding="utf-8")))
        found |= {f"{path.name}: {key}": text for key, text in texts_of_file.items()}
    return found


@pytest.mark.parametrize("pattern", [MACHINE_PATH, REGISTRY], ids=["machine path", "registry"])
def test_no_file_names_a_machine(pattern: re.Pattern[str]) -> None:
    found = [
        f"{name}:{number}: {line.strip()[:80]}"
        for name, text in texts().items()
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("folder", CATALOGUES)
@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_every_language_has_the_same_messages(folder: str, language: str) -> None:
    assert catalogue(folder, language).keys() == catalogue(folder, "en").keys()


@pytest.mark.parametrize("folder", CATALOGUES)
@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_every_message_has_the_same_placeholders(folder: str, language: str) -> None:
    other = catalogue(folder, language)
    differing = [
        key
        for key, text in catalogue(folder, "en").items()
        if set(PLACEHOLDER.findall(text)) != set(PLACEHOLDER.findall(other.get(key, text)))
    ]
    assert differing == []


@pytest.mark.parametrize(
    "path",
    sorted(path for house in HOUSES for path in (ROOT / house).rglob("*.toml")),
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_every_data_file_is_toml(path: Path) -> None:
    assert parse_toml(path.read_text(encoding="utf-8"))
