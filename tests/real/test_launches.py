"""Which operator launched which kernel, in genuine traces and in generated ones with arrows left out."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from analysis.trace.flows import launches
from tests.analysis.trace.builder import trace_of

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.trace.model import Trace

pytestmark = pytest.mark.real

OUTPUT = "torch_npu_alexnet_2rank_level1/rank{}_ascend_pt/ASCEND_PROFILER_OUTPUT"
OLDER = "older/trace_view_2024-01.json"
DLRM = ("worker0_step_12.1694128201545", "worker1_step_12.1694128201556")


def trace_at(path: Path) -> Trace:
    content: Any = json.loads(path.read_text())
    return trace_of(content["traceEvents"] if isinstance(content, dict) else content)


def without_arrows(trace: Trace) -> Trace:
    return replace(trace, flows=trace.flows.filter(pl.col("kind").cast(pl.String) != "async_npu"))


def ways(found: pl.DataFrame) -> dict[str, int]:
    return dict(found.group_by("via").len().rows())


@pytest.mark.parametrize("rank", [0, 1])
def test_every_kernel_of_the_kernel_table_has_an_operator(data: Path, rank: int) -> None:
    folder = data / OUTPUT.format(rank)
    trace = trace_at(folder / "trace_view.json")
    with (folder / "kernel_details.csv").open(newline="") as file:
        kernels = {int(Decimal(row["Start Time(us)"].strip()) * 1000) for row in csv.DictReader(file)}

    found = launches(trace)

    starts = set(trace.events["start_ns"].gather(found["event"]))
    assert len(kernels) == 191
    # The table may be a nanosecond off the trace.
    assert all({start - 1, start, start + 1} & starts for start in kernels)
    assert ways(found) == {"async_npu": 210, "queue_chain": 5}
    assert found["launch"].null_count() == 0


@pytest.mark.parametrize(("name", "kernels"), [(f"{OUTPUT.format(0)}/trace_view.json", 121), (OLDER, 206)])
def test_kernels_of_aclnn_carry_the_name_of_their_operator(data: Path, name: str, kernels: int) -> None:
    trace = trace_at(data / name)
    names = trace.events["name"].cast(pl.String)

    for variant in (trace, without_arrows(trace)):
        found = launches(variant)
        pairs = pl.DataFrame({"kernel": names.gather(found["event"]), "host": names.gather(found["host"])})
        aclnn = pairs.filter(pl.col("kernel").str.starts_with("aclnn"))
        # aclnnInplaceAdd launches aclnnAdd_AddAiCore_Add.
        stems = aclnn.select(pl.col("kernel").str.split("_").list.first(), pl.col("host"))
        plain = stems.with_columns(pl.all().str.replace("Inplace", ""))
        assert plain.height == kernels
        assert plain["kernel"].to_list() == plain["host"].to_list()


@pytest.mark.parametrize("name", [f"{OUTPUT.format(rank)}/trace_view.json" for rank in (0, 1)] + [OLDER])
def test_the_task_queue_names_the_operators_that_the_arrows_name(data: Path, name: str) -> None:
    trace = trace_at(data / name)
    by_arrow = launches(trace)

    by_queue = launches(without_arrows(trace))

    assert by_queue.select("event", "host").equals(by_arrow.select("event", "host"))
    assert set(by_queue["via"]) == {"queue_chain"}


@pytest.mark.parametrize(("worker", "launched", "bars"), [(DLRM[0], 261, 261), (DLRM[1], 262, 326)])
def test_every_arrow_of_a_gpu_trace_names_an_operator(
    data: Path, worker: str, launched: int, bars: int
) -> None:
    """The second worker was traced while kernels ran whose launches lie before the window."""
    trace = trace_at(data / "gpu_recommender" / f"{worker}.pt.trace.json")

    found = launches(trace)

    assert trace.on("device_stream").height == bars
    assert ways(found) == {"ac2g": launched}
    assert set(trace.events["cat"].cast(pl.String).gather(found["host"])) == {"cpu_op", "user_annotation"}


@pytest.mark.parametrize("flavour", ["torchrec", "seed", "embcache"])
def test_dropped_arrows_change_no_operator_of_a_generated_profile(
    data: Path, tmp_path: Path, flavour: str
) -> None:
    tool = data.parent / "tools" / "gen_recsys_trace.py"
    if not tool.is_file():
        pytest.skip("no generator of recommender profiles here: it is not part of the repository")
    found = {}
    for lost in ("0", "0.5"):
        folder = tmp_path / lost
        command = [sys.executable, str(tool), "--out", str(folder), "--flavour", flavour, "--steps", "2"]
        subprocess.run([*command, "--lost-flows", lost], check=True, capture_output=True)
        found[lost] = launches(trace_at(next(folder.rglob("trace_view.json"))))

    assert set(found["0"]["via"]) == {"async_npu"}
    assert set(found["0.5"]["via"]) == {"async_npu", "queue_chain"}
    assert found["0.5"].select("event", "host").equals(found["0"].select("event", "host"))
