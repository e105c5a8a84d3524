"""Twenty iterations of the made-up ranking model, the first of which compiles its fused kernels."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.demo.inference_model import graph
from analysis.demo.records import MS, US, ApiCall, Copy, Kernel, Variation

EPOCH_NS = 1_768_312_800_000_000_000
ITERATIONS = 20
COPY_STREAM, MAIN_STREAM, HOST_CPU_STREAM = 2, 3, 6
COMPILE_GAP_NS = 210 * US
"""What lies between two kernels while the host still compiles."""


@dataclass(frozen=True, slots=True)
class Iteration:
    """One execution of the graph."""

    number: int
    kernels: tuple[Kernel, ...]
    input_copy: Copy
    output_copy: Copy
    calls: tuple[ApiCall, ...]

    @property
    def device_start_ns(self) -> int:
        """Where the device begins: with the input copy."""
        return self.input_copy.start_ns

    @property
    def device_end_ns(self) -> int:
        """Where the device ends: with the output copy."""
        return self.output_copy.end_ns


@dataclass(frozen=True, slots=True)
class InferenceRun:
    """Everything that happened."""

    iterations: tuple[Iteration, ...]
    loading: tuple[ApiCall, ...]
    """Calls that load the model, before the first iteration."""

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels of all iterations, by start."""
        return tuple(kernel for iteration in self.iterations for kernel in iteration.kernels)

    @property
    def copies(self) -> tuple[Copy, ...]:
        """The copies of all iterations, by start."""
        return tuple(
            copy for iteration in self.iterations for copy in (iteration.input_copy, iteration.output_copy)
        )

    @property
    def calls(self) -> tuple[ApiCall, ...]:
        """All host calls."""
        return self.loading + tuple(call for iteration in self.iterations for call in iteration.calls)


def play() -> InferenceRun:
    """Load the model and run all iterations."""
    variation = Variation(20260113)
    loading = (ApiCall("model", "ModelLoad", EPOCH_NS + 4 * MS, 397 * MS + 42 * US),)
    host_ns = EPOCH_NS + 420 * MS
    input_costs = host_copy_costs(variation, 58 * US)
    output_costs = host_copy_costs(variation, 21 * US)
    iterations: list[Iteration] = []
    for number in range(1, ITERATIONS + 1):
        iteration = _iterate(variation, number, host_ns, input_costs[number - 1], output_costs[number - 1])
        iterations.append(iteration)
        host_ns = max(call.start_ns + call.duration_ns for call in iteration.calls)
        host_ns += variation.around(85 * US, 300)
    return InferenceRun(tuple(iterations), loading)


def host_copy_costs(variation: Variation, usual_ns: int) -> tuple[int, ...]:
    """What a host copy costs in each iteration.

    The first costs exactly the mean of the others: api_statistic holds only totals, and so the mean is
    the same whether a reader can leave the compile iteration out of it or not.
    """
    others = [variation.around(usual_ns, 120) for _ in range(ITERATIONS - 1)]
    first, surplus = divmod(sum(others), len(others))
    others[-1] -= surplus
    return first, *others


def _iterate(
    variation: Variation, number: int, host_ns: int, input_cost_ns: int, output_cost_ns: int
) -> Iteration:
    input_copy = Copy(
        "host to device", number, 71, COPY_STREAM, host_ns + 19 * US, variation.around(31 * US, 60), 655_360
    )
    execute_ns = host_ns + input_cost_ns + variation.around(4 * US, 200)
    kernels = _kernels(variation, number, execute_ns + 16 * US)
    executed_ns = max(kernel.end_ns for kernel in kernels) + variation.around(18 * US, 200)
    output_ns = executed_ns + variation.around(3 * US, 200)
    output_copy = Copy(
        "device to host", number, 72, COPY_STREAM, output_ns + 6 * US, variation.around(9 * US, 60), 8_192
    )
    submit_ns = variation.around(11 * US, 150)
    wait_ns = execute_ns + 2 * US + submit_ns
    output_end_ns = output_ns + output_cost_ns
    calls = (
        ApiCall("acl", "aclmdlExecute", host_ns - 2 * US, output_end_ns + 2 * US - host_ns),
        ApiCall("model", "InputCopy", host_ns, input_cost_ns),
        ApiCall("acl", "aclrtMemcpy", host_ns + 2 * US, input_cost_ns - 5 * US),
        ApiCall("runtime", "MemCopySync", host_ns + 4 * US, input_cost_ns - 8 * US),
        ApiCall("model", "ModelExecute", execute_ns, executed_ns - execute_ns),
        ApiCall("runtime", "ModelExecute", execute_ns + US, submit_ns),
        ApiCall("acl", "aclrtSynchronizeStream", wait_ns, executed_ns - US - wait_ns),
        ApiCall("runtime", "StreamSynchronize", wait_ns + US, executed_ns - 2 * US - wait_ns - US),
        ApiCall("model", "OutputCopy", output_ns, output_cost_ns),
        ApiCall("acl", "aclrtMemcpy", output_ns + US, output_cost_ns - 3 * US),
        ApiCall("runtime", "MemCopySync", output_ns + 2 * US, output_cost_ns - 5 * US),
    )
    return Iteration(number, kernels, input_copy, output_copy, calls)


def _kernels(variation: Variation, number: int, start_ns: int) -> tuple[Kernel, ...]:
    """Run the graph: AI_CPU nodes on a stream of their own, joined by the first node after the lookups."""
    compiling = number == 1
    kernels: list[Kernel] = []
    main_free_ns = host_cpu_free_ns = start_ns
    for position, node in enumerate(graph()):
        gap_ns = variation.around(COMPILE_GAP_NS, 300) if compiling else variation.around(9 * US, 450)
        duration_ns = variation.around(node.operator.duration_ns, 70)
        duration_ns += duration_ns * 3 // 5 if compiling else 0
        if node.main_stream:
            joins = node.operator.op_type != "GatherV2"
            begin_ns = max(main_free_ns + gap_ns, host_cpu_free_ns + 2 * US if joins else 0)
            main_free_ns = begin_ns + duration_ns
        else:
            begin_ns = max(host_cpu_free_ns, main_free_ns) + gap_ns
            host_cpu_free_ns = begin_ns + duration_ns
        kernels.append(
            Kernel(
                node.operator, number, 80 + position, MAIN_STREAM if node.main_stream else HOST_CPU_STREAM,
                begin_ns, duration_ns, variation.pipes(node.operator.pipes),
            )
        )  # fmt: skip
    return tuple(sorted(kernels, key=lambda kernel: (kernel.start_ns, kernel.task)))
