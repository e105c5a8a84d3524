"""``recui cache``, and the options of the other commands that touch what is kept and how many work."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from analysis.profile.discover import SourceFile
from analysis.resources import Resources, usual_jobs
from analysis.trace.cache import store
from analysis.trace.model import CHUNKS, EVENTS, FLOWS, TRACKS, Quality, Trace
from recui import cli
from recui.config import cache_folder

if TYPE_CHECKING:
    from analysis.options import Options
    from recui.export import Request


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path / "cache" / "recui" / "traces"


def keep(folder: Path, path: Path) -> None:
    """Store an empty trace that was read from ``path``."""
    path.write_bytes(random.Random(str(path)).randbytes(300_000))
    events, tracks, flows, chunks = (pl.DataFrame(schema=s) for s in (EVENTS, TRACKS, FLOWS, CHUNKS))
    store(
        folder, SourceFile("trace_view", (path,)), Trace(events, tracks, flows, chunks, Quality(0, {}, (), 0))
    )


def test_an_empty_cache_is_said_and_not_made(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["cache"]) == 0
    assert capfd.readouterr() == (f"{folder}: 0 traces, 0 B\n", "")
    assert not folder.exists()


def test_info_says_folder_traces_and_size(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    keep(folder, tmp_path / "a.json")
    assert cli.run(["cache", "--info"]) == 0
    (entry,) = folder.iterdir()
    assert capfd.readouterr().out == f"{folder}: 1 trace, {entry.stat().st_size} B\n"


def test_clear_removes_all_traces_and_says_so(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    keep(folder, tmp_path / "a.json")
    keep(folder, tmp_path / "b.json")
    (folder / "note").write_text("mine")
    assert cli.run(["cache", "--clear"]) == 0
    assert capfd.readouterr().out.startswith("removed 2 traces, ")
    assert [path.name for path in folder.iterdir()] == ["note"]


def test_what_cannot_be_removed_is_one_line_and_exit_4(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    keep(folder, tmp_path / "a.json")

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "unlink", refuse)
    assert cli.run(["cache", "--clear"]) == 4
    assert capfd.readouterr() == (
        f"removed 0 traces, 0 B from {folder}\n",
        f"recui: cannot remove 1 file in {folder}\n",
    )


def test_info_and_clear_together_are_wrong_usage(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["cache", "--info", "--clear"]) == 2
    assert capfd.readouterr().err == "recui: give --info or --clear, not both\n"


def test_names_of_the_folder_cannot_control_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "\x1b[2J"))
    assert cli.run(["cache"]) == 0
    assert "\x1b" not in capfd.readouterr().out


# -------------------------------------------------------------------------------------- its place


def test_cache_is_in_the_cache_directory_of_the_user() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "/x", "HOME": "/h"}) == Path("/x/recui/traces")
    assert cache_folder({"HOME": "/h"}) == Path("/h/.cache/recui/traces")


def test_a_relative_cache_directory_is_invalid() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "x", "HOME": "/h"}) == Path("/h/.cache/recui/traces")
    assert cache_folder({"HOME": "h"}) is None


def test_without_a_home_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", unknown)
    assert cache_folder({}) is None


# ------------------------------------------------------------------------------- jobs and no cache


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch) -> list[Resources]:
    """The resources that each export is asked to use; nothing is exported."""
    found: list[Resources] = []

    def export(path: Path, rank: int | None, options: Options, request: Request) -> int:
        found.append(request.resources)
        return 0

    monkeypatch.setattr("recui.export.export_profile", export)
    return found


def test_export_uses_the_cache_and_the_cores(wanted: list[Resources], folder: Path, tmp_path: Path) -> None:
    assert cli.run(["export", str(tmp_path)]) == 0
    assert wanted == [Resources(usual_jobs(), folder)]


def test_no_cache_and_jobs_reach_the_export(wanted: list[Resources], tmp_path: Path) -> None:
    assert cli.run(["export", str(tmp_path), "--no-cache", "--jobs", "3"]) == 0
    assert wanted == [Resources(3, None)]


def test_a_sample_leaves_nothing_in_the_cache(wanted: list[Resources]) -> None:
    assert cli.run(["demo"]) == 0
    assert wanted == [Resources(1, None)]


def test_no_cache_and_jobs_reach_the_explorer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []

    class Explorer:
        return_code = 0

        def __init__(self, *arguments: object) -> None:
            found.append(arguments[-1])

        def run(self, *, mouse: bool) -> None:
            return

    monkeypatch.setattr("recui.app.ExplorerApp", Explorer)
    monkeypatch.setattr("recui.open_command.obstacle", lambda *_: None)
    assert cli.run([str(tmp_path), "--no-cache", "--jobs", "5"]) == 0
    assert found == [Resources(5, None)]


@pytest.mark.parametrize("jobs", ["0", "-1", "two", "257"])
def test_a_wrong_number_of_jobs_is_wrong_usage(
    jobs: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["export", str(tmp_path), "--jobs", jobs]) == 2
    assert len(capfd.readouterr().err.splitlines()) == 1


def test_usual_jobs_are_the_cores_and_at_most_8(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, jobs in ((1, 1), (6, 6), (64, 8)):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, cores=cores: set(range(cores)))
        assert usual_jobs() == jobs
