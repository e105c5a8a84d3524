"""Custom operators among the extras of a report: the trace adds what the kernels alone do not tell."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from analysis.notes import Missing
from analysis.operators import Extra, with_custom_operators
from analysis.report.json import json_report
from analysis.report.markdown import markdown_report
from analysis.report.messages import Messages
from tests.analysis.report_fixtures import custom_kernels, full_source

ABSENT = Missing(("trace_view",), "trace")
UNKNOWN = Extra("custom_operators", None, None, None, None, flagged=None)
OTHER = Extra("communication_kernels", 3, 40, None, None, flagged=None)


def test_extra_is_filled_in_its_place():
    told = Extra("custom_operators", 8, 8_009_123, None, None, flagged=None)
    assert with_custom_operators((UNKNOWN, OTHER), custom_kernels("Lookup")) == (told, OTHER)


def test_extra_stays_unknown_without_a_trace():
    assert with_custom_operators((UNKNOWN, OTHER), ABSENT) == (UNKNOWN, OTHER)


def test_run_without_extras_gets_none():
    assert with_custom_operators((), custom_kernels("Lookup")) == ()


def test_report_lists_the_kernels_with_their_operators():
    source = replace(full_source(), custom_operators=custom_kernels("my_ops::lookup"))
    report = markdown_report(source, Messages("en"))
    assert "### Kernels of custom operators" in report
    assert "| Custom operators | 8 | 8009.123 |" in report
    assert "Kernels whose launch the trace does not tell: 3" in report


def test_report_without_a_trace_has_no_such_section():
    source = replace(full_source(), custom_operators=ABSENT)
    assert "### Kernels of custom operators" not in markdown_report(source, Messages("en"))


@pytest.mark.parametrize(("known", "count"), [(True, 8), (False, None)])
def test_json_counts_custom_operators_where_the_trace_tells(known: bool, count: int | None):
    custom = custom_kernels("Lookup") if known else ABSENT
    report = orjson.loads(json_report(replace(full_source(), custom_operators=custom), Messages("en")))
    counts = {extra["kind"]: extra["count"] for extra in report["operators"]["extras"]}
    assert counts["custom_operators"] == count
