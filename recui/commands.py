"""The commands of recui: open, export, cache, demo."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from recui import __version__
from recui.arguments import (
    analysis_options,
    analysis_resources,
    export_request,
    profile_path,
    user_settings,
)
from recui.command_options import (
    BatchSizeOption,
    FactOption,
    ForceOption,
    FormatOption,
    GraphOption,
    InstancesOption,
    JobsOption,
    LanguageOption,
    LatencyOption,
    NoCacheOption,
    NoMouseOption,
    OutputOption,
    PhaseRulesOption,
    ProfileArgument,
    QuietOption,
    RankOption,
    ThemeOption,
    VerboseOption,
)


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
    path = profile_path(profile)
    options = analysis_options(batch_size, instances, latency_ms, fact, graph, phase_rules)
    resources = analysis_resources(jobs, keep=not no_cache)
    from recui.open_command import explore

    return explore(path, rank, options, user_settings(lang), theme, resources, mouse=not no_mouse)


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
    path = profile_path(profile)
    options = analysis_options(batch_size, instances, latency_ms, fact, graph, phase_rules)
    resources = analysis_resources(jobs, keep=not no_cache)
    from recui.export import export_profile

    settings = user_settings(lang)
    request = export_request(settings, output, format_, resources, force=force, quiet=quiet, verbose=verbose)
    return export_profile(path, rank, options, request)


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
    from recui.demo_command import sample_profile
    from recui.terminal import obstacle

    settings = user_settings(lang)
    # A sample is small and made anew each time: nothing of it is worth keeping.
    resources = Resources()
    written = bool(write or output or format_)
    with ExitStack() as until_the_end:
        path = sample_profile(sample, directory, until_the_end, quiet=quiet)
        if not written and obstacle(sys.stdout, sys.stdin, os.environ) is None:
            from recui.open_command import explore

            return explore(path, None, Options(), settings, theme, resources, mouse=not no_mouse)
        from recui.export import STDOUT, export_profile

        place = output if written else STDOUT
        request = export_request(
            settings, place, format_, resources, force=force, quiet=quiet, verbose=verbose
        )
        return export_profile(path, None, Options(), request)
