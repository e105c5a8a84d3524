"""The entry point: one command line in, one exit code out, every failure in one line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import typer
from typer.exceptions import TyperException

from recui import __version__
from recui.commands import app
from recui.exit_codes import ExitCode
from recui.leaving import leave_on_signals, leaving_code
from recui.own_packages import foreign_package

if TYPE_CHECKING:
    from collections.abc import Sequence


def main() -> NoReturn:
    """Carry out the command line of this process, and end it."""
    leave_on_signals()
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Carry out one command line and return its exit code; every failure is one line on standard error."""
    obstruction = foreign_package()
    if obstruction:
        sys.stderr.write(f"recui: {obstruction}\n")
        return ExitCode.USAGE
    from analysis.errors import CancelledError, OutputError, RecuiError
    from recui.streams import flush_stdout, say

    try:
        code = typer.main.get_command(app).main(list(arguments), prog_name="recui", standalone_mode=False)
    except TyperException as error:
        say(f"{error.format_message()} ('{_command_path(error)} --help' lists what can be given)")
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
        code = leaving_code() or _report_bug(error, verbose="--verbose" in arguments)
    finally:
        flush_stdout()
    if code == ExitCode.INTERRUPTED:
        say("stopped")
    return code if isinstance(code, int) else 0


def _command_path(error: TyperException) -> str:
    """The command whose usage was wrong."""
    context = getattr(error, "ctx", None)
    return context.command_path if context else "recui"


def _report_bug(error: Exception, *, verbose: bool) -> ExitCode:
    """Say that recui itself failed, and what its makers need to know."""
    from recui.streams import say

    if verbose:
        import traceback

        traceback.print_exception(error)
    hint = "please report it with the lines above" if verbose else "--verbose shows what to report"
    say(f"this is a bug in recui {__version__} ({type(error).__name__}: {error}); {hint}")
    return ExitCode.BUG
