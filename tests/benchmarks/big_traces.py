"""A made-up trace_view.json of any size, for benchmarks: training steps as torch_npu writes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PYTHON, CANN, HARDWARE, OVERLAP = 4242, 4344063, 4344256, 4344800
MAIN, QUEUE, STREAM = 4242, 4250, 2
OPERATORS = 50
"""Operators of a step; each makes 10 events, about 2.2 kB."""

_STACK = ";\\r\\n".join(
    f"/site-packages/recommender/layers/tower.py({line}): forward" for line in (388, 120, 77)
)
_NAMES = tuple(
    (f"{kind}{number}", f"aten::{kind.lower()}_{number}")
    for number in range(40)
    for kind in ("MatMul", "Add", "Mul", "Gather", "Cast")
)


def write_trace(path: Path, size: int) -> None:
    """Write a trace of at least ``size`` bytes, one event a line; the same for every call."""
    with path.open("w", encoding="ascii") as file:
        written = file.write("[\n" + ",\n".join(_metadata()))
        step = 0
        while written < size:
            written += file.write(",\n" + ",\n".join(_step(step)))
            step += 1
        file.write("\n]\n")


def _metadata() -> Iterator[str]:
    processes = {PYTHON: "Python", CANN: "CANN", HARDWARE: "Ascend Hardware", OVERLAP: "Overlap Analysis"}
    for pid, name in processes.items():
        label = "CPU" if pid in {PYTHON, CANN} else "NPU 0"
        yield _named("process_name", pid, 0, {"name": name})
        yield _named("process_labels", pid, 0, {"labels": label})
    for pid, tid in ((PYTHON, MAIN), (PYTHON, QUEUE), (CANN, QUEUE)):
        yield _named("thread_name", pid, tid, {"name": f"Thread {tid}"})
    yield _named("thread_name", HARDWARE, STREAM, {"name": f"Stream {STREAM}"})
    yield _named("thread_name", OVERLAP, 0, {"name": "Computing"})


def _named(name: str, pid: int, tid: int, args: dict[str, str]) -> str:
    return json.dumps({"ph": "M", "name": name, "pid": pid, "tid": tid, "args": args})


def _step(step: int) -> Iterator[str]:
    """The events of one step, 10 us for each operator; times in ns."""
    begin = 1_767_600_000_000_000_000 + step * (OPERATORS + 5) * 10_000
    yield _bar(f"ProfilerStep#{step}", PYTHON, MAIN, begin, OPERATORS * 10_000, '"cat":"cpu_op","args":{}')
    for at in range(OPERATORS):
        yield from _operator(step * OPERATORS + at, begin + at * 10_000)


def _operator(number: int, at: int) -> Iterator[str]:
    kernel, operator = _NAMES[number * 7 % len(_NAMES)]
    rows, link, device = 1 << number % 12, f'"correlation_id":{number}', at + 6_000
    shapes = f"{rows},128;128,{64 + number % 5}"
    args = f'"Input Dims":"{shapes}","Sequence number":{number},"Call stack":"{_STACK}"'
    yield _bar(operator, PYTHON, MAIN, at + 137, 3_211, f'"cat":"cpu_op","args":{{{args}}}')
    yield _bar(f"Enqueue@aclnn{kernel}", PYTHON, MAIN, at + 1_503, 400, f'"cat":"enqueue","args":{{{link}}}')
    yield _bar(
        f"Dequeue@aclnn{kernel}", PYTHON, QUEUE, at + 2_004, 3_000, f'"cat":"dequeue","args":{{{link}}}'
    )
    yield _bar(
        f"AscendCL@aclnn{kernel}", CANN, QUEUE, at + 2_105, 2_700, f'"args":{{"connection_id":{number}}}'
    )
    launch = (
        f'"args":{{"level":"node","id":{number},"item_id":"aclnn{kernel}_{kernel}","connection_id":{number}}}'
    )
    yield _bar("Node@launch", CANN, QUEUE, at + 2_506, 1_907, launch)
    task = f'"args":{{"Task Type":"AI_CORE","Physic Stream Id":{STREAM},"Task Id":{number % 65_536}'
    name = f"aclnn{kernel}_{kernel}AiCore_{kernel}"
    yield _bar(name, HARDWARE, STREAM, device, 3_401, f'{task},"connection_id":{number}}}')
    yield _bar("Computing", OVERLAP, 0, device, 3_401, '"args":{}')
    yield from _arrow("async_npu", "torch_to_npu", device, (PYTHON, MAIN, at + 137), device)
    end = f'"ph":"f","bp":"e","cat":"HostToDevice","name":"HostToDevice{number}","id":"{number << 32}"'
    yield f'{{{end},"pid":{HARDWARE},"tid":{STREAM},"ts":"{_us(device)}"}}'


def _bar(name: str, pid: int, tid: int, at: int, ns: int, rest: str) -> str:
    where = f'"pid":{pid},"tid":{tid},"ts":"{_us(at)}","dur":{ns / 1000}'
    return f'{{"ph":"X","name":"{name}",{where},{rest}}}'


def _arrow(kind: str, name: str, ident: int, source: tuple[int, int, int], target: int) -> Iterator[str]:
    head = f'"bp":"e","cat":"{kind}","name":"{name}","id":{ident}'
    pid, tid, at = source
    yield f'{{"ph":"s",{head},"pid":{pid},"tid":{tid},"ts":"{_us(at)}"}}'
    yield f'{{"ph":"f",{head},"pid":{HARDWARE},"tid":{STREAM},"ts":"{_us(target)}"}}'


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"
