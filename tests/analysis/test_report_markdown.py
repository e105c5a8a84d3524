"""The Markdown report: chapters in order, tables that hold, and what is missing said in one line."""

from __future__ import annotations

import re
from dataclasses import replace

import polars as pl
import pytest
from markdown_it import MarkdownIt

from analysis.copies import Copies
from analysis.finding import MARKS
from analysis.iterations import Iterations
from analysis.metrics import NamedTime
from analysis.notes import Missing, Note
from analysis.operator_problems import problem_rules
from analysis.profile.kinds import kinds
from analysis.report.chapters.core import core_rows
from analysis.report.escape import visible
from analysis.report.markdown import chapters_of, markdown_report
from analysis.report.messages import LANGUAGES, Messages
from analysis.report.tables import TABLES
from tests.analysis.report_fixtures import (
    ALL_SOURCES,
    calm_source,
    empty_source,
    framework_operators,
    full_source,
    ge_source,
    kineto_source,
    level0_source,
    statistic_source,
)

ENGLISH = Messages("en")
CHINESE = Messages("zh")
RENDERER = MarkdownIt("commonmark").enable("table")

HOSTILE_NAMES = [
    "a|b",
    "`a`",
    "a\nb",
    "<b>a</b>",
    "a\u202eb",
    "\x1b[31ma",
    "op[red]",
    "*x*",
    "__init__",
    "$x$",
    "back\\",
    "&lt;",
    "| a | b |",
    "a\\|b",
]


def tables_of(markdown: str) -> list[list[str]]:
    """The lines of each table."""
    blocks = [block.splitlines() for block in markdown.split("\n\n")]
    return [block for block in blocks if block and block[0].startswith("|")]


def chapter(markdown: str, number: int) -> str:
    parts = re.split(r"^## \d+ .*$", markdown, flags=re.MULTILINE)
    return parts[number].strip()


def shown_text(markdown: str) -> str:
    """All text a renderer shows, one piece a line; any token that is no text is a fault of the escaping."""
    pieces = []
    for token in RENDERER.parse(markdown):
        if token.type == "inline":
            children = token.children or []
            assert {child.type for child in children} <= {"text", "text_special", "softbreak"}
            pieces.append("".join(child.content for child in children))
    return "\n".join(pieces)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ALL_SOURCES)
def test_chapters_come_in_the_order_of_the_specification(name: str, language: str):
    messages = Messages(language)
    source = ALL_SOURCES[name]()
    markdown = markdown_report(source, messages)
    headings = re.findall(r"^## (.*)$", markdown, re.MULTILINE)
    assert headings == [
        messages.text("report.chapter.findings"),
        *[
            f"{number} {messages.text(f'report.chapter.{key}')}"
            for number, key in enumerate(chapters_of(source), start=1)
        ],
    ]


def test_what_stands_out_comes_first_and_in_the_order_of_the_result():
    source = full_source()
    findings = markdown_report(source, ENGLISH).split("\n## ")[1].strip().splitlines()[4:]
    marks = [shown_text(line)[0] for line in findings]
    assert marks == [MARKS[finding.severity] for finding in source.findings]


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "copies are not in what is left of the trace file, which is cut short and may have lost"),
        ("zh", "无法给出：trace 文件被截断，剩余内容中没有拷贝，可能已丢失。"),
    ],
)
def test_a_cut_trace_is_not_said_to_lack_what_it_may_have_lost(language: str, said: str):
    cut = Missing(("trace_view",), "level1", lacks="copies", cut=True)
    report = markdown_report(replace(full_source(), copies=cut), Messages(language))
    assert said in report
    assert Messages(language).text("report.lacks", {"what": "copies are"}) not in report


@pytest.mark.parametrize(("source", "told"), [(level0_source, True), (full_source, False)])
def test_times_of_the_whole_run_are_told_as_such(source, told: bool):
    assert (source().metrics.iterations.source == "whole_run") is told
    assert ("every time here is of the whole run" in markdown_report(source(), ENGLISH)) is told


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(name: str):
    for table in tables_of(markdown_report(full_source(name, name), ENGLISH)):
        assert len({line.count("|") for line in table}) == 1, table


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_renderer_shows_hostile_names_literally(name: str):
    shown = shown_text(markdown_report(full_source(name, name), ENGLISH)).splitlines()
    # op type by type, in the top table, in its shapes, twice in each of three problem rows, host API names
    assert shown.count(visible(name)) >= 10


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_note_stays_one_item(name: str):
    source = replace(
        empty_source(), notes=(Note("file_unreadable", {"kind": name, "reason": name}, name, 3),)
    )
    markdown = markdown_report(source, ENGLISH)
    remarks = markdown.split(f"### {ENGLISH.text('report.section.notes')}")[1]
    item = next(line for line in remarks.splitlines() if line.startswith("- "))
    assert shown_text(item) == f"{visible(name)}:3: {visible(name)} cannot be read: {visible(name)}"


def test_profile_name_in_the_title_stays_one_heading():
    source = full_source()
    odd = replace(source, profile=replace(source.profile, name="run\n# 7 | *x*"))
    first = markdown_report(odd, ENGLISH).splitlines()[0]
    assert shown_text(first).startswith("run\\n# 7 | *x* · rank 0")


def test_title_says_where_what_and_how_long():
    assert markdown_report(ge_source(), ENGLISH).startswith("# PROF_1 · inference · 370 us per iteration\n")
    assert markdown_report(full_source(), CHINESE).startswith(
        "# run7 · rank 0（共 2 份采集数据） · 训练 · 每步 945 us\n"
    )


def test_shapes_are_never_cut():
    shapes = ";".join(["4096,512"] * 500)
    assert shapes in chapter(markdown_report(full_source(shapes=shapes), ENGLISH), 4)


def test_cut_is_said():
    markdown = markdown_report(full_source(rows=60), ENGLISH)
    assert "20 of 60 groups, by total time." in chapter(markdown, 4)
    assert "50 of 62 groups, by total time." in chapter(markdown, 5)
    assert "50 of 60 operator types, by total time." in chapter(markdown, 3)


def test_core_table_always_has_the_rows_of_m8():
    for make in ALL_SOURCES.values():
        core = chapter(markdown_report(make(), ENGLISH), 2)
        for row in ("Scenario", "Stack", "Execution mode", "Dynamic shape", "Automatic fusion"):
            assert f"| {row} |" in core
        assert "in the averages |" in core
        assert "| Excluded first iteration |" in core


@pytest.mark.parametrize("source", ["whole_run", "single"])
@pytest.mark.parametrize(("language", "unknown"), [("en", "unknown"), ("zh", "未知")])
def test_a_run_that_counts_as_one_step_is_no_count_of_steps(source: str, language: str, unknown: str):
    full, messages = full_source(), Messages(language)
    iterations = Iterations(1, source, False, None, None, None, None)
    rows = core_rows(replace(full, metrics=replace(full.metrics, iterations=iterations)), messages)
    label = messages.text("report.row.iterations_steps")
    assert next(row for row in rows if row[0] == label) == [label, unknown, messages.text(f"source.{source}")]


@pytest.mark.parametrize(
    ("language", "unread", "unmarked"),
    [
        ("en", "no trace tells the host side", "the trace marks no averaged step on the host"),
        ("zh", "没有 trace 给出 Host 侧单步", "trace 在 Host 侧没有标记任何参与平均的 step"),
    ],
)
def test_throughput_of_the_device_side_says_whether_a_trace_lacks_or_its_marks(
    language: str, unread: str, unmarked: str
):
    full = full_source()
    assert full.metrics.host_step is None
    without = replace(full, trace_summary=Missing(("trace_view",), "trace"))
    for source, said in ((full, unmarked), (without, unread)):
        (row,) = (
            row
            for row in core_rows(source, Messages(language))
            if row[0] == Messages(language).text("report.row.throughput")
        )
        assert row[2].endswith(said)


def test_excluded_first_iteration_is_not_in_the_averages():
    core = chapter(markdown_report(full_source(), ENGLISH), 2)
    assert (
        "| Excluded first iteration | 9000.000 us | step_trace_time; excluded, not in the averages |" in core
    )
    assert "| 9 (excluded, not in the mean) |" in core


def test_exposed_communication_larger_than_free_comes_first():
    # Not overlapped 235 us, Free 215 us, and dispatch-bound as well.
    assert ENGLISH.text("report.core.communication_pace") in chapter(
        markdown_report(full_source(), ENGLISH), 2
    )


def test_unknown_time_is_not_available_instead_of_zero():
    core = chapter(markdown_report(level0_source(), ENGLISH), 2)
    assert "| H2D | – | only the trace tells |" in core


def test_chapter_without_data_is_one_line_with_the_setting():
    host = chapter(markdown_report(level0_source(), ENGLISH), 7)
    assert "\n" not in host
    assert "api_statistic" in host
    assert "profiler_level=Level1" in host


def test_unreadable_file_is_not_called_missing():
    operators = chapter(markdown_report(empty_source(), ENGLISH), 4)
    assert (
        operators
        == "Not available: kernel_details or op_summary is there but could not be read; chapter 1 says why."
    )


def test_what_level0_does_not_record_is_named_and_its_columns_left_out():
    top = chapter(markdown_report(level0_source(), ENGLISH), 4)
    assert "| Name | Input shapes | Input dtypes | Count |" in top
    assert top.splitlines()[-1].startswith(
        "This capture does not record: OP type; Core; Block num; the ratios of"
    )
    assert "PipeUtilization" in top.splitlines()[-1]


def test_ratios_that_a_chip_does_not_have_are_not_asked_for():
    # The AIC and AIV ratios that PipeUtilization gives are there; others are null on every chip like it.
    assert "does not record" not in chapter(markdown_report(full_source(), ENGLISH), 4)


def test_problem_that_could_not_be_judged_is_not_called_absent():
    problems = chapter(markdown_report(full_source(), ENGLISH), 5)
    line = next(line for line in problems.splitlines() if line.startswith("- aiv_scalar_ratio"))
    assert line.endswith("Not judged.")


def test_unit_of_a_problem_value_goes_by_its_column():
    problems = chapter(markdown_report(full_source(), ENGLISH), 5)
    rows = [line for line in problems.splitlines() if line.startswith("| ")]
    scalar = next(row for row in rows if "aic_scalar_ratio" in row)
    cube = next(row for row in rows if "cube_utilization" in row)
    assert scalar.endswith("| 50.000 % |")
    assert cube.endswith("| 0.500 % |")


def test_host_levels_are_kept_apart_and_said_to_nest():
    host = chapter(markdown_report(full_source(), ENGLISH), 7)
    assert re.findall(r"^#### (.*)$", host, re.MULTILINE) == [
        "Level AscendCL (acl)",
        "Level Runtime",
        "Level odd",
    ]
    assert ENGLISH.text("host.nested") in host


def test_call_that_never_occurs_is_said_instead_of_counted():
    host = chapter(markdown_report(statistic_source(), ENGLISH), 7)
    assert "Here: no such call." in host
    assert "0.00 calls" not in host


def test_no_problem_is_said_only_if_all_could_be_judged():
    assert ENGLISH.text("report.problems.none") in chapter(markdown_report(calm_source(), ENGLISH), 5)


def test_long_runs_list_the_first_steps_and_say_so():
    assert "50 of 60 steps, in the order of the file." in chapter(markdown_report(calm_source(), ENGLISH), 2)


@pytest.mark.parametrize(
    "headline", ["iteration", "step", "device_iteration", "model_execute", "wall", "op_time"]
)
def test_every_headline_has_its_words(headline: str):
    source = full_source()
    metrics = replace(source.metrics, headline=(headline, NamedTime(945_000, "kernels")))
    markdown = markdown_report(replace(source, metrics=metrics), ENGLISH)
    assert "945 us" in markdown.splitlines()[0]
    assert "945 us" in chapter(markdown, 2).splitlines()[0]


def test_agreement_is_stated_in_either_case():
    assert "nothing could be compared" in chapter(markdown_report(empty_source(), ENGLISH), 1)
    files = chapter(markdown_report(full_source(), ENGLISH), 1)
    assert "| 990.000 | 990.000 | 0.000 % | agree |" in files
    assert "| 990.000 | 900.000 | 9.090 % | differ by more than 1 % |" in files


def test_other_captures_are_listed_as_not_part_of_the_numbers():
    assert "rank 1 (run7_1)" in chapter(markdown_report(full_source(), ENGLISH), 1)


def test_report_is_the_same_every_time():
    assert markdown_report(full_source(rows=30), ENGLISH) == markdown_report(full_source(rows=30), ENGLISH)


def test_every_collectable_kind_says_what_its_absence_costs_and_how_to_get_it():
    for messages in (ENGLISH, CHINESE):
        for spec in kinds().values():
            if spec.collect:
                assert f"collect.{spec.collect}" in messages
                assert f"cost.{spec.name}" in messages


def test_every_problem_has_its_words():
    for messages in (ENGLISH, CHINESE):
        for rule in problem_rules():
            assert f"problem.{rule.id}" in messages
            assert f"problem_why.{rule.id}" in messages


def test_languages_have_the_same_keys_and_placeholders():
    placeholder = re.compile(r"\{[a-z_0-9]+\}")
    keys = ENGLISH.keys()
    assert keys == CHINESE.keys()
    for key in keys:
        assert set(placeholder.findall(ENGLISH.text(key))) == set(placeholder.findall(CHINESE.text(key))), key


def test_every_table_has_a_title_for_each_column():
    for columns in TABLES.values():
        assert len({column.key for column in columns}) == len(columns)
        assert all(column.title in ENGLISH for column in columns)


@pytest.mark.parametrize("cut", [None, 5_000])
def test_fused_operators_say_that_they_count_the_compile_iteration(cut: int | None):
    source = full_source()
    iterations = replace(
        source.metrics.iterations, excluded_first_ns=cut, excluded_until_ns=cut, excluded_step=None
    )
    source = replace(source, metrics=replace(source.metrics, iterations=iterations))
    assert source.scenario.fusion.kinds
    said = ENGLISH.text("report.core.fusion_with_first") in chapter(markdown_report(source, ENGLISH), 2)
    assert said == (cut is not None)


def section(markdown: str, title: str) -> str:
    """The text below a heading of the third level."""
    below = markdown.split(f"\n### {title}\n")[1]
    return re.split(r"^##+ (?!#)", below, maxsplit=1, flags=re.MULTILINE)[0].strip()


def test_trace_section_counts_what_the_file_holds():
    trace = section(markdown_report(full_source("t.json"), ENGLISH), "Trace")
    assert "t.json holds 12 objects, of them 6 bars on 3 tracks." in shown_text(trace)
    assert "M 3, X 7, f 1, s 1" in trace
    assert "| device streams | 2 | 3 |" in trace
    assert "| async_npu (framework operator to kernel) | 4 | 3 | 75.000 |" in trace
    assert "the 77 bytes after the last whole event are torn, and whatever should follow is missing" in trace
    assert "| no start (ts) | 2 | yes | t.json |" in trace


def test_trace_without_faults_and_arrows_says_both():
    trace = section(markdown_report(kineto_source(), ENGLISH), "Trace")
    assert ENGLISH.text("report.trace.no_faults") in trace
    assert ENGLISH.text("report.trace.no_arrows") in trace


def test_missing_trace_names_the_files_it_could_be():
    trace = section(markdown_report(level0_source(), ENGLISH), "Trace")
    assert trace.startswith(
        "Not available: this needs trace_view or msprof_timeline or kineto_trace. Collect with"
    )
    assert "\n" not in trace


def test_copies_are_told_by_direction_and_by_iteration():
    copies = section(markdown_report(full_source(), ENGLISH), "Copies on the device")
    assert "Longest per iteration: H2D (to device), 50.0 us; 50.0 % of it" in copies
    assert "Copies outside of every iteration: 1;" in copies
    direction, iteration = tables_of(copies)
    assert direction[3].startswith(
        "| D2H (to host) | 1 | 0.5 | 10.000 | 20.000 | 20.000 | 20.000 | 8192 | 0.4096 | 0.000 |"
    )
    assert [row.split(" | ")[0] for row in iteration[2:]] == ["| 10", "| 11", "| 11"]


def test_many_iterations_are_not_listed_one_by_one():
    source = full_source()
    assert isinstance(source.copies, Copies)
    rows = pl.concat(
        source.copies.by_iteration.head(1).with_columns(pl.lit(str(number)).alias("iteration"))
        for number in range(13)
    )
    source = replace(source, copies=replace(source.copies, by_iteration=rows))
    assert len(tables_of(section(markdown_report(source, ENGLISH), "Copies on the device"))) == 1


def test_excluded_iteration_of_copies_is_marked():
    source = full_source()
    assert isinstance(source.copies, Copies)
    rows = source.copies.by_iteration.with_columns(pl.lit(value=True).alias("excluded"))
    source = replace(source, copies=replace(source.copies, by_iteration=rows))
    copies = section(markdown_report(source, ENGLISH), "Copies on the device")
    assert "| 10 (excluded, not in the averages) |" in copies


def test_copies_inside_free_are_told_with_it():
    source = full_source()
    step = source.metrics.step_trace
    assert not isinstance(step, Missing)
    known = replace(source, metrics=replace(source.metrics, step_trace=replace(step, copies_ns=70_000)))
    assert "; copies take 70.0 us of it." in chapter(markdown_report(known, ENGLISH), 2)
    assert "copies take" not in section(markdown_report(source, ENGLISH), "Step decomposition")


def test_framework_operators_come_by_self_time_and_are_cut_at_twenty():
    source = replace(full_source(), host_operators=framework_operators(rows=30))
    operators = section(markdown_report(source, ENGLISH), "Framework operators on the host")
    assert "20 of 30 framework operators, by self time." in operators
    assert "Calls outside of every step: 4; they are left out." in operators
    (table,) = tables_of(operators)
    assert len(table) == 22
    assert table[2] == (
        "| aten::copy\\_ | 45.000 | 50.000 | 1.5 | 33.333 | 40.000 | 90.000 | 100.000 | 10.000 "
        "| aten | 3 | 2 |"
    )


def test_verdict_without_calls_says_that_there_are_none():
    host = chapter(markdown_report(full_source(), ENGLISH), 7)
    lines = [shown_text(line) for line in host.splitlines() if line.startswith("- ")]
    line = next(line for line in lines if line.startswith("· aten::_to_copy"))
    assert line.endswith("Here: no such call.")


def test_verdict_on_a_framework_operator_has_its_numbers():
    host = chapter(markdown_report(full_source(), ENGLISH), 7)
    lines = [shown_text(line) for line in host.splitlines() if line.startswith("- ")]
    line = next(line for line in lines if line.startswith("! aten::copy_"))
    assert line.endswith("Here: 501 calls, 50.0 us per step, 33.3 us each: over the limit.")


def test_gpu_trace_fills_the_host_chapter_and_the_device_chapters_say_what_they_need():
    markdown = markdown_report(kineto_source(), ENGLISH)
    host = chapter(markdown, 7)
    assert "The trace has no steps: the numbers are of the whole trace." in host
    assert "| aten::mm |" in host
    assert "this needs api_statistic" in host
    assert chapter(markdown, 3).startswith("Not available: this needs kernel_details or op_summary.")


def test_time_that_a_read_trace_does_not_hold_is_not_called_a_missing_trace():
    none = Missing(("trace_view",), "level1", lacks="copies")
    source = replace(full_source(), copies=none, metrics=replace(full_source().metrics, h2d=None))
    core = chapter(markdown_report(source, ENGLISH), 2)
    assert "| H2D | – | the trace has none |" in core


@pytest.mark.parametrize(
    ("language", "why"),
    [
        ("en", "not in what is left of the trace file, which is cut short"),
        ("zh", "trace 文件被截断，剩余内容中没有"),
    ],
)
def test_time_that_a_cut_trace_does_not_hold_may_be_lost(language: str, why: str):
    source = full_source()
    assert not isinstance(source.trace_summary, Missing)
    none = Missing(("trace_view",), "level1", lacks="copies", cut=True)
    faults = source.trace_summary.faults.head(1).with_columns(kind=pl.lit("cut"))
    source = replace(
        source,
        copies=none,
        metrics=replace(source.metrics, h2d=None),
        trace_summary=replace(source.trace_summary, faults=faults),
    )
    assert f"| H2D | – | {why} |" in markdown_report(source, Messages(language))
