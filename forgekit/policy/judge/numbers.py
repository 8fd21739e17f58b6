"""Quantities in a text: a number, what it counts or measures, and whether it is a bound.

A *dimension* is what two quantities must share to be compared: `time` (seconds), `size` (bytes), `percent`,
`money`, `length`, `mass`, `count:<noun>`, `label:<noun>` (port 8080, UUID v7),
`every` (seconds from one time to the next) and `year`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from forgekit.policy.judge.words import Word, stem

_DAY = 86_400.0
_UNITS = {
    "time": {
        **dict.fromkeys(("ms", "millisecond"), 0.001),
        **dict.fromkeys(("s", "sec", "second"), 1.0),
        **dict.fromkeys(("min", "minute"), 60.0),
        **dict.fromkeys(("h", "hr", "hour"), 3600.0),
        **dict.fromkeys(("d", "day"), _DAY),
        **dict.fromkeys(("week", "weekly"), 7 * _DAY),
        "fortnight": 14 * _DAY,
        **dict.fromkeys(("month", "monthly"), 30.4375 * _DAY),
        "quarter": 91.3125 * _DAY,
        **dict.fromkeys(("year", "yr"), 365.25 * _DAY),
    },
    "size": {
        **dict.fromkeys(("byte", "bytes"), 1.0),
        **dict.fromkeys(("kb", "kib", "kilobyte"), 1e3),
        **dict.fromkeys(("mb", "mib", "megabyte"), 1e6),
        **dict.fromkeys(("gb", "gib", "gigabyte"), 1e9),
        **dict.fromkeys(("tb", "tib", "terabyte"), 1e12),
    },
    "percent": {"percent": 1.0, "%": 1.0},
    "money": dict.fromkeys(("euro", "eur", "dollar", "usd", "pound", "gbp", "$", "€", "£"), 1.0),
    "length": {"mm": 0.001, "cm": 0.01, "km": 1000.0, "kilometre": 1000.0, "kilometer": 1000.0, "mile": 1609.0},
    "mass": {"mg": 0.001, "g": 1.0, "gram": 1.0, "kg": 1000.0, "kilo": 1000.0},
}  # fmt: skip
_UNIT = {stem(name): (dim, factor) for dim, names in _UNITS.items() for name, factor in names.items()}
_NAMES = {
    **{name: float(i) for i, name in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"])},
    "single": 1.0, "once": 1.0, "sole": 1.0, "twice": 2.0, "fifteen": 15.0, "twenty": 20.0, "thirty": 30.0, "forty": 40.0,
    "fifty": 50.0, "sixty": 60.0, "ninety": 90.0, "hundred": 100.0, "dozen": 12.0, "half": 0.5,
}  # fmt: skip
_RATES = {
    "hourly": 3600.0, "daily": _DAY, "nightly": _DAY, "weekly": 7 * _DAY, "fortnightly": 14 * _DAY,
    "biweekly": 14 * _DAY, "monthly": 30.4375 * _DAY, "quarterly": 91.3125 * _DAY, "yearly": 365.25 * _DAY,
    "annually": 365.25 * _DAY,
}  # fmt: skip
_NUMBER = re.compile(r"([$€£])?(\d+(?:[.,]\d+)*)([^\W\d_]*)(%)?")
_VERSION = re.compile(r"v(\d+(?:\.\d+)*)")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+")
_AT_MOST = ("up to", "at most", "under", "below", "max", "maximum", "no more", "less than", "fewer than", "within",
            "<", "≤", "not exceed", "limit", "cap", "no longer than", "drop under")  # fmt: skip
_AT_LEAST = ("at least", "over", "above", "more than", "min", "minimum", "exceed", ">", "≥", "no fewer", "no less",
             "longer than", "greater")  # fmt: skip
_NOT_NOUNS = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "and",
        "or",
        "to",
        "in",
        "on",
        "for",
        "at",
        "per",
        "by",
        "with",
        "from",
        "is",
        "are",
        "be",
        "must",
        "should",
        "each",
        "every",
        "as",
        "then",
        "than",
        "that",
        "when",
        "if",
        "after",
        "before",
        "until",
        "more",
        "less",
        "most",
        "least",
        "our",
        "their",
        "its",
        "his",
        "her",
        "old",
        "long",
        "so",
        "but",
        "not",
        "no",
        "new",
        "full",
        "extra",
        "separate",
        "different",
        "further",
        "consecutive",
        "clear",
    ]
)
_SEQUENCE = frozenset(
    [
        "module",
        "chapter",
        "phase",
        "step",
        "level",
        "section",
        "part",
        "issue",
        "ticket",
        "day",
        "grade",
        "lesson",
        "appendix",
        "table",
        "figure",
        "round",
        "act",
        "scene",
        "milestone",
        "sprint",
        "tier",
        "layer",
        "stage",
        "rule",
        "adr",
        "rfc",
        "pep",
        "nep",
        "bip",
        "eip",
        "erc",
        "kep",
        "article",
        "item",
    ]
)


class Bound(Enum):
    """What a quantity says about the values it allows."""

    EXACT = "exactly"
    MOST = "at most"
    LEAST = "at least"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with what it measures, in the dimension's base unit.

    Attributes:
        words: places of the words it is made of, unit and counted noun included.
        shown: as the text says it.
        wide: a bare one, as in "a single file" or "one of": weak, because most texts mean no count by it.
    """

    dimension: str
    value: float
    bound: Bound
    places: frozenset[int]
    shown: str


def quantities(words: Sequence[Word]) -> list[Quantity]:
    """Return the quantities of a clause in their order."""
    found = list(_rates(words))
    taken = {place for rate in found for place in rate.places}
    for at, word in enumerate(words):
        read = _read(word.raw)
        if read is None or word.place in taken:
            continue
        value, dimension, factor = read
        used = {word.place}
        shown = [word.raw]
        after = at + 1
        if [w.raw for w in words[after : after + 3]] == ["and", "a", "half"]:
            value, after = value + 0.5, after + 3
        elif word.raw == "half" and after < len(words) and words[after].raw in {"a", "an"}:
            after += 1
        elif (
            dimension is None
            and after < len(words)
            and words[after].raw in {"hundred", "thousand", "million", "k"}
        ):
            value *= {"hundred": 1e2, "thousand": 1e3, "k": 1e3, "million": 1e6}[words[after].raw]
            after += 1
        if dimension is None and after < len(words) and (unit := _UNIT.get(words[after].stem)):
            dimension, factor = unit
            used.add(words[after].place)
            shown.append(words[after].raw)
        if dimension is None:
            dimension, noun = _counted(words, at, after, value)
            if noun is not None:
                used.add(noun.place)
                shown = [*shown, noun.raw] if noun.place > word.place else [noun.raw, *shown]
        if dimension is not None:
            found.append(
                Quantity(
                    dimension, value * factor, _bound(words, at, after), frozenset(used), " ".join(shown)
                )
            )
    return found


def _rates(words: Sequence[Word]) -> Iterator[Quantity]:
    """Return how often: `weekly`, `every 2 weeks`, `three times a month`, as the days between two times."""
    for at, word in enumerate(words):
        follow = words[at + 1 : at + 4]
        raws = [w.raw for w in follow]
        taken: Sequence[Word] = ()
        value = 0.0
        if word.raw in _RATES:
            value, taken = _RATES[word.raw], (word,)
        elif word.raw == "every" and follow:
            number = _read(follow[0].raw)
            if number and len(follow) > 1 and (unit := _UNIT.get(follow[1].stem)) and unit[0] == "time":
                value, taken = number[0] * unit[1], (word, *follow[:2])
            elif (unit := _UNIT.get(follow[0].stem)) and unit[0] == "time":
                value, taken = unit[1], (word, follow[0])
        elif (number := _read(word.raw)) and number[1] is None and number[0]:
            skip = 1 if raws[:1] == ["times"] else 0
            unit = _UNIT.get(follow[skip + 1].stem) if len(follow) > skip + 1 else None
            often = skip or word.raw in {"once", "twice"}
            if often and raws[skip] in {"a", "per", "an", "each", "every"} and unit and unit[0] == "time":
                value, taken = unit[1] / number[0], (word, *follow[: skip + 2])
        if taken:
            shown = " ".join(w.raw for w in taken)
            yield Quantity("every", value, Bound.EXACT, frozenset(w.place for w in taken), shown)


def differ(a: Quantity, b: Quantity) -> bool:
    """Whether no value satisfies both, or both set one limit to different values."""
    if a.dimension != b.dimension:
        return False
    near = abs(a.value - b.value) <= 0.02 * max(abs(a.value), abs(b.value))
    if near:
        return False
    if a.bound is b.bound:
        return True
    low, high = (a, b) if a.value < b.value else (b, a)
    return low.bound is not Bound.LEAST and high.bound is not Bound.MOST


def same(a: Quantity, b: Quantity) -> bool:
    """Whether two quantities are one value of one dimension."""
    close = abs(a.value - b.value) <= 0.02 * max(abs(a.value), abs(b.value))
    return a.dimension == b.dimension and close


def _read(raw: str) -> tuple[float, str | None, float] | None:
    if raw in _NAMES:
        return _NAMES[raw], None, 1.0
    match = _NUMBER.fullmatch(raw)
    if match is None:
        version = _VERSION.fullmatch(raw)
        return (_value(version.group(1)), "label:version", 1.0) if version else None
    sign, digits, suffix, percent = match.groups()
    value = _value(digits)
    if sign:
        return value, "money", 1.0
    if percent:
        return value, "percent", 1.0
    if suffix in {"", "st", "nd", "rd", "th", "x"}:
        return value, None, 1.0
    if suffix == "k":
        return value * 1e3, None, 1.0
    unit = _UNIT.get(stem(suffix))
    return (value, unit[0], unit[1]) if unit else None


def _value(digits: str) -> float:
    """Read 2,000 and 1.5 and the first two parts of 1.2.3."""
    if _GROUPED.fullmatch(digits):
        digits = digits.replace(",", "")
    pieces = digits.replace(",", ".").split(".")
    return float(f"{pieces[0]}.{pieces[1]}" if len(pieces) > 1 else pieces[0])


def _counted(words: Sequence[Word], at: int, after: int, value: float) -> tuple[str | None, Word | None]:
    """Return the dimension of a bare number, and the noun that gives it."""
    noun: Word | None = None
    for word in words[after : after + 3]:
        if word.raw in _NOT_NOUNS or not word.raw[0].isalpha():
            if noun is None and word.raw in {"new", "full", "extra", "separate", "different", "consecutive"}:
                continue
            break
        noun = word
    before = words[at - 1] if at else None
    if noun is not None and words[at].raw != "half":
        return f"count:{noun.concept}", noun
    if before is not None and before.raw[0].isalpha() and before.raw not in _NOT_NOUNS:
        return f"label:{before.concept}", before
    if 1900 <= value <= 2100:
        return "year", None
    return None, None


def is_sequence(quantity: Quantity) -> bool:
    """Whether the number names a place in a row (chapter 3), which is scope and no value."""
    return quantity.dimension.startswith("label:") and quantity.dimension[6:] in _SEQUENCE


def _bound(words: Sequence[Word], at: int, after: int) -> Bound:
    """Read the words just before and after a number."""
    lead = " ".join(
        f"{word.raw} {word.stem}" if word.raw != word.stem else word.raw
        for word in words[max(0, at - 5) : at]
    )
    tail = " ".join(word.raw for word in words[after : after + 4])
    near = f" {lead} "
    if any(f" {mark} " in near for mark in _AT_LEAST) or "or more" in tail or "or longer" in tail:
        return Bound.LEAST
    if any(f" {mark} " in near for mark in _AT_MOST) or "or less" in tail or "or fewer" in tail:
        return Bound.MOST
    return Bound.EXACT
