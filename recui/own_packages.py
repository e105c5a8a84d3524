"""Whether Python finds recui's own packages, or others of the same names."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def foreign_package() -> str | None:
    """One line on an ``analysis`` or ``widgets`` of others that Python finds before recui's own.

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
