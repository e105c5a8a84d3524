"""The command line: parse, call the core, say where the result is."""

from __future__ import annotations

import math
import os
import signal
import sys
from contextlib import ExitStack
from dataclasses import replace
from enum import IntEnum
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from recui import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.options import Options
    from analysis.resources import Resources
    from recui.config import Config
    from recui.export import Request


class ExitCode(IntEnum):
    """What a script can tell from the exit; 0 is fine."""

    USAGE = 2
    """Wrong usage, no such path, not a profile, no terminal."""
    DAMAGED = 3
    """Part of the input was lost; the report is written and lists what."""
    OUTPUT = 4
    """The report cannot be written."""
    BUG = 70
    """recui itself failed (EX_SOFTWARE)."""
    INTERRUPTED = 130
    """Ctrl-C."""


class _OpensByDefault(TyperGroup):
    """``recui PROFILE`` is ``recui open PROFILE``: what is no command is taken for a profile."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # typer keeps the type of ctx to itself
        own = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        first = args[0] if args else None
        # Completion asks with nothing typed yet: then commands are what is offered.
        if (first is None and not ctx.resilient_parsing) or (
            first is not None and first not in self.commands and first.partition("=")[0] not in own
        ):
            args = ["open", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_OpensByDefault,
    # Rich's help and tracebacks would add 120 ms to every start.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    subcommand_metavar="[COMMAND] PROFILE",
)


_leaving: list[int] = []
"""The exit code, once a signal has asked to leave."""


def main() -> NoReturn:
    """The entry point."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP, and so it stays
            signal.signal(number, _leave)
    sys.exit(run(sys.argv[1:]))


def _leave(number: int, frame: object) -> NoReturn:
    """End in good order when the connection is gone or a job is stopped: temporary files go too.

    Textual's threads may hang on a terminal that is gone: what has not ended by then is ended by the alarm.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_SECONDS_TO_LEAVE)
    _leaving.append(128 + number)
    sys.exit(_leaving[0])


def run(arguments: Sequence[str]) -> int:
    """Carry out one command line and return its exit code; every failure is one line on standard error."""
    stranger = _stranger()
    if stranger:
        sys.stderr.write(f"recui: {stranger}\n")
        return ExitCode.USAGE
    from analysis.errors import CancelledError, OutputError, RecuiError
    from recui.streams import flush_stdout, say

    try:
        code = typer.main.get_command(app).main(list(arguments), prog_name="recui", standalone_mode=False)
    except TyperException as error:
        say(f"{error.format_message()} ('{_command(error)} --help' lists what can be given)")
        code = ExitCode.USAGE
    except OutputError as error:
        say(str(error))
        code = ExitCode.OUTPUT
    except (CancelledError, KeyboardInterrupt, typer.Abort):
        code = ExitCode.INTERRUPTED
    except RecuiError as error:
        say(str(error))
        code = ExitCode.USAGE
    except Exception as error:  # noqa: BLE001 - whatever went wrong in recui, the user gets a line
        # What fails while the terminal is going away is no bug: Textual is stopped in the middle of anything.
        code = _leaving[0] if _leaving else _report_bug(error, verbose="--verbose" in arguments)
    finally:
        flush_stdout()
    if code == ExitCode.INTERRUPTED:
        say("stopped")
    return code if isinstance(code, int) else 0


# ------------------------------------------------------------------------------- options


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
_LARGEST = 2**31
"""No count that the user gives is larger."""
_SECONDS_TO_LEAVE = 2
_MOST_JOBS = 256
"""No machine has use for more processes on one file."""

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


# ------------------------------------------------------------------------------ commands


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"recui {__version__}")
        raise typer.Exit


@app.callback()
def recui(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Explore and export Ascend NPU profiles of recommendation models.

    'recui PROFILE' opens the explorer; 'recui open --help' lists its options.
    """


@app.command("open")
def open_profile(
    profile: ProfileArgument = None,
    rank: RankOption = None,
    graph: GraphOption = None,
    batch_size: BatchSizeOption = None,
    instances: InstancesOption = None,
    latency_ms: LatencyOption = None,
    fact: FactOption = None,
    phase_rules: PhaseRulesOption = None,
    lang: LanguageOption = None,
    theme: ThemeOption = None,
    no_mouse: NoMouseOption = False,
    no_cache: NoCacheOption = False,
    jobs: JobsOption = None,
    verbose: VerboseOption = False,
) -> int:
    """Open the explorer."""
    path = _given(profile)
    options = _options(batch_size, instances, latency_ms, fact, graph, phase_rules)
    resources = _resources(jobs, keep=not no_cache)
    return _explore(path, rank, options, _settings(lang), theme, resources, mouse=not no_mouse)


@app.command()
def export(
    profile: ProfileArgument = None,
    rank: RankOption = None,
    graph: GraphOption = None,
    batch_size: BatchSizeOption = None,
    instances: InstancesOption = None,
    latency_ms: LatencyOption = None,
    fact: FactOption = None,
    phase_rules: PhaseRulesOption = None,
    lang: LanguageOption = None,
    output: OutputOption = None,
    format_: FormatOption = None,
    force: ForceOption = False,
    no_cache: NoCacheOption = False,
    jobs: JobsOption = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> int:
    """Write the report, without a terminal.

    The default is report/<profile name>.md. '-o -' writes to standard output. A file is overwritten if
    its name is the default one, else only with --force.
    """
    path = _given(profile)
    options = _options(batch_size, instances, latency_ms, fact, graph, phase_rules)
    from recui.export import export_profile

    request = _request(_settings(lang), output, format_, force=force, quiet=quiet, verbose=verbose)
    wanted = replace(request, resources=_resources(jobs, keep=not no_cache))
    return export_profile(path, rank, options, wanted)


@app.command()
def cache(
    info: Annotated[bool, typer.Option("--info", help="Say what is kept and where (the default).")] = False,
    clear: Annotated[bool, typer.Option("--clear", help="Remove all that is kept.")] = False,
) -> int:
    """Traces that were read once, kept so that they open at once the next time."""
    from analysis.errors import UsageError
    from recui.cache_command import clear_cache, show_cache
    from recui.config import cache_folder

    if info and clear:
        raise UsageError("give --info or --clear, not both")
    folder = cache_folder(os.environ)
    if folder is None:
        raise UsageError("there is no home directory, so nothing is kept; set XDG_CACHE_HOME")
    if clear:
        clear_cache(folder)
    else:
        show_cache(folder)
    return 0


@app.command()
def demo(
    sample: Annotated[Literal["training", "inference"], typer.Argument(help="Which sample.")] = "training",
    directory: Annotated[
        Path | None, typer.Option("--dir", metavar="DIR", help="Keep the sample in this directory.")
    ] = None,
    write: Annotated[bool, typer.Option("--export", help="Write its report instead of opening it.")] = False,
    lang: LanguageOption = None,
    theme: ThemeOption = None,
    no_mouse: NoMouseOption = False,
    output: OutputOption = None,
    format_: FormatOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> int:
    """Open the built-in sample profile; without a terminal, print its report.

    The sample is written anew each time: into DIR, where it stays, or into a temporary directory.
    """
    from analysis.options import Options
    from analysis.resources import Resources
    from recui.terminal import obstacle

    settings = _settings(lang)
    written = bool(write or output or format_)
    with ExitStack() as until_the_end:
        path = _write_sample(sample, directory, until_the_end, quiet=quiet)
        if not written and obstacle(sys.stdout, sys.stdin, os.environ) is None:
            # A sample is small and made anew each time: nothing of it is worth keeping.
            return _explore(path, None, Options(), settings, theme, Resources(), mouse=not no_mouse)
        from recui.export import STDOUT, export_profile

        place = output if written else STDOUT
        request = _request(settings, place, format_, force=force, quiet=quiet, verbose=verbose)
        return export_profile(path, None, Options(), request)


# ------------------------------------------------------------------------- what they share


def _given(profile: str | None) -> Path:
    from analysis.errors import NotAProfileError, UsageError

    if not profile:
        raise UsageError("give the directory that msprof or torch_npu.profiler wrote, or try 'recui demo'")
    path = Path(profile)
    try:
        path.stat()
    except OSError as error:
        raise NotAProfileError(f"{profile[:200]}: {error.strerror}") from error
    return path


def _options(
    batch_size: int | None,
    instances: int | None,
    latency_ms: float | None,
    facts: list[str] | None,
    graphs: list[Path] | None,
    phase_rules: Path | None,
) -> Options:
    from analysis.options import Options
    from analysis.user_facts import parse_facts

    known = parse_facts(facts or ())
    if phase_rules is not None:
        from analysis.phases.rules import load_rules

        # A file that cannot be used is told of at once, not when the phases are asked for.
        load_rules(phase_rules)
    return Options(batch_size, instances, latency_ms, known, tuple(graphs or ()), phase_rules)


def _settings(language: str | None) -> Config:
    """The settings of the configuration file; a language on the command line wins."""
    from recui.config import read_config

    kept = read_config(os.environ)
    return replace(kept, language=language or kept.language)


def _request(
    settings: Config, output: str | None, format_: str | None, *, force: bool, quiet: bool, verbose: bool
) -> Request:
    """How the report is wanted; there is no screen that could tell of a broken configuration file later."""
    from recui.export import Request
    from recui.streams import say

    if settings.problem and not quiet:
        say(settings.problem)
    return Request(settings.language or "en", output, format_, force=force, quiet=quiet, verbose=verbose)


def _resources(jobs: int | None, *, keep: bool) -> Resources:
    """What the work may use: as many processes as asked for, and the user's cache."""
    from analysis.resources import Resources, usual_jobs
    from recui.config import cache_folder

    return Resources(jobs or usual_jobs(), cache_folder(os.environ) if keep else None)


def _explore(
    path: Path,
    rank: int | None,
    options: Options,
    settings: Config,
    theme: str | None,
    resources: Resources,
    *,
    mouse: bool,
) -> int:
    from analysis.errors import UsageError
    from recui.streams import say
    from recui.terminal import obstacle

    problem = obstacle(sys.stdout, sys.stdin, os.environ)
    if problem:
        raise UsageError(f"{problem}; 'recui export' writes the report without one")
    # 550 ms that no other command needs.
    from recui.app import ExplorerApp

    if theme:
        from textual.theme import BUILTIN_THEMES

        if theme not in BUILTIN_THEMES:
            raise UsageError(f"no theme {theme!r}; there are {', '.join(sorted(BUILTIN_THEMES))}")
    language, theme = settings.language or "en", theme or settings.theme
    explorer = ExplorerApp(path, rank, options, language, theme, settings, resources)
    last_words = explorer.run(mouse=mouse)
    if last_words:
        say(str(last_words))
    return explorer.return_code or 0


def _write_sample(
    sample: Literal["training", "inference"], kept: Path | None, until_the_end: ExitStack, *, quiet: bool
) -> Path:
    """Write the sample into the directory ``kept``, or into one that goes away with ``until_the_end``."""
    from analysis.demo import write_sample
    from analysis.errors import OutputError
    from recui.streams import say

    try:
        folder = kept or Path(until_the_end.enter_context(TemporaryDirectory(prefix="recui-")))
        path = write_sample(sample, folder).path
    except OSError as error:
        raise OutputError(f"cannot write the sample: {error}") from error
    if kept and not quiet:
        say(f"the sample is {path}")
    return path


def _command(error: TyperException) -> str:
    """The command whose usage was wrong."""
    context = getattr(error, "ctx", None)
    return context.command_path if context else "recui"


def _report_bug(error: Exception, *, verbose: bool) -> ExitCode:
    from recui.streams import say

    if verbose:
        import traceback

        traceback.print_exception(error)
    hint = "please report it with the lines above" if verbose else "--verbose shows what to report"
    say(f"this is a bug in recui {__version__} ({type(error).__name__}: {error}); {hint}")
    return ExitCode.BUG


def _stranger() -> str | None:
    """Another distribution's ``analysis`` or ``widgets`` that Python finds before recui's own.

    The three houses have plain names, and in a shared environment one may be taken.
    """
    street = Path(__file__).resolve().parents[1]
    for house in ("analysis", "widgets"):
        spec = find_spec(house)
        found = Path(spec.origin).resolve().parent if spec and spec.origin else None
        if found != street / house:
            where = f"{found or 'something else'} stands in the way of its own package {house}"
            return f"{where}; install recui in an environment of its own (python3 -m venv)"
    return None
