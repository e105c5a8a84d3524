"""Names in Markdown: what a renderer shows is the name, and nothing in it acts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from analysis.report.escape import markdown_cell, markdown_line, visible

RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"])

NAMES = [
    "a|b",
    "a\\|b",
    "`code`",
    "``",
    "<b>bold</b>",
    "<!-- gone -->",
    "op[red]",
    "[text](http://example.com)",
    "![image](x)",
    "*x*",
    "**x**",
    "__init__",
    "_x_",
    "~~x~~",
    "$x$",
    "back\\",
    "&lt;",
    "&#124;",
    "http://example.com/a_b_",
    "hcom_allReduce__586_0_1@<group>",
    "1. item",
    "2) item",
    "(c)",
    "iv. item",
    "# heading",
    "- item",
    "+ item",
    "> quote",
    "---",
    "===",
    ":---:",
    "a{.class}",
    "x^2^",
    "“”'\"...--",
]


def shown_text(markdown: str) -> list[str]:
    """The text of every inline piece that the renderer makes; markup of any kind would be no text token."""
    texts = []
    for token in RENDERER.parse(markdown):
        if token.type == "inline":
            children = token.children or []
            assert {child.type for child in children} <= {"text", "text_special"}, markdown
            texts.append("".join(child.content for child in children))
    return texts


@pytest.mark.parametrize("name", NAMES)
def test_name_in_a_cell_renders_literally(name: str):
    markdown = f"| a | b |\n| --- | --- |\n| {markdown_cell(name)} | end |"
    assert shown_text(markdown) == ["a", "b", name, "end"]


@pytest.mark.parametrize("name", NAMES)
def test_name_at_the_start_of_a_line_renders_literally(name: str):
    markdown = markdown_line(name)
    assert shown_text(markdown) == [name]
    assert [token.type for token in RENDERER.parse(markdown)] == [
        "paragraph_open",
        "inline",
        "paragraph_close",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_cell_holds_no_pipe_of_its_own(name: str):
    assert "|" not in markdown_cell(name)


@given(st.text())
def test_any_text_in_a_cell_renders_as_its_visible_form(text: str):
    markdown = f"| a | b |\n| --- | --- |\n| {markdown_cell(text)} | end |"
    cell = shown_text(markdown)[2]
    assert re.sub(r"\s", "␣", cell) == re.sub(r"\s", "␣", visible(text))


@given(st.text(alphabet="|\\`*_[]<>&$~#-+=1.) !:ab\n", min_size=1))
def test_any_markup_at_the_start_of_a_line_stays_one_paragraph(text: str):
    types = [token.type for token in RENDERER.parse(markdown_line(text))]
    assert types == ["paragraph_open", "inline", "paragraph_close"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\nb", "a\\nb"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b31m", "\\x9b31m"),
        ("abc\u202egnp", "abc\\u202egnp"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("line\u2028end", "line\\u2028end"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("lone\ud800", "lone\\ud800"),
        ("算子 名", "算子 名"),
        ("wide\u3000blank", "wide\u3000blank"),
    ],
)
def test_what_would_act_is_written_out(name: str, shown: str):
    assert visible(name) == shown


def test_underscore_inside_a_word_stays_readable():
    assert markdown_cell("aclnnMatmul_MatMulV2_MatMulV2") == "aclnnMatmul_MatMulV2_MatMulV2"


def test_shapes_stay_readable():
    assert markdown_cell("4096,512;512,1024;;8") == "4096,512;512,1024;;8"


def test_blanks_that_html_would_swallow_are_shown():
    assert markdown_cell(" a  b ") == "␣a␣ b␣"


def test_emoji_code_and_bare_address_are_broken_up():
    assert markdown_cell("a:100:b") == "a\\:100:b"
    assert markdown_cell("http://x") == "http\\://x"
    assert markdown_cell("aten::copy_") == "aten::copy\\_"
