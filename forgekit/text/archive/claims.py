"""Claims: what one record in one shape says of one local id, converted by one schema for all shapes.

Every shape (machine block, YAML, heading, bullet, table row) ends as a mapping of keys to raw values;
the keys are folded, synonyms meet, and each value is converted here. A value that cannot be converted
becomes a problem and is left out; it never guesses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from forgekit.model.decision import DecisionStatus
from forgekit.model.problem import Problem, Severity
from forgekit.model.records import ArtifactVersion, Family, Scope
from forgekit.model.rules import one_line, statement
from forgekit.model.thread import ThreadStatus
from forgekit.text.archive.lines import fold
from forgekit.text.archive.values import (
    CONFIDENCE,
    DECISION_STATUS,
    LOCAL_ID,
    SHORT_ID,
    bare,
    flat,
    is_none,
    items,
    kind_of,
    parse_integer,
    parse_moment,
    parse_priority,
    parse_thread_status,
    parse_tier,
    prose,
    references,
    word_in,
)

RECORDS_LIMIT = 20_000

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
KEYS: dict[str, dict[str, str]] = {
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
        names: match key -> short id, from blocks that forgekit printed and a person pasted along.
    """

    claims: list[Claim] = field(default_factory=list)
    carried: list[Claim] = field(default_factory=list)
    unnumbered: list[tuple[int, str, Mapping[str, Any]]] = field(default_factory=list)
    documents: list[Mapping[str, Any]] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def warn(self, code: str, message: str, line: int | None, fix: str = "") -> None:
        """Note a finding that is worth a look."""
        self.problems.append(
            Problem(code=code, message=message, line=line, fix=fix, severity=Severity.WARNING)
        )


def make_claim(
    found: Found, local_id: str, raw: Mapping[str, Any], line: int, family: Family, *, carried: bool = False
) -> None:
    """Convert one record and add it to what was found.

    Args:
        found: receives the claim and a problem for each value that cannot be converted.
        local_id: `D001`, in any case, or the short id that stands in its place.
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
    name = local_id if SHORT_ID.fullmatch(local_id) else local_id.upper()
    claim = Claim(local_id=name, line=line, family=family)
    keys = KEYS[claim.kind]
    folded: dict[str, Any] = {}
    for key, value in raw.items():
        folded.setdefault(fold(str(key)), value)
    if claim.kind == "T" and not any(keys.get(key) == "text" for key in folded):
        folded = {"title" if key == "description" else key: value for key, value in folded.items()}
    for name, target in keys.items():
        if name in folded and (target not in claim.values or not claim.values[target]):
            _CONVERT.get(target, _take_text)(found, claim, target, folded[name])
    if claim.values.get("inherited_from"):
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
        claim.values[target], token = parse_tier(flat(value))
    except ValueError as e:
        found.warn("bad-tier", f"{claim.local_id}: {e}", claim.line, "write a tier between 0 and 1")
        claim.values["tier_refused"] = True
        return
    if token:
        claim.values["tier_token"] = token


def _take_confidence(_found: Found, claim: Claim, target: str, value: Any) -> None:
    tier = word_in(flat(value), CONFIDENCE)
    if tier is not None:
        claim.values[target] = tier


def _take_status(found: Found, claim: Claim, target: str, value: Any) -> None:
    text = bare(flat(value))
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
        status = word_in(text, DECISION_STATUS)
        if status in (DecisionStatus.SUPERSEDED, DecisionStatus.REVISED) and references(text):
            claim.values["superseded_by"] = references(text)[0]
    if status is None:
        found.warn("unknown-status", f"{claim.local_id}: {text[:40]!r} is not a known status", claim.line)
    else:
        claim.values[target] = status


def _take_scope(_found: Found, claim: Claim, target: str, value: Any) -> None:
    text = fold(flat(value))
    if text.startswith("inherited"):
        claim.values[target] = Scope.INHERITED
    elif text.startswith(("this", "own", "current")):
        claim.values[target] = Scope.OWN


def _take_inherited(_found: Found, claim: Claim, target: str, value: Any) -> None:
    if not is_none(value):
        claim.values[target] = one_line(bare(flat(value)))


def _take_turn(_found: Found, claim: Claim, target: str, value: Any) -> None:
    number = parse_integer(value)
    if number is not None:
        claim.values[target] = number


def _take_timestamp(found: Found, claim: Claim, target: str, value: Any) -> None:
    if is_none(value):
        return
    try:
        claim.values[target] = parse_moment(flat(value))
    except ValueError as e:
        found.warn("bad-time", f"{claim.local_id}: {e}", claim.line)


def _take_items(_found: Found, claim: Claim, target: str, value: Any) -> None:
    claim.values[target] = items(value)


def _take_references(_found: Found, claim: Claim, target: str, value: Any) -> None:
    ids = references(value)
    claim.values[target] = ids
    if target == "blocked_by" and not ids and not is_none(value) and items(value):
        earlier = claim.values.get("content", "")
        claim.values["content"] = f"{earlier}\nBlocked by: {one_line(flat(value))}".strip()


def _take_reference(_found: Found, claim: Claim, target: str, value: Any) -> None:
    ids = references(value)
    if ids:
        claim.values[target] = ids[0]


def _take_priority(found: Found, claim: Claim, target: str, value: Any) -> None:
    if is_none(value):
        return
    priority = parse_priority(flat(value))
    if priority is None:
        found.warn(
            "unknown-priority", f"{claim.local_id}: {flat(value)[:40]!r} is not a priority", claim.line
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
        return one_line(bare(flat(item)))
    option = one_line(prose(item.get("option", "")))
    reason = one_line(prose(item.get("reason_rejected", item.get("reason", ""))))
    return f"{option} ({reason})" if option and reason else option or one_line(flat(item))


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
