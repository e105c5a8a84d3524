"""The worker: what it posts, in which order, and that it stops."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analysis.demo import write_sample
from analysis.options import Options
from recui.loading import (
    SECTIONS,
    FileMoved,
    LoadEnded,
    LoadFailed,
    ProfileFound,
    Request,
    SectionReady,
    load,
)
from recui.panes import PANES

if TYPE_CHECKING:
    from textual.message import Message


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample("inference", tmp_path_factory.mktemp("sample")).path


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample("training", tmp_path_factory.mktemp("training")).path


def posted(path: Path, stop_at: type[Message] | None = None, **request: object) -> list[Message]:
    """All messages of one load; it is cancelled after the first message of type ``stop_at``."""
    messages: list[Message] = []
    load(
        Request(path, Options(), **request),  # type: ignore[arg-type]
        messages.append,
        lambda: stop_at is not None and any(isinstance(message, stop_at) for message in messages),
    )
    return messages


def test_sections_come_one_by_one_and_then_the_end(sample: Path) -> None:
    messages = posted(sample)
    assert [message.section for message in messages if isinstance(message, SectionReady)] == list(SECTIONS)
    assert isinstance(messages[0], ProfileFound)
    assert messages[-1].cancelled is False  # type: ignore[attr-defined]


def test_every_file_is_reported_as_reading_and_done(sample: Path) -> None:
    states: dict[str, list[str]] = {}
    for message in posted(sample):
        if isinstance(message, FileMoved):
            states.setdefault(message.progress.kind, []).append(message.progress.state)
    assert states["op_summary"][0] == "reading"
    assert all(of_file[-1] == "done" for of_file in states.values())


@pytest.mark.parametrize("stop_at", [ProfileFound, FileMoved, SectionReady])
def test_cancelling_ends_the_load_at_once(sample: Path, stop_at: type[Message]) -> None:
    messages = posted(sample, stop_at)
    assert isinstance(messages[-1], LoadEnded)
    assert messages[-1].cancelled
    assert sum(isinstance(message, SectionReady) for message in messages) <= 1


def test_operators_are_there_before_the_trace_is_read(training: Path) -> None:
    """The trace may take long; what the tables tell must not wait for it."""
    of_trace = [
        message
        for message in posted(training)
        if isinstance(message, SectionReady)
        or (isinstance(message, FileMoved) and message.progress.kind == "trace_view")
    ]
    first = next(place for place, message in enumerate(of_trace) if isinstance(message, FileMoved))
    ready = [message.section for message in of_trace[:first] if isinstance(message, SectionReady)]
    assert ready == ["operators", "scenario"]


def test_operators_do_not_wait_for_the_mode(training: Path, tmp_path: Path) -> None:
    """An operator that is no aclnn call leaves the mode to the trace."""
    changed = Path(shutil.copytree(training, tmp_path / training.name))
    (kernels,) = changed.rglob("kernel_details.csv")
    kernels.write_bytes(kernels.read_bytes().replace(b",aclnn", b",trans_"))
    ready = [
        message
        for message in posted(changed)
        if isinstance(message, SectionReady)
        or (isinstance(message, FileMoved) and message.progress.kind == "trace_view")
    ]
    assert isinstance(ready[0], SectionReady)
    assert ready[0].section == "operators"
    assert isinstance(ready[1], FileMoved)


def test_operators_pane_needs_nothing_of_the_trace() -> None:
    (operators,) = [entry for entry in PANES if entry.name == "operators"]
    assert SECTIONS.index("trace") > max(map(SECTIONS.index, operators.needs))


def test_trace_tells_its_bytes_and_its_bars(training: Path) -> None:
    moves = [
        message.progress
        for message in posted(training)
        if isinstance(message, FileMoved) and message.progress.kind == "trace_view"
    ]
    (file,) = training.rglob("trace_view.json")
    assert {move.total_bytes for move in moves} == {file.stat().st_size}
    assert (moves[0].state, moves[-1].state) == ("reading", "done")
    assert moves[-1].rows is not None


def test_a_trace_is_left_as_soon_as_the_user_asks(training: Path) -> None:
    messages: list[Message] = []

    def in_the_trace() -> bool:
        return any(
            isinstance(message, FileMoved) and message.progress.kind == "trace_view" for message in messages
        )

    load(Request(training, Options()), messages.append, in_the_trace)
    assert isinstance(messages[-1], LoadEnded)
    assert messages[-1].cancelled
    ready = [message.section for message in messages if isinstance(message, SectionReady)]
    assert ready == ["operators", "scenario"]


def test_a_path_that_is_no_profile_fails_with_its_reason(tmp_path: Path) -> None:
    (message,) = posted(tmp_path)
    assert isinstance(message, LoadFailed)
    assert str(tmp_path) in str(message.error)


def test_a_rank_that_is_not_there_fails(sample: Path) -> None:
    (message,) = posted(sample, rank=7)
    assert isinstance(message, LoadFailed)


def test_newer_progress_replaces_older_of_the_same_file_only() -> None:
    from analysis.progress import FileProgress

    def moved(file: str) -> FileMoved:
        return FileMoved(FileProgress("kernel_details", file, "reading", 0, 1))

    assert moved("a").can_replace(moved("a"))
    assert not moved("a").can_replace(moved("b"))


def test_a_ready_section_is_read_while_the_worker_computes_the_next(sample: Path) -> None:
    """The screen draws in its own thread and must never wait for the worker."""
    import threading

    found = posted(sample)[0]
    assert isinstance(found, ProfileFound)
    analysis = found.analysis
    read = threading.Event()

    def draw() -> None:
        _ = (analysis.metrics, analysis.missing, analysis.notes)
        read.set()

    with analysis._lock:
        threading.Thread(target=draw, daemon=True).start()
        assert read.wait(2)


_WITH_TEXTUALS_STDERR = """
import multiprocessing, sys
from pathlib import Path
from analysis.options import Options
from analysis.resources import Resources
from recui.loading import Request, load

class StandIn:
    def write(self, text): sys.__stderr__.write(text)
    def flush(self): pass
    def fileno(self): return -1

if __name__ == "__main__":
    sys.stderr = StandIn()
    load(Request(Path(sys.argv[1]), Options(), resources=Resources(jobs=2)), lambda _: None, lambda: False)
    process = multiprocessing.get_context("spawn").Process(target=print, args=("started",))
    process.start()
    process.join()
"""


def test_processes_can_be_started_while_textual_holds_standard_error(sample: Path, tmp_path: Path) -> None:
    script = tmp_path / "explorer.py"
    script.write_text(_WITH_TEXTUALS_STDERR, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), str(sample)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert (done.stdout.strip(), done.stderr) == ("started", "")


def test_first_screen_needs_no_polars() -> None:
    """polars takes 0.3 s to import; the worker does it behind the first paint."""
    code = "import sys, recui.app; print('polars' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
