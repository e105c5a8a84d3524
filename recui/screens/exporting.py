"""Writing the report from inside the explorer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.errors import RecuiError
from recui.screens.dialog import PromptDialog

if TYPE_CHECKING:
    from analysis.report.messages import Messages
    from analysis.result import Analysis


def export_dialog(messages: Messages) -> PromptDialog:
    """Ask for the place; the default is that of ``recui export``."""
    from recui.export import DEFAULT_FOLDER

    return PromptDialog(messages.text("export.title"), messages.text("export.prompt"), f"{DEFAULT_FOLDER}/")


def export(analysis: Analysis, output: str, messages: Messages) -> tuple[bool, str]:
    """Write Markdown and JSON into a folder, or one of them into a file.

    Returns:
        Whether it worked, and what to tell the user.
    """
    from recui.export import ALL, check, destination, report_name, write_report

    name = report_name(analysis.profile, analysis.capture)
    try:
        place = destination(name, output, None if _is_file(output) else ALL)
        check(place, name, force=False)
        write_report(analysis, messages, place)
    except RecuiError as error:
        return False, messages.text("export.failed", {"reason": str(error)})
    paths = ", ".join(str(path.absolute()) for path in place.files.values())
    return True, messages.text("export.done", {"paths": paths})


def _is_file(output: str) -> bool:
    return output.lower().endswith((".md", ".json"))
