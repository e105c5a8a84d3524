"""Microseconds as a trace writes them, as text, to exact integer nanoseconds.

A double cannot hold 1.7e15 microseconds and three decimals, so no time passes through a float.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

Ints: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Flags: TypeAlias = npt.NDArray[np.bool_]
Status: TypeAlias = npt.NDArray[np.uint8]

READ: Final = 0
MISSING: Final = 1
UNREADABLE: Final = 2
TOO_FAR: Final = 3

FARTHEST_NS: Final = 1 << 62
"""Beyond it (146 years from zero) a start is never on the axis, so that start + duration stays in int64."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_EXACT = Context(prec=60, rounding=ROUND_HALF_EVEN)
_QUOTE, _COMMA, _POINT, _MINUS, _ZERO = (ord(sign) for sign in '",.-0')
_MOST_DIGITS = 16
_THOUSANDTHS = 3


def starts_ns(texts: Sequence[Any]) -> tuple[Ints, Status]:
    """The ``ts`` of many events in nanoseconds, half to even where they are finer.

    Args:
        texts: The JSON text of every value (bytes-like: ``msgspec.Raw``), empty where an event has none.

    Returns:
        The times, 0 where there is none, and READ, MISSING, UNREADABLE or TOO_FAR for each.
    """
    joined = np.frombuffer(b",".join((*texts, b"")), np.uint8)
    commas = np.flatnonzero(joined == _COMMA)
    status = np.zeros(len(texts), np.uint8)
    if commas.size != len(texts):
        # A string that holds a comma.
        times, rest = np.zeros(len(texts), np.int64), np.arange(len(texts))
    else:
        uniform = _same_width(joined, commas)
        if uniform is not None:
            return uniform, status
        times, plain = _any_width(joined, commas)
        rest = np.flatnonzero(~plain)
    for at in rest.tolist():
        times[at], status[at] = _start(bytes(texts[at]))
    return times, status


def _same_width(joined: Bytes, commas: Ints) -> Ints | None:
    """Times that are all written alike: point and quotes in the same columns; None where they are not."""
    width = int(commas[0]) + 1 if commas.size else 0
    if not width or joined.size != width * commas.size or commas[-1] != joined.size - 1:
        return None
    table = joined.reshape(-1, width)
    first = table[0]
    quoted = width > 2 and first[0] == _QUOTE and first[-2] == _QUOTE
    content = range(1, width - 2) if quoted else range(width - 1)
    points = [at for at in content if first[at] == _POINT]
    digits = [at for at in content if first[at] != _POINT]
    places = content[-1] - points[0] if points else 0
    if len(points) > 1 or (points and not places) or places > _THOUSANDTHS:
        return None
    if not 0 < len(digits) - places <= _MOST_DIGITS or (points and points[0] == content[0]):
        return None
    values = np.zeros(len(table), np.uint64)
    worst = np.zeros(len(table), np.uint8)
    ten = np.uint64(10)
    for at in digits:
        digit = table[:, at] - np.uint8(_ZERO)
        np.maximum(worst, digit, out=worst)
        values *= ten
        values += digit
    signs = [at for at in range(width) if at not in digits]
    if (worst > 9).any() or (table[:, signs] != first[signs]).any():
        return None
    values *= np.uint64(10 ** (_THOUSANDTHS - places))
    return None if (values >= FARTHEST_NS).any() else values.astype(np.int64)


def _any_width(joined: Bytes, commas: Ints) -> tuple[Ints, Flags]:
    """Times of up to 16 digits and 3 decimals, whatever their widths, and which of them are so."""
    begin = np.concatenate([np.zeros(1, np.int64), commas[:-1] + 1])
    end = commas.copy()
    quoted = (joined[begin] == _QUOTE) & (joined[end - 1] == _QUOTE) & (end - begin > 2)
    begin[quoted] += 1
    end[quoted] -= 1
    negative = joined[begin] == _MINUS
    begin[negative] += 1
    digit = joined - np.uint8(_ZERO)
    is_digit = digit <= 9
    count = np.concatenate([np.zeros(1, np.int64), np.cumsum(is_digit)])
    points = np.flatnonzero(joined == _POINT)
    owner = np.searchsorted(commas, points)
    point = end.copy()
    point[owner] = points
    whole, places = point - begin, np.maximum(end - point - 1, 0)
    has_point = point < end
    plain = count[end] - count[begin] == end - begin - has_point
    plain &= (whole > 0) & (whole <= _MOST_DIGITS) & (places <= _THOUSANDTHS) & (~has_point | (places > 0))
    values = np.zeros(commas.size, np.uint64)
    for step in range(int(whole.max(where=plain, initial=0)), 0, -1):
        there = whole >= step
        values = values * np.uint64(10) + np.where(there, digit[np.where(there, point - step, 0)], 0)
    for step in range(1, _THOUSANDTHS + 1):
        there = places >= step
        values = values * np.uint64(10) + np.where(there, digit[np.where(there, point + step, 0)], 0)
    plain &= values < FARTHEST_NS
    times = np.where(plain, values, 0).astype(np.int64)
    return np.where(negative, -times, times), plain


def _start(json: bytes) -> tuple[int, int]:
    text = number_text(json)
    if text is None:
        return 0, MISSING
    value = nanoseconds(text)
    if value is None or not -(1 << 63) <= value < 1 << 63:
        return 0, UNREADABLE
    return (value, READ) if abs(value) < FARTHEST_NS else (0, TOO_FAR)


def number_text(json: bytes) -> str | None:
    """What a JSON number or string says, other values as they are written; None for null and nothing."""
    if json in {b"", b"null"}:
        return None
    if json.startswith(b'"'):
        try:
            return msgspec.json.decode(json, type=str).strip()
        except msgspec.DecodeError:
            return ""
    return json.decode("ascii", "replace")


def nanoseconds(text: str) -> int | None:
    """Microseconds in decimal text to whole nanoseconds, half to even; None if it is no number.

    What is far beyond int64 becomes ``1 << 64`` with its sign.
    """
    if not _NUMBER.fullmatch(text):
        return None
    value = Decimal(text)
    if not value:
        return 0
    # A number of a thousand digits or 1e999999999 must not be written out.
    if value.adjusted() > 18:
        return -(1 << 64) if value < 0 else 1 << 64
    if value.adjusted() < -5:
        return 0
    if len(value.as_tuple().digits) > _EXACT.prec - 4:
        return _long(value)
    return int(value.scaleb(3, _EXACT).to_integral_value(context=_EXACT))


def _long(value: Decimal) -> int:
    """The same for a value of very many digits."""
    exact = Context(prec=len(value.as_tuple().digits) + 4, rounding=ROUND_HALF_EVEN)
    return int(value.scaleb(3, exact).to_integral_value(context=exact))


def durations_ns(micros: npt.NDArray[np.float64]) -> Ints:
    """Durations as doubles of microseconds to whole nanoseconds, half to even of their shortest decimal text.

    NaN becomes 0; what is beyond FARTHEST_NS becomes that.
    """
    scaled = np.nan_to_num(micros * 1000, nan=0.0, posinf=np.inf, neginf=-np.inf)
    scaled = np.clip(scaled, -float(FARTHEST_NS), float(FARTHEST_NS))
    rounded = np.rint(scaled)
    result = rounded.astype(np.int64)
    # The product is off by at most half a unit in its last place: near a tie the text has to decide.
    doubtful = (np.abs(np.abs(scaled - rounded) - 0.5) <= np.spacing(np.abs(scaled))) & (rounded != scaled)
    for at in np.flatnonzero(doubtful).tolist():
        exact = nanoseconds(format(Decimal(repr(float(micros[at]))), "f"))
        result[at] = result[at] if exact is None else exact
    return result
