"""The lists of the Phases pane that are no trees: phases of a step, steps, waits, what runs beside what."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from analysis.phases.heaviest import heaviest_names
from analysis.phases.model import BACKWARD, EMBEDDING_UPDATE, LETTERS, UNCLASSIFIED
from analysis.phases.tables import depth_rows, growth_rows, is_fused, step_rows, wholly_fused
from analysis.report.blocks import MARKS
from analysis.report.chapters.asynchrony import pair_sentences, prefetch_text
from analysis.report.chapters.phases import short_steps
from analysis.report.columns import COLUMNS, Column, columns, value_text
from analysis.report.escape import visible
from analysis.report.tables import GROWTHS, PREFETCH_EVENTS, STEP_PHASES, WAITS
from analysis.units import count_text, percent_text, time_text
from widgets.frame_table import Sort
from widgets.level import Level, Story, arranged
from widgets.phase_marks import PhaseTable
from widgets.phase_stories import phase_name
from widgets.safe_text import cut
from widgets.stories import exact_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.phases.results import Phases
    from analysis.report.messages import Messages
    from widgets.level import Row
    from widgets.phase_levels import PhaseLevels

_REMARK: Final = Column("remark", "column.remark", "text", 14)
_PHASES: Final = (
    replace(COLUMNS["phase"], width=22),
    *columns("attributed_ns", "share", "main_thread_ns"),
    _REMARK,
    *columns("autograd_ns", "other_threads_ns", "inferred_ns"),
)
_PHASE_FACTS: Final = columns(
    "main_thread_ns", "attributed_ns", "share", "inferred_ns", "autograd_ns", "other_threads_ns"
)
_STEPS: Final = (
    *STEP_PHASES,
    COLUMNS["waits_ns"],
    Column("sync_anywhere_ns", "column.sync_anywhere_ns", "time"),
    Column("excluded", "column.excluded", "flag", words="report.word"),
)
_BLOCKING: Final = Column("blocking", "column.blocking", "text", 11, words="blocking")
_WAITS_OF_STEP: Final = (
    COLUMNS["name"],
    _BLOCKING,
    *columns("per_step_ns", "share", "count", "max_ns", "total_ns", "flagged", "producer", "phase"),
)
_WAITS: Final = tuple(
    next((named for named in WAITS if named.key == column.key), column) for column in _WAITS_OF_STEP
)
"""The same for all steps: headers say which numbers are sums over them."""
_WAITS_OF_TRACE: Final = tuple(
    replace(column, title="column.time_ns") if column.key == "per_step_ns" else column
    for column in _WAITS_OF_STEP
    if column.key != "total_ns"
)
"""The same where no step is known, and so nothing is a mean."""
_ASYNCHRONY: Final = (
    Column("subject", "column.subject", "text", 28, words="asynchrony"),
    Column("answer", "column.answer", "text", 14, words="asynchrony_answer"),
    Column("ahead", "column.batches", "text", 4),
    *columns("host_ratio", "device_ratio"),
    COLUMNS["evidence"],
)
_TITLE_CELLS = 400


class PhaseLists:
    """The lists of one analysis; their rows are there at once, but for the names of phases."""

    def __init__(self, phases: Phases, levels: PhaseLevels) -> None:
        self._phases = phases
        self._levels = levels

    # ---------------------------------------------------------------- phases

    def phases(self, step: int | None, messages: Messages) -> Level:
        """The seven rows of a step, or of the mean; remarks are words of one language."""
        phases = self._phases
        heaviest: list[pl.DataFrame] = []

        def read() -> pl.DataFrame:
            heaviest[:] = [heaviest_names(phases.classified, phases.windows, step)]
            rows = _of_step(phases, step)
            remarks = [
                " · ".join(_remarks(row, step, phases, messages)) for row in rows.iter_rows(named=True)
            ]
            return rows.with_columns(pl.Series("remark", remarks, pl.String))

        return Level(
            crumb=lambda words: words.text("view.phases.phases"),
            columns=_PHASES,
            frame=read,
            story=lambda row, words: _phase_story(row, step, heaviest[0], phases, words),
            opens=lambda row: self._levels.phase_tree(row["phase"], step),
            identity=("phase",),
            table=PhaseTable,
            again=lambda other: self.phases(other, messages),
        )

    # ----------------------------------------------------------------- steps

    def steps(self) -> Level:
        """A step a row; Enter opens its call tree."""
        phases = self._phases
        waits = pl.DataFrame(
            {"step": list(phases.waits.per_step_ns), "waits_ns": list(phases.waits.per_step_ns.values())},
            schema={"step": pl.Int64(), "waits_ns": pl.Int64()},
        )
        syncs = phases.times.steps.select("step", "sync_anywhere_ns")
        frame = step_rows(phases.times)
        for part in (waits, syncs):
            frame = frame.join(part, on="step", how="left", nulls_equal=True, maintain_order="left")
        return Level(
            crumb=lambda messages: messages.text("view.phases.steps"),
            columns=_STEPS,
            frame=frame,
            story=lambda row, messages: _step_story(row, phases, messages),
            opens=lambda row: None if row["step"] is None else self._step_tree(int(row["step"])),
            identity=("step",),
        )

    def _step_tree(self, step: int) -> Level:
        tree = self._levels.call_tree(step)
        return replace(
            tree,
            crumb=lambda messages: messages.text("bar.step", {"step": step}),
            again=lambda other: None if other is None else self._step_tree(other),
        )

    # ----------------------------------------------------------------- waits

    def waits(self, step: int | None) -> Level:
        """What the main thread stands still for, waits and device syncs together, the longest first."""
        waits = self._phases.waits
        own, syncs = waits.by_name, waits.device_syncs
        shown = _WAITS if step is None else _WAITS_OF_STEP
        if self._phases.windows.whole_trace:
            shown = _WAITS_OF_TRACE
        if step is not None:
            own, syncs = (
                table.filter(pl.col("step") == step).select(
                    pl.exclude("step", "excluded"), per_step_ns="total_ns", max_ns=pl.lit(None, pl.Int64)
                )
                for table in (waits.by_step, waits.syncs_by_step)
            )
        frame = pl.concat(
            [own.with_columns(blocking=pl.lit("wait")), syncs.with_columns(blocking=pl.lit("sync"))],
            how="diagonal",
        )
        order = ("per_step_ns", "name", "phase", "blocking")
        frame = frame.sort(order, descending=[True, False, False, False], nulls_last=True)
        return Level(
            crumb=lambda messages: messages.text("view.phases.waits"),
            columns=arranged(shown, frame),
            frame=frame,
            story=partial(_wait_story, shown),
            opens=lambda row: self._levels.stops(row, step, cut(row["name"], _TITLE_CELLS)),
            identity=("blocking", "name", "phase"),
            empty="level.no_waits",
            table=PhaseTable,
            again=self.waits,
        )

    # ------------------------------------------------------------ asynchrony

    def asynchrony(self, step: int | None) -> Level:
        """Both pairs, prefetching, how far each stage is ahead; each opens the names it was told from."""
        frame = _asynchrony_rows(self._phases)
        return Level(
            crumb=lambda messages: messages.text("view.phases.asynchrony"),
            columns=arranged(_ASYNCHRONY, frame),
            frame=frame,
            story=lambda row, messages: _asynchrony_story(row, self._phases, messages),
            opens=lambda row: self._open_asynchrony(row, step),
            identity=("subject",),
            again=self.asynchrony,
        )

    def _open_asynchrony(self, row: Row, step: int | None) -> Level | None:
        subject, events = str(row["subject"]), self._phases.prefetch.events
        if subject.startswith("pair_"):
            pair = self._phases.pairs[int(subject.removeprefix("pair_"))]
            return self._levels.heaviest(pair.phases, step, f"asynchrony.{subject}")
        if subject != "prefetch":
            stage = subject.removeprefix("stage_")
            depth = next(depth for depth in self._phases.prefetch.depths if depth.stage == stage)
            events = events.filter(pl.col("name").is_in(depth.names))
        if events.is_empty():
            return None
        return Level(
            crumb=lambda messages: messages.text(f"asynchrony.{subject}"),
            columns=PREFETCH_EVENTS,
            frame=events,
            story=lambda event, messages: Story(
                cut(event["name"] or "", _TITLE_CELLS), exact_pairs(PREFETCH_EVENTS[1:], event, messages)
            ),
            identity=("name", "why"),
            sort=Sort("total_ns", descending=True),
        )


def _of_step(phases: Phases, step: int | None) -> pl.DataFrame:
    """The seven rows."""
    if step is None:
        return phases.times.mean
    return phases.times.by_step.filter(pl.col("step") == step)


def _waits_of(phase: str, step: int | None, phases: Phases) -> pl.DataFrame:
    """Waits inside a phase: name, ns, producer, flagged."""
    waits, key = (
        (phases.waits.by_name, "per_step_ns")
        if step is None
        else (phases.waits.by_step.filter(pl.col("step") == step), "total_ns")
    )
    wanted = pl.lit(None if phase == UNCLASSIFIED else phase, pl.String)
    return waits.filter(pl.col("phase").eq_missing(wanted)).select(
        "name", pl.col(key).alias("ns"), "producer", "flagged"
    )


def _remarks(row: Row, step: int | None, phases: Phases, messages: Messages) -> Iterator[str]:
    """What is worth knowing of a phase beside its times, in a few words each."""
    phase = row["phase"]
    if row["attributed_ns"] is None:
        yield messages.text("remark.unnamed")
        return
    waits = _waits_of(phase, step, phases)
    if int(waits["ns"].sum()):
        mark = f"{MARKS[True]} " if waits["flagged"].any() else ""
        yield mark + messages.text("remark.waits", {"time": time_text(int(waits["ns"].sum()))})
    if phase == EMBEDDING_UPDATE and wholly_fused(phases.times):
        yield messages.text("remark.fused")
    if phase == BACKWARD and row["inferred_ns"]:
        yield messages.text("remark.inferred", {"time": time_text(row["inferred_ns"])})
    if phase == UNCLASSIFIED:
        remainder = _remainder(step, phases)
        if remainder["device_sync_ns"]:
            yield messages.text("remark.syncs", {"time": time_text(remainder["device_sync_ns"])})
    pair = phases.pair_of(phase)
    if pair is not None and pair.verdict != "not_observable" and not is_fused(phases.times, pair):
        other = next(side for side in pair.phases if side != phase)
        sure = "?" if phases.times.confidence == "low" else ""
        verdict = messages.text(f"pair_verdict.{pair.verdict}") + sure
        values = {"verdict": verdict, "other": LETTERS[other]}
        yield messages.text("remark.pair", values)


def _remainder(step: int | None, phases: Phases) -> dict[str, Any]:
    if step is None:
        return dict(phases.times.mean_remainder)
    return phases.times.steps.filter(pl.col("step") == step).row(0, named=True)


def _phase_story(
    row: Row, step: int | None, heaviest: pl.DataFrame, phases: Phases, messages: Messages
) -> Story:
    phase = row["phase"]
    lead: list[str] = []
    for wait in _waits_of(phase, step, phases).head(5).iter_rows(named=True):
        producer = wait["producer"]
        values = {"name": cut(wait["name"], 80), "time": time_text(wait["ns"])}
        line = messages.text("story.wait", values)
        if producer is not None:
            line += messages.text("story.wait_for", {"name": cut(producer, 80)})
        lead.append(f"{MARKS[bool(wait['flagged'])]} {line}")
    lines = []
    pair = phases.pair_of(phase)
    if pair is not None:
        lines += pair_sentences(pair, phases, messages)
    if phase == UNCLASSIFIED:
        lead += _remainder_lines(step, phases, messages)
    else:
        names = heaviest.filter(pl.col("phase") == phase)
        if names.height:
            lines.append(messages.text("story.heaviest"))
            lines += [_name_line(name, messages) for name in names.iter_rows(named=True)]
    return Story(phase_name(phase, messages), exact_pairs(_PHASE_FACTS, row, messages), lines, lead)


def _name_line(row: Row, messages: Messages) -> str:
    values = {
        "time": time_text(row["self_ns"]),
        "calls": count_text(row["calls"]),
        "name": cut(row["name"], 120),
    }
    return messages.text("story.name", values)


def _remainder_lines(step: int | None, phases: Phases, messages: Messages) -> list[str]:
    """What the time without a phase consists of, and the largest names in it."""
    parts, times = _remainder(step, phases), phases.times
    lines = []
    for part in ("device_sync_ns", "named_ns", "no_event_ns"):
        share = parts[part] / parts["step_ns"] if parts["step_ns"] else None
        words = messages.text(f"remainder.{part}")
        lines.append(f"{time_text(parts[part])}  {percent_text(share)}  {words}")
    named = times.mean_named if step is None else times.named.filter(pl.col("step") == step)
    if named.height:
        lines.append(messages.text("story.named"))
    lines += [
        f"  {time_text(row['exclusive_ns'])}  {cut(row['name'], 120)}" for row in named.iter_rows(named=True)
    ]
    return lines


def _step_story(row: Row, phases: Phases, messages: Messages) -> Story:
    lines = []
    variation = phases.variation
    if variation is not None:
        values = {
            "step": str(variation.slowest),
            "time": time_text(variation.slowest_ns),
            "others": time_text(variation.others_ns),
            "spread": percent_text(variation.spread),
        }
        lines.append(f"{MARKS[variation.flagged]} {messages.text('story.variation', values)}")
        if variation.short:
            short = {"steps": short_steps(variation, messages)}
            lines.append(f"{MARKS[True]} {messages.text('story.short_steps', short)}")
        grown = growth_rows(growth for growth in (*variation.phases, *variation.names) if growth.grown_ns > 0)
        lines += [_growth_line(growth, messages) for growth in grown.iter_rows(named=True)]
    title = messages.text("bar.step", {"step": "–" if row["step"] is None else row["step"]})
    why = "steps.lossy" if row["step"] in phases.windows.lossy else "steps.excluded"
    excluded = [messages.text(why)] if row["excluded"] else []
    return Story(title, exact_pairs(_STEPS[1:], row, messages), lines, excluded)


def _growth_line(row: Row, messages: Messages) -> str:
    kind = value_text(GROWTHS[0], row["growth"], messages, exact=False)
    phase = "" if row["phase"] is None else phase_name(row["phase"], messages)
    name = "" if row["name"] is None else cut(row["name"], 120)
    what = name or (phase if row["growth"] == "phase" else kind)
    values = {
        "more": time_text(row["grown_ns"]),
        "ns": time_text(row["this_ns"]),
        "others": time_text(row["others_ns"]),
    }
    return messages.text("story.grown", {"what": what, **values})


def _wait_story(shown: tuple[Column, ...], row: Row, messages: Messages) -> Story:
    lead = []
    if row["producer"] is not None:
        lead.append(messages.text("why.wait_for", {"name": cut(row["producer"], 200)}))
    lead.append(messages.text(f"blocking_story.{row['blocking']}"))
    if row["flagged"]:
        lead.append(f"{MARKS[True]} {messages.text('story.flagged')}")
    title = f"{cut(row['name'], _TITLE_CELLS)} · {phase_name(row['phase'], messages)}"
    return Story(title, exact_pairs(shown[1:], row, messages), (), lead)


_PREFETCH_ANSWERS = {True: "present", False: "absent", None: "unknown"}


def _asynchrony_rows(phases: Phases) -> pl.DataFrame:
    pairs = [
        {
            "subject": f"pair_{place}",
            "answer": pair.verdict,
            "host_ratio": pair.host_ratio,
            "device_ratio": pair.device_ratio,
            "ahead": None,
            "evidence": None,
        }
        for place, pair in enumerate(phases.pairs)
    ]
    prefetch = phases.prefetch
    blank = {"host_ratio": None, "device_ratio": None}
    depth = None if prefetch.depth is None else str(prefetch.depth)
    present = _PREFETCH_ANSWERS[prefetch.present]
    stages = [
        {
            "subject": f"stage_{row['stage']}",
            "answer": None,
            **blank,
            "ahead": _ahead(row),
            "evidence": row["evidence"],
        }
        for row in depth_rows(prefetch.depths).iter_rows(named=True)
    ]
    overall = {"subject": "prefetch", "answer": present, **blank, "ahead": depth, "evidence": None}
    schema = {
        "subject": pl.String(),
        "answer": pl.String(),
        "host_ratio": pl.Float64(),
        "device_ratio": pl.Float64(),
        "ahead": pl.String(),
        "evidence": pl.String(),
    }
    return pl.DataFrame([*pairs, overall, *stages], schema=schema)


def _ahead(row: Row) -> str | None:
    if row["batches"] is None:
        return None
    return f">= {row['batches']}" if row["at_least"] else str(row["batches"])


def _asynchrony_story(row: Row, phases: Phases, messages: Messages) -> Story:
    subject = row["subject"]
    title = messages.text(f"asynchrony.{subject}")
    if subject.startswith("pair_"):
        return Story(title, (), pair_sentences(phases.pairs[int(subject[-1])], phases, messages))
    if subject == "prefetch":
        return Story(title, (), [prefetch_text(phases.prefetch, messages)])
    return Story(title, (), _stage_lines(subject.removeprefix("stage_"), phases, messages))


def _stage_lines(stage: str, phases: Phases, messages: Messages) -> list[str]:
    depth = next(depth for depth in phases.prefetch.depths if depth.stage == stage)
    lines = [messages.text(f"depth.{depth.evidence}")]
    if depth.behind is not None:
        lines.append(messages.text("story.behind", {"stage": messages.text(f"stage.{depth.behind}")}))
    if depth.names:
        names = "; ".join(visible(name) for name in depth.names)
        lines.append(messages.text("story.read_from", {"names": cut(names, 400)}))
    return lines
