"""The made-up ranking model of the inference sample: a static GE graph with automatic fusion."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.demo.records import US, Operator, Pipes, Tensors, tensors

BATCH = 512
FEATURES = (
    ("user_id", 5_000_000, 64),
    ("item_id", 2_000_000, 64),
    ("shop_id", 300_000, 32),
    ("brand_id", 80_000, 32),
    ("category", 12_000, 16),
    ("city", 4_000, 16),
    ("device", 900, 8),
    ("hour", 24, 8),
)
TOWERS = ("click", "buy", "stay", "share")
TOWER_WIDTHS = (640, 256, 128)

WIDE_GATHER = Pipes(aiv_vec=48, aiv_scalar=225, aiv_mte2=590, aiv_mte3=190)
NARROW_GATHER = Pipes(aiv_vec=31, aiv_scalar=520, aiv_mte2=240, aiv_mte3=110)
FUSED = Pipes(aiv_vec=340, aiv_scalar=120, aiv_mte2=410, aiv_mte3=230)
FUSED_SMALL = Pipes(aiv_vec=150, aiv_scalar=300, aiv_mte2=260, aiv_mte3=150)
NORM = Pipes(aiv_vec=430, aiv_scalar=170, aiv_mte2=330, aiv_mte3=120)
CUBE = Pipes(
    aic_mac=520, aic_scalar=130, aic_mte1=290, aic_mte2=560, aic_fixpipe=110, cube_utilization=52_000
)
THIN_CUBE = Pipes(
    aic_mac=90, aic_scalar=390, aic_mte1=150, aic_mte2=620, aic_fixpipe=140, cube_utilization=7_800
)
MIXED_CUBE = Pipes(
    aic_mac=160, aic_scalar=240, aic_mte1=230, aic_mte2=540, aic_fixpipe=160,
    aiv_vec=70, aiv_scalar=360, aiv_mte2=210, aiv_mte3=130, cube_utilization=14_200,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Node:
    """One node of the compiled graph."""

    operator: Operator
    origins: tuple[str, ...]
    """The operators of the user's model that went into it; more than one if it is fused."""
    main_stream: bool = True


def graph() -> tuple[Node, ...]:
    """All nodes of one iteration, in the order of execution."""
    towers = tuple(node for number, tower in enumerate(TOWERS) for node in _tower(number, tower))
    return (
        _distinct_ids(),
        *(_lookup(*feature) for feature in FEATURES),
        _fused("concat_0_ConcatV2_Cast", ("embedding/concat", "embedding/Cast"), f"{BATCH},240", 13, FUSED),
        *_interaction(),
        *towers,
        _fused("pointwise_10_Sigmoid_Mul", ("score/Sigmoid", "score/Mul"), f"{BATCH},4", 6, FUSED_SMALL),
        _node(
            "score/Cast",
            "Cast",
            half(f"{BATCH},4"),
            tensors((f"{BATCH},4", "FLOAT")),
            us=5,
            pipes=FUSED_SMALL,
        ),
        _best_items(),
    )


def half(*shapes: str, layout: str = "ND") -> Tensors:
    """Half-precision operands of these shapes."""
    return tensors(*((shape, "FLOAT16") for shape in shapes), layout=layout)


def _node(name: str, op_type: str, inputs: Tensors, outputs: Tensors, *, us: int, pipes: Pipes) -> Node:
    operator = Operator(
        name=f"rank/{name}",
        op_type=op_type,
        core=_core(pipes),
        inputs=inputs,
        outputs=outputs,
        duration_ns=us * US,
        block=_blocks(pipes),
        mix_block=40 if _core(pipes) == "MIX_AIC" else 0,
        pipes=pipes,
    )
    return Node(operator, (operator.name,))


def _core(pipes: Pipes) -> str:
    if not pipes.uses_cube:
        return "AI_VECTOR_CORE"
    return "MIX_AIC" if pipes.uses_vector else "AI_CORE"


def _blocks(pipes: Pipes) -> int:
    if pipes.uses_cube:
        return 20 if pipes is CUBE else 8
    return 16 if pipes in (NARROW_GATHER, FUSED_SMALL) else 40


def _host_cpu(name: str, op_type: str, inputs: Tensors, outputs: Tensors, us: int) -> Operator:
    return Operator(f"rank/{name}", op_type, "AI_CPU", inputs, outputs, us * US, block=1)


def _distinct_ids() -> Node:
    ids = str(BATCH * 20)
    operands = tensors((ids, "INT64"))
    results = tensors((ids, "INT64"), (ids, "INT32"))
    operator = _host_cpu("ids/Unique", "Unique", operands, results, 74)
    return Node(operator, (operator.name,), main_stream=False)


def _best_items() -> Node:
    operands = tensors((f"{BATCH},4", "FLOAT"), ("", "INT32"))
    results = tensors((f"{BATCH},2", "FLOAT"), (f"{BATCH},2", "INT32"))
    operator = _host_cpu("score/TopKV2", "TopKV2", operands, results, 96)
    return Node(operator, (operator.name,), main_stream=False)


def _lookup(feature: str, rows: int, width: int) -> Node:
    operands = tensors((f"{rows},{width}", "FLOAT"), (f"{BATCH},1", "INT64"), ("", "INT64"))
    result = tensors((f"{BATCH},1,{width}", "FLOAT"))
    pipes = WIDE_GATHER if width >= 32 else NARROW_GATHER
    return _node(
        f"embedding/{feature}/GatherV2", "GatherV2", operands, result, us=6 + width // 5, pipes=pipes
    )


def _fused(name: str, origins: tuple[str, ...], shape: str, us: int, pipes: Pipes) -> Node:
    operator = Operator(
        name=f"autofuse_{name}",
        op_type="AscBackend",
        core="AI_VECTOR_CORE",
        inputs=half(shape, shape),
        outputs=half(shape),
        duration_ns=us * US,
        block=_blocks(pipes),
        pipes=pipes,
    )
    return Node(operator, tuple(f"rank/{origin}" for origin in origins))


def _interaction() -> tuple[Node, ...]:
    """Attention over the user's recent items, then a normalisation."""
    query, keys, weights = f"{BATCH},1,64", f"{BATCH},64,50", f"{BATCH},1,50"
    return (
        _node("attention/MatMul", "BatchMatMulV2", half(query, keys), half(weights), us=41, pipes=MIXED_CUBE),
        _fused("pointwise_1_Mul_Add", ("attention/Mul", "attention/mask/Add"), weights, 8, FUSED),
        _node("attention/Softmax", "SoftmaxV2", half(weights), half(weights), us=17, pipes=NORM),
        _node(
            "attention/MatMul_1",
            "BatchMatMulV2",
            half(weights, f"{BATCH},50,64"),
            half(query),
            us=38,
            pipes=MIXED_CUBE,
        ),
        _node(
            "attention/LayerNorm",
            "LayerNormV4",
            half(f"{BATCH},640", "640"),
            half(f"{BATCH},640"),
            us=15,
            pipes=NORM,
        ),
    )


def _tower(number: int, tower: str) -> tuple[Node, ...]:
    """Three layers; a product takes its bias in, the pointwise operators after it are fused."""
    nodes: list[Node] = []
    for layer, (width, following) in enumerate(zip(TOWER_WIDTHS, (*TOWER_WIDTHS[1:], 1), strict=True)):
        nodes.append(_product(tower, layer, width, following))
        if following > 1:
            origins = (
                f"{tower}/Relu_{layer}",
                f"{tower}/batchnorm_{layer}/mul",
                f"{tower}/batchnorm_{layer}/add",
            )
            name = f"pointwise_{2 + 2 * number + layer}_Relu_Mul_Add"
            nodes.append(_fused(name, origins, f"{BATCH},{following}", 7, FUSED))
    return tuple(nodes)


def _product(tower: str, layer: int, width: int, following: int) -> Node:
    origins = (f"rank/{tower}/MatMul_{layer}", f"rank/{tower}/BiasAdd_{layer}")
    pipes = CUBE if following > 1 else THIN_CUBE
    operator = Operator(
        name="".join(origins),
        op_type="MatMulV2",
        core="AI_CORE",
        inputs=half(f"{BATCH},{width}", f"{width},{following}", str(following), layout="FRACTAL_NZ"),
        outputs=half(f"{BATCH},{following}", layout="FRACTAL_NZ"),
        duration_ns=(9 + width * following // 9000) * US,
        block=_blocks(pipes),
        pipes=pipes,
    )
    return Node(operator, origins)
