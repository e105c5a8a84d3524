"""How many rows the report prints of each table; the explorer shows them all."""

from __future__ import annotations

from typing import Final

TYPE_ROWS: Final = 50
"""recui's own choice: what one can still read; the table says how many there are."""
TOP_ROWS: Final = 20
"""Spec O2."""
PROBLEM_ROWS: Final = 50
"""Spec O3."""
STEP_ROWS: Final = 50
"""recui's own choice, as TYPE_ROWS."""
HOST_OPERATOR_ROWS: Final = 20
"""As TOP_ROWS."""
COPY_ITERATIONS: Final = 12
"""recui's own choice: with more iterations the table by direction must do."""
