#!/usr/bin/env python3
"""Made-up Ascend profiles of recommender training, with the answers attached.

The script simulates a few training steps (host threads, device streams,
collectives), writes one ``*_ascend_pt/ASCEND_PROFILER_OUTPUT`` folder per rank
in the layout torch_npu produces, and next to them ``expected.json``: what a
correct analyser should report.  The answers come from the simulation's own
bookkeeping, never from reading the written files back.

    python3 gen_recsys_trace.py --out demo --flavour torchrec --steps 4 --ranks 2

How the simulation works
  * every host thread has a clock; time passes only in ``Rank._advance`` and each
    slice of time is charged to the innermost open span, hence to one phase;
  * every device stream runs its tasks in order; a task starts when its stream is
    free, its inputs are ready, and its launch has reached the device;
  * Computing / Communication / Not Overlapped / Free are set operations on the
    placed tasks, and step_trace_time.csv is cut by the same per-step ranges.
All times are integer nanoseconds until they are written.
"""

import argparse
import bisect
import csv
import json
import os
import random
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field

PRE, LOOKUP, FWD = "data_preprocessing", "embedding_lookup", "forward"
BWD, EMB, DENSE = "backward", "embedding_update", "dense_update"
PHASES = (PRE, LOOKUP, FWD, BWD, EMB, DENSE)
ASYNC_PAIRS = ((PRE, LOOKUP), (EMB, DENSE))
ASYNC_MIN_RATIO = 0.10  # shared time / shorter side, below it: serial

US, MS = 1_000, 1_000_000  # in nanoseconds
EPOCH = 1_760_000_000_000_000_000
DEFAULT_STREAM, MEMCPY_STREAM, DIST_STREAM, UPDATE_STREAM = 2, 12, 14, 20
COMM_STREAM = {"emb": 30, "dist": 31, "dp": 32}


# --------------------------------------------------------------------------- records
@dataclass
class Span:
    """One host-side event (``cat: cpu_op`` in an Ascend trace, annotations included)."""

    name: str
    tid: int
    start: int
    phase: str = None  # own phase, or the one inherited from the parent
    wait: bool = False
    batch: int = None
    step: int = None
    end: int = 0
    depth: int = 0
    seq: int = -1
    fwd_thread: int = 0


@dataclass
class Charge:
    """A slice of host time and the phase that owns it."""

    tid: int
    start: int
    end: int
    phase: str
    step: int
    delegated: bool = False  # main thread blocked while the autograd thread works
    waiting: bool = False  # inside a span marked as a wait


@dataclass
class Task:
    """One device task: kernel, collective or copy."""

    name: str
    kind: str
    core: str
    stream: int
    start: int
    end: int
    phase: str
    step: int
    host: Span
    launched: int
    comm: dict = None
    ident: int = 0


@dataclass
class Api:
    name: str
    tid: int
    start: int
    end: int
    level: str = "acl"
    conn: int = -1


@dataclass
class Step:
    number: int
    start: int
    end: int = 0
    dev_start: int = 0
    dev_end: int = 0


# --------------------------------------------------------------------------- intervals
def union(ivs):
    out = []
    for a, b in sorted(ivs):
        if b <= a:
            continue
        if out and a <= out[-1][1]:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return [tuple(x) for x in out]


def intersect(xs, ys):
    out, i, j = [], 0, 0
    while i < len(xs) and j < len(ys):
        a, b = max(xs[i][0], ys[j][0]), min(xs[i][1], ys[j][1])
        if a < b:
            out.append((a, b))
        if xs[i][1] < ys[j][1]:
            i += 1
        else:
            j += 1
    return out


def subtract(xs, ys):
    out, j = [], 0
    for a, b in xs:
        while j < len(ys) and ys[j][1] <= a:
            j += 1
        k = j
        while k < len(ys) and ys[k][0] < b:
            if a < ys[k][0]:
                out.append((a, ys[k][0]))
            a = max(a, ys[k][1])
            k += 1
        if a < b:
            out.append((a, b))
    return out


def total(ivs):
    return sum(b - a for a, b in ivs)


# --------------------------------------------------------------------------- simulator
class Rank:
    def __init__(self, rank, cfg):
        self.rank, self.cfg = rank, cfg
        self.rng = random.Random(cfg.seed * 1009 + rank)
        self.pid = 410_000 + rank * 100
        self.main = self.pid
        self.autograd = self.pid + 31
        self.data_thread = self.pid + 41
        self.emb_thread = self.pid + 42
        self.update_thread = self.pid + 43
        self.queue_thread = self.pid + 7  # task-queue consumer
        self.clock = defaultdict(lambda: EPOCH)
        self.stack = defaultdict(list)
        self.tid = self.main
        self.spans, self.charges, self.tasks, self.apis = [], [], [], []
        self.stream_end = defaultdict(int)
        self.taken = set()  # device start stamps in use
        self.ready = {}  # label -> time its work is done
        self.steps, self.step = [], None
        self.comm_seq = defaultdict(int)
        self.seq = 7000
        slow = max(cfg.skew) if cfg.skew else 0
        self.extra_lookup = cfg.skew[rank]  # this rank arrives late by so much
        self.comm_wait = slow - cfg.skew[rank]  # ... so the others wait for it

    # -- host time
    @property
    def now(self):
        return self.clock[self.tid]

    def _advance(self, ns, delegated=False):
        ns = int(ns)
        if ns <= 0:
            return
        start = self.now
        self.clock[self.tid] = start + ns
        top = self.stack[self.tid][-1] if self.stack[self.tid] else None
        self.charges.append(
            Charge(
                self.tid,
                start,
                start + ns,
                top.phase if top else None,
                self.step.number if self.step else None,
                delegated,
                any(s.wait for s in self.stack[self.tid]),
            )
        )

    def busy(self, ns):
        self._advance(ns * self.rng.uniform(0.94, 1.06))

    def until(self, when, delegated=False):
        self._advance(when - self.now, delegated)

    @contextmanager
    def on(self, tid, not_before):
        """Run the body on another host thread, no earlier than the given time."""
        back, self.tid = self.tid, tid
        self.clock[tid] = max(self.clock[tid], not_before)
        yield
        self.tid = back

    @contextmanager
    def span(self, name, phase=None, wait=False, batch=None, bwd_of=None):
        stack = self.stack[self.tid]
        inherited = stack[-1].phase if stack else None
        s = Span(
            name,
            self.tid,
            self.now,
            phase or inherited,
            wait,
            batch,
            self.step.number if self.step else None,
            depth=len(stack),
        )
        if bwd_of is not None:
            s.seq, s.fwd_thread = bwd_of, 1
        stack.append(s)
        self.spans.append(s)
        self._advance(1 * US)  # entry cost keeps children strictly inside
        yield s
        self._advance(1 * US)
        stack.pop()
        s.end = self.now

    def next_seq(self):
        self.seq += 1
        return self.seq

    @contextmanager
    def train_step(self, number):
        self.tid = self.main
        self.step = Step(number, self.now)
        with self.span(f"ProfilerStep#{number}"):
            yield
        self.step.end = self.now
        self.steps.append(self.step)
        self.step = None
        self.clock[self.main] += 3 * US

    # -- device
    def _place(self, stream, ns, after):
        gap = self.rng.randint(200, 1500)  # scheduling gap between tasks
        start = max(
            self.now + int(40 * US * self.rng.uniform(0.8, 1.3)), self.stream_end[stream] + gap, after + gap
        )
        while start in self.taken:  # the flow id is the start stamp
            start += 1
        self.taken.add(start)
        self.stream_end[stream] = start + max(int(ns), 500)
        return start, self.stream_end[stream]

    def _queue_apis(self, call, conn):
        """Dequeue on the task-queue thread, then the launch call inside it."""
        t = max(self.now + 6 * US, self.clock[self.queue_thread])
        self.clock[self.queue_thread] = t + 9 * US
        self.apis.append(Api(f"Dequeue@{call}", self.queue_thread, t, t + 9 * US, "queue", conn))
        self.apis.append(Api("Node@launch", self.queue_thread, t + 3 * US, t + 7 * US, "node", conn))

    def launch(self, kind, ns, stream=DEFAULT_STREAM, after=0, core="AI_VECTOR_CORE", name=None, comm=None):
        host = self.stack[self.tid][-1]
        start, end = self._place(stream, ns * (1 if comm else self.rng.uniform(0.92, 1.08)), after)
        task = Task(
            name or f"aclnn{kind}_{kind}AiCore_{kind}",
            kind,
            core,
            stream,
            start,
            end,
            host.phase,
            self.step.number if self.step else None,
            host,
            self.now,
            comm,
            len(self.tasks) + 1,
        )
        self.tasks.append(task)
        self._queue_apis(kind, task.ident)
        return task

    def op(self, name, host_ns, kernel=None, phase=None, **kw):
        """A leaf operator: host cost, and at most one device task."""
        with self.span(name, phase, bwd_of=kw.pop("bwd_of", None)):
            task = self.launch(kernel[0], kernel[1], **kw) if kernel else None
            self.busy(host_ns)
        return task

    def copy(self, name, ns, stream, kind="acl_memcpy_host_to_device", after=0):
        with self.span(name):
            with self.span("aten::_to_copy"):
                with self.span("aten::copy_"):
                    task = self.launch("MEMCPY_ASYNC", ns, stream, after, core="SDMA", name="MEMCPY_ASYNC")
                    task.comm = {"copy": kind}
                    self.busy(25 * US)
        return task

    def collective(self, op, transit, group="emb", size_mb=64.0, after=0, waits=None, own_wait=None):
        """HCCL collective: time on the device is transfer plus waiting for the slowest rank."""
        c10d, hccl = {
            "alltoallv": ("c10d::alltoall_base_", "HcclAlltoAllV"),
            "allReduce": ("c10d::allreduce_", "HcclAllreduce"),
        }[op]
        wait = self.comm_wait if own_wait is None else own_wait
        transit = int(transit * self.rng.uniform(0.97, 1.03))
        i = self.comm_seq[group]
        self.comm_seq[group] += 1
        gid = {"emb": 613, "dist": 614, "dp": 615}[group]
        info = dict(op=op, group=f"1075{gid}0013{gid}", transit=transit, wait=wait, size=size_mb)
        with self.span(c10d):
            with self.span(hccl):
                t = self.launch(
                    f"hcom_{op}_",
                    transit + wait,
                    COMM_STREAM[group],
                    after,
                    "HCCL",
                    f"hcom_{op}__{gid}_{i}_1",
                    info,
                )
                self.busy(18 * US)
        return t

    def sync(self, when, via="aten::_local_scalar_dense"):
        """Host blocks until the device reaches a point."""
        with self.span(via):
            start = self.now
            self.until(max(when + 8 * US, start + 4 * US))
            self.apis.append(Api("AscendCL@aclrtSynchronizeStreamWithTimeout", self.tid, start, self.now))

    def read_loss(self):
        """Loss readback: of the previous step when overlapping, else of this one (a full stop)."""
        with self.span("loss.item"):
            self.sync(self.ready.get("previous", 0) if self.cfg.overlap else self.device_done(), "aten::item")
        self.ready["previous"] = self.device_done(DEFAULT_STREAM)

    def device_done(self, *streams):
        return max(self.stream_end[s] for s in (streams or list(self.stream_end) or [0]))

    def traps(self):
        """Names that contain a keyword but belong to no phase."""
        if not self.cfg.traps:
            return
        for name in (
            "metrics.log_step",
            "database_heartbeat",
            "grad_norm_logger.poll",
            "pathfinder.refresh",
            "hash_seed_check",
            "backward_compat_shim",
            "embedding_dim_assert",
        ):
            with self.span(name):
                self.busy(22 * US)

    # -- model parts shared by the flavours
    def dense_forward(self, ms):
        """Dense layers; returns (sequence numbers, last kernel)."""
        n, seqs, task = max(2, int(6 * self.cfg.scale)), [], None
        for i in range(n):
            s = self.next_seq()
            seqs.append(s)
            with self.span("aten::linear") as sp:
                sp.seq = s
                task = self.op(
                    "aten::addmm",
                    160 * US,
                    ("MatMulV2", ms * MS / n * 0.7),
                    core="AI_CORE",
                    after=self.ready.get("emb_out", 0),
                )
            if i % 3 == 0:  # looks like preprocessing, is forward
                self.op("aten::_to_copy", 15 * US, ("Cast", ms * MS / n * 0.1))
            self.op("aten::relu", 70 * US, ("Relu", ms * MS / n * 0.2))
        self.op("aten::binary_cross_entropy_with_logits", 30 * US, ("BinaryCrossEntropy", 60 * US))
        return seqs, task

    def dense_backward(self, seqs, ms, buckets=2, overlap=True):
        """Runs on the autograd thread; allreduce per bucket as in DDP."""
        n = len(seqs)
        for i, s in enumerate(reversed(seqs)):
            with self.span("autograd::engine::evaluate_function: AddmmBackward0", BWD, bwd_of=s):
                with self.span("AddmmBackward0", bwd_of=s):
                    k = self.op("aten::mm", 190 * US, ("MatMulV2", ms * MS / n), core="AI_CORE")
            with self.span("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", BWD):
                with self.span("torch::autograd::AccumulateGrad"):
                    self.op("aten::detach", 6 * US)
                if buckets and (i + 1) % max(1, n // buckets) == 0:
                    self.op("torch.distributed.ddp.reducer::copy_bucket_to_grad", 8 * US)
                    t = self.collective("allReduce", 2.4 * MS, "dp", 48.0, after=k.end, own_wait=0)
                    self.ready["allreduce"] = t.end
                    if not overlap:
                        self.stream_end[DEFAULT_STREAM] = max(self.stream_end[DEFAULT_STREAM], t.end)

    def optimizer_step(self, cls, phase, ms, after=0):
        with self.span(f"Optimizer.step#{cls}.step", phase):
            n = max(2, int(4 * self.cfg.scale))
            for _ in range(n):
                self.op(
                    "aten::_fused_adamw_" if "Adam" in cls else "aten::_foreach_add_",
                    220 * US,
                    ("ApplyAdamWV2" if "Adam" in cls else "ForeachAddList", ms * MS / n),
                    after=after,
                )

    def zero_grad(self, cls="Adam", wrap="## zero_grad ##"):
        with self.span(wrap, DENSE):
            with self.span(f"Optimizer.zero_grad#{cls}.zero_grad", DENSE):
                for _ in range(2):
                    self.op("aten::zero_", 14 * US, ("ZerosLike", 25 * US))


# --------------------------------------------------------------------------- flavours
def step_torchrec(r, k):
    """Sparse-dist pipeline: one host thread, several streams, batch index in the names."""
    d, over = r.cfg.depth, r.cfg.overlap
    data_b, dist_b = k + d, k + max(d - 1, 0)
    memcpy = MEMCPY_STREAM if over else DEFAULT_STREAM

    def load():
        with r.span(f"## copy_batch_to_gpu {data_b} ##", PRE, batch=data_b):
            with r.span("## next_batch ##", PRE):
                with r.span("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", PRE):
                    r.busy(0.9 * MS)
            done = 0
            for _ in range(max(1, int(3 * r.cfg.scale))):
                done = r.copy("aten::to", 5.0 * MS / max(1, int(3 * r.cfg.scale)), memcpy).end
            r.ready["h2d", data_b] = done
            if not over:
                r.sync(r.device_done())

    def start_dist():
        with r.span(f"## start_sparse_data_dist {dist_b} ##", LOOKUP, batch=dist_b):
            with r.span("[splits_dist]_[ebc]_[row_wise]", LOOKUP):
                r.busy(r.extra_lookup)
                r.op(
                    "fbgemm::block_bucketize_sparse_features",
                    120 * US,
                    ("BlockBucketizeSparseFeatures", 500 * US),
                    stream=DIST_STREAM if over else DEFAULT_STREAM,
                    after=r.ready.get(("h2d", dist_b), 0),
                )
                with r.span("## all2all_data:kjt splits ##"):
                    t = r.collective("alltoallv", 4.0 * MS, "dist", 2.0)
                    r.ready["splits", dist_b] = t.end
            if not over:
                r.sync(r.device_done())

    def wait_dist():
        with r.span(f"## wait_sparse_data_dist {dist_b} ##", LOOKUP, wait=True, batch=dist_b):
            r.sync(r.ready.get(("splits", dist_b), 0))
            with r.span("## all2all_data:kjt values ##"):
                t = r.collective("alltoallv", 2.5 * MS, "dist", 24.0, own_wait=0)
                r.ready["dist", dist_b] = t.end
                if not over:
                    r.sync(t.end)

    r.zero_grad()
    r.traps()
    with r.span(f"## wait_for_batch {k} ##", PRE, wait=True, batch=k):
        r.op("wait_event", 12 * US)
    if d == 0:
        load()
    start_dist()
    if d > 0:
        load()
    if d < 2:
        wait_dist()
    with r.span(f"## forward {k} ##", FWD, batch=k):
        with r.span("[lookup]_[ebc]_[row_wise]", LOOKUP):
            r.op(
                "fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function",
                160 * US,
                ("SplitEmbeddingCodegenForwardUnweighted", 2.2 * MS),
                after=r.ready.get(("dist", k), 0),
            )
        with r.span("[output_dist]_[ebc]_[row_wise]", LOOKUP):
            with r.span("## all2all_pooled ##"):
                with r.span("## All2All_Pooled_fwd ##"):
                    out = r.collective(
                        "alltoallv", 3.6 * MS, "emb", 96.0, after=r.device_done(DEFAULT_STREAM), own_wait=0
                    )
        r.ready["emb_out"] = 0
        if over:  # bottom MLP hides part of the all2all
            with r.span("aten::linear"):
                r.op("aten::addmm", 40 * US, ("MatMulV2", 1.5 * MS), core="AI_CORE")
        with r.span("## EmbeddingBagCollectionAwaitable wait() ##", LOOKUP, wait=True):
            if over:
                r.op("wait_event", 15 * US)
            else:
                r.sync(out.end)
        r.ready["emb_out"] = out.end
        seqs, _ = r.dense_forward(4.5)
    if d >= 2:
        wait_dist()
    with r.span(f"## backward {k} ##", BWD, batch=k):
        start = r.now
        with r.on(r.autograd, start + 20 * US):
            r.dense_backward(seqs, 6.0, overlap=over)
            with r.span("autograd::engine::evaluate_function: All2All_Pooled_WaitBackward", EMB):
                with r.span("## All2All_Pooled_bwd ##"):  # the gradient all2all starts here ...
                    g = r.collective(
                        "alltoallv", 3.4 * MS, "emb", 96.0, after=r.device_done(DEFAULT_STREAM), own_wait=0
                    )
            with r.span("autograd::engine::evaluate_function: All2All_Pooled_ReqBackward", EMB):
                r.op("wait_event", 10 * US)  # ... and is awaited here
            tbe = "torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>"
            with r.span(f"autograd::engine::evaluate_function: {tbe}", EMB):
                r.op(tbe, 140 * US, ("BackwardCodegenAdagradUnweightedExact", 3.0 * MS), after=g.end)
            end = r.now
        r.until(end + 15 * US, delegated=True)
    with r.span(f"## optimizer {k} ##", DENSE, batch=k):
        r.optimizer_step("Adam", DENSE, 2.0, after=r.ready.get("allreduce", 0))
    r.read_loss()


def step_naive(r, k):
    """Plain loop: no annotations, no prefetch, sparse and dense optimizers one after the other."""
    over = r.cfg.overlap
    with r.span("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", PRE):
        r.busy(6.0 * MS)
    with r.span("batch_to_device", PRE):
        h2d = r.copy("aten::to", 4.0 * MS, DEFAULT_STREAM)
        r.sync(h2d.end, "aten::item")
    r.traps()
    with r.span("DistributedDataParallel.forward", FWD):
        with r.span("embedding_forward", LOOKUP):
            r.busy(r.extra_lookup)
            r.op("aten::unique_dim", 90 * US, ("UniqueWithCountsAndSorting", 1.2 * MS))
            ids = r.collective("alltoallv", 2.0 * MS, "emb", 8.0, after=r.device_done(DEFAULT_STREAM))
            seq_e = r.next_seq()
            r.op("aten::embedding", 70 * US, ("GatherV3", 1.8 * MS), after=ids.end).host.seq = seq_e
            out = r.collective(
                "alltoallv", 3.0 * MS, "emb", 64.0, after=r.device_done(DEFAULT_STREAM), own_wait=0
            )
            r.sync(out.end, "aten::item")
        seqs, _ = r.dense_forward(8.0)
    start = r.now  # loss.backward(): the main thread records nothing
    with r.on(r.autograd, start + 25 * US):
        r.dense_backward(seqs, 10.0, overlap=over)
        with r.span("autograd::engine::evaluate_function: EmbeddingBackward0", BWD, bwd_of=seq_e):
            with r.span("EmbeddingBackward0", bwd_of=seq_e):
                with r.span("aten::embedding_dense_backward"):
                    r.op("aclnnEmbeddingDenseBackward", 50 * US, ("EmbeddingDenseGrad", 2.6 * MS))
        end = r.now
    main_stack = r.stack[r.main][-1]
    main_stack.phase = BWD  # the covered gap counts as backward
    r.until(end + 10 * US, delegated=True)
    main_stack.phase = None
    r.optimizer_step("SparseAdam", EMB, 3.0)
    r.optimizer_step("AdamW", DENSE, 2.4, after=r.ready.get("allreduce", 0))
    with r.span("Optimizer.zero_grad#AdamW.zero_grad", DENSE):
        r.op("aten::zero_", 14 * US, ("ZerosLike", 25 * US))
    with r.span("loss.item"):
        r.sync(r.device_done(), "aten::item")


def step_seed(r, k):
    """Worker-thread pipeline with dotted names and future.result style waits."""
    d, over = r.cfg.depth, r.cfg.overlap

    def preprocess(batch):
        with r.span("feature_transform", PRE):
            with r.span("collate", PRE):
                r.busy(3.0 * MS * r.cfg.worker_load)
            r.busy(5.0 * MS * r.cfg.worker_load)
        with r.span("input_copy", PRE):
            t = r.copy("aten::to", 4.0 * MS, MEMCPY_STREAM if over else DEFAULT_STREAM)
            if not over:
                r.sync(t.end, "aten::item")
        r.ready["data", batch] = r.now

    def lookup(batch):
        with r.span("embedding.prepare", LOOKUP):
            r.busy(r.extra_lookup)
            with r.span("hash_find", LOOKUP):
                r.busy(4.0 * MS * r.cfg.worker_load)
        with r.span("embedding.all2all", LOOKUP):
            t = r.collective("alltoallv", 6.0 * MS, "dist", 80.0)
            if not over:
                with r.span("wait_all2all", LOOKUP, wait=True):
                    r.sync(t.end)
            else:
                r.sync(t.end)
        with r.span("embedding.relocate", LOOKUP):
            g = r.op(
                "aten::index_select",
                60 * US,
                ("GatherV2", 1.5 * MS),
                after=t.end,
                stream=DIST_STREAM if over else DEFAULT_STREAM,
            )
        r.ready["emb", batch] = r.now
        r.ready["emb_dev", batch] = g.end

    r.traps()
    if over and d > 0:
        # two workers: features for batch k+d, lookup for the batch whose features are ready
        with r.on(r.data_thread, r.now):
            with r.span("prefetch_worker.data", PRE, batch=k + d):
                preprocess(k + d)
        with r.on(r.emb_thread, max(r.now, r.ready.get(("data", k + d - 1), 0))):
            with r.span("prefetch_worker.embedding", LOOKUP, batch=k + d - 1):
                lookup(k + d - 1)
        with r.span("prefetch.result", LOOKUP, wait=True):
            r.until(max(r.ready.get(("emb", k), 0) + 6 * US, r.now + 5 * US))
    else:
        preprocess(k + d)
        lookup(k + d)
        with r.span("wait_prepare", LOOKUP, wait=True):
            r.busy(30 * US)
    r.ready["emb_out"] = r.ready.get(("emb_dev", k), 0)
    with r.span("pipeline.forward", FWD):
        seqs, _ = r.dense_forward(9.0)
    with r.span("pipeline.backward", BWD):
        with r.on(r.autograd, r.now + 20 * US):
            r.dense_backward(seqs, 11.0, overlap=over)
            end = r.now
        r.until(end + 15 * US, delegated=True)

    def update():
        with r.span("embedding_backward", EMB):
            r.op(
                "aten::index_add_",
                60 * US,
                ("InplaceIndexAdd", 1.0 * MS),
                stream=UPDATE_STREAM if over else DEFAULT_STREAM,
                after=r.device_done(DEFAULT_STREAM),
            )
            with r.span("all2all_grad", EMB):
                t = r.collective(
                    "alltoallv",
                    4.0 * MS,
                    "emb",
                    80.0,
                    own_wait=0,
                    after=r.device_done(UPDATE_STREAM if over else DEFAULT_STREAM),
                )
            with r.span("table_update.upsert", EMB):
                r.op(
                    "aten::index_copy_",
                    60 * US,
                    ("ScatterNdUpdate", 2.0 * MS),
                    after=t.end,
                    stream=UPDATE_STREAM if over else DEFAULT_STREAM,
                )
                r.sync(r.device_done(UPDATE_STREAM if over else DEFAULT_STREAM))
        return r.now

    if over:
        with r.on(r.update_thread, r.now):
            r.ready["update", k] = update()
    else:
        update()
    with r.span("optimizer.step", DENSE):
        r.optimizer_step("Muon", DENSE, 8.0, after=r.ready.get("allreduce", 0))
    r.zero_grad("Muon", "optimizer.zero_grad")
    if over:
        with r.span("future.result", EMB, wait=True):
            r.until(max(r.ready["update", k] + 6 * US, r.now + 4 * US))
    r.read_loss()


def step_embcache(r, k):
    """Host table behind a device cache: swap-in, swap-out, and pool-thread waits."""
    d, over = max(r.cfg.depth, 4), r.cfg.overlap
    dist = MEMCPY_STREAM if over else DEFAULT_STREAM
    r.zero_grad()
    r.traps()
    with r.span(f"## wait_sparse_data_dist {k + 3} ##", LOOKUP, wait=True, batch=k + 3):
        r.sync(r.ready.get(("splits", k + 3), 0))
    with r.span("## wait_for_batch ##", PRE, wait=True):
        r.op("wait_event", 12 * US)
    with r.span("## _fuse_input_dist_splits ##", LOOKUP):
        r.busy(0.2 * MS)
    with r.span(f"## copy_batch_to_gpu {k + d} ##", PRE, batch=k + d):
        with r.span("## next_batch ##", PRE):
            r.busy(1.2 * MS)
        h = r.copy("aten::to", 4.5 * MS, dist)
        if not over:
            r.sync(h.end)
    with r.span(f"## start_sparse_data_dist {k + d} ##", LOOKUP, batch=k + d):
        r.busy(r.extra_lookup)
        r.op("hybrid::unique_hash", 0.3 * MS)
        t = r.collective("alltoallv", 5.0 * MS, "dist", 12.0)
        r.ready["splits", k + d] = t.end
        if not over:
            r.sync(t.end)
    with r.span("## _host_embedding_update ##", EMB):
        r.busy(0.5 * MS)
    with r.span("## swapin_embs_optims_to_npu ##", LOOKUP):
        with r.span("## embedding_lookup_async get in initiate_swap_in ##", LOOKUP, wait=True):
            r.busy(1.5 * MS)
        s = r.copy("aten::to", 2.0 * MS, dist)
        if not over:
            r.sync(s.end)
    with r.span("## wait_and_swapin ##", LOOKUP):
        r.op("aten::index_copy_", 40 * US, ("ScatterNdUpdate", 0.8 * MS), after=s.end)
    r.ready["emb_out"] = 0
    with r.span("## forward ##", FWD):
        with r.span("[lookup]_[ec]_[row_wise]", LOOKUP):
            r.op(
                "fbgemm::split_embedding_codegen_lookup_adagrad_function",
                120 * US,
                ("SplitEmbeddingCodegenForwardUnweighted", 1.8 * MS),
            )
        with r.span("[output_dist]_[ec]_[row_wise]", LOOKUP):
            o = r.collective(
                "alltoallv", 3.0 * MS, "emb", 64.0, after=r.device_done(DEFAULT_STREAM), own_wait=0
            )
        r.ready["emb_out"] = o.end
        seqs, _ = r.dense_forward(7.0)
    with r.span("## wait_and_get_swap_info ##", LOOKUP, wait=True):
        r.busy(0.6 * MS)
    with r.span("## start_compute_swap_info ##", LOOKUP):
        r.busy(0.3 * MS)
    with r.span("## host_embedding_lookup_async ##", LOOKUP):
        r.busy(0.15 * MS)
    with r.span("## restore ##", LOOKUP):
        r.busy(0.1 * MS)
    with r.span("## backward ##", BWD):
        with r.on(r.autograd, r.now + 20 * US):
            r.dense_backward(seqs, 8.0, overlap=over)
            node = "torch::autograd::CppNode<SplitLookupFunction_adagrad_Op>"
            with r.span(f"autograd::engine::evaluate_function: {node}", EMB):
                r.op(node, 120 * US, ("BackwardCodegenAdagradUnweightedExact", 2.5 * MS))
            end = r.now
        r.until(end + 15 * US, delegated=True)
    with r.span("## optimizer ##", DENSE):
        r.optimizer_step("Adam", DENSE, 6.0, after=r.ready.get("allreduce", 0))
        if not over:
            r.sync(r.device_done())
    with r.span("## _post_input_dist ##", LOOKUP):
        with r.span("## wait input_dist_tensors_requests ##", LOOKUP, wait=True):
            r.busy(0.4 * MS)
    with r.span("## swap_out ##", EMB):
        last_bwd = max(t.end for t in r.tasks if t.phase == EMB and t.step == r.step.number)
        s = r.copy("aten::to", 5.0 * MS, dist, "acl_memcpy_device_to_host", after=last_bwd)
    with r.span("## wait wait_host_update ##", EMB, wait=True):
        r.sync(s.end)
    r.read_loss()


FLAVOURS = {"torchrec": step_torchrec, "naive": step_naive, "seed": step_seed, "embcache": step_embcache}


def depth_truth(cfg):
    """How far ahead each kind of work runs, and what in the trace shows it."""
    d = cfg.depth
    if cfg.flavour == "naive":
        return dict(data=0, input_dist=0, evidence="none")
    if cfg.flavour == "torchrec":
        return dict(data=d, input_dist=max(d - 1, 0), evidence="batch index in names")
    if cfg.flavour == "embcache":
        d = max(d, 4)
        return dict(
            data=d,
            input_dist=d,
            observable_gap=d - 3,
            evidence=f"index gap only (forward has no index): copy runs {d - 3} ahead of the dist wait",
        )
    if cfg.overlap:
        return dict(data=d, input_dist=max(d - 1, 0), evidence="wait end meets worker end (FIFO pairing)")
    return dict(data=d, input_dist=d, evidence="not observable: no index and no worker thread")


# --------------------------------------------------------------------------- answers
class Truth:
    """Derived facts of one rank, computed from the placed spans and tasks."""

    def __init__(self, r):
        self.r = r
        comp = union((t.start, t.end) for t in r.tasks if t.core.startswith("AI_"))
        comm = union((t.start, t.end) for t in r.tasks if t.core == "HCCL")
        lo, hi = min(t.start for t in r.tasks), max(t.end for t in r.tasks)
        self.tracks = {
            "Computing": comp,
            "Communication": comm,
            "Communication(Not Overlapped)": subtract(comm, comp),
            "Free": subtract([(lo, hi)], union(comp + comm)),
        }
        for s in r.steps:
            mine = [t for t in r.tasks if t.step == s.number]
            s.dev_start = min(t.start for t in mine)
            s.dev_end = max(max(t.end for t in mine), s.end)

    def step_of(self, when):
        """The profiler gives a segment to the first step whose device range holds its start."""
        return next((s for s in self.r.steps if s.dev_start <= when < s.dev_end), None)

    def step_rows(self):
        rows = []
        for s in self.r.steps:
            mine = {n: [iv for iv in ivs if self.step_of(iv[0]) is s] for n, ivs in self.tracks.items()}
            every = [iv for ivs in mine.values() for iv in ivs]
            busy = [iv for n in ("Computing", "Communication") for iv in mine[n]]
            c, m, n, f = (total(mine[x]) for x in self.tracks)
            e2e = max(b for _, b in every) - min(a for a, _ in every)
            rows.append(
                dict(
                    step=s.number,
                    computing=c,
                    communication=m,
                    not_overlapped=n,
                    overlapped=m - n,
                    free=f,
                    stage=e2e,
                    preparing=min(a for a, _ in busy) - s.start,
                )
            )
        return rows

    def file_rows(self):
        """What step_trace_time.csv holds: one row per step, or one blank row when steps were not found."""
        if self.r.cfg.step_ids:
            return self.step_rows()
        c, m, n, f = (total(self.tracks[x]) for x in self.tracks)
        every = [iv for ivs in self.tracks.values() for iv in ivs]
        first = min(a for a, _ in self.tracks["Computing"] + self.tracks["Communication"])
        return [
            dict(
                step="",
                computing=c,
                communication=m,
                not_overlapped=n,
                overlapped=m - n,
                free=f,
                stage=max(b for _, b in every) - min(a for a, _ in every),
                preparing=first - self.r.steps[0].start,
            )
        ]

    def host(self):
        out = {}
        auto, mine = defaultdict(list), defaultdict(list)
        for c in self.r.charges:
            if c.tid == self.r.autograd and c.phase == EMB:
                auto[c.step].append((c.start, c.end))
            elif c.tid == self.r.main:
                mine[c.step].append(c)
        for s in self.r.steps:
            pure, attributed = dict.fromkeys(PHASES, 0), dict.fromkeys(PHASES, 0)
            unclassified, updating = 0, union(auto[s.number])
            for c in mine[s.number]:
                ns = c.end - c.start
                if c.phase is None:
                    unclassified += ns
                    continue
                pure[c.phase] += ns
                given = total(intersect([(c.start, c.end)], updating)) if c.delegated else 0
                attributed[c.phase] += ns - given
                attributed[EMB] += given
            out[s.number] = dict(
                step_us=us(s.end - s.start),
                main_thread_us=scaled(pure),
                attributed_us=scaled(attributed),
                unclassified_us=us(unclassified),
            )
        return out

    def pair(self, a, b):
        host = {p: defaultdict(list) for p in (a, b)}
        for c in self.r.charges:  # waiting is not working
            if c.phase in host and not c.waiting:
                host[c.phase][c.tid].append((c.start, c.end))
        shared_h = total(
            union(
                iv
                for ta, x in host[a].items()
                for tb, y in host[b].items()
                if ta != tb
                for iv in intersect(union(x), union(y))
            )
        )
        dev = {p: union((t.start, t.end) for t in self.r.tasks if t.phase == p) for p in (a, b)}
        shared_d = total(intersect(dev[a], dev[b]))
        short_h = min(total(union(iv for v in host[p].values() for iv in v)) for p in (a, b))
        short_d = min(total(dev[p]) for p in (a, b))
        rh, rd = (x / y if y else 0.0 for x, y in ((shared_h, short_h), (shared_d, short_d)))
        verdict = (
            "async (threads)"
            if rh >= ASYNC_MIN_RATIO
            else "async (streams)"
            if rd >= ASYNC_MIN_RATIO
            else "serial"
        )
        return dict(pair=[a, b], verdict=verdict, host_ratio=round(rh, 4), device_ratio=round(rd, 4))

    def waits(self):
        out = defaultdict(lambda: dict(count=0, total_us=0.0, max_us=0.0, phase=None))
        per_step = defaultdict(float)
        for s in self.r.spans:
            if s.wait and s.tid == self.r.main:
                key = " ".join("N" if w.isdigit() else w for w in s.name.split())
                o, d = out[key], us(s.end - s.start)
                o["count"] += 1
                o["total_us"] = round(o["total_us"] + d, 3)
                o["max_us"] = max(o["max_us"], d)
                o["phase"] = s.phase
                per_step[s.step] = round(per_step[s.step] + d, 3)
        return dict(by_name=dict(out), per_step_us=dict(per_step))

    def top_not_overlapped(self, n=10):
        comms = [t for t in self.r.tasks if t.core == "HCCL"]
        main = sorted((c for c in self.r.charges if c.tid == self.r.main), key=lambda c: c.start)
        starts = [c.start for c in main]
        segs = sorted(self.tracks["Communication(Not Overlapped)"], key=lambda iv: (iv[0] - iv[1], iv[0]))[:n]
        out = []
        for a, b in segs:
            cover = sorted(
                (
                    (total(intersect([(a, b)], [(t.start, t.end)])), t)
                    for t in comms
                    if t.start < b and t.end > a
                ),
                key=lambda x: -x[0],
            )
            share = defaultdict(int)
            for ns, t in cover:
                share[t.phase] += ns
            ranked = sorted(share.items(), key=lambda x: -x[1])
            mid = (a + b) // 2
            i = bisect.bisect_right(starts, mid) - 1
            aligned = main[i].phase if i >= 0 and main[i].end > mid else None
            step = self.step_of(a)
            out.append(
                dict(
                    start_us=stamp(a),
                    dur_us=us(b - a),
                    step=step.number if step else None,
                    phase=ranked[0][0],
                    ambiguous=len(ranked) > 1 and ranked[1][1] > 0.3 * ranked[0][1],
                    ops=[t.name for _, t in cover],
                    phase_by_plain_time_alignment=aligned,
                )
            )
        return out

    def comm_totals(self):
        ops = [t for t in self.r.tasks if t.core == "HCCL"]
        transit, wait = sum(t.comm["transit"] for t in ops), sum(t.comm["wait"] for t in ops)
        m, n = total(self.tracks["Communication"]), total(self.tracks["Communication(Not Overlapped)"])
        alone = self.tracks["Communication(Not Overlapped)"]
        exposed = {p: intersect(union((t.start, t.end) for t in ops if t.phase == p), alone) for p in PHASES}
        by_phase = {
            p: total(subtract(iv, union(x for q in PHASES if q != p for x in exposed[q])))
            for p, iv in exposed.items()
        }
        by_phase["shared_by_two_phases"] = n - sum(by_phase.values())
        return dict(
            communication_us=us(m),
            not_overlapped_us=us(n),
            not_overlapped_ratio=round(n / m, 4),
            transit_ms=transit / MS,
            wait_ms=wait / MS,
            wait_ratio=round(wait / (wait + transit), 4),
            not_overlapped_us_by_phase=scaled(by_phase),
        )

    def h2d_in_free(self):
        copies = union((t.start, t.end) for t in self.r.tasks if t.kind == "MEMCPY_ASYNC")
        return us(total(intersect(copies, self.tracks["Free"])))

    def depth(self):
        out = dict(depth_truth(self.r.cfg))
        if out["evidence"].startswith("wait end"):
            longest = max((s.end - s.start for s in self.r.spans if s.name == "prefetch.result"), default=0)
            if longest < 50 * US:
                out["evidence"] = (
                    "not observable here: no wait ever blocks, so workers are just 'far enough' ahead"
                )
        return out

    def report(self):
        return dict(
            rank=self.r.rank,
            steps=[s.number for s in self.r.steps],
            host=self.host(),
            async_pairs=[self.pair(*p) for p in ASYNC_PAIRS],
            prefetch_depth=self.depth(),
            waits=self.waits(),
            communication=self.comm_totals(),
            step_trace_us=[
                {k: (v if k == "step" else us(v)) for k, v in row.items()} for row in self.file_rows()
            ],
            copies_inside_free_us=self.h2d_in_free(),
            top_not_overlapped=self.top_not_overlapped(),
        )


def us(ns):
    return round(ns / US, 3)


def stamp(ns):
    return f"{ns // US}.{ns % US:03d}"


def scaled(d):
    return {k: us(v) for k, v in d.items()}


# --------------------------------------------------------------------------- writers
LAYER = {"CANN": 7, "Ascend Hardware": 13, "Communication": 15, "Overlap Analysis": 23}


def layer_pid(r, layer):
    return (r.pid << 10) | (LAYER[layer] << 5) | r.rank % 32


def trace_events(r, truth):
    ev, meta = [], lambda n, p, t, **a: ev.append(dict(ph="M", name=n, pid=p, tid=t, args=a))
    meta("process_name", r.pid, 0, name="Python")
    meta("process_labels", r.pid, 0, labels="CPU")
    meta("process_sort_index", r.pid, 0, sort_index=0)
    for tid in sorted({s.tid for s in r.spans} | {r.queue_thread}):
        meta("thread_name", r.pid, tid, name=f"Thread {tid}")
    for layer, index in LAYER.items():
        p = layer_pid(r, layer)
        meta("process_name", p, 0, name=layer)
        meta("process_labels", p, 0, labels="CPU" if layer == "CANN" else f"NPU {r.rank}")
        meta("process_sort_index", p, 0, sort_index=index)
    hw, hccl, cann, ov = (
        layer_pid(r, x) for x in ("Ascend Hardware", "Communication", "CANN", "Overlap Analysis")
    )
    for stream in sorted({t.stream for t in r.tasks}):
        meta("thread_name", hw, stream, name=f"Stream {stream}")
    groups = {g: i * 4 for i, g in enumerate(sorted({t.comm["group"] for t in r.tasks if t.core == "HCCL"}))}
    for g, tid in groups.items():
        meta("thread_name", hccl, tid, name=f"Group {g} Communication")
        meta("thread_name", hccl, tid + 1, name="Plane 0")
    for i, name in enumerate(truth.tracks):
        meta("thread_name", ov, i, name=name)

    for s in r.spans:
        ev.append(
            dict(
                ph="X",
                name=s.name,
                pid=r.pid,
                tid=s.tid,
                ts=stamp(s.start),
                dur=us(s.end - s.start),
                cat="cpu_op",
                args={"Sequence number": s.seq, "Fwd thread id": s.fwd_thread},
            )
        )
    forward = {s.seq: s for s in r.spans if s.seq >= 0 and not s.fwd_thread}
    backward = {}
    for s in r.spans:
        if s.seq >= 0 and s.fwd_thread:
            backward.setdefault(s.seq, s)
    for seq, f in forward.items():
        b = backward.get(seq)
        if b and b.tid != f.tid:
            for ph, s in (("s", f), ("f", b)):
                ev.append(
                    dict(
                        ph=ph,
                        bp="e",
                        name="fwdbwd",
                        id=seq,
                        pid=r.pid,
                        tid=s.tid,
                        ts=stamp(s.start),
                        cat="fwdbwd",
                    )
                )
    for a in r.apis:
        if a.level == "queue":
            ev.append(
                dict(
                    ph="X",
                    name=a.name,
                    pid=r.pid,
                    tid=a.tid,
                    ts=stamp(a.start),
                    dur=us(a.end - a.start),
                    cat="dequeue",
                    args={"correlation_id": a.conn},
                )
            )
            ev.append(
                dict(
                    ph="f",
                    bp="e",
                    name="enqueue_to_dequeue",
                    id=a.conn,
                    pid=r.pid,
                    tid=a.tid,
                    ts=stamp(a.start),
                    cat="async_task_queue",
                )
            )
        else:
            ev.append(
                dict(
                    ph="X",
                    name=a.name,
                    pid=cann,
                    tid=a.tid,
                    ts=stamp(a.start),
                    dur=us(a.end - a.start),
                    args={
                        "Thread Id": a.tid,
                        "level": a.level,
                        "id": a.name.split("@")[1],
                        "connection_id": a.conn,
                    },
                )
            )
            if a.level == "node":
                ev.append(
                    dict(
                        ph="s",
                        name=f"HostToDevice{a.conn}",
                        id=str(a.conn),
                        pid=cann,
                        tid=a.tid,
                        ts=stamp(a.start),
                        cat="HostToDevice",
                    )
                )
    for t in r.tasks:
        ev.append(
            dict(
                ph="X",
                name=f"Enqueue@{t.kind}",
                pid=r.pid,
                tid=t.host.tid,
                ts=stamp(t.launched),
                dur=0.4,
                cat="enqueue",
                args={"correlation_id": t.ident},
            )
        )
        ev.append(
            dict(
                ph="s",
                bp="e",
                name="enqueue_to_dequeue",
                id=t.ident,
                pid=r.pid,
                tid=t.host.tid,
                ts=stamp(t.launched),
                cat="async_task_queue",
            )
        )
        pid, tid = (hccl, groups[t.comm["group"]]) if t.core == "HCCL" else (hw, t.stream)
        args = {
            "Task Type": t.core,
            "Physic Stream Id": t.stream,
            "Task Id": t.ident,
            "connection_id": t.ident,
        }
        if t.core == "HCCL":
            args = {
                "connection_id": t.ident,
                "data_type": "FP32",
                "alg_type": "MESH-RING",
                "count": int(t.comm["size"] * 2**18),
            }
            parts = (
                ("Notify_Wait", t.start, t.comm["wait"]),
                ("Memcpy", t.start + t.comm["wait"], t.comm["transit"]),
            )
            for name, start, ns in parts:
                if ns:
                    ev.append(
                        dict(
                            ph="X",
                            name=name,
                            pid=hccl,
                            tid=tid + 1,
                            ts=stamp(start),
                            dur=us(ns),
                            args={"stream id": t.stream, "size(Byte)": int(t.comm["size"] * 2**20)},
                        )
                    )
        elif t.comm:
            args["operation"] = t.comm["copy"]
        ev.append(
            dict(ph="X", name=t.name, pid=pid, tid=tid, ts=stamp(t.start), dur=us(t.end - t.start), args=args)
        )
        ev.append(
            dict(
                ph="f",
                bp="e",
                name=f"HostToDevice{t.ident}",
                id=str(t.ident),
                pid=pid,
                tid=tid,
                ts=stamp(t.start),
                cat="HostToDevice",
            )
        )
        if r.rng.random() < r.cfg.lost_flows:
            continue
        for ph, p, th, ts in (("s", r.pid, t.host.tid, t.host.start), ("f", pid, tid, t.start)):
            ev.append(
                dict(
                    ph=ph,
                    bp="e",
                    name="torch_to_npu",
                    id=t.start,
                    pid=p,
                    tid=th,
                    ts=stamp(ts),
                    cat="async_npu",
                )
            )
    for i, (name, ivs) in enumerate(truth.tracks.items()):
        for a, b in ivs:
            ev.append(dict(ph="X", name=name, pid=ov, tid=i, ts=stamp(a), dur=us(b - a)))
    return ev


def write_csv(path, header, rows):
    with open(path, "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(header)
        w.writerows(rows)


def stats(values):
    n, s = len(values), sum(values)
    return n, s, min(values), s / n, max(values)


def write_rank(r, truth, root, new_csv):
    out = os.path.join(root, f"node0_{r.pid}_2026010100000{r.rank}_ascend_pt")
    prof = os.path.join(out, "ASCEND_PROFILER_OUTPUT")
    os.makedirs(prof, exist_ok=True)
    with open(os.path.join(out, f"profiler_info_{r.rank}.json"), "w") as f:
        json.dump(
            {
                "config": {"experimental_config": {"_profiler_level": "Level1", "_export_type": "text"}},
                "rank_id": r.rank,
            },
            f,
        )
    with open(os.path.join(prof, "trace_view.json"), "w") as f:
        json.dump(trace_events(r, truth), f)
    dev = [r.rank] if new_csv else []
    devh = ["Device_id"] if new_csv else []

    kernels = sorted((t for t in r.tasks if t.kind != "MEMCPY_ASYNC"), key=lambda t: t.start)
    rows, prev = [], defaultdict(int)
    for t in kernels:
        step = truth.step_of(t.start)
        gap = max(0, t.start - prev[t.stream]) if prev[t.stream] else 0
        prev[t.stream] = t.end
        hccl = t.core == "HCCL"
        rows.append(
            ([step.number if step else ""] if r.cfg.step_ids else [])
            + dev
            + [
                4294967295,
                "N/A" if hccl else t.ident,
                "N/A" if hccl else t.stream,
                t.name,
                t.kind,
                "N/A" if hccl else "dynamic",
                t.core,
                stamp(t.start) + "\t",
                us(t.end - t.start),
                us(gap),
                0 if hccl else 40,
            ]
        )
    write_csv(
        os.path.join(prof, "kernel_details.csv"),
        (["Step Id"] if r.cfg.step_ids else [])
        + devh
        + [
            "Model ID",
            "Task ID",
            "Stream ID",
            "Name",
            "Type",
            "OP State",
            "Accelerator Core",
            "Start Time(us)",
            "Duration(us)",
            "Wait Time(us)",
            "Block Num" if new_csv else "Block Dim",
        ],
        rows,
    )

    write_csv(
        os.path.join(prof, "step_trace_time.csv"),
        devh
        + [
            "Step",
            "Computing",
            "Communication(Not Overlapped)",
            "Overlapped",
            "Communication",
            "Free",
            "Stage",
            "Bubble",
            "Communication(Not Overlapped and Exclude Receive)",
            "Preparing",
        ],
        [
            dev
            + [x["step"]]
            + [
                us(x[c])
                for c in ("computing", "not_overlapped", "overlapped", "communication", "free", "stage")
            ]
            + [0, us(x["not_overlapped"]), us(x["preparing"])]
            for x in truth.file_rows()
        ],
    )

    by_type = defaultdict(list)
    for t in kernels:
        if t.core != "HCCL":
            by_type[t.kind, t.core].append(us(t.end - t.start))
    everything = sum(sum(v) for v in by_type.values())
    rows = [(k, c) + stats(v) for (k, c), v in by_type.items()]
    write_csv(
        os.path.join(prof, "op_statistic.csv"),
        devh
        + [
            "OP Type",
            "Core Type",
            "Count",
            "Total Time(us)",
            "Min Time(us)",
            "Avg Time(us)",
            "Max Time(us)",
            "Ratio(%)",
        ],
        [
            dev + [k, c, n] + [round(x, 3) for x in (s, lo, avg, hi, 100 * s / everything)]
            for k, c, n, s, lo, avg, hi in sorted(rows, key=lambda x: -x[3])
        ],
    )

    by_api = defaultdict(list)
    for a in r.apis:
        if a.level != "queue":
            by_api[a.level, a.name.split("@")[1]].append(us(a.end - a.start))
    rows = []
    for (level, name), v in sorted(by_api.items()):
        n, s, lo, avg, hi = stats(v)
        rows.append(
            dev
            + [level, name, round(s, 3), n]
            + [round(x, 3) for x in (avg, lo, hi, sum((x - avg) ** 2 for x in v) / n)]
        )
    write_csv(
        os.path.join(prof, "api_statistic.csv"),
        devh + ["Level", "API Name", "Time(us)", "Count", "Avg(us)", "Min(us)", "Max(us)", "Variance"],
        rows,
    )

    comm, matrix = {}, {}
    for t in kernels:
        step = truth.step_of(t.start)
        if t.core == "HCCL" and (step or not r.cfg.step_ids):
            c = t.comm
            key = f"step{step.number}" if r.cfg.step_ids else "step"
            bw = round(c["size"] / (c["transit"] / MS), 4)
            empty = {
                "Transit Size(MB)": 0,
                "Transit Time(ms)": 0,
                "Bandwidth(GB/s)": 0,
                "Large Packet Ratio": 0,
                "Size Distribution": {},
            }
            links = {k: dict(empty) for k in ("RDMA", "PCIE", "SDMA")}
            links["HCCS"] = {
                "Transit Size(MB)": c["size"],
                "Transit Time(ms)": c["transit"] / MS,
                "Bandwidth(GB/s)": bw,
                "Large Packet Ratio": 1.0,
                "Size Distribution": {str(c["size"]): [1, c["transit"] / MS]},
            }
            ops = comm.setdefault(key, {"p2p": {}, "collective": {}})["collective"]
            ops[f"{t.name}@{c['group']}"] = {
                "Communication Time Info": dict(
                    time_info(c["wait"], c["transit"], t.end - t.start),
                    **{"Start Timestamp(us)": t.start / US},
                ),
                "Communication Bandwidth Info": links,
            }
            cells = matrix.setdefault(key, {"p2p": {}, "collective": {}})["collective"]
            cell = cells.setdefault(f"{c['op'].lower()}-total@{c['group']}", {})
            for peer in range(r.cfg.ranks):
                x = cell.setdefault(
                    f"{r.rank}-{peer}",
                    {
                        "Transport Type": "LOCAL" if peer == r.rank else "HCCS",
                        "Transit Size(MB)": 0.0,
                        "Transit Time(ms)": 0.0,
                    },
                )
                x["Transit Size(MB)"] += c["size"] / r.cfg.ranks
                x["Transit Time(ms)"] += c["transit"] / MS
                x["Bandwidth(GB/s)"] = round(x["Transit Size(MB)"] / x["Transit Time(ms)"], 4)
    for ops in comm.values():
        col = ops["collective"]
        sums = [
            sum(o["Communication Time Info"][k] for o in col.values()) * MS
            for k in ("Wait Time(ms)", "Transit Time(ms)", "Elapse Time(ms)")
        ]
        col["Total Op Info"] = {
            "Communication Time Info": time_info(*sums),
            "Communication Bandwidth Info": {},
        }
    for name, data in (("communication.json", comm), ("communication_matrix.json", matrix)):
        with open(os.path.join(prof, name), "w") as f:
            json.dump(data, f)
    return out


def time_info(wait, transit, elapse):
    ratio = round(wait / (wait + transit), 4) if wait + transit else 0
    return {
        "Elapse Time(ms)": elapse / MS,
        "Transit Time(ms)": transit / MS,
        "Wait Time(ms)": wait / MS,
        "Synchronization Time(ms)": wait / MS,
        "Idle Time(ms)": max(0, elapse - wait - transit) / MS,
        "Wait Time Ratio": ratio,
        "Synchronization Time Ratio": ratio,
    }


# --------------------------------------------------------------------------- self-check
def validate(r, truth):
    comp, comm, alone, free = (truth.tracks[n] for n in truth.tracks)
    assert not intersect(alone, comp) and not intersect(free, union(comp + comm)), "tracks overlap"
    assert total(intersect(comm, comp)) + total(alone) == total(comm), "comm split does not add up"
    span = max(t.end for t in r.tasks) - min(t.start for t in r.tasks)
    assert total(comp) + total(alone) + total(free) == span, "tracks do not tile the device time"
    for row in truth.step_rows():
        assert row["overlapped"] + row["not_overlapped"] == row["communication"]
    lost = sum(total(truth.tracks[n]) for n in truth.tracks) - sum(
        row[c] for row in truth.step_rows() for c in ("computing", "communication", "not_overlapped", "free")
    )
    assert lost >= 0, "a segment was counted twice"
    by_stream = defaultdict(list)
    for t in r.tasks:
        assert t.start > t.launched, "a kernel ran before its launch"
        by_stream[t.stream].append((t.start, t.end))
    for ivs in by_stream.values():
        ivs.sort()
        assert all(a[1] <= b[0] for a, b in zip(ivs, ivs[1:])), "one stream ran two tasks at once"
    by_tid = defaultdict(list)
    for s in r.spans:
        by_tid[s.tid].append(s)
    for spans in by_tid.values():  # proper nesting per thread
        stack = []
        for s in sorted(spans, key=lambda s: (s.start, -s.end)):
            while stack and stack[-1].end <= s.start:
                stack.pop()
            assert not stack or s.end <= stack[-1].end, f"{s.name} crosses {stack[-1].name}"
            stack.append(s)
    for number, h in truth.host().items():
        for table in ("main_thread_us", "attributed_us"):
            assert abs(sum(h[table].values()) + h["unclassified_us"] - h["step_us"]) < 0.05, (number, table)
    return us(lost)


# --------------------------------------------------------------------------- command line
def parse(argv=None):
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--out", required=True)
    p.add_argument("--flavour", choices=sorted(FLAVOURS), default="torchrec")
    p.add_argument("--steps", type=int, default=4)
    p.add_argument("--first-step", type=int, default=20)
    p.add_argument("--depth", type=int, default=2, help="batches the data side runs ahead of training")
    p.add_argument("--overlap", choices=("yes", "no"), default="yes")
    p.add_argument("--ranks", type=int, default=1)
    p.add_argument(
        "--skew-ms", type=float, default=0.0, help="lateness of the last rank at each lookup all2all"
    )
    p.add_argument("--scale", type=float, default=1.0, help="multiplies the number of operators per step")
    p.add_argument("--worker-load", type=float, default=1.0, help="seed flavour: slows the prefetch workers")
    p.add_argument("--traps", choices=("yes", "no"), default="yes", help="add misleading event names")
    p.add_argument(
        "--lost-flows",
        type=float,
        default=0.0,
        help="share of torch_to_npu arrows to leave out, as happens with several busy host threads",
    )
    p.add_argument(
        "--step-ids",
        choices=("yes", "no"),
        default="yes",
        help="no: the profiler failed to find its steps (blank Step, no Step Id column)",
    )
    p.add_argument("--csv", choices=("old", "new"), default="new", help="column set of the csv files")
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args(argv)
    a.overlap, a.traps, a.step_ids = a.overlap == "yes", a.traps == "yes", a.step_ids == "yes"
    a.skew = [int(a.skew_ms * MS * i / max(1, a.ranks - 1)) for i in range(a.ranks)]
    return a


def main(argv=None):
    cfg = parse(argv)
    reports = []
    for rank in range(cfg.ranks):
        r = Rank(rank, cfg)
        for i in range(cfg.steps):
            with r.train_step(cfg.first_step + i):
                FLAVOURS[cfg.flavour](r, 100 + i)
        truth = Truth(r)
        lost = validate(r, truth)
        folder = write_rank(r, truth, cfg.out, cfg.csv == "new")
        reports.append(dict(truth.report(), folder=os.path.basename(folder), outside_any_step_us=lost))
    params = {k: v for k, v in vars(cfg).items() if k != "out"}
    with open(os.path.join(cfg.out, "expected.json"), "w") as f:
        json.dump(
            dict(parameters=params, main_thread_rule="thread that holds ProfilerStep#N", ranks=reports),
            f,
            indent=1,
        )
    r0 = reports[0]
    print(
        cfg.flavour,
        "pairs:",
        [(p["verdict"], p["host_ratio"], p["device_ratio"]) for p in r0["async_pairs"]],
        "not-overlapped ratio:",
        r0["communication"]["not_overlapped_ratio"],
    )


if __name__ == "__main__":
    main()
