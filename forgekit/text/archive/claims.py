"""Claims: what one record in one shape says of one local id, converted by one schema for all shapes.

Every shape (machine block, YAML, heading, bullet, table row) ends as a mapping of keys to raw values;
the keys are folded, synonyms meet, and each value is converted here. A value that cannot be converted
becomes a problem and is left out; it never guesses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from forgekit.ids import is_id
from forgekit.model.decision import DecisionStatus
from forgekit.model.problem import Problem, Severity
from forgekit.model.records import ArtifactVersion, Family, Scope
from forgekit.model.rules import one_line, statement
from forgekit.model.thread import Priority, ThreadStatus
from forgekit.text.archive.lines import fold
from forgekit.times import Instant, parse_instant

T = TypeVar("T")

RECORDS_LIMIT = 20_000

LOCAL_ID = re.compile(r"(?:OT|[DTA])\d{1,4}")
IDS = re.compile(r"(?<![A-Za-z0-9_])(?:OT\d{3}|[DTA]\d{3,4})(?![A-Za-z0-9_])")
_REFERENCES = re.compile(
    r"(?<![A-Za-z0-9_-])(?:OT\d{1,3}|[DTA]\d{1,4}|(?:dec|thr)_[0-9a-f]{12}"
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
_LETTERS = re.compile(r"[^a-z ]+")

_CLASSES = {"1": 0.9, "2": 0.5, "3": 0.1}
_BANDS = {"validated": 0.9, "heuristic": 0.5, "speculative": 0.1}
_CONFIDENCE = {"highest": 0.9, "high": 0.7, "medium": 0.5, "low": 0.3, "speculative": 0.2}
_PRIORITIES = {
    **dict.fromkeys(("high", "critical", "urgent", "highest"), Priority.HIGH),
    **dict.fromkeys(("medium", "normal", "moderate"), Priority.MEDIUM),
    **dict.fromkeys(("low", "lowest", "minor"), Priority.LOW),
}


def _table(*rows: tuple[T, str]) -> dict[str, T]:
    return {word: value for value, words in rows for word in words.split()}


_THREAD_STATUS = _table(
    (
        ThreadStatus.OPEN,
        "open active planned in pending blocked reopened unresolved ongoing todo new paused deferred parked "
        "partially partial waiting",
    ),
    (ThreadStatus.RESOLVED, "resolved done closed complete completed answered settled fixed"),
    (ThreadStatus.SUPERSEDED, "superseded"),
    (ThreadStatus.ABANDONED, "abandoned dropped wontfix cancelled canceled obsolete"),
)
_DECISION_STATUS = _table(
    (DecisionStatus.ACTIVE, "active accepted confirmed final decided approved validated locked"),
    (DecisionStatus.REVISED, "revised"),
    (DecisionStatus.SUPERSEDED, "superseded replaced"),
    (DecisionStatus.INVALIDATED, "invalidated deprecated rejected withdrawn retracted"),
)

_COMMON = {
    "status": "status",
    "final status": "status",
    "state": "status",
    "scope": "scope",
    "source": "scope",
    "inherited from": "inherited_from",
    "turn": "turn",
    "turn reference": "turn",
    "tags": "tags",
    "entity": "entity",
}
_KEYS: dict[str, dict[str, str]] = {
    "D": {
        **_COMMON,
        **dict.fromkeys(("decision", "text", "title", "description", "name", "summary"), "text"),
        **dict.fromkeys(("rationale", "reason", "reasoning", "why"), "rationale"),
        **dict.fromkeys(("context", "notes", "note"), "context"),
        **dict.fromkeys(("tier", "epistemic tier"), "tier"),
        "confidence": "confidence",
        **dict.fromkeys(("timestamp", "date", "decided"), "timestamp"),
        **dict.fromkeys(("dependencies", "depends on", "dependency"), "dependencies"),
        **dict.fromkeys(
            ("alternatives considered", "alternatives rejected", "alternatives", "rejected alternatives"),
            "alternatives",
        ),
        **dict.fromkeys(("revises", "supersedes", "replaces"), "revises"),
        **dict.fromkeys(("superseded by", "replaced by", "revised by"), "superseded_by"),
        **dict.fromkeys(("full context ref", "ref", "transcript reference"), "full_context_ref"),
    },
    "T": {
        **_COMMON,
        **dict.fromkeys(("title", "thread", "question", "text", "name", "issue", "summary"), "text"),
        **dict.fromkeys(("description", "context", "notes", "note", "details", "content"), "content"),
        "priority": "priority",
        **dict.fromkeys(("blocked by", "blocked on", "blockers"), "blocked_by"),
        **dict.fromkeys(("resolution", "outcome", "answer"), "resolution"),
    },
    "A": {
        "status": "status",
        "turn": "turn",
        "created": "turn",
        "created turn": "turn",
        "type": "type",
        **dict.fromkeys(("name", "title", "artifact", "text"), "text"),
        **dict.fromkeys(("summary", "description", "notes", "location"), "summary"),
        "versions": "versions",
    },
}


@dataclass(kw_only=True, slots=True)
class Claim:
    """What one record says: `values` holds converted fields under the attribute names of the record.

    Decision text, thread title and artifact name are all `text`; `references` are ids it leans on.
    """

    local_id: str
    line: int
    family: Family
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """D, T or A; open threads `OT001` are threads."""
        return kind_of(self.local_id)

    @property
    def references(self) -> tuple[str, ...]:
        """Local ids that its fields name."""
        named = [
            *(self.values.get("dependencies") or ()),
            *(self.values.get("blocked_by") or ()),
            *self.values.get("revises", ()),
            self.values.get("superseded_by") or "",
        ]
        return tuple(name for name in named if LOCAL_ID.fullmatch(name))


@dataclass(kw_only=True, slots=True)
class Found:
    """What the readers of all shapes have found so far.

    Attributes:
        carried: claims of `inherited_context`.
        unnumbered: (line, title, raw fields) of open threads that carry no id.
        documents: every YAML mapping, for the metadata in it.
    """

    claims: list[Claim] = field(default_factory=list)
    carried: list[Claim] = field(default_factory=list)
    unnumbered: list[tuple[int, str, Mapping[str, Any]]] = field(default_factory=list)
    documents: list[Mapping[str, Any]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def warn(self, code: str, message: str, line: int | None, fix: str = "") -> None:
        """Note a finding that is worth a look."""
        self.problems.append(
            Problem(code=code, message=message, line=line, fix=fix, severity=Severity.WARNING)
        )


def kind_of(local_id: str) -> str:
    """Return D, T or A."""
    return local_id.lstrip("O")[0]


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
        value = re.split(r"[,;]", inner)
    elif isinstance(value, dict):
        value = list(value.values())
    found = (one_line(bare(_flat(item))) for item in value)
    return tuple(item for item in found if not is_none(item))


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(_flat(item) for item in value.values())
    if isinstance(value, list):
        return ", ".join(_flat(item) for item in value)
    return str(value)


def prose(value: Any) -> str:
    """Return a value as text; lists become one line for each item."""
    if isinstance(value, list):
        return "\n".join(prose(item) for item in value)
    return _flat(value).replace("\x00", "").strip() if not is_none(value) else ""


def references(value: Any) -> tuple[str, ...]:
    """Return the local ids, short ids and uuids that a value names, in order, each once."""
    return tuple(dict.fromkeys(_REFERENCES.findall(_flat(value)[:20_000])))


def parse_tier(text: str) -> tuple[float | None, str | None]:
    """Return the tier and, where it was written as a class 1, 2 or 3, the class.

    Raises ValueError for a number outside 0 to 1 and for what is no tier.
    """
    token = bare(text)[:200]
    match = _NUMBER.match(token) or _INSIDE.search(token)
    if match is None:
        word = token.casefold().split()[:1]
        if word and word[0].strip(",;:") in _BANDS:
            return _BANDS[word[0].strip(",;:")], None
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


def _word(text: str, table: Mapping[str, Any]) -> Any:
    words = _LETTERS.sub(" ", text[:200].casefold()).split()
    return next((table[word] for word in words[:1] if word in table), None)


def parse_priority(text: str) -> Priority | None:
    """Return the priority that a word names, or None."""
    found = _word(text, _PRIORITIES)
    return found if isinstance(found, Priority) else None


def parse_thread_status(text: str) -> tuple[ThreadStatus | None, bool]:
    """Return the status that a text begins with, and whether it says that the thread was reopened."""
    words = " ".join(_LETTERS.sub(" ", text[:200].casefold()).split())
    words = {"wont fix": "wontfix", "won t fix": "wontfix", "not started": "open"}.get(words, words)
    words = words.removeprefix("re ") if words.startswith("re open") else words
    return _word(words, _THREAD_STATUS), words.startswith("reopen") or "re-open" in text[:20].casefold()


def parse_integer(value: Any) -> int | None:
    """Return the number that a value begins with, or None."""
    match = _INTEGER.match(bare(_flat(value))[:60])
    return int(match.group(1)) if match else None


def make_claim(
    found: Found, local_id: str, raw: Mapping[str, Any], line: int, family: Family, *, carried: bool = False
) -> None:
    """Convert one record and add it to what was found.

    Args:
        found: receives the claim and a problem for each value that cannot be converted.
        local_id: `D001`, in any case.
        raw: keys as written to raw values.
        line: of the record.
        family: the shape it was written in.
        carried: whether it is a mention of a parent's record.
    """
    claims = found.carried if carried else found.claims
    if len(claims) >= RECORDS_LIMIT:
        if not any(problem.code == "too-many-records" for problem in found.problems[-1:]):
            found.warn(
                "too-many-records", f"more than {RECORDS_LIMIT:,} records; the rest was left out", line
            )
        return
    claim = Claim(local_id=local_id.upper(), line=line, family=family)
    keys = _KEYS[claim.kind]
    folded: dict[str, Any] = {}
    for key, value in raw.items():
        folded.setdefault(fold(str(key)), value)
    if claim.kind == "T" and not any(keys.get(key) == "text" for key in folded):
        folded = {"title" if key == "description" else key: value for key, value in folded.items()}
    for name, target in keys.items():
        if name in folded and (target not in claim.values or not claim.values[target]):
            _CONVERT.get(target, _take_text)(found, claim, target, folded[name])
    if claim.kind == "D" and claim.values.get("inherited_from"):
        claim.values.setdefault("scope", Scope.INHERITED)
    claims.append(claim)


def _take_text(_found: Found, claim: Claim, target: str, value: Any) -> None:
    text = prose(value)
    if text:
        line = {"text": statement, "full_context_ref": one_line, "entity": one_line, "status": one_line}
        claim.values[target] = line.get(target, str)(bare(text) if target in line else text)


def _take_tier(found: Found, claim: Claim, target: str, value: Any) -> None:
    if is_none(value):
        return
    try:
        claim.values[target], token = parse_tier(_flat(value))
    except ValueError as e:
        found.warn("bad-tier", f"{claim.local_id}: {e}", claim.line, "write a tier between 0 and 1")
        claim.values["tier_refused"] = True
        return
    if token:
        claim.values["tier_token"] = token


def _take_confidence(_found: Found, claim: Claim, target: str, value: Any) -> None:
    tier = _word(_flat(value), _CONFIDENCE)
    if tier is not None:
        claim.values[target] = tier


def _take_status(found: Found, claim: Claim, target: str, value: Any) -> None:
    text = bare(_flat(value))
    if is_none(text):
        return
    if claim.kind == "A":
        _take_text(found, claim, target, value)
        return
    if claim.kind == "T":
        status, reopened = parse_thread_status(text)
        if reopened:
            claim.values["reopened"] = True
        if status is ThreadStatus.OPEN and "blocked" in text.casefold() and references(text):
            claim.values["blocked_by"] = references(text)
    else:
        status = _word(text, _DECISION_STATUS)
        if status in (DecisionStatus.SUPERSEDED, DecisionStatus.REVISED) and references(text):
            claim.values["superseded_by"] = references(text)[0]
    if status is None:
        found.warn("unknown-status", f"{claim.local_id}: {text[:40]!r} is not a known status", claim.line)
    else:
        claim.values[target] = status


def _take_scope(_found: Found, claim: Claim, target: str, value: Any) -> None:
    text = fold(_flat(value))
    if text.startswith("inherited"):
        claim.values[target] = Scope.INHERITED
    elif text.startswith(("this", "own", "current")):
        claim.values[target] = Scope.OWN


def _take_inherited(_found: Found, claim: Claim, target: str, value: Any) -> None:
    if not is_none(value):
        claim.values[target] = one_line(bare(_flat(value)))


def _take_turn(_found: Found, claim: Claim, target: str, value: Any) -> None:
    number = parse_integer(value)
    if number is not None:
        claim.values[target] = number


def _take_timestamp(found: Found, claim: Claim, target: str, value: Any) -> None:
    if is_none(value):
        return
    try:
        claim.values[target] = parse_moment(_flat(value))
    except ValueError as e:
        found.warn("bad-time", f"{claim.local_id}: {e}", claim.line)


def _take_items(_found: Found, claim: Claim, target: str, value: Any) -> None:
    claim.values[target] = items(value)


def _take_references(_found: Found, claim: Claim, target: str, value: Any) -> None:
    ids = references(value)
    claim.values[target] = ids
    if target == "blocked_by" and not ids and not is_none(value) and items(value):
        earlier = claim.values.get("content", "")
        claim.values["content"] = f"{earlier}\nBlocked by: {one_line(_flat(value))}".strip()


def _take_reference(_found: Found, claim: Claim, target: str, value: Any) -> None:
    ids = references(value)
    if ids:
        claim.values[target] = ids[0]


def _take_priority(found: Found, claim: Claim, target: str, value: Any) -> None:
    if is_none(value):
        return
    priority = parse_priority(_flat(value))
    if priority is None:
        found.warn(
            "unknown-priority", f"{claim.local_id}: {_flat(value)[:40]!r} is not a priority", claim.line
        )
    else:
        claim.values[target] = priority


def _take_alternatives(_found: Found, claim: Claim, target: str, value: Any) -> None:
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        claim.values[target] = tuple(filter(None, map(_alternative, value)))
    else:
        claim.values[target] = items(value)


def _alternative(item: Any) -> str:
    if not isinstance(item, dict):
        return one_line(bare(_flat(item)))
    option = one_line(prose(item.get("option", "")))
    reason = one_line(prose(item.get("reason_rejected", item.get("reason", ""))))
    return f"{option} ({reason})" if option and reason else option or one_line(_flat(item))


def _take_versions(_found: Found, claim: Claim, target: str, value: Any) -> None:
    rows = [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
    claim.values[target] = tuple(
        ArtifactVersion(
            version=one_line(prose(row.get("version"))) or str(number),
            line=getattr(row, "line", claim.line),
            turn=parse_integer(row.get("created_turn", row.get("turn", ""))),
            status=one_line(prose(row.get("status"))),
            changes=prose(row.get("changes_from_previous")),
            triggered_by=references(row.get("triggered_by", "")),
            content=str(row.get("content", "")) if isinstance(row.get("content", ""), str) else "",
        )
        for number, row in enumerate(rows, 1)
    )


_CONVERT = {
    "tier": _take_tier,
    "confidence": _take_confidence,
    "status": _take_status,
    "scope": _take_scope,
    "inherited_from": _take_inherited,
    "turn": _take_turn,
    "timestamp": _take_timestamp,
    "tags": _take_items,
    "dependencies": _take_references,
    "blocked_by": _take_references,
    "revises": _take_references,
    "superseded_by": _take_reference,
    "priority": _take_priority,
    "alternatives": _take_alternatives,
    "versions": _take_versions,
}


def is_uuid(text: str) -> bool:
    """Say whether a name is a uuid, in any case."""
    return is_id(text.casefold())
