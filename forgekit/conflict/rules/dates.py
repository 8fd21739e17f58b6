"""Dates and times of day in a text: "1 March", "the 20th", "half past nine", "14:30"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from forgekit.conflict.rules.grammar import word_set
from forgekit.conflict.rules.quantity import Bound, Quantity
from forgekit.conflict.rules.words import Word

_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_HOURS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_TENTHS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_TEENS = ("eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth")
_ORDINALS = (*_TENTHS, *_TEENS)
_NAMED = {"noon": 12.0, "midday": 12.0, "midnight": 0.0}
_BOUNDS = {
    **dict.fromkeys(("at", "around"), Bound.EXACT),
    **dict.fromkeys(("by", "before", "until", "till"), Bound.MOST),
    **dict.fromkeys(("after", "from", "past"), Bound.LEAST),
}
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")
_CLOCK = re.compile(r"(\d{1,2})(?::(\d\d))?(am|pm|h)?")
_FOLLOWS_A_TIME = word_set("am pm o'clock sharp in on at every each and or to till until unless if when , ;")


def dates(words: Sequence[Word]) -> Iterator[Quantity]:
    """Return the dates, the days of a month and the times of day of a clause."""
    raws = [word.raw for word in words]
    at = 0
    while at < len(words):
        value, dimension, length = _date(words, raws, at)
        if not length:
            value, dimension, length = _day(raws, at)
        if not length:
            value, dimension, length = _time(raws, at)
        if length:
            places = frozenset(word.place for word in words[at : at + length])
            shown = " ".join(raws[at : at + length])
            yield Quantity(dimension, value, _bound(raws, at), words[at].place, places, shown)
        at += length or 1


_NOTHING = (0.0, "", 0)


def _date(words: Sequence[Word], raws: list[str], at: int) -> tuple[float, str, int]:
    """Read "1 March", "March 1", "1st of March": the day of the year, counted in months of 31 days."""
    length = 3 if raws[at + 1 : at + 2] == ["of"] else 2
    if at + length > len(raws):
        return _NOTHING
    first, last = raws[at], raws[at + length - 1]
    if last in _MONTHS and (number := _numbered(first)):
        return float(31 * _MONTHS.index(last) + number), "date", length
    modal = first in {"may", "march"} and not words[at].proper
    if first in _MONTHS and length == 2 and not modal and (number := _numbered(last)):
        return float(31 * _MONTHS.index(first) + number), "date", length
    return _NOTHING


def _numbered(raw: str) -> int:
    """Return the day that a word names, 1 to 31; 0 for none."""
    match = _ORDINAL.fullmatch(raw)
    digits = match.group(1) if match else raw if raw.isdecimal() and len(raw) < 3 else ""
    day = int(digits) if digits else _ORDINALS.index(raw) + 1 if raw in _ORDINALS else 0
    return day if day <= 31 else 0


def _day(raws: list[str], at: int) -> tuple[float, str, int]:
    """Read "the fifth of the month" and "the 20th"."""
    ordinal = _ORDINAL.fullmatch(raws[at]) is not None or raws[at] in _ORDINALS
    if not ordinal or raws[at - 1 : at] != ["the"]:
        return _NOTHING
    of_month = raws[at + 1 : at + 2] == ["of"] and "month" in raws[at + 2 : at + 4]
    ends = at + 1 == len(raws) and raws[at - 2 : at - 1] in (["on"], ["by"], ["before"], ["until"], ["after"])
    return (float(_numbered(raws[at])), "day", 4 if of_month else 1) if of_month or ends else _NOTHING


def _time(raws: list[str], at: int) -> tuple[float, str, int]:
    """Read "14:30", "9 am", "at nine", "half past nine" and "noon" as hours."""
    raw = raws[at]
    if raw in _NAMED:
        return _NAMED[raw], "clock", 1
    if raw in {"half", "quarter"} and raws[at + 1 : at + 2] in (["past"], ["to"]) and at + 2 < len(raws):
        hour = _hour(raws[at + 2])
        part = 0.5 if raw == "half" else 0.25
        later = raws[at + 1] == "past"
        return (hour + (part if later else -part), "clock", 3) if hour is not None else _NOTHING
    hour = _hour(raw)
    follows = raws[at + 1] if at + 1 < len(raws) else ""
    if hour is None:
        return _NOTHING
    half = follows if follows in {"am", "pm", "o'clock"} else ""
    if half or ":" in raw or raw.endswith(("am", "pm")):
        afternoon = (half == "pm" or raw.endswith("pm")) and hour < 12
        return hour + 12 * afternoon, "clock", 2 if half else 1
    stands = at > 0 and raws[at - 1] in _BOUNDS and (not follows or follows in _FOLLOWS_A_TIME)
    return (hour, "clock", 1) if stands else _NOTHING


def _hour(raw: str) -> float | None:
    """Return the hour that a word names."""
    if raw in _HOURS:
        return _HOURS.index(raw) + 1.0
    match = _CLOCK.fullmatch(raw)
    if match is None:
        return None
    hour, minute = int(match.group(1)), int(match.group(2) or 0)
    return hour + minute / 60 if hour <= 24 and minute < 60 else None


def _bound(raws: list[str], at: int) -> Bound:
    """Read the preposition before a date."""
    before = raws[at - 1] if at else ""
    if before == "the" and at > 1:
        before = raws[at - 2]
    return _BOUNDS.get(before, Bound.EXACT)
