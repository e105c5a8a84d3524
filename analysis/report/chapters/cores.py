"""What to look at in training operators, and whether the cores in use may be limited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.notes import Missing
from analysis.report.blocks import (
    MARKS,
    Head,
    cut_line,
    frame_table,
    heading,
    missing_line,
    paragraph,
    table,
)
from analysis.report.limits import TOP_ROWS
from analysis.report.tables import CUSTOM_KERNELS, recorded
from analysis.units import UNKNOWN, count_text, percent_text, three_digits, us_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.operators import CoreUse, Extra, Operators
    from analysis.report.messages import Messages
    from analysis.report.source import ReportSource

# Extras whose judged value is an average in us; the others judge a share of operator time.
_AVERAGES = frozenset({"short_vector_kernels"})


def chapter(source: ReportSource, messages: Messages) -> list[str]:
    """The training extras of spec O4 and the core limit of spec O5."""
    operators = source.operators
    if isinstance(operators, Missing):
        return [missing_line(operators, messages)]
    return [
        paragraph(*_lead(operators, source.extras, messages)),
        *_extras(source.extras, messages),
        *_custom(source, messages),
        heading(3, messages.text("report.section.core_limit")),
        *_core_limit(operators.core_use, messages),
    ]


def _lead(operators: Operators, extras: tuple[Extra, ...], messages: Messages) -> Iterator[str]:
    and_more = messages.text("report.and_more")
    flagged = [messages.text(f"extra.{extra.kind}") for extra in extras if extra.flagged]
    if flagged:
        yield messages.text("report.cores.flagged", {"names": and_more.join(flagged)})
    elif extras:
        judged = any(extra.flagged is not None for extra in extras)
        yield messages.text("report.cores.none_flagged" if judged else "report.cores.none_judged")
    if not isinstance(operators.core_use, Missing):
        limited = [
            messages.text(f"core_kind.{use.kind}")
            for use in operators.core_use
            if use.verdict == "maybe_limited"
        ]
        if limited:
            yield messages.text("report.cores.limited", {"kinds": and_more.join(limited)})


def _extras(extras: tuple[Extra, ...], messages: Messages) -> Iterator[str]:
    if not extras:
        yield paragraph(messages.text("report.cores.no_extras"))
        return
    yield table(
        [
            Head(messages.text("report.head.looked_at")),
            Head(messages.text("report.head.count"), numeric=True),
            Head(messages.text("report.head.total_us"), numeric=True),
            Head(messages.text("report.head.judged_value"), numeric=True),
            Head(messages.text("report.head.rule")),
            Head(messages.text("report.head.verdict")),
        ],
        (_extra_row(extra, messages) for extra in extras),
    )


def _custom(source: ReportSource, messages: Messages) -> Iterator[str]:
    """The kernels behind the row of custom operators, and who launched them."""
    custom = source.custom_operators
    if not source.extras or isinstance(custom, Missing) or custom.kernels.is_empty():
        return
    yield heading(3, messages.text("report.section.custom_operators"))
    top = custom.kernels.head(TOP_ROWS)
    yield cut_line(top.height, custom.kernels.height, "custom_operators", messages)
    if custom.cut_short:
        yield paragraph(messages.text("report.cores.custom_cut_short"))
    if custom.unknown:
        count = count_text(custom.unknown)
        yield paragraph(messages.text("report.cores.launch_unknown", {"count": count}))
    yield frame_table(recorded(CUSTOM_KERNELS, top), top, messages)


def _extra_row(extra: Extra, messages: Messages) -> list[str]:
    verdict = {True: "report.judged.flagged", False: "report.judged.fine", None: "report.judged.unknown"}[
        extra.flagged
    ]
    if extra.flagged is None and extra.threshold is None and extra.count is not None:
        verdict = "report.judged.shown"
    mark = "" if verdict == "report.judged.shown" else f"{MARKS[extra.flagged]} "
    return [
        messages.text(f"extra.{extra.kind}"),
        UNKNOWN if extra.count is None else str(extra.count),
        us_text(extra.total_ns),
        _judged(extra, messages),
        messages.text(f"extra_rule.{extra.kind}", _limits(extra)),
        f"{mark}{messages.text(verdict)}",
    ]


def _judged(extra: Extra, messages: Messages) -> str:
    if extra.value is None:
        return UNKNOWN
    if extra.kind not in _AVERAGES:
        return percent_text(extra.value, 3)
    if extra.count_per_iteration is None:
        return _us(extra.value)
    return messages.text(
        "report.cores.average_and_count",
        {"average": _us(extra.value), "count": three_digits(extra.count_per_iteration)},
    )


def _limits(extra: Extra) -> dict[str, str]:
    limit = UNKNOWN
    if extra.threshold is not None:
        limit = _us(extra.threshold) if extra.kind in _AVERAGES else percent_text(extra.threshold, 0)
    often = extra.threshold_per_iteration
    return {"threshold": limit, "threshold_per_iteration": UNKNOWN if often is None else f"{often:,.0f}"}


def _us(value: float) -> str:
    return f"{value:.3f} us"


def _core_limit(uses: tuple[CoreUse, ...] | Missing, messages: Messages) -> Iterator[str]:
    if isinstance(uses, Missing):
        yield missing_line(uses, messages)
        return
    yield table(
        [
            Head(messages.text("report.head.core_kind")),
            Head(messages.text("report.head.max_block_num"), numeric=True),
            Head(messages.text("report.head.max_mix_block_num"), numeric=True),
            Head(messages.text("report.head.physical"), numeric=True),
            Head(messages.text("report.head.verdict")),
        ],
        (
            [
                messages.text(f"core_kind.{use.kind}"),
                _count(use.max_block_num),
                _count(use.max_mix_block_num),
                _count(use.physical),
                messages.text(f"core_verdict.{use.verdict}", _core_counts(use)),
            ]
            for use in uses
        ),
    )


def _core_counts(use: CoreUse) -> dict[str, str]:
    known = [count for count in (use.max_block_num, use.max_mix_block_num) if count is not None]
    return {"used": _count(max(known, default=None)), "physical": _count(use.physical)}


def _count(count: int | None) -> str:
    return UNKNOWN if count is None else str(count)
