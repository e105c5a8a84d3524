"""Names of host bars that tell their phase: built-in rules, those of the user, and what a name matches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from analysis.datafile import load_toml, parse_toml
from analysis.errors import UsageError
from analysis.phases.model import ROWS, UNCLASSIFIED
from analysis.phases.results import STAGES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

ANCHORED: Final = "anchored"
OPERATOR: Final = "operator"
TOKEN: Final = "token"  # noqa: S105 - a word of free text
STRENGTHS: Final = (ANCHORED, OPERATOR, TOKEN)
"""How sure a rule is of its names, surest first: S3, S2 and S1 of facts/phases.md 2 (2)."""

WAIT_NO: Final = "no"
WAIT_YES: Final = "yes"
WAIT_IF_LONG: Final = "if_long"
WAITS: Final = (WAIT_NO, WAIT_YES, WAIT_IF_LONG)
"""Whether a bar of a rule waits; ``if_long`` for one that does little but wait when it takes long."""

STAGE_TRAIN: Final = "train"
"""Stage of names whose batch index is that of the batch being trained."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: the names it is about, and what they say."""

    id: str
    """What reports call it, such as ``torchrec.wait_sparse_data_dist``."""
    strength: str
    """One of STRENGTHS."""
    pattern: str | None
    """Regex in the dialect of polars, searched in the name; built-in anchored ones begin with ``^``. None for
    token rules."""
    heads: tuple[str, ...]
    """Token rules: the last token of the name must be one of these ..."""
    companions: tuple[str, ...]
    """... and one of these must be among the tokens before it; empty: it needs none."""
    phase: str | None
    """One of PHASES; ``unclassified`` for names that are switched off; None for the phase of what the bar
    waits for."""
    wait: str
    """One of WAITS."""
    frameworks: tuple[str, ...]
    """Who writes such names."""
    stage: str | None
    """One of STAGES where a batch index in such a name tells how far ahead that stage works; STAGE_TRAIN
    where it is the batch being trained; else None."""
    writes_table: bool
    """Whether such a node of the backward pass writes the embedding table itself."""
    holds: str | None
    """Regex: the rule counts only for a bar inside of which lies one whose name matches this."""
    note: str | None
    source: str
    """Where the rule is from; of a user's rule by default the name of the file."""
    user: bool
    """Whether it is from ``--phase-rules``."""
    note_zh: str | None = None
    """``note`` in Chinese; None where there is none, and ``note`` is shown."""


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules of a run."""

    entries: tuple[Rule, ...]
    """In the order of precedence: the user's (in the order of the file), then anchored, operator, token."""
    sync: str
    """Regex of calls that block until the device is done."""

    def matches(self, names: pl.Series) -> NDArray[np.int32]:
        """Place in ``entries`` of the first rule that each name matches.

        -1 where none does, and where the first one switches the name off. A name that wraps another one
        (stages of torchrec's staged pipeline) matches what its inner name matches.

        Args:
            names: Names as String, best distinct ones; null matches nothing.
        """
        places = self.places(names)
        claims = np.array([rule.phase != UNCLASSIFIED for rule in self.entries] + [False])
        return np.where(claims[places], places, -1).astype(np.int32)

    def switched_off(self, names: pl.Series) -> pl.Series:
        """Whether the first rule that fits each name says that the name claims nothing.

        Args:
            names: Names as in :meth:`matches`.
        """
        off = np.array([*(rule.phase == UNCLASSIFIED for rule in self.entries), False])
        return pl.Series(off[self.places(names)])

    def places(self, names: pl.Series) -> NDArray[np.int32]:
        """Place in ``entries`` of the first rule that fits each name, those that switch it off included.

        The number of rules where none does.

        Args:
            names: Names as in :meth:`matches`.
        """
        places = self._first(names)
        wrapped: dict[str, Any] = load_toml("analysis.phases", "rules.toml")["wrapped"]
        inner = names.str.extract(wrapped["pattern"], 1)
        rows = np.flatnonzero(inner.is_not_null().to_numpy())
        if rows.size:
            for form in wrapped["forms"]:
                before, after = form.split("{name}")
                unwrapped = before + inner.gather(rows) + after
                places[rows] = np.minimum(places[rows], self._first(unwrapped))
        return places

    def syncs(self, names: pl.Series) -> NDArray[np.bool_]:
        """Whether each name is a call that blocks until the device is done.

        Args:
            names: Names as String; null is none.
        """
        return _contains(names, self.sync)

    def _first(self, names: pl.Series) -> NDArray[np.int32]:
        """Place of the first rule that each name matches, the number of rules where none does."""
        texts = pl.DataFrame({"name": names, "words": _token_text(names)})
        fits = (pl.when(_fits(rule)).then(place) for place, rule in enumerate(self.entries))
        first = pl.coalesce(*fits, pl.lit(len(self.entries)))
        return texts.select(first.cast(pl.Int32).alias("place"))["place"].to_numpy(writable=True)


def with_index_marks(names: pl.Series) -> pl.Series:
    """The names with ``{i}`` in the place of their batch index, so that those of all batches are one.

    Args:
        names: Names as String; null stays null.
    """
    name = pl.col(names.name)
    marked = [
        pl.when(name.str.contains(pattern)).then(name.str.replace(pattern, "${1}{i}${3}"))
        for pattern in _index_patterns()
    ]
    return names.to_frame().select(pl.coalesce(*marked, name).alias(names.name)).to_series()


def batch_indices(names: pl.Series) -> pl.Series:
    """The batch index that stands in each name, Int64; null where none does.

    Args:
        names: Names as String.
    """
    name = pl.col(names.name)
    found = [name.str.extract(pattern, 2).cast(pl.Int64) for pattern in _index_patterns()]
    return names.to_frame().select(pl.coalesce(found).alias(names.name)).to_series()


def load_rules(user_file: Path | None = None) -> Rules:
    """The built-in rules, with those of the user in front.

    An entry of the user's file with the id of a built-in rule replaces it; without names of its own it takes
    those of the one it replaces. ``phase = "unclassified"`` switches names off.

    Args:
        user_file: TOML with the same ``[[rules]]`` as rules.toml beside this module.

    Raises:
        UsageError: The file cannot be used; one line says which entry and why.
    """
    content = load_toml("analysis.phases", "rules.toml")
    builtin = [_rule(entry, user=False) for entry in content["rules"]]
    builtin.sort(key=lambda rule: STRENGTHS.index(rule.strength))
    own = _user_rules(user_file, {rule.id: rule for rule in builtin}) if user_file is not None else []
    replaced = {rule.id for rule in own}
    kept = (rule for rule in builtin if rule.id not in replaced)
    return Rules((*own, *kept), content["sync"]["pattern"])


# -------------------------------------------------------------------------------- matching


def _contains(names: pl.Series, pattern: str | None) -> NDArray[np.bool_]:
    if pattern is None:
        return np.zeros(len(names), dtype=np.bool_)
    return names.str.contains(pattern).fill_null(value=False).to_numpy()


def _fits(rule: Rule) -> pl.Expr:
    """Whether the rule fits ``name``, or what :func:`_token_text` makes of it, ``words``."""
    if rule.heads:
        return pl.col("words").str.contains(_token_pattern(rule))
    return pl.lit(value=False) if rule.pattern is None else pl.col("name").str.contains(rule.pattern)


def _token_text(names: pl.Series) -> pl.Series:
    """The tokens of each name, lower case and one blank apart, numbers left out.

    Null for names that are no free text (facts/phases.md 2 (2), (3)).
    """
    unfit: dict[str, str] = load_toml("analysis.phases", "rules.toml")["token"]
    name = pl.col(names.name)
    tokens = (
        name.str.to_lowercase()
        .str.replace_all("[^a-z0-9]+", "  ")
        .str.replace_all("(^| )[0-9]+( |$)", " ")
        .str.replace_all(" +", " ")
        .str.strip_chars(" ")
    )
    fits = ~name.str.contains(unfit["never"]) & ~name.str.contains(unfit["file_or_class"])
    return names.to_frame().select(pl.when(fits).then(tokens).alias(names.name)).to_series()


def _token_pattern(rule: Rule) -> str:
    """What to search in the text of :func:`_token_text`."""
    heads, companions = "|".join(rule.heads), "|".join(rule.companions)
    before = f"(?:^| )(?:{companions}) (?:.* )?" if companions else "(?:^| )"
    return f"{before}(?:{heads})$"


def _index_patterns() -> list[str]:
    patterns: list[str] = load_toml("analysis.phases", "rules.toml")["index"]["patterns"]
    return patterns


# --------------------------------------------------------------------------------- reading


def _rule(entry: Mapping[str, Any], *, user: bool) -> Rule:
    """The rule of an entry that is known to be good."""
    heads = tuple(entry.get("heads", ()))
    return Rule(
        id=entry["id"],
        strength=entry.get("strength", TOKEN if heads else ANCHORED),
        pattern=entry.get("pattern"),
        heads=heads,
        companions=tuple(entry.get("companions", ())),
        phase=entry.get("phase"),
        wait=entry.get("wait", WAIT_NO),
        frameworks=tuple(entry.get("frameworks", ())),
        stage=entry.get("stage"),
        writes_table=entry.get("writes_table", False),
        holds=entry.get("holds"),
        note=entry.get("note"),
        note_zh=entry.get("note_zh"),
        source=entry["source"],
        user=user,
    )


def _user_rules(path: Path, builtin: Mapping[str, Rule]) -> list[Rule]:
    """The rules of the user's file, in its order."""
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{path}: not a file")
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{path}: larger than a file of rules may be ({_MOST_BYTES:,} bytes)")
        content = parse_toml(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except RecursionError as error:
        raise UsageError(f"{path}: not TOML that can be read: nested too deeply") from error
    except ValueError as error:
        # Both what is not UTF-8 and what is not TOML.
        raise UsageError(f"{path}: not TOML: {error}") from error
    entries = content.pop("rules", None)
    if content:
        raise UsageError(f"{path}: unknown table {min(content)!r}; there is [[rules]] only")
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError(f"{path}: no [[rules]]")
    rules: list[Rule] = []
    for number, entry in enumerate(entries, 1):
        problem = _problem(entry, builtin, {rule.id for rule in rules})
        if problem:
            known = isinstance(entry.get("id"), str)
            which = f"rule {entry['id'][:200]!r}" if known else f"rule {number}"
            raise UsageError(f"{path}: {which}: {problem}")
        rules.append(_rule({"source": path.name, **_names_of(entry, builtin), **entry}, user=True))
    return rules


_WORDS: Final = {"strength": STRENGTHS, "phase": ROWS, "wait": WAITS, "stage": (*STAGES, STAGE_TRAIN)}
"""Keys with one of a few values."""
_TEXTS: Final = ("id", "pattern", "holds", "note", "note_zh", "source")
_LISTS: Final = ("heads", "companions", "frameworks")
_MOST_BYTES: Final = 256 * 1024
"""Of a user's file: thousands of rules, which are tried on every name."""
_FLAGS: Final = ("writes_table",)
_KEYS: Final = (*_TEXTS, *_WORDS, *_LISTS, *_FLAGS)


def _problem(entry: Mapping[str, Any], builtin: Mapping[str, Rule], seen: Iterable[str]) -> str | None:
    """What is wrong with an entry of the user's file, in a few words."""
    checks = (
        partial(_wrong_keys, entry),
        partial(_wrong_values, entry),
        partial(_wrong_id, entry, seen),
        partial(_wrong_names, entry, builtin),
        partial(_wrong_texts, entry),
        partial(_wrong_claim, entry),
    )
    return next((problem for check in checks if (problem := check())), None)


def _wrong_keys(entry: Mapping[str, Any]) -> str | None:
    unknown = sorted(set(entry) - set(_KEYS))
    return f"unknown key {unknown[0]!r}; there are {', '.join(_KEYS)}" if unknown else None


def _wrong_values(entry: Mapping[str, Any]) -> str | None:
    for key, value in entry.items():
        if key in _FLAGS:
            if not isinstance(value, bool):
                return f"{key} is neither true nor false"
        elif key in _LISTS:
            if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
                return f"{key} is no list of strings"
        elif not isinstance(value, str):
            return f"{key} is no string"
        elif key in _WORDS and value not in _WORDS[key]:
            return f"unknown {key} {value[:200]!r}; there are {', '.join(_WORDS[key])}"
    return None


def _wrong_id(entry: Mapping[str, Any], seen: Iterable[str]) -> str | None:
    if not entry.get("id"):
        return "no id"
    return "this id is there twice" if entry["id"] in seen else None


def _wrong_names(entry: Mapping[str, Any], builtin: Mapping[str, Rule]) -> str | None:
    """Whether it is unclear which names the entry is about."""
    names = {**_names_of(entry, builtin), **entry}
    heads, pattern = names.get("heads"), names.get("pattern")
    problem = None
    if heads and pattern:
        problem = "give a pattern or heads, not both"
    elif not heads and names.get("companions"):
        problem = "companions without heads"
    elif not heads and not pattern:
        problem = "no pattern and no heads"
    elif "strength" in entry and (entry["strength"] == TOKEN) != bool(heads):
        problem = "strength 'token' goes with heads, the others with a pattern"
    return problem


def _wrong_texts(entry: Mapping[str, Any]) -> str | None:
    """Whether a token or a regex cannot be searched for."""
    for token in (*entry.get("heads", ()), *entry.get("companions", ())):
        if not _is_token(token):
            return f"{token[:200]!r} is no token: lower-case letters and digits, not digits alone"
    for key in ("pattern", "holds"):
        if key in entry and (problem := _regex_problem(entry[key])):
            return f"bad {key}: {problem}"
    return None


def _wrong_claim(entry: Mapping[str, Any]) -> str | None:
    """Only a wait may leave open which phase it is of; names that are switched off say nothing at all."""
    if entry.get("phase") == UNCLASSIFIED and entry.get("wait", WAIT_NO) != WAIT_NO:
        return f"phase {UNCLASSIFIED!r} switches names off; a wait without a known phase has no phase at all"
    if "phase" in entry or entry.get("wait") == WAIT_YES:
        return None
    return f"no phase; there are {', '.join(ROWS)}"


def _names_of(entry: Mapping[str, Any], builtin: Mapping[str, Rule]) -> dict[str, Any]:
    """The names of the built-in rule that an entry without names of its own replaces."""
    rule = builtin.get(entry["id"])
    if rule is None or "pattern" in entry or "heads" in entry:
        return {}
    names = {"strength": rule.strength, "heads": rule.heads, "companions": rule.companions}
    return names if rule.pattern is None else {**names, "pattern": rule.pattern}


def _is_token(text: str) -> bool:
    return bool(text) and text.isascii() and text.isalnum() and text == text.lower() and not text.isdigit()


def _regex_problem(pattern: str) -> str | None:
    """Why polars cannot search for a pattern."""
    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.ComputeError as error:
        # The regex is drawn over several lines before what is wrong with it, if it is its grammar.
        lines = str(error).splitlines()
        told = next((line for line in lines if line.startswith("error: ")), lines[0])
        return told.removeprefix("regex ").removeprefix("error: ")
    return None
