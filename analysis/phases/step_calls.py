"""Which step every bar counts for in a tree, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from analysis.phases.ancestry import nearest
from analysis.trace.nesting import own_time

if TYPE_CHECKING:
    from analysis.host_bars import HostBars
    from analysis.phases.model import Windows
    from analysis.trace.nesting import Flags, Ints


@dataclass(frozen=True, slots=True, eq=False)
class StepCalls:
    """The bars in the order of ``HostBars.nesting.bars``, shared out among the steps; each counts once.

    A call counts whole, with everything in it, for the step in which it starts, also where it outlasts that
    step: so the time of a bar is its self time and that of the bars right below it. A call that starts in no
    step counts for none; what starts in a step inside of it is at the top of its thread there.

    The main thread marks the steps itself, so that what is open at the end of one is no call of it but a
    range around several. It counts up to that end; what it holds later is at the top of its own step.
    """

    window: Ints
    """Place in ``Windows.frame`` of the step a bar counts for, -1 where it counts for none."""
    up: Ints
    """Place of the parent, -1 at the top of a thread in its step."""
    time_ns: Ints
    """How much of its duration counts."""
    self_ns: Ints
    """How much of that is in none of the bars right below it."""

    @classmethod
    def of(cls, bars: HostBars, windows: Windows) -> StepCalls:
        """Share the bars out among the steps."""
        order = bars.nesting.bars
        starts_in = windows.places(order.start)
        left_ns = windows.frame["end_ns"].to_numpy()[starts_in] - order.start
        cut = (order.track == windows.main_track) & (starts_in >= 0) & (order.duration > left_ns)
        window = starts_in[_outermost(order.up, ~cut & (starts_in >= 0))]
        up = np.where(window[order.up] == window, order.up, -1) if window.size else order.up
        time_ns = np.where(cut, left_ns, order.duration)
        if cut.any():
            self_ns, _ = own_time(replace(order, up=up, duration=time_ns))
        else:
            self_ns = bars.nesting.self_ns[order.rows]
        return cls(window, up, time_ns, self_ns)


def _outermost(up: Ints, call: Flags) -> Ints:
    """Place of the outermost call at or above each bar; the bar's own where there is none."""
    inside = (up >= 0) & (nearest(call, up)[up] >= 0) if up.size else call
    # Whatever is in a call stands right behind it.
    return np.maximum.accumulate(np.where(inside, 0, np.arange(up.size)))
