"""The options of recui's commands: how each is written, what it takes, its line of help."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

import typer

_LARGEST = 2**31
"""No count that the user gives is larger."""
_MOST_JOBS = 256
"""No machine has use for more processes on one file."""


def _positive(value: float | None) -> float | None:
    if value is not None and not 0 < value < math.inf:
        raise typer.BadParameter(f"{value} is not a number above 0.")
    return value


ProfileArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="PROFILE",
        help="The directory that msprof or torch_npu.profiler wrote, or one above several of them.",
        show_default=False,
    ),
]
RankOption = Annotated[
    int | None, typer.Option("--rank", metavar="N", min=0, help="The rank to read (default: the lowest).")
]
GraphOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--graph", metavar="FILE", help="A graph dump of this program: evidence for graph mode; repeatable."
    ),
]
BatchSizeOption = Annotated[
    int | None,
    typer.Option(
        "--batch-size",
        metavar="N",
        min=1,
        max=_LARGEST,
        help="Samples of an iteration or step, for throughput.",
    ),
]
InstancesOption = Annotated[
    int | None,
    typer.Option("--instances", metavar="N", min=1, max=_LARGEST, help="Inference instances on one device."),
]
LatencyOption = Annotated[
    float | None,
    typer.Option(
        "--latency-ms", metavar="X", callback=_positive, help="Latency budget of one inference iteration."
    ),
]
FactOption = Annotated[
    list[str] | None,
    typer.Option("--fact", metavar="NAME=VALUE", help="What no file says, such as chip=...; repeatable."),
]
PhaseRulesOption = Annotated[
    Path | None,
    typer.Option("--phase-rules", metavar="FILE", help="TOML: names of your own program and their phases."),
]
LanguageOption = Annotated[
    Literal["en", "zh"] | None, typer.Option("--lang", help="Language of report and explorer (default: en).")
]
ThemeOption = Annotated[str | None, typer.Option("--theme", metavar="NAME", help="Theme of the explorer.")]
NoMouseOption = Annotated[
    bool, typer.Option("--no-mouse", help="Leave the mouse to the terminal, to select text with it.")
]
OutputOption = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="DIR|FILE|-", help="Where the report goes (default: report/)."),
]
FormatOption = Annotated[
    Literal["md", "json", "all"] | None,
    typer.Option("--format", help="Markdown, JSON, or both into a directory (default: md)."),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite a file whose name is not the default.")]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")]
NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Read every trace anew, and keep nothing of it for the next time.")
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="N",
        min=1,
        max=_MOST_JOBS,
        help="Processes that read one large trace together (default: the cores, at most 8).",
    ),
]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", help="Say what is read; show a traceback if recui fails.")
]
