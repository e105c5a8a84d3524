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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analysis.profile.tables import Table

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Stack:
    """One candidate stack with what speaks for it."""

    name: str
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
) -> Scenario:
    """Framework, stack, scenario, mode, dynamic shape and fusion, as far as tables tell (spec S1-S5)."""
    fusion = find_fusion(kernels, op_statistic)
    calls = engine_calls(api_statistic, kernels)
    mode = find_mode(kernels, fusion, calls, graph_kinds, facts)
    signs = _signs(fusion, calls, graph_kinds, lazy=is_lazy_fusion(fusion, facts))
    framework, framework_evidence = _framework(producer, signs, facts)
    stacks, decided = _stacks(framework, signs, calls, mode.name, facts)
    scenario, scenario_evidence = _training_or_inference(kernels, op_statistic)
    dynamic, dynamic_evidence = _dynamic_shape(kernels)
    return Scenario(
        framework=framework,
        framework_evidence=framework_evidence,
        stacks=stacks,
        stack_decided=decided,
        scenario=scenario,
        scenario_evidence=scenario_evidence,
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


def _training_or_inference(
    kernels: Table | Missing, op_statistic: Table | Missing
) -> tuple[str, tuple[Evidence, ...]]:
    """Training if and only if there are backward or gradient operators (spec S2).

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
        return "unknown", (Evidence("no_operators"),)
    found = words.filter(
        pl.col("word").str.contains(rules["camel"]) | pl.col("word").str.contains(rules["word"])
    ).sort("kernels", "judged", descending=[True, False])
    if not found.height:
        return "inference", (Evidence("no_gradient_operators", {"count": words.height}),)
    shown = ", ".join(
        f"{name} × {count}" for name, count in found.head(_SHOWN).select("judged", "kernels").rows()
    )
    more = f", +{found.height - _SHOWN}" if found.height > _SHOWN else ""
    return "training", (Evidence("gradient_operators", {"count": found.height, "names": shown + more}),)


def _judged(operators: pl.DataFrame) -> pl.DataFrame:
    """The text that each operator is judged by, with its executions."""
    opaque = pl.col("op_type").is_in(_rules()["gradient"]["opaque_types"])
    text = pl.when(opaque).then(pl.coalesce("name", "op_type")).otherwise(pl.coalesce("op_type", "name"))
    return operators.group_by(text.alias("judged")).agg(pl.col("kernels").sum()).drop_nulls("judged")


def _dynamic_shape(kernels: Table | Missing) -> tuple[bool | None, tuple[Evidence, ...]]:
    """Whether shapes are dynamic by OP State: any ``dynamic`` -> yes, only ``static`` -> no (spec S4)."""
    if isinstance(kernels, Missing):
        return None, (Evidence("no_op_state"),)
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
    return None, (Evidence("no_op_state"),)


def _rules() -> dict[str, Any]:
    return load_toml("analysis", "scenario.toml")
