# AOT ID: ['0_inference']
import torch
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.select_algorithm import extern_kernels
from torch import device, empty_strided

aten = torch.ops.aten
inductor_ops = torch.ops.inductor
_quantized = torch.ops._quantized
assert_size_stride = torch._C._dynamo.guards.assert_size_stride
reinterpret_tensor = torch._C._dynamo.guards._reinterpret_tensor
async_compile = AsyncCompile()

# kernel path: torchinductor_toy/ab/cabcd.py
# Topologically Sorted Source Nodes: [e], Original ATen: [aten.embedding]
# Source node to ATen node mapping:
#   e => embedding
triton_unk_fused_embedding_0 = async_compile.triton('triton_unk_fused_embedding_0', '''
import triton
import triton.language as tl
@triton.jit
def triton_unk_fused_embedding_0(in_ptr0, in_ptr1, out_ptr0, xnumel):
    pass
''', device_str='npu')

# Topologically Sorted Source Nodes: [sigmoid, h_1], Original ATen: [aten.sigmoid, aten.mul]
# Source node to ATen node mapping:
#   h_1 => mul
#   sigmoid => sigmoid
triton_poi_fused_mul_sigmoid_1 = async_compile.triton('triton_poi_fused_mul_sigmoid_1', '''
import triton
''', device_str='npu')

async_compile.wait(globals())
del async_compile

class Runner:
    def __init__(self, partitions):
        self.partitions = partitions

    def recursively_apply_fns(self, fns):
        new_callables = []
        for fn, c in zip(fns, self.partitions):
            new_callables.append(fn(c))
        self.partitions = new_callables

    def call(self, args):
        arg0_1, arg1_1, arg2_1, arg3_1 = args
        args.clear()
        with torch.npu.utils.device(0):
            torch.npu.set_device(0)
            buf0 = empty_strided((512, 20, 32), (640, 32, 1), device='npu', dtype=torch.float32)
            # Topologically Sorted Source Nodes: [e], Original ATen: [aten.embedding]
            stream0 = get_raw_stream(0)
            triton_unk_fused_embedding_0.run(arg1_1, arg0_1, buf0, 327680, stream=stream0)
            del arg0_1
            del arg1_1
            buf1 = empty_strided((512, 128), (128, 1), device='npu', dtype=torch.float32)
            # Topologically Sorted Source Nodes: [h], Original ATen: [aten.addmm]
            extern_kernels.addmm(arg3_1, reinterpret_tensor(buf0, (512, 640), (640, 1), 0), arg2_1, alpha=1, beta=1, out=buf1)
            del buf0
            buf2 = buf1; del buf1  # reuse
            # Topologically Sorted Source Nodes: [sigmoid, h_1], Original ATen: [aten.sigmoid, aten.mul]
            stream0 = get_raw_stream(0)
            triton_poi_fused_mul_sigmoid_1.run(buf2, 65536, stream=stream0)
            # Topologically Sorted Source Nodes: [topk], Original ATen: [aten.topk]
            buf3 = torch.ops.aten.topk.default(buf2, 10)
            del buf2
            buf4 = buf3[0]
            assert_size_stride(buf4, (512, 10), (10, 1), 'torch.ops.aten.topk.default')
            buf5 = buf3[1]
            del buf3
        return (buf4, buf5, )

runner = Runner(partitions=[])
call = runner.call
recursively_apply_fns = runner.recursively_apply_fns
