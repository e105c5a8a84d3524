"""Random trace texts: every layout and spelling that json allows, made from one source of randomness."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

LOOK_ALIKES = (
    "}, {",
    "}],[{",
    "}\n,\n{",
    '"}, {"',
    '\\"},{\\"',
    "\\",
    '"',
    "[{",
    "]",
    '"traceEvents": [',
    '{"ph": "X", "ts": 1, "dur": 1}',
    "é",
    "算子",
    "😀",
    "\U0010fffd",
    "\u2028",
    "\x00",
    "\x01",
    "\x7f",
    "a/b",
    "aten::mm",
    "",
)
_SPACES = ("", "", " ", "\n", "\t", "\r\n", "  \n ")
_BASES_US = (0, 10**12, 1_736_408_883_000_000, -5_000_000_000)
_SPREAD_US = 10**9
_KEPT_TEXTS = ("Task Type", "operation", "item_id", "Input Dims")
_KEPT_NUMBERS = ("connection_id", "correlation_id", "Physic Stream Id", "Stream Id", "size(B)")
_CATS = ("cpu_op", "enqueue", "dequeue", "python_function")
_ARROWS = (
    ("HostToDevice", "1"),
    ("HostToDevice", 1),
    ("HostToDevice", str(2**70)),
    ("acl_to_npu", "1"),
    ("async_npu", 2**64 + 3),
    ("async_task_queue", 2**53 + 1),
    ("fwdbwd", 7),
    ("MsTx", "a}, {b"),
)


_RUBBISH = (b'"', b"{", b"}", b"[", b"]", b",", b"\\", b"\x00", b"NaN", b"}, {", b"\n", b"\xff")


class Number(str):
    """A json number, written digit by digit as here."""

    __slots__ = ()


class Pairs(list[tuple[str, Any]]):
    """A json object whose keys have an order and may come twice."""

    __slots__ = ()


@dataclass(frozen=True)
class Style:
    """How values are written: what stands around commas and colons, and how text is escaped."""

    comma: str = ", "
    colon: str = ": "
    indent: int | None = None
    escape: str = "plain"


def text_of(value: Any, style: Style, depth: int = 0) -> str:
    """One value as json text in that style."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return _string(value, style.escape)
    if isinstance(value, dict):
        value = Pairs(value.items())
    if isinstance(value, Pairs):
        inner = [
            f"{_string(key, style.escape)}{style.colon}{text_of(one, style, depth + 1)}" for key, one in value
        ]
        return _joined("{}", inner, style, depth)
    if isinstance(value, list):
        return _joined("[]", [text_of(one, style, depth + 1) for one in value], style, depth)
    return json.dumps(value)


def random_events(rng: random.Random, size: int) -> list[Pairs]:
    """Up to ``size`` objects: mostly bars, with arrows, metadata, counters and broken ones between them.

    Bars that stand far from the others are fewer than a third, so that the middle of the file is clear.
    """
    base = rng.choice(_BASES_US)
    events = [_event(rng, base) for _ in range(rng.randint(0, size))]
    for at in range(len(events) // 4):
        if _chance(rng, 4):
            events[4 * at] = _whole_bar(rng, rng.choice((base - 10**12, base + 10**12)))
            events[4 * at + 1 : 4 * at + 4] = [_whole_bar(rng, base) for _ in range(3)]
    bars = [dict(event) for event in events if ("ph", "X") in event]
    return [_at_a_bar(rng, event, bars) if _is_end(event) and bars else event for event in events]


def random_file(rng: random.Random, events: Sequence[Pairs]) -> bytes:
    """A file with exactly these events, in a layout that some writer might choose."""
    style = _style(rng)
    texts = [text_of(event, style, 1) for event in events]
    text = _list_text(rng, texts, style)
    if _chance(rng, 3):
        text = _wrapped(rng, text, style)
    data = (rng.choice(_SPACES) + text + rng.choice(_SPACES)).encode()
    if _chance(rng, 8):
        data = b"\xef\xbb\xbf" + data
    return data


def packed(data: bytes) -> bytes:
    """The file as .gz, the same bytes every time."""
    return gzip.compress(data, 1, mtime=0)


def damaged(rng: random.Random, data: bytes) -> bytes:
    """The file with a few bytes changed, lost, repeated or put in, or cut off."""
    text = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at, length = rng.randint(0, len(text)), rng.randint(1, 40)
        kind = rng.randint(0, 5)
        if kind == 0:
            text[at : at + 1] = bytes([rng.randint(0, 255)])
        elif kind == 1:
            del text[at : at + 1]
        elif kind == 2:
            text[at:at] = rng.choice(_RUBBISH)
        elif kind == 3:
            del text[at : at + length]
        elif kind == 4:
            text[at:at] = text[at : at + length]
        else:
            del text[at:]
    return bytes(text)


def _list_text(rng: random.Random, texts: Sequence[str], style: Style) -> str:
    between = rng.choice((",", ", ", ",\n", "\n,", " ,\r\n\t", ",\n\n  "))
    if style.indent is not None:
        pad = "\n" + " " * style.indent
        return "[" + pad + ("," + pad).join(texts) + "\n]"
    return "[" + rng.choice(_SPACES) + between.join(texts) + rng.choice(_SPACES) + "]"


def _wrapped(rng: random.Random, events: str, style: Style) -> str:
    decoys: list[tuple[str, Any]] = [
        ("schemaVersion", 1),
        ("deviceProperties", [{"id": 0, "name": 'say "traceEvents": [{'}, {"traceEvents": [{"ph": "X"}]}]),
        ("distributedInfo", {"backend": "nccl", "traceEvents": []}),
        ("traceName", "a]}, {b"),
        ("displayTimeUnit", "ms"),
        ("nothing", None),
    ]
    rng.shuffle(decoys)
    cut, stop = sorted((rng.randint(0, 6), rng.randint(0, 6)))
    pairs = [f"{_string(key, 'plain')}{style.colon}{text_of(value, style)}" for key, value in decoys[:stop]]
    if _chance(rng, 2):
        pairs.insert(
            rng.randint(0, len(pairs)), f'"baseTimeNanoseconds"{style.colon}{rng.choice((0, 17 * 10**17))}'
        )
    pairs.insert(cut, f'"traceEvents"{style.colon}{events}')
    gap = rng.choice(_SPACES)
    return "{" + gap + ("," + gap).join(pairs) + gap + "}"


def _style(rng: random.Random) -> Style:
    indent = rng.randint(1, 4) if _chance(rng, 4) else None
    return Style(
        comma=rng.choice((",", ", ", " , ", ",\t", ",\n")),
        colon=rng.choice((":", ": ", " : ", ":\n")),
        indent=indent,
        escape=rng.choice(("plain", "ascii", "every")),
    )


def _event(rng: random.Random, base: int) -> Pairs:
    kind = rng.randint(0, 19)
    if kind < 12:
        return _bar(rng, base)
    if kind < 15:
        return _arrow_end(rng, base)
    if kind < 17:
        return _metadata(rng)
    return _other(rng, base)


def _bar(rng: random.Random, base: int) -> Pairs:
    event = _bar_fields(rng, base)
    return _broken(rng, event) if _chance(rng, 10) else _mixed(rng, event)


def _whole_bar(rng: random.Random, base: int) -> Pairs:
    return _mixed(rng, _bar_fields(rng, base))


def _bar_fields(rng: random.Random, base: int) -> dict[str, Any]:
    event: dict[str, Any] = {"ph": "X", "name": _name(rng), "pid": _place(rng), "tid": _place(rng)}
    event["ts"] = _time(rng, base)
    event["dur"] = _duration(rng)
    if _chance(rng, 2):
        event["cat"] = rng.choice(_CATS)
    if _chance(rng, 2):
        event["args"] = _args(rng)
    return event


def _broken(rng: random.Random, event: dict[str, Any]) -> Pairs:
    key, value = rng.choice(
        (
            ("ts", None),
            ("ts", "soon"),
            ("ts", ""),
            ("ts", True),
            ("dur", None),
            ("dur", Number("-0.5")),
            ("dur", -3),
            ("dur", Number("7e15")),
        )
    )
    event[key] = value
    if value is None and _chance(rng, 2):
        del event[key]
    return _mixed(rng, event)


def _arrow_end(rng: random.Random, base: int) -> Pairs:
    kind, ident = rng.choice(_ARROWS)
    event = {
        "ph": rng.choice("sf"),
        "cat": kind,
        "name": _name(rng),
        "id": ident,
        "pid": _place(rng),
        "tid": _place(rng),
        "ts": _time(rng, base),
        "bp": "e",
    }
    return _mixed(rng, event)


def _is_end(event: Pairs) -> bool:
    return ("ph", "s") in event or ("ph", "f") in event


def _at_a_bar(rng: random.Random, event: Pairs, bars: Sequence[dict[str, Any]]) -> Pairs:
    """Most ends of arrows stand where some bar starts."""
    if _chance(rng, 4):
        return event
    bar = rng.choice(bars)
    return Pairs((key, bar[key] if key in {"pid", "tid", "ts"} & set(bar) else one) for key, one in event)


def _metadata(rng: random.Random) -> Pairs:
    name = rng.choice(("process_name", "process_labels", "thread_name", "process_sort_index"))
    value = {"process_labels": {"labels": "NPU 1"}, "process_sort_index": {"sort_index": 7}}
    args = value.get(name, {"name": rng.choice(("CANN", "Python", "Stream 2", _name(rng)))})
    return _mixed(rng, {"ph": "M", "name": name, "pid": _place(rng), "tid": _place(rng), "args": args})


def _other(rng: random.Random, base: int) -> Pairs:
    """Counters, instants, begin and end, nothing at all."""
    event: dict[str, Any] = {}
    if _chance(rng, 2):
        event = {"ph": rng.choice("CiBE"), "name": _name(rng), "ts": _time(rng, base), "args": _args(rng)}
    elif _chance(rng, 2):
        event = {"name": _name(rng), "args": {}}
    return _mixed(rng, event)


def _mixed(rng: random.Random, event: dict[str, Any]) -> Pairs:
    """The event with its keys in any order, sometimes with keys nobody knows or a key given twice."""
    pairs = Pairs(event.items())
    if _chance(rng, 4):
        pairs.append((rng.choice(("s", "sf", "cname", "ph2", "x}, {y")), _value(rng, 2)))
    rng.shuffle(pairs)
    if pairs and _chance(rng, 12):
        pairs.insert(0, rng.choice(pairs))
        if pairs[0][0] == "name":
            pairs[0] = ("name", "overruled")
    return pairs


def _args(rng: random.Random) -> Pairs:
    args = Pairs()
    for _ in range(rng.randint(0, 4)):
        kind = rng.randint(0, 3)
        if kind == 0:
            args.append((rng.choice(_KEPT_TEXTS), _name(rng)))
        elif kind == 1:
            args.append((rng.choice(_KEPT_NUMBERS), rng.choice((0, 5, 74, 2**32 - 1, 2**53 + 1, 2**63 - 1))))
        else:
            args.append((rng.choice(("Call stack", "a", "", "Model Id", "args")), _value(rng, 3)))
    return args


def _value(rng: random.Random, depth: int) -> Any:
    kind = rng.randint(0, 7 if depth else 5)
    plain = (
        None,
        True,
        rng.randint(-(10**6), 10**6),
        Number("1.50e-3"),
        _name(rng),
        10 ** rng.randint(0, 60),
    )
    if kind <= 5:
        return plain[kind]
    if _chance(rng, 4):
        # What only looks like events of the list.
        return [{"ph": "X", "name": "nested", "pid": 1, "tid": 1, "ts": 1, "dur": 1}] * rng.randint(1, 3)
    inner = [_value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return inner if kind == 6 else Pairs((_name(rng), one) for one in inner)


def _time(rng: random.Random, base: int) -> Any:
    whole = base + rng.randint(-_SPREAD_US, _SPREAD_US)
    kind = rng.randint(0, 4)
    if kind == 0:
        return whole
    text = _decimal(rng, whole)
    if kind == 1:
        text = _exponent(rng, text)
    return Number(text) if kind < 3 else text


def _duration(rng: random.Random) -> Any:
    whole = rng.choice((0, 1, rng.randint(0, 1000), rng.randint(0, _SPREAD_US)))
    kind = rng.randint(0, 3)
    if kind == 0:
        return whole
    text = _decimal(rng, whole)
    return Number(_exponent(rng, text) if kind == 1 else text)


def _decimal(rng: random.Random, whole: int) -> str:
    """The number with 0 to 6 places; halves of a nanosecond come more often than chance has them."""
    places = rng.randint(0, 6)
    if not places:
        return str(whole)
    digits = "".join(rng.choice("0123456789") for _ in range(places))
    if places > 3 and _chance(rng, 2):
        digits = digits[:3] + "5" + "0" * (places - 4)
    return f"{whole}.{digits}"


def _exponent(rng: random.Random, text: str) -> str:
    """The same number with its point moved to the left or behind the last digit by a power of ten."""
    sign, text = ("-", text[1:]) if text[0] == "-" else ("", text)
    whole, _, places = text.partition(".")
    e = rng.choice("eE")
    if _chance(rng, 3):
        return f"{sign}{(whole + places).lstrip('0') or '0'}{e}-{len(places)}"
    shift = rng.randint(0, len(whole) - 1)
    head, tail = whole[: len(whole) - shift], whole[len(whole) - shift :] + places
    return f"{sign}{head}{'.' + tail if tail else ''}{e}{rng.choice(('', '+', '0', '+0'))}{shift}"


def _place(rng: random.Random) -> Any:
    return rng.choice((0, 1, 2, 800, 3_170_820_512, 2**40, -1, "Traces", "1", "stream 7", "}, {"))


def _name(rng: random.Random) -> str:
    return "".join(rng.choice(LOOK_ALIKES) for _ in range(rng.randint(1, 3)))


def _chance(rng: random.Random, one_in: int) -> bool:
    return rng.randint(1, one_in) == 1


def _string(text: str, escape: str) -> str:
    if escape == "every":
        units = memoryview(text.encode("utf-16-be")).cast("B")
        codes = [units[at] << 8 | units[at + 1] for at in range(0, len(units), 2)]
        return '"' + "".join(f"\\u{code:04X}" for code in codes) + '"'
    written = json.dumps(text, ensure_ascii=escape == "ascii")
    return written.replace("/", "\\/") if escape == "ascii" else written


def _joined(brackets: str, inner: Sequence[str], style: Style, depth: int) -> str:
    if style.indent is None or not inner:
        return brackets[0] + style.comma.join(inner) + brackets[1]
    pad = "\n" + " " * (style.indent * (depth + 1))
    return brackets[0] + pad + ("," + pad).join(inner) + pad[: -style.indent] + brackets[1]
