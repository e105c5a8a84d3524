"""What the tracks of a trace are: roles by name, whatever the numbers and the order."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from analysis.demo import write_sample
from analysis.trace.model import EVENTS, TRACKS, Fault, Quality, Trace
from analysis.trace.tracks import describe_tracks, of_device

if TYPE_CHECKING:
    from collections.abc import Sequence

SHARED = Path(__file__).parents[3].parent / "shared"
LEVEL1 = "data/torch_npu_alexnet_2rank_level1/rank{}_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"
MSPROF = (
    "data/msprof_groupedmatmul/PROF_Memory/PROF_000001_20260823165413436_00626258NIRJNPIC/"
    "mindstudio_profiler_output/msprof_20260823165420.json"
)


def described(events: Sequence[dict[str, Any]]) -> tuple[pl.DataFrame, tuple[Fault, ...]]:
    """The tracks of a plain list of trace events."""
    places: dict[tuple[str, str], int] = {}
    bars, metadata = [], []
    for number, event in enumerate(events):
        place = str(event["pid"]), str(event.get("tid"))
        if event["ph"] == "M":
            value = next(iter(event["args"].values()), None)
            metadata.append((number, event["name"], *place, None if value is None else str(value)))
        if event["ph"] in "Xft":
            places.setdefault(place, number)
        if event["ph"] == "X":
            row = dict.fromkeys(EVENTS) | {
                "number": number,
                "track": list(places).index(place),
                "name": event["name"],
                "cat": event.get("cat"),
                "start_ns": round(float(event["ts"]) * 1000),
                "duration_ns": round(float(event["dur"]) * 1000),
                "task_type": event.get("args", {}).get("Task Type"),
            }
            bars.append(row)
    pairs = pl.DataFrame(
        [(track, *place, first) for track, (place, first) in enumerate(places.items())],
        schema={"track": pl.UInt32, "pid": pl.String, "tid": pl.String, "first_number": pl.UInt32},
        orient="row",
    )
    names = pl.DataFrame(
        metadata,
        schema={
            "number": pl.UInt32,
            "name": pl.String,
            "pid": pl.String,
            "tid": pl.String,
            "value": pl.String,
        },
        orient="row",
    )
    return describe_tracks(pairs, names, pl.DataFrame(bars, schema=EVENTS))


def roles(events: Sequence[dict[str, Any]]) -> list[str]:
    return described(events)[0]["role"].to_list()


def bar(name: str, pid: Any, tid: Any, ts: float = 0, dur: float = 1, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, **more}


def process(name: str, pid: Any) -> dict[str, Any]:
    return {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}


def label(text: str, pid: Any) -> dict[str, Any]:
    return {"ph": "M", "name": "process_labels", "pid": pid, "tid": 0, "args": {"labels": text}}


def thread(name: str, pid: Any, tid: Any) -> dict[str, Any]:
    return {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}


# ----------------------------------------------------------------------------------------- by name


def test_overlap_tracks_are_known_by_their_names_in_any_order_of_threads():
    names = ("Communication", "Communication(Not Overlapped)", "Computing", "Free")
    for order in (names, names[::-1]):
        events = [process("Overlap Analysis", 9), *(thread(name, 9, tid) for tid, name in enumerate(order))]
        events += [bar("x", 9, tid) for tid in range(4)]
        table = described(events)[0]
        assert dict(zip(table["thread"], table["role"], strict=True)) == {
            "Communication": "overlap_communication",
            "Communication(Not Overlapped)": "overlap_not_overlapped",
            "Computing": "overlap_computing",
            "Free": "overlap_free",
        }


@pytest.mark.parametrize("name", ["HCCL", "Communication"])
def test_groups_and_planes_are_told_apart_in_the_old_and_the_new_process(name):
    events = [process(name, 5), thread("Group 0 Communication", 5, 0), thread("Plane 12", 5, 1)]
    assert roles([*events, bar("hcom_allReduce__1_0_1", 5, 0), bar("Memcpy", 5, 1)]) == [
        "collective",
        "plane",
    ]


def test_streams_are_device_streams_and_step_traces_beside_them_are_not():
    events = [
        process("Ascend Hardware", 5),
        thread("Stream 46", 5, 46),
        thread("Step Trace(Model ID:1)", 5, 7),
    ]
    assert roles([*events, bar("MatMul", 5, 46), bar("Iteration 1", 5, 7)]) == ["device_stream", "other"]


@pytest.mark.parametrize(
    "name", ["HBM", "Python GC", "AI Core Freq Die 0", "NPU MEM", "CANN 2", "Overlap", ""]
)
def test_other_processes_are_other(name):
    assert roles([process(name, 5), thread("Stream 1", 5, 1), bar("x", 5, 1, cat="GC")]) == ["other"]


def test_a_name_like_a_pattern_with_more_behind_it_is_no_match():
    events = [process("Ascend Hardware", 5), thread("Stream 1\nStream 2", 5, 1), bar("x", 5, 1)]
    assert roles(events) == ["other"]


def test_ranges_of_an_application_are_other():
    assert roles([process("my_app", 5), label("CPU", 5), bar("Model@own range", 5, 1)]) == ["other"]


# ------------------------------------------------------------------------- threads of the program


def test_main_thread_is_the_one_with_the_steps_whatever_its_number():
    events = [process("Python", 1), bar("aten::mm", 1, 1, cat="cpu_op"), bar("aten::mm", 1, 1, cat="cpu_op")]
    assert roles([*events, bar("ProfilerStep#3", 1, 900, cat="cpu_op")]) == ["python_other", "python_main"]


def test_without_steps_main_thread_is_the_one_with_most_operators():
    events = [bar("aten::mm", 1, tid, 10 * n, cat="cpu_op") for n, tid in enumerate((7, 8, 8))]
    assert roles([process("Python", 1), *events]) == ["python_other", "python_main"]


def test_without_steps_a_busier_backward_thread_is_not_the_main_one():
    backward = [
        bar("autograd::engine::evaluate_function: MmBackward0", 1, 7, 0, 100, cat="cpu_op"),
        *(bar("aten::mm", 1, 7, 10 * n, 5, cat="cpu_op") for n in range(9)),
    ]
    assert roles([process("Python", 1), *backward, bar("aten::mm", 1, 8, cat="cpu_op")]) == [
        "autograd",
        "python_main",
    ]


def test_a_busier_backward_thread_is_not_the_main_one_wherever_the_main_one_stands():
    backward = [
        bar("autograd::engine::evaluate_function: MmBackward0", 1, 7, 0, 100, cat="cpu_op"),
        *(bar("aten::mm", 1, 7, 10 * n, 5, cat="cpu_op") for n in range(9)),
    ]
    assert roles([process("Python", 1), bar("aten::mm", 1, 8, cat="cpu_op"), *backward]) == [
        "python_main",
        "autograd",
    ]


def test_a_step_marked_on_the_backward_thread_too_does_not_make_it_another():
    node = "autograd::engine::evaluate_function: MmBackward0"
    marks = [bar("ProfilerStep#1", 1, thread, 0, 100, cat="cpu_op") for thread in (2, 1)]
    events = [process("Python", 1), *marks, bar(node, 1, 2, 5, 20, cat="cpu_op")]
    assert roles([*events, bar("aten::mm", 1, 1, 0, 2, cat="cpu_op")]) == ["autograd", "python_main"]


def test_a_thread_half_inside_the_backward_pass_is_autograd_and_below_it_is_not():
    node = "autograd::engine::evaluate_function: MmBackward0"
    events = [process("Python", 1), bar("ProfilerStep#1", 1, 1, cat="cpu_op")]
    for tid, own in ((2, 100), (3, 101)):
        events += [bar(node, 1, tid, 0, 100, cat="cpu_op"), bar("MmBackward0", 1, tid, 5, 90, cat="cpu_op")]
        events += [bar("aten::sum", 1, tid, 200, own, cat="cpu_op")]
    assert roles(events) == ["python_main", "autograd", "python_other"]


def test_nodes_of_autograd_functions_in_cpp_are_the_backward_pass():
    node = "torch::autograd::CppNode<SplitLookupFunction_sgd_Op>"
    events = [process("Python", 1), bar("ProfilerStep#1", 1, 1, cat="cpu_op"), bar(node, 1, 2, cat="cpu_op")]
    assert roles(events) == ["python_main", "autograd"]


def test_nested_backward_nodes_count_once():
    node = "autograd::engine::evaluate_function: CheckpointFunctionBackward"
    events = [process("Python", 1), bar("ProfilerStep#1", 1, 1, cat="cpu_op")]
    events += [bar(node, 1, 2, 0, 30, cat="cpu_op"), bar(node, 1, 2, 5, 20, cat="cpu_op")]
    assert roles([*events, bar("aten::sum", 1, 2, 100, 40, cat="cpu_op")]) == ["python_main", "python_other"]


def test_the_thread_with_the_steps_stays_main_when_it_runs_the_backward_pass_itself():
    node = "autograd::engine::evaluate_function: MmBackward0"
    events = [bar("ProfilerStep#1", 1, 1, 0, 100, cat="cpu_op"), bar(node, 1, 1, 5, 90, cat="cpu_op")]
    assert roles([process("Python", 1), *events]) == ["python_main"]


def test_the_only_thread_with_operators_is_main_even_if_mostly_backward():
    node = "autograd::engine::evaluate_function: MmBackward0"
    events = [bar(node, 1, 1, 0, 90, cat="cpu_op"), bar("Dequeue", 1, 2, cat="dequeue")]
    assert roles([process("Python", 1), *events]) == ["python_main", "python_other"]


def test_without_steps_and_operators_no_thread_is_main():
    assert roles([process("Python", 1), bar("Dequeue@aclnnMul", 1, 2, cat="dequeue")]) == ["python_other"]


def test_kineto_thread_names_tell_autograd():
    events = [process("python3", 1), label("CPU", 1), thread("thread 12 (pt_autograd_0)", 1, 12)]
    events += [bar("ProfilerStep#1", 1, 1, cat="user_annotation"), bar("aten::mm", 1, 12, cat="cpu_op")]
    assert roles(events) == ["python_main", "autograd"]


# --------------------------------------------------------------------------------- without a name


@pytest.mark.parametrize(
    "name", ["AscendCL@aclnnMul", "Node@launch", "Model@ModelExecute", "Runtime@StreamSynchronize"]
)
def test_cann_without_a_process_name_is_known_by_its_bars(name):
    assert roles([label("CPU", 5), bar(name, 5, 1), bar("other", 5, 1), bar(name, 5, 2)]) == ["cann", "cann"]


@pytest.mark.parametrize("cat", ["cpu_op", "python_function", "enqueue", "dequeue"])
def test_program_without_a_process_name_is_known_by_its_bars(cat):
    assert roles([bar("x", 5, 1, cat=cat)]) == ["python_main" if cat == "cpu_op" else "python_other"]


def test_streams_without_names_are_known_by_their_task_types():
    cut = [bar("MatMul", 5, 1, args={"Task Type": "AI_CORE"}), bar("Memcpy", 6, 1)]
    unnamed_thread = [process("Ascend Hardware", 7), bar("MatMul", 7, 1, args={"Task Type": "AI_CORE"})]
    assert roles([*cut, *unnamed_thread]) == ["device_stream", "other", "device_stream"]


def test_a_track_of_arrows_alone_has_no_bars():
    table = described([label("CPU", 5), {"ph": "f", "name": "x", "pid": 5, "tid": 1}])[0]
    assert table["bars"].to_list() == [0]
    assert table["role"].to_list() == ["other"]


# ------------------------------------------------------------------------------- devices and faults


@pytest.mark.parametrize(
    ("text", "device"),
    [("NPU 3", 3), ("GPU 12", 12), ("NPU", None), ("CPU", None), ("NPU x", None), ("NPU 99999999999", None)],
)
def test_device_is_the_number_in_the_label(text, device):
    assert described([label(text, 5), bar("x", 5, 1)])[0]["device"].to_list() == [device]


def test_tracks_have_the_columns_of_the_model_even_without_any_event():
    table, faults = described([])
    assert dict(table.schema) == TRACKS
    assert faults == ()


def test_metadata_behind_its_events_names_them_and_is_said():
    table, faults = described(
        [bar("x", 5, 1), process("CANN", 5), thread("Thread 1", 5, 1), thread("T", 5, 2)]
    )
    assert table.select("process", "thread", "role").rows() == [("CANN", "Thread 1", "cann")]
    assert faults == (Fault("late_metadata", 2, "process_name: CANN", 1, lost=False),)


def test_of_contradicting_metadata_the_last_holds_and_it_is_said():
    events = [process("HCCL", 5), process("HCCL", 5), process("CANN", 5), bar("x", 5, 1)]
    table, faults = described(events)
    assert table["process"].to_list() == ["CANN"]
    assert faults == (Fault("duplicate_metadata", 2, "process_name: HCCL", 0, lost=False),)


def test_repeated_equal_metadata_is_no_fault():
    assert described([thread("T", 5, 1), thread("T", 5, 1), thread("U", 5, 2), bar("x", 5, 1)])[1] == ()


def test_names_with_any_character_are_kept():
    name = "\x01[red]\u202e\udcff".encode("utf-8", "replace").decode()
    assert described([process(name, 5), bar("x", 5, 1)])[0]["process"].to_list() == [name]


def test_tracks_of_other_devices_are_set_apart():
    events = [process("Ascend Hardware", pid) for pid in (5, 6)] + [label("NPU 0", 5), label("NPU 1", 6)]
    events += [thread("Stream 2", pid, 2) for pid in (5, 6)] + [process("CANN", 7), label("CPU", 7)]
    tracks = described([*events, bar("a", 5, 2), bar("b", 6, 2), bar("c", 7, 1)])[0]
    trace = Trace(pl.DataFrame(), tracks, pl.DataFrame(), pl.DataFrame(), Quality(0, {}, (), 0))
    assert of_device(trace, 1).tracks["role"].to_list() == ["other_device", "device_stream", "cann"]


# ----------------------------------------------------------------------------------- whole captures


def shared(relative: str) -> list[dict[str, Any]]:
    path = SHARED / relative
    if not path.is_file():
        pytest.skip("the shared captures are not beside the repository (../shared)")
    return read(path)


def read(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        content = json.loads(file.read(), strict=False)
    events: list[dict[str, Any]] = content["traceEvents"] if isinstance(content, dict) else content
    return events


def bars_by_role(events: Sequence[dict[str, Any]]) -> Counter[str]:
    table = described(events)[0]
    counts: Counter[str] = Counter()
    for role, bars in table.select("role", "bars").iter_rows():
        counts[role] += bars
    return counts


@pytest.mark.parametrize(("rank", "cann"), [(0, 707), (1, 708)])
def test_genuine_level1_capture(rank, cann):
    assert bars_by_role(shared(LEVEL1.format(rank))) == {
        "python_main": 1651,
        "autograd": 650,
        "python_other": 159,
        "cann": cann,
        "device_stream": 535,
        "collective": 4,
        "plane": 296,
        "overlap_computing": 187,
        "overlap_communication": 4,
        "overlap_not_overlapped": 101,
        "overlap_free": 90,
    }


def test_genuine_level0_capture():
    path = "data/torch_npu_alexnet_level0/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"
    counts = bars_by_role(shared(path))
    assert (counts["python_main"], counts["autograd"], counts["python_other"]) == (1651, 650, 159)
    assert (counts["device_stream"], counts["collective"], counts["overlap_free"]) == (533, 4, 90)
    assert counts["other"] == 0


def test_genuine_capture_of_2024_with_small_process_numbers():
    assert bars_by_role(shared("data/older/trace_view_2024-01.json")) == {
        "python_main": 636,
        "autograd": 223,
        "python_other": 148,
        "cann": 382,
        "device_stream": 276,
        "overlap_computing": 274,
        "overlap_free": 273,
    }


def test_genuine_msprof_capture():
    events = shared(MSPROF)
    assert bars_by_role(events) == {"cann": 80, "device_stream": 6, "overlap_computing": 3, "overlap_free": 3}
    assert set(described(events)[0].filter(pl.col("role") == "device_stream")["device"]) == {0}


@pytest.mark.parametrize(
    ("path", "device", "expected"),
    [
        ("worker0_step_12.1694128201545.pt.trace.json", 0, (1288, 910, 261)),
        ("worker1_step_12.1694128201556.pt.trace.json", 1, (1290, 910, 326)),
        ("torchrec_sampled_rank-0.json.gz", 0, (1828, 1778, 1204)),
    ],
)
def test_genuine_kineto_captures(path, device, expected):
    events = shared(f"data/gpu_recommender/{path}")
    counts = bars_by_role(events)
    assert (counts["python_main"], counts["autograd"], counts["device_stream"]) == expected
    assert counts["other"] == 1
    assert set(described(events)[0].filter(pl.col("role") == "device_stream")["device"]) == {device}


@pytest.mark.parametrize("flavour", ["embcache", "naive", "seed", "torchrec"])
def test_generated_training_captures(flavour, tmp_path):
    script = SHARED / "tools" / "gen_recsys_trace.py"
    if not script.is_file():
        pytest.skip("the generator is not beside the repository (../shared/tools)")
    command = [sys.executable, str(script), "--out", str(tmp_path), "--flavour", flavour, "--steps", "2"]
    subprocess.run([*command, "--ranks", "1"], check=True, capture_output=True)
    (path,) = tmp_path.glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json")
    table = described(read(path))[0]
    by_tid = {row["tid"]: row["role"] for row in table.filter(pl.col("process") == "Python").to_dicts()}
    workers = ("410041", "410042", "410043") if flavour == "seed" else ()
    assert by_tid == {
        "410000": "python_main",
        "410031": "autograd",
        "410007": "python_other",
        **dict.fromkeys(workers, "python_other"),
    }
    assert "other" not in table["role"].to_list()


@pytest.mark.parametrize(("sample", "main"), [("training", 1), ("inference", 0)])
def test_built_in_samples(sample, main, tmp_path):
    path = write_sample(sample, tmp_path).path
    traces = [*path.rglob("trace_view.json"), *path.rglob("msprof_*.json")]
    (trace,) = traces
    counts = described(read(trace))[0]["role"].value_counts()
    found = dict(counts.iter_rows())
    assert found.get("python_main", 0) == main
    assert found["device_stream"] >= 1
    assert found["cann"] == 1
