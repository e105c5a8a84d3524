"""Phases, trees and asynchrony in the Markdown report: what stands first, what adds up, what is cut."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from markdown_it import MarkdownIt

from analysis.datafile import load_toml
from analysis.notes import Missing, Note
from analysis.phases.presence import BATCH_INDEX
from analysis.phases.representative import representative_step
from analysis.phases.tables import pair_rows, step_rows, step_waits
from analysis.report.chapters import asynchrony, trees
from analysis.report.chapters import phases as phases_chapter
from analysis.report.markdown import markdown_report
from analysis.report.messages import LANGUAGES, Messages
from analysis.report.tables import TABLES
from tests.analysis.phases import phase_fixtures as made
from tests.analysis.report_fixtures import Source, full_source, ge_source, level0_source

if TYPE_CHECKING:
    from analysis.phases.results import Phases, StepTree

ENGLISH = Messages("en")


def of(found: Phases) -> Source:
    return replace(full_source(), phases=found)


def of_trees(call_tree: StepTree, aten_tree: StepTree) -> Source:
    return replace(full_source(), trees=(call_tree, aten_tree))


def text(chapter: Any, source: Source, language: str = "en") -> str:
    return "\n\n".join(chapter(source, Messages(language)))


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def table_after(markdown: str, head: str) -> list[list[str]]:
    """Rows of the table whose head begins with ``head``."""
    lines = markdown.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(f"| {head} "))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append(cells(line))
    return rows


def whole_trace(found: Phases) -> Phases:
    """The same as of a trace without steps."""
    windows = replace(found.windows, frame=found.windows.frame.head(1), whole_trace=True)
    unnumbered = {"step": pl.lit(None, pl.Int64), "excluded": pl.lit(value=False)}
    times = replace(
        found.times,
        steps=found.times.steps.head(1).with_columns(**unnumbered),
        by_step=found.times.by_step.head(7).with_columns(**unnumbered),
    )
    return replace(found, windows=windows, times=times, variation=None)


@pytest.mark.parametrize("chapter", [phases_chapter.chapter, trees.chapter, asynchrony.chapter])
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_doubtful_about_steps_is_told_where_their_numbers_stand(chapter: Any, language: str):
    found = full_source().phases
    assert not isinstance(found, Missing)
    doubt = Note("steps_overlapping", {"count": "1", "steps": "7"})
    doubtful = replace(found, windows=replace(found.windows, cut=True, lossy=(11,), doubts=(doubt,)))
    cut, marks = text(chapter, of(doubtful), language).split("\n\n")[:2]
    messages = Messages(language)
    assert cut == "! " + messages.text("report.cut_trace.steps", {"steps": "11"})
    assert marks == "! " + messages.text("note.steps_overlapping", doubt.values)


def test_attributed_times_of_the_table_add_up_to_the_step():
    rows = table_after(text(phases_chapter.chapter, full_source()), "Phase")
    assert sum(float(row[3]) for row in rows) == pytest.approx(1000.0)
    assert len(rows) == 7


def test_largest_phase_is_named_first():
    lead = text(phases_chapter.chapter, full_source()).splitlines()[0]
    assert lead.startswith("The largest phase is forward: 300 us of a host step of 1.00 ms, 30.0 %.")


def test_compile_step_is_counted_apart():
    assert "Steps in the means: 2; compile steps left out: 1." in text(phases_chapter.chapter, full_source())


def test_uncertainty_is_told_before_what_it_makes_uncertain():
    # 250 us without a phase against 190 us of forward, the next largest of the rest.
    lead = text(phases_chapter.chapter, of(made.low_confidence(made.phases()))).splitlines()[0]
    assert lead.startswith("Low confidence: of a host step of 1.00 ms, 25.0 % has no phase (limit 20 %)")
    assert "blocked until the device is done: 200 us" in lead


def test_every_verdict_says_low_confidence():
    source = of(made.low_confidence(made.phases()))
    assert "The largest phase is backward (low confidence): 200 us" in text(phases_chapter.chapter, source)
    assert "run one after the other (low confidence)" in text(asynchrony.chapter, source)
    verdicts = re.findall(r"(serial|not observable)( \(low confidence\))?", text(asynchrony.chapter, source))
    assert len(verdicts) == 2
    assert all(low for _, low in verdicts)
    assert "serial (low confidence)" in text(phases_chapter.chapter, source)
    assert "low confidence" not in text(asynchrony.chapter, full_source())


def test_remainder_is_split_in_three():
    rows = table_after(text(phases_chapter.chapter, full_source()), "Part")
    assert [row[1] for row in rows] == ["90.000", "40.001", "9.999"]


def test_steps_stand_beside_each_other_and_add_up():
    rows = table_after(text(phases_chapter.chapter, full_source()), "Step")
    assert [row[0] for row in rows] == ["10 (excluded, not in the mean)", "11", "12"]
    for row in rows:
        assert sum(float(value) for value in row[2:]) == pytest.approx(float(row[1]))


def test_step_table_of_the_result_adds_up_to_the_nanosecond():
    rows = step_rows(made.phase_times())
    sums = rows.select(pl.sum_horizontal(pl.exclude("step", "excluded", "step_ns")))
    assert sums.to_series().to_list() == rows["step_ns"].to_list() == [1_000_000, 800_000, 1_200_000]


def test_slow_step_is_shown_with_what_grew():
    markdown = text(phases_chapter.chapter, full_source())
    assert (
        "! The averaged steps differ by 40.0 % of their mean; their median is 800 us. Step 12 stands out"
        in markdown
    )
    rows = table_after(markdown, "What")
    # 400 us more in forward, 290 us in one name, 20 us without event; what did not grow is no reason.
    assert [(row[0], row[-1]) for row in rows] == [
        ("phase", "400.000"),
        ("name", "290.000"),
        ("no event", "20.000"),
    ]


def test_even_steps_need_no_table():
    found = made.phases()
    assert found.variation is not None
    found = replace(found, variation=replace(found.variation, flagged=False))
    markdown = text(phases_chapter.chapter, of(found))
    assert "· The averaged steps differ by 40.0 %" in markdown
    assert "\n| What " not in markdown


def test_whole_trace_is_said_to_be_one_step():
    markdown = text(phases_chapter.chapter, of(whole_trace(made.phases())))
    assert "the whole trace is taken as one step" in markdown
    assert ENGLISH.text("report.section.step_phases") not in markdown


def test_inferred_backward_is_said_and_a_column_only_where_there_is_some():
    markdown = text(phases_chapter.chapter, full_source())
    assert "Of backward, 7.00 us leave no event on the main thread" in markdown
    assert "Of it inferred (us)" in markdown
    found = made.phases()
    mean = found.times.mean.with_columns(pl.lit(0, pl.Int64).alias("inferred_ns"))
    markdown = text(phases_chapter.chapter, of(replace(found, times=replace(found.times, mean=mean))))
    assert "nferred" not in markdown


def test_misplaced_backward_is_counted():
    found = made.phases()
    found = replace(found, times=replace(found.times, misplaced_backward=3))
    assert "3 of 24 arrows from forward to backward" in text(phases_chapter.chapter, of(found))


def test_fused_update_is_never_to_be_split_off():
    source = of(made.fused_update(made.phases()))
    told = "The table update is inside backward (fused): on the host only the autograd thread"
    assert told in text(phases_chapter.chapter, source)
    chapter = text(asynchrony.chapter, source)
    update = next(line for line in chapter.splitlines() if "embedding update and dense update" in line)
    assert update.startswith("- · ")
    assert told in update
    assert "Host:" not in update
    assert "Device: both at work for 0.00 us" in update
    uncertain = text(asynchrony.chapter, of(made.low_confidence(made.fused_update(made.phases()))))
    assert "inside backward (fused) (low confidence): on the host" in uncertain
    assert "run one after the other: embedding update" not in chapter


def test_short_steps_are_told_the_first_five_of_them():
    found = made.phases()
    assert found.variation is not None
    short = tuple((step, step * 1_000) for step in range(1, 8))
    found = replace(found, variation=replace(found.variation, short=short))
    markdown = text(phases_chapter.chapter, of(found))
    assert "leaves them out): step 1 (1.00 us), step 2 (2.00 us)" in markdown
    assert "step 5 (5.00 us), …\n" in markdown


def test_a_pair_with_next_to_no_work_keeps_its_verdict_and_gets_no_advice():
    found = made.phases()
    # The limit is a thousandth of a step of 1 ms.
    small = replace(found, pairs=(replace(found.pairs[0], hideable_ns=999), found.pairs[1]))
    chapter = text(asynchrony.chapter, of(small))
    (pair,) = (line for line in chapter.splitlines() if "data preprocessing and embedding lookup" in line)
    assert pair.startswith("- · data preprocessing and embedding lookup: serial.")
    assert "does 1.00 us of work a step: too little to matter" in pair
    assert "run one after the other" not in chapter
    assert "run one after the other" in text(asynchrony.chapter, full_source())


def test_heads_of_waits_say_which_numbers_are_of_a_step_and_which_of_the_averaged_ones():
    heads = [
        cells(line) for line in text(asynchrony.chapter, full_source()).splitlines() if "Time/step" in line
    ]
    assert len(heads) == 2
    for head in heads:
        assert any(cell.startswith("Count, averaged steps") for cell in head)
        assert any(cell.startswith("Total, averaged steps") for cell in head)
        assert not any(cell.startswith(("Count ", "Total ")) or cell in ("Count", "Total") for cell in head)


@pytest.mark.parametrize(
    ("language", "heads"),
    [
        ("en", ["Count, whole trace", "Total, whole trace (us)"]),
        ("zh", ["次数（整个 trace）", "总耗时（整个 trace）（us）"]),
    ],
)
def test_heads_of_prefetch_events_say_that_their_numbers_are_of_the_whole_trace(
    language: str, heads: list[str]
):
    chapter = text(asynchrony.chapter, full_source(), language)
    events = chapter.split(Messages(language).text("report.section.waits"))[0].split("\n\n")[-2]
    assert cells(events.splitlines()[0])[2:4] == heads


@pytest.mark.parametrize(
    ("language", "left_out", "counted"),
    [
        (
            "en",
            "Averages and sums over steps leave out the steps that may have lost events: 11.",
            "Pairs of phases and prefetching are told from the whole file, these steps included.",
        ),
        (
            "zh",
            "各 step 的平均值与总和不计入可能丢失事件的 step：11。",
            "可并行的阶段与预取根据整个文件统计，包含这些 step。",
        ),
    ],
)
def test_a_cut_trace_says_what_leaves_steps_out_and_what_counts_them(
    language: str, left_out: str, counted: str
):
    lossy = replace(made.windows(), cut=True, lossy=(11,))
    said = trees.cut_text(lossy, Messages(language))
    assert left_out in said
    assert counted in said


def test_update_outside_of_backward_keeps_its_verdict():
    # The host part of a cached table: 60 us of update on the main thread beside what is fused.
    found = made.fused_update(made.phases())
    host_part = pl.when(pl.col("phase") == "embedding_update").then(60_000).otherwise("main_thread_ns")
    mean = found.times.mean.with_columns(host_part.alias("main_thread_ns"))
    source = of(replace(found, times=replace(found.times, mean=mean)))
    assert "- ! embedding update and dense update: serial." in text(asynchrony.chapter, source)
    assert "A part of the table update is inside backward" in text(phases_chapter.chapter, source)


def test_tree_is_indented_by_what_no_reader_takes_away():
    markdown = text(phases_chapter.chapter, full_source()).split("### Call tree")[1]
    html = MarkdownIt("commonmark").enable("table").render(markdown)
    names = re.findall(r"<tr>\n<td style=\"text-align:left\">(.*?)</td>", html)
    assert [name.count("│ ") for name in names] == [0, 1, 2, 1, 2]


def test_call_tree_shows_phase_verdict_star_and_rule():
    markdown = text(phases_chapter.chapter, full_source(name="loss.item")).split("### Call tree")[1]
    rows = {row[0]: row[1:] for row in table_after(markdown, "Name")}
    assert rows["│ │ \\[lookup\\]\\_\\[ebc\\]"] == [
        "80.000",
        "2",
        "10.000",
        "embedding lookup",
        "serial",
        "–",
        "torchrec.sharded_module",
    ]
    assert rows["│ │ aten::item"][5] == "★ device sync"


def test_costliest_star_comes_first_with_where_it_is():
    markdown = text(trees.chapter, full_source(name="loss.item"))
    assert markdown.startswith(
        "Look first at aten::item inside loss.item (unclassified, Thread 1): 90.0 us, 9.0 % of the step; "
        "it waits until the device is done. ★ marks what blocks for >= 5 % of the step or takes >= 10 %"
    )


def test_root_of_a_trace_without_steps_is_named_in_words():
    whole = made.tree({"name": None, "parent": -1, "total_ns": 100}, step=None)
    markdown = text(trees.chapter, of_trees(whole, whole))
    assert table_after(markdown, "Name")[0][0] == "whole trace"
    assert "The whole trace, threads side by side" in markdown


def test_tree_without_a_star_says_so():
    plain = made.tree({"name": "ProfilerStep#1", "parent": -1, "total_ns": 100})
    assert text(trees.chapter, of_trees(plain, plain)).startswith("Nothing blocks for >= 5 % of the step")


def test_longest_call_stands_only_where_it_is_far_above_the_average():
    # 72,801 ns is more than 3 x 18,200; 90 us and 300 us are their own average.
    rows = table_after(text(trees.chapter, full_source(name="loss.item")), "Name")
    assert [row[5] for row in rows] == ["", "", "72.801", ""]


def test_cut_of_a_tree_is_a_row_of_its_own():
    leaves = [{"name": f"op {number}", "parent": 0, "total_ns": 1_000 - number} for number in range(100)]
    wide = made.tree({"name": "ProfilerStep#1", "parent": -1, "total_ns": 200_000}, *leaves)
    rows = table_after(text(trees.chapter, of_trees(wide, wide)), "Name")
    # The root and the 39 costliest are kept: 61 leaves of 1,000 - number with number from 39 to 99 are not.
    assert rows[-1][:2] == ["│ … 61 more", f"{sum(1_000 - number for number in range(39, 100)) / 1_000:.3f}"]
    assert len(rows) == 41


def test_pair_gives_ratios_and_what_they_are_made_of():
    chapter = text(asynchrony.chapter, full_source())
    serial = next(line for line in chapter.splitlines() if "data preprocessing and" in line and "- !" in line)
    assert "Host: both at work on different threads for 6.00 us, of 300 us and 240 us (2.5 %" in serial
    assert "Device: both at work for 1.00 us, of 40.0 us and 20.0 us (5.0 %" in serial


def test_unobservable_pair_names_the_side_that_is_not_seen():
    chapter = text(asynchrony.chapter, full_source())
    assert "- ? embedding update and dense update: not observable. No work of embedding update" in chapter


def test_time_both_work_is_the_numerator_of_the_ratio():
    rows = pair_rows((made.SERIAL, made.UNSEEN))
    assert rows["host_both_ns"].to_list() == [6_000, None]
    assert rows["device_both_ns"].to_list() == [1_000, None]


def test_larger_of_wait_and_serial_pair_comes_first():
    # 100 us of waiting against 80 us that the shorter side takes.
    lead = text(asynchrony.chapter, full_source(name="future.result")).splitlines()[0]
    assert lead.startswith("The main thread stands still longest in future.result, which waits for")
    found = made.phases()
    short = found.waits.by_name.with_columns(pl.lit(1_000, pl.Int64).alias("per_step_ns"))
    synced = found.waits.device_syncs.clear()
    found = replace(found, waits=replace(found.waits, by_name=short, device_syncs=synced))
    lead = text(asynchrony.chapter, of(found)).splitlines()[0]
    assert lead.startswith("Two phases that need nothing of each other run one after the other: data prep")


def test_depths_stand_with_their_evidence():
    rows = table_after(text(asynchrony.chapter, full_source(name="copy 1")), "Stage")
    assert [row[1] for row in rows] == ["2", "1 or more", "–", "–"]
    assert rows[0][2] == "batch index in the names"
    assert rows[1][3] == "wait for the ids"


@pytest.mark.parametrize(
    ("present", "ahead", "said"),
    [
        (None, None, "Nothing in the trace tells"),
        (False, False, "No prefetching"),
        (True, False, "on in name only"),
        (True, None, "whether anything works ahead of training, the trace does not tell"),
        (True, True, "the smallest depth seen is a lower bound: 1 or more"),
    ],
)
def test_prefetching_is_told_as_far_as_it_is_known(present: bool | None, ahead: bool | None, said: str):
    found = made.phases()
    found = replace(found, prefetch=replace(found.prefetch, present=present, runs_ahead=ahead))
    assert said in text(asynchrony.chapter, of(found))


@pytest.mark.parametrize(
    ("language", "at_least", "said"),
    [
        ("en", False, "the smallest depth seen is 1."),
        ("en", True, "the smallest depth seen is a lower bound: 1 or more."),
        ("zh", False, "观测到的最小深度为 1。"),
        ("zh", True, "观测到的最小深度为下限：至少 1。"),
    ],
)
def test_smallest_depth_is_a_lower_bound_where_that_of_its_stage_is_one(
    language: str, at_least: bool, said: str
):
    prefetch = made.prefetch()
    nearest = replace(prefetch.depths[1], at_least=at_least)
    found = replace(prefetch, depths=(prefetch.depths[0], nearest, *prefetch.depths[2:]))
    assert asynchrony.prefetch_text(found, Messages(language)).endswith(said)


def test_waits_state_their_limits_and_who_is_over():
    chapter = text(asynchrony.chapter, full_source(name="future.result"))
    assert "Over the limit is a wait of more than 50.0 ms or 5 % in one step." in chapter
    rows = {row[0]: row for row in table_after(chapter.split("### Waits")[1], "Name")}
    assert rows["future.result"][-2:] == ["future.result", "yes"]
    assert rows["## wait_for_batch \\{i\\} ##"][-2:] == ["–", "no"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_compile_step_is_said_to_be_left_out_only_where_there_is_one(language: str):
    found, said = made.phases(), Messages(language).text("report.waits.without_compile")
    frame = found.windows.frame.with_columns(excluded=pl.lit(value=False))
    without = replace(found, windows=replace(found.windows, frame=frame))
    assert said in text(asynchrony.chapter, of(found), language)
    assert said not in text(asynchrony.chapter, of(without), language)


def test_waits_of_a_step_are_summed_and_the_longest_named():
    rows = step_waits(made.phases("future.result"))
    assert rows["waits_ns"].to_list() == [0, 100_000, 105_000]
    assert rows["name"].to_list() == [None, "future.result", "future.result"]
    assert rows["total_ns"].to_list() == [None, 100_000, 100_000]


def test_device_syncs_are_advised_on_where_they_are_long():
    assert "Read results later" in text(asynchrony.chapter, full_source())
    found = made.phases()
    syncs = found.waits.device_syncs.with_columns(flagged=False)
    source = of(replace(found, waits=replace(found.waits, device_syncs=syncs)))
    assert "Read results later" not in text(asynchrony.chapter, source)


def test_names_are_literal_in_every_table():
    name = "a|b `c` <d>\n*e*"
    markdown = markdown_report(full_source(name), ENGLISH)
    for block in (part.splitlines() for part in markdown.split("\n\n") if part.startswith("|")):
        assert len({line.count("|") for line in block}) == 1, block


def test_inference_in_a_framework_says_why_it_has_no_phases():
    absent = Missing(("trace_view",), "trace", lacks="training")
    source = replace(full_source(), phases=absent, trees=None)
    source = replace(source, scenario=replace(source.scenario, scenario="inference"))
    markdown = markdown_report(source, ENGLISH)
    assert "read as inference" in markdown.splitlines()[-1]
    assert "no backward or gradient operator" in markdown.splitlines()[-1]
    headings = re.findall(r"^## \d+ (.*)$", markdown, re.MULTILINE)
    assert headings[-2:] == [ENGLISH.text(f"report.chapter.{key}") for key in ("host", "phases")]


def test_inference_has_no_chapters_of_phases():
    headings = re.findall(r"^## \d+ (.*)$", markdown_report(ge_source(), ENGLISH), re.MULTILINE)
    assert ENGLISH.text("report.chapter.phases") not in headings
    assert headings[-1] == ENGLISH.text("report.chapter.host")


@pytest.mark.parametrize("chapter", [phases_chapter.chapter, trees.chapter, asynchrony.chapter])
def test_without_a_trace_one_line_names_the_file(chapter: Any):
    (line,) = chapter(level0_source(), ENGLISH)
    assert line.startswith("Not available: this needs trace")
    assert "\n" not in line


def test_missing_tree_leaves_the_rest_of_the_chapter():
    markdown = text(phases_chapter.chapter, replace(full_source(), trees=None))
    assert markdown.splitlines()[-1].startswith("Not available: this needs trace")
    assert "| forward |" in markdown


def test_step_nearest_to_the_mean_stands_for_it():
    found = made.phases()
    # 800 and 1,200 us are as near to 1,000 us, the compile step of 1,000 us does not count.
    assert representative_step(found) == 11
    nearer = pl.when(pl.col("step") == 12).then(1_199_999).otherwise("step_ns")
    steps = found.times.steps.with_columns(nearer.alias("step_ns"))
    assert representative_step(replace(found, times=replace(found.times, steps=steps))) == 12


def test_whole_trace_has_no_step_that_stands_for_it():
    assert representative_step(whole_trace(made.phases())) is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sign_of_prefetching_has_words(language: str):
    signs = load_toml("analysis.phases", "prefetch.toml")
    ids = [entry["id"] for group in ("frameworks", "tokens") for entry in signs[group]]
    messages = Messages(language)
    assert all(f"prefetch_why.{sign}" in messages for sign in [*ids, BATCH_INDEX])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_column_has_a_title(name: str, language: str):
    messages = Messages(language)
    assert all(messages.text(column.title) for column in TABLES[name])
