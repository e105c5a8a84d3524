"""TOML data files that lie beside the code that reads them."""

from __future__ import annotations

import sys
from functools import cache
from importlib.resources import files
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@cache
def load_toml(package: str, name: str) -> dict[str, Any]:
    """The content of the data file ``name`` in ``package``; read once and to be left unchanged."""
    return parse_toml(files(package).joinpath(name).read_text(encoding="utf-8"))


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text."""
    return tomllib.loads(text)
