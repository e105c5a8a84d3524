"""The configuration file: what holds, and what is said about the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recui.config import Config, config_file, read_config

if TYPE_CHECKING:
    from pathlib import Path


def environment(folder: Path, text: str | None = None) -> dict[str, str]:
    if text is not None:
        (folder / "recui").mkdir()
        (folder / "recui" / "config.toml").write_text(text, encoding="utf-8")
    return {"XDG_CONFIG_HOME": str(folder)}


def test_absent_file_is_no_problem(tmp_path: Path) -> None:
    assert read_config(environment(tmp_path)) == Config()


def test_settings_are_read(tmp_path: Path) -> None:
    kept = read_config(environment(tmp_path, 'language = "zh"\ntheme = "nord"\n'))
    assert kept == Config("zh", "nord")


@pytest.mark.parametrize(
    ("text", "names"),
    [('langage = "zh"', "langage"), ('language = "fr"', "language"), ("theme = 3", "theme")],
)
def test_what_is_not_understood_is_named(text: str, names: str, tmp_path: Path) -> None:
    kept = read_config(environment(tmp_path, text))
    assert (kept.language, kept.theme) == (None, None)
    assert kept.problem is not None
    assert f": {names} not understood" in kept.problem


def test_rest_holds_beside_a_mistake(tmp_path: Path) -> None:
    assert read_config(environment(tmp_path, 'language = "fr"\ntheme = "nord"\n')).theme == "nord"


def test_broken_file_is_one_line(tmp_path: Path) -> None:
    problem = read_config(environment(tmp_path, "theme =")).problem
    assert problem is not None
    assert len(problem.splitlines()) == 1


def test_directory_in_its_place_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "recui" / "config.toml").mkdir(parents=True)
    assert read_config(environment(tmp_path)).problem is not None


def test_relative_xdg_directory_is_ignored(tmp_path: Path) -> None:
    found = config_file({"XDG_CONFIG_HOME": "relative", "HOME": str(tmp_path)})
    assert found == tmp_path / ".config" / "recui" / "config.toml"
