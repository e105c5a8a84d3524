"""The explorer from the first paint to the last key."""

from __future__ import annotations

import gc
import shutil
from typing import TYPE_CHECKING

import pytest

from analysis.demo import write_sample
from recui.screens.dialog import ChoiceDialog, PromptDialog, TextDialog
from recui.screens.failure import FailurePanel
from tests.explorer import WIDE, explorer, explorer_app, loaded, press, screen_text, settled
from widgets.breadcrumbs import Breadcrumbs

if TYPE_CHECKING:
    from pathlib import Path

    from recui.screens.explorer import ExplorerScreen
    from widgets.frame_table import FrameTable


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample("training", tmp_path_factory.mktemp("training")).path


@pytest.fixture(scope="module")
def inference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample("inference", tmp_path_factory.mktemp("inference")).path


@pytest.fixture(scope="module")
def two_ranks(training: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The training sample twice, the second time as rank 1."""
    root = tmp_path_factory.mktemp("ranks")
    shutil.copytree(training, root / "a_1_20260112093000123_ascend_pt")
    second = root / "b_1_20260112093000124_ascend_pt"
    shutil.copytree(training, second)
    (second / "profiler_info_0.json").rename(second / "profiler_info_1.json")
    for file in second.glob("profiler_metadata.json"):
        file.unlink()
    return root


@pytest.fixture(autouse=True)
def _own_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def table_of(screen: ExplorerScreen) -> FrameTable:
    assert screen.pane is not None
    table = screen.pane.table()
    assert table is not None
    return table


def trail_of(screen: ExplorerScreen) -> tuple[str, ...]:
    assert screen.pane is not None
    return screen.pane.trail()


# ---------------------------------------------------------------- loading


async def test_first_paint_names_profile_and_panes_before_anything_is_read(training: Path) -> None:
    app = explorer_app(training)
    async with app.run_test(size=(80, 24)) as pilot:
        assert app.explorer is not None
        lines = screen_text(pilot).splitlines()
        assert training.name[:12] in lines[0]
        assert "1 Overview  2 Operators  3 Host" in lines[1]
        await loaded(pilot)


async def test_results_are_kept_from_the_garbage_collector_while_they_are_shown(training: Path) -> None:
    async with explorer(training):
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0


async def test_every_file_has_a_line_with_its_rows(inference: Path) -> None:
    async with explorer(inference) as (screen, _):
        lines = {line.name.rpartition("/")[2].split("_2026")[0]: line for line in screen.loading_lines}
        assert lines["op_summary"].state == "done"
        assert lines["op_summary"].rows is not None
        assert lines["task_time"].state == "listed"


async def test_missing_file_is_named_with_the_setting_that_collects_it(
    training: Path, tmp_path: Path
) -> None:
    folder = tmp_path / training.name
    shutil.copytree(training, folder)
    (folder / "ASCEND_PROFILER_OUTPUT" / "api_statistic.csv").unlink()
    async with explorer(folder) as (_, pilot):
        assert "missing: api_statistic" in screen_text(pilot)
        await press(pilot, "f")
        text = screen_text(pilot)
        assert "no host APIs" in text
        assert "profiler_level=Level1" in text


async def test_a_list_without_its_file_says_what_it_needs(training: Path, tmp_path: Path) -> None:
    folder = tmp_path / training.name
    shutil.copytree(training, folder)
    (folder / "ASCEND_PROFILER_OUTPUT" / "api_statistic.csv").unlink()
    async with explorer(folder) as (_, pilot):
        await press(pilot, "3", "t")
        assert "This list needs api_statistic" in screen_text(pilot)


async def test_escape_while_loading_cancels_and_says_so(
    training: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    import recui.screens.profile_screen as module
    from recui.loading import LoadEnded

    def wait(request: object, post: object, cancelled: object) -> None:
        while not cancelled():  # type: ignore[operator]
            threading.Event().wait(0.005)
        post(LoadEnded(cancelled=True))  # type: ignore[operator]

    monkeypatch.setattr(module, "load", wait)
    app = explorer_app(training)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "Esc cancel loading" in screen_text(pilot)
        await pilot.press("escape")
        screen = await loaded(pilot)
        assert screen.loading_state == "cancelled"
        assert "Loading cancelled" in screen_text(pilot)


async def test_unreadable_path_is_a_panel_not_a_traceback(tmp_path: Path) -> None:
    async with explorer(tmp_path / "nowhere") as (screen, pilot):
        assert screen.query_one(FailurePanel).display
        assert "nowhere" in screen_text(pilot)
        assert screen.can("open_path")


async def test_leaving_what_could_not_be_opened_exits_with_2_and_the_reason(tmp_path: Path) -> None:
    async with explorer(tmp_path) as (_, pilot):
        await press(pilot, "q")
        assert pilot.app.return_code == 2
        assert "holds no profile" in str(pilot.app.return_value)


async def test_damaged_file_leaves_the_other_panes_working(training: Path, tmp_path: Path) -> None:
    folder = tmp_path / training.name
    shutil.copytree(training, folder)
    (folder / "ASCEND_PROFILER_OUTPUT" / "api_statistic.csv").write_bytes(b"\x00\x01\x02")
    async with explorer(folder) as (screen, pilot):
        assert "files that cannot be read: 1" in screen_text(pilot)
        await press(pilot, "3", "t")
        assert "could not be read" in screen_text(pilot)
        await press(pilot, "2")
        assert table_of(screen).row_count > 0


async def test_fault_of_recui_itself_is_shown(training: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import recui.screens.profile_screen as module

    def fail(*_: object) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(module, "load", fail)
    async with explorer(training) as (screen, pilot):
        assert screen.loading_state == "failed"
        assert "a fault" in screen_text(pilot)


# ------------------------------------------------------------ moving about


async def test_number_keys_and_tab_change_panes(inference: Path) -> None:
    async with explorer(inference) as (screen, pilot):
        seen = []
        for key in ("2", "3", "1", "tab", "tab", "tab", "shift+tab"):
            await press(pilot, key)
            seen.append(trail_of(screen)[0])
        assert seen == ["Operators", "Host", "Overview", "Operators", "Host", "Phases", "Host"]


async def test_enter_goes_down_to_every_execution_and_escape_back_to_the_same_row(training: Path) -> None:
    async with explorer(training) as (screen, pilot):
        await press(pilot, "2", "j", "j")
        chosen = table_of(screen).highlighted_row
        assert chosen is not None
        await press(pilot, "enter", "j")
        shape = table_of(screen).highlighted_row
        assert shape is not None
        await press(pilot, "enter")
        executions = table_of(screen)
        assert executions.row_count == shape["count"]
        assert "duration_ns" in [column.key for column in executions.shown_columns]
        assert len(trail_of(screen)) == 4
        await press(pilot, "escape")
        assert table_of(screen).highlighted_row == shape
        await press(pilot, "escape")
        assert table_of(screen).highlighted_row == chosen
        assert table_of(screen).has_focus


async def test_a_crumb_leads_back_to_its_list_though_a_list_below_is_filtered(training: Path) -> None:
    async with explorer(training) as (screen, pilot):
        await press(pilot, "2", "enter", "enter", "slash", *"1", "enter")
        assert table_of(screen).filter == "1"
        assert len(trail_of(screen)) == 4
        crumbs = screen.query_one(Breadcrumbs)
        crumbs.post_message(Breadcrumbs.CrumbSelected(crumbs, 1))
        await settled(pilot)
        assert trail_of(screen) == ("Operators", "by type")


async def test_escape_at_the_top_does_nothing(training: Path) -> None:
    async with explorer(training) as (screen, pilot):
        await press(pilot, "2", "escape")
        assert trail_of(screen) == ("Operators", "by type")
        assert not screen.can("back")


async def test_panes_keep_their_place(training: Path) -> None:
    async with explorer(training) as (screen, pilot):
        await press(pilot, "2", "enter", "3", "2")
        assert len(trail_of(screen)) == 3


async def test_finding_leads_to_its_list(training: Path) -> None:
    async with explorer(training) as (screen, pilot):
        assert screen.analysis is not None
        finding = screen.analysis.findings[0]
        await press(pilot, "enter")
        assert screen.pane is not None
        assert finding.pane == screen.pane.NAME


async def test_step_keys_show_one_step_after_the_other_and_the_mean_again(training: Path) -> None:
    async with explorer(training) as (_, pilot):
        assert "mean of 6 steps" in screen_text(pilot)
        await press(pilot, "right_square_bracket")
        assert "step 20" in screen_text(pilot)
        await press(pilot, "left_square_bracket")
        assert "mean of 6 steps" in screen_text(pilot)


async def test_step_keys_are_greyed_without_steps(inference: Path) -> None:
    async with explorer(inference) as (screen, _):
        assert screen.check_action("pane", ("next_step",)) is None


async def test_rank_key_is_greyed_with_one_capture(inference: Path) -> None:
    async with explorer(inference) as (screen, _):
        assert screen.check_action("rank", ()) is None


# ------------------------------------------------------------------- lists


async def test_filter_narrows_enter_keeps_and_escape_drops(training: Path) -> None:
    async with explorer(training) as (screen, pilot):
        await press(pilot, "2")
        everything = table_of(screen).match_count
        await press(pilot, "slash", *"matmul")
        await pilot.pause(0.2)
        assert 0 < table_of(screen).match_count < everything
        await press(pilot, "enter")
        assert table_of(screen).has_focus
        assert "match" in screen_text(pilot)
        await press(pilot, "escape")
        assert table_of(screen).match_count == everything


async def test_keys_typed_into_the_filter_start_no_actions(training: Path) -> None:
    async with explorer(training) as (screen, pilot):
        await press(pilot, "2", "slash", "q", "3", "f")
        assert pilot.app.screen is screen
        assert trail_of(screen)[0] == "Operators"


async def test_sort_key_sorts_by_the_column_of_the_cursor(training: Path) -> None:
    async with explorer(training) as (screen, pilot):
        await press(pilot, "2", "s")
        first = table_of(screen).highlighted_row
        await press(pilot, "g")
        table = table_of(screen)
        assert table.sort is not None
        assert table.sort.key == table.shown_columns[0].key
        assert first is not None


async def test_full_value_shows_the_whole_cell(training: Path) -> None:
    async with explorer(training) as (screen, pilot):
        await press(pilot, "2", "t", "l", "v")
        dialog: object = pilot.app.screen
        assert isinstance(dialog, TextDialog)
        await press(pilot, "escape")
        assert pilot.app.screen is screen


@pytest.mark.parametrize(("keys", "lines"), [(("k",), 1), ((), 3)])
async def test_copy_takes_cell_or_row(
    keys: tuple[str, ...], lines: int, training: Path, tmp_path: Path
) -> None:
    async with explorer(training) as (_, pilot):
        await press(pilot, "2", "y")
        assert isinstance(pilot.app.screen, ChoiceDialog)
        await press(pilot, *keys, "enter")
        kept = (tmp_path / "state" / "recui" / "last-copy.md").read_text(encoding="utf-8")
        assert len(kept.strip().splitlines()) == lines


async def test_copy_of_the_table_has_every_row(training: Path, tmp_path: Path) -> None:
    async with explorer(training) as (screen, pilot):
        await press(pilot, "2", "y", "j", "enter")
        kept = (tmp_path / "state" / "recui" / "last-copy.md").read_text(encoding="utf-8")
        assert len(kept.strip().splitlines()) == table_of(screen).row_count + 2


# ----------------------------------------------------- profile, application


async def test_export_writes_both_files_and_says_where(inference: Path, tmp_path: Path) -> None:
    async with explorer(inference) as (_, pilot):
        await press(pilot, "e")
        assert isinstance(pilot.app.screen, PromptDialog)
        await press(pilot, "enter")
        assert {file.suffix for file in (tmp_path / "report").iterdir()} == {".md", ".json"}
        assert any("Report written" in notice.message for notice in pilot.app._notifications)


async def test_export_that_fails_says_why(inference: Path, tmp_path: Path) -> None:
    (tmp_path / "report").write_text("in the way")
    async with explorer(inference) as (_, pilot):
        await press(pilot, "e", "enter")
        assert any(notice.severity == "error" for notice in pilot.app._notifications)


async def test_rank_picker_opens_the_other_rank(two_ranks: Path) -> None:
    async with explorer(two_ranks) as (screen, pilot):
        assert screen.analysis is not None
        assert screen.analysis.capture.rank == 0
        await press(pilot, "r", "j", "enter")
        other = await loaded(pilot)
        assert other is not screen
        assert other.analysis is not None
        assert other.analysis.capture.rank == 1


async def test_open_asks_for_a_path_and_opens_it(inference: Path, training: Path) -> None:
    async with explorer(inference) as (screen, pilot):
        await press(pilot, "o")
        assert isinstance(pilot.app.screen, PromptDialog)
        await press(pilot, "ctrl+u", *(_key(letter) for letter in str(training)), "enter")
        other = await loaded(pilot)
        assert other is not screen
        assert other.request.path == training


async def test_open_of_an_absent_path_says_so_and_keeps_the_profile(inference: Path) -> None:
    async with explorer(inference) as (screen, pilot):
        await press(pilot, "o", "x", "enter")
        assert pilot.app.screen is screen
        assert any("No such path" in notice.message for notice in pilot.app._notifications)


def _key(letter: str) -> str:
    return {"/": "slash", "-": "minus", "_": "underscore", ".": "full_stop"}.get(letter, letter)


async def test_help_lists_every_action_and_the_same_key_closes_it(training: Path) -> None:
    async with explorer(training, size=(120, 80)) as (screen, pilot):
        await press(pilot, "question_mark")
        text = screen_text(pilot)
        assert all(line in text for line in ("Show pane 3", "Choose one of the colour themes", "Leave recui"))
        await press(pilot, "question_mark")
        assert pilot.app.screen is screen


async def test_language_switches_and_keeps_the_place(training: Path) -> None:
    async with explorer(training) as (screen, pilot):
        await press(pilot, "2", "j", "enter", "j")
        row = table_of(screen).highlighted_row
        depth = len(trail_of(screen))
        await press(pilot, "L")
        assert "算子" in screen_text(pilot)
        assert table_of(screen).highlighted_row == row
        assert len(trail_of(screen)) == depth
        await press(pilot, "L")
        assert "Operators" in screen_text(pilot)


async def test_palette_offers_the_actions_that_apply(training: Path) -> None:
    async with explorer(training) as (screen, pilot):
        titles = [command.title for command in pilot.app.get_system_commands(screen)]
        assert "Export the report (e)" in titles
        assert not any(title.startswith("Choose the rank") for title in titles)
        await press(pilot, "ctrl+p")
        assert pilot.app.screen is not screen


async def test_palette_runs_an_action(training: Path) -> None:
    async with explorer(training) as (_, pilot):
        await press(pilot, "ctrl+p", *"Host", "enter")
        await pilot.pause(0.5)
        await settled(pilot)
        await press(pilot, "enter")
        await pilot.pause(0.2)
        assert "Host › framework operators" in screen_text(pilot)


async def test_quit_key_leaves(training: Path) -> None:
    app = explorer_app(training)
    async with app.run_test() as pilot:
        await loaded(pilot)
        await pilot.press("q")
    assert app.return_code == 0


async def test_tabs_and_footer_answer_to_the_mouse(training: Path) -> None:
    async with explorer(training, size=WIDE) as (screen, pilot):
        await pilot.click("#tabs", offset=(15, 0))
        await settled(pilot)
        assert trail_of(screen)[0] == "Operators"
        footer = screen_text(pilot).splitlines()[-1]
        await pilot.click("#footer", offset=(footer.index("? help") + 1, 0))
        await settled(pilot)
        assert isinstance(pilot.app.screen, TextDialog)


async def test_unknown_theme_in_the_settings_is_ignored(training: Path) -> None:
    from analysis.options import Options
    from recui.app import ExplorerApp

    app = ExplorerApp(training, None, Options(), "en", "no-such-theme")
    async with app.run_test() as pilot:
        await loaded(pilot)
        assert app.theme in app.available_themes


async def test_names_from_a_profile_are_no_markup_and_act_on_nothing(training: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run [red]x_ascend_pt"
    shutil.copytree(training, folder)
    kernels = folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    text = kernels.read_text(encoding="utf-8")
    kernels.write_text(text.replace("MatMulV2", "Mat[red]\x1b[2JV2"), encoding="utf-8")
    async with explorer(folder, size=WIDE) as (_, pilot):
        await press(pilot, "2")
        shown = screen_text(pilot)
        assert "Mat[red]\\x1b[2JV2" in shown
        assert "run [red]x_ascend_pt" in shown
        assert "\x1b" not in shown
