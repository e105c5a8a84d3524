"""A kernel_details.csv of any size with the variety of a real one, written fast."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_OPERATORS = [
    ("MatMulV3", "AI_CORE"),
    ("FlashAttentionScore", "MIX_AIC"),
    ("GroupedMatmul", "MIX_AIC"),
    *[
        (name, "AI_VECTOR_CORE")
        for name in ("Add", "Mul", "Cast", "RmsNorm", "SwiGlu", "TransData", "Slice", "ConcatD", "GatherV2")
    ],
    ("Unique", "AI_CPU"),
]
_BASE = (
    "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),"
    "Duration(us),Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input Data Types,"
    "Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID"
)
_PMU = (
    "aicore_time(us),aic_total_cycles,aic_mac_time(us),aic_mac_ratio,aic_scalar_time(us),aic_scalar_ratio,"
    "aic_mte1_time(us),aic_mte1_ratio,aic_mte2_time(us),aic_mte2_ratio,aiv_time(us),aiv_total_cycles,"
    "aiv_vec_time(us),aiv_vec_ratio,aiv_scalar_time(us),aiv_scalar_ratio,aiv_mte2_time(us),aiv_mte2_ratio,"
    "cube_utilization(%)"
)
_STEPS = 8


def write_kernels(path: Path, rows: int) -> None:
    """Write ``rows`` kernels in ``_STEPS`` steps: about 1,500 shape groups, 4 % communication."""
    chance = random.Random(7)
    bodies = [_body(chance) for _ in range(1500)]
    start = 1_736_408_883_704_643_212
    with path.open("w", newline="") as file:
        file.write(f"{_BASE},{_PMU}\r\n")
        for row in range(rows):
            start += chance.randrange(500, 40_000)
            step = row * _STEPS // rows
            duration = chance.randrange(2_000, 90_000)
            time = f"{start // 1000}.{start % 1000:03d}\t,{duration / 1000:.3f},{duration % 997}.000"
            before, after = bodies[chance.randrange(1500)]
            file.write(f"{step},0,4294967295,{row % 65536},{row % 4 + 2},{before},{time},{after}\r\n")


def _body(chance: random.Random) -> tuple[str, str]:
    """The cells before and after the times of one kind of kernel."""
    if chance.random() < 0.04:
        name = f"hcom_allReduce__{chance.randrange(1000)}_0_1"
        return f"{name},hcom_allReduce_,N/A,COMMUNICATION", ",".join(["0", *["N/A"] * 28])
    op_type, core = chance.choice(_OPERATORS)
    shape = f"{1 << chance.randrange(12)},{1 << chance.randrange(12)}"
    ratios = [f"{chance.random():.3f}" for _ in range(18)]
    shapes = f'"""{shape};{shape}""",FLOAT16;FLOAT16,ND;ND,"""{shape}""",FLOAT16,ND'
    cells = [str(chance.randrange(1, 41)), "0", "NO", shapes, "N/A", *ratios, f"{chance.random() * 100:.3f}"]
    return f"aclnn{op_type}_{op_type}AiCore_{op_type},{op_type},dynamic,{core}", ",".join(cells)
