"""Framework and stack, training or inference, execution mode, dynamic shape."""

from __future__ import annotations

import pytest

from analysis.datafile import load_toml
from analysis.report.messages import LANGUAGES, Messages
from analysis.scenario import Scenario, find_scenario
from tests.analysis.frames import (
    ABSENT,
    api_statistic_table,
    kernels_table,
    named_kernels,
    op_statistic_table,
)

NO_MODEL = 4294967295
NO_CALLS = api_statistic_table([{"level": "acl", "name": "aclnnMul"}])
EXECUTE = api_statistic_table([{"name": "ModelExecute", "count": 3}])
ACLNN = named_kernels("aclnnMul_Mul_Mul", "aclnnAdd_Add_Add")
PLAIN = named_kernels("MatMul_1", "aclnnAdd_Add_Add")


def scenario(
    kernels=ABSENT, *, op_statistic=ABSENT, api=ABSENT, producer="torch_npu", graphs=(), facts=None
) -> Scenario:
    return find_scenario(producer, kernels, op_statistic, api, frozenset(graphs), facts or {})


def of_type(*op_types: str | None):
    return kernels_table([{"op_type": op_type} for op_type in op_types])


# --------------------------------------------------------------- training or inference


@pytest.mark.parametrize(
    "name",
    [
        "ReluGrad",
        "EmbeddingDenseGrad",
        "EmbeddingDenseGradV2",
        "MaxPoolGradWithArgmaxV1",
        "ApplyGradientDescent",
        "FusedGrads",
        "ThresholdBackward",
        "aclnnThresholdBackward_ReluGrad_ReluGrad",
        "embedding_dense_backward",
        "triton_poi_fused_threshold_backward_0",
        "gradients/dense/MatMul_grad/MatMul",
        "aten::mul_backward",
        "no_grad_ReluGrad",
    ],
)
def test_gradient_operator_means_training(name):
    found = scenario(of_type("Mul", name))
    assert found.scenario == "training"
    assert found.scenario_evidence[0].values == {"count": 1, "names": f"{name} × 1"}


@pytest.mark.parametrize(
    "name",
    [
        "Upgrade",
        "Gradual",
        "Grade",
        "Backwards",
        "UpgradeGradual",
        "degrade_quality",
        "gradual_unfreeze",
        "set_grad_enabled",
        "no_grad",
        "torch::no_grad",
        "requires_grad_",
        "requires_grad",
        "zero_grad",
        "Optimizer.zero_grad",
        "StopGradient",
        "PreventGradient",
    ],
)
def test_name_that_merely_contains_the_letters_means_nothing(name):
    assert scenario(of_type("Mul", name)).scenario == "inference"


def test_kernel_names_decide_only_where_no_type_is_recorded():
    assert scenario(kernels_table([{"op_type": None, "name": "ReluGrad_3"}])).scenario == "training"
    assert scenario(kernels_table([{"op_type": "Mul", "name": "gradients/Mul"}])).scenario == "inference"


def test_gradients_inside_a_fused_graph_operator_are_seen():
    kernels = kernels_table([{"op_type": "AscBackend", "name": "autofuse_pointwise_0_ReluGrad_Mul"}])
    assert scenario(kernels).scenario == "training"


def test_communication_is_no_evidence():
    assert (
        scenario(kernels_table([{"op_type": "GradAllReduce", "role": "communication"}])).scenario == "unknown"
    )


def test_op_statistic_is_evidence_of_its_own():
    table = op_statistic_table([{"op_type": "ReluGrad", "count": 7, "total_ns": 1}])
    assert scenario(op_statistic=table).scenario == "training"
    found = scenario(of_type("Mul"), op_statistic=table)
    assert found.scenario_evidence[0].values["names"] == "ReluGrad × 7"


def test_executions_that_both_files_count_are_counted_once():
    table = op_statistic_table([{"op_type": "ReluGrad", "count": 2, "total_ns": 1}])
    found = scenario(of_type("ReluGrad", "ReluGrad"), op_statistic=table)
    assert found.scenario_evidence[0].values["names"] == "ReluGrad × 2"


def test_nothing_to_judge_by_is_unknown():
    assert scenario().scenario == "unknown"


# --------------------------------------------------------------- execution mode, the table row by row


def fused(op_type: str):
    return kernels_table([{"op_type": op_type, "name": "aclnnMul"}])


@pytest.mark.parametrize(
    ("kernels", "api", "graphs", "facts", "mode"),
    [
        pytest.param(
            fused("autofuse_0_Add"), EXECUTE, (), {}, "ge_autofuse", id="autofuse_ with ModelExecute"
        ),
        pytest.param(fused("autofuse_0_Add"), NO_CALLS, (), {}, "ge_autofuse", id="autofuse_ without: C10"),
        pytest.param(
            fused("autofuse_0_Add"), ABSENT, (), {}, "ge_autofuse", id="autofuse_, nothing read: C10"
        ),
        pytest.param(fused("AscBackend"), ABSENT, (), {}, "ge_autofuse", id="AscBackend"),
        pytest.param(fused("autofused_add_0"), NO_CALLS, (), {}, "inductor_ascendc", id="autofused_"),
        pytest.param(fused("autofused_add_0"), EXECUTE, (), {}, "inductor_ascendc", id="autofused_: C10"),
        pytest.param(named_kernels("MatMul"), EXECUTE, (), {}, "ge", id="ModelExecute"),
        pytest.param(ABSENT, EXECUTE, (), {}, "ge", id="ModelExecute alone"),
        pytest.param(ACLNN, EXECUTE, (), {}, "ge", id="aclnn beside ModelExecute"),
        pytest.param(
            fused("triton_poi_fused_add_0"), ABSENT, (), {}, "inductor_triton", id="triton_poi_fused_"
        ),
        pytest.param(
            fused("triton_per_fused_add_0"), ABSENT, (), {}, "inductor_triton", id="triton_per_fused_"
        ),
        pytest.param(
            fused("triton_unk_fused_add_0"), ABSENT, (), {}, "inductor_triton", id="triton_unk_fused_"
        ),
        pytest.param(fused("catlass_gemm"), ABSENT, (), {}, "inductor_triton", id="catlass_"),
        pytest.param(fused("dvm_fused_add_0"), NO_CALLS, (), {}, "inductor_dvm", id="dvm_"),
        pytest.param(
            fused("dvm_fused_add_0"),
            NO_CALLS,
            (),
            {"lazy_fusion": "true"},
            "eager",
            id="dvm_, lazy fusion: C11",
        ),
        pytest.param(
            fused("dvm_fused_add_0"),
            NO_CALLS,
            (),
            {"lazy_fusion": "false"},
            "inductor_dvm",
            id="dvm_, no lazy fusion",
        ),
        pytest.param(
            fused("dvm_fused_add_0"),
            EXECUTE,
            (),
            {"lazy_fusion": "true"},
            "ge",
            id="lazy, ModelExecute: R4.2-8",
        ),
        pytest.param(fused("mlir_fused_mul_2"), ABSENT, (), {}, "inductor_mlir", id="mlir_fused_"),
        pytest.param(PLAIN, NO_CALLS, ("ge_dump",), {}, "graph_dump", id="GE dump"),
        pytest.param(ACLNN, NO_CALLS, ("inductor_code",), {}, "graph_dump", id="Inductor code"),
        pytest.param(ACLNN, NO_CALLS, (), {}, "eager", id="all aclnn, no ModelExecute"),
        pytest.param(
            named_kernels("aclnnMul", model_id=NO_MODEL), ABSENT, (), {}, "eager", id="all aclnn, no model"
        ),
        pytest.param(ACLNN, ABSENT, (), {}, "unknown", id="all aclnn, a graph not ruled out"),
        pytest.param(
            named_kernels("aclnnMul", model_id=1), NO_CALLS, (), {}, "unknown", id="all aclnn inside a model"
        ),
        pytest.param(PLAIN, NO_CALLS, (), {}, "unknown", id="one name without aclnn"),
        pytest.param(ABSENT, NO_CALLS, (), {}, "unknown", id="no names"),
        pytest.param(ABSENT, ABSENT, (), {}, "unknown", id="nothing"),
        pytest.param(PLAIN, NO_CALLS, (), {"mode": "eager"}, "eager", id="the user's word"),
        pytest.param(fused("autofuse_0_Add"), EXECUTE, (), {"mode": "ge"}, "ge", id="the user's word first"),
    ],
)
def test_execution_mode(kernels, api, graphs, facts, mode):
    found = scenario(kernels, api=api, graphs=graphs, facts=facts)
    assert found.mode == mode
    assert found.mode_evidence


def test_communication_ai_cpu_copies_and_events_need_no_aclnn():
    kernels = kernels_table(
        [
            {"name": "aclnnMul_Mul_Mul"},
            {"name": "hcom_allReduce__1", "role": "communication"},
            {"name": "Unique", "core_type": "AI_CPU"},
            {"name": "MEMCPY_ASYNC"},
            {"name": "EVENT_WAIT_SQE"},
        ]
    )
    found = scenario(kernels, api=NO_CALLS)
    assert found.mode == "eager"
    assert found.mode_evidence[0].values == {"count": 1}


def test_only_rows_outside_of_the_test_are_no_evidence_of_eager():
    assert scenario(named_kernels("Unique", core_type="AI_CPU"), api=NO_CALLS).mode == "unknown"


def test_unknown_mode_says_what_is_short():
    found = scenario(PLAIN, api=NO_CALLS)
    assert [(seen.kind, seen.values) for seen in found.mode_evidence] == [
        ("without_aclnn", {"count": 1, "total": 2})
    ]


def test_graph_engine_calls_rule_eager_out():
    api = api_statistic_table([{"name": "RunGraphAsync"}])
    found = scenario(ACLNN, api=api)
    assert (found.mode, found.mode_evidence[0].kind) == ("unknown", "run_graph")


def test_fused_family_with_the_most_time_decides_and_the_other_is_named():
    kernels = kernels_table(
        [
            {"op_type": "autofused_a_0", "duration_ns": 1},
            {"op_type": "triton_poi_fused_a_0", "duration_ns": 9},
        ]
    )
    found = scenario(kernels)
    assert found.mode == "inductor_triton"
    assert [seen.values["prefix"] for seen in found.mode_evidence] == ["triton_*_fused_", "autofused_"]


def test_modes_are_the_vocabulary():
    modes = load_toml("analysis", "scenario.toml")["modes"]["ids"]
    assert {family["mode"] for family in load_toml("analysis", "scenario.toml")["fused"]} <= set(modes)
    assert set(load_toml("analysis", "user_facts.toml")["mode"]["values"]) == set(modes) - {"unknown"}


# --------------------------------------------------------------- framework and stack


def stacks(found: Scenario) -> tuple[str | None, list[str], bool]:
    return found.framework, [stack.name for stack in found.stacks], found.stack_decided


OFFLINE = api_statistic_table([{"level": "acl", "name": "aclmdlExecute"}, {"name": "ModelExecute"}])
ONLINE = api_statistic_table([{"name": "RunGraphAsync"}])
OF_MODEL = named_kernels("conv1", model_id=1)


@pytest.mark.parametrize(
    ("producer", "kernels", "api", "expected"),
    [
        ("torch_npu", PLAIN, NO_CALLS, ("pytorch", ["Eager", "Inductor", "TorchAir"], False)),
        ("mindspore", PLAIN, NO_CALLS, ("pytorch", ["Eager", "Inductor", "TorchAir"], False)),
        ("torch_npu", ACLNN, NO_CALLS, ("pytorch", ["Eager"], True)),
        ("torch_npu", fused("triton_poi_fused_a_0"), NO_CALLS, ("pytorch", ["Inductor"], True)),
        ("torch_npu", fused("autofuse_0_Add"), ABSENT, ("pytorch", ["TorchAir"], True)),
        ("torch_npu", PLAIN, EXECUTE, ("pytorch", ["TorchAir"], True)),
        ("torch_npu", fused("mlir_fused_a_0"), EXECUTE, ("pytorch", ["Inductor", "TorchAir"], True)),
        ("msprof", fused("autofused_a_0"), ABSENT, ("pytorch", ["Inductor"], True)),
        ("msprof", PLAIN, OFFLINE, ("ge", ["ATC", "ACL"], True)),
        ("msprof", PLAIN, ONLINE, ("ge", ["GE-API", "TFA"], False)),
        ("msprof", PLAIN, EXECUTE, ("ge", ["TFA", "GE-API", "ATC", "ACL"], False)),
        ("msprof", OF_MODEL, ABSENT, ("ge", ["TFA", "GE-API", "ATC", "ACL"], False)),
        ("msprof", fused("AscBackend"), ABSENT, ("ge", ["TFA", "GE-API", "ATC", "ACL"], False)),
        ("msprof", ACLNN, NO_CALLS, (None, ["ACL", "Eager"], False)),
    ],
)
def test_framework_and_stacks(producer, kernels, api, expected):
    assert stacks(scenario(kernels, api=api, producer=producer)) == expected


def test_nothing_to_tell_the_framework_names_every_stack():
    framework, names, decided = stacks(scenario(PLAIN, api=NO_CALLS, producer="msprof"))
    assert (framework, len(names), decided) == (None, 7, False)


@pytest.mark.parametrize(
    ("graph", "expected"), [("ge_dump", ("ge", False)), ("inductor_code", ("pytorch", True))]
)
def test_dumped_graph_tells_the_framework_of_msprof_files(graph, expected):
    found = scenario(PLAIN, api=NO_CALLS, producer="msprof", graphs=[graph])
    assert (found.framework, found.stack_decided) == expected


@pytest.mark.parametrize(
    ("stack", "framework"), [("TFA", "ge"), ("TorchAir", "pytorch"), ("ACL", None), ("ATC,ACL", "ge")]
)
def test_user_settles_the_stack(stack, framework):
    found = scenario(PLAIN, api=NO_CALLS, producer="msprof", facts={"stack": stack})
    assert stacks(found) == (framework, stack.split(","), True)


# --------------------------------------------------------------- dynamic shape


@pytest.mark.parametrize(
    ("states", "dynamic"),
    [
        (["static", "dynamic"], True),
        (["DYNAMIC"], True),
        (["Dynamic", None], True),
        (["static", "Static"], False),
        (["static", None], False),
        (["static", "other"], None),
        ([None], None),
        ([], None),
    ],
)
def test_dynamic_shape_by_op_state(states, dynamic):
    assert scenario(kernels_table([{"op_state": state} for state in states])).dynamic_shape is dynamic


def test_dynamic_shape_counts_operators_alone():
    kernels = kernels_table([{"op_state": "static"}, {"op_state": "dynamic", "role": "communication"}])
    found = scenario(kernels)
    assert (found.dynamic_shape, found.dynamic_evidence[0].values) == (False, {"count": 1, "total": 1})


def test_dynamic_shape_is_unknown_without_kernels():
    assert scenario(api=EXECUTE).dynamic_shape is None


# --------------------------------------------------------------- words


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_conclusion_and_its_evidence_has_words(language):
    messages = Messages(language)
    dumps = {"graphs": ["ge_dump", "inductor_code"]}
    found = [
        scenario(),
        scenario(PLAIN, api=OFFLINE, producer="msprof"),
        scenario(ACLNN, api=ONLINE),
        scenario(ACLNN),
        scenario(ACLNN, api=NO_CALLS, producer="msprof"),
        scenario(ACLNN, api=NO_CALLS),
        scenario(PLAIN, api=NO_CALLS, **dumps),
        scenario(OF_MODEL, producer="msprof", facts={"stack": "ATC"}),
        scenario(named_kernels("aclnnMul", model_id=NO_MODEL, op_state="static")),
        scenario(fused("dvm_fused_add_0"), api=NO_CALLS, facts={"lazy_fusion": "true"}),
        scenario(kernels_table([{"op_type": "ReluGrad", "op_state": "dynamic"}]), facts={"mode": "eager"}),
    ]
    for one in found:
        stack_evidence = [seen for stack in one.stacks for seen in stack.evidence]
        conclusions = (
            *one.framework_evidence,
            *one.scenario_evidence,
            *one.mode_evidence,
            *one.dynamic_evidence,
        )
        for seen in (*conclusions, *stack_evidence):
            assert "{" not in messages.text(f"evidence.{seen.kind}", seen.values)
        assert f"scenario.{one.scenario}" in messages
        assert f"mode.{one.mode}" in messages
        assert f"framework.{one.framework or 'unknown'}" in messages
