"""What runs beside what: phases that could, prefetching, waits and device syncs of the main thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from analysis.datafile import load_toml
from analysis.notes import Missing
from analysis.phases.tables import (
    advisable,
    all_syncs,
    depth_rows,
    is_fused,
    pair_rows,
    step_waits,
    too_small,
)
from analysis.report.blocks import (
    MARKS,
    bullets,
    cut_line,
    frame_table,
    heading,
    joined,
    missing_line,
    paragraph,
)
from analysis.report.chapters.steps import step_name
from analysis.report.chapters.trees import doubts, verdict_text
from analysis.report.columns import exact_text
from analysis.report.limits import PREFETCH_ROWS, STEP_ROWS, WAIT_ROWS
from analysis.report.tables import DEPTHS, PREFETCH_EVENTS, STEP_WAITS, WAITS, WAITS_OF_TRACE, recorded
from analysis.units import count_text, percent_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from analysis.phases.results import Pair, Phases, Prefetch
    from analysis.report.messages import Messages
    from analysis.report.source import ReportSource


def chapter(source: ReportSource, messages: Messages) -> list[str]:
    """Verdicts on pairs (spec P4), prefetching, waits (P5) and device syncs."""
    phases = source.phases
    if isinstance(phases, Missing):
        return [missing_line(phases, messages)]
    messages = messages.of_trace(whole=phases.windows.whole_trace)
    return [
        *doubts(phases.windows, messages),
        paragraph(*_lead(phases, messages)),
        *_pairs(phases, messages),
        *_prefetch(phases.prefetch, messages),
        *_waits(phases, messages),
        *_syncs(phases, messages),
    ]


def _lead(phases: Phases, messages: Messages) -> Iterator[str]:
    """What to change first: the pair that is serial, the largest wait or device sync."""
    longest = _longest_block(phases, messages)
    serial = [pair for pair in phases.pairs if advisable(phases.times, pair)]
    if not serial:
        yield longest.text
    else:
        pair = max(serial, key=lambda pair: pair.at_stake_ns)
        can_hide_ns = pair.at_stake_ns
        values = {
            "first": messages.text(f"phase.{pair.phases[0]}"),
            "second": messages.text(f"phase.{pair.phases[1]}"),
            "time": time_text(can_hide_ns),
            "per": per_text(phases, messages),
            "confidence": messages.text(f"sure.{phases.times.confidence}"),
        }
        text = messages.text("report.asynchrony.serial", values)
        yield from (text, longest.text) if can_hide_ns > longest.per_step_ns else (longest.text, text)
    if phases.times.confidence == "low":
        row = phases.times.mean.row(-1, named=True)
        yield messages.text("report.asynchrony.low_confidence", {"share": percent_text(row["share"])})


def per_text(phases: Phases, messages: Messages) -> str:
    """What a mean is of: a step, or the whole trace where none is marked."""
    return messages.text(f"per.{'trace' if phases.windows.whole_trace else 'step'}")


class _Block(NamedTuple):
    """What the main thread stands still in."""

    text: str
    per_step_ns: int


def _longest_block(phases: Phases, messages: Messages) -> _Block:
    """The wait or device sync that costs the mean step most."""
    blocks = pl.concat([phases.waits.by_name, phases.waits.device_syncs])
    if blocks.is_empty():
        return _Block(messages.text("report.asynchrony.no_wait"), 0)
    row = blocks.sort("per_step_ns", "name", "phase", descending=[True, False, False]).row(0, named=True)
    values = {
        "name": row["name"],
        "time": time_text(row["per_step_ns"]),
        "per": per_text(phases, messages),
        "share": percent_text(row["share"]),
        "producer": row["producer"] or "",
    }
    key = "largest_wait" if row["producer"] is None else "largest_wait_for"
    return _Block(messages.text(f"report.asynchrony.{key}", values), row["per_step_ns"])


def _pairs(phases: Phases, messages: Messages) -> Iterator[str]:
    yield heading(3, messages.text("report.section.pairs"))
    yield bullets(_pair(pair, phases, messages) for pair in phases.pairs)
    rule = load_toml("analysis.phases", "phases.toml")["pairs"]
    limit = percent_text(rule["least_ratio"], 0)
    yield paragraph(messages.text("report.pairs.rule", {"limit": limit}))


_NEEDS_LOOK = {"threads": False, "streams": False, "serial": True}
"""Whether a verdict needs a look; others could not be judged."""


def _pair(pair: Pair, phases: Phases, messages: Messages) -> str:
    nothing_to_do = pair.verdict == "serial" and not advisable(phases.times, pair)
    mark = MARKS[False if nothing_to_do else _NEEDS_LOOK.get(pair.verdict)]
    return f"{mark} {joined(*pair_sentences(pair, phases, messages))}"


def pair_sentences(pair: Pair, phases: Phases, messages: Messages) -> list[str]:
    """The verdict on a pair, why nothing can be said where that is so, and both ratios."""
    row = pair_rows([pair]).row(0, named=True)
    fused, low = is_fused(phases.times, pair), phases.times.confidence == "low"
    values = {
        "first": messages.text(f"phase.{row['first']}"),
        "second": messages.text(f"phase.{row['second']}"),
        "verdict": verdict_text(row["verdict"], messages, low=low),
    }
    sentences = [messages.text("report.pairs.verdict", values)]
    if fused:
        sure = {"confidence": messages.text(f"sure.{phases.times.confidence}")}
        sentences.append(messages.text("report.phases.fused_update", sure))
        if row["unobservable"] is None:
            sentences.append(messages.text("report.pairs.on_device"))
        elif row["unobservable"] == "cut":
            sentences.append(messages.text("report.pairs.unobservable_cut"))
    elif row["unobservable"] in {"device", "cut"}:
        sentences.append(messages.text(f"report.pairs.unobservable_{row['unobservable']}"))
    elif row["unobservable"] == "host":
        sentences += [
            messages.text("report.pairs.unobservable_host", {"phase": messages.text(f"phase.{phase}")})
            for phase, work_ns in zip(pair.phases, pair.host_ns, strict=True)
            if not work_ns
        ]
    elif row["verdict"] == "serial" and too_small(phases.times, pair):
        sentences.append(
            messages.text(
                "report.pairs.too_small",
                {"time": time_text(pair.at_stake_ns), "per": per_text(phases, messages)},
            )
        )
    sentences += [_ratio(row, side, messages, fused=fused) for side in ("host", "device")]
    return [sentence for sentence in sentences if sentence]


def _ratio(row: Mapping[str, Any], side: str, messages: Messages, *, fused: bool) -> str:
    """How long both work at once, of what."""
    if row[f"{side}_ratio"] is None:
        told = row["unobservable"] or (fused and side == "host")
        why = f"{side}_unknown" if row[f"first_{side}_ns"] is not None else "unobservable_cut"
        return "" if told else messages.text(f"report.pairs.{why}")
    values = {
        "both": time_text(row[f"{side}_both_ns"]),
        "first": time_text(row[f"first_{side}_ns"]),
        "second": time_text(row[f"second_{side}_ns"]),
        "ratio": percent_text(row[f"{side}_ratio"]),
    }
    return messages.text(f"report.pairs.{side}", values)


def _prefetch(prefetch: Prefetch, messages: Messages) -> Iterator[str]:
    yield heading(3, messages.text("report.section.prefetch"))
    yield paragraph(prefetch_text(prefetch, messages))
    stages = depth_rows(prefetch.depths)
    if any(depth.evidence != "unseen" for depth in prefetch.depths):
        columns = tuple(column for column in recorded(DEPTHS, stages) if column.key != "at_least")
        texts = {"batches": lambda row: _batches(row, messages)}
        yield frame_table(columns, stages, messages, texts)
    if prefetch.events.is_empty():
        return
    if prefetch.events.height > PREFETCH_ROWS:
        yield cut_line(PREFETCH_ROWS, prefetch.events.height, "prefetch_events", messages)
    yield frame_table(PREFETCH_EVENTS, prefetch.events.head(PREFETCH_ROWS), messages)


def prefetch_text(prefetch: Prefetch, messages: Messages) -> str:
    """Whether batches are fetched ahead, in one sentence or two."""
    if prefetch.present is None:
        return messages.text("report.prefetch.unknown")
    if not prefetch.present:
        return messages.text("report.prefetch.absent")
    if prefetch.runs_ahead and prefetch.depth is None:
        return messages.text("report.prefetch.ahead_no_depth")
    nearest = prefetch.nearest
    seen = "ahead_at_least" if nearest is not None and nearest.at_least else "ahead"
    ahead = {True: seen, False: "not_ahead", None: "maybe_ahead"}[prefetch.runs_ahead]
    return messages.text(f"report.prefetch.{ahead}", {"depth": count_text(prefetch.depth)})


def _batches(row: Mapping[str, Any], messages: Messages) -> str:
    text = exact_text("count", row["batches"])
    return messages.text("report.prefetch.at_least", {"batches": text}) if row["at_least"] else text


def _waits(phases: Phases, messages: Messages) -> Iterator[str]:
    waits = phases.waits
    yield heading(3, messages.text("report.section.waits"))
    if waits.by_name.is_empty():
        yield paragraph(messages.text("report.waits.none"))
        return
    rule = load_toml("analysis.phases", "phases.toml")["waits"]
    values = {"time": time_text(rule["ns_above"]), "share": percent_text(rule["share_above"], 0)}
    compiled = messages.text("report.waits.without_compile") if phases.windows.compile_steps else ""
    yield paragraph(messages.text("report.waits.rule", values), compiled)
    yield from _wait_table(waits.by_name, phases, messages)
    if phases.windows.whole_trace:
        return
    yield paragraph(messages.text("report.waits.by_step"))
    rows = step_waits(phases)
    if rows.height > STEP_ROWS:
        yield cut_line(STEP_ROWS, rows.height, "steps", messages)
    texts = {"step": lambda row: step_name(row, messages)}
    yield frame_table(STEP_WAITS, rows.head(STEP_ROWS), messages, texts)


def _syncs(phases: Phases, messages: Messages) -> Iterator[str]:
    syncs = phases.waits.device_syncs
    yield heading(3, messages.text("report.section.device_syncs"))
    if syncs.is_empty():
        yield paragraph(messages.text("report.syncs.none"))
        return
    whole = all_syncs(phases)
    values = {
        "time": time_text(whole.per_step_ns),
        "per": per_text(phases, messages),
        "share": percent_text(whole.share),
    }
    advice = messages.text("report.syncs.advice") if syncs["flagged"].any() else ""
    yield paragraph(messages.text("report.syncs.lead", values), advice)
    yield from _wait_table(syncs, phases, messages)


def _wait_table(waits: pl.DataFrame, phases: Phases, messages: Messages) -> Iterator[str]:
    """Waits or device syncs by name, the longest of them."""
    if waits.height > WAIT_ROWS:
        yield cut_line(WAIT_ROWS, waits.height, "waits", messages)
    shown = waits.head(WAIT_ROWS)
    columns = WAITS_OF_TRACE if phases.windows.whole_trace else WAITS
    yield frame_table(recorded(columns, shown), shown, messages)
