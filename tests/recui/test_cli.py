"""The command line: usage, exit codes, where reports go, what stands on which stream."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

import recui
from recui import cli

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[2]
OP_STATISTIC = "OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n"


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """The least that is a profile: two operator types, 4 x 25 us and 2 x 50 us."""
    folder = tmp_path / "run7_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    folder.mkdir(parents=True)
    (folder / "op_statistic.csv").write_text(
        OP_STATISTIC + "MatMulV2,AI_CORE,4,100.000,20.000,25.000,30.000,50.000\n"
        "Add,AI_VECTOR_CORE,2,100.000,40.000,50.000,60.000,50.000\n"
    )
    return folder.parent


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty directory that commands are started in."""
    folder = tmp_path / "place"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def start(
    *arguments: str | Path, cwd: Path | None = None, prelude: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """recui in a process of its own, without a terminal."""
    code = f"import sys\n{prelude}\nsys.argv[0] = 'recui'\nfrom recui.cli import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )


def one_line(error: str) -> str:
    lines = error.splitlines()
    assert len(lines) == 1, error
    assert lines[0].startswith("recui: ")
    return lines[0]


def files_below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


# --------------------------------------------------------------------------------- usage


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "give the directory"),
        (["export"], "give the directory"),
        (["export", ""], "give the directory"),
        (["no-such-path"], "no-such-path: No such file or directory"),
        (["open", "no-such-path"], "no-such-path: No such file or directory"),
        (["export", "no-such-path"], "no-such-path: No such file or directory"),
        (["export", ".", "surplus"], "surplus"),
        (["export", ".", "--batch-size", "0"], "--batch-size"),
        (["export", ".", "--batch-size", "many"], "--batch-size"),
        (["export", ".", "--latency-ms", "-1"], "--latency-ms"),
        (["export", ".", "--latency-ms", "nan"], "--latency-ms"),
        (["export", ".", "--rank", "-1"], "--rank"),
        (["export", ".", "--lang", "fr"], "--lang"),
        (["export", ".", "--format", "pdf"], "--format"),
        (["export", ".", "--no-such-option"], "--no-such-option"),
        (["demo", "evaluation"], "evaluation"),
        (["."], "recui export"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(
    arguments: Sequence[str], says: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert says in one_line(captured.err)


def test_usage_error_names_the_command_whose_help_lists_the_options(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.run(["export", ".", "--colour"])
    assert "'recui export --help'" in one_line(capsys.readouterr().err)


def test_unknown_fact_lists_the_known_ones(
    profile: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["export", str(profile), "--fact", "colour=red"]) == 2
    assert "chip" in one_line(capsys.readouterr().err)


def test_missing_graph_file_is_exit_2(profile: Path, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["export", str(profile), "--graph", "no-such.pbtxt"]) == 2
    assert "no-such.pbtxt" in one_line(capsys.readouterr().err)
    assert files_below(place) == []


def test_named_graph_file_is_listed(profile: Path, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = place / "ge_onnx_00000001_graph_1_Build.pbtxt"
    graph.write_text('ir_version: 1\nproducer_name: "GE"\n')
    assert cli.run(["export", str(profile), "--graph", str(graph), "-o", "-", "--format", "json"]) == 0
    files = json.loads(capsys.readouterr().out)["profile"]["files"]
    assert graph.name in "".join(entry["path"] for entry in files)


@pytest.mark.parametrize("command", ["open", "export"])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "No such file or directory"),
        ("[[rules", "not TOML"),
        (
            "[[rules]]\nid = 'mine'\npattern = '('\nphase = 'forward'",
            "rule 'mine': bad pattern: unclosed group",
        ),
        ("[[rules]]\nid = 'mine'\npattern = 'x'\nphase = 'fwd'", "rule 'mine': unknown phase 'fwd'"),
    ],
)
def test_phase_rules_that_cannot_be_used_are_one_line_and_exit_2(
    command: str,
    text: str | None,
    says: str,
    profile: Path,
    place: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "mine.toml"
    if text is not None:
        file.write_text(text)
    assert cli.run([command, str(profile), "--phase-rules", str(file)]) == 2
    line = one_line(capsys.readouterr().err)
    assert str(file) in line
    assert says in line
    assert files_below(place) == []


def test_phase_rules_are_taken(
    profile: Path, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[[rules]]\nid = 'mine'\npattern = '^tick$'\nphase = 'forward'")
    assert cli.run(["export", str(profile), "--phase-rules", str(file), "-o", "-"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.startswith("# ")
    assert "mine.toml" in captured.out


def test_options_may_stand_before_the_profile(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--rank", "1", "no-such-path"]) == 2
    assert "no-such-path" in one_line(capsys.readouterr().err)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out == f"recui {recui.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-h"], ["open", "--help"], ["export", "-h"], ["demo", "-h"]]
)
def test_help_is_on_standard_output(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(arguments) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("Usage: recui ")
    assert captured.err == ""


def test_help_comes_at_once() -> None:
    # 0.25 s is the limit on a quiet machine; the best of several leaves out what else runs on it.
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        assert start("--help").returncode == 0
        seconds.append(time.perf_counter() - begin)
    assert min(seconds) < 0.25


def test_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "recui", "--version"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert (done.returncode, done.stdout) == (0, f"recui {recui.__version__}\n")


def test_shell_completion_knows_the_commands(tmp_path: Path) -> None:
    done = start(_RECUI_COMPLETE="complete_bash", COMP_WORDS="recui ex", COMP_CWORD="1")
    assert done.stdout.split() == ["export"]


def test_shell_completion_knows_the_options_of_the_default_command(tmp_path: Path) -> None:
    done = start(_RECUI_COMPLETE="complete_bash", COMP_WORDS="recui /data/run --no-m", COMP_CWORD="2")
    assert done.stdout.split() == ["--no-mouse"]


def test_foreign_package_of_the_same_name_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "analysis").mkdir()
    (tmp_path / "analysis" / "__init__.py").write_text("")
    done = start("--help", prelude=f"sys.path.insert(0, {str(tmp_path)!r})")
    assert done.returncode == 2
    assert "environment of its own" in one_line(done.stderr)


# ------------------------------------------------------------------------- what is no profile


def test_empty_directory_is_exit_2(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["export", "."]) == 2
    assert "holds no profile" in one_line(capsys.readouterr().err)
    assert files_below(place) == []


def test_unrelated_files_are_exit_2(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "notes.txt").write_text("milk, bread\n")
    (place / "sales.csv").write_text("day,sum\n1,2\n")
    assert cli.run(["export", "."]) == 2
    assert "holds no profile" in one_line(capsys.readouterr().err)


def test_single_csv_file_is_exit_2(profile: Path, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["export", str(next(profile.rglob("*.csv")))]) == 2
    assert "directory" in one_line(capsys.readouterr().err)


def test_absent_rank_is_exit_2_and_lists_the_ranks(
    profile: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (profile / "profiler_info_3.json").write_text('{"config": {}, "rank_id": 3}')
    assert cli.run(["export", str(profile), "--rank", "1"]) == 2
    assert "3" in one_line(capsys.readouterr().err)


# ------------------------------------------------------------------------------ destinations


def test_default_is_the_folder_report(profile: Path, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["export", str(profile)]) == 0
    captured = capsys.readouterr()
    assert files_below(place) == ["report/run7_ascend_pt.md"]
    assert captured.out == ""
    assert one_line(captured.err) == "recui: wrote report/run7_ascend_pt.md"


def test_both_formats_go_into_one_folder(profile: Path, place: Path) -> None:
    assert cli.run(["export", str(profile), "--format", "all", "-o", "out"]) == 0
    assert files_below(place) == ["out/run7_ascend_pt.json", "out/run7_ascend_pt.md"]


def test_suffix_decides_the_format(profile: Path, place: Path) -> None:
    assert cli.run(["export", str(profile), "-o", "new/it.json"]) == 0
    assert json.loads((place / "new" / "it.json").read_text())["schema_version"] == 1


def test_format_asked_for_wins_over_the_suffix(profile: Path, place: Path) -> None:
    assert cli.run(["export", str(profile), "-o", "it.txt", "--format", "json"]) == 0
    assert json.loads((place / "it.txt").read_text())["schema_version"] == 1


def test_existing_folder_with_a_dot_is_a_folder(profile: Path, place: Path) -> None:
    (place / "run.7").mkdir()
    assert cli.run(["export", str(profile), "-o", "run.7"]) == 0
    assert files_below(place) == ["run.7/run7_ascend_pt.md"]


def test_standard_output_carries_the_report_alone(
    profile: Path, place: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert cli.run(["export", str(profile), "-o", "-"]) == 0
    captured = capfdbinary.readouterr()
    assert captured.out.startswith(b"# ")
    assert captured.err == b""
    assert files_below(place) == []


def test_reports_are_the_same_every_time(profile: Path, place: Path) -> None:
    for name in ("a", "b"):
        assert cli.run(["export", str(profile), "--format", "all", "-o", name]) == 0
    for form in ("md", "json"):
        first, second = ((place / name / f"run7_ascend_pt.{form}").read_bytes() for name in ("a", "b"))
        assert first == second


@pytest.mark.parametrize("output", ["-", "it.md"])
def test_two_formats_do_not_fit_into_one_file(
    output: str, profile: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["export", str(profile), "--format", "all", "-o", output]) == 2
    assert "format" in one_line(capsys.readouterr().err)
    assert files_below(place) == []


def test_report_in_another_encoding_than_the_locale(profile: Path, place: Path) -> None:
    done = start("export", profile, "-o", "-", "--lang", "zh", cwd=place, PYTHONIOENCODING="latin-1")
    assert done.returncode == 0
    assert done.stdout.startswith("# ")


# ------------------------------------------------------------------------- writing and not


def test_file_with_a_name_of_its_own_is_not_overwritten(
    profile: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "mine.md").write_text("mine")
    assert cli.run(["export", str(profile), "-o", "mine.md"]) == 4
    assert "--force" in one_line(capsys.readouterr().err)
    assert (place / "mine.md").read_text() == "mine"
    assert files_below(place) == ["mine.md"]


def test_force_overwrites(profile: Path, place: Path) -> None:
    (place / "mine.md").write_text("mine")
    assert cli.run(["export", str(profile), "-o", "mine.md", "--force"]) == 0
    assert (place / "mine.md").read_text().startswith("# ")


def test_default_name_is_overwritten(profile: Path, place: Path) -> None:
    for _ in range(2):
        assert cli.run(["export", str(profile)]) == 0
    assert files_below(place) == ["report/run7_ascend_pt.md"]


def test_link_stays_a_link(profile: Path, place: Path) -> None:
    (place / "real.md").write_text("old")
    (place / "link.md").symlink_to("real.md")
    assert cli.run(["export", str(profile), "-o", "link.md", "--force"]) == 0
    assert (place / "link.md").is_symlink()
    assert (place / "real.md").read_text().startswith("# ")


def test_permissions_of_a_replaced_file_stay(profile: Path, place: Path) -> None:
    (place / "it.md").write_text("old")
    (place / "it.md").chmod(0o640)
    assert cli.run(["export", str(profile), "-o", "it.md", "--force"]) == 0
    assert (place / "it.md").stat().st_mode & 0o777 == 0o640


def test_device_is_written_to_and_not_replaced(profile: Path, place: Path) -> None:
    assert cli.run(["export", str(profile), "-o", os.devnull]) == 0
    assert Path(os.devnull).is_char_device()


def test_folder_below_a_file_is_exit_4(
    profile: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "file").write_text("")
    assert cli.run(["export", str(profile), "-o", "file/below/"]) == 4
    assert "cannot write" in one_line(capsys.readouterr().err)
    assert files_below(place) == ["file"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_full_disk_behind_standard_output_is_exit_4(profile: Path, place: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "recui", "export", str(profile), "-o", "-"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=place,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    assert done.returncode == 4
    one_line(done.stderr)


def test_folder_without_permission_is_exit_4(profile: Path) -> None:
    # Root may write anywhere, so the process becomes somebody else, after a first export that loads what
    # this somebody may not read. pytest's own folders are closed to others.
    with TemporaryDirectory() as name:
        top = Path(name)
        top.chmod(0o755)
        shutil.copytree(profile, top / "run7")
        (top / "locked").mkdir(mode=0o555)
        prelude = (
            "import os, widgets\nfrom recui import cli\n"
            "assert cli.run(['export', 'run7', '-o', 'first', '--quiet']) == 0\n"
            "if os.getuid() == 0:\n    os.setgid(65534)\n    os.setuid(65534)"
        )
        done = start("export", "run7", "-o", "locked", cwd=top, prelude=prelude, HOME=name)
        assert done.returncode == 4, done.stderr
        assert "permission" in one_line(done.stderr)
        assert files_below(top / "locked") == []


def test_failed_second_file_leaves_neither(
    profile: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "out" / "run7_ascend_pt.json").mkdir(parents=True)
    assert cli.run(["export", str(profile), "--format", "all", "-o", "out"]) == 4
    assert "directory" in one_line(capsys.readouterr().err)
    assert files_below(place) == []


def test_write_that_fails_half_way_leaves_nothing(
    profile: Path, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(handle: int) -> None:
        raise OSError(28, "No space left on device")

    (place / "report").mkdir()
    (place / "report" / "run7_ascend_pt.md").write_text("the last one")
    monkeypatch.setattr(os, "fsync", no_space)
    assert cli.run(["export", str(profile)]) == 4
    assert "No space left" in one_line(capsys.readouterr().err)
    assert files_below(place) == ["report/run7_ascend_pt.md"]
    assert (place / "report" / "run7_ascend_pt.md").read_text() == "the last one"


# --------------------------------------------------------------------------- damage and bugs


def test_damaged_input_is_exit_3_and_still_a_report(
    profile: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (profile / "ASCEND_PROFILER_OUTPUT" / "api_statistic.csv").write_bytes(b"\x00\xff\xfe")
    assert cli.run(["export", str(profile)]) == 3
    assert "MatMulV2" in (place / "report" / "run7_ascend_pt.md").read_text()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "api_statistic.csv" in lines[0]


def test_missing_files_are_no_failure(profile: Path, place: Path) -> None:
    assert cli.run(["export", str(profile), "-o", "-"]) == 0


@pytest.mark.parametrize("raised", [KeyboardInterrupt, "cancelled"])
def test_interrupt_is_exit_130_and_leaves_nothing(
    raised: object,
    profile: Path,
    place: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import recui.export
    from analysis.errors import CancelledError

    def stop(*_: object) -> None:
        raise KeyboardInterrupt if raised is KeyboardInterrupt else CancelledError

    monkeypatch.setattr(recui.export, "markdown_report", stop)
    assert cli.run(["export", str(profile)]) == 130
    one_line(capsys.readouterr().err)
    assert files_below(place) == []


def test_bug_is_one_line_that_asks_for_a_report(
    profile: Path, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import recui.export

    monkeypatch.setattr(recui.export, "markdown_report", lambda *_: 1 / 0)
    assert cli.run(["export", str(profile)]) == 70
    assert "--verbose" in one_line(capsys.readouterr().err)


def test_verbose_shows_the_traceback_of_a_bug(
    profile: Path, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import recui.export

    monkeypatch.setattr(recui.export, "markdown_report", lambda *_: 1 / 0)
    assert cli.run(["export", str(profile), "--verbose"]) == 70
    assert "ZeroDivisionError" in capsys.readouterr().err


# --------------------------------------------------------------------------------- streams


def test_no_progress_without_a_terminal(
    profile: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.run(["export", str(profile), "-o", "-"])
    assert capsys.readouterr().err == ""


def in_terminal(*arguments: str | Path, cwd: Path, **environment: str) -> tuple[int, str, str]:
    """Exit code, standard output and screen of recui with its keyboard and standard error on a terminal."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "recui", *map(str, arguments)],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", **environment},
    )
    os.close(theirs)
    output, _ = process.communicate(timeout=60)
    screen = b""
    with suppress(OSError):  # the end of what was on a terminal nobody holds any more
        while chunk := os.read(ours, 65536):
            screen += chunk
    os.close(ours)
    return process.returncode, output, screen.decode()


def test_progress_is_on_a_terminal_and_leaves_the_report_alone(profile: Path, place: Path) -> None:
    code, output, screen = in_terminal("export", profile, "-o", "-", cwd=place)
    assert code == 0
    assert output.startswith("# ")
    assert "\x1b" not in output
    assert "op_statistic.csv" in screen


@pytest.mark.parametrize(("term", "flags"), [("dumb", []), ("xterm", ["--quiet"])])
def test_no_progress_where_it_is_not_wanted(term: str, flags: list[str], profile: Path, place: Path) -> None:
    code, _, screen = in_terminal("export", profile, "-o", "-", *flags, cwd=place, TERM=term)
    assert (code, screen) == (0, "")


def test_quiet_says_nothing(profile: Path, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["export", str(profile), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_verbose_says_which_file_had_how_many_rows(
    profile: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["export", str(profile), "--verbose"]) == 0
    assert "op_statistic.csv 2 rows" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [("--help",), ("export", "PROFILE", "-o", "-")])
def test_reader_that_had_enough_is_no_error(arguments: tuple[str, ...], profile: Path, place: Path) -> None:
    words = [str(profile) if word == "PROFILE" else word for word in arguments]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "recui", *words],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    os.close(writer)
    assert done.stderr == ""


# ------------------------------------------------------------------------------------ demo


@pytest.mark.parametrize("sample", ["training", "inference"])
def test_demo_without_a_terminal_prints_the_report(sample: str, place: Path) -> None:
    done = start("demo", sample, cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# ")
    assert files_below(place) == []


def test_demo_writes_its_report(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["demo", "inference", "--export"]) == 0
    (written,) = files_below(place)
    assert written.startswith("report/PROF_")
    assert one_line(capsys.readouterr().err) == f"recui: wrote {written}"


def test_demo_keeps_the_sample_in_a_directory(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["demo", "inference", "--dir", "sample", "-o", "demo.md"]) == 0
    (kept,) = (place / "sample").iterdir()
    assert kept.name in capsys.readouterr().err
    assert cli.run(["export", str(kept), "-o", "export.md"]) == 0
    assert (place / "demo.md").read_bytes() == (place / "export.md").read_bytes()


def test_demo_that_cannot_keep_its_sample_is_exit_4(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "file").write_text("")
    assert cli.run(["demo", "--dir", "file"]) == 4
    assert "cannot write the sample" in one_line(capsys.readouterr().err)


# ----------------------------------------------------------------------------------- config


def write_config(text: str) -> None:
    path = Path(os.environ["HOME"]) / ".config" / "recui" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_language_of_the_config_file_holds(
    profile: Path, place: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    cli.run(["export", str(profile), "-o", "-", "--lang", "zh"])
    chinese = capfdbinary.readouterr().out
    write_config('language = "zh"\n')
    cli.run(["export", str(profile), "-o", "-"])
    assert capfdbinary.readouterr().out == chinese


def test_broken_config_file_is_one_line_and_no_failure(
    profile: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_config("language = \n")
    assert cli.run(["export", str(profile), "-o", "-"]) == 0
    assert "config.toml" in one_line(capsys.readouterr().err)


def test_each_rank_has_a_report_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    layout = Path(__file__).parents[1] / "examples" / "layouts" / "multi_rank_parent"
    for rank in ("0", "1"):
        assert cli.run(["export", str(layout), "--rank", rank]) == 0
    written = sorted(file.name for file in (tmp_path / "report").iterdir())
    assert written == ["multi_rank_parent.md", "multi_rank_parent_rank1.md"]


def test_a_name_too_long_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["export", "x" * 5000]) == 2
    layout = Path(__file__).parents[1] / "examples" / "layouts" / "sliced"
    assert cli.run(["export", str(layout), "-o", str(tmp_path / f"{'y' * 300}.md")]) == 4
    assert [line.count("File name too long") for line in capsys.readouterr().err.splitlines()] == [1, 1]
