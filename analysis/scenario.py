"""What kind of run this is: framework and stack, training or inference, execution mode, shapes, fusion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from analysis.datafile import load_toml
from analysis.execution_mode import (
    GE_DUMP,
    INDUCTOR_CODE,
    EngineCalls,
    engine_calls,
    find_mode,
    fused_by,
    fused_evidence,
    is_lazy_fusion,
)
from analysis.fusion import Fusion, distinct_operators, find_fusion
from analysis.notes import Evidence, Missing
from analysis.trace_evidence import backward_arrows, backward_names, cann_calls, host_names, tied_kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from analysis.profile.tables import Table
    from analysis.trace.model import Trace
    from analysis.trace_evidence import TiedKernels

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Stack:
    """One candidate stack with what speaks for it."""

    name: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Training:
    """Whether the run trains, with what that rests on."""

    name: str
    """training, inference or unknown."""
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    """Every conclusion with the evidence it rests on; unknown is never a guess."""

    framework: str | None
    """pytorch, ge, or None."""
    framework_evidence: tuple[Evidence, ...]
    stacks: tuple[Stack, ...]
    """Those in use if decided, else all candidates."""
    stack_decided: bool
    scenario: str
    """training, inference or unknown."""
    scenario_evidence: tuple[Evidence, ...]
    mode: str
    """An id of scenario.toml [modes]; unknown if no rule of the table matched."""
    mode_evidence: tuple[Evidence, ...]
    dynamic_shape: bool | None
    dynamic_evidence: tuple[Evidence, ...]
    fusion: Fusion


@dataclass(frozen=True, slots=True)
class _Signs:
    """What speaks for each side of a capture."""

    inductor: tuple[Evidence, ...]
    """Kernels or code of Inductor, which only PyTorch has."""
    engine: tuple[Evidence, ...]
    """Kernels, calls or dumps of the graph engine, which PyTorch reaches through TorchAir."""


def find_scenario(
    producer: str,
    kernels: Table | Missing,
    op_statistic: Table | Missing,
    api_statistic: Table | Missing,
    graph_kinds: frozenset[str],
    facts: Mapping[str, str],
    training: Training,
    trace: Callable[[], Trace | Missing],
    launches: Callable[[], pl.DataFrame | Missing],
) -> Scenario:
    """Framework, stack, scenario, mode, dynamic shape and fusion (spec S1-S5).

    Args:
        producer: Who wrote the capture: torch_npu, mindspore, msprof or kineto.
        kernels: kernel_details or op_summary.
        op_statistic: Adds operator types that a cut kernel file lost.
        api_statistic: Tells calls of the graph engine.
        graph_kinds: Kinds of the graph files that speak for this capture.
        facts: What the user stated.
        training: What :func:`find_training` found.
        trace: Gives the trace; asked only for what the tables leave open, because it may take long to read.
        launches: Gives the frame of :func:`analysis.trace.flows.launches`; asked only with the trace.
    """
    fusion = find_fusion(kernels, op_statistic)
    calls = engine_calls(api_statistic, kernels)
    mode = find_mode(
        kernels, fusion, calls, graph_kinds, facts, lambda: _tied(producer, calls, trace, launches)
    )
    signs = _signs(fusion, calls, graph_kinds, lazy=is_lazy_fusion(fusion, facts))
    framework, framework_evidence = _framework(producer, signs, facts)
    stacks, decided = _stacks(framework, signs, calls, mode.name, facts)
    dynamic, dynamic_evidence = _dynamic_shape(kernels, calls, trace)
    return Scenario(
        framework=framework,
        framework_evidence=framework_evidence,
        stacks=stacks,
        stack_decided=decided,
        scenario=training.name,
        scenario_evidence=training.evidence,
        mode=mode.name,
        mode_evidence=mode.evidence,
        dynamic_shape=dynamic,
        dynamic_evidence=dynamic_evidence,
        fusion=fusion,
    )


def _signs(fusion: Fusion, calls: EngineCalls, graph_kinds: frozenset[str], *, lazy: bool) -> _Signs:
    code = (Evidence("dump_inductor_code"),) if INDUCTOR_CODE in graph_kinds else ()
    dump = (Evidence("dump_ge_dump"),) if GE_DUMP in graph_kinds else ()
    return _Signs(
        inductor=(*fused_evidence(fused_by(fusion, "inductor", lazy=lazy)), *code),
        engine=(*calls.evidence(), *fused_evidence(fused_by(fusion, "ge", lazy=lazy)), *dump),
    )


def _framework(
    producer: str, signs: _Signs, facts: Mapping[str, str]
) -> tuple[str | None, tuple[Evidence, ...]]:
    """Who wrote the files decides; msprof profiles anything, so there the traces of a compiler decide."""
    if producer in _rules()["producers"]["pytorch"]:
        return "pytorch", (Evidence("producer", {"producer": producer}),)
    if signs.inductor:
        return "pytorch", signs.inductor
    if signs.engine:
        return "ge", signs.engine
    stacks = _rules()["stacks"]
    named = set(facts.get("stack", "").split(","))
    for framework, others in (("pytorch", "ge"), ("ge", "pytorch")):
        # ACL alone also runs single operators, without the graph engine.
        if named & (set(stacks[framework]) - {"ACL"}) and not named & set(stacks[others]):
            return framework, (_user_stack(facts),)
    return None, ()


def _stacks(
    framework: str | None, signs: _Signs, calls: EngineCalls, mode: str, facts: Mapping[str, str]
) -> tuple[tuple[Stack, ...], bool]:
    """The stacks in use if the files or the user decide them, else every candidate (spec S1)."""
    if "stack" in facts:
        return tuple(Stack(name, (_user_stack(facts),)) for name in facts["stack"].split(",")), True
    rules = _rules()["stacks"]
    if framework == "pytorch":
        return _pytorch_stacks(signs, mode)
    if framework == "ge":
        return _ge_stacks(calls)
    if mode == "eager":
        aclnn = (Evidence("single_operators"),)
        return (Stack("ACL", aclnn), Stack("Eager", aclnn)), False
    return tuple(Stack(name, ()) for name in rules["ids"]), False


def _pytorch_stacks(signs: _Signs, mode: str) -> tuple[tuple[Stack, ...], bool]:
    found = []
    if signs.inductor:
        found.append(Stack("Inductor", signs.inductor))
    if signs.engine:
        found.append(Stack("TorchAir", signs.engine))
    if not found and mode == "eager":
        found.append(Stack("Eager", (Evidence("mode_eager"),)))
    if found:
        return tuple(found), True
    return tuple(Stack(name, ()) for name in _rules()["stacks"]["pytorch"]), False


def _ge_stacks(calls: EngineCalls) -> tuple[tuple[Stack, ...], bool]:
    if calls.offline_model:
        # aclmdlExecute runs a model that ATC compiled beforehand: both are in use.
        offline = tuple(seen for seen in calls.evidence() if seen.kind == "offline_model")
        return (Stack("ATC", offline), Stack("ACL", offline)), True
    if calls.run_graph:
        online = tuple(seen for seen in calls.evidence() if seen.kind == "run_graph")
        return (Stack("GE-API", online), Stack("TFA", online)), False
    return tuple(Stack(name, ()) for name in _rules()["stacks"]["ge"]), False


def _user_stack(facts: Mapping[str, str]) -> Evidence:
    return Evidence("user_fact", {"name": "stack", "value": facts["stack"]})


def _tied(
    producer: str,
    calls: EngineCalls,
    trace: Callable[[], Trace | Missing],
    launches: Callable[[], pl.DataFrame | Missing],
) -> TiedKernels | None:
    """Kernels by who launched them, where that can prove eager mode (rule C22); else None."""
    if producer != _rules()["producers"]["own_operators"]:
        return None
    read = trace()
    if isinstance(read, Missing) or (not calls.read and cann_calls(read, "engine")):
        return None
    tied = launches()
    return None if isinstance(tied, Missing) else tied_kernels(read, tied)


def find_training(
    producer: str,
    kernels: Table | Missing,
    op_statistic: Table | Missing,
    trace: Callable[[], Trace | Missing],
) -> Training:
    """Training if and only if there are backward or gradient operators (spec S2).

    The tables come first. Of a framework's capture that shows none there, the trace is asked: the backward
    pass of a MatMul is a MatMul. msprof records no framework operators, so its traces add nothing.
    """
    told = _gradient_operators(kernels, op_statistic)
    if told.name == "training" or producer not in _rules()["producers"]["pytorch"]:
        return told
    read = trace()
    if isinstance(read, Missing):
        return Training(told.name, (*told.evidence, Evidence("no_trace")))
    names = host_names(read)
    if not names.height:
        return Training(told.name, (*told.evidence, Evidence("no_host_operators")))
    backward = backward_names(names)
    if backward.height:
        return Training("training", (_counted("backward_events", backward, int(backward["count"].sum())),))
    arrows = backward_arrows(read)
    if arrows:
        return Training("training", (Evidence("backward_arrows", {"count": arrows}),))
    # Tables without an operator say nothing beside a trace that holds some.
    evidence = () if told.name == "unknown" else told.evidence
    return Training("inference", (*evidence, Evidence("no_backward_events", {"count": names.height})))


def _gradient_operators(kernels: Table | Missing, op_statistic: Table | Missing) -> Training:
    """What the tables alone say of training.

    Judged on operator types; on kernel names where a level records no types, or a type hides what was
    fused into it. Communication is no evidence.
    """
    rules = _rules()["gradient"]
    absent = Missing((), "")
    ran = distinct_operators(kernels, absent)
    # Both files count the same executions; op_statistic adds the types that a cut kernel file lost.
    lost = distinct_operators(absent, op_statistic).join(ran, on="op_type", how="anti")
    words = _judged(pl.concat([ran, lost])).with_columns(
        pl.col("judged").str.replace_all(rules["innocent"], "").alias("word")
    )
    if not words.height:
        return Training("unknown", (Evidence("no_operators"),))
    found = words.filter(
        pl.col("word").str.contains(rules["camel"]) | pl.col("word").str.contains(rules["word"])
    ).sort("kernels", "judged", descending=[True, False])
    if not found.height:
        return Training("inference", (Evidence("no_gradient_operators", {"count": words.height}),))
    shown = found.select(pl.col("judged").alias("name"), pl.col("kernels").alias("count"))
    return Training("training", (_counted("gradient_operators", shown, found.height),))


def _counted(kind: str, found: pl.DataFrame, count: int) -> Evidence:
    """Evidence with a count and the first names, each with how often it was seen."""
    shown = ", ".join(f"{name} × {seen}" for name, seen in found.head(_SHOWN).select("name", "count").rows())
    more = f", +{found.height - _SHOWN}" if found.height > _SHOWN else ""
    return Evidence(kind, {"count": count, "names": shown + more})


def _judged(operators: pl.DataFrame) -> pl.DataFrame:
    """The text that each operator is judged by, with its executions."""
    opaque = pl.col("op_type").is_in(_rules()["gradient"]["opaque_types"])
    text = pl.when(opaque).then(pl.coalesce("name", "op_type")).otherwise(pl.coalesce("op_type", "name"))
    return operators.group_by(text.alias("judged")).agg(pl.col("kernels").sum()).drop_nulls("judged")


def _dynamic_shape(
    kernels: Table | Missing, calls: EngineCalls, trace: Callable[[], Trace | Missing]
) -> tuple[bool | None, tuple[Evidence, ...]]:
    """Whether shapes are dynamic (spec S4).

    By OP State: any ``dynamic`` -> yes, only ``static`` -> no. Where it is not recorded and ModelExecute
    occurs: yes if the trace has InferShape or aclnn calls, which a graph of static shapes does without.
    """
    verdict, evidence = (None, ()) if isinstance(kernels, Missing) else _by_op_state(kernels)
    if verdict is not None:
        return verdict, evidence
    unknown = (Evidence("no_op_state"),)
    if calls.read and not calls.model_execute:
        return None, unknown
    read = trace()
    if isinstance(read, Missing):
        return None, unknown
    executed = calls.model_execute or cann_calls(read, "model_execute")
    shapes = cann_calls(read, "shapes")
    if executed and shapes:
        return True, (Evidence("shape_calls", {"count": shapes, "executed": executed}),)
    return None, unknown


def _by_op_state(kernels: Table) -> tuple[bool | None, tuple[Evidence, ...]]:
    rules = _rules()["dynamic"]
    counts = (
        kernels.operators("op_state")
        .group_by("op_state")
        .len()
        .with_columns(pl.col("op_state").cast(pl.String).str.to_lowercase())
        .group_by("op_state")
        .agg(pl.col("len").sum())
    )
    states = dict(counts.iter_rows())
    total = sum(states.values())
    recorded = {state: count for state, count in states.items() if state is not None}
    for state, verdict in ((rules["dynamic"], True), (rules["static"], False)):
        if state in recorded and (verdict or len(recorded) == 1):
            return verdict, (Evidence(f"op_state_{state}", {"count": recorded[state], "total": total}),)
    return None, ()


def _rules() -> dict[str, Any]:
    return load_toml("analysis", "scenario.toml")
