"""Every profile at hand opens, and every list of every pane can be seen, in both languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.explorer import explorer, press, screen_text

EXAMPLES = Path(__file__).parents[1] / "examples"
GENUINE = Path(__file__).parents[2].parent / "shared" / "data"
PROFILES = [
    "inference_msprof",
    "training_torch_npu",
    *(f"layouts/{layout.name}" for layout in sorted((EXAMPLES / "layouts").iterdir())),
]
CAPTURES = [
    "torch_npu_alexnet_level0",
    "torch_npu_alexnet_2rank_level1",
    "msprof_groupedmatmul",
    "older",
    "older/trace_view_2024-01.json",
    "gpu_recommender/worker0_step_12.1694128201545.pt.trace.json",
    "gpu_recommender/torchrec_sampled_rank-0.json.gz",
]

LISTS = {"1": 3, "2": 5, "3": 6}
"""How many lists each pane has at most."""


async def visit_everything(path: Path) -> None:
    """Open the profile, turn through all lists, go down wherever a row opens something."""
    async with explorer(path) as (screen, pilot):
        assert screen.loading_state == "done"
        assert not screen.query_one("#failure").display
        for pane, lists in LISTS.items():
            await press(pilot, pane)
            for _ in range(lists):
                await press(pilot, "t")
                depth = 0
                while pane != "1" and screen.can("open_row"):
                    await press(pilot, "enter")
                    depth += 1
                await press(pilot, *["escape"] * depth)
        await press(pilot, "L", "2")
        assert "算子" in screen_text(pilot)
        await press(pilot, "f", "f")


@pytest.mark.parametrize("name", PROFILES)
async def test_example_opens(name: str) -> None:
    await visit_everything(EXAMPLES / name)


@pytest.mark.real
@pytest.mark.parametrize("name", CAPTURES)
async def test_genuine_capture_opens(name: str) -> None:
    path = GENUINE / name
    if not path.exists():
        pytest.skip("genuine captures are not part of the repository")
    await visit_everything(path)
