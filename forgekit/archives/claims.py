"""Claims: what one record states about one local id, and the merging of several claims into records.

In: raw values under the names of fields, from every layout (machine block, YAML, heading, item, table row,
sentence). Out: decision, thread and artifact records. Steps: `make_claim` converts each value (one that
cannot be converted becomes a problem, never a guess); `join` merges the claims about one local id, the most
trusted family first; `records` builds the records. The parsers of single values come first.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, TypeVar

from forgekit.archives.labels import (
    ANSWERS,
    BANDS,
    CHOSEN,
    CONFIDENCE,
    KEYS,
    MARKS,
    MONTHS,
    NONE,
    ORDER,
    PREFIXES,
    STATES,
    change_named,
    field_named,
    fold,
    leading,
    letters,
    priority_in,
    priority_of,
)
from forgekit.archives.states import (
    ENDS,
    behind_clause,
    behind_state,
    clear_state,
    first_clause,
    meaning_of,
    new_text,
    state_named,
)
from forgekit.frozen import frozen
from forgekit.ids import match_key
from forgekit.model.archive_record import (
    ArtifactRecord,
    ArtifactVersion,
    DecisionRecord,
    Family,
    PossibleRecord,
    Scope,
    ThreadRecord,
    Update,
)
from forgekit.model.entities import DecisionStatus, Priority, ThreadStatus, band
from forgekit.model.fields import TurnRange
from forgekit.model.problem import Problem, Severity
from forgekit.model.rules import one_line, statement
from forgekit.times import Instant, parse_instant

RECORDS_LIMIT = 20_000
OWN_FIELDS = {
    "D": {"rationale", "tier", "confidence", "alternatives", "dependencies"},
    "T": {"priority", "resolution", "blocked_by"},
}
"""The fields that only records of a kind have."""

_THOUSANDS = re.compile(r"(\[[^\[\]]*\])|(?<=\d),(?=\d{3}(?!\d))")
_RANGE = re.compile(
    r"(?<!\d)(\d{1,9})\s{0,3}(?:-|\u2013|\u2014|,|to|through|bis|\u00e0|a|\u301c|\uff5e|\.\.)\s{0,3}(\d{1,9})(?!\d)"
)


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


# Ids: `D001`, `D1`, `D-001`, `DEC-001`, `Decision 1` are one; an id is kept as it was written

_ACCENTED = str.maketrans(
    {"a": "[a\u00e0-\u00e4]", "e": "[e\u00e8-\u00eb]", "i": "[i\u00ec-\u00ef]", "o": "[o\u00f2-\u00f6]"}
)
_LONG = "|".join(w.translate(_ACCENTED) for w in PREFIXES if len(w) > 3 or not w.isascii())
AND = r"(?:and|und|sowie|et|y|e|en|i|oraz|&|\+)"
"""What stands between two names."""
SHORT = r"(?:dec|thr)_[0-9a-f]{12}"
SHORT_ID = re.compile(rf"(?<![A-Za-z0-9_]){SHORT}(?![A-Za-z0-9_])")
_TO_FILL_IN = re.compile(r"<[^<>:/]+>")
_PART = r"(?:\.(?:\d{1,3}|[A-Za-z])(?![A-Za-z0-9_]|[.,]\d))?"
"""The second part of an id: `Decision 1.A`, `D2.3`."""
_BEFORE_NUMBER = r"(?:OT|DEC|ADR|THR|ART|[DTA])"
_TAG = r"[A-Z][A-Z0-9]{0,60}_[A-Z0-9_]{1,100}"
PLAIN_ID = rf"{_BEFORE_NUMBER}-?\d{{1,6}}[a-z]?{_PART}(?![A-Za-z0-9_])(?!-\d)"
NUMBERED_ID = rf"(?i:{_LONG})\s?#?\d{{1,4}}{_PART}(?![A-Za-z0-9_.])"
ANY_ID = rf"(?:{PLAIN_ID}|{NUMBERED_ID}|{SHORT}(?![A-Za-z0-9_])|[A-Z]{{1,6}}-?\d{{1,5}}(?![A-Za-z0-9_-]))"
_ALONE = re.compile(rf"#?{ANY_ID}")
BEGINS_WITH_ID = re.compile(rf"(?:[^\w\n]|\d{{1,3}}[.)]\s)*({ANY_ID})(?=\W|$)")
"""A line that begins with an id, behind marks and the number of its item."""
BEGINNING = 120
"""Characters of a line in which the id is that it begins with."""
TEXT_NAMES = {"D": "decision", "T": "title", "A": "name"}
"""What the words of a record of each kind are called: the first label of the field `text`."""
REST = {"D": "context", "T": "content", "A": "summary"}
"""The field of each kind that keeps what no other field holds."""
LOCAL_ID = re.compile(rf"{PLAIN_ID}|{NUMBERED_ID}", re.IGNORECASE)
MADE = re.compile(r"O[DT]\d{3,}")
"""An id that the reader gave a record that has none."""
IDS = re.compile(
    rf"(?<![A-Za-z0-9_-])(?:(?:OT|[DTA])\d{{3,6}}[a-z]?|{_BEFORE_NUMBER}-\d{{1,6}})(?![A-Za-z0-9_])(?!-\d)"
)
_REFERENCES = re.compile(
    rf"(?<![A-Za-z0-9_-])(?:(?:{_TAG}:)?{_BEFORE_NUMBER}-?\d{{1,6}}[a-z]?{_PART}"
    rf"|{NUMBERED_ID}|(?!V\d)[^\W\d_]{{1,20}}(?:[-_.#]|\s?(?:n[\u00b0\u00ba.]\s?)?)\d{{1,5}}[a-z]?"
    rf"|[A-Z]{{1,6}}-[A-Z]{{1,4}}-?\d{{1,5}}|[^\W\d_]{{3,20}} (?-i:[A-Z])(?!\w)|{SHORT}"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?![A-Za-z0-9_-])",
    re.IGNORECASE,
)
_AT_END = re.compile(rf"{NUMBERED_ID}$")
_OF_ARCHIVE = re.compile(rf"\b({PLAIN_ID}) (?:[^\W\d_]{{1,5}} |\()({_TAG})\b")
"""`D003 of TAG`, `D003 (TAG)`."""
_AFTER_CJK = re.compile(r"(?<=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])(?=[A-Z][A-Za-z]{0,3}-?\d)")
_NUMBERS = re.compile(r"(?:[\s,;&+/#\[\].]|\d{1,4}(?!\.?\d|%)|and|und|et|y|e|en)+")
_ID_PARTS = re.compile(
    r"#?([^\W\d_]+(?: [^\W\d_]+)?)(?:[\s_.#-]|\bn[\u00b0\u00ba.]|\bnr\.?|\u2116)*?0*"
    r"(\d+|(?<=\s)[A-Z]|(?<=\s)[IVX]+)([a-z]?)(\.\w{1,3})?",
    re.IGNORECASE,
)
_WIDE = {0xFF01 + offset: 0x21 + offset for offset in range(94)} | {0x3000: 0x20}
_BESIDE = 2  # words beside an id that say nothing more: "and", "to end"
_IS_WIDE = re.compile("[\u3000\uff01-\uff5e]")


def ascii_of(text: str) -> str:
    """Return a text with ASCII in the place of full-width forms."""
    return text.translate(_WIDE) if not text.isascii() and _IS_WIDE.search(text) else text


@lru_cache(maxsize=4096)
def key_of(local_id: str) -> str:
    """Return the key under which the spellings of one local id meet: `D1` of `D001` and `Decision 1`."""
    plain = ascii_of(local_id)
    match = None if SHORT_ID.fullmatch(plain) else _ID_PARTS.fullmatch(plain.strip())
    if match is None:
        return plain
    prefix = letters(match[1])
    behind = f"{match[3]}{match[4] or ''}".casefold()
    return f"{PREFIXES.get(prefix, prefix.upper())}{match[2]}{behind}"


_LISTED = re.compile(r"\s*[,;/&+]\s*")
_AROUND = " #.,;:()[]\"'`"


def keys_in(text: str, keys: Collection[str]) -> list[str]:
    """Return those keys of ids that are words of a text: a letter alone in it, a number at its end."""
    parts = [key_of(part.strip(_AROUND)) for part in _LISTED.split(text)]
    if all(part in keys for part in parts):
        return parts
    *words, last = [word.strip(_AROUND) for word in text.split()] or [""]
    likely = [word for word in words if len(word) > 1 and not word.isdigit()]
    likely += [last] if len(last) > 1 or not words or last.isdigit() else []
    return [key for key in map(key_of, likely) if key in keys]


@lru_cache(maxsize=4096)
def kind_of(local_id: str) -> str:
    """Return D, T or A; of a short id D or T; "" of an id that does not say."""
    plain = ascii_of(local_id)
    if SHORT_ID.fullmatch(plain):
        return plain[0].upper()
    match = _ID_PARTS.fullmatch(plain.strip())
    prefix = PREFIXES.get(letters(match[1]), "") if match else ""
    return "D" if match and match[1] == "OD" else prefix[-1:]


def series_of(local_id: str) -> tuple[str, int] | None:
    """Return the series of an id and its number in it: `E`, 6 of `E6`; None of an id without both."""
    match = re.fullmatch(r"(\D+)(\d+)[a-z]?", key_of(local_id))
    return (match[1], int(match[2])) if match else None


_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,2})([^\s*](?:[^*\n]*[^\s*])?)\1(?![\w*])")
_NUMBER = re.compile(
    r"(?:tier\s*)?(?P<n>[-+]?(?:\d{1,20}(?:[.,]\d{1,20})?|[.,]\d{1,20}))(?![\w.])\s*"
    r"(?P<of>%|(?:/|(?:out )?of|von|de|di|su|sur|van|z|av|af|\u0438\u0437)\s*\d{1,3}(?!\d))?",
    re.IGNORECASE,
)
_STARS = re.compile(r"([\u2605\u2b50\u25cf\u25a0]+)([\u2606\u25cb\u25a1]*)(?=\W*$|\s)")
ONLY_STARS = re.compile(r"[\u2605\u2b50]+[\u2606]*|[\u25cf\u25a0]+[\u25cb\u25a1]+")
"""A rating in stars, or in dots of which some are empty."""
_INSIDE = re.compile(r"[(\[]\s*(?P<n>[-+]?(?:\d{1,20}(?:[.,]\d{1,20})?|\.\d{1,20}))\s*(?P<of>%)?\s*[)\]]")
_INTEGER = re.compile(r"(?:turns?\s*)?#?(\d{1,9})(?!\d)", re.IGNORECASE)
_DATE = re.compile(
    r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)"
    r"(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?: ?(?:Z|z|UTC|[+-]\d{2}:?\d{2}))?)?"
)
_DAY_MONTH = re.compile(
    r"(?<!\d)(\d{1,2})(?:st|nd|rd|th|er|\.|\u00ba)?\s+(?:de\s+|of\s+)?([^\W\d_]{3,12})\.?,?\s+(?:de\s+|del\s+)?(\d{4})(?!\d)"
)
_MONTH_DAY = re.compile(r"([^\W\d_]{3,12})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})(?!\d)")
_YEAR_FIRST = re.compile(
    r"(?<!\d)(\d{4})\s*(?:[./-]|[\u5e74\ub144])\s*(\d{1,2})\s*(?:[./-]|[\u6708\uc6d4])\s*(\d{1,2})(?!\d)"
)
_DAY_FIRST = re.compile(r"(?<!\d)(\d{1,2})\s?([./-])\s?(\d{1,2})\s?[./-]\s?(\d{4})(?!\d)")
_MARK = re.compile(
    r"(?!(?<=\d)(?:(?<!\d{3}),\d{3}|,\d{2})(?!\d))[\n,;()\[\]{}\uff0c\u3001\uff1b\u060c\u061b\uff08\uff09]"
)
SEMICOLONS = ";\uff1b\u061b\n"
"""What parts the items of a list that may hold commas."""
_LETTERS = re.compile(r"[^a-z ]+")
_NO = ("no", "\u043d\u0435\u0442")
"""Spellings of none that answer a question."""
_CLASSES = {"1": 0.9, "2": 0.5, "3": 0.1}
_OPEN, _SHUT = "([{\uff08", ")]}\uff09"


def is_none(value: Any) -> bool:
    """Say whether a value is a spelling of "none"."""
    if not isinstance(value, str):
        return value is None
    text = ascii_of(bare(value)[:200])
    plain = re.sub(r"\s*\([^()]*\)$", "", text) if text.endswith(")") else text
    return plain.casefold().rstrip(".") in NONE


_MARKS = f"`*{string.whitespace}\u00a0\u3000"
_QUOTES = frozenset("\"'\u201c\u201d\u201e\u00ab\u00bb")


def bare(text: str) -> str:
    """Return the text without backticks, quotes, bold marks and blanks around it."""
    if text.count("*") > 1:
        text = _EMPHASIS.sub(r"\2", text)
    text = text.strip(_MARKS)
    while len(text) > 1 and {text[0], text[-1]} <= _QUOTES and text[0] not in text[1:-1]:
        text = text[1:-1].strip(_MARKS)
    if sum(map(text.count, _QUOTES)) == 1:  # its other one was cut off
        text = text.strip("".join(_QUOTES)).strip(_MARKS)
    return text


def items(value: Any, *, prefer: str = "") -> tuple[str, ...]:
    """Return a list, `[a, b]`, `a, b` or `a; b` as items; a mark of `prefer` is the only one if it occurs."""
    if is_none(value):
        return ()
    if isinstance(value, str):
        inner = value.strip()
        if inner.startswith("[") and inner.endswith("]"):
            inner = inner[1:-1]
        parts = _outside_brackets(inner)
        if prefer and any(mark and mark in prefer for _, mark in parts):
            parts = [(part, mark) for part, mark in _outside_brackets(inner, prefer)]
        value = [part for part, _ in parts]
    elif isinstance(value, dict):
        value = list(value.values())
    found = (one_line(bare(flat(item)).removeprefix("- ")) for item in value)
    return tuple(item for item in found if not is_none(item))


def _outside_brackets(text: str, marks: str = f",\uff0c\u3001\u060c{SEMICOLONS}") -> list[tuple[str, str]]:
    """Split at marks outside brackets, each part with its mark; at all marks if a bracket stays open."""
    parts, depth, start = [], 0, 0
    for match in _MARK.finditer(text):
        if match.group() in _OPEN:
            depth += 1
        elif match.group() in _SHUT:
            depth = max(depth - 1, 0)
        elif depth == 0 and match.group() in marks:
            parts.append((text[start : match.start()], match.group()))
            start = match.end()
    if depth:
        return [(part, "") for part in re.split(f"[{marks}]", text)]
    return [*parts, (text[start:], "")]


def flat(value: Any) -> str:
    """Return a value as one text; parts of lists and mappings are joined by commas."""
    if isinstance(value, dict):
        return ", ".join(flat(item) for item in value.values())
    if isinstance(value, list):
        return ", ".join(flat(item) for item in value)
    return str(value)


def text_of(value: Any) -> str:
    """Return a value as text; lists become one line for each item."""
    if isinstance(value, list):
        return "\n".join(text_of(item) for item in value)
    return flat(value).replace("\x00", "").strip() if not is_none(value) else ""


def references(value: Any) -> tuple[str, ...]:
    """Return the local ids, those behind a tag (`TAG:D003`), short ids and uuids, in order, each once."""
    text = _AFTER_CJK.sub(" ", _OF_ARCHIVE.sub(r"\2:\1", ascii_of(flat(value)[:20_000])))
    found = re.findall(r"\d{1,4}", text) if _NUMBERS.fullmatch(text) else _REFERENCES.findall(text)
    words = (_AT_END.search(each) if not each.isascii() else None for each in found)  # `\u7531\u51b3\u5b9a7`
    return tuple(dict.fromkeys(word[0] if word else each for each, word in zip(found, words, strict=True)))


def parse_tier(text: str) -> tuple[float | None, str | None]:
    """Return the tier and, where it was written as a class 1, 2 or 3, the class.

    Raises ValueError for a number outside 0 to 1 and for what is no tier.
    """
    token = bare(ascii_of(text))[:200].rstrip(".")
    if stars := _STARS.match(token):
        return len(stars[1]) / (len(stars[1] + stars[2]) if stars[2] else max(len(stars[1]), 5)), None
    match = _NUMBER.match(token) or _INSIDE.search(token)
    if match is None:
        value, _ = leading(token, BANDS)
        if value is not None:
            return value, None
        raise ValueError(f"{token[:40]!r} is not a tier between 0 and 1")
    number = match["n"].replace(",", ".")
    if share := match["of"]:
        whole = 100.0 if share == "%" else float(re.findall(r"\d+", share)[0])
        whole = 100.0 if float(number) == whole == 50 else whole  # fifty-fifty
        return (float(number) / whole, None) if 0 <= float(number) <= whole > 0 else _outside(token)
    if number in _CLASSES:
        return _CLASSES[number], number
    if 10 < float(number) <= 100:  # a percentage without its sign
        return float(number) / 100, None
    return (float(number), None) if 0 <= float(number) <= 1 else _outside(number)


def _outside(number: str) -> tuple[float | None, str | None]:
    raise ValueError(f"the tier {number[:40]} lies outside 0 to 1")


def parse_moment(text: str, *, day_first: bool = False) -> Instant:
    """Read the first date in a text, in the forms people write; `day_first` decides what 03/04/2026 means.

    Raises ValueError, also for 03/04/2026 without `day_first`.
    """
    head = ascii_of(text[:200])
    match = _DATE.search(head)
    if match:
        return parse_instant(match.group())
    folded = letters(head)
    if match := _YEAR_FIRST.search(folded):
        year, month, day = map(int, match.groups())
    elif (
        (match := _DAY_FIRST.search(folded))
        and match[2] == "/"
        and not day_first
        and int(match[1]) <= 12 >= int(match[3]) != int(match[1])
    ):
        raise ValueError(f"{match.group()!r} may mean two days")
    elif match:
        day, month, year = int(match[1]), int(match[3]), int(match[4])
        day, month = (month, day) if month > 12 else (day, month)
    else:
        year, month, day = _spelled_out(folded)
    return parse_instant(f"{year:04}-{month:02}-{day:02}" if year else text)


def is_moment(text: str, *, day_first: bool = False) -> bool:
    """Say whether `parse_moment` reads a text."""
    with suppress(ValueError):
        parse_moment(text, day_first=day_first)
        return True
    return False


def _spelled_out(text: str) -> tuple[int, int, int]:
    """Return the first date with the name of a month: year, month, day; zeros if there is none."""
    for pattern, order in ((_DAY_MONTH, (3, 2, 1)), (_MONTH_DAY, (3, 1, 2))):
        for match in pattern.finditer(text):
            year, name, day = (match[group] for group in order)
            months = {n for n, names in enumerate(MONTHS, 1) if any(each.startswith(name) for each in names)}
            if len(months) == 1:
                return int(year), months.pop(), int(day)
    return 0, 0, 0


def parse_priority(text: str, *, ranked: bool = False) -> Priority | None:
    """Return the priority that a text names, or None; with `ranked` the letters A, B and C are such."""
    rank = _RANKED.match(bare(text)) if ranked else None
    return _RANKS[rank[1]] if rank else priority_in(bare(text))


_RANKED = re.compile(r"([ABC])(?=\W*$|[,;.)\]])")
_RANKS = {"A": Priority.HIGH, "B": Priority.MEDIUM, "C": Priority.LOW}


_FILLING = re.compile(r"(?:still|now|already|noch|encore|aun|todavia)\s+", re.IGNORECASE)


def parse_thread_status(text: str) -> tuple[ThreadStatus | None, bool]:
    """Return the status that a text begins with, and whether the thread was reopened."""
    head = text[:200].casefold()
    words = " ".join(_LETTERS.sub(" ", head).split()) if "open" in head else ""
    plain = _FILLING.sub("", text.lstrip(" *`_[(\"'"), count=1)
    if words.startswith("re open"):
        plain = plain.replace("-", "", 1).replace(" ", "", 1)
    found, _ = leading(plain, STATES["T"])
    found = found or next((MARKS[c] for c in text[:40] if c in MARKS), None)
    status = found if isinstance(found, ThreadStatus) else None
    return status, words.startswith(("reopen", "re open")) or "re-open" in text[:20].casefold()


def parse_decision_status(text: str) -> DecisionStatus | None:
    """Return the status that a text begins with, or that its mark shows."""
    found, _ = leading(text.lstrip(" *`_[(\"'"), STATES["D"])
    if found is None and not text.isascii():  # an id may stand among the signs of a word
        found, _ = leading(_REFERENCES.sub("", text), STATES["D"])
    if found is None:
        mark = next((MARKS[c] for c in text[:40] if c in MARKS), None)
        found = DecisionStatus.INVALIDATED if mark is ThreadStatus.ABANDONED else found
    return found if isinstance(found, DecisionStatus) else None


def parse_status(text: str, kind: str) -> DecisionStatus | ThreadStatus | None:
    """Return the status of a record of a kind that a text begins with."""
    return parse_decision_status(text) if kind == "D" else parse_thread_status(text)[0]


def parse_integer(value: Any) -> int | None:
    """Return the number that a value begins with, or None."""
    match = _INTEGER.match(ungrouped(bare(flat(value))[:60]))
    return int(match.group(1)) if match else None


@dataclass(kw_only=True, slots=True)
class Claim:
    """What one record states: `values` holds converted fields under the attribute names of the record.

    Decision text, thread title and artifact name are all `text`; `kind` is D, T or A.
    """

    local_id: str
    line: int
    family: Family
    kind: str
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def references(self) -> tuple[str, ...]:
        """Local ids that its fields name."""
        names = [
            name for key in ("dependencies", "blocked_by", "revises") for name in self.values.get(key, ())
        ]
        names.append(self.values.get("superseded_by", ""))
        return tuple(name for name in names if LOCAL_ID.fullmatch(name))


Unnumbered = tuple[int, str, dict[str, Any], Any]
"""Line, kind, raw fields and number of a record without an id, under a label."""


@dataclass(kw_only=True, slots=True)
class ClaimList:
    """What the readers of all layouts have found so far.

    Attributes:
        carried: claims of `inherited_context`.
        unnumbered: records without an id.
        documents: every YAML mapping, for the metadata in it.
        possible: what may be records and waits for a person.
        updates: what data states became of a parent's records.
        tagged: ids of the records of which the tagger read something.
        data: the YAML or JSON that is read now.
        codes: words of that and the priorities that they stand for.
    """

    claims: list[Claim] = field(default_factory=list)
    carried: list[Claim] = field(default_factory=list)
    unnumbered: list[Unnumbered] = field(default_factory=list)
    documents: list[Mapping[str, Any]] = field(default_factory=list)
    possible: list[PossibleRecord] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)
    tagged: list[str] = field(default_factory=list)
    data: str = ""
    codes: Mapping[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def warn(self, code: str, message: str, line: int | None, fix: str = "") -> None:
        """Add a warning."""
        self.problems.append(
            Problem(code=code, message=message, line=line, fix=fix, severity=Severity.WARNING)
        )


def _is_refused(found: ClaimList, raw: Mapping[str, Any], line: int, claims: Sequence[Claim]) -> bool:
    """Say whether a record is a template, whose text is a place to fill in, or one too many."""
    if len(claims) >= RECORDS_LIMIT:
        if not any(problem.code == "too-many-records" for problem in found.problems[-1:]):
            message = f"more than {RECORDS_LIMIT:,} records; the rest was left out"
            found.warn("too-many-records", message, line)
        return True
    return _TO_FILL_IN.fullmatch(bare(text_of(raw.get("text", "")))) is not None


def make_claim(
    found: ClaimList,
    local_id: str,
    raw: Mapping[str, Any],
    line: int,
    family: Family,
    *,
    kind: str = "",
    carried: bool = False,
) -> Claim | None:
    """Convert one record, and add its claim and a problem for each value that cannot be converted."""
    claims = found.carried if carried else found.claims
    if _is_refused(found, raw, line, claims):
        return None
    claim = Claim(local_id=local_id, line=line, family=family, kind=kind or kind_of(local_id))
    for target, value in raw.items():
        is_text = target in ("context", "content")
        if is_text or claim.values.get(target) in (None, "", ()):
            try:
                converted = _CONVERT.get(target, _line_or_text)(claim, target, value)
            except _UnreadableValueError as e:
                found.warn(e.code, f"{claim.local_id}: {e}", line, e.fix)
                _keep(claim, target.capitalize(), text_of(value))
                continue
            if is_text and claim.values.get(target):  # words that another field left there
                converted = f"{converted or ''}\n{claim.values[target]}".strip()
            if converted is not None:
                claim.values[target] = converted
    _take_new_words(claim, bare(flat(raw.get("status", ""))))
    if claim.kind == "T" and "status" not in claim.values and (answer := claim.values.get("resolution")):
        claim.values["status"] = _state_of_answer(answer)
    if claim.values.get("inherited_from"):
        claim.values.setdefault("scope", Scope.INHERITED)
    claims.append(claim)
    return claim


def _state_of_answer(answer: str) -> ThreadStatus:
    """Return the state of a thread that has an answer: resolved, unless that is such as `pending`."""
    status = parse_thread_status(answer)[0]
    is_open = status is ThreadStatus.OPEN or (
        status is None and state_named(re.split(r"[,;:.]", answer, maxsplit=1)[0], "T") in ("open", "blocked")
    )
    return ThreadStatus.OPEN if is_open else ThreadStatus.RESOLVED


def _take_new_words(claim: Claim, state: str) -> None:
    """Give a decision the words that its state gives it: `Revised: Use PostgreSQL 17`."""
    values = claim.values
    if values.get("status") is DecisionStatus.REVISED and not values.get("superseded_by"):
        new = statement(new_text(state, "D"))
        if new and change_named(new.split()[0]) != "before":  # `Revised - was 12 retries`
            _keep(claim, "Was", str(values.get("text", "")))
            values |= {"text": new, "status": DecisionStatus.ACTIVE, "reworded": True}


_STATED = re.compile(
    r"[\W_]*(?P<state>[^\W\d_][^:\u2013\u2014-]{2,24}?)\s*(?::|\s[\u2013\u2014-])\s+(?P<text>\S.*)"
)
_BETWEEN = dict.fromkeys(("alternatives", "dependencies", "blocked_by", "tags", "governs"), "; ")
_BETWEEN |= dict.fromkeys(("rationale", "content", "context", "resolution"), "\n")
"""The fields of which a record may have several values, and what parts these."""


def both(name: str, first: Any, other: Any) -> Any:
    """Return the value of a field that is given twice: both where it may have several, else the first."""
    if name not in _BETWEEN or flat(first) == flat(other):
        return first
    return f"{flat(first)}{_BETWEEN[name]}{flat(other)}"


SCALE = re.compile(r"[(\[]\s*[01]\s*(?:-|\u2013|to|bis|a|\u00e0)\s*(\d{1,3})\s*[)\]]\W*$")
"""The end of a label that gives the scale of its values: `Confidence (1-5)`."""


def _scaled(pairs: Iterable[tuple[str, Any]], kind: str) -> Iterator[tuple[str, Any]]:
    """Yield labelled values; a number below a label with a scale is of that: `3/5`."""
    for label, value in pairs:
        scale = SCALE.search(label) if field_named(label, kind) in ("tier", "confidence") else None
        number = flat(value).strip()
        yield label, f"{number}/{scale[1]}" if scale and number.isdigit() else value


def named_fields(pairs: Collection[tuple[str, Any]], kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return labelled values under the names of their fields, and those whose label is not known.

    If two labels name one field, the first one in the table of labels counts; lists and prose are joined.
    """
    known: dict[str, Any] = {}
    rank: dict[str, int] = {}
    unknown: dict[str, Any] = {}
    texts = [label for label, value in pairs if field_named(label, kind) == "text" and text_of(value)]
    titled = bool(texts)
    for label, value in _scaled(pairs, kind):
        name = field_named(label, kind)
        if kind == "T" and name == "text" and len(texts) > 1 and fold(label) in ANSWERS:
            name = "resolution" if _has_ended(pairs) else "content"
        if kind == "T" and name == "content" and not titled and fold(label) == "description":
            name, titled = "text", True
        if isinstance(value, list) and name in (None, "rationale", "context"):
            name = _name_of_list(label, value, kind) or name
        if name == "context":
            name = REST[kind]
        if name is None and kind == "D" and _RATES.fullmatch(bare(flat(value))):
            name = "confidence"
        if name is None:
            unknown.setdefault(label, value)
            continue
        place = ORDER[kind].get(fold(label), 0)
        if name in _BETWEEN and not is_none(known.get(name)) and not is_none(value):
            known[name] = both(name, known[name], value)
        elif name not in known or is_none(known[name]) or (place < rank[name] and not is_none(value)):
            known[name], rank[name] = value, place
    known.pop("ignored", None)
    return known, unknown


def _has_ended(pairs: Iterable[tuple[str, Any]]) -> bool:
    """Say whether the labelled values of a thread give it a state that is an end."""
    states = (parse_thread_status(flat(v))[0] for label, v in pairs if field_named(label, "T") == "status")
    return any(state is not None and state.ended for state in states)


def _name_of_list(label: str, values: Sequence[Any], kind: str) -> str | None:
    """Return the field that a list in data gives by its values, or by a label that is an end: `recusado`."""
    texts = [bare(text_of(value)) for value in values]
    if texts and all(_ALONE.fullmatch(ascii_of(text)) for text in texts):
        return {"D": "dependencies", "T": "blocked_by"}.get(kind)
    is_end = parse_decision_status(label) is DecisionStatus.INVALIDATED
    is_end = is_end or clear_state(label, "D") == DecisionStatus.INVALIDATED.value
    return "alternatives" if kind == "D" and is_end and texts else None


def _names_earlier(label: str, value: Any, local_id: str) -> bool:
    """Say whether a value is ids alone of a record's series before it, behind a label that gives no end."""
    own = series_of(local_id)
    parts = [bare(part).rstrip(".") for part in re.split(r"[,;]\s*", value)] if isinstance(value, str) else []
    places = [series_of(part) if _ALONE.fullmatch(ascii_of(part)) else None for part in parts]
    is_end = parse_decision_status(label) is not None or clear_state(label, "D") or change_named(label)
    is_earlier = all(own and place and place[0] == own[0] and place[1] < own[1] for place in places)
    return bool(parts) and is_earlier and not is_end


_RATES = re.compile(r"(?:[^\W\d_]+[ -]){1,3}[(\[](?:0[.,]\d{1,2}|\d{1,3} ?%)[)\]]")
"""A value that is a tier whatever its label: `established (0.93)`."""


def not_known(label: str, local_id: str = "") -> str:
    """Return how the message begins that a label of a record is not known."""
    return f"{local_id}{': ' if local_id else ''}the label {label[:40]!r} is not known"


def keep_unknown(
    found: ClaimList, local_id: str, unknown: Mapping[str, Any], raw: dict[str, Any], kind: str, line: int
) -> None:
    """Keep labelled values that are not understood in the record's text, and report them.

    Where a record has no text, the last of those that are states is its own: of `Was` and `Now` the second.
    """
    rest = REST[kind]
    named = one_line(bare(text_of(raw.get("text", ""))))
    if kind in ("D", "T") and not raw.get("status") and (not named or _is_state(named, kind)):
        states = {label: v for label, v in unknown.items() if _is_state(one_line(bare(text_of(v))), kind)}
        if states:
            raw |= {"status": list(states.values())[-1], "text": ""}
            unknown = {label: value for label, value in unknown.items() if label not in states}
    for label, value in unknown.items():
        state = one_line(bare(text_of(value)))
        if (
            kind in ("D", "T")
            and not raw.get("status")
            and change_named(label) == "now"
            and _is_state(state, kind)
        ):
            raw["status"] = state
        elif kind == "D" and not raw.get("dependencies") and _names_earlier(label, value, local_id):
            raw["dependencies"] = value
        elif text := text_of(value):
            raw[rest] = f"{text_of(raw.get(rest, ''))}\n- {label}: {text}".strip()
            message = f"{not_known(label, local_id)}; its line was kept in the record's text"
            found.warn("unknown-label", message, line or None)


def _is_state(text: str, kind: str) -> bool:
    return text != "" and (parse_status(text, kind) is not None or state_named(text, kind) != "")


class _UnreadableValueError(ValueError):
    """A value that cannot be converted; `code` and `fix` are those of its problem."""

    def __init__(self, code: str, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.fix = fix


# A converter takes the claim, the attribute's name and the raw value; None for an empty value.


def _line_or_text(_claim: Claim, target: str, value: Any) -> Any:
    text = text_of(value)
    if target == "text":
        text = statement(bare(text))
    elif target in ("full_context_ref", "entity", "status"):
        text = one_line(bare(text))
    return text or None


def _answer(_claim: Claim, _target: str, value: Any) -> str | None:
    is_no = isinstance(value, str) and bare(value).rstrip(".").casefold() in _NO
    return str(value).strip() if is_no else text_of(value) or None


def _tier(claim: Claim, _target: str, value: Any) -> Any:
    if is_none(value):
        return None
    text = flat(value)
    try:
        tier, token = parse_tier(text)
    except ValueError as e:
        tier, token = leading(text, CONFIDENCE)[0], None
        if tier is None:
            claim.values["tier_refused"] = True
            raise _UnreadableValueError("bad-tier", str(e), "write a tier between 0 and 1") from None
    if token:
        claim.values["tier_token"] = token
    _keep_words(claim, "Tier", text)
    return tier


def _keep_words(claim: Claim, label: str, text: str) -> None:
    """Keep a value in the record's text if it holds more than the word or number that was read."""
    if len(re.findall(r"[^\W\d_]{2,}", text)) > 3:
        _keep(claim, label, one_line(text))


def _keep(claim: Claim, label: str, text: str) -> None:
    rest = REST[claim.kind]
    claim.values[rest] = f"{claim.values.get(rest) or ''}\n{label}: {text}".strip()


def _confidence(claim: Claim, _target: str, value: Any) -> Any:
    text = bare(flat(value))
    found = None if _NUMBER.match(text) or _INSIDE.search(text) else leading(text, CONFIDENCE)[0]
    if found is None and not is_none(value):
        return _tier(claim, "tier", value)
    return found


def _status(claim: Claim, target: str, value: Any) -> Any:
    text = bare(flat(value))
    if is_none(text):
        return None
    if claim.kind == "A":
        return _line_or_text(claim, target, value)
    ids = [each for each in references(text) if kind_of(each) or " " not in each]  # `phase 2` is no record
    status = (_thread_status if claim.kind == "T" else _decision_status)(claim, text, ids)
    if status is None:
        raise _UnreadableValueError("unknown-status", f"{text[:40]!r} is not a known status")
    more = leading(text, STATES[claim.kind])[1]
    if (
        not ids
        and claim.values.keys().isdisjoint({"resolution", "waits_for"})
        and len(re.findall(r"[^\W\d_]+", more)) > 1
    ):
        _keep(claim, "Status", text)
    return status


def _thread_status(claim: Claim, text: str, ids: Sequence[str]) -> ThreadStatus | None:
    """Return the status that a text begins with, and note what follows it."""
    status, reopened = parse_thread_status(text)
    if status is None and (meaning := meaning_of(text, "T", is_state=True)):
        status, reopened = _thread_status_of(meaning)
    claim.values |= {"reopened": True} if reopened else {}
    if status is ThreadStatus.OPEN and ids and field_named(_head(text), "T") == "blocked_by":
        claim.values["blocked_by"] = ids
    elif status is ThreadStatus.OPEN and not ids and (cause := _awaited(text)):
        claim.values = {"blocked_by": (), "waits_for": (cause,)} | claim.values
    elif status is not None and status.ended and (rest := _behind_status(text)):
        claim.values.setdefault("resolution", rest)
    elif status is ThreadStatus.SUPERSEDED and ids:
        claim.values.setdefault("resolution", one_line(text))
    return status


_IN_FORCE = ("active", "reinstated")


def _decision_status(claim: Claim, text: str, ids: Sequence[str]) -> DecisionStatus | None:
    """Return the status that a text begins with, and note what it replaces or what replaced it."""
    status = parse_decision_status(text)
    doubtful = status in (None, DecisionStatus.ACTIVE) or (status is DecisionStatus.INVALIDATED and ids)
    meaning = meaning_of(text, "D", is_state=True) if doubtful else None
    if meaning == "reinstated":
        claim.values["reinstated"] = True
    if meaning == "superseded" and status is not DecisionStatus.ACTIVE:
        status = DecisionStatus.SUPERSEDED
    elif status is None and meaning is not None:
        in_force = meaning in ("revised", *_IN_FORCE)
        status = DecisionStatus.ACTIVE if in_force else DecisionStatus(meaning)
    is_change = status in (DecisionStatus.SUPERSEDED, DecisionStatus.REVISED) or meaning in _IN_FORCE
    if ids and is_change and _names_old(claim, text, ids[0]):
        claim.values["revises"] = ids
        return DecisionStatus.ACTIVE
    if status in (DecisionStatus.SUPERSEDED, DecisionStatus.REVISED):
        claim.values |= {"superseded_by": ids[0]} if ids else {}
        claim.values["status words"] = text
    elif status is DecisionStatus.ACTIVE and (old := _old_ids(text)):
        claim.values["revises"] = old
    elif status is DecisionStatus.ACTIVE and (words := _old_words(text)):
        claim.values |= {"revises words": words, "superseded_by words": ""}
    return status


def _names_old(claim: Claim, text: str, name: str) -> bool:
    """Say whether a state names what its record replaces: by a verb, else by an earlier id of the series."""
    label, own, old = field_named(_head(text), "D"), series_of(claim.local_id), series_of(name)
    is_earlier = own is not None and old is not None and own[0] == old[0] and old[1] < own[1]
    return label == "revises" or (parse_decision_status(text) is None and is_earlier)


def _old_ids(text: str) -> Sequence[str]:
    """Return the ids behind a label that names what a decision replaces: `active; supersedes D002`."""
    clauses = (part.strip() for part in re.split(r"[;,.(]", text)[1:])
    found = (references(part) for part in clauses if field_named(_head(part), "D") == "revises")
    return next(found, ())


def _old_words(text: str) -> str:
    """Return the words behind a label that names what a decision replaces: `active, replaces "Send it"`."""
    for clause in re.split(r"[;,.(]\s*", text):
        words = clause.split()
        for count in (2, 1):
            if field_named(" ".join(words[:count]), "D") == "revises":
                return " ".join(words[count:])
    return ""


def _head(text: str) -> str:
    """Return the words before the first id of a text."""
    match = _REFERENCES.search(text)
    words = text[: match.start()] if match else text
    return " ".join(re.findall(r"[^\W\d_]+", words)[-2:])


def _awaited(text: str) -> str:
    """Return what a state says a thread waits for: `blocked (waiting for the bank)`."""
    name, rest = leading(text, KEYS["T"])
    if name != "blocked_by":
        return ""
    words = rest.strip(" .:,;()\uff08\uff09\u2013\u2014-")
    return one_line(_awaited(words) or words)


_WHEN_WORDS = 4
"""The most words of when a thread ended."""


def _behind_status(text: str) -> str:
    """Return what is behind the word of a status: `Resolved - glass`, `done (see D002)`."""
    rest = leading(text, STATES["T"])[1].lstrip("*_`")
    if not re.match(r"\s+-|\s*[:,;(\u2013\u2014\uff1a]", rest):
        when, _, rest = rest.partition(", ")  # `done on 4 November, in the audit account`
        return one_line(rest) if len(when.split()) <= _WHEN_WORDS else ""
    rest = rest.strip().lstrip("-:,;\u2013\u2014\uff1a ")
    return one_line(rest[1:-1] if rest[:1] == "(" and rest[-1:] == ")" else rest)


def _scope(_claim: Claim, _target: str, value: Any) -> Any:
    text = fold(flat(value))
    if text.startswith("inherited"):
        return Scope.INHERITED
    return Scope.OWN if text.startswith(("this", "own", "current")) else None


def _timestamp(_claim: Claim, _target: str, value: Any) -> Any:
    try:
        return None if is_none(value) else parse_moment(flat(value))
    except ValueError as e:
        raise _UnreadableValueError("bad-time", str(e)) from None


def _named(claim: Claim, target: str, value: Any) -> Any:
    """Return what may be ids in a value; its words count until it is known which records there are."""
    if isinstance(value, str) and is_none((parts := _BAR.split(value, maxsplit=1))[0]):
        if more := one_line(bare("".join(parts[1:]))):
            _keep(claim, target.capitalize(), f"none; {more}")
        return ()
    if not is_none(value) and items(value):
        claim.values[f"{target} words"] = one_line(flat(value))
    return references(value)


def _paths(claim: Claim, value: Any) -> tuple[str, ...]:
    """Return the path patterns in a value; one that holds anything else is kept in the record's text."""
    parts = [part.strip("`'\" ") for part in re.split(r"[,;\n]", flat(value)) if part.strip("`'\" -")]
    found = tuple(part for part in parts if _PATH.fullmatch(part) and ".." not in part.split("/"))
    if len(found) < len(parts) and not is_none(value):
        _keep(claim, "Applies to", one_line(text_of(value)))
    return found


def _blockers(claim: Claim, _target: str, value: Any) -> Any:
    """Return what may be ids of threads; the parts that may be words wait until the records are known."""
    parts = items(value) if isinstance(value, list) else re.split(f"[{SEMICOLONS}]", bare(flat(value)))
    named = ([each for each, _ in _outside_brackets(p)] if references(p) else [p] for p in parts)
    words = (one_line(part) for group in named for part in group)
    claim.values["waits_for"] = tuple(part for part in words if not is_none(part))
    return references(value)


def _priority(claim: Claim, _target: str, value: Any) -> Any:
    priority = parse_priority(flat(value), ranked=True)
    if priority is None and not is_none(value):
        raise _UnreadableValueError("unknown-priority", f"{flat(value)[:40]!r} is not a priority")
    _keep_words(claim, "Priority", flat(value))
    return priority


def _alternatives(_claim: Claim, _target: str, value: Any) -> Any:
    if isinstance(value, list):
        found = (_alternative(item) for item in value if not is_none(item))
        return tuple(each for each in found if each and not _is_chosen(each))
    none, *more = flat(value).casefold().split() or [""]
    if none in NONE and len(none) > _ANSWERS and len(more) == 1:  # none discussed
        return ()
    return tuple(i.rstrip(".") for i in items(value, prefer=SEMICOLONS) if not _is_chosen(i))


def _is_chosen(option: str) -> bool:
    """Say whether an option is marked as the one that was taken."""
    match = _IN_BRACKETS.search(option)
    return match is not None and fold(match[1]) in CHOSEN


_IN_BRACKETS = re.compile(r"[(\[\uff08]([^()\[\]\uff08\uff09]{2,20})[)\]\uff09]$")
_ANSWERS = 2  # letters of a word that answers a question
_BAR = re.compile(r"\s[|\u00b7\u2022](?=\s)")
_OPTION = ("option", "name", "alternative", "title")


def _alternative(item: Any) -> str:
    if not isinstance(item, dict):
        return one_line(bare(flat(item)))
    name = next((key for key in _OPTION if key in item), next(iter(item), ""))
    if len(item) == 1 and name not in _OPTION:  # `Trimble: too expensive`
        return one_line(f"{name}: {text_of(item[name])}")
    option = one_line(text_of(item.get(name)))
    more = "; ".join(filter(None, (one_line(text_of(value)) for key, value in item.items() if key != name)))
    return f"{option} ({more})" if option and more else option or more


def _versions(_claim: Claim, _target: str, value: Any) -> Any:
    rows = [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
    return tuple(
        ArtifactVersion(
            version=one_line(text_of(row.get("version"))) or str(number),
            turn=parse_integer(row.get("created_turn", row.get("turn", ""))),
            status=one_line(text_of(row.get("status"))),
            changes=text_of(row.get("changes_from_previous")),
            content=str(row.get("content", "")) if isinstance(row.get("content", ""), str) else "",
        )
        for number, row in enumerate(rows, 1)
    )


_PATH = re.compile(r"(?=.*[/.*])[\w.*][\w./*?@+\[\]-]{1,200}")
"""A path or pattern below the top of a repository, without spaces."""

_CONVERT: Mapping[str, Callable[[Claim, str, Any], Any]] = {
    "tier": _tier,
    "confidence": _confidence,
    "status": _status,
    "scope": _scope,
    "inherited_from": lambda _claim, _target, value: None if is_none(value) else one_line(bare(flat(value))),
    "number": lambda _claim, _target, value: value,
    "turn": lambda _claim, _target, value: parse_integer(value),
    "timestamp": _timestamp,
    "tags": lambda _claim, _target, value: items(value),
    "governs": lambda claim, _target, value: _paths(claim, value),
    "dependencies": _named,
    "revises": _named,
    "superseded_by": lambda claim, target, value: next(iter(_named(claim, target, value)), None),
    "blocked_by": _blockers,
    "content": lambda _claim, _target, value: text_of(value) or None,
    "resolution": _answer,
    "priority": _priority,
    "alternatives": _alternatives,
    "versions": _versions,
}

_RANK = {family: rank for rank, family in enumerate(Family)}
_COMPARED = ("text", "tier", "status", "priority")
_TIER = ("tier", "tier_token")


def join(found: ClaimList, claims: Sequence[Claim], *, has_parent: bool) -> list[Claim]:
    """Merge claims about the same local id; the result is in the order of their first lines.

    What names no record of an archive with a parent may be the words of one of the parent's, and is kept.
    A claim with a short id (`D001 dec_...`) beside another D001 goes under its short id: lines that forgekit
    prints can be kept among the new records of an archive.
    """
    own = {claim.local_id: _key(claim) for claim in claims if not _is_printed(claim)}
    groups: dict[tuple[str, str], list[Claim]] = {}
    for claim in claims:
        apart = _is_printed(claim) and own.get(claim.local_id, _key(claim)) != _key(claim)
        each = replace(claim, local_id=claim.values["entity"]) if apart else claim
        groups.setdefault((each.kind, key_of(each.local_id)), []).append(each)
    merged = [_merge(found, group) for group in groups.values()]
    _spell(found, merged, has_parent=has_parent)
    return merged


@frozen()
class _Names:
    """What the records of an archive are called.

    Attributes:
        ids: their ids, by key.
        kinds: their kinds, by id.
        titles: their ids, by kind and words.
        numbers: their ids, by kind and number.
        series: their kinds, by the letters of their ids.
        has_parent: whether an id that no record of the archive has is a parent's.
    """

    ids: Mapping[str, str]
    kinds: Mapping[str, str]
    titles: Mapping[tuple[str, str], str]
    numbers: Mapping[tuple[str, str], str]
    series: Mapping[str, str]
    has_parent: bool

    @classmethod
    def of(cls, merged: Sequence[Claim], *, has_parent: bool) -> _Names:
        """Return the names of claims; of two with one number the first has it."""
        texts = ((claim, _words_alone(_key(claim))) for claim in merged)
        digits = ((claim, re.search(r"\d+$", claim.local_id)) for claim in reversed(merged))
        places = ((claim, series_of(claim.local_id)) for claim in merged)
        return cls(
            ids={key_of(claim.local_id): claim.local_id for claim in merged},
            kinds={claim.local_id: claim.kind for claim in merged},
            titles={(claim.kind, text): claim.local_id for claim, text in texts if " " in text.strip()},
            numbers={(claim.kind, n.group().lstrip("0")): claim.local_id for claim, n in digits if n},
            series={place[0]: claim.kind for claim, place in places if place},
            has_parent=has_parent,
        )

    def resolve(self, reference: str, kind: str) -> str:
        """Return the id of the record that a reference names by its id, its number, or noun and number."""
        if name := self.ids.get(key_of(reference)):
            return name
        if _is_registered(reference):
            return reference
        digits = re.search(r"\d+$", reference)
        is_number = reference.isdigit() or reference[0] == "#"
        of_kind = kind if is_number else kind_of(reference)
        found = self.numbers.get((of_kind, digits.group().lstrip("0") if digits else ""), reference)
        is_parents = self.has_parent and not is_number and MADE.fullmatch(found) is not None
        return reference if is_parents else found

    def is_meant(self, reference: str, kind: str) -> bool:
        """Say whether a reference may be an id: of a record, of our shape, or of a series that goes on."""
        if ":" in reference or reference in self.kinds or kind_of(reference) or _is_registered(reference):
            return True
        place = series_of(reference)  # a parent's, if records of this archive go on in its series
        return place is not None and self.series.get(place[0]) == kind

    def titled(self, words: str, claim: Claim) -> list[str]:
        """Return the other records of a claim's kind whose whole texts some words hold."""
        if not words:
            return []
        held = _words_alone(match_key(words))
        found = (name for (kind, text), name in self.titles.items() if kind == claim.kind and text in held)
        return [name for name in found if name != claim.local_id]


def _spell(found: ClaimList, merged: Sequence[Claim], *, has_parent: bool) -> None:
    """Write each reference as its record writes its id; words that name no record are kept in the text."""
    names = _Names.of(merged, has_parent=has_parent)
    for claim in merged:
        for name in ("dependencies", "blocked_by", "revises"):
            _spell_field(found, claim, name, names, has_parent=has_parent)
        words, successor = claim.values.pop("superseded_by words", ""), claim.values.get("superseded_by")
        successors = [names.resolve(successor, claim.kind)] if successor else []
        successors += names.titled(words or claim.values.get("status words", ""), claim)
        successors += [words] if has_parent and " " in words else []
        for each in successors[:1]:
            claim.values["superseded_by"] = each


def _spell_field(found: ClaimList, claim: Claim, name: str, names: _Names, *, has_parent: bool) -> None:
    """Write the references of a field; those to a parent's record may be its words."""
    given = [names.resolve(each, claim.kind) for each in claim.values.get(name) or ()]
    wanted = [each for each in given if name != "blocked_by" or names.kinds.get(each, kind_of(each)) != "D"]
    words = claim.values.pop(f"{name} words", "")
    kept = [each for each in wanted if names.is_meant(each, claim.kind)]
    by_key = [names.ids[key] for key in keys_in(words, names.ids)]
    kept = kept or [each for each in by_key if each != claim.local_id] or names.titled(words, claim)
    if name == "blocked_by":
        alone = (names.ids.get(key_of(part)) for part in claim.values.get("waits_for", ()))
        kept += [each for each in alone if each and names.kinds[each] == "T" and each not in kept]
    if not kept and words and has_parent and name != "blocked_by" and " " in words:
        kept = [words]
    elif not kept and words:
        _keep(claim, name.capitalize(), words)
        if name != "dependencies" or claim.family is not Family.PROSE:  # else `if the permit comes`
            message = f"{claim.local_id}: {words[:60]!r} names no record of a kind that fits"
            found.warn("no-reference", f"{message}; it was kept in the text", claim.line)
    if name == "blocked_by" and "waits_for" in claim.values:
        named = {names.resolve(each, claim.kind): each for each in claim.values[name]}
        spellings = {each for one, each in named.items() if one in kept}
        claim.values["waits_for"] = tuple(
            part
            for part in claim.values["waits_for"]
            if names.ids.get(key_of(part)) not in kept and _adds_words(part, spellings)
        )
    if name in claim.values or kept:
        claim.values[name] = tuple(dict.fromkeys(kept))


def _words_alone(text: str) -> str:
    return " ".join(("", *re.findall(r"[^\W_]+", text), ""))


def _adds_words(part: str, spellings: Collection[str]) -> bool:
    """Say whether a part of what a thread waits for is more than ids of records and a word beside them."""
    part = _OF_ARCHIVE.sub(r"\2:\1", part)
    named = [each for each in references(part) if each in spellings]
    for each in named:
        part = part.replace(each, " ", 1)
    return not named or len(part.split()) > _BESIDE


def _is_registered(reference: str) -> bool:
    """Say whether a reference is an id that the registry gave."""
    return "-" in reference[8:9] or SHORT_ID.fullmatch(reference) is not None


def _key(claim: Claim) -> str:
    return match_key(claim.values.get("text", ""))


def _is_printed(claim: Claim) -> bool:
    return claim.family is not Family.MACHINE and bool(claim.values.get("entity"))


def _merge(found: ClaimList, group: list[Claim]) -> Claim:
    best, *others = sorted(group, key=lambda claim: (_RANK[claim.family], claim.line))
    merged = replace(best, values=dict(best.values))
    values = merged.values
    reported: set[str] = set()
    for claim in others:
        for name in _COMPARED:
            if name not in reported and not _agree(name, merged, claim):
                reported.add(name)
                _report(found, name, merged, claim)
        same_tier = values.get("tier") in (None, claim.values.get("tier"))
        for name, value in claim.values.items():
            if same_tier if name in _TIER and name not in values else values.get(name) in (None, ""):
                values[name] = value
    if "tier" not in values and "confidence" in values and "tier_refused" not in values:
        values["tier"] = values["confidence"]
    return merged


def _agree(name: str, merged: Claim, claim: Claim) -> bool:
    ours, theirs = merged.values.get(name), claim.values.get(name)
    if ours is None or theirs is None:
        return True
    if name == "text":  # an index or a sentence shortens it
        return claim.family in (Family.INDEX, Family.PROSE) or match_key(ours) == match_key(theirs)
    if name == "tier":
        if "tier_token" in merged.values or "tier_token" in claim.values:
            return band(ours) is band(theirs)
        return bool(abs(ours - theirs) < 1e-9)
    return ours is theirs


def _report(found: ClaimList, name: str, merged: Claim, claim: Claim) -> None:
    same = merged.family is claim.family
    noun = TEXT_NAMES[claim.kind] if name == "text" else name
    winner = "the first" if same else f"the {merged.family.value} record"
    found.warn(
        "recorded-twice" if same else "families-disagree",
        f"{claim.local_id}: the {noun} is {_shown(merged.values[name])} on line {merged.line} and "
        f"{_shown(claim.values[name])} on line {claim.line}; {winner} counts",
        claim.line,
    )


def _shown(value: Any) -> str:
    shown = getattr(value, "value", value)
    return repr(shown[:60]) if isinstance(shown, str) and len(shown.split()) > 1 else str(shown)


_SEPARATES = re.compile(r"\s*(?:$|[:,;.(\u2013\u2014\u2192\uff1a]|->|-\s)")
"""What follows a state that is not the first word of a title."""
_TO_ID = re.compile(r"(?:->|=>|\u2192|\u21d2)\s*[*_`]*[A-Za-z]{1,8}[-_]?\d{1,5}[*_`.]*")
_STOPS = " :,;.-()\u2013\u2014\u2192>\uff1a"


def _thread_status_of(meaning: str) -> tuple[ThreadStatus, bool]:
    """Return the status of a thread that a meaning gives it, and whether it was reopened."""
    is_open = meaning in ("open", "blocked", "reopened")
    return (ThreadStatus.OPEN if is_open else ThreadStatus(meaning)), meaning == "reopened"


def update_in(text: str, kind: str, local_id: str, state: str = "") -> tuple[str, dict[str, Any]]:
    """Return the state that words behind a parent's id name, and the fields of a record that they make.

    An arrow to another id alone names what took the place of a decision. No fields where nothing is known.

    Args:
        state: the one that they name, where that is known.
    """
    arrow = kind == "D" and _TO_ID.fullmatch(text.strip())
    state = state or state_named(text, kind) or ("superseded" if arrow else "")
    if kind == "D" and change_named(first_clause(text)) == "now":
        state = "revised"
    known = STATES[kind].get(fold(first_clause(text) or text))
    if state in ENDS and known is not None and not getattr(known, "ended", True):
        state = str(known.value)
    return state, rated(text, kind) | (_became(state, text, kind, local_id) if state else {})


def _became(meaning: str, text: str, kind: str, local_id: str) -> dict[str, Any]:
    """Return the fields that a text with a meaning, as of `states.meaning_of`, gives a parent's record."""
    if kind == "T":
        thread, reopened = _thread_status_of(meaning)
        fields = {"scope": Scope.INHERITED, "status": thread, "reopened": reopened}
        if meaning == "blocked":
            named = tuple(each for each in references(text) if kind_of(each) in ("T", ""))
            return fields | {"blocked_by": named, "waits_for": () if named else (behind_state(text, "T"),)}
        return fields | ({"resolution": behind_state(text, "T")} if thread.ended else {"content": text})
    if meaning == "revised":
        is_new = change_named(first_clause(text)) == "now"
        new = behind_clause(text) if is_new else new_text(text, kind)
        return {"text": new, "revises": (local_id,)} if new else {"scope": Scope.INHERITED}
    status = DecisionStatus.ACTIVE if meaning == "reinstated" else DecisionStatus(meaning)
    series = series_of(local_id)
    others = [
        each
        for each in references(text)
        if (kind_of(each) == "D" or (series and (series_of(each) or "")[:1] == series[:1]))
        and key_of(each) != key_of(local_id)
    ]
    return {
        "scope": Scope.INHERITED,
        "status": status,
        "reinstated": meaning == "reinstated",
        "rationale": behind_state(text, "D") if status.ended else "",
        "superseded_by": others[0] if others and status is DecisionStatus.SUPERSEDED else None,
    }


_RATING = rf"(?:{ONLY_STARS.pattern}|\d+(?:[.,]\d+)?\s?%?)"
_RATED = re.compile(_RATING)
_BOTH_TIERS = re.compile(rf"\W*?{_RATING}\s*(?:->|=>|\u2192)\s*(?P<now>{_RATING})(?!\w)")
_SOON = 4
"""Words among which a sentence that rates a record has the label; a record has it behind its own words."""


def rated(text: str, kind: str) -> dict[str, Any]:
    """Return the tier or priority that a sentence gives a parent's record, and that it is about one.

    It names two (`from medium to high`), the last of which counts, or one and soon a label of it.
    """
    clause = first_clause(text) or text
    words = re.findall(r"[^\W\d_]+", clause)
    name = {"T": "priority", "D": "tier"}[kind]
    labels = [n for n, word in enumerate(words) if field_named(word, kind) in (name, "confidence")]
    is_labelled = bool(labels) and labels[0] < _SOON
    if kind == "T":
        found = [value for word in words if (value := priority_of(word))]
        is_rated = len(found) > 1 or (found and is_labelled)
        return {"scope": Scope.INHERITED, "priority": found[-1]} if is_rated else {}
    change = _BOTH_TIERS.match(text)
    numbers = [change["now"]] if change else []
    numbers = numbers or ([match[0] for match in _RATED.finditer(clause)] if is_labelled else [])
    with suppress(ValueError):
        tier, token = parse_tier(numbers[-1]) if numbers else (None, None)
        return {"scope": Scope.INHERITED, "tier": tier, "tier_token": token} if numbers else {}
    return {}


def restated(claim: Claim) -> Claim:
    """Return a claim whose text is a state alone as one about a parent's record: `T001 done: in May`."""
    text, kind = bare(claim.values.get("text", "")), claim.kind
    if claim.values.get("reworded"):
        revises = (*claim.values.get("revises", ()), claim.local_id)
        return replace(claim, values={**claim.values, "revises": revises})
    given = {name for name, value in claim.values.items() if value not in (None, "", ())}
    if not text and kind in ("D", "T") and given & {"status", *OWN_FIELDS[kind]}:
        return replace(claim, values={**claim.values, "scope": Scope.INHERITED, "restated": True})
    state, rest = leading(text, STATES[kind]) if kind in ("D", "T") else (None, "")
    if not isinstance(state, (DecisionStatus, ThreadStatus)):
        return claim
    ids = references(rest)
    replaced = bool(ids) and len(re.findall(r"[^\W\d_]{2,}", _REFERENCES.sub(" ", rest))) < _BESIDE
    if not (replaced or _SEPARATES.match(rest)):
        return claim
    reason = one_line(rest.strip(_STOPS))
    if not replaced and (said := _said_beside(state, text, reason, claim.local_id)) is not None:
        return replace(claim, values={**claim.values, **said})
    values = {name: value for name, value in claim.values.items() if name != "text"}
    values |= {"status": state, "scope": Scope.INHERITED, "restated": True}
    if kind == "D" and ids:
        values.setdefault("superseded_by", ids[0])
    elif kind == "T" and state.ended and reason:
        values.setdefault("resolution", reason)
    elif kind == "T" and parse_thread_status(text)[1]:
        values["reopened"] = True
    return replace(claim, values=values)


def _said_beside(
    state: DecisionStatus | ThreadStatus, text: str, reason: str, local_id: str
) -> dict[str, Any] | None:
    """Return the fields of a record whose text begins with a state and says more; None where it does not.

    Args:
        text: the state and the words behind it, which are `reason`.
    """
    if state is DecisionStatus.REVISED and (new := new_text(one_line(text), "D")):
        return {"text": new, "status": None, "revises": (local_id,)}
    if isinstance(state, DecisionStatus) and reason:  # it is kept as the text of a record that no parent has
        return {"status": state, "scope": Scope.INHERITED, "rationale": reason} if state.ended else {}
    words = _unrated(reason)
    is_open = not state.ended and not parse_thread_status(text)[1]
    if isinstance(state, ThreadStatus) and is_open and len(words) > _BESIDE:
        # It is the thread's own text, or a remark where a parent has the thread.
        return {"text": " ".join(words), "status": state, "goes_on": True}
    return None


def _unrated(text: str) -> list[str]:
    """Return the words of a text without a priority that begins it: `urgent. How much?`."""
    rated = priority_of(first_clause(text)) is not None
    return (behind_clause(text) if rated else text).split()


def stated(claim: Claim) -> Claim:
    """Return a claim with the state that begins its words as one: `Rejected: a second tank`."""
    match = _STATED.match(claim.values.get("text", "")) if claim.kind in STATES else None
    state, rest = leading(match["state"], STATES[claim.kind]) if match else (None, "")
    if not match or not isinstance(state, (DecisionStatus, ThreadStatus)) or rest.strip():
        return claim
    status = claim.values.get("status")
    is_usual = status in (None, DecisionStatus.ACTIVE, ThreadStatus.OPEN)
    return replace(
        claim, values=claim.values | {"text": match["text"], "status": state if is_usual else status}
    )


R = TypeVar("R", DecisionRecord, ThreadRecord, ArtifactRecord)


def records(found: ClaimList, claims: Iterable[Claim], record: type[R]) -> tuple[R, ...]:
    """Build the records of one class from merged claims; a claim without a text becomes a problem."""
    kind = record.__name__[0]
    names = {each.name for each in fields(record)}
    text = next(name for name in ("text", "title", "name") if name in names)
    built = []
    for claim in claims:
        if claim.kind == kind and (claim.values.get("text") or claim.values.get("restated")):
            values = {name: value for name, value in claim.values.items() if name in names}
            if values.get("revises") and values.get("dependencies"):  # what is replaced is no ground
                kept = tuple(each for each in values["dependencies"] if each not in values["revises"])
                values["dependencies"] = kept or None
            values |= {"local_id": claim.local_id, "line": claim.line, "family": claim.family}
            built.append(record(**{**values, text: claim.values.get("text", "")}))
        elif claim.kind == kind:
            message = f"{claim.local_id} has no {TEXT_NAMES[kind]}; it was left out"
            found.warn("unreadable-record", message, claim.line)
    return tuple(built)
