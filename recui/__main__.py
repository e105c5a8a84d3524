"""``python -m recui``."""

from __future__ import annotations

from recui.cli import main

main()
