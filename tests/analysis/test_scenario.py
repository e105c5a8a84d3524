"""Framework and stack, training or inference, execution mode, dynamic shape."""

from __future__ import annotations

import pytest

from analysis.datafile import load_toml
from analysis.report.messages import LANGUAGES, Messages
from analysis.scenario import Scenario, find_scenario, find_training
from tests.analysis.frames import (
    ABSENT,
    api_statistic_table,
    kernels_table,
    named_kernels,
    op_statistic_table,
)
from tests.analysis.trace.builder import CANN, GROUP, MAIN, PLANE, STREAM, arrow, bar, timeline
from tests.analysis.trace_frames import launches_frame

NO_MODEL = 4294967295
NO_CALLS = api_statistic_table([{"level": "acl", "name": "aclnnMul"}])
EXECUTE = api_statistic_table([{"name": "ModelExecute", "count": 3}])
ACLNN = named_kernels("aclnnMul_Mul_Mul", "aclnnAdd_Add_Add")
PLAIN = named_kernels("MatMul_1", "aclnnAdd_Add_Add")


def unread():
    """A trace that must not be asked for."""
    raise AssertionError


def scenario(
    kernels=ABSENT,
    *,
    op_statistic=ABSENT,
    api=ABSENT,
    producer="torch_npu",
    graphs=(),
    facts=None,
    trace=ABSENT,
    launches=ABSENT,
) -> Scenario:
    read = unread if trace is unread else lambda: trace
    return find_scenario(
        producer,
        kernels,
        op_statistic,
        api,
        frozenset(graphs),
        facts or {},
        find_training(producer, kernels, op_statistic, read),
        read,
        unread if launches is unread else lambda: launches,
    )


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


# --------------------------------------------------------------- training or inference, by the trace


def host(*names: str, cat: str = "cpu_op"):
    """A trace in which the main thread ran these one after the other."""
    return timeline(*[bar(name, MAIN, 10 * at, 5, cat) for at, name in enumerate(names)])


@pytest.mark.parametrize(
    "name",
    [
        "AddmmBackward0",
        "autograd::engine::evaluate_function: AddmmBackward0",
        "torch::autograd::AccumulateGrad",
        "torch::autograd::CopyBackwards",
        "aten::embedding_dense_backward",
        "loss.backward",
        "backward",
        "## backward ##",
        "train.autograd",
        "no_grad_then_backward",
    ],
)
def test_backward_event_in_the_trace_means_training(name):
    found = scenario(of_type("MatMul"), trace=host("aten::mm", name, name))
    assert found.scenario == "training"
    assert found.scenario_evidence[0].values == {"count": 2, "names": f"{name} × 2"}


@pytest.mark.parametrize(
    "name",
    [
        "torch.no_grad",
        "torch.autograd.grad_mode.set_grad_enabled",
        "Optimizer.zero_grad#Adam.zero_grad",
        "requires_grad_",
        "torch.autograd.profiler",
        "Backwards",
        "feedbackward",
        "no_backward",
        "register_full_backward_hook",
        "aten::mm",
    ],
)
def test_event_that_merely_contains_the_letters_means_nothing(name):
    assert scenario(of_type("MatMul"), trace=host("aten::add", name)).scenario == "inference"


def test_user_annotations_count_and_frames_of_the_python_stack_do_not():
    kernels = of_type("MatMul")
    assert scenario(kernels, trace=host("backward", cat="user_annotation")).scenario == "training"
    stack = host("torch/_tensor.py(525): backward", cat="python_function")
    assert scenario(kernels, trace=stack).scenario == "inference"


def test_events_of_the_device_are_no_backward_events():
    trace = timeline(bar("aten::mm", MAIN, 0, 1, "cpu_op"), bar("ReluBackward0", STREAM, 0, 1))
    assert scenario(of_type("MatMul"), trace=trace).scenario == "inference"


def test_marks_of_steps_alone_say_nothing_of_inference():
    trace = timeline(bar("ProfilerStep#1", MAIN, 0, 1, "cpu_op"))
    assert scenario(producer="kineto", trace=trace).scenario == "unknown"


def test_arrows_from_forward_to_backward_tell_of_training_whatever_the_names():
    autograd = ("Python", "Thread 131")
    trace = timeline(
        bar("zeta", MAIN, 0, 1, "cpu_op"),
        bar("eta", autograd, 5, 1, "cpu_op"),
        *arrow("fwdbwd", 1, (MAIN, 0), (autograd, 5)),
    )
    found = scenario(of_type("MatMul"), trace=trace)
    assert (found.scenario, found.scenario_evidence[0].kind) == ("training", "backward_arrows")


def test_a_run_without_backward_events_says_how_many_names_it_looked_at():
    found = scenario(of_type("MatMul"), trace=host("aten::mm", "aten::add", "aten::mm"))
    assert [(seen.kind, dict(seen.values)) for seen in found.scenario_evidence] == [
        ("no_gradient_operators", {"count": 1}),
        ("no_backward_events", {"count": 2}),
    ]


def test_a_trace_alone_decides_where_no_table_is_there():
    assert scenario(producer="kineto", trace=host("AddmmBackward0")).scenario == "training"
    assert scenario(producer="kineto", trace=host("aten::mm")).scenario == "inference"


def test_a_trace_without_framework_operators_decides_nothing():
    found = scenario(trace=timeline(bar("x", STREAM, 0, 1)))
    assert found.scenario == "unknown"
    assert [seen.kind for seen in found.scenario_evidence] == ["no_operators", "no_host_operators"]


def test_a_trace_that_is_not_there_is_said_so():
    assert [seen.kind for seen in scenario(of_type("MatMul")).scenario_evidence][-1] == "no_trace"


def test_the_trace_is_not_read_where_the_tables_decide():
    static = kernels_table([{"op_type": "ReluGrad", "name": "aclnnReluGrad", "op_state": "static"}])
    assert scenario(static, api=NO_CALLS, trace=unread, launches=unread).scenario == "training"
    graph = kernels_table([{"op_type": "MatMul", "name": "MatMul_1", "op_state": "static"}])
    found = scenario(graph, api=EXECUTE, producer="msprof", trace=unread, launches=unread)
    assert (found.scenario, found.mode) == ("inference", "ge")


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


# --------------------------------------------------------------- eager by who launched the kernels: C22


def launched(*counts: int, untied: int = 0, kernel: str = "AI_CORE", more=()):
    """A trace whose host operators launched so many kernels each, then kernels that nobody launched."""
    operators = [bar("aten::mm", MAIN, 10 * at, 5, "cpu_op") for at in range(len(counts))]
    kernels = [bar("MatMul", STREAM, 100 + at, 1, task_type=kernel) for at in range(sum(counts) + untied)]
    hosts = [at for at, count in enumerate(counts) for _ in range(count)]
    pairs = [(len(counts) + at, host) for at, host in enumerate(hosts)]
    return timeline(*operators, *kernels, *more), launches_frame(*pairs)


def mode_of(trace, launches, kernels=PLAIN, **arguments):
    given = {"api": NO_CALLS} | arguments
    return scenario(kernels, trace=trace, launches=launches, **given)


def test_kernels_tied_to_operators_of_their_own_mean_eager():
    found = mode_of(*launched(2, 1, 1, 15, untied=1))
    assert found.mode == "eager"
    assert [seen.kind for seen in found.mode_evidence] == ["tied_kernels", "not_fused", "no_model_execute"]
    assert found.mode_evidence[0].values == {"count": 19, "total": 20, "operators": 4}


def test_fewer_than_95_of_100_tied_kernels_prove_nothing():
    found = mode_of(*launched(10, 8, untied=1))
    assert found.mode == "unknown"
    assert found.mode_evidence[-1].kind == "not_tied"
    assert found.mode_evidence[-1].values == {"count": 18, "total": 19, "operators": 2, "shared": 0}


@pytest.mark.parametrize(("largest", "mode"), [(32, "eager"), (33, "unknown")])
def test_an_operator_that_launches_a_whole_graph_is_no_operator_of_their_own(largest, mode):
    found = mode_of(*launched(1, largest))
    assert found.mode == mode
    if mode == "unknown":
        assert found.mode_evidence[-1].values == {"count": 1, "total": 34, "operators": 1, "shared": 33}


def test_a_trace_of_a_part_of_the_kernels_proves_nothing():
    trace, launches = launched(1, 1)
    found = mode_of(trace, launches, kernels=named_kernels("MatMul_1", "MatMul_2", "MatMul_3"))
    assert found.mode == "unknown"
    assert found.mode_evidence[-1].values == {"count": 2, "total": 3, "operators": 2, "shared": 0}


def test_waits_copies_and_communication_are_no_kernels():
    others = (
        bar("Notify_Wait", STREAM, 500, 1, task_type="NOTIFY_WAIT_SQE"),
        bar("MEMCPY_ASYNC", STREAM, 501, 1, task_type="MEMCPY_ASYNC"),
        bar("hcom_allReduce_AicpuKernel", STREAM, 502, 1, task_type="AI_CPU"),
        bar("hcom_allReduce__1", GROUP, 503, 1),
        bar("Memcpy", PLANE, 504, 1),
    )
    found = mode_of(*launched(1, 1, more=others))
    assert found.mode_evidence[0].values["total"] == 2


@pytest.mark.parametrize(
    ("kernels", "arguments", "mode"),
    [
        pytest.param(PLAIN, {"producer": "mindspore"}, "unknown", id="no torch_npu profile"),
        pytest.param(PLAIN, {"api": EXECUTE}, "ge", id="ModelExecute"),
        pytest.param(PLAIN, {"api": api_statistic_table([{"name": "RunGraph"}])}, "unknown", id="RunGraph"),
        pytest.param(PLAIN, {"graphs": ("ge_dump",)}, "graph_dump", id="a dumped graph"),
        pytest.param(named_kernels("MatMul", model_id=1), {}, "unknown", id="a Model ID"),
        pytest.param(fused("triton_poi_fused_add_0"), {}, "inductor_triton", id="a fused prefix"),
        pytest.param(ABSENT, {}, "unknown", id="no kernel file, so fusion is unknown"),
        pytest.param(PLAIN, {"api": ABSENT}, "eager", id="no api_statistic, as at Level0"),
    ],
)
def test_what_else_eager_by_launches_needs(kernels, arguments, mode):
    trace, launches = launched(1, 1)
    assert mode_of(trace, launches, kernels=kernels, **arguments).mode == mode


def test_graph_calls_in_the_trace_rule_eager_out_where_api_statistic_is_not_there():
    for name in ("Model@ModelExecute", "Model@RunGraph", "AscendCL@aclmdlExecute"):
        trace, launches = launched(1, 1, more=(bar(name, CANN, 0, 9),))
        assert mode_of(trace, launches, api=ABSENT).mode == "unknown"


def test_a_trace_without_kernels_leaves_the_mode_unknown():
    found = mode_of(*launched())
    assert found.mode == "unknown"
    assert [seen.kind for seen in found.mode_evidence] == ["without_aclnn"]


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


MODEL_EXECUTE = bar("Model@ModelExecute", CANN, 0, 90)
SHAPES = bar("Node@InferShape", CANN, 10, 5)
ACLNN_CALL = bar("AscendCL@aclnnMul", CANN, 20, 5)


@pytest.mark.parametrize(
    ("api", "bars", "dynamic"),
    [
        pytest.param(EXECUTE, (SHAPES, ACLNN_CALL), True, id="InferShape and aclnn beside ModelExecute"),
        pytest.param(ABSENT, (MODEL_EXECUTE, ACLNN_CALL), True, id="ModelExecute in the trace alone"),
        pytest.param(EXECUTE, (bar("Node@launch", CANN, 0, 1),), None, id="neither call"),
        pytest.param(EXECUTE, (bar("aclnnMul", STREAM, 0, 1),), None, id="a kernel is no call"),
        pytest.param(ABSENT, (SHAPES,), None, id="no ModelExecute anywhere"),
        pytest.param(NO_CALLS, unread, None, id="no ModelExecute in api_statistic: the trace is not asked"),
    ],
)
def test_dynamic_shape_by_calls_where_op_state_is_not_recorded(api, bars, dynamic):
    trace = unread if bars is unread else timeline(*bars)
    found = scenario(of_type("MatMul"), api=api, producer="msprof", trace=trace)
    assert found.dynamic_shape is dynamic


def test_calls_that_make_shapes_dynamic_are_counted():
    trace = timeline(SHAPES, ACLNN_CALL, MODEL_EXECUTE)
    (seen,) = scenario(of_type("MatMul"), api=EXECUTE, producer="msprof", trace=trace).dynamic_evidence
    assert (seen.kind, dict(seen.values)) == ("shape_calls", {"count": 2, "executed": 3})


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
        scenario(PLAIN, trace=host("backward")),
        scenario(PLAIN, trace=host("aten::mm")),
        scenario(PLAIN, trace=timeline(SHAPES)),
        scenario(of_type("MatMul"), api=EXECUTE, trace=timeline(SHAPES)),
        mode_of(*launched(2, 1)),
        mode_of(*launched(1, untied=3)),
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
