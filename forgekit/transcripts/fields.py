"""Values of foreign records, each checked before it is used: a wrong type reads as nothing."""

from __future__ import annotations

from typing import Any

from forgekit.model.problem import Problem, Severity
from forgekit.times import LAST, Instant, parse_instant

LONGEST_NAME = 300


def told(code: str, message: str, line: int | None = None, severity: Severity = Severity.WARNING) -> Problem:
    """Return a finding about an export; a warning unless said otherwise."""
    return Problem(code=code, message=message, line=line, severity=severity)


def mapping(value: Any) -> dict[str, Any]:
    """Return an object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; everything else in it, or instead of it, is left out."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def words(value: Any) -> str:
    """Return a text that a file can hold: half of a surrogate pair and NUL become U+FFFD; "" for no text."""
    text: str = value.replace("\0", "\ufffd") if isinstance(value, str) else ""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def name(value: Any) -> str:
    """Return a title, an id or a file's name as one line of at most 300 characters."""
    return " ".join(words(value)[: 4 * LONGEST_NAME].split())[:LONGEST_NAME]


def moment(value: Any) -> Instant | None:
    """Return a time from ISO 8601 text or from seconds since 1970, None if it is neither."""
    if isinstance(value, str):
        try:
            return parse_instant(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Instant(int(value * 1000)) if 0 <= value <= LAST / 1000 else None
