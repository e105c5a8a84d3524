"""How the columns of result tables are titled and printed, on screen and in exact form."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from analysis.phases.model import ROWS
from analysis.units import UNKNOWN, bytes_text, count_text, percent_text, three_digits, time_text, us_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from analysis.report.messages import Messages

Kind: TypeAlias = Literal[
    "text",
    "shapes",
    "id",
    "count",
    "number",
    "time",
    "moment",
    "share",
    "ratio",
    "percent",
    "bytes",
    "flag",
]
"""What the values of a column are.

text, shapes: names. id: a whole number that names something (step, stream) and is never grouped. count: a
whole number. number: any number. time: nanoseconds. moment: nanoseconds on an absolute clock. share, ratio:
fractions 0-1, printed as percent. percent: in percent already. bytes. flag: true or false.
"""

TEXT_KINDS: frozenset[Kind] = frozenset({"text", "shapes"})
"""Kinds that a filter searches; with ``flag`` the left-aligned ones, all others are numbers."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a result table; its title is the message ``column.<key>``."""

    key: str
    """Column of the result frame."""
    title: str
    """Message key of the title."""
    kind: Kind
    width: int | None = None
    """Preferred minimum in cells; None lets the values decide."""
    bar: bool = False
    """True if a bar beside the number helps to compare rows, where the screen is wide enough."""
    words: str | None = None
    """Message prefix of values that are codes: code ``one_off`` is the message ``<words>.one_off``."""
    lines: bool = False
    """True if line breaks are part of the values."""

    @property
    def numeric(self) -> bool:
        """True if the values are numbers and stand at the right."""
        return self.kind not in TEXT_KINDS and self.kind != "flag"


def _column(
    key: str,
    kind: Kind,
    width: int | None = None,
    *,
    bar: bool = False,
    words: str | None = None,
    lines: bool = False,
) -> Column:
    return Column(key, f"column.{key}", kind, width, bar, words, lines)


COLUMNS: dict[str, Column] = {
    column.key: column
    for column in (
        _column("op_type", "text", 16),
        _column("name", "text", 20),
        _column("core_type", "text", 7),
        _column("input_shapes", "shapes", 16),
        _column("input_dtypes", "text", 9),
        _column("output_shapes", "shapes", 12),
        _column("count", "count"),
        _column("count_per_iteration", "number"),
        _column("per_iteration_ns", "time"),
        _column("total_ns", "time"),
        _column("share", "share", bar=True),
        _column("avg_ns", "time"),
        _column("min_ns", "time"),
        _column("max_ns", "time"),
        _column("block_num", "count"),
        _column("aic_mac_ratio", "ratio"),
        _column("aic_vec_ratio", "ratio"),
        _column("aic_scalar_ratio", "ratio"),
        _column("aic_mte1_ratio", "ratio"),
        _column("aic_mte2_ratio", "ratio"),
        _column("aic_mte3_ratio", "ratio"),
        _column("aiv_vec_ratio", "ratio"),
        _column("aiv_scalar_ratio", "ratio"),
        _column("aiv_mte1_ratio", "ratio"),
        _column("aiv_mte2_ratio", "ratio"),
        _column("aiv_mte3_ratio", "ratio"),
        _column("cube_utilization_pct", "percent"),
        _column("problem", "text", 12, words="problem"),
        _column("value", "number"),
        _column("level", "text", 5),
        _column("group", "text", 5, words="api_group"),
        _column("watched", "flag"),
        _column("step", "id"),
        _column("row", "id"),
        _column("stream", "id"),
        _column("start_ns", "moment"),
        _column("offset_ns", "time"),
        _column("duration_ns", "time"),
        _column("wait_ns", "time"),
        _column("kind", "text", 12),
        _column("path", "text", 20),
        _column("size", "bytes"),
        _column("rows", "count"),
        _column("state", "text", 6, words="file_state"),
        _column("note", "text", 16),
        _column("computing_ns", "time"),
        _column("communication_ns", "time"),
        _column("not_overlapped_ns", "time"),
        _column("overlapped_ns", "time"),
        _column("free_ns", "time"),
        _column("stage_ns", "time"),
        _column("bubble_ns", "time"),
        _column("preparing_ns", "time"),
        _column("wall_ns", "time"),
        _column("calls", "count"),
        _column("launched_by", "text", 20),
        _column("calls_per_step", "number"),
        _column("per_step_ns", "time"),
        _column("self_per_step_ns", "time"),
        _column("self_ns", "time"),
        _column("threads", "count"),
        _column("thread", "text", 12),
        _column("depth", "count"),
        _column("input_dims", "shapes", 12),
        _column("direction", "text", 16, words="direction"),
        _column("iteration", "text", 4),
        _column("time_ns", "time"),
        _column("gap_ns", "time"),
        _column("bytes", "bytes"),
        _column("gb_per_s", "number"),
        _column("hidden_ns", "time"),
        _column("overlapped_share", "share", bar=True),
        _column("role", "text", 20, words="track_role"),
        _column("tracks", "count"),
        _column("bars", "count"),
        _column("tied", "count"),
        _column("tied_share", "share"),
        _column("example", "text", 16),
        _column("lost", "flag", words="report.word"),
        _column("phase", "text", 12, words="phase"),
        _column("main_thread_ns", "time"),
        _column("attributed_ns", "time"),
        _column("inferred_ns", "time"),
        _column("autograd_ns", "time"),
        _column("other_threads_ns", "time"),
        _column("step_ns", "time"),
        *(Column(f"{phase}_ns", f"phase_short.{phase}", "time") for phase in ROWS),
        _column("exclusive_ns", "time"),
        _column("growth", "text", 8, words="growth"),
        _column("this_ns", "time"),
        _column("others_ns", "time"),
        _column("grown_ns", "time"),
        _column("waits_ns", "time"),
        _column("verdict", "text", 10, words="pair_verdict"),
        _column("star", "text", 6, words="star"),
        _column("rule", "text", 12),
        _column("origin", "text", 16),
        _column("producer", "text", 16),
        _column("flagged", "flag", words="report.word"),
        _column("first", "text", 12, words="phase"),
        _column("second", "text", 12, words="phase"),
        _column("host_ratio", "ratio"),
        _column("host_both_ns", "time"),
        _column("first_host_ns", "time"),
        _column("second_host_ns", "time"),
        _column("device_ratio", "ratio"),
        _column("device_both_ns", "time"),
        _column("first_device_ns", "time"),
        _column("second_device_ns", "time"),
        _column("unobservable", "text", 12, words="pair_unobservable"),
        _column("stage", "text", 10, words="stage"),
        _column("batches", "count"),
        _column("at_least", "flag", words="report.word"),
        _column("evidence", "text", 24, words="depth"),
        _column("names", "text", 20),
        _column("behind", "text", 10, words="stage"),
        _column("why", "text", 16, words="prefetch_why"),
        _column("kernels", "count"),
        _column("kernel_ns", "time"),
        _column("task_type", "text", 10),
        _column("stream_id", "text", 6),
        _column("lag_ns", "time"),
        _column("field", "text", 16),
        _column("text", "text", 24, lines=True),
    )
}
"""Every column that a result table may have, by key."""


def columns(*keys: str) -> tuple[Column, ...]:
    """The columns of these keys, in this order."""
    return tuple(COLUMNS[key] for key in keys)


def screen_title(column: Column, messages: Messages) -> str:
    """Title without unit, because values on screen carry their own."""
    return messages.text(column.title)


def exact_title(column: Column, messages: Messages) -> str:
    """Title with the unit of the exact values, for Markdown and copies: ``Total (us)``."""
    title = messages.text(column.title)
    unit = f"column_unit.{column.kind}"
    return messages.text(unit, {"title": title}) if unit in messages else title


def cell_text(kind: Kind, value: Any) -> str:
    """A value for the screen: unit that fits, three significant digits, ``–`` where unknown."""
    return UNKNOWN if _unknown(value) else _SCREEN[kind](value)


def exact_text(kind: Kind, value: Any) -> str:
    """A value in full for copies and Markdown, in the unit of ``exact_title``, thousands not grouped.

    Times in microseconds and percents with three decimals; ``–`` where unknown.
    """
    return UNKNOWN if _unknown(value) else _EXACT[kind](value)


def value_text(column: Column, value: Any, messages: Messages, *, exact: bool) -> str:
    """A value of ``column`` as text: codes become words of the language, all else as its kind says."""
    if column.words is not None and isinstance(value, bool):
        value = "yes" if value else "no"
    if column.words is not None and isinstance(value, str):
        word = f"{column.words}.{value}"
        return messages.text(word) if word in messages else value
    return exact_text(column.kind, value) if exact else cell_text(column.kind, value)


def _unknown(value: Any) -> bool:
    """True for null and for NaN, the ratio of nothing."""
    return value is None or (isinstance(value, float) and isnan(value))


def _number_text(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else three_digits(value)


def _exact_number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6f}".rstrip("0").rstrip(".")


_SCREEN: dict[Kind, Callable[[Any], str]] = {
    "text": str,
    "shapes": str,
    "id": str,
    "count": count_text,
    "number": _number_text,
    "time": time_text,
    "moment": us_text,
    "share": percent_text,
    "ratio": percent_text,
    "percent": lambda value: percent_text(value / 100),
    "bytes": bytes_text,
    "flag": lambda value: "✓" if value else "·",
}

_EXACT: dict[Kind, Callable[[Any], str]] = {
    "text": str,
    "shapes": str,
    "id": str,
    "count": str,
    "number": _exact_number,
    "time": us_text,
    "moment": us_text,
    "share": lambda value: f"{value * 100:.3f}",
    "ratio": lambda value: f"{value * 100:.3f}",
    "percent": lambda value: f"{value:.3f}",
    "bytes": str,
    "flag": lambda value: "✓" if value else "✗",
}
