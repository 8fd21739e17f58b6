"""Values as archives write them: lists, ids, tiers, statuses, dates, in all their spellings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from forgekit.ids import is_id
from forgekit.model.decision import DecisionStatus
from forgekit.model.lineage import TurnRange
from forgekit.model.rules import one_line
from forgekit.model.thread import Priority, ThreadStatus
from forgekit.times import Instant, parse_instant

_THOUSANDS = re.compile(r"(\[[^\[\]]*\])|(?<=\d),(?=\d{3}(?!\d))")
_RANGE = re.compile(r"(?<!\d)(\d{1,9})\s{0,3}(?:-|\u2013|\u2014|,|to|through|\.\.)\s{0,3}(\d{1,9})(?!\d)")


def ungrouped(text: str) -> str:
    """Return a text without thousands separators: `1,250` is 1250, `[1,250]` stays a list."""
    return _THOUSANDS.sub(r"\1", text)


def parse_range(text: str) -> TurnRange | None:
    """Return the first range in a text, or None; a range that runs backwards or begins at 0 is none."""
    match = _RANGE.search(ungrouped(text[:500]))
    if match is None:
        return None
    first, last = int(match.group(1)), int(match.group(2))
    return (first, last) if 1 <= first <= last else None


T = TypeVar("T")

LOCAL_ID = re.compile(r"(?:OT|[DTA])\d{1,4}")
IDS = re.compile(r"(?<![A-Za-z0-9_])(?:OT\d{3}|[DTA]\d{3,4})(?![A-Za-z0-9_])")
SHORT = r"(?:dec|thr)_[0-9a-f]{12}"
SHORT_ID = re.compile(rf"(?<![A-Za-z0-9_]){SHORT}(?![A-Za-z0-9_])")
_REFERENCES = re.compile(
    r"(?<![A-Za-z0-9_-])(?:(?:[A-Z][A-Z0-9]{0,60}_[A-Z0-9_]{1,100}:)?(?:OT\d{1,3}|[DTA]\d{1,4})"
    rf"|{SHORT}"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?![A-Za-z0-9_-])"
)
_NONE = {"", "none", "-", "\u2013", "\u2014", "n/a", "na", "null", "~", "nothing", "no", "[]"}
_NUMBER = re.compile(
    r"(?:tier\s*)?([-+]?(?:\d{1,20}(?:[.,]\d{1,20})?|[.,]\d{1,20}))(?![\w.])(?!\s*/)", re.IGNORECASE
)
_INSIDE = re.compile(r"[(\[]\s*([-+]?(?:\d{1,20}(?:\.\d{1,20})?|\.\d{1,20}))\s*[)\]]")
_INTEGER = re.compile(r"(?:turns?\s*)?#?(\d{1,9})(?!\d)", re.IGNORECASE)
_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?: ?(?:Z|z|UTC|[+-]\d{2}:?\d{2}))?)?"
)
_MARK = re.compile(r"[,;()\[\]{}]")
_LETTERS = re.compile(r"[^a-z ]+")

_CLASSES = {"1": 0.9, "2": 0.5, "3": 0.1}
BANDS = {"validated": 0.9, "heuristic": 0.5, "speculative": 0.1}
CONFIDENCE = {"highest": 0.9, "high": 0.7, "medium": 0.5, "low": 0.3, "speculative": 0.2}
_PRIORITIES = {
    **dict.fromkeys(("high", "critical", "urgent", "highest"), Priority.HIGH),
    **dict.fromkeys(("medium", "normal", "moderate"), Priority.MEDIUM),
    **dict.fromkeys(("low", "lowest", "minor"), Priority.LOW),
}


def table(*rows: tuple[T, str]) -> dict[str, T]:
    """Return what each word of some rows (value, words) stands for."""
    return {word: value for value, words in rows for word in words.split()}


_THREAD_STATUS = table(
    (
        ThreadStatus.OPEN,
        "open active planned in pending blocked reopen reopened unresolved ongoing todo new paused deferred",
    ),
    (ThreadStatus.RESOLVED, "resolved done closed complete completed answered settled fixed"),
    (ThreadStatus.SUPERSEDED, "superseded"),
    (ThreadStatus.ABANDONED, "abandoned dropped wontfix cancelled canceled obsolete"),
)
DECISION_STATUS = table(
    (DecisionStatus.ACTIVE, "active accepted confirmed final decided approved validated locked"),
    (DecisionStatus.REVISED, "revised"),
    (DecisionStatus.SUPERSEDED, "superseded replaced"),
    (DecisionStatus.INVALIDATED, "invalidated deprecated rejected withdrawn retracted"),
)


def kind_of(local_id: str) -> str:
    """Return D, T or A; of a short id D or T."""
    return local_id.lstrip("O")[0].upper()


def is_none(value: Any) -> bool:
    """Say whether a value says "none" in one of its spellings."""
    return value is None or (
        isinstance(value, str) and re.sub(r"\s*\([^()]*\)$", "", bare(value)[:200]).casefold() in _NONE
    )


def bare(text: str) -> str:
    """Return the text without backticks, quotes, bold marks and blanks around it."""
    return text.strip().strip("`*\"'\u201c\u201d").strip()


def items(value: Any) -> tuple[str, ...]:
    """Return a YAML list, `[a, b]`, `a, b` or `a; b` as its items; every spelling of none is empty."""
    if is_none(value):
        return ()
    if isinstance(value, str):
        inner = value.strip()
        if inner.startswith("[") and inner.endswith("]"):
            inner = inner[1:-1]
        value = _outside_brackets(inner)
    elif isinstance(value, dict):
        value = list(value.values())
    found = (one_line(bare(flat(item))) for item in value)
    return tuple(item for item in found if not is_none(item))


def _outside_brackets(text: str) -> list[str]:
    """Split at commas and semicolons that stand in no bracket; in none at all where one is never closed."""
    parts, depth, start = [], 0, 0
    for match in _MARK.finditer(text):
        if match.group() in "([{":
            depth += 1
        elif match.group() in ")]}":
            depth = max(depth - 1, 0)
        elif depth == 0:
            parts.append(text[start : match.start()])
            start = match.end()
    return re.split(r"[,;]", text) if depth else [*parts, text[start:]]


def flat(value: Any) -> str:
    """Return a value as one text; parts of lists and mappings are joined by commas."""
    if isinstance(value, dict):
        return ", ".join(flat(item) for item in value.values())
    if isinstance(value, list):
        return ", ".join(flat(item) for item in value)
    return str(value)


def prose(value: Any) -> str:
    """Return a value as text; lists become one line for each item."""
    if isinstance(value, list):
        return "\n".join(prose(item) for item in value)
    return flat(value).replace("\x00", "").strip() if not is_none(value) else ""


def references(value: Any) -> tuple[str, ...]:
    """Return the local ids, those behind a tag (`TAG:D003`), short ids and uuids, in order, each once."""
    return tuple(dict.fromkeys(_REFERENCES.findall(flat(value)[:20_000])))


def parse_tier(text: str) -> tuple[float | None, str | None]:
    """Return the tier and, where it was written as a class 1, 2 or 3, the class.

    Raises ValueError for a number outside 0 to 1 and for what is no tier.
    """
    token = bare(text)[:200]
    match = _NUMBER.match(token) or _INSIDE.search(token)
    if match is None:
        word = token.casefold().split()[:1]
        if word and word[0].strip(",;:") in BANDS:
            return BANDS[word[0].strip(",;:")], None
        raise ValueError(f"{token[:40]!r} is not a tier between 0 and 1")
    number = match.group(1).replace(",", ".")
    if number in _CLASSES:
        return _CLASSES[number], number
    if not 0 <= float(number) <= 1:
        raise ValueError(f"the tier {number[:40]} lies outside 0 to 1")
    return float(number), None


def parse_moment(text: str) -> Instant:
    """Read the first ISO date in a text.

    Raises ValueError.
    """
    match = _DATE.search(text[:200])
    return parse_instant(match.group() if match else text)


def word_in(text: str, table: Mapping[str, Any]) -> Any:
    """Return what the table says of the text's first word, or None."""
    words = _LETTERS.sub(" ", text[:200].casefold()).split()
    return next((table[word] for word in words[:1] if word in table), None)


def parse_priority(text: str) -> Priority | None:
    """Return the priority that a word names, or None."""
    found = word_in(text, _PRIORITIES)
    return found if isinstance(found, Priority) else None


def parse_thread_status(text: str) -> tuple[ThreadStatus | None, bool]:
    """Return the status that a text begins with, and whether it says that the thread was reopened."""
    words = " ".join(_LETTERS.sub(" ", text[:200].casefold()).split())
    words = {"wont fix": "wontfix", "won t fix": "wontfix", "not started": "open"}.get(words, words)
    words = words.replace("re open", "reopen", 1) if words.startswith("re open") else words
    return word_in(words, _THREAD_STATUS), words.startswith("reopen") or "re-open" in text[:20].casefold()


def parse_integer(value: Any) -> int | None:
    """Return the number that a value begins with, or None."""
    match = _INTEGER.match(ungrouped(bare(flat(value))[:60]))
    return int(match.group(1)) if match else None


def is_uuid(text: str) -> bool:
    """Say whether a name is a uuid, in any case."""
    return is_id(text.casefold())
