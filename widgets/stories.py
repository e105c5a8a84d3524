"""How a row's values are told in the detail: exact, labelled, nothing computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from analysis.report.columns import COLUMNS, exact_title, screen_title, value_text
from analysis.report.escape import visible
from widgets.detail import Pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from analysis.report.columns import Column
    from analysis.report.messages import Messages

_GROUP_RATIOS = (
    "cube_utilization_pct",
    "aic_scalar_ratio",
    "aiv_scalar_ratio",
    "aic_mte2_ratio",
    "aiv_mte2_ratio",
    "aic_mac_ratio",
    "aiv_vec_ratio",
)
"""In the order of what the problem rules judge first, because a narrow line ends early."""


def exact_pairs(columns: Iterable[Column], row: Mapping[str, Any], messages: Messages) -> list[Pair]:
    """Every recorded value with its title and unit, in full."""
    return [
        Pair(exact_title(column, messages), value_text(column, row[column.key], messages, exact=True))
        for column in columns
        if row.get(column.key) is not None
    ]


def shape_lines(row: Mapping[str, Any], messages: Messages) -> list[Text]:
    """One shape group: count x average, dtypes and shapes; below it the ratios above 0."""
    count = value_text(COLUMNS["count"], row["count"], messages, exact=False)
    average = value_text(COLUMNS["avg_ns"], row["avg_ns"], messages, exact=False)
    known = (_short_dtypes(row["input_dtypes"]), row["input_shapes"])
    head = [f"{count:>6} x {average:>7}", *(visible(text) for text in known if text)]
    lines = [Text("  ".join(head), no_wrap=True, overflow="ellipsis")]
    ratios = [
        f"{screen_title(COLUMNS[key], messages)} {value_text(COLUMNS[key], row[key], messages, exact=False)}"
        for key in _GROUP_RATIOS
        if row.get(key)
    ]
    if ratios:
        lines.append(Text("    " + "  ".join(ratios), "dim", no_wrap=True, overflow="ellipsis"))
    return lines


def _short_dtypes(dtypes: str | None) -> str:
    """``FLOAT;FLOAT;FLOAT`` is ``FLOAT``; dtypes that differ are told in full."""
    kinds = (dtypes or "").split(";")
    return kinds[0] if len(set(kinds)) == 1 else dtypes or ""
