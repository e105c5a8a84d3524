"""Operator tables: distribution, top, problems, extras, core use and the way down to kernels."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.datafile import load_toml
from analysis.executions import KernelSelection, executions
from analysis.iterations import Iterations
from analysis.notes import Missing
from analysis.operators import (
    CoreUse,
    Extra,
    Operators,
    find_operators,
)
from analysis.profile.discover import SourceFile
from analysis.profile.metadata import Cores
from analysis.profile.tables import POLARS_TYPE, Table, read_table
from analysis.units import mean

NO_FILE = Missing(("op_statistic",), "level1")
NO_KERNELS = Missing(("kernel_details", "op_summary"), "level1")
CHIP = Cores(20, 40, "device_info")


def iterations(count: int = 1, *, excluded: int | None = None) -> Iterations:
    return Iterations(count, "step_id", False, excluded, None, None, None)


def frame(table: str, rows: list[dict[str, Any]], **extra: Any) -> pl.DataFrame:
    columns = load_toml("analysis.profile", "columns.toml")[table]["columns"]
    schema = {name: POLARS_TYPE[spec["type"]] for name, spec in columns.items()} | extra
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


def kernels(*rows: dict[str, Any]) -> pl.DataFrame:
    """Kernels from dicts; times are given in us as `us`, starts in us as `at`, the role is compute."""
    cleaned = [
        {
            "row": position,
            "role": "compute",
            "name": "op",
            "start_ns": 1000 * row.get("at", position * 1000),
            "duration_ns": 1000 * row["us"],
            **row,
        }
        for position, row in enumerate(rows)
    ]
    return frame("kernels", cleaned, row=pl.UInt32, role=pl.Categorical)


def operators(
    rows: pl.DataFrame,
    count: int = 1,
    *,
    scenario: str = "inference",
    cores: Cores = CHIP,
    absent: frozenset[str] = frozenset(),
) -> Operators:
    present = frozenset(rows.columns) - absent
    result = find_operators(rows, present, NO_FILE, iterations(count), scenario, cores)
    assert isinstance(result, Operators)
    return result


def of_statistic(rows: list[dict[str, Any]], divisor: Iterations, scenario: str = "inference") -> Operators:
    table = Table(frame("op_statistic", rows), frozenset(), "op_statistic.csv")
    result = find_operators(NO_KERNELS, frozenset(), table, divisor, scenario, Cores())
    assert isinstance(result, Operators)
    return result


def table(value: pl.DataFrame | Missing) -> pl.DataFrame:
    assert isinstance(value, pl.DataFrame)
    return value


def kernel(op_type: str | None, core: str | None, us: float, **cells: Any) -> dict[str, Any]:
    return {"op_type": op_type, "core_type": core, "us": us, **cells}


def collective(op_type: str | None, us: int, **cells: Any) -> dict[str, Any]:
    return kernel(op_type, "COMMUNICATION", us, role="communication", **cells)


# EXPECTED.md chapter 1: two steps of training.
TRAINING = (
    kernel("GatherV2", "AI_VECTOR_CORE", 150, step=10, at=100),
    kernel("MatMulV2", "MIX_AIC", 200, step=10, at=250),
    collective("hcom_alltoallv_", 300, step=10, at=300),
    kernel("Mul", "AI_VECTOR_CORE", 60, step=10, at=500),
    kernel("Unique", "AI_CPU", 80, step=10, at=700),
    collective("hcom_allReduce_", 140, step=10, at=760),
    kernel("GatherV2", "AI_VECTOR_CORE", 160, step=11, at=1100),
    kernel("MatMulV2", "MIX_AIC", 190, step=11, at=1260),
    collective("hcom_alltoallv_", 280, step=11, at=1300),
    kernel("Mul", "AI_VECTOR_CORE", 60, step=11, at=1500),
    collective("hcom_receive_", 60, step=11, at=1580),
    kernel("Unique", "AI_CPU", 90, step=11, at=1680),
    collective("hcom_allReduce_", 160, step=11, at=1740),
)

# EXPECTED.md chapter 2: three iterations of inference.
INFERENCE = tuple(
    kernel(op_type, core, us)
    for op_type, core, times in (
        ("GatherV2", "AI_VECTOR_CORE", (40, 42, 38)),
        ("MatMulV2", "AI_CORE", (90, 80, 100)),
        ("AscBackend", "AI_VECTOR_CORE", (20, 20, 20)),
        ("TopKV2", "AI_CPU", (50, 54, 46)),
    )
    for us in times
)


class TestByType:
    def test_training_example_has_the_expected_totals(self) -> None:
        result = operators(kernels(*TRAINING), 2)
        shown = table(result.by_type).select(
            "op_type",
            "core_type",
            "count",
            *(pl.col(name) // 1000 for name in ("total_ns", "min_ns", "avg_ns", "max_ns")),
            (pl.col("share") * 100).round(3),
        )
        assert shown.rows() == [
            ("MatMulV2", "MIX_AIC", 2, 390, 190, 195, 200, 39.394),
            ("GatherV2", "AI_VECTOR_CORE", 2, 310, 150, 155, 160, 31.313),
            ("Unique", "AI_CPU", 2, 170, 80, 85, 90, 17.172),
            ("Mul", "AI_VECTOR_CORE", 2, 120, 60, 60, 60, 12.121),
        ]
        assert result.compute_ns == 990_000

    def test_inference_example_has_the_expected_times_per_iteration(self) -> None:
        result = operators(kernels(*INFERENCE), 3)
        shown = table(result.by_type).select(
            "op_type", "count", "total_ns", "avg_ns", "share", "per_iteration_ns"
        )
        assert shown.rows() == [
            ("MatMulV2", 3, 270_000, 90_000, 0.45, 90_000),
            ("TopKV2", 3, 150_000, 50_000, 0.25, 50_000),
            ("GatherV2", 3, 120_000, 40_000, 0.2, 40_000),
            ("AscBackend", 3, 60_000, 20_000, 0.1, 20_000),
        ]

    def test_core_types_add_up_over_their_operators(self) -> None:
        shown = table(operators(kernels(*TRAINING), 2).by_core_type)
        assert shown.select("core_type", "count", "total_ns", "avg_ns").rows() == [
            ("AI_VECTOR_CORE", 4, 430_000, 107_500),
            ("MIX_AIC", 2, 390_000, 195_000),
            ("AI_CPU", 2, 170_000, 85_000),
        ]

    def test_one_type_on_two_cores_is_two_rows(self) -> None:
        rows = kernels(kernel("MatMulV2", "AI_CORE", 10), kernel("MatMulV2", "MIX_AIC", 30))
        assert table(operators(rows).by_type)["core_type"].to_list() == ["MIX_AIC", "AI_CORE"]

    def test_kernels_outside_of_every_step_count_in_totals_only(self) -> None:
        rows = kernels(
            kernel("Mul", "AI_CORE", 10, step=1),
            kernel("Mul", "AI_CORE", 20, step=2),
            kernel("Mul", "AI_CORE", 99),
        )
        (row,) = table(operators(rows, 2).by_type).rows(named=True)
        assert (row["count"], row["total_ns"]) == (3, 129_000)
        assert (row["count_per_iteration"], row["per_iteration_ns"]) == (1.0, 15_000)

    def test_without_any_step_all_kernels_count_per_iteration(self) -> None:
        rows = kernels(kernel("Mul", "AI_CORE", 10), kernel("Mul", "AI_CORE", 21))
        (row,) = table(operators(rows, 2).by_type).rows(named=True)
        assert (row["count_per_iteration"], row["per_iteration_ns"]) == (1.0, 15_500)

    def test_equal_totals_are_ordered_by_type(self) -> None:
        rows = kernels(kernel("B", "AI_CORE", 10), kernel("C", "AI_CORE", 10), kernel("A", "AI_CORE", 10))
        assert table(operators(rows).by_type)["op_type"].to_list() == ["A", "B", "C"]

    def test_kernels_without_time_have_no_share(self) -> None:
        assert table(operators(kernels(kernel("Mul", "AI_CORE", 0))).by_type)["share"].to_list() == [None]

    def test_only_communication_gives_an_empty_table(self) -> None:
        result = operators(kernels(collective("hcom_allReduce_", 5)))
        assert table(result.by_type).is_empty()
        assert table(result.top).is_empty()
        assert table(result.problems).is_empty()
        assert result.compute_ns == 0

    def test_text_columns_are_strings(self) -> None:
        result = operators(kernels(*TRAINING), 2)
        for shown in (result.by_type, result.by_core_type, result.communication, result.top, result.problems):
            assert pl.Categorical not in table(shown).dtypes


class TestCommunication:
    def test_example_communication_stands_apart_with_its_own_shares(self) -> None:
        result = operators(kernels(*TRAINING), 2)
        shown = result.communication.select("op_type", "count", "total_ns", (pl.col("share") * 100).round(3))
        assert shown.rows() == [
            ("hcom_alltoallv_", 2, 580_000, 61.702),
            ("hcom_allReduce_", 2, 300_000, 31.915),
            ("hcom_receive_", 1, 60_000, 6.383),
        ]
        assert result.communication_ns == 940_000

    def test_accompanying_kernels_are_in_no_table(self) -> None:
        extra = kernel("AivKernel", "AI_VECTOR_CORE", 7, role="communication_kernel")
        result = operators(kernels(collective("hcom_allReduce_", 5), extra))
        assert (result.compute_ns, result.communication_ns) == (0, 5000)

    def test_without_types_the_kind_comes_from_the_name(self) -> None:
        rows = kernels(
            collective(None, 3, name="hcom_allReduce__586_0_1"),
            collective(None, 4, name="hcom_allReduce__586_1_1"),
        )
        shown = operators(rows).communication
        assert shown.select("op_type", "count", "total_ns").rows() == [("hcom_allReduce_", 2, 7000)]


class TestLevel0:
    ROWS = (
        kernel(None, None, 5, name="trans_TransData_0"),
        kernel(None, None, 3, name="aclnnMul"),
        kernel(None, None, 4, name="aclnnMul"),
    )

    def test_top_has_one_row_per_kernel_name(self) -> None:
        shown = table(operators(kernels(*self.ROWS)).top)
        assert shown.select("op_type", "name", "count", "total_ns", "core_type").rows() == [
            (None, "aclnnMul", 2, 7000, None),
            (None, "trans_TransData_0", 1, 5000, None),
        ]

    def test_tables_that_need_types_say_which_level_gives_them(self) -> None:
        result = operators(kernels(*self.ROWS))
        for absent in (result.by_type, result.by_core_type, result.problems):
            assert isinstance(absent, Missing)
            assert absent.hint == "level1"

    def test_block_num_zero_is_not_recorded(self) -> None:
        rows = kernels(*({**row, "block_num": 0} for row in self.ROWS))
        result = operators(rows)
        assert table(result.top)["block_num"].to_list() == [None, None]
        assert not isinstance(result.core_use, Missing)
        assert [use.verdict for use in result.core_use] == ["not_recorded", "not_recorded"]

    def test_extras_that_need_types_are_unknown(self) -> None:
        found = {extra.kind: extra for extra in operators(kernels(*self.ROWS), scenario="training").extras}
        for kind in ("embedding_sort_unique", "short_vector_kernels", "matmul_hf32_off"):
            assert (found[kind].value, found[kind].flagged) == (None, None)

    def test_null_type_selects_the_kernels_of_a_name(self) -> None:
        chosen = KernelSelection(op_type=None, name="aclnnMul", input_shapes=None)
        assert executions(kernels(*self.ROWS), chosen)["row"].to_list() == [1, 2]


class TestTop:
    def test_shapes_and_dtypes_tell_rows_of_one_type_apart(self) -> None:
        rows = kernels(
            kernel("Mul", "AI_CORE", 10, input_shapes="2;2", input_dtypes="FLOAT;FLOAT"),
            kernel("Mul", "AI_CORE", 20, input_shapes="2;2", input_dtypes="FLOAT16;FLOAT16"),
            kernel("Mul", "AI_CORE", 30, input_shapes="4;4", input_dtypes="FLOAT;FLOAT"),
            kernel("Mul", "AI_CORE", 2, input_shapes="2;2", input_dtypes="FLOAT;FLOAT", name="other"),
        )
        shown = table(operators(rows).top)
        assert shown.select(
            "input_shapes", "input_dtypes", "count", "total_ns", "avg_ns", "max_ns"
        ).rows() == [
            ("4;4", "FLOAT;FLOAT", 1, 30_000, 30_000, 30_000),
            ("2;2", "FLOAT16;FLOAT16", 1, 20_000, 20_000, 20_000),
            ("2;2", "FLOAT;FLOAT", 2, 12_000, 6_000, 10_000),
        ]
        assert shown["name"].to_list() == [None, None, None]

    def test_several_core_types_are_joined(self) -> None:
        rows = kernels(
            kernel("MatMulV2", "MIX_AIC", 1),
            kernel("MatMulV2", "AI_CORE", 1),
            kernel("MatMulV2", "MIX_AIC", 1),
        )
        assert table(operators(rows).top)["core_type"].to_list() == ["AI_CORE, MIX_AIC"]

    def test_ratios_are_weighted_by_duration_where_recorded(self) -> None:
        # (10 * 0.2 + 30 * 0.6) / 40 = 0.5; the third kernel has no ratio and no weight.
        rows = kernels(
            kernel("MatMulV2", "AI_CORE", 10, aic_mac_ratio=0.2, cube_utilization_pct=40.0),
            kernel("MatMulV2", "AI_CORE", 30, aic_mac_ratio=0.6, cube_utilization_pct=80.0),
            kernel("MatMulV2", "AI_CORE", 60),
        )
        (row,) = table(operators(rows).top).rows(named=True)
        assert (row["aic_mac_ratio"], row["cube_utilization_pct"], row["aiv_vec_ratio"]) == (0.5, 70.0, None)

    def test_block_num_is_the_largest(self) -> None:
        rows = kernels(kernel("Mul", "AI_CORE", 1, block_num=8), kernel("Mul", "AI_CORE", 9, block_num=0))
        assert table(operators(rows).top)["block_num"].to_list() == [8]

    def test_shares_of_one_types_shapes_are_of_all_compute_time(self) -> None:
        rows = kernels(kernel("Mul", "AI_CORE", 25, input_shapes="1"), kernel("Add", "AI_CORE", 75))
        shapes = table(operators(rows).shapes).filter(pl.col("op_type") == "Mul")
        assert shapes.select("input_shapes", "core_type", "share").rows() == [("1", "AI_CORE", 0.25)]

    def test_shapes_of_a_type_on_two_cores_add_up_to_its_rows(self) -> None:
        rows = kernels(
            kernel("MatMulV2", "AI_CORE", 30, input_shapes="1"),
            kernel("MatMulV2", "MIX_AIC", 5, input_shapes="1"),
        )
        found = operators(rows)
        assert table(found.top)["core_type"].to_list() == ["AI_CORE, MIX_AIC"]
        totals = table(found.shapes).select("core_type", "total_ns").rows()
        assert totals == table(found.by_type).select("core_type", "total_ns").rows()


ABOVE, UNDER = 0.301, 0.299
MATCHING = [
    ("aic_scalar", "AI_CORE", {"aic_scalar_ratio": 0.30}),
    ("aic_scalar", "AI_CORE", {"aic_scalar_ratio": ABOVE}),
    ("aic_scalar", "MIX_AIC", {"aic_scalar_ratio": 0.30}),
    ("aic_scalar", "MIX_AIV", {"aic_scalar_ratio": 0.30}),
    ("aiv_scalar", "AI_VECTOR_CORE", {"aiv_scalar_ratio": 0.30}),
    ("aiv_scalar", "AI_VECTOR_CORE", {"aiv_scalar_ratio": ABOVE}),
    ("aiv_scalar", "MIX_AIC", {"aiv_scalar_ratio": 0.30}),
    ("aiv_scalar", "MIX_AIV", {"aiv_scalar_ratio": 0.30}),
    ("cube_utilization", "AI_CORE", {"aic_mac_ratio": 0.9, "cube_utilization_pct": 19.999}),
    ("cube_utilization", "MIX_AIC", {"aic_mac_ratio": 0.9, "cube_utilization_pct": 19.999}),
    # Half a percent, not fifty.
    ("cube_utilization", "AI_CORE", {"aic_mac_ratio": 0.9, "cube_utilization_pct": 0.5}),
    ("cube_utilization", "AI_CORE", {"aic_mac_ratio": 0.9, "cube_utilization_pct": 0.0}),
    ("aic_mac", "AI_CORE", {"aic_mac_ratio": UNDER, "cube_utilization_pct": 90.0}),
    ("aic_mac", "MIX_AIC", {"aic_mac_ratio": 0.001, "cube_utilization_pct": 90.0}),
    ("ai_cpu", "AI_CPU", {}),
]
CLEAN = [
    ("AI_CORE", {"aic_scalar_ratio": UNDER}),
    ("AI_CORE", {"aiv_scalar_ratio": 0.9}),
    ("AI_VECTOR_CORE", {"aiv_scalar_ratio": UNDER}),
    ("AI_VECTOR_CORE", {"aic_scalar_ratio": 0.9}),
    ("MIX_AIC", {"aic_scalar_ratio": UNDER, "aiv_scalar_ratio": UNDER}),
    ("MIX_AIV", {"aic_scalar_ratio": UNDER, "aiv_scalar_ratio": UNDER}),
    ("AI_CORE", {"aic_mac_ratio": 0.30, "cube_utilization_pct": 20.0}),
    ("AI_CORE", {"aic_mac_ratio": ABOVE, "cube_utilization_pct": 20.001}),
    # Not a cube kernel: its cube unit does nothing, or nothing is known of it.
    ("AI_CORE", {"aic_mac_ratio": 0.0, "cube_utilization_pct": 0.0}),
    ("AI_CORE", {"cube_utilization_pct": 1.0}),
    ("MIX_AIV", {"aic_mac_ratio": 0.1, "cube_utilization_pct": 1.0}),
    ("AI_VECTOR_CORE", {"aic_mac_ratio": 0.1, "cube_utilization_pct": 1.0}),
    ("DSA_SQE", {"aic_scalar_ratio": 0.9, "aiv_scalar_ratio": 0.9}),
    (None, {"aic_scalar_ratio": 0.9}),
]


class TestProblems:
    @pytest.mark.parametrize(("problem", "core", "ratios"), MATCHING)
    def test_kernel_over_a_limit_has_exactly_that_problem(self, problem: str, core: str, ratios: Any) -> None:
        shown = table(operators(kernels(kernel("Op", core, 10, **ratios))).problems)
        assert shown["problem"].to_list() == [problem]

    @pytest.mark.parametrize(("core", "ratios"), CLEAN)
    def test_kernel_within_the_limits_has_no_problem(self, core: str | None, ratios: Any) -> None:
        rows = kernels(kernel("Op", core, 10, **ratios), kernel("Other", "AI_CORE", 1))
        assert table(operators(rows).problems).is_empty()

    def test_mix_kernel_is_judged_on_both_sides(self) -> None:
        rows = kernels(kernel("Op", "MIX_AIC", 10, aic_scalar_ratio=0.5, aiv_scalar_ratio=0.4))
        shown = table(operators(rows).problems)
        assert shown.select("problem", "value").rows() == [("aic_scalar", 0.5), ("aiv_scalar", 0.4)]

    def test_each_kernel_is_judged_before_grouping(self) -> None:
        # The mean of 0.1 and 0.4 is under the limit, yet one kernel is over it.
        rows = kernels(
            kernel("Op", "AI_CORE", 10, aic_scalar_ratio=0.1),
            kernel("Op", "AI_CORE", 10, aic_scalar_ratio=0.4),
        )
        shown = table(operators(rows).problems)
        assert shown.select("count", "total_ns", "share", "value").rows() == [(1, 10_000, 0.5, 0.4)]

    def test_value_is_weighted_by_duration(self) -> None:
        # (10 * 4 + 30 * 8) / 40 = 7 percent.
        rows = kernels(
            kernel("Op", "AI_CORE", 10, aic_mac_ratio=0.9, cube_utilization_pct=4.0),
            kernel("Op", "AI_CORE", 30, aic_mac_ratio=0.9, cube_utilization_pct=8.0),
        )
        assert table(operators(rows).problems)["value"].to_list() == [7.0]

    def test_groups_are_told_apart_by_name_and_output_shapes(self) -> None:
        rows = kernels(
            kernel("Op", "AI_CPU", 1, name="a", output_shapes="2"),
            kernel("Op", "AI_CPU", 2, name="a", output_shapes="4"),
            kernel("Op", "AI_CPU", 4, name="b", output_shapes="4"),
            kernel("Op", "AI_CPU", 8, name="b", output_shapes="4"),
        )
        shown = table(operators(rows).problems)
        assert shown.select("name", "output_shapes", "count", "total_ns", "value").rows() == [
            ("b", "4", 2, 12_000, None),
            ("a", "4", 1, 2000, None),
            ("a", "2", 1, 1000, None),
        ]

    def test_problem_selects_only_its_own_kernels(self) -> None:
        rows = kernels(
            kernel("Op", "AI_CORE", 10, aic_scalar_ratio=0.1),
            kernel("Op", "AI_CORE", 10, aic_scalar_ratio=0.4),
        )
        assert executions(rows, KernelSelection(op_type="Op", problem="aic_scalar"))["row"].to_list() == [1]

    def test_without_pmu_columns_only_ai_cpu_is_judged(self) -> None:
        rows = kernels(kernel("A", "MIX_AIC", 1), kernel("B", "AI_CPU", 1))
        result = operators(rows)
        assert table(result.problems)["problem"].to_list() == ["ai_cpu"]
        assert result.unjudged_problems == ("aic_scalar", "aiv_scalar", "cube_utilization", "aic_mac")

    def test_problem_without_kernels_on_its_cores_is_not_called_unjudged(self) -> None:
        assert operators(kernels(kernel("B", "AI_VECTOR_CORE", 1))).unjudged_problems == ("aiv_scalar",)

    def test_problem_judged_in_one_kernel_is_judged(self) -> None:
        rows = kernels(
            kernel("A", "AI_VECTOR_CORE", 1, aiv_scalar_ratio=0.0), kernel("A", "AI_VECTOR_CORE", 1)
        )
        assert operators(rows).unjudged_problems == ()


def extra_of(kind: str, *rows: dict[str, Any], count: int = 1) -> Extra:
    found = operators(kernels(*rows), count, scenario="training").extras
    return next(extra for extra in found if extra.kind == kind)


class TestExtras:
    def test_inference_has_none(self) -> None:
        assert operators(kernels(*TRAINING), 2, scenario="inference").extras == ()

    @pytest.mark.parametrize(
        "op_type",
        [
            "Sort",
            "SortV2",
            "Unique",
            "Unique2",
            "UniqueWithCounts",
            "EmbeddingDenseGrad",
            "EmbeddingDenseGradV2",
        ],
    )
    def test_sort_and_unique_types_count_with_any_suffix(self, op_type: str) -> None:
        extra = extra_of("embedding_sort_unique", kernel(op_type, "AI_CORE", 6), kernel("Mul", "AI_CORE", 94))
        assert (extra.count, extra.total_ns, extra.value, extra.flagged) == (1, 6000, 0.06, True)

    @pytest.mark.parametrize(
        "op_type", ["Sorted", "SortedSegmentSum", "ArgSort", "Uniquely", "EmbeddingDense"]
    )
    def test_longer_words_do_not_count(self, op_type: str) -> None:
        extra = extra_of("embedding_sort_unique", kernel(op_type, "AI_CORE", 6), kernel("Mul", "AI_CORE", 94))
        assert (extra.count, extra.flagged) == (0, False)

    def test_of_several_embedding_types_the_longest_is_named(self) -> None:
        sorts = (kernel("Sort", "AI_CORE", 4), kernel("Sort", "AI_VECTOR_CORE", 4))
        extra = extra_of("embedding_sort_unique", kernel("Unique", "AI_CORE", 7), *sorts)
        assert extra.largest_type == "Sort"

    def test_embedding_share_at_the_limit_is_not_flagged(self) -> None:
        extra = extra_of("embedding_sort_unique", kernel("Sort", "AI_CORE", 5), kernel("Mul", "AI_CORE", 95))
        assert (extra.value, extra.flagged) == (0.05, False)

    def test_communication_kernels_are_counted_apart_from_operations(self) -> None:
        rows = (
            collective("hcom_allReduce_", 50),
            kernel(None, "AI_CPU", 7, name="HcclLaunchAicpuKernel", role="communication_kernel"),
            kernel("Mul", "AI_CORE", 1),
        )
        operations = extra_of("communication_operations", *rows)
        accompanying = extra_of("communication_kernels", *rows)
        assert (operations.count, operations.total_ns, operations.flagged) == (1, 50_000, None)
        assert (accompanying.count, accompanying.total_ns, accompanying.flagged) == (1, 7000, None)

    def test_custom_operators_are_unknown_without_the_trace(self) -> None:
        extra = extra_of("custom_operators", kernel("Mul", "AI_CORE", 1))
        assert (extra.count, extra.value, extra.flagged) == (None, None, None)

    @pytest.mark.parametrize(
        ("many", "us", "flagged"), [(400, 20, True), (399, 20, False), (400, 21, False), (402, 1, True)]
    )
    def test_short_vector_kernels_need_number_and_brevity(self, many: int, us: int, flagged: bool) -> None:
        half = many // 2
        rows = [kernel("Mul", "AI_VECTOR_CORE", us)] * half + [kernel("Add", "MIX_AIV", us)] * (many - half)
        extra = extra_of("short_vector_kernels", *rows, kernel("MatMulV2", "AI_CORE", 999), count=2)
        assert extra.count_per_iteration == many / 2
        assert (extra.count, extra.value, extra.flagged) == (many, us, flagged)

    @pytest.mark.parametrize(
        ("matmul_us", "hf32", "dtypes", "flagged"),
        [
            (20, "NO", "FLOAT;FLOAT", True),
            (20, "NO", "FLOAT;FLOAT;INT32", True),
            (19, "NO", "FLOAT;FLOAT", False),
            (20, "YES", "FLOAT;FLOAT", False),
            (20, "NO", "FLOAT16;FLOAT16", False),
            (20, "NO", "DT_BF16;DT_BF16;FLOAT", False),
        ],
    )
    def test_hf32_off_needs_matmul_share_and_float_factors(
        self, matmul_us: int, hf32: str, dtypes: str, flagged: bool
    ) -> None:
        rows = (
            kernel("BatchMatMulV2", "AI_CORE", matmul_us, hf32=hf32, input_dtypes=dtypes),
            kernel("Mul", "AI_VECTOR_CORE", 100 - matmul_us, hf32="NO", input_dtypes="FLOAT;FLOAT"),
        )
        extra = extra_of("matmul_hf32_off", *rows)
        assert (extra.value, extra.flagged) == (matmul_us / 100, flagged)

    def test_hf32_is_unknown_where_eligibility_is_not_recorded(self) -> None:
        extra = extra_of("matmul_hf32_off", kernel("MatMulV2", "AI_CORE", 20, input_dtypes="FLOAT;FLOAT"))
        assert (extra.count, extra.value, extra.flagged) == (None, 1.0, None)


CORE_CASES = [
    # core, block, mix, chip, verdicts of aic and aiv
    ("AI_CORE", 20, None, CHIP, ["all_cores", "not_recorded"]),
    ("AI_CORE", 19, None, CHIP, ["maybe_limited", "not_recorded"]),
    ("AI_CORE", 21, None, CHIP, ["all_cores", "not_recorded"]),
    ("AI_VECTOR_CORE", 40, None, CHIP, ["not_recorded", "all_cores"]),
    ("AI_VECTOR_CORE", 39, None, CHIP, ["not_recorded", "maybe_limited"]),
    # A MIX kernel's Mix Block Num counts the cores of the other kind.
    ("MIX_AIC", 20, 40, CHIP, ["all_cores", "all_cores"]),
    ("MIX_AIC", 8, 16, CHIP, ["maybe_limited", "maybe_limited"]),
    ("MIX_AIV", 40, 20, CHIP, ["all_cores", "all_cores"]),
    ("MIX_AIV", 16, 20, CHIP, ["all_cores", "maybe_limited"]),
    ("MIX_AIC", 20, 40, Cores(), ["possible", "possible"]),
    ("MIX_AIC", 20, 40, Cores(20, None), ["all_cores", "possible"]),
    ("AI_CPU", 4, None, CHIP, ["not_recorded", "not_recorded"]),
    ("AI_CORE", 0, 0, CHIP, ["not_recorded", "not_recorded"]),
]


class TestCoreUse:
    @pytest.mark.parametrize(("core", "block", "mix", "chip", "verdicts"), CORE_CASES)
    def test_cores_used_against_cores_present(
        self, core: str, block: int, mix: int | None, chip: Cores, verdicts: list[str]
    ) -> None:
        rows = kernels(kernel("Op", core, 1, block_num=block, mix_block_num=mix))
        found = operators(rows, cores=chip).core_use
        assert not isinstance(found, Missing)
        assert [use.verdict for use in found] == verdicts

    def test_block_num_and_mix_block_num_are_shown_apart(self) -> None:
        rows = kernels(
            kernel("Op", "AI_VECTOR_CORE", 1, block_num=16),
            kernel("Op", "MIX_AIC", 1, block_num=20, mix_block_num=40),
        )
        found = operators(rows).core_use
        assert found == (
            CoreUse("aic", 20, 20, "all_cores", None),
            CoreUse("aiv", 16, 40, "all_cores", 40),
        )

    def test_file_without_block_column_is_missing(self) -> None:
        result = operators(kernels(kernel("Op", "AI_CORE", 1)), absent=frozenset({"block_num"}))
        assert isinstance(result.core_use, Missing)


STATISTIC = [
    {"op_type": "Mul", "core_type": "AI_VECTOR_CORE", "count": 4, "total_ns": 40, "min_ns": 8, "max_ns": 12},
    {"op_type": "Mul", "core_type": "AI_VECTOR_CORE", "count": 2, "total_ns": 10, "min_ns": 3, "max_ns": 7},
    {"op_type": "MatMul", "core_type": "AI_CORE", "count": 2, "total_ns": 150, "min_ns": 70, "max_ns": 80},
    {
        "op_type": "hcom_allReduce_",
        "core_type": "COMMUNICATION",
        "count": 2,
        "total_ns": 99,
        "min_ns": 9,
        "max_ns": 90,
    },
]


class TestOpStatisticAlone:
    def test_models_of_one_type_are_added_and_communication_kept_apart(self) -> None:
        result = of_statistic(STATISTIC, iterations(2))
        assert table(result.by_type).select(
            "op_type", "count", "total_ns", "share", "min_ns", "max_ns"
        ).rows() == [
            ("MatMul", 2, 150, 0.75, 70, 80),
            ("Mul", 6, 50, 0.25, 3, 12),
        ]
        assert (result.source, result.compute_ns, result.communication_ns) == ("op_statistic", 200, 99)
        assert result.communication["op_type"].to_list() == ["hcom_allReduce_"]

    def test_totals_divide_by_all_recorded_iterations(self) -> None:
        result = of_statistic(STATISTIC, iterations(1, excluded=500))
        assert table(result.by_type)["per_iteration_ns"].to_list() == [75, 25]

    def test_what_needs_kernels_is_missing(self) -> None:
        result = of_statistic(STATISTIC, iterations())
        for absent in (result.top, result.problems, result.core_use):
            assert absent == Missing(("kernel_details", "op_summary"), "level1")

    def test_hf32_share_is_known_but_not_the_verdict(self) -> None:
        found = {extra.kind: extra for extra in of_statistic(STATISTIC, iterations(), "training").extras}
        assert (found["matmul_hf32_off"].value, found["matmul_hf32_off"].flagged) == (0.75, None)
        assert found["communication_kernels"].count is None

    def test_without_either_file_the_result_is_missing(self) -> None:
        result = find_operators(NO_KERNELS, frozenset(), NO_FILE, iterations(), "training", Cores())
        assert result == Missing(("kernel_details", "op_summary", "op_statistic"), "level1")


class TestExecutions:
    def test_rows_come_by_start_with_offsets_from_the_first_kernel_of_all(self) -> None:
        rows = kernels(
            collective("hcom_allReduce_", 1, at=100),
            kernel("Mul", "AI_CORE", 5, at=300, stream="7", wait_ns=9),
            kernel("Mul", "AI_CORE", 6, at=200, stream="3"),
            kernel("Add", "AI_CORE", 7, at=150),
        )
        shown = executions(rows, KernelSelection(op_type="Mul"))
        assert shown.select("row", "offset_ns", "duration_ns", "wait_ns", "stream").rows() == [
            (2, 100_000, 6000, None, "3"),
            (1, 200_000, 5000, 9, "7"),
        ]

    def test_null_selects_null_and_any_selects_all(self) -> None:
        rows = kernels(kernel("Mul", "AI_CORE", 1), kernel("Mul", "AI_CORE", 1, input_shapes=""))
        assert executions(rows, KernelSelection(op_type="Mul", input_shapes=None))["row"].to_list() == [0]
        assert executions(rows, KernelSelection(op_type="Mul", input_shapes=""))["row"].to_list() == [1]
        assert executions(rows, KernelSelection(op_type="Mul"))["row"].to_list() == [0, 1]

    def test_every_top_row_leads_to_as_many_kernels_as_it_counts(self) -> None:
        rows = kernels(*TRAINING)
        for row in table(operators(rows, 2).top).rows(named=True):
            chosen = KernelSelection(
                op_type=row["op_type"], input_shapes=row["input_shapes"], input_dtypes=row["input_dtypes"]
            )
            assert executions(rows, chosen).height == row["count"]

    def test_communication_is_reached_by_its_kind_even_without_types(self) -> None:
        rows = kernels(collective(None, 3, name="hcom_allReduce__586_0_1"), kernel(None, None, 1, name="x"))
        chosen = KernelSelection(op_type="hcom_allReduce_", role="communication")
        assert executions(rows, chosen)["row"].to_list() == [0]

    def test_selection_without_a_match_keeps_the_columns(self) -> None:
        shown = executions(kernels(*TRAINING), KernelSelection(op_type="Nothing"))
        assert shown.is_empty()
        assert "offset_ns" in shown.columns


RATIO = st.none() | st.integers(0, 1000).map(lambda thousandths: thousandths / 1000)
KERNEL = st.fixed_dictionaries(
    {
        "op_type": st.sampled_from([None, "Mul", "MatMulV2"]),
        "core_type": st.sampled_from([None, "AI_CORE", "MIX_AIC", "AI_CPU"]),
        "name": st.sampled_from(["a", "b"]),
        "input_shapes": st.sampled_from([None, "", "2;2"]),
        "step": st.sampled_from([None, 1, 2]),
        "role": st.sampled_from(["compute", "compute", "communication"]),
        "aic_scalar_ratio": RATIO,
        "us": st.integers(0, 10**6),
    }
)


class TestAgainstOracle:
    @settings(max_examples=60, deadline=None)
    @given(rows=st.lists(KERNEL, min_size=1, max_size=30), count=st.integers(1, 4))
    def test_tables_equal_a_plain_loop(self, rows: list[dict[str, Any]], count: int) -> None:
        result = operators(kernels(*rows), count)
        compute = [row for row in rows if row["role"] == "compute"]
        stepped = any(row["step"] is not None for row in rows)
        totals: dict[Any, int] = defaultdict(int)
        inside: dict[Any, int] = defaultdict(int)
        shapes: dict[Any, list[dict[str, Any]]] = defaultdict(list)
        for row in compute:
            key = (row["op_type"], row["core_type"])
            totals[key] += 1000 * row["us"]
            inside[key] += 1000 * row["us"] * (not stepped or row["step"] is not None)
            name = row["name"] if row["op_type"] is None else None
            shapes[row["op_type"], name, row["input_shapes"]].append(row)
        if any(row["op_type"] for row in compute):
            found = (
                table(result.by_type).select("op_type", "core_type", "total_ns", "per_iteration_ns").rows()
            )
            assert sorted(found, key=str) == sorted(
                ((*key, total, mean(inside[key], count)) for key, total in totals.items()), key=str
            )
        top = {
            (row["op_type"], row["name"], row["input_shapes"]): row
            for row in table(result.top).rows(named=True)
        }
        assert top.keys() == shapes.keys()
        for key, group in shapes.items():
            weighed = [row for row in group if row["aic_scalar_ratio"] is not None and row["us"]]
            weight = sum(row["us"] for row in weighed)
            ratio = sum(row["us"] * row["aic_scalar_ratio"] for row in weighed) / weight if weight else None
            assert top[key]["total_ns"] == 1000 * sum(row["us"] for row in group)
            assert top[key]["aic_scalar_ratio"] == (None if ratio is None else pytest.approx(ratio))


EXAMPLES = Path(__file__).parents[3] / "shared" / "examples"


def example_kernels(pattern: str, kind: str) -> Table:
    paths = sorted(EXAMPLES.glob(pattern))
    if not paths:
        pytest.skip("the shared examples are not beside the repository")
    return read_table("kernels", SourceFile(kind, (paths[0],)), root=EXAMPLES)


@pytest.mark.real
class TestExampleFiles:
    def test_training_kernels_give_the_expected_totals(self) -> None:
        rows = example_kernels(
            "training_torch_npu/*/ASCEND_PROFILER_OUTPUT/kernel_details.csv", "kernel_details"
        )
        result = operators(rows.frame, 2, scenario="training", cores=Cores(20, 40))
        assert table(result.by_type).select("op_type", "count", "total_ns").rows() == [
            ("MatMulV2", 2, 390_000),
            ("GatherV2", 2, 310_000),
            ("Unique", 2, 170_000),
            ("Mul", 2, 120_000),
        ]
        assert table(result.by_core_type).select("core_type", "total_ns").rows() == [
            ("AI_VECTOR_CORE", 430_000),
            ("MIX_AIC", 390_000),
            ("AI_CPU", 170_000),
        ]
        assert (result.compute_ns, result.communication_ns) == (990_000, 940_000)
        assert result.unjudged_problems == ()

    def test_inference_kernels_give_the_expected_times_per_iteration(self) -> None:
        rows = example_kernels(
            "inference_msprof/PROF*/mindstudio_profiler_output/op_summary_*.csv", "op_summary"
        )
        result = operators(rows.frame, 3)
        assert table(result.by_type).select("op_type", "share", "per_iteration_ns").rows() == [
            ("MatMulV2", 0.45, 90_000),
            ("TopKV2", 0.25, 50_000),
            ("GatherV2", 0.2, 40_000),
            ("AscBackend", 0.1, 20_000),
        ]
