"""The JSON report: structure by its own schema, units, unknown values, and cuts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from jsonschema import Draft202012Validator

from analysis.report.json import json_report, report_schema
from analysis.report.messages import LANGUAGES, Messages
from tests.analysis.report_fixtures import (
    ALL_SOURCES,
    empty_source,
    framework_operators,
    full_source,
    ge_source,
    kineto_source,
    level0_source,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

ENGLISH = Messages("en")


def report(source: Any, messages: Messages = ENGLISH) -> dict[str, Any]:
    loaded: dict[str, Any] = orjson.loads(json_report(source, messages))
    return loaded


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every part of a schema that describes an object."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for part in schema.values():
            yield from objects(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from objects(part)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ALL_SOURCES)
def test_report_is_valid_by_its_schema(name: str, language: str):
    errors = Draft202012Validator(report_schema()).iter_errors(
        report(ALL_SOURCES[name](), Messages(language))
    )
    assert [f"{error.json_path}: {error.message}" for error in errors] == []


def test_schema_is_a_schema_of_2020_12():
    schema = report_schema()
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_schema_admits_no_other_key_and_needs_every_one():
    maps = [part for part in objects(report_schema()) if "properties" not in part]
    records = [part for part in objects(report_schema()) if "properties" in part]
    assert len(maps) == 5  # versions, user_facts, by_phase, waits by name and by step
    assert all(part["additionalProperties"] is False for part in records)
    assert all(set(part["required"]) == set(part["properties"]) for part in records)


def test_report_ends_with_a_newline_and_is_indented_by_two():
    written = json_report(full_source(), ENGLISH)
    assert written.startswith(b'{\n  "schema_version": 1,\n')
    assert written.endswith(b"}\n")


def test_report_is_the_same_every_time():
    assert json_report(full_source(rows=30), ENGLISH) == json_report(full_source(rows=30), ENGLISH)


def test_named_times_of_the_inference_example():
    core = report(ge_source())["core_metrics"]
    source = "api_statistic_model"
    assert core["h2d_us"] == {"value": 50.0, "share": 0.135135, "source": source}
    assert core["model_execute_us"] == {"value": 300.0, "share": 0.810811, "source": source}
    assert core["d2h_us"] == {"value": 20.0, "share": 0.054054, "source": source}
    assert core["iteration_us"] == {"value": 370.0, "share": None, "source": "sum_of_parts"}
    assert core["device_iteration_us"]["value"] == 234.0


def test_unknown_values_are_null_not_zero_or_false():
    written = report(empty_source())
    core, profile = written["core_metrics"], written["profile"]
    for name in ("h2d_us", "iteration_us", "step_us", "op_share", "dispatch_bound", "step_trace", "steps"):
        assert core[name] is None
    assert core["throughput"] is None
    assert core["instance_room"] is None
    assert profile["framework"] is None
    assert profile["dynamic_shape"] is None
    assert profile["fusion"]["enabled"] is None
    assert profile["fusion"]["time_share"] is None
    assert profile["cores"] == {"aic": None, "aiv": None}
    assert profile["rank"] is None
    assert profile["ranks"] == []
    assert written["operators"] is None
    assert written["host"] is None


def test_ratios_that_a_level_does_not_record_are_null():
    top = report(level0_source())["operators"]["top"][0]
    assert set(top["aic"].values()) == {None}
    assert top["cube_utilization_pct"] is None
    assert top["op_type"] is None
    assert top["name"] == "MatMul_12"


def test_whole_run_has_no_step_name():
    core = report(level0_source())["core_metrics"]
    assert core["step_trace"]["whole_run"] is True
    assert core["step_trace"]["stage_us"] is None
    assert core["step_trace"]["exposed_share"] is None
    assert core["steps"][0]["step"] is None


def test_times_are_microseconds_with_three_decimals():
    top = report(full_source())["operators"]["top"][0]
    assert (top["total_us"], top["avg_us"], top["max_us"]) == (10.0, 2.5, 3.001)


def test_ratio_and_percent_keep_their_units_whatever_their_size():
    top = report(full_source())["operators"]["top"][0]
    assert top["aic"]["scalar_ratio"] == 0.5  # a fraction: 50 %
    assert top["cube_utilization_pct"] == 0.5  # percent: 0.5 %


def test_lists_are_cut_and_say_how_many_rows_there_are():
    operators = report(full_source(rows=60))["operators"]
    assert (len(operators["top"]), operators["top_groups"]) == (20, 60)
    assert (len(operators["problems"]), operators["problem_groups"]) == (50, 62)
    assert len(operators["by_type"]) == 60


def test_excluded_first_iteration_stands_beside_the_count():
    iterations = report(full_source())["core_metrics"]["iterations"]
    assert iterations == {
        "count": 2,
        "source": "step_trace_time",
        "estimated": False,
        "excluded_first_us": 9000.0,
        "excluded_source": "step_trace_time",
    }


def test_rank_is_the_one_analysed_and_ranks_are_all():
    profile = report(full_source())["profile"]
    assert (profile["rank"], profile["ranks"]) == (0, [0, 1])


def test_path_is_as_the_user_gave_it():
    assert report(full_source())["profile"]["path"] == "profiles/run7"


def test_agreement_of_files_is_stated_in_numbers():
    checks = report(full_source())["core_metrics"]["checks"]
    assert [(check["kind"], check["agrees"]) for check in checks] == [
        ("op_statistic_kernels", True),
        ("kernels_computing", False),
    ]
    assert (checks[1]["left_us"], checks[1]["right_us"], checks[1]["difference"]) == (990.0, 900.0, 0.0909)


def test_missing_file_names_the_setting_that_collects_it():
    missing = report(level0_source())["profile"]["missing"]
    assert missing[0]["kind"] == "api_statistic"
    assert missing[0]["needed_for"] == ["host"]
    assert "profiler_level=Level1" in missing[0]["hint"]


def test_names_are_written_as_they_are():
    name = "a|b`<b>\n\u202e\x1b[31m*x*\\"
    written = report(full_source(name, name))
    assert written["operators"]["top"][0]["op_type"] == name
    assert written["operators"]["top"][0]["input_shapes"] == name
    assert written["host"]["apis"][0]["name"] == name


def test_path_that_is_no_text_can_be_written():
    source = full_source()
    odd = replace(source, files=(replace(source.files[0], path="a\udcff.csv"),))
    assert report(odd)["profile"]["files"][0]["path"] == "a\ufffd.csv"


def test_trace_is_counted():
    trace = report(full_source())["profile"]["trace"]
    assert (trace["objects"], trace["bars"], trace["lost_bytes"]) == (12, 6, 77)
    assert trace["by_phase"] == {"M": 3, "X": 7, "f": 1, "s": 1}
    assert trace["flows"] == [{"kind": "async_npu", "count": 4, "tied": 3}]
    assert trace["tracks"][1] == {
        "process": "Ascend Hardware",
        "thread": "Stream 2",
        "role": "device_stream",
        "device": 0,
        "bars": 2,
    }
    assert [(fault["kind"], fault["count"], fault["lost"]) for fault in trace["faults"]] == [
        ("no_ts", 2, True),
        ("late_metadata", 1, False),
    ]


def test_capture_without_a_trace_has_null_in_its_place():
    written = report(level0_source())
    assert written["profile"]["trace"] is None
    core = written["core_metrics"]
    assert (core["copies"], core["copies_cut_by"], core["copies_outside"]) == (None, None, None)


def test_copies_are_directed_and_timed_per_iteration():
    core = report(full_source())["core_metrics"]
    to_device, to_host = core["copies"]
    assert (to_device["direction"], to_host["direction"]) == ("host_to_device", "device_to_host")
    assert (to_device["per_iteration_us"], to_device["overlapped_us"]) == (50.0, 50.0)
    assert (to_host["bytes"], to_host["gb_per_s"]) == (8192, 0.4096)
    assert (core["copies_cut_by"], core["copies_outside"]) == ("profiler_step", 1)


def test_framework_operators_are_cut_at_twenty_and_counted():
    source = replace(full_source(), host_operators=framework_operators(rows=30))
    host = report(source)["host"]
    assert (len(host["operators"]), host["operator_rows"], host["steps"]) == (20, 30, 2)
    assert host["operators"][0]["self_us"] == 90.0
    assert host["operators"][0]["self_per_step_us"] == 45.0
    assert host["operators"][0]["calls_per_step"] == 1.5


def test_verdicts_on_framework_operators_follow_those_on_apis():
    verdicts = report(full_source())["host"]["verdicts"]
    assert [verdict["kind"] for verdict in verdicts] == [
        "stream_sync",
        "short_launches",
        "aten_copy_",
        "aten_to",
        "aten_to_copy",
    ]
    assert verdicts[2]["calls_per_iteration"] == 501.0
    assert verdicts[2]["level"] is None


def test_gpu_trace_has_framework_operators_and_no_apis():
    host = report(kineto_source())["host"]
    assert host["apis"] is None
    assert host["operators"][0]["name"] == "aten::mm"
    assert host["steps"] is None
