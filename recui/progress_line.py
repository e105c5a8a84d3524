"""How far the export is: one line on the terminal that goes away, or nothing."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from analysis.progress import FileProgress, Progress, ignore_progress
from analysis.report.escape import visible
from recui.streams import say

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def file_progress(*, quiet: bool, verbose: bool) -> Iterator[Progress]:
    """Tells the user of every file while it is read, on standard error only.

    A terminal gets a line with the file and how far it is; with ``verbose``, every file that was read
    stays as a line of its own. Anything else than a terminal gets only these lines.

    Args:
        quiet: Show nothing.
        verbose: Say for each file how many rows it had and how long it took.
    """
    if quiet:
        yield ignore_progress
    elif _can_redraw():
        with _live_line(verbose=verbose) as progress:
            yield progress
    else:
        yield _print_ended if verbose else ignore_progress


def _can_redraw() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"


@contextmanager
def _live_line(*, verbose: bool) -> Iterator[Progress]:
    # 60 ms that an export into a log does not need.
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Line
    from rich.text import Text

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TaskProgressColumn(),
    )
    with Line(*columns, console=Console(stderr=True), transient=True) as line:
        task = line.add_task("reading", total=None)

        def show(file: FileProgress) -> None:
            # A file read in one go tells nothing before its end: a moving bar then, no percentage.
            known = file.done_bytes > 0
            line.update(
                task,
                description=visible(file.file),
                completed=file.done_bytes,
                total=file.total_bytes if known else None,
            )
            if verbose and file.state != "reading":
                line.console.print(Text(f"recui: {_ended(file)}"))

        yield show


def _print_ended(file: FileProgress) -> None:
    if file.state != "reading":
        say(_ended(file))


def _ended(file: FileProgress) -> str:
    facts = [file.state, visible(file.file)]
    if file.rows is not None:
        facts.append(f"{file.rows:,} rows")
    if file.seconds is not None:
        facts.append(f"{file.seconds:.2f} s")
    return " ".join(facts)
