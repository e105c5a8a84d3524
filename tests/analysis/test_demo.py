"""The sample: the same bytes every time, files that agree with one another and with the answers.

The files are read back here with ``csv``, ``json`` and ``Decimal`` only, not with recui's own readers.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import pytest

from analysis.demo import Sample, write_sample

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Kind = Literal["training", "inference"]
Row = dict[str, str]
KINDS: tuple[Kind, ...] = ("training", "inference")
COMMUNICATION = "COMMUNICATION"


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[Kind, Sample]:
    folder = tmp_path_factory.mktemp("samples")
    return {kind: write_sample(kind, folder) for kind in KINDS}


@pytest.fixture(scope="module")
def training(samples: dict[Kind, Sample]) -> Sample:
    return samples["training"]


@pytest.fixture(scope="module")
def inference(samples: dict[Kind, Sample]) -> Sample:
    return samples["inference"]


def ns(cell: str) -> int:
    """A cell of microseconds; torch_npu's sums carry float noise far below a nanosecond."""
    return int((Decimal(cell.strip()) * 1000).to_integral_value())


def only(sample: Sample, pattern: str) -> Path:
    (path,) = sample.path.rglob(pattern)
    return path


def table(sample: Sample, pattern: str) -> list[Row]:
    with only(sample, pattern).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def kernels(sample: Sample) -> list[Row]:
    """The kernel table under op_summary's column names."""
    if sample.answers.scenario == "inference":
        return table(sample, "op_summary_*.csv")
    names = {
        "Name": "Op Name",
        "Type": "OP Type",
        "Accelerator Core": "Task Type",
        "Start Time(us)": "Task Start Time(us)",
        "Duration(us)": "Task Duration(us)",
        "Wait Time(us)": "Task Wait Time(us)",
    }
    rows = table(sample, "kernel_details.csv")
    return [{names.get(name, name): cell for name, cell in row.items()} for row in rows]


def compute(sample: Sample) -> list[Row]:
    return [row for row in kernels(sample) if row["Task Type"] != COMMUNICATION]


def averaged(sample: Sample) -> list[Row]:
    """Compute kernels without those of the compile iteration."""
    until = sample.answers.excluded_until_ns or 0
    return [row for row in compute(sample) if ns(row["Task Start Time(us)"]) >= until]


def totals(rows: Iterable[Row]) -> dict[tuple[str, str], tuple[int, int]]:
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for row in rows:
        key = row["OP Type"], row["Task Type"]
        count, total = found.get(key, (0, 0))
        found[key] = count + 1, total + ns(row["Task Duration(us)"])
    return found


def trace(sample: Sample) -> list[dict[str, Any]]:
    pattern = "trace_view.json" if sample.answers.scenario == "training" else "msprof_*.json"
    events: list[dict[str, Any]] = json.loads(only(sample, pattern).read_text(encoding="utf-8"))
    return events


@pytest.mark.parametrize("kind", KINDS)
def test_second_writing_gives_the_same_bytes(kind: Kind, samples: dict[Kind, Sample], tmp_path: Path) -> None:
    again = write_sample(kind, tmp_path)
    first = samples[kind]
    files = sorted(path.relative_to(first.path) for path in first.path.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(again.path) for path in again.path.rglob("*") if path.is_file())
    assert [
        name for name in files if (first.path / name).read_bytes() != (again.path / name).read_bytes()
    ] == []
    assert again.answers == first.answers


def test_profile_lies_in_the_folder_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there" / "yet"
    assert write_sample("training", folder).path.parent == folder


def test_training_files_are_those_of_torch_npu(training: Sample) -> None:
    assert training.path.name.endswith("_ascend_pt")
    names = {
        path.relative_to(training.path).as_posix() for path in training.path.rglob("*") if path.is_file()
    }
    output = "ASCEND_PROFILER_OUTPUT/"
    assert names == {
        "profiler_info_0.json",
        "profiler_metadata.json",
        output + "kernel_details.csv",
        output + "op_statistic.csv",
        output + "api_statistic.csv",
        output + "step_trace_time.csv",
        output + "communication.json",
        output + "trace_view.json",
    }


def test_line_endings_are_those_of_each_writer(training: Sample, inference: Sample) -> None:
    crlf = {"kernel_details.csv", "step_trace_time.csv"}
    for path in [*training.path.rglob("*.csv"), *inference.path.rglob("*.csv")]:
        content = path.read_bytes()
        assert content.count(b"\r\n") == (content.count(b"\n") if path.name in crlf else 0), path.name


@pytest.mark.parametrize("kind", KINDS)
def test_start_cells_end_in_a_tab_and_rows_are_in_their_order(
    kind: Kind, samples: dict[Kind, Sample]
) -> None:
    cells = [row["Task Start Time(us)"] for row in kernels(samples[kind])]
    assert all(cell.endswith("\t") for cell in cells)
    assert cells == sorted(cells)


@pytest.mark.parametrize("kind", KINDS)
def test_shape_cells_hold_their_own_quotes(kind: Kind, samples: dict[Kind, Sample]) -> None:
    for row in compute(samples[kind]):
        for cell in (row["Input Shapes"], row["Output Shapes"]):
            assert len(cell) >= 2
            assert cell[0] == cell[-1] == '"'


@pytest.mark.parametrize("kind", KINDS)
def test_wait_column_looks_at_the_row_that_started_before(kind: Kind, samples: dict[Kind, Sample]) -> None:
    rows = kernels(samples[kind])
    expected = ["0"]
    for before, row in pairwise(rows):
        end = Decimal(before["Task Start Time(us)"].strip()) + Decimal(before["Task Duration(us)"])
        expected.append(f"{max(Decimal(0), Decimal(row['Task Start Time(us)'].strip()) - end):.6f}")
    assert [row["Task Wait Time(us)"] for row in rows] == expected


def test_communication_rows_have_no_ids_no_state_and_no_counters(training: Sample) -> None:
    rows = [row for row in kernels(training) if row["Task Type"] == COMMUNICATION]
    assert len(rows) == training.answers.collectives
    columns = ("Task ID", "Stream ID", "OP State", "Input Shapes", "aic_mac_ratio", "cube_utilization(%)")
    assert {row[column] for row in rows for column in columns} == {"N/A"}
    assert {row["Block Num"] for row in rows} == {"0"}


@pytest.mark.parametrize("kind", KINDS)
def test_kernel_counts_and_totals_are_the_answers(kind: Kind, samples: dict[Kind, Sample]) -> None:
    sample = samples[kind]
    answers = sample.answers
    rows = averaged(sample)
    assert len(compute(sample)) == answers.kernels_recorded
    assert len(rows) == answers.kernels
    assert sum(ns(row["Task Duration(us)"]) for row in rows) == answers.compute_ns
    assert totals(rows) == {
        (one.op_type, one.core_type): (one.count, one.total_ns) for one in answers.by_type
    }


@pytest.mark.parametrize("kind", KINDS)
def test_op_statistic_is_the_sum_of_the_kernels(kind: Kind, samples: dict[Kind, Sample]) -> None:
    rows = table(samples[kind], "op_statistic*.csv")
    statistic = {
        (row["OP Type"], row["Core Type"]): (int(row["Count"]), ns(row["Total Time(us)"])) for row in rows
    }
    assert statistic == totals(compute(samples[kind]))
    everything = sum(total for _, total in statistic.values())
    for row in rows:
        share = Decimal(100) * ns(row["Total Time(us)"]) / everything
        assert abs(Decimal(row["Ratio(%)"]) - share) <= Decimal("0.0005")


@pytest.mark.parametrize("kind", KINDS)
def test_op_statistic_answer_is_the_file(kind: Kind, samples: dict[Kind, Sample]) -> None:
    sample = samples[kind]
    rows = [
        (
            row["OP Type"],
            row["Core Type"],
            int(row["Count"]),
            *(ns(row[f"{column} Time(us)"]) for column in ("Total", "Min", "Max")),
        )
        for row in table(sample, "op_statistic*.csv")
    ]
    assert rows == [
        (one.op_type, one.core_type, one.count, one.total_ns, one.min_ns, one.max_ns)
        for one in sample.answers.op_statistic
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_problem_operators_are_the_answers(kind: Kind, samples: dict[Kind, Sample]) -> None:
    sample = samples[kind]
    limits = (
        ("aic_scalar", "aic_scalar_ratio", Decimal("0.3"), True),
        ("aiv_scalar", "aiv_scalar_ratio", Decimal("0.3"), True),
        ("cube_utilization", "cube_utilization(%)", Decimal(20), False),
        ("aic_mac", "aic_mac_ratio", Decimal("0.3"), False),
    )
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row in averaged(sample):
        found = ["ai_cpu"] if row["Task Type"] == "AI_CPU" else []
        for problem, column, limit, above in limits if not found else ():
            if not above and not (
                row["Task Type"] in {"AI_CORE", "MIX_AIC"} and Decimal(row["aic_mac_ratio"]) > 0
            ):
                continue
            value = Decimal(row[column])
            if value >= limit if above else value < limit:
                found.append(problem)
        for problem in found:
            names = (row["Op Name"], row["OP Type"], row["Task Type"])
            shapes = (row["Input Shapes"][1:-1], row["Output Shapes"][1:-1])
            groups[(problem, *names, *shapes)].append(ns(row["Task Duration(us)"]))
    assert {key: (len(times), sum(times)) for key, times in groups.items()} == {
        (one.problem, one.name, one.op_type, one.core_type, one.input_shapes, one.output_shapes): (
            one.count,
            one.total_ns,
        )
        for one in sample.answers.problems
    }


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_problem_occurs(kind: Kind, samples: dict[Kind, Sample]) -> None:
    problems = {one.problem for one in samples[kind].answers.problems}
    assert problems == {"aic_scalar", "aiv_scalar", "cube_utilization", "aic_mac", "ai_cpu"}


def test_a_group_may_hold_only_some_executions_of_its_operator(training: Sample) -> None:
    at_the_limit = [one for one in training.answers.problems if one.op_type == "EmbeddingDenseGrad"]
    assert at_the_limit
    recorded: dict[tuple[str, str], int] = defaultdict(int)
    for row in compute(training):
        recorded[row["Op Name"], row["Input Shapes"][1:-1]] += 1
    assert any(one.count < recorded[one.name, one.input_shapes] for one in at_the_limit)


@pytest.mark.parametrize("kind", KINDS)
def test_api_statistic_is_the_answers(kind: Kind, samples: dict[Kind, Sample]) -> None:
    sample = samples[kind]
    rows = table(sample, "api_statistic*.csv")
    assert {row["Device_id"] for row in rows} == {"host"}
    assert {
        (row["Level"], row["API Name"]): (int(row["Count"]), ns(row["Time(us)"]), ns(row["Max(us)"]))
        for row in rows
    } == {(one.level, one.name): (one.count, one.total_ns, one.max_ns) for one in sample.answers.apis}


def test_step_rows_are_the_answers(training: Sample) -> None:
    rows = table(training, "step_trace_time.csv")
    columns = {
        "Computing": "computing_ns",
        "Communication": "communication_ns",
        "Communication(Not Overlapped)": "not_overlapped_ns",
        "Overlapped": "overlapped_ns",
        "Free": "free_ns",
        "Stage": "stage_ns",
        "Bubble": "bubble_ns",
        "Preparing": "preparing_ns",
    }
    assert [int(row["Step"]) for row in rows] == [step.step for step in training.answers.steps]
    for row, step in zip(rows, training.answers.steps, strict=True):
        assert {column: ns(row[column]) for column in columns} == {
            column: getattr(step, field) for column, field in columns.items()
        }


def test_computing_of_a_step_is_its_kernels_one_after_another(training: Sample) -> None:
    durations: dict[int, int] = defaultdict(int)
    for row in compute(training):
        durations[int(row["Step Id"])] += ns(row["Task Duration(us)"])
    assert durations == {step.step: step.computing_ns for step in training.answers.steps}


def test_parts_of_a_step_add_up(training: Sample) -> None:
    for step in training.answers.steps:
        assert step.computing_ns + step.not_overlapped_ns + step.free_ns == step.wall_ns
        assert step.overlapped_ns + step.not_overlapped_ns == step.communication_ns


def test_overlap_bars_of_the_trace_are_the_step_totals(training: Sample) -> None:
    bars: dict[str, int] = defaultdict(int)
    for event in trace(training):
        if event["ph"] == "X" and event["args"] == {}:
            bars[event["name"]] += round(event["dur"] * 1000)
    steps = training.answers.steps
    assert bars == {
        "Computing": sum(step.computing_ns for step in steps),
        "Communication": sum(step.communication_ns for step in steps),
        "Communication(Not Overlapped)": sum(step.not_overlapped_ns for step in steps),
        "Free": sum(step.free_ns for step in steps),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_every_kernel_stands_in_the_trace(kind: Kind, samples: dict[Kind, Sample]) -> None:
    bars = {(event["name"], event["ts"]) for event in trace(samples[kind]) if event["ph"] == "X"}
    rows = {(row["Op Name"], row["Task Start Time(us)"].strip()) for row in kernels(samples[kind])}
    assert rows <= bars


@pytest.mark.parametrize("kind", KINDS)
def test_every_bar_has_a_named_process_and_thread(kind: Kind, samples: dict[Kind, Sample]) -> None:
    events = trace(samples[kind])
    processes = {event["pid"] for event in events if event["name"] == "process_name"}
    threads = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    assert {event["pid"] for event in events if event["ph"] == "X"} <= processes
    assert {(event["pid"], event["tid"]) for event in events if event["ph"] == "X"} <= threads


def test_bars_of_a_host_thread_nest(training: Sample) -> None:
    threads: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for event in trace(training):
        if event["ph"] == "X" and event.get("cat") in {"cpu_op", "enqueue", "dequeue"}:
            start = ns(event["ts"])
            threads[event["pid"], event["tid"]].append((start, -start - round(event["dur"] * 1000)))
    for bars in threads.values():
        open_ends: list[int] = []
        for start, negative_end in sorted(bars):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or -negative_end <= open_ends[-1]
            open_ends.append(-negative_end)


def test_device_copies_of_the_trace_are_the_answers(training: Sample) -> None:
    copies: dict[str, int] = defaultdict(int)
    for event in trace(training):
        if event["name"] == "MEMCPY_ASYNC":
            copies[event["args"]["operation"]] += round(event["dur"] * 1000)
    answers = training.answers
    assert abs(copies["host to device"] - answers.h2d_ns * answers.averaged) <= answers.averaged
    assert abs(copies["device to host"] - answers.d2h_ns * answers.averaged) <= answers.averaged


def test_communication_json_holds_every_collective(training: Sample) -> None:
    steps = json.loads(only(training, "communication.json").read_text(encoding="utf-8"))
    elapsed: dict[str, int] = {}
    for step in steps.values():
        assert step["p2p"] == {}
        total = step["collective"].pop("Total Op Info")["Communication Time Info"]
        times = {
            name.rpartition("@")[0]: entry["Communication Time Info"]["Elapse Time(ms)"]
            for name, entry in step["collective"].items()
        }
        assert total["Elapse Time(ms)"] == pytest.approx(sum(times.values()))
        elapsed |= {name: round(time * 1_000_000) for name, time in times.items()}
    assert elapsed == {
        row["Op Name"]: ns(row["Task Duration(us)"])
        for row in kernels(training)
        if row["Task Type"] == COMMUNICATION
    }


def test_training_shows_exposed_communication_and_a_slow_step(training: Sample) -> None:
    answers = training.answers
    assert answers.exposed_share is not None
    assert 0.4 <= answers.exposed_share <= 0.6
    assert answers.step_mean is not None
    slowest = max(answers.steps, key=lambda step: step.wall_ns)
    assert slowest.wall_ns > answers.step_mean.wall_ns * 1.1


def test_training_has_some_hundred_kernels_a_step_and_more_than_ten_waits(training: Sample) -> None:
    answers = training.answers
    assert 150 <= answers.kernels / answers.averaged <= 400
    waits = next(one for one in answers.apis if one.name == "aclrtSynchronizeStreamWithTimeout")
    assert waits.count > 10 * answers.averaged


def test_first_iteration_of_inference_compiles(inference: Sample) -> None:
    answers = inference.answers
    rows = table(inference, "step_trace_*.csv")
    first, *others = (ns(row["Iteration Time(us)"]) for row in rows)
    assert (len(rows), len(others)) == (answers.recorded, answers.averaged) == (20, 19)
    assert first == answers.excluded_first_ns
    assert ns(rows[0]["Iteration End(us)"]) == answers.excluded_until_ns
    assert first * len(others) > 5 * sum(others)
    assert answers.device_iteration_ns is not None
    assert abs(sum(others) - answers.device_iteration_ns * len(others)) <= len(others)


def test_inference_is_bound_by_dispatch(inference: Sample) -> None:
    answers = inference.answers
    assert answers.dispatch_bound
    assert answers.op_share < 0.9


def test_host_copy_means_do_not_depend_on_the_compile_iteration(inference: Sample) -> None:
    answers = inference.answers
    apis = {(one.level, one.name): one for one in answers.apis}
    for name, mean in (("InputCopy", answers.h2d_ns), ("OutputCopy", answers.d2h_ns)):
        assert apis["model", name].total_ns == mean * answers.recorded


def test_model_execute_mean_is_the_model_level_without_its_longest_call(inference: Sample) -> None:
    answers = inference.answers
    execute = next(one for one in answers.apis if (one.level, one.name) == ("model", "ModelExecute"))
    rest = Decimal(execute.total_ns - execute.max_ns) / (execute.count - 1)
    assert answers.model_execute_ns is not None
    assert abs(rest - answers.model_execute_ns) <= Decimal("0.5")
    assert answers.iteration_ns == answers.h2d_ns + answers.model_execute_ns + answers.d2h_ns


def test_inference_kernels_are_a_static_graph_with_automatic_fusion(inference: Sample) -> None:
    rows = kernels(inference)
    assert {row["OP State"] for row in rows} == {"static"}
    fused = {row["Op Name"] for row in rows if row["OP Type"] == "AscBackend"}
    assert fused
    assert all(name.startswith("autofuse_") for name in fused)
    origins = {
        row["Fusion Op"]: row["Original Ops"].split(";") for row in table(inference, "fusion_op_*.csv")
    }
    assert fused <= origins.keys()
    assert all(len(names) > 1 for names in origins.values())


def test_device_info_names_the_cores(inference: Sample) -> None:
    (device,) = json.loads((inference.path / "device_0" / "info.json.0").read_text(encoding="utf-8"))[
        "DeviceInfo"
    ]
    assert (device["ai_core_num"], device["aiv_num"]) == inference.answers.cores == (24, 48)


@pytest.mark.parametrize("kind", KINDS)
def test_no_kernel_uses_more_cores_than_there_are(kind: Kind, samples: dict[Kind, Sample]) -> None:
    rows = compute(samples[kind])
    answers = samples[kind].answers

    def most(*cores: str) -> int:
        return max(int(row["Block Num"]) for row in rows if row["Task Type"] in cores)

    assert most("AI_CORE", "MIX_AIC") == answers.max_block_aic <= 24
    assert most("AI_VECTOR_CORE") == answers.max_block_aiv <= 48
