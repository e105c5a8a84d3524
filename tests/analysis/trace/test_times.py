"""Times as traces write them become exact nanoseconds."""

from __future__ import annotations

import random
from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
import pytest

from analysis.trace import times


def read(*texts: str) -> list[int | str]:
    """Each time in nanoseconds, or the word for why there is none."""
    words = {times.MISSING: "missing", times.UNREADABLE: "unreadable", times.TOO_FAR: "too far"}
    found, status = times.starts_ns([text.encode() for text in texts])
    return [words.get(why, value) for value, why in zip(found.tolist(), status.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ('"1736408883704643.212"', 1_736_408_883_704_643_212),
        ("1736408883704643.212", 1_736_408_883_704_643_212),
        ('"1736408883704643"', 1_736_408_883_704_643_000),
        ("1736408883704643.2", 1_736_408_883_704_643_200),
        ("0", 0),
        ("-0.001", -1),
        ('"-1736408883704643.212"', -1_736_408_883_704_643_212),
        ("0.0005", 0),
        ("0.0015", 2),
        ("0.0025", 2),
        ("0.00250000000000000000000000000000000000000000000000000000000000001", 3),
        ("1736408883704643.2125", 1_736_408_883_704_643_212),
        ("1.736408883704643212e15", 1_736_408_883_704_643_212),
        ("1736408883704643212E-3", 1_736_408_883_704_643_212),
        ("1e-400", 0),
        ('" 12.5\\t"', 12_500),
        ('"\\u0031"', 1_000),
        (str((1 << 62) // 1000), (1 << 62) // 1000 * 1000),
    ],
)
def test_a_time_is_exact_to_the_nanosecond_and_then_half_to_even(text: str, ns: int) -> None:
    assert read(text) == [ns]
    assert read(text, text) == [ns, ns]
    assert read("7", text, '"12.5"') == [7_000, ns, 12_500]


@pytest.mark.parametrize("text", ["", "null"])
def test_no_time_is_missing(text: str) -> None:
    assert read(text) == ["missing"]
    assert read("1", text) == [1_000, "missing"]


@pytest.mark.parametrize(
    "text",
    [
        *(
            '""',
            '"soon"',
            "true",
            "[1]",
            "{}",
            '"1,5"',
            '"1.2.3"',
            '"1."',
            '".5"',
            '"+1"',
            '"--1"',
            '"1_000"',
        ),
        *('"\u0661"', '"1e"', '"0x10"', '"NaN"', "1e19", '"9300000000000000"', "1e999999999", "-1e16"),
    ],
)
def test_what_is_no_time_is_unreadable(text: str) -> None:
    assert read(text) == ["unreadable"]
    assert read("1", text, "1") == [1_000, "unreadable", 1_000]


@pytest.mark.parametrize("text", ["9000000000000000", '"-4611686018427388"', "4.7e15"])
def test_a_time_that_leaves_no_room_for_sums_is_too_far(text: str) -> None:
    assert read("1", text) == [1_000, "too far"]


def test_times_of_mixed_widths_are_those_decimal_gives() -> None:
    chance = random.Random(3)
    texts = []
    for _ in range(3000):
        whole = chance.choice((0, chance.randrange(100), chance.randrange(10**15)))
        places = chance.randrange(6)
        digits = "".join(chance.choice("0123456789") for _ in range(places))
        sign = chance.choice(("", "", "-"))
        texts.append(f"{sign}{whole}.{digits}" if places else f"{sign}{whole}")
    expected = [int((Decimal(text) * 1000).quantize(Decimal(1), ROUND_HALF_EVEN)) for text in texts]
    assert read(*texts) == expected
    assert read(*(f'"{text}"' for text in texts)) == expected


@pytest.mark.parametrize(
    ("us", "ns"),
    [
        (0.2, 200),
        (4.800125, 4800),
        (0.0005, 0),
        (0.0015, 2),
        (1000.0005, 1_000_000),
        (1000.0015, 1_000_002),
        (2.6755, 2676),
        (-0.5, -500),
        (8827.472999999998, 8_827_473),
        (7e15, times.FARTHEST_NS),
        (float("inf"), times.FARTHEST_NS),
        (-1e300, -times.FARTHEST_NS),
    ],
)
def test_a_duration_is_rounded_half_to_even_of_its_decimal_text(us: float, ns: int) -> None:
    assert times.durations_ns(np.array([1.0, us])).tolist() == [1000, ns]


def test_durations_near_ties_are_those_decimal_gives() -> None:
    chance = random.Random(4)
    values = [chance.randrange(10**8) / 1000 + 0.0005 for _ in range(2000)]
    values += [round(chance.random() * 10 ** chance.randrange(8), chance.randrange(5)) for _ in range(2000)]
    expected = [int((Decimal(repr(value)) * 1000).quantize(Decimal(1), ROUND_HALF_EVEN)) for value in values]
    assert times.durations_ns(np.array(values)).tolist() == expected
