"""What the reader is told about rules of his own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.phases.rule_use import rule_notes
from tests.analysis.phases.hand_made import classified, op

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.notes import Note

EVENTS = (
    op("FetchRows", 0, 100),
    op("FetchRows", 100, 100),
    op("## forward 3 ##", 200, 300),
    op("ReadFile", 250, 100),
    op("rest", 600, 100),
)


def notes(tmp_path: Path, *rules: str) -> dict[str, Note]:
    """Notes on rules, each given as ``id pattern phase``, by kind."""
    file = tmp_path / "mine.toml"
    keys = ("id", "pattern", "phase")
    file.write_text(
        "\n".join(
            "[[rules]]\n"
            + "\n".join(f"{key} = '{word}'" for key, word in zip(keys, rule.split(), strict=True))
            for rule in rules
        )
    )
    found = rule_notes(classified(*EVENTS, rules=file), file.name)
    assert {note.file for note in found} == {"mine.toml"}
    return {note.kind: note for note in found}


def test_rules_that_decide_are_counted_with_their_bars(tmp_path: Path) -> None:
    found = notes(tmp_path, "mine.rows ^FetchRows$ embedding_lookup")
    assert set(found) == {"phase_rules"}
    assert found["phase_rules"].values == {"count": "1", "bars": "2"}


def test_a_rule_that_fits_no_name_is_idle_and_so_is_one_behind_another(tmp_path: Path) -> None:
    found = notes(
        tmp_path,
        "mine.rows ^FetchRows$ embedding_lookup",
        "mine.again ^FetchRows$ forward",
        "mine.typo ^FechRows$ forward",
    )
    assert found["phase_rules_idle"].values == {"count": "2", "rules": "mine.again, mine.typo"}
    assert "phase_rules_inside" not in found


def test_a_rule_whose_bars_lie_in_a_phase_it_may_not_refine_is_told(tmp_path: Path) -> None:
    found = notes(tmp_path, "mine.read ^ReadFile$ data_preprocessing")
    assert found["phase_rules_inside"].values == {"count": "1", "rules": "mine.read"}
    assert found["phase_rules"].values["bars"] == "0"


def test_a_rule_that_switches_names_off_is_at_work(tmp_path: Path) -> None:
    assert set(notes(tmp_path, "mine.off ^##.forward unclassified")) == {"phase_rules"}


def test_a_rule_for_most_names_is_wide(tmp_path: Path) -> None:
    found = notes(tmp_path, "mine.all . forward", "mine.rest ^rest$ forward")
    assert found["phase_rules_wide"].values == {"count": "1", "rules": "mine.all"}


def test_of_many_rules_the_first_five_are_named(tmp_path: Path) -> None:
    found = notes(tmp_path, *(f"mine.{n} ^nobody{n}$ forward" for n in range(7)))
    assert found["phase_rules_idle"].values == {
        "count": "7",
        "rules": "mine.0, mine.1, mine.2, mine.3, mine.4, …",
    }
