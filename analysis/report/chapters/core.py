"""Core metrics: what ran, how long an iteration takes, and whether device or host sets the pace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.copy_iterations import DEVICE_TO_HOST, HOST_TO_DEVICE
from analysis.datafile import load_toml
from analysis.notes import Missing
from analysis.report.blocks import (
    MARKS,
    Head,
    bullets,
    evidence_text,
    heading,
    paragraph,
    table,
)
from analysis.report.chapters.copies import copy_blocks
from analysis.report.chapters.steps import step_blocks
from analysis.units import UNKNOWN, percent_text, three_digits, time_text, us_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.copies import Copies
    from analysis.fusion import Fusion
    from analysis.iterations import Iterations
    from analysis.metrics import CoreMetrics, NamedTime
    from analysis.notes import Evidence
    from analysis.report.messages import Messages
    from analysis.report.source import ReportSource
    from analysis.scenario import Scenario

# The named times that belong to each framework; shown as unknown where no file tells them.
_GE_TIMES = ("h2d", "model_execute", "d2h", "iteration", "device_iteration", "op_time")
_STEP_TIMES = ("h2d", "d2h", "host_step", "device_step", "step", "op_time")
_TRACED = frozenset({"h2d", "d2h", "host_step"})
"""Times that of a PyTorch capture only the trace tells."""
_ALL_TIMES = (
    "h2d",
    "model_execute",
    "d2h",
    "iteration",
    "device_iteration",
    "host_step",
    "device_step",
    "step",
    "op_time",
)


def chapter(source: ReportSource, messages: Messages) -> list[str]:
    """The core table of spec M8, the named times, the step decomposition, the copies and the evidence."""
    metrics = source.metrics
    return [
        paragraph(*_lead(metrics, messages)),
        table(
            [Head(messages.text(f"report.head.{key}")) for key in ("item", "value", "basis")],
            core_rows(source, messages),
        ),
        heading(3, messages.text(_by_scenario("report.section.times", source.scenario))),
        _time_table(source, messages),
        bullets(_judgements(source, messages)),
        heading(3, messages.text("report.section.steps")),
        *step_blocks(source, messages),
        *copy_blocks(source, messages),
        *_fusion(source.scenario.fusion, source.metrics.iterations, messages),
        heading(3, messages.text("report.section.evidence")),
        bullets(_evidence(source.scenario, messages)),
    ]


_TIMED = frozenset({"step_trace", "model_execute", "step_trace_time", "profiler_step", "step_id"})
"""Sources of the number of iterations that also tell how long each took."""


def core_rows(source: ReportSource, messages: Messages) -> list[list[str]]:
    """The core table of spec M8: what, its value, and what it rests on."""
    return [*_run_rows(source.scenario, messages), *_count_rows(source, messages)]


def limit_text(name: str, key: str) -> str:
    """A limit of metrics.toml as percent."""
    return percent_text(load_toml("analysis", "metrics.toml")[name][key], 0)


def _lead(metrics: CoreMetrics, messages: Messages) -> Iterator[str]:
    if metrics.headline is None:
        yield messages.text("report.core.no_time")
    else:
        name, time = metrics.headline
        yield messages.text(f"report.core.takes.{name}", {"time": time_text(time.value_ns)})
    if metrics.h2d and metrics.model_execute and metrics.d2h and metrics.h2d.share is not None:
        yield messages.text(
            "report.core.parts",
            {
                "h2d": percent_text(metrics.h2d.share),
                "execute": percent_text(metrics.model_execute.share),
                "d2h": percent_text(metrics.d2h.share),
            },
        )
    step = metrics.step_trace
    if not isinstance(step, Missing):
        yield messages.text(
            "report.core.decomposed_whole_run" if step.whole_run else "report.core.decomposed",
            {
                "wall": time_text(step.wall_ns),
                "computing": time_text(step.computing_ns),
                "exposed": time_text(step.not_overlapped_ns),
                "free": time_text(step.free_ns),
            },
        )
    yield messages.text(f"report.core.{_pace(metrics)}")


def _pace(metrics: CoreMetrics) -> str:
    """What to look at first: the larger of exposed communication and an idle device, else the operators."""
    step = metrics.step_trace
    if not isinstance(step, Missing) and step.exposed_flagged and step.not_overlapped_ns >= step.free_ns:
        return "communication_pace"
    return {True: "host_pace", False: "device_pace", None: "pace_unknown"}[metrics.dispatch_bound]


def _run_rows(scenario: Scenario, messages: Messages) -> Iterator[list[str]]:
    """Rows of spec M8 on what ran; each with the first thing that speaks for it."""
    names = [stack.name for stack in scenario.stacks]
    stack = messages.text("report.comma").join(names) or messages.text("report.word.unknown")
    if names and not scenario.stack_decided:
        stack = messages.text("report.core.stack_undecided", {"names": stack})
    yield [
        messages.text("report.row.scenario"),
        messages.text(f"scenario.{scenario.scenario}"),
        _first(scenario.scenario_evidence, messages),
    ]
    yield [
        messages.text("report.row.framework"),
        messages.text(f"framework.{scenario.framework or 'unknown'}"),
        _first(scenario.framework_evidence, messages),
    ]
    yield [
        messages.text("report.row.stack"),
        stack,
        _first(scenario.stacks[0].evidence, messages) if scenario.stacks else "",
    ]
    yield [
        messages.text("report.row.mode"),
        messages.text(f"mode.{scenario.mode}"),
        _first(scenario.mode_evidence, messages),
    ]
    yield [
        messages.text("report.row.dynamic_shape"),
        _yes_no(scenario.dynamic_shape, messages),
        _first(scenario.dynamic_evidence, messages),
    ]
    yield _fusion_row(scenario.fusion, messages)


def _fusion_row(fusion: Fusion, messages: Messages) -> list[str]:
    state = {True: "report.word.on", False: "report.word.off", None: "report.word.unknown"}[fusion.enabled]
    kinds = messages.text("report.comma").join(kind.prefix for kind in fusion.kinds)
    basis = ""
    if fusion.enabled:
        basis = messages.text(
            "report.core.fusion_basis",
            {"kinds": kinds, "types": len(fusion.op_types), "share": percent_text(fusion.time_share)},
        )
    return [messages.text("report.row.fusion"), messages.text(state), basis]


def _by_scenario(key: str, scenario: Scenario) -> str:
    """Inference says iteration, training says step."""
    return f"{key}_steps" if scenario.scenario == "training" else key


def _count_rows(source: ReportSource, messages: Messages) -> Iterator[list[str]]:
    metrics = source.metrics
    iterations = metrics.iterations
    basis = messages.text(f"source.{iterations.source}")
    if iterations.estimated:
        basis = messages.text("report.core.estimated", {"source": basis})
    label = messages.text(_by_scenario("report.row.iterations", source.scenario))
    # Where nothing tells their number, all that was recorded counts as one: a divisor, not a count.
    counted = iterations.known or iterations.estimated
    yield [label, str(iterations.count) if counted else messages.text("report.word.unknown"), basis]
    if iterations.excluded_first_ns is None:
        yield [
            messages.text("report.row.excluded_first"),
            messages.text("report.word.none"),
            _not_excluded(iterations, messages),
        ]
    else:
        time = us_text(iterations.excluded_first_ns)
        yield [
            messages.text("report.row.excluded_first"),
            messages.text("report.core.in_us", {"time": time}),
            messages.text("report.core.excluded", {"source": iterations.excluded_source or UNKNOWN}),
        ]
    if metrics.throughput is not None:
        unit = messages.text(f"report.unit.{metrics.throughput.unit}")
        value = f"{three_digits(metrics.throughput.value)} {unit}"
        of_device = (
            metrics.headline is not None and metrics.headline[0] == "step" and metrics.host_step is None
        )
        basis = messages.text(_why_device_only(source)) if of_device else ""
        yield [messages.text("report.row.throughput"), value, basis]
    if metrics.instance_room is not None:
        yield [
            messages.text("report.row.instance_room"),
            str(metrics.instance_room),
            messages.text("report.core.room_basis"),
        ]


def _why_device_only(source: ReportSource) -> str:
    """Why the host side of the step is unknown: a trace that marks no steps is not a missing trace."""
    read = not isinstance(source.trace_summary, Missing)
    return f"report.core.device_span_{'unmarked' if read else 'only'}"


def _not_excluded(iterations: Iterations, messages: Messages) -> str:
    """Why no first iteration was left out: it does not stand out, or nothing tells how long it took."""
    if iterations.count > 1 and iterations.source in _TIMED:
        times = load_toml("analysis", "metrics.toml")["first_iteration"]["times_the_rest"]
        return messages.text("report.core.first_within", {"times": times})
    return messages.text("report.core.first_unknown")


def _why_unknown(name: str, source: ReportSource) -> str:
    if source.scenario.framework == "ge" or name not in _TRACED:
        return f"report.unknown_time.{name}"
    if isinstance(source.trace_summary, Missing):
        return "report.unknown_time.traced"
    copied = {"h2d": HOST_TO_DEVICE, "d2h": DEVICE_TO_HOST}.get(name)
    if copied is not None and not isinstance(source.copies, Missing):
        if source.copies.undirected:
            return "report.unknown_time.no_direction"
        if copied in source.copies.bars["direction"]:
            return f"report.unknown_time.{_why_no_copy_counts(source.copies)}"
    # A trace without such events is not a missing trace; one that was cut may have lost them.
    if "cut" in source.trace_summary.faults["kind"]:
        return "report.unknown_time.lost"
    return "report.unknown_time.not_in_trace"


def _why_no_copy_counts(copies: Copies) -> str:
    """Why no iteration of the averages is known to hold any of the copies."""
    if copies.cut_short:
        return "copies_lost"
    return "uncut" if copies.cut_by == "none" else "outside"


def _time_label(name: str, metrics: CoreMetrics) -> str:
    """A step of which only one side is known must not be called the larger of both sides."""
    if name == "step" and metrics.host_step is None:
        return "report.time.step_of_device"
    if name == "step" and metrics.device_step is None:
        return "report.time.step_of_host"
    return f"report.time.{name}"


def _time_table(source: ReportSource, messages: Messages) -> str:
    metrics = source.metrics
    belong = _GE_TIMES if source.scenario.framework == "ge" else _STEP_TIMES
    rows = []
    for name in _ALL_TIMES:
        time: NamedTime | None = getattr(metrics, name)
        if time is not None:
            basis = messages.text(f"source.{time.source}")
            label = messages.text(_time_label(name, metrics))
            rows.append([label, us_text(time.value_ns), _share(time.share), basis])
        elif name in belong:
            rows.append(
                [
                    messages.text(_time_label(name, metrics)),
                    UNKNOWN,
                    UNKNOWN,
                    messages.text(_why_unknown(name, source)),
                ]
            )
    heads = [
        Head(messages.text("report.head.time")),
        Head(messages.text("report.head.time_us"), numeric=True),
        Head(messages.text("report.head.share_of_iteration"), numeric=True),
        Head(messages.text("report.head.source")),
    ]
    if all(row[2] == UNKNOWN for row in rows):
        heads.pop(2)
        for row in rows:
            row.pop(2)
    return table(heads, rows)


def _judgements(source: ReportSource, messages: Messages) -> Iterator[str]:
    """The verdict on dispatch with its number and limit."""
    metrics = source.metrics
    key = {
        True: "report.core.dispatch_bound",
        False: "report.core.not_dispatch_bound",
        None: "report.core.dispatch_unknown",
    }
    text = messages.text(
        key[metrics.dispatch_bound],
        {
            "share": percent_text(metrics.op_share),
            "of": messages.text(f"report.core.share_of.{metrics.op_share_of}"),
            "limit": limit_text("dispatch", "op_share_below"),
        },
    )
    yield f"{MARKS[metrics.dispatch_bound]} {text}"
    if metrics.dispatch_bound is None and isinstance(metrics.step_trace, Missing):
        hint = "api" if source.capture.producer == "msprof" else metrics.step_trace.hint
        yield f"{MARKS[None]} {messages.text(f'collect.{hint}')}"


def _fusion(fusion: Fusion, iterations: Iterations, messages: Messages) -> Iterator[str]:
    if not fusion.kinds:
        return
    yield heading(3, messages.text("report.section.fusion"))
    if iterations.kernels_cut:
        # The tables of operators leave it out, so that the same operators have other totals there.
        yield paragraph(messages.text("report.core.fusion_with_first"))
    yield table(
        [
            Head(messages.text("report.head.prefix")),
            Head(messages.text("report.head.op_types"), numeric=True),
            Head(messages.text("report.head.kernels"), numeric=True),
            Head(messages.text("report.head.total_us"), numeric=True),
            Head(messages.text("report.head.share"), numeric=True),
            Head(messages.text("report.head.inside")),
        ],
        (
            [
                kind.prefix,
                str(kind.op_types),
                str(kind.kernels),
                us_text(kind.total_ns),
                _share(kind.share),
                ", ".join(kind.inside) or UNKNOWN,
            ]
            for kind in fusion.kinds
        ),
    )


def _evidence(scenario: Scenario, messages: Messages) -> Iterator[str]:
    parts = {
        "scenario": scenario.scenario_evidence,
        "framework": scenario.framework_evidence,
        "mode": scenario.mode_evidence,
        "dynamic_shape": scenario.dynamic_evidence,
    }
    for name, evidence in parts.items():
        yield _evidence_line(messages.text(f"report.row.{name}"), evidence, messages)
    for stack in scenario.stacks:
        if not stack.evidence:
            continue
        label = messages.text("report.core.evidence_of_stack", {"name": stack.name})
        yield _evidence_line(label, stack.evidence, messages)


def _evidence_line(label: str, evidence: tuple[Evidence, ...], messages: Messages) -> str:
    said = messages.text("report.and_more").join(evidence_text(item, messages) for item in evidence)
    text = said or messages.text("report.core.no_evidence")
    return messages.text("report.core.evidence_line", {"label": label, "text": text})


def _first(evidence: tuple[Evidence, ...], messages: Messages) -> str:
    return evidence_text(evidence[0], messages) if evidence else messages.text("report.core.no_evidence")


def _yes_no(value: bool | None, messages: Messages) -> str:
    return messages.text(
        {True: "report.word.yes", False: "report.word.no", None: "report.word.unknown"}[value]
    )


def _share(share: float | None) -> str:
    return UNKNOWN if share is None else f"{share * 100:.3f}"
