"""Claims: what one record states about one local id, and the merging of several claims into records.

In: mappings of raw keys to raw values, from every shape of records (machine block, YAML, heading, bullet,
table row). Out: decision, thread and artifact records. Steps: `make_claim` resolves synonyms of keys and
converts each value (one that cannot be converted becomes a problem, never a guess); `join` merges the claims
about one local id, the most trusted family first; `records` builds the records. The parsers of single values
come first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from forgekit.archives.document import fold
from forgekit.ids import match_key
from forgekit.model.archive_record import (
    ArtifactRecord,
    ArtifactVersion,
    DecisionRecord,
    Family,
    Scope,
    ThreadRecord,
)
from forgekit.model.decision import DecisionStatus, band
from forgekit.model.entities import TurnRange
from forgekit.model.problem import Problem, Severity
from forgekit.model.rules import one_line, statement
from forgekit.model.thread import Priority, ThreadStatus
from forgekit.times import Instant, parse_instant

RECORDS_LIMIT = 20_000

T = TypeVar("T")

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
    """Return word to value for some rows (value, words)."""
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
    """Say whether a value is a spelling of "none"."""
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
    """Split at commas and semicolons outside brackets; at all of them if a bracket is never closed."""
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


def text_of(value: Any) -> str:
    """Return a value as text; lists become one line for each item."""
    if isinstance(value, list):
        return "\n".join(text_of(item) for item in value)
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
    """Return the table's value of the text's first word, or None."""
    words = _LETTERS.sub(" ", text[:200].casefold()).split()
    return next((table[word] for word in words[:1] if word in table), None)


def parse_priority(text: str) -> Priority | None:
    """Return the priority that a word names, or None."""
    found = word_in(text, _PRIORITIES)
    return found if isinstance(found, Priority) else None


def parse_thread_status(text: str) -> tuple[ThreadStatus | None, bool]:
    """Return the status that a text begins with, and whether the thread was reopened."""
    words = " ".join(_LETTERS.sub(" ", text[:200].casefold()).split())
    words = {"wont fix": "wontfix", "won t fix": "wontfix", "not started": "open"}.get(words, words)
    words = words.replace("re open", "reopen", 1) if words.startswith("re open") else words
    return word_in(words, _THREAD_STATUS), words.startswith("reopen") or "re-open" in text[:20].casefold()


def parse_integer(value: Any) -> int | None:
    """Return the number that a value begins with, or None."""
    match = _INTEGER.match(ungrouped(bare(flat(value))[:60]))
    return int(match.group(1)) if match else None


_COMMON = {
    "status": ("status", "final status", "state"),
    "scope": ("scope", "source"),
    "inherited_from": ("inherited from",),
    "turn": ("turn", "turn reference"),
    "tags": ("tags",),
    "entity": ("entity",),
}
_SYNONYMS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "D": {
        **_COMMON,
        "text": ("decision", "text", "title", "description", "name", "summary"),
        "rationale": ("rationale", "reason", "reasoning", "why"),
        "context": ("context", "notes", "note"),
        "tier": ("tier", "epistemic tier"),
        "confidence": ("confidence",),
        "timestamp": ("timestamp", "date", "decided"),
        "dependencies": ("dependencies", "depends on", "dependency"),
        "alternatives": (
            "alternatives considered",
            "alternatives rejected",
            "alternatives",
            "rejected alternatives",
        ),
        "revises": ("revises", "supersedes", "replaces"),
        "superseded_by": ("superseded by", "replaced by", "revised by"),
        "full_context_ref": ("full context ref", "ref", "transcript reference"),
    },
    "T": {
        **_COMMON,
        "text": ("title", "thread", "question", "text", "name", "issue", "summary"),
        "content": ("description", "context", "notes", "note", "details", "content"),
        "priority": ("priority",),
        "blocked_by": ("blocked by", "blocked on", "blockers"),
        "resolution": ("resolution", "outcome", "answer"),
    },
    "A": {
        "status": ("status",),
        "turn": ("turn", "created", "created turn"),
        "type": ("type",),
        "text": ("name", "title", "artifact", "text"),
        "summary": ("summary", "description", "notes", "location"),
        "versions": ("versions",),
    },
}
KEYS = {
    kind: {key: target for target, keys in synonyms.items() for key in keys}
    for kind, synonyms in _SYNONYMS.items()
}
"""For each kind, folded key to attribute; if two keys of one attribute have values, the first counts."""


@dataclass(kw_only=True, slots=True)
class Claim:
    """What one record states: `values` holds converted fields under the attribute names of the record.

    Decision text, thread title and artifact name are all `text`.
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
        names = [
            name for key in ("dependencies", "blocked_by", "revises") for name in self.values.get(key, ())
        ]
        names.append(self.values.get("superseded_by", ""))
        return tuple(name for name in names if LOCAL_ID.fullmatch(name))


@dataclass(kw_only=True, slots=True)
class ClaimList:
    """What the readers of all shapes have found so far.

    Attributes:
        carried: claims of `inherited_context`.
        unnumbered: (line, title, raw fields) of open threads without an id.
        documents: every YAML mapping, for the metadata in it.
        names: match key to short id, from blocks that forgekit printed and a person pasted along.
    """

    claims: list[Claim] = field(default_factory=list)
    carried: list[Claim] = field(default_factory=list)
    unnumbered: list[tuple[int, str, Mapping[str, Any]]] = field(default_factory=list)
    documents: list[Mapping[str, Any]] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def warn(self, code: str, message: str, line: int | None, fix: str = "") -> None:
        """Add a warning."""
        self.problems.append(
            Problem(code=code, message=message, line=line, fix=fix, severity=Severity.WARNING)
        )


def make_claim(
    found: ClaimList,
    local_id: str,
    raw: Mapping[str, Any],
    line: int,
    family: Family,
    *,
    carried: bool = False,
) -> None:
    """Convert one record and add its claim and problems to what was found.

    Args:
        found: receives the claim and a problem for each value that cannot be converted.
        local_id: `D001`, in any case, or the short id in its place.
        raw: keys as written to raw values.
        line: of the record.
        family: the shape it was written in.
        carried: whether it is a mention of a parent's record.
    """
    claims = found.carried if carried else found.claims
    if len(claims) >= RECORDS_LIMIT:
        if not any(problem.code == "too-many-records" for problem in found.problems[-1:]):
            message = f"more than {RECORDS_LIMIT:,} records; the rest was left out"
            found.warn("too-many-records", message, line)
        return
    name = local_id if SHORT_ID.fullmatch(local_id) else local_id.upper()
    claim = Claim(local_id=name, line=line, family=family)
    keys = KEYS[claim.kind]
    folded = {fold(str(key)): raw[key] for key in reversed(list(raw))}
    if claim.kind == "T" and not any(keys.get(key) == "text" for key in folded):
        folded = {"title" if key == "description" else key: value for key, value in folded.items()}
    for name, target in keys.items():
        if name in folded and not claim.values.get(target):
            try:
                converted = _CONVERT.get(target, _line_or_text)(claim, target, folded[name])
            except _UnreadableValueError as e:
                found.warn(e.code, f"{claim.local_id}: {e}", line, e.fix)
                continue
            if converted is not None:
                claim.values[target] = converted
    if claim.values.get("inherited_from"):
        claim.values.setdefault("scope", Scope.INHERITED)
    claims.append(claim)


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


def _tier(claim: Claim, _target: str, value: Any) -> Any:
    if is_none(value):
        return None
    try:
        tier, token = parse_tier(flat(value))
    except ValueError as e:
        claim.values["tier_refused"] = True
        raise _UnreadableValueError("bad-tier", str(e), "write a tier between 0 and 1") from None
    if token:
        claim.values["tier_token"] = token
    return tier


def _status(claim: Claim, target: str, value: Any) -> Any:
    text = bare(flat(value))
    if is_none(text):
        return None
    if claim.kind == "A":
        return _line_or_text(claim, target, value)
    status: Any
    if claim.kind == "T":
        status, reopened = parse_thread_status(text)
        if reopened:
            claim.values["reopened"] = True
        if status is ThreadStatus.OPEN and "blocked" in text.casefold() and references(text):
            claim.values["blocked_by"] = references(text)
    else:
        status = word_in(text, DECISION_STATUS)
        if status in (DecisionStatus.SUPERSEDED, DecisionStatus.REVISED) and references(text):
            claim.values["superseded_by"] = references(text)[0]
    if status is None:
        raise _UnreadableValueError("unknown-status", f"{text[:40]!r} is not a known status")
    return status


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


def _blocked_by(claim: Claim, _target: str, value: Any) -> Any:
    ids = references(value)
    if not ids and not is_none(value) and items(value):
        earlier = claim.values.get("content", "")
        claim.values["content"] = f"{earlier}\nBlocked by: {one_line(flat(value))}".strip()
    return ids


def _priority(_claim: Claim, _target: str, value: Any) -> Any:
    priority = parse_priority(flat(value))
    if priority is None and not is_none(value):
        raise _UnreadableValueError("unknown-priority", f"{flat(value)[:40]!r} is not a priority")
    return priority


def _alternatives(_claim: Claim, _target: str, value: Any) -> Any:
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return tuple(filter(None, map(_alternative, value)))
    return items(value)


def _alternative(item: Any) -> str:
    if not isinstance(item, dict):
        return one_line(bare(flat(item)))
    option = one_line(text_of(item.get("option", "")))
    reason = one_line(text_of(item.get("reason_rejected", item.get("reason", ""))))
    return f"{option} ({reason})" if option and reason else option or one_line(flat(item))


def _versions(claim: Claim, _target: str, value: Any) -> Any:
    rows = [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
    return tuple(
        ArtifactVersion(
            version=one_line(text_of(row.get("version"))) or str(number),
            line=getattr(row, "line", claim.line),
            turn=parse_integer(row.get("created_turn", row.get("turn", ""))),
            status=one_line(text_of(row.get("status"))),
            changes=text_of(row.get("changes_from_previous")),
            triggered_by=references(row.get("triggered_by", "")),
            content=str(row.get("content", "")) if isinstance(row.get("content", ""), str) else "",
        )
        for number, row in enumerate(rows, 1)
    )


_CONVERT: Mapping[str, Callable[[Claim, str, Any], Any]] = {
    "tier": _tier,
    "confidence": lambda _claim, _target, value: word_in(flat(value), CONFIDENCE),
    "status": _status,
    "scope": _scope,
    "inherited_from": lambda _claim, _target, value: None if is_none(value) else one_line(bare(flat(value))),
    "turn": lambda _claim, _target, value: parse_integer(value),
    "timestamp": _timestamp,
    "tags": lambda _claim, _target, value: items(value),
    "dependencies": lambda _claim, _target, value: references(value),
    "revises": lambda _claim, _target, value: references(value),
    "superseded_by": lambda _claim, _target, value: next(iter(references(value)), None),
    "blocked_by": _blocked_by,
    "priority": _priority,
    "alternatives": _alternatives,
    "versions": _versions,
}

_RANK = {family: rank for rank, family in enumerate(Family)}
_COMPARED = ("text", "tier", "status", "priority")
_TIER = ("tier", "tier_token")
_NOUNS = {"D": "decision", "T": "title", "A": "name"}


def join(found: ClaimList, claims: Sequence[Claim]) -> list[Claim]:
    """Merge claims about the same local id; the result is in the order of their first lines.

    A claim with a short id (`D001 dec_...`) beside another D001 with another text goes under its short id, so
    that lines which forgekit prints can be kept among the new records of an archive, which count from D001.
    """
    own = {claim.local_id: _key(claim) for claim in claims if not _is_printed(claim)}
    groups: dict[str, list[Claim]] = {}
    for claim in claims:
        apart = _is_printed(claim) and own.get(claim.local_id, _key(claim)) != _key(claim)
        each = replace(claim, local_id=claim.values["entity"]) if apart else claim
        groups.setdefault(each.local_id, []).append(each)
    return [_merge(found, group) for group in groups.values()]


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
    noun = _NOUNS[claim.kind] if name == "text" else name
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


R = TypeVar("R", DecisionRecord, ThreadRecord, ArtifactRecord)


def records(found: ClaimList, claims: Iterable[Claim], record: type[R]) -> tuple[R, ...]:
    """Build the records of one class from merged claims; a claim without a text becomes a problem."""
    kind = record.__name__[0]
    names = {each.name for each in fields(record)}
    text = next(name for name in ("text", "title", "name") if name in names)
    built = []
    for claim in claims:
        if claim.kind == kind and claim.values.get("text"):
            values = {name: value for name, value in claim.values.items() if name in names}
            values |= {"local_id": claim.local_id, "line": claim.line, "family": claim.family}
            built.append(record(**{**values, text: claim.values["text"]}))
        elif claim.kind == kind:
            message = f"{claim.local_id} has no {_NOUNS[kind]}; it was left out"
            found.warn("unreadable-record", message, claim.line)
    return tuple(built)
