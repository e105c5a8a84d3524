"""The built-in sample: one training and one inference profile with known answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.demo.answers import Answers


@dataclass(frozen=True, slots=True)
class Sample:
    """A profile that was written, and what a correct analysis says about it."""

    path: Path
    answers: Answers


def write_sample(kind: Literal["training", "inference"], folder: Path) -> Sample:
    """Write the sample of one kind into ``folder``; the same bytes every time.

    Args:
        kind: ``training`` is a torch_npu capture of one rank, ``inference`` an msprof capture of a GE graph.
        folder: where the profile's own folder is made; created where it is missing.

    Returns:
        The path of the profile's folder, and the answers.
    """
    # Each half costs a few milliseconds to import, and callers need one.
    if kind == "training":
        from analysis.demo.training import write_training  # noqa: PLC0415

        path, answers = write_training(folder)
    else:
        from analysis.demo.inference import write_inference  # noqa: PLC0415

        path, answers = write_inference(folder)
    return Sample(path, answers)
