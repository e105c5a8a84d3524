"""What the arguments of a command ask for, in the terms of the core."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.options import Options
    from analysis.resources import Resources
    from recui.config import Config
    from recui.export import Request


def profile_path(profile: str | None) -> Path:
    """The path of the profile, which must be there; whether it is a profile is seen when it is read."""
    from analysis.errors import NotAProfileError, UsageError

    if not profile:
        raise UsageError("give the directory that msprof or torch_npu.profiler wrote, or try 'recui demo'")
    path = Path(profile)
    try:
        path.stat()
    except OSError as error:
        raise NotAProfileError(f"{profile[:200]}: {error.strerror}") from error
    return path


def analysis_options(
    batch_size: int | None,
    instances: int | None,
    latency_ms: float | None,
    facts: list[str] | None,
    graphs: list[Path] | None,
    phase_rules: Path | None,
) -> Options:
    """What the user knows and the files do not say."""
    from analysis.options import Options
    from analysis.user_facts import parse_facts

    known = parse_facts(facts or ())
    if phase_rules is not None:
        from analysis.phases.rules import load_rules

        # A file that cannot be used is told of at once, not when the phases are asked for.
        load_rules(phase_rules)
    return Options(batch_size, instances, latency_ms, known, tuple(graphs or ()), phase_rules)


def user_settings(language: str | None) -> Config:
    """The settings of the configuration file; a language on the command line wins."""
    from recui.config import read_config

    kept = read_config(os.environ)
    return replace(kept, language=language or kept.language)


def export_request(
    settings: Config,
    output: str | None,
    format_: str | None,
    resources: Resources,
    *,
    force: bool,
    quiet: bool,
    verbose: bool,
) -> Request:
    """How the report is wanted; there is no screen that could tell of a broken configuration file later."""
    from recui.export import Request
    from recui.streams import say

    if settings.problem and not quiet:
        say(settings.problem)
    language = settings.language or "en"
    return Request(language, output, format_, force, quiet, verbose, resources)


def analysis_resources(jobs: int | None, *, keep: bool) -> Resources:
    """What the work may use: as many processes as asked for, and the user's cache."""
    from analysis.resources import Resources, usual_jobs
    from recui.config import cache_folder

    return Resources(jobs or usual_jobs(), cache_folder(os.environ) if keep else None)
