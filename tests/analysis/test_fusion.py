"""Which fused operators ran, what share they take, and what their names say is inside."""

from __future__ import annotations

import pytest

from analysis.fusion import find_fusion, parts_of
from tests.analysis.frames import ABSENT, kernels_table, named_kernels, op_statistic_table


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("autofuse_pointwise_0_Add_Mul", "autofuse_"),
        ("graph/autofuse_1_Add", "autofuse_"),
        ("autofused_add_mul_0123456789abcdef0123456789abcdef", "autofused_"),
        ("triton_poi_fused_add_0", "triton_*_fused_"),
        ("triton_per_fused_sum_0", "triton_*_fused_"),
        ("triton_red_fused_sum_0", "triton_*_fused_"),
        ("triton_unk_fused_embedding_0", "triton_*_fused_"),
        ("dvm_fused_add_mul_0", "dvm_"),
        ("dvm_graph_fused_1", "dvm_"),
        ("mlir_fused_mul_2", "mlir_fused_"),
        ("catlass_fused_mm_0", "catlass_"),
        ("catlass_gemm", "catlass_"),
    ],
)
@pytest.mark.parametrize("column", ["op_type", "name"])
def test_prefix_is_found_in_type_and_name(name, prefix, column):
    fusion = find_fusion(kernels_table([{"name": "plain", "op_type": "Mul"} | {column: name}]), ABSENT)
    assert (fusion.enabled, [kind.prefix for kind in fusion.kinds]) == (True, [prefix])


@pytest.mark.parametrize("op_type", ["AscBackend", "FusedAscBackend"])
def test_graph_type_of_autofuse_counts_whatever_the_name(op_type):
    fusion = find_fusion(named_kernels("rec/mlp/Mul", op_type=op_type), ABSENT)
    assert ([kind.prefix for kind in fusion.kinds], fusion.op_types) == ([op_type], (op_type,))


@pytest.mark.parametrize(
    "name", ["my_autofuse_0", "triton_kernel_0", "triton_poi_add", "mlir_add", "Adverb", "AscBackendless"]
)
def test_names_that_only_resemble_a_prefix_are_not_fused(name):
    fusion = find_fusion(named_kernels(name, op_type=name), ABSENT)
    assert (fusion.enabled, fusion.kinds, fusion.time_share) == (False, (), 0.0)


def test_share_is_of_all_operator_time():
    # autofused 30, triton 10, others 60; communication is not operator time.
    fusion = find_fusion(
        kernels_table(
            [
                {"op_type": "autofused_add_" + "0" * 32, "duration_ns": 20},
                {"op_type": "autofused_mul_" + "0" * 32, "duration_ns": 10},
                {"op_type": "triton_poi_fused_add_0", "duration_ns": 10},
                {"op_type": "Mul", "duration_ns": 60},
                {"op_type": "hcom_allReduce_", "duration_ns": 900, "role": "communication"},
            ]
        ),
        ABSENT,
    )
    assert [(kind.prefix, kind.op_types, kind.kernels, kind.share) for kind in fusion.kinds] == [
        ("autofused_", 2, 2, 0.3),
        ("triton_*_fused_", 1, 1, 0.1),
    ]
    assert fusion.time_share == 0.4


def test_names_stand_in_where_no_types_are_recorded():
    fusion = find_fusion(named_kernels("dvm_fused_add_0", "dvm_fused_mul_1", op_type=None), ABSENT)
    assert fusion.kinds[0].op_types == 2


def test_op_statistic_stands_in_for_absent_kernels():
    table = op_statistic_table(
        [{"op_type": "autofused_add_0", "count": 4, "total_ns": 30}, {"op_type": "Mul", "total_ns": 70}]
    )
    fusion = find_fusion(ABSENT, table)
    assert [(kind.prefix, kind.kernels, kind.share) for kind in fusion.kinds] == [("autofused_", 4, 0.3)]


def test_fusion_is_unknown_without_operators():
    assert find_fusion(ABSENT, ABSENT).enabled is None


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("autofuse_pointwise_0_Sigmoid_Mul", ("Sigmoid", "Mul")),
        ("autofuse_3_Add", ("Add",)),
        ("autofuse_fused_12_2Add_Mul", ("Add", "Add", "Mul")),
        ("rec/autofuse_reduce_1_ReduceSum", ("ReduceSum",)),
        # Cut at 140 characters: the last operator may be half a word.
        ("autofuse_pointwise_0_" + "Abs_" * 29 + "Sig", ("Abs",) * 29),
        ("autofused_add_mul_0123456789abcdef0123456789abcdef", ("add", "mul")),
        ("triton_poi_fused_mul_sigmoid_1", ("mul", "sigmoid")),
        ("triton_poi_fused__to_copy_native_layer_norm_relu_12", ("_to_copy", "native_layer_norm", "relu")),
        ("dvm_fused_add_mul_0", ("add", "mul")),
        ("dvm_graph_fused_1", ()),
        ("mlir_fused_mul_2", ("mul",)),
        ("catlass_fused_mm_relu_0", ("mm", "relu")),
        ("MatMulV2", ()),
    ],
)
def test_parts_of_a_fused_name(name, parts):
    assert parts_of(name) == parts


def test_most_frequent_part_comes_first():
    fusion = find_fusion(
        named_kernels("autofuse_0_Mul_2Add", "autofuse_1_Mul_Abs_Add", op_type="AscBackend"), ABSENT
    )
    assert fusion.kinds[0].inside == ("Add", "Mul", "Abs")
