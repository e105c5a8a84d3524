"""Six training steps of the made-up model, played through on one host and one device."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.demo import training_model as model
from analysis.demo.records import US, ApiCall, Collective, Copy, Kernel, Launch, Operator, Span, Variation

if TYPE_CHECKING:
    from collections.abc import Iterator

EPOCH_NS = 1_768_210_200_000_000_000
FIRST_STEP = 20
STEPS = 6
SLOW_STEP = 23
"""One step in which the other ranks come late, so that the steps differ visibly."""

MAIN_THREAD, QUEUE_THREAD, AUTOGRAD_THREAD = 51234, 51277, 51301
COMPUTE_STREAM, COPY_STREAM = 2, 5
EMBEDDING_GROUP, DENSE_GROUP = "6140772213095518214", "2751190648830427733"


@dataclass(frozen=True, slots=True)
class Step:
    """The host side of one training step."""

    number: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """Everything that happened, in the order in which it was started."""

    steps: tuple[Step, ...]
    kernels: tuple[Kernel, ...]
    collectives: tuple[Collective, ...]
    copies: tuple[Copy, ...]
    calls: tuple[ApiCall, ...]
    spans: tuple[Span, ...]


class Machine:
    """One host that launches, one device that runs; every clock is in integer nanoseconds."""

    def __init__(self) -> None:
        self.host_ns = EPOCH_NS
        self.thread = MAIN_THREAD
        self.step = FIRST_STEP
        self.compute_free_ns = 0
        self.steps: list[Step] = []
        self.kernels: list[Kernel] = []
        self.collectives: list[Collective] = []
        self.copies: list[Copy] = []
        self.calls: list[ApiCall] = []
        self.spans: list[Span] = []
        self._queue_free_ns = 0
        self._copy_free_ns = 0
        self._group_free_ns = {EMBEDDING_GROUP: 0, DENSE_GROUP: 0}
        self._variation = Variation(20260112)
        self._connection = 100

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """A range on the current host thread around whatever happens inside."""
        start_ns, thread = self.host_ns, self.thread
        self.host_ns += self._variation.around(2 * US, 200)
        yield
        self.spans.append(Span(name, thread, start_ns, self.host_ns - start_ns))
        self.host_ns += self._variation.around(3 * US, 300)

    def launch(self, *operators: Operator) -> None:
        """Call the torch operators, which enqueue their kernels on the compute stream."""
        for operator in operators:
            host_ns, cost_ns = self.host_ns, self._variation.around(11 * US, 250)
            enqueue_ns = host_ns + cost_ns * 7 // 10
            dequeue_ns = max(enqueue_ns + 2 * US, self._queue_free_ns)
            node_ns, node_cost_ns = dequeue_ns + 3 * US, self._variation.around(5 * US, 200)
            self._queue_free_ns = node_ns + node_cost_ns + 900
            start_ns = max(
                node_ns + node_cost_ns + 1400, self.compute_free_ns + self._variation.around(600, 500)
            )
            duration_ns = self._variation.around(operator.duration_ns, 60)
            launch = Launch(
                self.thread, host_ns, cost_ns, enqueue_ns, dequeue_ns, node_ns, node_cost_ns, self._connection
            )  # fmt: skip
            task = len(self.kernels) % 65_536
            self.kernels.append(
                Kernel(
                    operator, self.step, task, COMPUTE_STREAM, start_ns, duration_ns,
                    self._variation.pipes(operator.pipes), launch,
                )
            )  # fmt: skip
            self._count_launch(operator.api, launch)
            self._connection += 1
            self.compute_free_ns = start_ns + duration_ns
            self.host_ns += cost_ns + self._variation.around(2 * US, 500)

    def _count_launch(self, api: str, launch: Launch) -> None:
        node_cost_ns = launch.node_duration_ns
        self.calls += (
            ApiCall("acl", api, launch.dequeue_ns + US, node_cost_ns + 3 * US),
            ApiCall("acl", f"{api}GetWorkspaceSize", launch.host_ns + US, launch.host_duration_ns // 4),
            ApiCall("node", "launch", launch.node_ns, node_cost_ns),
            ApiCall("runtime", "KernelLaunch", launch.node_ns + 800, node_cost_ns * 6 // 10),
        )

    def collective(
        self, kind: str, group: str, cost_ns: int, size_bytes: int, *, late_ns: int = 0
    ) -> Collective:
        """Start a collective once the compute stream has come to this point; the stream goes on."""
        with self.span(f"c10d::{kind.lower()}_"):
            self.host_ns += self._variation.around(24 * US, 200)
        self.calls.append(
            ApiCall("communication", f"hcom_{kind}_", self.host_ns, self._variation.around(19 * US, 150))
        )
        start_ns = max(self.host_ns + 6 * US, self.compute_free_ns + 2 * US, self._group_free_ns[group] + US)
        duration_ns = self._variation.around(cost_ns, 50) + late_ns
        wait_ns = self._variation.around(duration_ns // 5, 100) + late_ns * 4 // 5
        operation = Collective(
            name=f"hcom_{kind}__{group[-3:]}_{len(self.collectives)}_1",
            op_type=f"hcom_{kind}_",
            group=group,
            step=self.step,
            start_ns=start_ns,
            duration_ns=duration_ns,
            wait_ns=wait_ns,
            idle_ns=duration_ns // 50,
            size_bytes=size_bytes,
            packets=max(1, size_bytes // 2_000_000),
        )
        self.collectives.append(operation)
        self._group_free_ns[group] = operation.end_ns
        return operation

    def await_collective(self, operation: Collective) -> None:
        """Later kernels wait for the collective; the host does not."""
        self.compute_free_ns = max(self.compute_free_ns, operation.end_ns + 800)

    def copy(self, direction: str, size_bytes: int, cost_ns: int, *, after_ns: int = 0) -> Copy:
        """Copy between host and device on a stream of its own."""
        with self.span("aten::copy_"):
            self.host_ns += self._variation.around(12 * US, 200)
        self.calls.append(
            ApiCall("acl", "aclrtMemcpyAsync", self.host_ns - 9 * US, self._variation.around(7 * US, 200))
        )
        start_ns = max(self.host_ns + 4 * US, self._copy_free_ns + US, after_ns)
        duration_ns = self._variation.around(cost_ns, 40)
        task = 40_000 + len(self.copies)
        copy = Copy(direction, self.step, task, COPY_STREAM, start_ns, duration_ns, size_bytes)
        self.copies.append(copy)
        self._copy_free_ns = copy.end_ns
        return copy

    def synchronise(self, until_ns: int) -> None:
        """Block the host until the device has come to a moment, as reading a value does."""
        with self.span("aten::item"), self.span("aten::_local_scalar_dense"):
            start_ns = self.host_ns
            self.host_ns = max(start_ns + 4 * US, until_ns + 5 * US)
            waited_ns = self.host_ns - start_ns
            self.calls += (
                ApiCall("acl", "aclrtSynchronizeStreamWithTimeout", start_ns, waited_ns),
                ApiCall("runtime", "StreamSynchronize", start_ns + 500, waited_ns - US),
            )

    def device_idle_ns(self) -> int:
        """The moment the device has done everything launched so far."""
        return max(self.compute_free_ns, self._copy_free_ns, *self._group_free_ns.values())


def play() -> TrainingRun:
    """Run all steps."""
    machine = Machine()
    for number in range(FIRST_STEP, FIRST_STEP + STEPS):
        machine.step = number
        start_ns = machine.host_ns
        with machine.span(f"ProfilerStep#{number}"):
            _step(machine)
        machine.steps.append(Step(number, start_ns, start_ns + machine.spans[-1].duration_ns))
    return TrainingRun(
        tuple(machine.steps),
        tuple(machine.kernels),
        tuple(machine.collectives),
        tuple(machine.copies),
        tuple(machine.calls),
        tuple(machine.spans),
    )


def _step(machine: Machine) -> None:
    late_ns = 2_600 * US if machine.step == SLOW_STEP else 0
    with machine.span("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"):
        machine.host_ns += 210 * US
    with machine.span("## copy_batch_to_gpu ##"):
        batch = machine.copy("host to device", 851_968, 92 * US)
        machine.copy("host to device", 212_992, 31 * US)
        machine.compute_free_ns = max(machine.compute_free_ns, batch.end_ns)
    with machine.span("## start_sparse_data_dist ##"):
        _exchange_ids(machine)
    with machine.span("## embedding_lookup ##"):
        pooled = _look_up(machine, late_ns)
    with machine.span("DistributedDataParallel.forward"):
        _forward(machine, pooled)
    _backward(machine)
    with machine.span("Optimizer.step#SparseAdam.step"):
        machine.launch(*(model.table_update(table) for table in model.TABLES))
    with machine.span("Optimizer.step#Adam.step"):
        for shape in model.dense_parameters():
            machine.launch(*model.parameter_update(shape))
    machine.launch(model.best_scores())
    result = machine.copy("device to host", 4_096, 9 * US, after_ns=machine.device_idle_ns() + US)
    machine.synchronise(result.end_ns)


def _exchange_ids(machine: Machine) -> None:
    """Send the distinct ids to their owners; every count must first be known on the host."""
    for table in model.TABLES:
        machine.launch(model.distinct_ids(table))
        machine.synchronise(machine.compute_free_ns)
    sizes = machine.collective("alltoallv", EMBEDDING_GROUP, 140 * US, 65_536)
    machine.synchronise(sizes.end_ns)
    ids = machine.collective("alltoallv", EMBEDDING_GROUP, 430 * US, 6_815_744)
    machine.await_collective(ids)
    machine.synchronise(ids.end_ns)


def _look_up(machine: Machine, late_ns: int) -> Collective:
    for table in model.TABLES:
        machine.launch(model.lookup(table), model.pooling(table))
    return machine.collective("alltoallv", EMBEDDING_GROUP, 1_450 * US, 27_262_976, late_ns=late_ns)


def _forward(machine: Machine, pooled: Collective) -> None:
    for layer in model.BOTTOM:
        machine.launch(*model.layer_forward(layer))
    machine.await_collective(pooled)
    machine.launch(*model.interaction(backward=False))
    for _tower in model.TOWERS:
        machine.launch(model.normalisation(backward=False))
        for layer in model.TOWER:
            machine.launch(*model.layer_forward(layer))
        machine.launch(*model.loss(backward=False))


def _backward(machine: Machine) -> None:
    """Runs on the autograd thread; one bucket of gradients is reduced after each tower."""
    machine.thread = AUTOGRAD_THREAD
    buckets: list[Collective] = []
    for _tower in model.TOWERS:
        with machine.span("autograd::engine::evaluate_function: AddmmBackward0"):
            machine.launch(*model.loss(backward=True))
            for layer in reversed(model.TOWER):
                machine.launch(*model.layer_backward(layer))
            machine.launch(model.normalisation(backward=True))
        buckets.append(machine.collective("allReduce", DENSE_GROUP, 620 * US, 10_485_760))
    with machine.span("autograd::engine::evaluate_function: BmmBackward0"):
        machine.launch(*model.interaction(backward=True))
    gradients = machine.collective("alltoallv", EMBEDDING_GROUP, 1_500 * US, 27_262_976)
    with machine.span("autograd::engine::evaluate_function: AddmmBackward0"):
        for layer in reversed(model.BOTTOM):
            machine.launch(*model.layer_backward(layer))
    buckets.append(machine.collective("allReduce", DENSE_GROUP, 480 * US, 4_194_304))
    machine.await_collective(gradients)
    with machine.span("autograd::engine::evaluate_function: EmbeddingBackward0"):
        for table in model.TABLES:
            machine.launch(*model.lookup_gradient(table))
    machine.await_collective(buckets[-1])
    machine.thread = MAIN_THREAD
