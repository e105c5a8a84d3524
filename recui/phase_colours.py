"""Colours of the six phases, told apart by every kind of colour vision."""

from __future__ import annotations

from typing import Final

_ON_DARK: Final = {
    "data-preprocessing": "#E69F00",
    "embedding-lookup": "#56B4E9",
    "forward": "#00B98A",
    "backward": "#F0E442",
    "embedding-update": "#F07830",
    "dense-update": "#E08FBF",
}
"""After Okabe and Ito, "Color Universal Design" (2008), the dark ones lightened for a dark ground."""

_ON_LIGHT: Final = {
    "data-preprocessing": "#9A6A00",
    "embedding-lookup": "#0072B2",
    "forward": "#007A5A",
    "backward": "#6E6600",
    "embedding-update": "#B34700",
    "dense-update": "#A04578",
}
"""The same hues, darkened until they can be read on a light ground."""


def phase_colours(*, dark: bool) -> dict[str, str]:
    """Theme variables ``phase-<name>`` for a dark or a light ground."""
    return {f"phase-{name}": colour for name, colour in (_ON_DARK if dark else _ON_LIGHT).items()}
