"""How the model is executed: through which graph compiler, or operator by operator."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from analysis.datafile import load_toml
from analysis.fusion import families
from analysis.notes import Evidence, Missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from analysis.fusion import FusedKind, Fusion
    from analysis.profile.tables import Table
    from analysis.trace_evidence import TiedKernels

GE_DUMP: Final = "ge_dump"
INDUCTOR_CODE: Final = "inductor_code"
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class EngineCalls:
    """What host APIs and kernels say about the graph engine."""

    read: bool
    """Whether api_statistic was read, so that a call not seen did not happen."""
    model_execute: int
    run_graph: tuple[str, ...]
    offline_model: tuple[str, ...]
    graph_models: tuple[int, ...]
    """Model IDs of kernels that belong to a graph."""
    outside_graphs: bool
    """True if every operator says that it belongs to no graph."""

    def evidence(self) -> tuple[Evidence, ...]:
        """Every observation of the graph engine, strongest first."""
        found = []
        if self.model_execute:
            found.append(Evidence("model_execute", {"count": self.model_execute}))
        if self.run_graph:
            found.append(Evidence("run_graph", {"names": _listed(self.run_graph)}))
        if self.offline_model:
            found.append(Evidence("offline_model", {"names": _listed(self.offline_model)}))
        if self.graph_models:
            found.append(Evidence("graph_models", {"models": _listed(map(str, self.graph_models))}))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Mode:
    """An execution mode with what it rests on; for ``unknown``, what is short."""

    name: str
    evidence: tuple[Evidence, ...]


def engine_calls(api_statistic: Table | Missing, kernels: Table | Missing) -> EngineCalls:
    """Signs of the graph engine in api_statistic and in the Model IDs of the operators."""
    rules = _rules()["graph_engine"]
    calls = pl.DataFrame(schema={"level": pl.String, "name": pl.String, "count": pl.Int64})
    if not isinstance(api_statistic, Missing):
        calls = api_statistic.frame.filter(pl.col("count") >= 1).select(calls.columns).cast(calls.schema)
    of_model = calls.filter(pl.col("level") == rules["model_level"])
    of_acl = calls.filter(pl.col("level") == rules["acl_level"])
    models: list[int | None] = []
    if not isinstance(kernels, Missing):
        models = kernels.operators("model_id")["model_id"].unique().sort().to_list()
    no_model = _rules()["eager"]["no_model"]
    return EngineCalls(
        read=not isinstance(api_statistic, Missing),
        model_execute=int(of_model.filter(pl.col("name") == rules["execute"])["count"].sum()),
        run_graph=_names(of_model, rules["run_graph"]),
        offline_model=_names(of_acl, rules["offline_model"]),
        graph_models=tuple(model for model in models if model is not None and model != no_model),
        outside_graphs=models == [no_model],
    )


def find_mode(
    kernels: Table | Missing,
    fusion: Fusion,
    calls: EngineCalls,
    graph_kinds: frozenset[str],
    facts: Mapping[str, str],
    tied: Callable[[], TiedKernels | None],
) -> Mode:
    """The execution mode by the mission's table, as corrected by rules C9-C11, C21, C22 (spec S3).

    In order: the user's word; fused operators, whose prefix names the compiler; ModelExecute; a dumped
    graph; eager, if nothing speaks for a graph and every operator is an aclnn call, or if nearly every
    kernel is tied to a host operator of its own; else unknown.

    Args:
        kernels: Whose names are judged.
        fusion: Fused operators among them.
        calls: Signs of the graph engine.
        graph_kinds: Kinds of the graph files that speak for this capture.
        facts: What the user stated.
        tied: Gives the kernels by who launched them, None where that cannot prove eager mode; asked last,
            because it needs the trace.
    """
    if "mode" in facts:
        return Mode(facts["mode"], (Evidence("user_fact", {"name": "mode", "value": facts["mode"]}),))
    lazy = is_lazy_fusion(fusion, facts)
    dumps = tuple(Evidence(f"dump_{kind}") for kind in (GE_DUMP, INDUCTOR_CODE) if kind in graph_kinds)
    executed = (Evidence("model_execute", {"count": calls.model_execute}),) if calls.model_execute else ()
    fused = _fused_mode(fusion, calls, lazy=lazy)
    if fused is not None:
        return fused
    if executed:
        return Mode("ge", (*executed, Evidence("not_fused")))
    if dumps:
        return Mode("graph_dump", dumps)
    if lazy:
        return Mode("eager", (_prefix_evidence(_kind(fusion, "dvm_")), Evidence("lazy_fusion")))
    return _eager_or_unknown(kernels, calls, tied)


def is_lazy_fusion(fusion: Fusion, facts: Mapping[str, str]) -> bool:
    """Whether dvm kernels come from eager execution: only the user can say so (rules C11, R4.2-7)."""
    return facts.get("lazy_fusion") == "true" and any(kind.prefix == "dvm_" for kind in fusion.kinds)


def fused_by(fusion: Fusion, side: str, *, lazy: bool) -> tuple[FusedKind, ...]:
    """The families of fused operators that one side makes (ge, inductor); lazily fused dvm has no side."""
    makers = {family["prefix"]: family["made_by"] for family in families()}
    return tuple(
        kind for kind in fusion.kinds if makers[kind.prefix] == side and not (lazy and kind.prefix == "dvm_")
    )


def fused_evidence(kinds: tuple[FusedKind, ...]) -> tuple[Evidence, ...]:
    """One observation for each family."""
    return tuple(_prefix_evidence(kind) for kind in kinds)


def _fused_mode(fusion: Fusion, calls: EngineCalls, *, lazy: bool) -> Mode | None:
    """The mode of the family that takes the most time; the others stand in the evidence."""
    modes = {family["prefix"]: family["mode"] for family in families()}
    kinds = [kind for kind in fusion.kinds if not (lazy and kind.prefix == "dvm_")]
    if not kinds:
        return None
    times: dict[str, int] = defaultdict(int)
    for kind in kinds:
        times[modes[kind.prefix]] += kind.total_ns
    order = _rules()["modes"]["ids"]
    best = min(times, key=lambda mode: (-times[mode], order.index(mode)))
    leading = sorted(kinds, key=lambda kind: modes[kind.prefix] != best)
    executed = "model_execute" if calls.model_execute else "no_model_execute" if calls.read else None
    checked = (Evidence(executed, {"count": calls.model_execute}),) if executed else ()
    return Mode(best, (*fused_evidence(tuple(leading)), *checked))


def _eager_or_unknown(
    kernels: Table | Missing, calls: EngineCalls, tied: Callable[[], TiedKernels | None]
) -> Mode:
    """Eager needs positive signs throughout (rules C9, C22, R4.2-9); what is short of them is listed."""
    if isinstance(kernels, Missing):
        return Mode("unknown", (Evidence("no_operator_names"),))
    total, without = _aclnn_test(kernels)
    engine = calls.evidence()
    short = [*engine]
    if not total:
        short.append(Evidence("no_operator_names"))
    if without:
        short.append(Evidence("without_aclnn", {"count": without, "total": total}))
    if not calls.read and not calls.outside_graphs:
        short.append(Evidence("graph_not_excluded"))
    if not short:
        return Mode(
            "eager", (Evidence("all_aclnn", {"count": total}), Evidence("not_fused"), _outside(calls))
        )
    launched = None if engine else tied()
    if launched is None or not launched.total:
        return Mode("unknown", tuple(short))
    # A trace that holds only a part of the kernels proves nothing for the others.
    all_kernels = max(launched.total, kernels.operators("name").height)
    values = {"count": launched.tied, "total": all_kernels, "operators": launched.operators}
    if launched.tied < _rules()["trace"]["tied_share"] * all_kernels:
        return Mode("unknown", (*short, Evidence("not_tied", values | {"shared": launched.shared})))
    outside = (_outside(calls),) if calls.read or calls.outside_graphs else ()
    return Mode("eager", (Evidence("tied_kernels", values), Evidence("not_fused"), *outside))


def _outside(calls: EngineCalls) -> Evidence:
    """What rules a graph out."""
    return Evidence("no_model_execute") if calls.read else Evidence("no_graph_models")


def _aclnn_test(kernels: Table) -> tuple[int, int]:
    """How many operators the eager test looks at, and how many of them do not name an aclnn call."""
    rules = _rules()["eager"]
    rows = (
        kernels.operators("name", "core_type")
        .group_by("name", "core_type")
        .agg(pl.len().alias("kernels"))
        .with_columns(pl.col("name", "core_type").cast(pl.String))
        .filter(
            ~pl.col("core_type").is_in(rules["other_cores"]).fill_null(value=False)
            & ~pl.col("name").str.contains(rules["other_names"])
        )
    )
    without = rows.filter(~pl.col("name").str.contains(rules["call"]))
    return int(rows["kernels"].sum()), int(without["kernels"].sum())


def _kind(fusion: Fusion, prefix: str) -> FusedKind:
    return next(kind for kind in fusion.kinds if kind.prefix == prefix)


def _prefix_evidence(kind: FusedKind) -> Evidence:
    return Evidence("fused_prefix", {"prefix": kind.prefix, "types": kind.op_types, "count": kind.kernels})


def _names(calls: pl.DataFrame, pattern: str) -> tuple[str, ...]:
    found = calls.filter(pl.col("name").str.contains(pattern))["name"]
    return tuple(found.unique().sort().to_list())


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    more = f", +{len(shown) - _SHOWN}" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more


def _rules() -> dict[str, Any]:
    return load_toml("analysis", "scenario.toml")
