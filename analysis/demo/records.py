"""What the made-up machine of the sample does: kernels, collectives, copies, host calls, in integer ns."""

from __future__ import annotations

from dataclasses import dataclass, replace

US = 1_000
MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Tensors:
    """The operands on one side of an operator, as the profiler's three cells hold them."""

    shapes: str
    dtypes: str
    formats: str


def tensors(*operands: tuple[str, str], layout: str = "ND") -> Tensors:
    """Operands given as (shape, dtype); the shape of a scalar is empty."""
    return Tensors(
        shapes=";".join(shape for shape, _ in operands),
        dtypes=";".join(dtype for _, dtype in operands),
        formats=";".join(layout for _ in operands),
    )


@dataclass(frozen=True, slots=True)
class Pipes:
    """Pipe use of a kernel in thousandths of its cycles; a side whose values are all 0 was not used."""

    aic_mac: int = 0
    aic_scalar: int = 0
    aic_mte1: int = 0
    aic_mte2: int = 0
    aic_fixpipe: int = 0
    aiv_vec: int = 0
    aiv_scalar: int = 0
    aiv_mte2: int = 0
    aiv_mte3: int = 0
    cube_utilization: int = 0
    """Thousandths of a percent."""

    @property
    def uses_cube(self) -> bool:
        """Whether the cube side ran."""
        return self.aic_mac > 0

    @property
    def uses_vector(self) -> bool:
        """Whether the vector side ran."""
        return self.aiv_vec > 0


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of the made-up model: what stays the same from step to step."""

    name: str
    op_type: str
    core: str
    inputs: Tensors
    outputs: Tensors
    duration_ns: int
    block: int
    mix_block: int = 0
    pipes: Pipes | None = None
    """None for AI_CPU kernels, which have no counters."""
    hf32: str = "NO"
    aten: str = ""
    """The torch operator that launches it (training only)."""
    api: str = ""
    """The aclnn function that launches it (training only)."""


@dataclass(frozen=True, slots=True)
class Launch:
    """The host side of one kernel: torch operator, its place in the task queue, the launch itself."""

    thread: int
    host_ns: int
    host_duration_ns: int
    enqueue_ns: int
    dequeue_ns: int
    node_ns: int
    node_duration_ns: int
    connection: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """One execution of an operator on the device."""

    operator: Operator
    step: int
    task: int
    stream: int
    start_ns: int
    duration_ns: int
    pipes: Pipes | None
    launch: Launch | None = None

    @property
    def end_ns(self) -> int:
        """The moment it has finished."""
        return self.start_ns + self.duration_ns


@dataclass(frozen=True, slots=True)
class Collective:
    """One communication operation of a group of ranks."""

    name: str
    op_type: str
    group: str
    step: int
    start_ns: int
    duration_ns: int
    wait_ns: int
    """Waiting for the other ranks; the rest but ``idle_ns`` is transfer."""
    idle_ns: int
    size_bytes: int
    packets: int

    @property
    def end_ns(self) -> int:
        """The moment it has finished."""
        return self.start_ns + self.duration_ns

    @property
    def transit_ns(self) -> int:
        """Time in which data moved."""
        return self.duration_ns - self.wait_ns - self.idle_ns


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy between host and device."""

    direction: str
    """``host to device`` or ``device to host``, as the trace spells it."""
    step: int
    task: int
    stream: int
    start_ns: int
    duration_ns: int
    size_bytes: int

    @property
    def end_ns(self) -> int:
        """The moment it has finished."""
        return self.start_ns + self.duration_ns


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One call of a host function, at the level api_statistic files it under."""

    level: str
    name: str
    start_ns: int
    duration_ns: int


@dataclass(frozen=True, slots=True)
class Span:
    """One range on a host thread: a step, an annotation or a torch operator without a kernel."""

    name: str
    thread: int
    start_ns: int
    duration_ns: int


class Variation:
    """Small differences between executions, the same in every run and on every Python version."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def below(self, limit: int) -> int:
        """The next number from 0 up to ``limit``, which is left out (Knuth's MMIX generator, high bits)."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self._state >> 33) % limit

    def around(self, value: int, per_mille: int) -> int:
        """``value``, up to ``per_mille`` thousandths less or more."""
        reach = value * per_mille // 1000
        return value - reach + self.below(2 * reach + 1)

    def pipes(self, pipes: Pipes | None) -> Pipes | None:
        """The same pipe use, shifted a little where it is not 0."""
        if pipes is None:
            return None
        cube = pipes.cube_utilization
        return replace(
            pipes,
            aic_mac=self._shifted(pipes.aic_mac),
            aic_scalar=self._shifted(pipes.aic_scalar),
            aiv_vec=self._shifted(pipes.aiv_vec),
            aiv_scalar=self._shifted(pipes.aiv_scalar),
            cube_utilization=self.around(cube, 20) if cube else 0,
        )

    def _shifted(self, per_mille: int) -> int:
        return per_mille - 8 + self.below(17) if per_mille else 0
