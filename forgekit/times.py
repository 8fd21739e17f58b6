"""Points in time: whole milliseconds since 1970-01-01 UTC, and their one text form.

ISO 8601 UTC with `Z`; a fraction of three digits only where there is one. A time without a zone
counts as UTC; a finer fraction is cut, never rounded, so that a time and the id made from it agree.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NewType

Instant = NewType("Instant", int)
"""Milliseconds since 1970-01-01T00:00:00Z, 0 .. 253402300799999 (the end of year 9999)."""

UNKNOWN = Instant(0)
"""An unknown time; it sorts before all others, and no record is of 1970."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST = 253_402_300_799_999
DAY_MS = 86_400_000

_ISO = (
    r"(?a)(\d{4}-\d{2}-\d{2})"
    r"(?:[Tt ](\d{2}:\d{2})(?:(:\d{2})(?:[.,](\d{1,9}))?)?)?"
    r" ?(?:([Zz]|UTC)|([+-])(\d{2}):?(\d{2}))?"
)

_CANONICAL = re.compile(r"(?:19[789]|[2-9]\d\d)\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)  # from 1970 on


def parse_instant(text: str) -> Instant:
    """Read a date or a date with time.

    Raises ValueError for anything that is not a real date from 1970 on.
    """
    if _CANONICAL.fullmatch(text):
        try:
            return Instant(int(datetime.fromisoformat(text).timestamp()) * 1000)
        except ValueError as e:
            raise ValueError(f"{text!r} is not a real date: {e}") from e
    match = re.fullmatch(_ISO, text.strip())
    if match is None:
        raise ValueError(f"{text[:40]!r} is not a date such as 2026-03-04T16:20:00Z")
    day, clock, seconds, fraction, _, sign, off_h, off_m = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock or '00:00'}{seconds or ''}").replace(tzinfo=UTC)
    except ValueError as e:
        raise ValueError(f"{text[:40]!r} is not a real date: {e}") from e
    milliseconds = (moment - EPOCH) // timedelta(milliseconds=1)
    if sign:
        if int(off_h) > 23 or int(off_m) > 59:
            raise ValueError(f"{text[:40]!r} has no real zone")
        milliseconds -= (int(off_h) * 60 + int(off_m)) * (60_000 if sign == "+" else -60_000)
    milliseconds += int((fraction or "0").ljust(3, "0")[:3])
    if not 0 <= milliseconds <= LAST:
        raise ValueError(f"{text[:40]!r} lies outside the years 1970 to 9999")
    return Instant(milliseconds)


_DAYS = ("%d %B %Y", "%B %d %Y", "%B %Y", "%d %b %Y", "%b %d %Y", "%b %Y", "%Y-%m", "%Y")


def parse_day(text: str, now: Instant) -> Instant | None:
    """Read the beginning of a day, month or year as people write it, the last one before now."""
    try:
        return parse_instant(text)
    except ValueError:
        pass
    words = " ".join(text.replace(",", " ").split())
    year = int(format_date(now)[:4]) if now else EPOCH.year
    for written in (words, f"{words} {year}", f"{words} {year - 1}"):
        for form in _DAYS:
            try:
                found = datetime.strptime(written, form).replace(tzinfo=UTC)
            except ValueError:
                continue
            moment = Instant((found - EPOCH) // timedelta(milliseconds=1))
            if 0 <= moment <= now:
                return moment
    return None


def format_instant(moment: Instant) -> str:
    """Write the one text form, such as `2023-11-14T22:13:20Z`."""
    text = (EPOCH + timedelta(milliseconds=moment)).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{moment % 1000:03d}Z" if moment % 1000 else f"{text}Z"


def format_date(moment: Instant) -> str:
    """Write the day alone, such as `2023-11-14`; `no date` where it is unknown."""
    return "no date" if moment == UNKNOWN else format_instant(moment)[:10]


def month(moment: int) -> str:
    """Write the month that names a folder, such as `2023-11`."""
    return _month_of(min(moment, LAST) // DAY_MS)


@lru_cache(maxsize=4096)
def _month_of(day: int) -> str:
    return (EPOCH + timedelta(days=day)).strftime("%Y-%m")
