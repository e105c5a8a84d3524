"""Where a report goes and how it gets there: whole, or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from analysis.errors import OutputError, UsageError
from analysis.profile.discover import discover
from analysis.report.blocks import note_text
from analysis.report.escape import visible
from analysis.report.json import json_report
from analysis.report.markdown import markdown_report
from analysis.report.messages import Messages
from analysis.resources import Resources
from analysis.result import Analysis
from recui.exit_codes import ExitCode
from recui.progress_line import file_progress
from recui.streams import say, write_stdout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analysis.options import Options
    from analysis.profile.discover import Capture, Profile

Format: TypeAlias = Literal["md", "json"]
FORMATS: tuple[Format, ...] = ("md", "json")
ALL = "all"
STDOUT = "-"
DEFAULT_FOLDER = Path("report")


@dataclass(frozen=True, slots=True)
class Request:
    """How the user wants the report."""

    language: str = "en"
    output: str | None = None
    """The value of ``-o``: a directory, a file, ``-``, or None."""
    format: str | None = None
    """The value of ``--format``: md, json, all, or None."""
    force: bool = False
    quiet: bool = False
    verbose: bool = False
    resources: Resources = field(default_factory=Resources)


def export_profile(path: Path, rank: int | None, options: Options, request: Request) -> int:
    """Write the report of the profile at ``path``, say where it is, and return the exit code."""
    profile = discover(path, options.graphs)
    capture = profile.select(rank)
    name = report_name(profile, capture)
    place = destination(name, request.output, request.format)
    check(place, name, force=request.force)
    messages = Messages(request.language)
    with file_progress(quiet=request.quiet, verbose=request.verbose) as progress:
        analysis = Analysis(profile, capture, options, progress=progress, resources=request.resources)
        report = make_report(analysis, messages, place)
        damage = [note for note in analysis.notes if note.damage]
    report.write()
    for note in damage:
        say(visible(note_text(note, messages)))
    if not request.quiet:
        for file in place.files.values():
            say(f"wrote {visible(str(file))}")
    return ExitCode.DAMAGED if analysis.damaged else 0


@dataclass(frozen=True, slots=True)
class Destination:
    """Where each format goes."""

    files: Mapping[Format, Path]
    """Empty if the report goes to standard output."""
    stream: Format | None = None
    """The format on standard output."""


def report_name(profile: Profile, capture: Capture) -> str:
    """What a report is called by default: the profile; other captures than the first add which they are."""
    if capture is profile.captures[0]:
        return profile.name
    ranks = [other.rank for other in profile.captures]
    alone = capture.rank is not None and ranks.count(capture.rank) == 1
    which = f"rank{capture.rank}" if alone else capture.name.replace("/", "_")
    return f"{profile.name}_{which}"


def destination(profile_name: str, output: str | None, wanted: str | None) -> Destination:
    """Where the report of ``profile_name`` goes (spec 11).

    Without ``output`` it is ``report/<profile name>.md``. An existing directory, or a name without a
    suffix, is a directory and gets the default names; anything else is a file, whose suffix also
    decides the format if none is asked for.

    Raises:
        UsageError: Two formats cannot go to one file or to standard output.
    """
    formats = FORMATS if wanted == ALL else tuple(form for form in FORMATS if form == (wanted or "md"))
    if output == "":
        raise UsageError("-o takes a directory, a file or -, not an empty name")
    if output == STDOUT:
        if len(formats) > 1:
            raise UsageError("-o - takes one format; choose --format md or --format json")
        return Destination({}, formats[0])
    folder = DEFAULT_FOLDER if output is None else Path(output)
    if output is not None and not _is_folder(output):
        if len(formats) > 1:
            raise UsageError(f"--format all writes two files; give -o a directory, {output} is a file")
        by_suffix = {f".{form}": form for form in FORMATS}
        form = formats[0] if wanted else by_suffix.get(folder.suffix.lower(), "md")
        return Destination({form: folder})
    return Destination({form: folder / default_name(profile_name, form) for form in formats})


def default_name(profile_name: str, form: Format) -> str:
    """The file name of a report whose name nobody chose; a profile in the root directory is ``profile``."""
    return f"{profile_name.strip('/') or 'profile'}.{form}"


def check(place: Destination, profile_name: str, *, force: bool) -> None:
    """Refuse, before the work, a destination that cannot be written after it.

    Raises:
        OutputError: A file is there whose name is not the default one and ``force`` is not given, or the
            directory cannot be written.
    """
    for form, path in place.files.items():
        try:
            _check_file(path, may_exist=force or path.name == default_name(profile_name, form))
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror}") from error


def _check_file(path: Path, *, may_exist: bool) -> None:
    if path.is_dir():
        raise OutputError(f"cannot write {path}: it is a directory")
    if not may_exist and path.is_file():
        raise OutputError(f"{path} exists; --force overwrites it")
    parent = next(folder for folder in path.absolute().parents if folder.exists())
    if not parent.is_dir():
        raise OutputError(f"cannot write {path}: {parent} is not a directory")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write {path}: no permission to write in {parent}")


@dataclass(frozen=True, slots=True)
class Report:
    """A finished report, not written yet."""

    contents: Mapping[Format, bytes]
    place: Destination

    def write(self) -> None:
        """Bring it to its place.

        Raises:
            OutputError: It cannot be written; then nothing of it is left.
        """
        if self.place.stream:
            write_stdout(self.contents[self.place.stream])
        else:
            write_files({path: self.contents[form] for form, path in self.place.files.items()})


def make_report(analysis: Analysis, messages: Messages, place: Destination) -> Report:
    """Compute everything the report needs; all the work is here."""
    formats = (place.stream,) if place.stream else tuple(place.files)
    return Report({form: _rendered(analysis, messages, form) for form in formats}, place)


def write_report(analysis: Analysis, messages: Messages, place: Destination) -> None:
    """Compute the report and bring it to its place.

    Raises:
        OutputError: It cannot be written; then nothing of it is left.
    """
    make_report(analysis, messages, place).write()


def _rendered(analysis: Analysis, messages: Messages, form: Format) -> bytes:
    """The report in one format; names with broken UTF-8 in them come out with replacement characters."""
    if form == "json":
        return json_report(analysis, messages)
    return markdown_report(analysis, messages).encode("utf-8", "replace")


def write_files(contents: Mapping[Path, bytes]) -> None:
    """Write all files or none: each whole and on disk under a temporary name first, then renamed.

    Raises:
        OutputError: One of them cannot be written.
    """
    staged: dict[Path, Path] = {}
    target = Path()
    try:
        for target, content in contents.items():
            if target.exists() and not target.is_file():  # a pipe or a device is written to, not replaced
                target.write_bytes(content)
                continue
            real = Path(os.path.realpath(target))  # a link stays a link
            real.parent.mkdir(parents=True, exist_ok=True)
            temporary = real.parent / f".recui-{secrets.token_hex(8)}.tmp"
            staged[temporary] = real
            _write_whole(temporary, content, _mode(real))
        for temporary, real in staged.items():
            target = real
            temporary.replace(real)
            _sync_folder(real.parent)
    except BrokenPipeError:
        return
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror}") from error
    finally:
        for temporary in staged:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def _is_folder(output: str) -> bool:
    path = Path(output)
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except OSError:
        return output.endswith(os.sep) or not path.suffix


def _mode(path: Path) -> int | None:
    """The permissions of a file that is replaced; a new one gets those of the umask."""
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else None


def _write_whole(path: Path, content: bytes, mode: int | None) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with os.fdopen(handle, "wb") as stream:
        if mode is not None:
            os.fchmod(handle, mode)
        stream.write(content)
        stream.flush()
        os.fsync(handle)


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut; some file systems cannot, and the file is whole anyway."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
