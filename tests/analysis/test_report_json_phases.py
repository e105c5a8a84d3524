"""Phases, trees and asynchrony in the JSON report: valid, summing to the nanosecond, bounded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import polars as pl
import pytest
from jsonschema import Draft202012Validator

from analysis.phases.results import TREE, StepTree
from analysis.report.json import json_report, report_schema
from analysis.report.limits import JSON_TREE_DEPTH, JSON_TREE_NODES
from analysis.report.messages import Messages
from tests.analysis.phases import phase_fixtures as made
from tests.analysis.report_fixtures import full_source, ge_source, level0_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.analysis.report_fixtures import Source

ENGLISH = Messages("en")


def report(source: Source) -> dict[str, Any]:
    loaded: dict[str, Any] = orjson.loads(json_report(source, ENGLISH))
    return loaded


def faults(written: dict[str, Any]) -> list[str]:
    found = Draft202012Validator(report_schema()).iter_errors(written)
    return [f"{error.json_path}: {error.message}" for error in found]


def nodes(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every node, without recursion."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node["children"])


def grown(parents: list[int], totals: list[int]) -> StepTree:
    """A large tree of nodes named by their place."""
    depth = [0]
    for parent in parents[1:]:
        depth.append(depth[parent] + 1)
    count = len(parents)
    frame = pl.DataFrame(
        {
            "node": range(count),
            "parent": parents,
            "depth": depth,
            "children": np.bincount([parent for parent in parents if parent >= 0], minlength=count),
            "name": [f"op {place}" for place in range(count)],
            "calls": [1] * count,
            "total_ns": totals,
            "self_ns": [0] * count,
        }
    )
    missing = {name: pl.lit(None, kind) for name, kind in TREE.items() if name not in frame.columns}
    return StepTree(
        frame.with_columns(**missing).select(*TREE).cast(TREE),  # type: ignore[arg-type]
        np.zeros(0, np.int64),
        1,
        1,
    )


def ns(us: float) -> int:
    return round(us * 1_000)


def test_phases_and_remainder_add_up_to_each_step_to_the_nanosecond():
    phases = report(full_source())["phases"]
    for window in (phases["mean"], *phases["steps"]):
        assert sum(ns(row["attributed_us"]) for row in window["phases"]) == ns(window["total_us"])
        rest = window["unclassified"]
        parts = ("device_sync_us", "named_us", "no_event_us")
        assert sum(ns(rest[part]) for part in parts) == ns(window["phases"][-1]["attributed_us"])


def test_steps_say_which_is_left_out_of_the_mean():
    steps = report(full_source())["phases"]["steps"]
    assert [(step["step"], step["excluded"], step["total_us"]) for step in steps] == [
        (10, True, 1000.0),
        (11, False, 800.0),
        (12, False, 1200.0),
    ]


def test_backward_is_given_with_and_without_what_the_autograd_thread_does():
    rows = {row["phase"]: row for row in report(full_source())["phases"]["mean"]["phases"]}
    assert rows["backward"] == {
        "phase": "backward",
        "main_thread_us": 260.0,
        "attributed_us": 200.0,
        "share": 0.2,
        "inferred_us": 7.0,
        "autograd_us": 190.0,
        "other_threads_us": 0.0,
    }


def test_tree_tells_of_every_node_why_it_has_its_phase():
    tree = report(full_source(name="loss.item"))["phases"]["call_tree"]
    forward, item = tree["children"]
    assert (forward["phase"], forward["rule"], forward["origin"]) == ("forward", "torchrec.forward", None)
    assert forward["children"][0]["verdict"] == "serial"
    assert item["children"][0]["star"] == "sync"
    assert [node["omitted"] for node in nodes(tree)] == [0] * 5


def test_pair_verdicts_have_their_numbers_and_confidence():
    serial, unseen = report(full_source())["asynchrony"]["pairs"]
    assert serial == {
        "pair": ["data_preprocessing", "embedding_lookup"],
        "verdict": "serial",
        "confidence": "high",
        "unobservable": None,
        "fused": False,
        "hideable_us": 80.0,
        "host_ratio": 0.025,
        "host_both_us": 6.0,
        "host_us": [300.0, 240.0],
        "device_ratio": 0.05,
        "device_both_us": 1.0,
        "device_us": [40.0, 20.0],
    }
    assert (unseen["unobservable"], unseen["host_ratio"], unseen["host_both_us"]) == ("host", None, None)


def test_fused_update_is_judged_by_the_device():
    found = report(replace(full_source(), phases=made.fused_update(made.phases())))["asynchrony"]["pairs"]
    assert [(pair["fused"], pair["verdict"]) for pair in found] == [(False, "serial"), (True, "serial")]
    assert (found[1]["host_ratio"], found[1]["device_ratio"]) == (None, 0.0)


def test_low_confidence_stands_at_every_verdict():
    written = report(replace(full_source(), phases=made.low_confidence(made.phases())))
    assert written["phases"]["confidence"] == "low"
    assert {pair["confidence"] for pair in written["asynchrony"]["pairs"]} == {"low"}


def test_depth_stands_by_stage_with_its_evidence():
    depth = report(full_source(name="copy 1"))["asynchrony"]["prefetch"]["depth"]
    assert list(depth) == ["data", "input_dist", "dist_wait", "lookup"]
    assert depth["input_dist"] == {
        "value": 1,
        "at_least": True,
        "evidence": "index_gap",
        "names": ["copy 1"],
        "behind": "dist_wait",
    }
    assert depth["lookup"]["value"] is None


def test_waits_stand_by_name_and_by_step():
    waits = report(full_source(name="future.result"))["asynchrony"]["waits"]
    assert waits["by_name"]["future.result"] == {
        "total_us": 200.0,
        "calls": 2,
        "share": 0.1,
        "phase": "embedding_lookup",
        "producer": "future.result",
        "flagged": True,
        "per_step_us": 100.0,
        "max_us": 120.0,
    }
    assert waits["per_step_us"] == {"10": 0.0, "11": 100.0, "12": 105.0}
    assert [row["step"] for row in waits["by_step"]] == [11, 12, 12]
    assert waits["device_syncs"][0]["total_us"] == 180.0


def test_names_are_written_as_they_are():
    name = "a|b\n<c> \u202e\x1b[31m"
    written = report(full_source(name))
    assert faults(written) == []
    assert name in written["asynchrony"]["waits"]["by_name"]
    assert name in {node["name"] for node in nodes(written["aten_tree"])}


@pytest.mark.parametrize("source", [ge_source, level0_source])
def test_inference_and_captures_without_a_trace_have_null(source: Any):
    written = report(source())
    assert [written[key] for key in ("phases", "aten_tree", "asynchrony")] == [None, None, None]


def test_even_the_phases_of_inference_are_not_written():
    source = full_source()
    inference = replace(source, scenario=replace(source.scenario, scenario="inference"))
    assert report(inference)["phases"] is None


def test_chain_of_a_hundred_thousand_calls_is_cut_and_counted():
    count = 100_000
    chain = grown([*range(-1, count - 1)], [count - place for place in range(count)])
    source = replace(full_source(), trees=(chain, chain))
    written = report(source)
    found = [*nodes(written["aten_tree"])]
    assert len(found) == JSON_TREE_DEPTH + 1
    assert sum(node["omitted"] for node in found) == count - len(found)
    assert faults(written) == []


def test_wide_tree_keeps_its_costliest_nodes():
    count = 10_001
    wide = grown([-1] + [0] * (count - 1), [10**9, *range(1, count)])
    tree = report(replace(full_source(), trees=(wide, wide)))["phases"]["call_tree"]
    assert len(tree["children"]) == JSON_TREE_NODES - 1
    assert tree["omitted"] == count - JSON_TREE_NODES
    assert min(child["total_us"] for child in tree["children"]) == (count - JSON_TREE_NODES + 1) / 1_000


def test_root_of_a_trace_without_steps_has_no_name():
    whole = made.tree({"name": None, "parent": -1, "total_ns": 100}, step=None)
    written = report(replace(full_source(), trees=(whole, whole)))
    assert (written["aten_tree"]["name"], written["aten_tree"]["step"]) == (None, None)
    assert faults(written) == []


def test_missing_tree_is_null_beside_the_phases():
    written = report(replace(full_source(), trees=None))
    assert written["phases"]["call_tree"] is None
    assert written["aten_tree"] is None
    assert written["phases"]["mean"]["total_us"] == 1000.0
    assert faults(written) == []
