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
TREE_DEPTH: Final = 5
"""recui's own choice: deeper levels are named by their framework operators in the host chapter."""
TREE_ROWS: Final = 40
"""recui's own choice: a screen or two; what is cut stands in rows of its own."""
WAIT_ROWS: Final = 20
"""As TOP_ROWS."""
PREFETCH_ROWS: Final = 20
"""As TOP_ROWS."""
GROWTH_SHARE: Final = 0.01
"""recui's own choice: what explains less of a slow step than this does not help."""
SHORT_STEPS: Final = 5
"""recui's own choice: where more are short, the steps are uneven as such."""
MAX_TIMES_AVERAGE: Final = 3
"""Spec P3: the longest call is worth naming where it takes more than so many times the average."""
JSON_TREE_DEPTH: Final = 60
"""recui's own choice: readers and validators that recurse come to their end a little above 100."""
JSON_TREE_NODES: Final = 2_000
"""recui's own choice: the costliest nodes; each counts what was left out below it."""
JSON_WAIT_ROWS: Final = 2_000
"""As JSON_TREE_NODES."""
