"""The registry of actions: complete in both languages, without clashes, true to the widgets."""

from __future__ import annotations

from collections import Counter

import pytest
from textual.binding import Binding

from analysis.report.messages import LANGUAGES, Messages
from recui.actions import ACTIONS, SCOPES, key_text, screen_bindings
from recui.app import PACKAGES, ExplorerApp
from recui.panes import PANES
from recui.screens.explorer import ExplorerScreen
from widgets.cursor_table import CursorTable
from widgets.frame_line import Part, fitting_parts
from widgets.frame_table import FrameTable
from widgets.tree_table import TreeTable

# Names in the registry and ids of the bindings that the table has on its own.
TABLE_IDS = {
    "cursor_down": "table.down",
    "cursor_up": "table.up",
    "cursor_left": "table.left",
    "cursor_right": "table.right",
    "page_down": "table.page_down",
    "page_up": "table.page_up",
    "cursor_first": "table.first",
    "cursor_last": "table.last",
    "open_row": "table.select",
    "sort": "table.sort",
    "next_match": "table.next_match",
    "previous_match": "table.previous_match",
}

# The same of what a tree binds otherwise or in addition.
TREE_IDS = {
    "cursor_left": "table.left",
    "cursor_right": "table.right",
    "toggle_branch": "table.toggle",
    "open_branches": "table.open_below",
    "column_left": "table.column_left",
    "column_right": "table.column_right",
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("part", ["label", "title", "help"])
def test_every_action_has_words(language: str, part: str) -> None:
    messages = Messages(language, PACKAGES)
    assert [action.name for action in ACTIONS if f"action.{action.name}.{part}" not in messages] == []


@pytest.mark.parametrize(
    ("language", "lists"),
    [
        ("en", ("framework operators", "API calls", "copies")),
        ("zh", ("框架算子", "API 调用", "拷贝")),
    ],
)
def test_help_on_the_host_pane_names_its_lists(language: str, lists: tuple[str, ...]) -> None:
    words = Messages(language, PACKAGES).text("action.show_host.help")
    assert [name for name in lists if name not in words] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_words_are_left_of_actions_that_are_gone(language: str) -> None:
    keys = Messages(language, PACKAGES).keys()
    names = {key.split(".")[1] for key in keys if key.startswith("action.")}
    assert names == {action.name for action in ACTIONS}


def test_languages_have_the_same_words() -> None:
    packages = ("widgets.messages", "recui.messages")
    assert Messages("en", packages).keys() == Messages("zh", packages).keys()


def test_no_key_starts_two_actions() -> None:
    keys = Counter(key for action in ACTIONS for key in action.keys)
    assert [key for key, count in keys.items() if count > 1] == []


def test_every_scope_is_one_of_the_help_screen() -> None:
    assert {action.scope for action in ACTIONS} == set(SCOPES)


def test_table_binds_the_keys_that_the_registry_names() -> None:
    bound = {
        binding.id: set(binding.key.split(","))
        for binding in (*CursorTable.BINDINGS, *FrameTable.BINDINGS)
        if isinstance(binding, Binding)
    }
    named = {action.name: set(action.keys) for action in ACTIONS}
    assert {name: bound[table_id] for name, table_id in TABLE_IDS.items()} == {
        name: named[name] for name in TABLE_IDS
    }


def test_tree_binds_the_keys_that_the_registry_names() -> None:
    bound = {
        binding.id: set(binding.key.split(","))
        for binding in TreeTable.BINDINGS
        if isinstance(binding, Binding)
    }
    named = {action.name: set(action.keys) for action in ACTIONS}
    assert bound == {tree_id: named[name] for name, tree_id in TREE_IDS.items()}


def test_every_action_is_carried_out_by_someone() -> None:
    panes = [entry.load_class() for entry in PANES]
    carriers = {
        "frame": lambda name: hasattr(ExplorerScreen, f"action_{name}"),
        "application": lambda name: hasattr(ExplorerApp, f"action_{name}"),
        "pane": lambda name: any(hasattr(pane, f"do_{name}") for pane in panes),
        "list": lambda name: name in TABLE_IDS,
    }
    assert [action.name for action in ACTIONS if not carriers[action.by](action.name)] == []


def test_every_binding_can_be_remapped_by_its_id() -> None:
    assert all(isinstance(binding, Binding) and binding.id for binding in screen_bindings())


def test_every_pane_has_its_key() -> None:
    keys = {action.name: action.keys for action in ACTIONS}
    assert [entry.name for entry in PANES if keys[f"show_{entry.name}"] != (entry.key,)] == []


@pytest.mark.parametrize(
    ("key", "text"), [("escape", "Esc"), ("ctrl+p", "^p"), ("shift+tab", "Shift+Tab"), ("g", "g")]
)
def test_keys_are_written_for_the_user(key: str, text: str) -> None:
    assert key_text(key) == text


@pytest.mark.parametrize("language", LANGUAGES)
def test_footer_with_everything_fits_80_cells_and_keeps_help_and_quit(language: str) -> None:
    messages = Messages(language, PACKAGES)
    ranked = [
        (
            action.footer,
            Part(action.name, messages.text(f"action.{action.name}.label"), key_text(action.keys[0])),
        )
        for action in ACTIONS
        if action.footer is not None
    ]
    parts = fitting_parts(ranked, 80)
    assert sum(part.width for part in parts) + 2 * (len(parts) - 1) + 1 <= 80
    assert {"help", "quit", "open_row", "back", "next_view", "filter"} <= {part.name for part in parts}
