"""Kernels, problems and host calls of the sample, counted and added up."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from analysis.demo.records import ApiCall, Copy, Kernel


@dataclass(frozen=True, slots=True)
class TypeTotal:
    """All executions of one operator type on one kind of core."""

    op_type: str
    core_type: str
    """``COMMUNICATION`` for collectives."""
    count: int
    total_ns: int
    min_ns: int
    max_ns: int


@dataclass(frozen=True, slots=True)
class ProblemTotal:
    """The executions of one operator that have one problem (spec O3)."""

    problem: str
    """aic_scalar, aiv_scalar, cube_utilization, aic_mac or ai_cpu."""
    name: str
    op_type: str
    core_type: str
    input_shapes: str
    output_shapes: str
    count: int
    total_ns: int


@dataclass(frozen=True, slots=True)
class ApiTotal:
    """All calls of one host function at one level, the compile iteration's among them."""

    level: str
    name: str
    count: int
    total_ns: int
    min_ns: int
    max_ns: int


def half_up(total: int, count: int) -> int:
    """The mean of values that add up to ``total``, rounded half up."""
    quotient, rest = divmod(total, count)
    return quotient + (2 * rest >= count)


def type_totals(kernels: Iterable[Kernel]) -> tuple[TypeTotal, ...]:
    """Executions by operator type and core type."""
    return totals(((one.operator.op_type, one.operator.core), one.duration_ns) for one in kernels)


def totals(durations: Iterable[tuple[tuple[str, str], int]]) -> tuple[TypeTotal, ...]:
    """Durations by (type, core type): total descending, then type, then core type."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for key, duration_ns in durations:
        groups[key].append(duration_ns)
    found = (TypeTotal(*key, len(ns), sum(ns), min(ns), max(ns)) for key, ns in groups.items())
    return tuple(sorted(found, key=lambda one: (-one.total_ns, one.op_type, one.core_type)))


def kernel_problems(kernel: Kernel) -> tuple[str, ...]:
    """The problems of one execution: ratios in thousandths, cube utilisation in thousandths of a percent."""
    pipes = kernel.pipes
    if pipes is None:
        return ("ai_cpu",)
    checks = (
        ("aic_scalar", pipes.uses_cube and pipes.aic_scalar >= 300),
        ("aiv_scalar", pipes.uses_vector and pipes.aiv_scalar >= 300),
        ("cube_utilization", pipes.uses_cube and pipes.cube_utilization < 20_000),
        ("aic_mac", pipes.uses_cube and pipes.aic_mac < 300),
    )
    return tuple(problem for problem, found in checks if found)


def problem_totals(kernels: Iterable[Kernel]) -> tuple[ProblemTotal, ...]:
    """Every execution judged, then grouped."""
    groups: dict[tuple[str, str, str, str, str, str], list[int]] = defaultdict(list)
    for kernel in kernels:
        one = kernel.operator
        for problem in kernel_problems(kernel):
            key = (problem, one.name, one.op_type, one.core, one.inputs.shapes, one.outputs.shapes)
            groups[key].append(kernel.duration_ns)
    found = [ProblemTotal(*key, len(ns), sum(ns)) for key, ns in groups.items()]
    return tuple(
        sorted(
            found,
            key=lambda one: (-one.total_ns, one.problem, one.name, one.input_shapes, one.output_shapes),
        )
    )


def api_totals(calls: Iterable[ApiCall]) -> tuple[ApiTotal, ...]:
    """Host calls by level and name."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for call in calls:
        groups[call.level, call.name].append(call.duration_ns)
    return tuple(ApiTotal(*key, len(ns), sum(ns), min(ns), max(ns)) for key, ns in sorted(groups.items()))


def directions(copies: Iterable[Copy]) -> Mapping[str, int]:
    """Copy time by direction; no two copies of one direction overlap, so their sum is their union."""
    total: dict[str, int] = defaultdict(int)
    for copy in copies:
        total[copy.direction] += copy.duration_ns
    return total


def max_block(kernels: Iterable[Kernel], cores: tuple[str, ...]) -> int:
    """The most cores a kernel on one of these core types used."""
    return max(kernel.operator.block for kernel in kernels if kernel.operator.core in cores)
