"""``recui demo``: the built-in sample profile on disk."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from analysis.demo import write_sample
from analysis.errors import OutputError
from recui.streams import say

if TYPE_CHECKING:
    from contextlib import ExitStack


def sample_profile(
    sample: Literal["training", "inference"], kept: Path | None, until_the_end: ExitStack, *, quiet: bool
) -> Path:
    """Write the sample into the directory ``kept``, or into one that goes away with ``until_the_end``.

    Raises:
        OutputError: It cannot be written there.
    """
    try:
        folder = kept or Path(until_the_end.enter_context(TemporaryDirectory(prefix="recui-")))
        path = write_sample(sample, folder).path
    except OSError as error:
        raise OutputError(f"cannot write the sample: {error}") from error
    if kept and not quiet:
        say(f"the sample is {path}")
    return path
