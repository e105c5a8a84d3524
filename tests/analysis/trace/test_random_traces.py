"""Random traces in every layout are read exactly as json and Decimal read them."""

from __future__ import annotations

import os
import random
import signal
from collections import deque
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.errors import UnreadableFileError
from analysis.trace import slices, workers
from analysis.trace.ingest import read_parts
from tests.analysis.trace import oracle
from tests.analysis.trace.comparison import (
    arrows_of,
    assert_chunks_hold_the_events,
    assert_same,
    bars_of,
    names_of,
)
from tests.analysis.trace.trace_texts import damaged, packed, random_events, random_file

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from analysis.trace.model import Trace
    from analysis.trace.workers import Task

    Read = Callable[..., Trace]

EXAMPLES = 250
# The same examples every time: a fault that is found stays found.
RANDOM = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
SOURCES = st.randoms(use_true_random=False)
CHUNKS = st.sampled_from([64, 65, 71, 100, 128, 257, 1000, 1 << 19])


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Writes slices as files and reads them as one trace."""
    folder = tmp_path_factory.mktemp("random")

    def read_slices(*parts: bytes, chunk: int = 1 << 19, jobs: int = 1) -> Trace:
        paths = []
        for at, data in enumerate(parts):
            name = f"trace_{at}.json.gz" if data[:2] == b"\x1f\x8b" else f"trace_{at}.json"
            (folder / name).write_bytes(data)
            paths.append(folder / name)
        return read_parts(paths, root=folder, jobs=jobs, chunk_bytes=chunk, parallel_bytes=0)

    return read_slices


@pytest.fixture(scope="module")
def read_in_segments(read: Read) -> Read:
    """The same with the work of the worker processes done here, one after the other; some of them die."""

    def read_here(data: bytes, chunk: int, jobs: int, dying: Collection[int] = ()) -> Trace:
        def decode_here(
            path: Path, tasks: Sequence[Task], chunk_bytes: int, tick: Callable[[int], None]
        ) -> None:
            for at, task in enumerate(tasks):
                pipe: Any = Pipe()
                workers._work(pipe, os.fspath(path), task.start, task.limit, task.wrapped, chunk_bytes)
                if at in dying:
                    pipe.pop()
                while workers._receive(pipe, task):
                    tick(task.done)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(slices, "decode_all", decode_here)
            # Workers ignore Ctrl-C; this process should not.
            patch.setattr(signal, "signal", lambda *_: None)
            return read(data, chunk=chunk, jobs=jobs)

    return read_here


class Pipe(deque[bytes]):
    """The pipe of a worker, within one process."""

    send_bytes = deque[bytes].append

    def recv_bytes(self) -> bytes:
        if not self:
            raise EOFError
        return self.popleft()


@RANDOM
@given(rng=SOURCES, chunk=CHUNKS)
def test_any_trace_is_read_as_json_and_decimal_read_it(read: Read, rng: random.Random, chunk: int) -> None:
    data = random_file(rng, random_events(rng, 12))
    trace = read(data, chunk=chunk)
    assert_same(trace, oracle.read(data))
    assert_chunks_hold_the_events(trace, data)


@RANDOM
@given(rng=SOURCES, chunk=CHUNKS, jobs=st.integers(2, 5), dying=st.sets(st.integers(0, 4), max_size=2))
def test_segments_of_any_trace_are_put_together_without_a_seam(
    read_in_segments: Read, rng: random.Random, chunk: int, jobs: int, dying: set[int]
) -> None:
    data = random_file(rng, random_events(rng, 16))
    trace = read_in_segments(data, chunk, jobs, dying)
    assert_same(trace, oracle.read(data))
    assert_chunks_hold_the_events(trace, data)


@pytest.mark.parametrize("seed", range(40))
def test_longer_traces_are_read_alike_in_one_piece_and_in_segments(
    read: Read, read_in_segments: Read, seed: int
) -> None:
    rng = random.Random(seed)
    data = random_file(rng, random_events(rng, 300))
    reading = oracle.read(data)
    chunk = rng.choice((64, 200, 1000, 4096, 1 << 19))
    assert_same(read(data, chunk=chunk), reading)
    assert_same(read_in_segments(data, chunk, 2 + seed % 4), reading)


@pytest.mark.parametrize("seed", range(80))
def test_damaged_traces_are_read_alike_whatever_the_chunks_and_workers(
    read: Read, read_in_segments: Read, seed: int
) -> None:
    rng = random.Random(4000 + seed)
    data = damaged(rng, random_file(rng, random_events(rng, 12)))
    chunk, jobs = rng.choice((64, 71, 128, 1000)), rng.randint(2, 5)
    whole = outcome(lambda: read(data))
    assert outcome(lambda: read(data, chunk=chunk)) == whole
    assert outcome(lambda: read_in_segments(data, chunk, jobs)) == whole


def test_lost_bytes_do_not_depend_on_the_workers(read: Read, read_in_segments: Read) -> None:
    """The second segment begins at what only looks like an event and holds no whole one."""
    data = b'{"traceEvents":[{"ph":"X","ts":"1","dur":1} {"a":"","b":[{"ph":"","c":1},{"ph":"","c":1}'
    assert read(data).quality.lost_bytes == len(data) - data.index(b' {"a"')
    assert read_in_segments(data, 64, 2).quality == read(data).quality


def outcome(work: Callable[[], Trace]) -> object:
    """All that a trace says, or why it was refused."""
    try:
        trace = work()
    except UnreadableFileError as error:
        return str(error)
    return (bars_of(trace), arrows_of(trace), names_of(trace), trace.quality, trace.base_ns)


@pytest.mark.parametrize("seed", range(20))
def test_packed_traces_are_read_like_plain_ones(read: Read, seed: int) -> None:
    rng = random.Random(1000 + seed)
    data = random_file(rng, random_events(rng, 100))
    assert_same(read(packed(data), chunk=rng.choice((64, 1000, 1 << 19))), oracle.read(data))


@pytest.mark.parametrize("seed", range(30))
def test_slices_are_read_as_one_list(read: Read, seed: int) -> None:
    rng = random.Random(2000 + seed)
    events = random_events(rng, 60)
    cut, other = sorted((rng.randint(0, len(events)), rng.randint(0, len(events))))
    parts = [random_file(rng, part) for part in (events[:cut], events[cut:other], events[other:])]
    lists = [oracle.parse(part) for part in parts]
    reading = oracle.reading_of(
        [event for one in lists for event in (one if isinstance(one, list) else one["traceEvents"])]
    )
    bases = (one.get("baseTimeNanoseconds", 0) for one in lists if isinstance(one, dict))
    reading.base_ns = next((base for base in bases if base), 0)
    assert_same(read(*parts, chunk=rng.choice((64, 1000, 1 << 19))), reading)


@pytest.mark.parametrize(("seed", "jobs"), [(1, 2), (2, 3), (3, 2), (4, 3)])
def test_worker_processes_read_the_same(read: Read, seed: int, jobs: int) -> None:
    rng = random.Random(3000 + seed)
    data = random_file(rng, random_events(rng, 400))
    assert_same(read(data, chunk=rng.choice((64, 1000, 1 << 19)), jobs=jobs), oracle.read(data))


def test_names_and_ids_of_many_events_keep_their_order(read: Read) -> None:
    """Enough of them that every buffer, dictionary and batch of ids is filled more than once."""
    rng = random.Random(7)
    data = random_file(rng, random_events(rng, 0) + [e for _ in range(400) for e in random_events(rng, 40)])
    reading = oracle.read(data)
    assert len(reading.ends) > 500
    assert_same(read(data, chunk=4096), reading, with_arrows=False)
    assert [(arrow.kind, arrow.id) for arrow in oracle.arrows(reading)] == read(
        data, chunk=4096
    ).flows.select("kind", "id").rows()
