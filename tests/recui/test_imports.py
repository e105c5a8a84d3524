"""What a fresh interpreter loads: the core draws nothing, the export has no explorer, help is light."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import analysis
from analysis.demo import write_sample

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    module.name for module in pkgutil.walk_packages(analysis.__path__, "analysis.") if not module.ispkg
)


def loaded(code: str) -> set[str]:
    """The top-level packages that running ``code`` in a fresh interpreter loads."""
    tail = (
        "\nimport json, sys\nprint('\\n' + json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code + tail],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def command(*arguments: str) -> str:
    """Code that runs a recui command and goes on after its exit."""
    return (
        "import sys\n"
        f"sys.argv = ['recui', *{list(arguments)!r}]\n"
        "from recui.cli import main\n"
        "try:\n    main()\nexcept SystemExit as done:\n    assert not done.code, done.code"
    )


def test_core_loads_no_screen_and_no_command_line() -> None:
    code = "\n".join(f"import {name}" for name in MODULES)
    assert loaded(code) & {"textual", "rich", "typer", "recui", "widgets"} == set()


def test_help_loads_neither_polars_nor_textual() -> None:
    assert loaded(command("--help")) & {"polars", "numpy", "textual", "networkx", "widgets"} == set()


def test_demo_without_a_terminal_loads_no_textual() -> None:
    assert loaded(command("demo", "inference")) & {"textual", "widgets"} == set()


def test_export_loads_no_textual(tmp_path: Path) -> None:
    sample = write_sample("inference", tmp_path).path
    assert loaded(command("export", str(sample), "-o", "-")) & {"textual", "widgets"} == set()
