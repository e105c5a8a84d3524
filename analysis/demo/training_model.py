"""The made-up recommendation model of the training sample: its operators, shape by shape."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.demo.records import US, Operator, Pipes, Tensors, tensors

BATCH = 4096
DENSE_FEATURES = 13
FEATURE_VECTORS = 27
EMBEDDING = 64
TOWERS = ("click", "like", "share", "stay")

GATHER = Pipes(aiv_vec=52, aiv_scalar=240, aiv_mte2=610, aiv_mte3=180)
SCALAR_BOUND = Pipes(aiv_vec=60, aiv_scalar=460, aiv_mte2=260, aiv_mte3=120)
AT_THE_LIMIT = Pipes(aiv_vec=110, aiv_scalar=300, aiv_mte2=380, aiv_mte3=160)
POINTWISE = Pipes(aiv_vec=310, aiv_scalar=95, aiv_mte2=420, aiv_mte3=260)
REDUCTION = Pipes(aiv_vec=420, aiv_scalar=140, aiv_mte2=390, aiv_mte3=60)
TINY = Pipes(aiv_vec=70, aiv_scalar=380, aiv_mte2=180, aiv_mte3=90)
CUBE = Pipes(aic_mac=640, aic_scalar=90, aic_mte1=330, aic_mte2=510, aic_fixpipe=120, cube_utilization=71_000)
THIN_CUBE = Pipes(
    aic_mac=130, aic_scalar=345, aic_mte1=210, aic_mte2=640, aic_fixpipe=150, cube_utilization=13_500
)
MIXED_CUBE = Pipes(
    aic_mac=180, aic_scalar=210, aic_mte1=240, aic_mte2=560, aic_fixpipe=170,
    aiv_vec=60, aiv_scalar=410, aiv_mte2=220, aiv_mte3=140, cube_utilization=16_400,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """One group of embedding tables of equal width."""

    rows: int
    width: int
    features: int
    distinct_on_host: bool
    """Whether its ids are made distinct by an AI_CPU kernel: the path of very long id lists."""


TABLES = (
    Table(20_000_000, 64, 2, distinct_on_host=True),
    Table(8_000_000, 64, 4, distinct_on_host=True),
    Table(2_000_000, 32, 4, distinct_on_host=False),
    Table(1_000_000, 32, 4, distinct_on_host=False),
    Table(500_000, 16, 4, distinct_on_host=False),
    Table(200_000, 16, 4, distinct_on_host=False),
    Table(50_000, 8, 2, distinct_on_host=False),
    Table(10_000, 8, 2, distinct_on_host=False),
)


@dataclass(frozen=True, slots=True)
class Layer:
    """One fully connected layer."""

    inputs: int
    outputs: int
    activation: bool = True


BOTTOM = (Layer(DENSE_FEATURES, 512), Layer(512, 256), Layer(256, EMBEDDING))
TOWER = (Layer(1024, 512), Layer(512, 256), Layer(256, 1, activation=False))


def vector(
    op_type: str, names: tuple[str, str, str], inputs: Tensors, outputs: Tensors, *, us: int, pipes: Pipes
) -> Operator:
    """A vector kernel; ``names`` are the aclnn function, its inner kernel and the torch operator."""
    return _operator(op_type, "AI_VECTOR_CORE", names, inputs, outputs, us=us, pipes=pipes, block=48)


def _operator(
    op_type: str,
    core: str,
    names: tuple[str, str, str],
    inputs: Tensors,
    outputs: Tensors,
    *,
    us: int,
    pipes: Pipes | None,
    block: int,
    mix_block: int = 0,
) -> Operator:
    api, inner, aten = names
    return Operator(
        name=f"{api}_{inner}_{op_type}",
        op_type=op_type,
        core=core,
        inputs=inputs,
        outputs=outputs,
        duration_ns=us * US,
        block=block,
        mix_block=mix_block,
        pipes=pipes,
        aten=aten,
        api=api,
    )


def floats(*shapes: str) -> Tensors:
    """Float operands of these shapes."""
    return tensors(*((shape, "FLOAT") for shape in shapes))


def longs(*shapes: str) -> Tensors:
    """64-bit integer operands of these shapes."""
    return tensors(*((shape, "INT64") for shape in shapes))


def distinct_ids(table: Table) -> Operator:
    """Make the ids of one batch distinct before they are sent to the ranks that own them."""
    ids = str(BATCH * table.features)
    if table.distinct_on_host:
        names = ("aclnnUnique2", "UniqueWithCountsAndSorting", "aten::_unique2")
        return _operator("Unique", "AI_CPU", names, longs(ids), longs(ids, ids), us=310, pipes=None, block=1)
    names = ("aclnnUniqueConsecutive", "UniqueConsecutiveAiCore", "aten::unique_consecutive")
    return vector("UniqueV2", names, longs(ids), longs(ids, ids), us=62, pipes=SCALAR_BOUND)


def lookup(table: Table) -> Operator:
    """Gather the rows of one table group."""
    operands = tensors(
        (f"{table.rows},{table.width}", "FLOAT"), (f"{BATCH},{table.features}", "INT64"), ("", "INT64")
    )
    result = floats(f"{BATCH},{table.features},{table.width}")
    pipes = {64: GATHER, 32: GATHER, 16: AT_THE_LIMIT, 8: SCALAR_BOUND}[table.width]
    names = ("aclnnEmbedding", "GatherV2AiCore", "aten::embedding")
    return vector("GatherV2", names, operands, result, us=30 + table.features * table.width // 2, pipes=pipes)


def pooling(table: Table) -> Operator:
    """Sum the gathered rows of one feature."""
    gathered = floats(f"{BATCH},{table.features},{table.width}")
    names = ("aclnnReduceSum", "ReduceSumOpAiCore", "aten::sum")
    return vector("ReduceSum", names, gathered, floats(f"{BATCH},{table.width}"), us=24, pipes=REDUCTION)


def lookup_gradient(table: Table) -> tuple[Operator, ...]:
    """The gradient of one table group: sort the ids, then add up the rows."""
    ids = str(BATCH * table.features)
    gradient = tensors((f"{BATCH * table.features},{table.width}", "FLOAT"), (ids, "INT64"))
    return (
        vector(
            "Sort",
            ("aclnnSort", "SortAiCore", "aten::sort"),
            longs(ids),
            longs(ids, ids),
            us=48,
            pipes=SCALAR_BOUND,
        ),
        vector(
            "EmbeddingDenseGrad",
            ("aclnnEmbeddingDenseBackward", "EmbeddingDenseGradAiCore", "aten::embedding_dense_backward"),
            gradient,
            floats(f"{table.rows},{table.width}"),
            us=80 + table.features * table.width // 2,
            pipes=AT_THE_LIMIT if table.width < 32 else GATHER,
        ),
    )


def table_update(table: Table) -> Operator:
    """The Adam update of one table group, rows touched by this batch."""
    rows = f"{BATCH * table.features},{table.width}"
    names = ("aclnnApplyAdamW", "ApplyAdamWAiCore", "aten::_fused_adamw_")
    return vector(
        "ApplyAdamW", names, floats(rows, rows, rows, rows), floats(rows, rows, rows), us=58, pipes=POINTWISE
    )


def matmul(left: str, right: str, result: str, us: int, pipes: Pipes) -> Operator:
    """A matrix product; a thin one runs as a mixed kernel."""
    names = ("aclnnMatmul", "MatMulCommon", "aten::mm")
    core, mix_block = ("MIX_AIC", 48) if pipes.uses_vector else ("AI_CORE", 0)
    block = 24 if pipes is CUBE else 16
    return _operator(
        "MatMulV2", core, names, floats(left, right), floats(result), us=us, pipes=pipes, block=block,
        mix_block=mix_block,
    )  # fmt: skip


def layer_forward(layer: Layer) -> tuple[Operator, ...]:
    """Product, bias and activation of one layer."""
    result = f"{BATCH},{layer.outputs}"
    thin = layer.outputs == 1 or layer.inputs == DENSE_FEATURES
    product = matmul(
        f"{BATCH},{layer.inputs}", f"{layer.inputs},{layer.outputs}", result, *product_cost(layer, thin)
    )
    bias = vector(
        "Add",
        ("aclnnAdd", "AddAiCore", "aten::add"),
        floats(result, str(layer.outputs)),
        floats(result),
        us=9,
        pipes=POINTWISE,
    )
    relu = vector(
        "Relu",
        ("aclnnRelu", "ReluAiCore", "aten::relu"),
        floats(result),
        floats(result),
        us=11,
        pipes=POINTWISE,
    )
    return (product, bias, relu) if layer.activation else (product, bias)


def product_cost(layer: Layer, thin: bool) -> tuple[int, Pipes]:
    """Microseconds and pipe use of a layer's product."""
    if thin:
        return 34, THIN_CUBE if layer.outputs == 1 else MIXED_CUBE
    return 30 + layer.inputs * layer.outputs // 5000, CUBE


def layer_backward(layer: Layer) -> tuple[Operator, ...]:
    """The gradients of one layer: activation, input, weight, bias."""
    result, source = f"{BATCH},{layer.outputs}", f"{BATCH},{layer.inputs}"
    weight = f"{layer.inputs},{layer.outputs}"
    us, pipes = product_cost(layer, layer.outputs == 1 or layer.inputs == DENSE_FEATURES)
    activation = vector(
        "ReluGrad",
        ("aclnnThresholdBackward", "ReluGradAiCore", "aten::threshold_backward"),
        floats(result, result),
        floats(result),
        us=13,
        pipes=POINTWISE,
    )
    rest = (
        matmul(result, weight, source, us, pipes),
        matmul(source, result, weight, us + 6, pipes),
        vector(
            "ReduceSum",
            ("aclnnReduceSum", "ReduceSumOpAiCore", "aten::sum"),
            floats(result),
            floats(str(layer.outputs)),
            us=12,
            pipes=REDUCTION,
        ),
    )
    return (activation, *rest) if layer.activation else rest


def interaction(*, backward: bool) -> tuple[Operator, ...]:
    """Products of all pairs of feature vectors, and the joining or splitting around them."""
    stack, pairs = f"{BATCH},{FEATURE_VECTORS},{EMBEDDING}", f"{BATCH},{FEATURE_VECTORS},{FEATURE_VECTORS}"
    turned = f"{BATCH},{EMBEDDING},{FEATURE_VECTORS}"
    names = ("aclnnBatchMatMul", "BatchMatMulCommon", "aten::bmm")

    def product(left: str, right: str, result: str) -> Operator:
        return _operator(
            "BatchMatMulV2", "MIX_AIC", names, floats(left, right), floats(result), us=168, pipes=MIXED_CUBE,
            block=20, mix_block=40,
        )  # fmt: skip

    joined = floats(f"{BATCH},512", f"{BATCH},512"), floats(f"{BATCH},1024")
    if backward:
        split = vector(
            "SplitVD",
            ("aclnnSplitTensor", "SplitVAiCore", "aten::split"),
            joined[1],
            joined[0],
            us=27,
            pipes=POINTWISE,
        )
        return split, product(pairs, stack, stack), product(turned, pairs, turned)
    concat = vector("ConcatD", ("aclnnCat", "ConcatAiCore", "aten::cat"), *joined, us=29, pipes=POINTWISE)
    return product(stack, turned, pairs), concat


def normalisation(*, backward: bool) -> Operator:
    """Layer normalisation at the door of a tower."""
    rows, width = f"{BATCH},1024", "1024"
    if backward:
        names = ("aclnnLayerNormBackward", "LayerNormGradAiCore", "aten::native_layer_norm_backward")
        return vector(
            "LayerNormGrad",
            names,
            floats(rows, rows, width),
            floats(rows, width, width),
            us=52,
            pipes=REDUCTION,
        )
    names = ("aclnnLayerNorm", "LayerNormAiCore", "aten::native_layer_norm")
    return vector("LayerNorm", names, floats(rows, width, width), floats(rows), us=36, pipes=REDUCTION)


def loss(*, backward: bool) -> tuple[Operator, ...]:
    """Score and loss of one tower."""
    scores = f"{BATCH},1"
    if backward:
        return (
            vector(
                "SigmoidGrad",
                ("aclnnSigmoidBackward", "SigmoidGradAiCore", "aten::sigmoid_backward"),
                floats(scores, scores),
                floats(scores),
                us=6,
                pipes=TINY,
            ),
        )
    return (
        vector(
            "Sigmoid",
            ("aclnnSigmoid", "SigmoidAiCore", "aten::sigmoid"),
            floats(scores),
            floats(scores),
            us=5,
            pipes=TINY,
        ),
        vector(
            "BinaryCrossEntropy",
            ("aclnnBinaryCrossEntropy", "BinaryCrossEntropyAiCore", "aten::binary_cross_entropy"),
            floats(scores, scores),
            floats(""),
            us=9,
            pipes=TINY,
        ),
    )


def best_scores() -> Operator:
    """The best scores of the batch, for the metric: an AI_CPU kernel."""
    operands = tensors((str(BATCH), "FLOAT"), ("", "INT32"))
    result = tensors(("100", "FLOAT"), ("100", "INT32"))
    names = ("aclnnTopk", "TopKAiCpu", "aten::topk")
    return _operator("TopK", "AI_CPU", names, operands, result, us=240, pipes=None, block=1)


def parameter_update(shape: str) -> tuple[Operator, ...]:
    """Adam on one dense parameter, operator by operator: four short kernels."""
    return tuple(
        vector(
            op_type,
            names,
            floats(*[shape] * count),
            floats(shape),
            us=4 if "," not in shape else 7,
            pipes=TINY,
        )
        for op_type, names, count in (
            ("Muls", ("aclnnInplaceMuls", "MulsAiCore", "aten::mul_"), 1),
            ("Addcmul", ("aclnnInplaceAddcmul", "AddcmulAiCore", "aten::addcmul_"), 3),
            ("Sqrt", ("aclnnSqrt", "SqrtAiCore", "aten::sqrt"), 1),
            ("Addcdiv", ("aclnnInplaceAddcdiv", "AddcdivAiCore", "aten::addcdiv_"), 3),
        )
    )


def dense_parameters() -> tuple[str, ...]:
    """The shapes of all dense parameters, layer by layer."""
    layers = BOTTOM + TOWER * len(TOWERS)
    weights = tuple(f"{layer.inputs},{layer.outputs}" for layer in layers)
    biases = tuple(str(layer.outputs) for layer in layers)
    return weights + biases + ("1024",) * 2 * len(TOWERS)
