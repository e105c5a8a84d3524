"""Facts that no file holds and the user states: ``--fact NAME=VALUE``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from analysis.datafile import load_toml
from analysis.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FLAGS: Final = ("true", "false")
_VERSION: Final = re.compile(r"[0-9]+(\.[0-9]+)*([.+\-a-zA-Z][.+\-a-zA-Z0-9]*)?")


def parse_facts(items: Sequence[str]) -> dict[str, str]:
    """The facts of ``NAME=VALUE`` items, each value checked and in its canonical spelling (spec S6).

    Several stacks are separated by commas. A name given twice must have one value.

    Raises:
        UsageError: A name or a value is not one of those listed in the error.
    """
    facts: dict[str, str] = {}
    for item in items:
        name, equals, value = (part.strip() for part in item.partition("="))
        rule = _rules().get(name)
        if rule is None or not equals:
            wrong = f"unknown fact {name!r}" if equals else f"{item!r} is not NAME=VALUE"
            raise UsageError(f"--fact: {wrong}; the names are {', '.join(_rules())}")
        found = _canonical(rule, value)
        if found is None:
            raise UsageError(f"--fact {name}: {value!r} will not do; {allowed(name)}")
        if facts.setdefault(name, found) != found:
            raise UsageError(f"--fact {name} is given twice: {facts[name]} and {found}")
    return facts


def allowed(name: str) -> str:
    """What a fact's value may be, in one clause."""
    rule = _rules()[name]
    if rule["kind"] == "choice":
        return f"use one of {', '.join(rule['values'])}"
    if rule["kind"] == "choices":
        return f"use one or more of {', '.join(rule['values'])}, separated by commas"
    if rule["kind"] == "flag":
        return f"use one of {', '.join(FLAGS)}"
    if rule["kind"] == "whole":
        return "use a whole number from 1"
    return f"use a value such as {rule['example']}"


def _canonical(rule: Mapping[str, Any], value: str) -> str | None:
    kind = rule["kind"]
    if kind in {"choice", "choices"}:
        parts = [value] if kind == "choice" else [part.strip() for part in value.split(",")]
        chosen = [_choice(rule, part) for part in parts]
        return ",".join(dict.fromkeys(part for part in chosen if part)) if all(chosen) else None
    if kind == "flag":
        return value.lower() if value.lower() in FLAGS else None
    if kind == "whole":
        return str(int(value)) if value.isascii() and value.isdigit() and int(value) >= 1 else None
    if kind == "version":
        return value if _VERSION.fullmatch(value) else None
    return value or None


def _choice(rule: Mapping[str, Any], value: str) -> str | None:
    spellings: dict[str, str] = {choice.lower(): choice for choice in rule["values"]}
    spellings |= rule.get("also", {})
    return spellings.get(value.lower())


def _rules() -> dict[str, Any]:
    return load_toml("analysis", "user_facts.toml")
