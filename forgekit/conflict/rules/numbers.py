"""Quantities in a text: a number, what it counts or measures, and whether it is a bound."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from forgekit.conflict.rules import grammar
from forgekit.conflict.rules.dates import dates
from forgekit.conflict.rules.grammar import word_set
from forgekit.conflict.rules.quantity import Bound, Quantity
from forgekit.conflict.rules.words import Word, stem

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
    "degree": dict.fromkeys(("degree", "celsius", "°c"), 1.0),
    "length": {"mm": 1e-3, "cm": 1e-2, "km": 1e3, "kilometre": 1e3, "kilometer": 1e3, "mile": 1609.0},
    "mass": {"mg": 0.001, "g": 1.0, "gram": 1.0, "kg": 1000.0, "kilo": 1000.0},
}  # fmt: skip
_UNIT = {stem(name): (dim, factor) for dim, names in _UNITS.items() for name, factor in names.items()}
_NAMES = {
    "zero": 0.0, "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0, "seven": 7.0,
    "eight": 8.0, "nine": 9.0, "ten": 10.0, "eleven": 11.0, "twelve": 12.0, "fifteen": 15.0, "twenty": 20.0,
    "single": 1.0, "once": 1.0, "sole": 1.0, "twice": 2.0, "thirty": 30.0, "forty": 40.0, "fifty": 50.0,
    "sixty": 60.0, "ninety": 90.0, "hundred": 100.0, "dozen": 12.0, "half": 0.5,
}  # fmt: skip
_RATES = {
    "hourly": 3600.0, "daily": _DAY, "nightly": _DAY, "weekly": 7 * _DAY, "fortnightly": 14 * _DAY,
    "biweekly": 14 * _DAY, "monthly": 30.4375 * _DAY, "quarterly": 91.3125 * _DAY, "yearly": 365.25 * _DAY,
    "annually": 365.25 * _DAY,
}  # fmt: skip
_POWERS = {"hundred": 1e2, "thousand": 1e3, "k": 1e3, "million": 1e6}
_SPANS = word_set("within inside after for")
_PER = frozenset({"a", "an", "per", "each", "every"})
_NUMBER = re.compile(r"([$€£])?(\d+(?:[.,]\d+)*)([^\W\d_]*)(%)?")
_VERSION = re.compile(r"v(\d+(?:\.\d+)*)")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+")
_AT_MOST = re.compile(
    r"(?:^| )(?:up to|at most|under|below|max|maximum|no more|less than|fewer than|within|<|≤|limit|cap)"
    r"(?: |$)"
)
_AT_LEAST = re.compile(
    r"(?:^| )(?:at least|over|above|more than|min|minimum|exceed|>|≥|no less|no fewer|greater|requir)(?: |$)"
)
_OR_MORE = word_set("more longer newer later above higher")
_OR_LESS = word_set("less fewer older shorter below lower")
_NOT_NOUNS = word_set(
    """a an the of and or to in on for at per by with from is are be must should each every as then than that
    when if after before until more less most least our their its his her old long so but not no new
    full extra separate different further consecutive clear later earlier ago"""
)
_QUALIFIERS = word_set(
    """new full extra separate different further consecutive clear working business calendar school whole"""
)
_SEQUENCE = word_set(
    """module chapter phase step level section part issue ticket day grade lesson appendix table figure
    round act scene v milestone sprint tier layer stage rule adr rfc pep nep bip eip erc xep kep article
    item option choice variant alternative proposal approach candidate idea attempt severity priority
    question requirement goal case example note annex volume book bug pr story"""
)


def quantities(words: Sequence[Word]) -> list[Quantity]:
    """Return the quantities of a clause, rates and dates first."""
    rates = [*_rates(words), *dates(words)]
    taken = {place for rate in rates for place in rate.places}
    measured = (_measured(words, at) for at, word in enumerate(words) if word.place not in taken)
    return rates + [quantity for quantity in measured if quantity]


def _measured(words: Sequence[Word], at: int) -> Quantity | None:
    """Read the quantity whose number stands at an index."""
    if one := _one(words, at):
        return one
    read = _read(words[at].raw)
    if read is None or [word.raw for word in words[max(0, at - 2) : at + 1]] == ["and", "a", "half"]:
        return None
    value, dimension, factor = read
    after = at + 1
    follow = [word.raw for word in words[after : after + 3]]
    if follow == ["and", "a", "half"]:
        value, after = value + 0.5, after + 3
    elif words[at].raw == "half" and follow[:1] in (["a"], ["an"]):
        after += 1
    elif dimension is None and follow and follow[0] in _POWERS:
        value, after = value * _POWERS[follow[0]], after + 1
    named: Word | None = None
    if dimension is None and (word := _behind(words, after)) and (unit := _UNIT.get(word.stem)):
        (dimension, factor), named = unit, word
    if dimension is None:
        dimension, named = _counted(words, at, after, value)
    if dimension is None:
        return None
    if dimension.startswith("label:") and "." in words[at].raw:
        value = _ordered(words[at].raw)
    both = sorted([words[at], *([named] if named else [])], key=lambda word: word.place)
    return Quantity(
        dimension,
        value * factor,
        _bound(words, at, after),
        words[at].place,
        frozenset(word.place for word in both),
        " ".join(word.raw for word in both),
    )


def _one(words: Sequence[Word], at: int) -> Quantity | None:
    """Read "within a month" and "a quarter of an hour"."""
    raws = [word.raw for word in words[max(0, at - 1) : at + 4]]
    if raws[1:5] == ["quarter", "of", "an", "hour"] or (at == 0 and raws == ["quarter", "of", "an", "hour"]):
        value, number, last = 900.0, words[at], words[at + 3]
    elif at and raws[0] in _SPANS and raws[1] in {"a", "an", "one"} and raws[2:] and _period(words[at + 1]):
        value, number, last = _period(words[at + 1]), words[at], words[at + 1]
    else:
        return None
    places = frozenset((number.place, last.place))
    return Quantity(
        "time", value, _bound(words, at, at + 2), number.place, places, f"{number.raw} {last.raw}"
    )


def _behind(words: Sequence[Word], at: int) -> Word | None:
    """Return the word at an index, behind one that only qualifies a unit ("working days")."""
    if at + 1 < len(words) and words[at].raw in _QUALIFIERS and words[at + 1].stem in _UNIT:
        at += 1
    return words[at] if at < len(words) else None


def _rates(words: Sequence[Word]) -> Iterator[Quantity]:
    """Return how often (`weekly`, `every 2 weeks`, `three times a month`), as the seconds between two."""
    for at, word in enumerate(words):
        value, taken = _rate(words[at : at + 4])
        if taken:
            places = frozenset(w.place for w in taken)
            yield Quantity("every", value, Bound.EXACT, word.place, places, " ".join(w.raw for w in taken))


def _rate(words: Sequence[Word]) -> tuple[float, Sequence[Word]]:
    """Read a rate that starts with the first of at most four words."""
    raws = [word.raw for word in words]
    if raws[0] in _RATES:
        return _RATES[raws[0]], words[:1]
    length = 3 if len(words) > 2 and _read(raws[1]) else 2
    if raws[0] == "every" and len(words) >= length and (period := _period(words[length - 1])):
        number = _read(raws[1]) if length == 3 else None
        return period * (number[0] if number else 1.0), words[:length]
    often = _NAMES.get(raws[0], 0.0) if raws[0] in {"once", "twice"} else 0.0
    length = 3
    if raws[1:2] == ["times"] and (number := _read(raws[0])):
        often, length = number[0], 4
    if often and len(words) >= length and raws[length - 2] in _PER and (period := _period(words[length - 1])):
        return period / often, words[:length]
    return 0.0, ()


def _period(word: Word) -> float:
    """Return the seconds of a unit of time, else 0."""
    unit = _UNIT.get(word.stem)
    return unit[1] if unit and unit[0] == "time" else 0.0


def _read(raw: str) -> tuple[float, str | None, float] | None:
    if raw in _NAMES:
        return _NAMES[raw], None, 1.0
    match = _NUMBER.fullmatch(raw)
    if match is None:
        version = _VERSION.fullmatch(raw)
        return (_value(version.group(1)), "label:v", 1.0) if version else None
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


def _ordered(digits: str) -> float:
    """Return the first two parts of a version so that 3.9 comes before 3.12."""
    major, minor = re.findall(r"\d+", digits)[:2]
    return float(major) + float(minor) / 10_000


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
        if _nounish(word):
            noun = word
        elif noun is not None or word.raw not in _QUALIFIERS:
            break
    near = (
        words[at - 1]
        if at and words[at - 1].raw[0].isalpha() and words[at - 1].raw not in _NOT_NOUNS
        else None
    )
    head = (w for w in reversed(words[max(0, at - 4) : at]) if w.raw[0].isalpha() and w.raw not in _NOT_NOUNS)
    before = near or next(head, None)
    raw = words[at].raw
    if len(raw) == 4 and 1900 <= value <= 2100:
        return ("year", None) if noun is None else ("label:v", None)
    if noun is not None and raw != "half" and not ("." in raw and near):
        return f"count:{noun.concept}", noun
    return (f"label:{before.concept}", before) if before else (None, None)


def _nounish(word: Word) -> bool:
    """Whether a word can be what a number counts: no function word and no plain verb form."""
    base = word.raw.removesuffix("s")
    verb = base in grammar.VERBS and base not in grammar.NOUNS_TOO
    past = word.raw.endswith("ed") or word.raw in grammar.IRREGULAR
    return word.raw[0].isalpha() and word.raw not in _NOT_NOUNS and not verb and not past


def is_sequence(quantity: Quantity) -> bool:
    """Whether the number names a place in a row (chapter 3), which is scope and no value."""
    return quantity.dimension.startswith("label:") and quantity.dimension[6:] in _SEQUENCE


def _bound(words: Sequence[Word], at: int, after: int) -> Bound:
    """Read the words just before and after a number."""
    lead = " ".join(
        dict.fromkeys(form for word in words[max(0, at - 5) : at] for form in (word.raw, word.stem))
    )
    tail = [word.raw for word in words[after : after + 4]]
    ending = tail[tail.index("or") + 1 :][:1] if "or" in tail else []
    if _AT_LEAST.search(lead) or not _OR_MORE.isdisjoint(ending):
        return Bound.LEAST
    if _AT_MOST.search(lead) or not _OR_LESS.isdisjoint(ending):
        return Bound.MOST
    return Bound.EXACT
