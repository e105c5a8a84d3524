"""From a row of a trace table down to the bars behind it, and from a bar to its whole text."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import polars as pl

from analysis.trace.summary import storable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from analysis.copies import Copies
    from analysis.host_operators import HostOperators
    from analysis.trace.model import Trace

_FIELDS: Final = {"field": pl.String(), "text": pl.String()}


def calls_of(
    operators: HostOperators, name: str, trace: Trace, steps: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Every call of one framework operator, by start.

    Args:
        operators: Framework operators.
        name: Which of them.
        trace: What they were found in.
        steps: :func:`analysis.trace.steps.trace_steps` of it, if it has steps.

    Returns:
        The columns of ``operators.calls`` and offset_ns: start less that of the call's step, or less the
        first start of the trace where the trace has no steps.
    """
    calls = operators.calls.filter(pl.col("name") == name)
    if steps is None or steps.is_empty():
        return calls.with_columns(_since_start(trace))
    starts = steps.group_by("step").agg(pl.col("start_ns").min().alias("step_start_ns"))
    return (
        calls.join(starts, on="step", how="left", maintain_order="left")
        .with_columns((pl.col("start_ns") - pl.col("step_start_ns")).alias("offset_ns"))
        .drop("step_start_ns")
    )


def copies_of(copies: Copies, direction: str | None, trace: Trace) -> pl.DataFrame:
    """Every copy in one direction, by start.

    Args:
        copies: The copies.
        direction: One of those of ``copies.by_direction``; None for copies whose direction is not recorded.
        trace: What they were found in.

    Returns:
        The columns of ``copies.bars`` and offset_ns: start less the first start of the trace.
    """
    bars = copies.bars.filter(pl.col("direction").cast(pl.String).eq_missing(pl.lit(direction, pl.String)))
    return bars.with_columns(_since_start(trace))


def event_fields(event: Mapping[str, object] | None) -> pl.DataFrame:
    """The fields of one event in the order of its file, those of ``args`` after the others.

    Args:
        event: What :func:`analysis.trace.text.event_text` gives; None if the file has changed or is gone.

    Returns:
        field (``args.`` before the name of an argument) and text, which holds strings as they are, numbers
        to the last digit, all else as JSON; no rows without an event.
    """
    rows = [] if event is None else [*_fields(event)]
    return pl.DataFrame(rows, schema=_FIELDS, orient="row")


def _since_start(trace: Trace) -> pl.Expr:
    return (pl.col("start_ns") - pl.lit(trace.events["start_ns"].min(), pl.Int64)).alias("offset_ns")


def _fields(event: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in event.items():
        if name != "args":
            yield storable(name), _plain(value)
    args = event.get("args")
    if isinstance(args, dict):
        for name, value in args.items():
            yield storable(f"args.{name}"), _plain(value)
    elif args is not None:
        yield "args", _plain(args)


def _plain(value: object) -> str:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Decimal):
        return str(value)
    return storable(json.dumps(value, ensure_ascii=False, default=str))
