"""Integer nanoseconds and their text.

Inside, every time is an ``int`` of nanoseconds, so that sums do not depend on their order. Text and
floats appear only at the border.
"""

from __future__ import annotations

UNKNOWN = "–"
"""What stands where a value is unknown; never 0."""


def mean(total: int, count: int) -> int:
    """The mean of ``count`` values that add up to ``total``, rounded half up to an integer."""
    return (2 * total + count) // (2 * count)


def us(ns: int) -> float:
    """Microseconds with three decimals, for JSON."""
    return round(ns / 1000, 3)


def us_text(ns: int | None, *, grouping: bool = False) -> str:
    """Exact microseconds with three decimals: ``8873.756``, or ``8,873.756`` when grouped."""
    if ns is None:
        return UNKNOWN
    whole, rest = divmod(abs(ns), 1000)
    sign = "-" if ns < 0 else ""
    return f"{sign}{whole:,}.{rest:03d}" if grouping else f"{sign}{whole}.{rest:03d}"


def time_text(ns: int | None) -> str:
    """Three significant digits in a unit that fits: ``57.3 ms``, ``812 us``, ``1.20 s``."""
    if ns is None:
        return UNKNOWN
    size = abs(ns)
    for limit, unit, scale in ((999_500, "us", 1_000), (999_500_000, "ms", 1_000_000)):
        if size < limit:
            return f"{three_digits(ns / scale)} {unit}"
    return f"{three_digits(ns / 1_000_000_000)} s"


def bytes_text(size: int) -> str:
    """Bytes in decimal units, like the file sizes of the loading screen: ``640 MB``."""
    if size < 1_000:
        return f"{size} B"
    for limit, unit, scale in ((999_500, "kB", 1_000), (999_500_000, "MB", 1_000_000)):
        if size < limit:
            return f"{three_digits(size / scale)} {unit}"
    return f"{three_digits(size / 1_000_000_000)} GB"


def three_digits(value: float) -> str:
    """A number with three significant digits and no exponent: ``0.50``, ``5.73``, ``57.3``, ``573``."""
    size = abs(value)
    if size < 9.995:
        return f"{value:.2f}"
    if size < 99.95:
        return f"{value:.1f}"
    return f"{value:,.0f}"


def often_text(count: float) -> str:
    """How often something happens on average: ``7`` where it is whole, else as :func:`three_digits`."""
    return f"{count:,.0f}" if count == int(count) else three_digits(count)


def percent_text(fraction: float | None, decimals: int = 1) -> str:
    """A fraction as percent: ``0.382`` is ``38.2 %``."""
    return UNKNOWN if fraction is None else f"{fraction * 100:.{decimals}f} %"


def count_text(count: int | None) -> str:
    """A whole number with thousands separated: ``1,048``."""
    return UNKNOWN if count is None else f"{count:,}"
