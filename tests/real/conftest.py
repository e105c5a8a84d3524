"""Genuine captures, where the workplace has them."""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture(scope="session")
def data() -> Path:
    if not DATA.is_dir():
        pytest.skip("no genuine captures here: they are not part of the repository (../shared/data)")
    return DATA
