"""Claims: what one record in one shape says of one local id, converted by one schema for all shapes.

Every shape (machine block, YAML, heading, bullet, table row) ends as a mapping of keys to raw values;
the keys are folded, synonyms meet, and each value is converted here. A value that cannot be converted
becomes a problem and is left out; it never guesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from forgekit.archives.document import fold
from forgekit.archives.values import (
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
from forgekit.model.problem import Problem, Severity
from forgekit.model.rules import one_line, statement
from forgekit.model.thread import ThreadStatus

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
class ClaimList:
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
    found: ClaimList,
    local_id: str,
    raw: Mapping[str, Any],
    line: int,
    family: Family,
    *,
    carried: bool = False,
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


def _take_text(_found: ClaimList, claim: Claim, target: str, value: Any) -> None:
    text = prose(value)
    if text:
        line = {"text": statement, "full_context_ref": one_line, "entity": one_line, "status": one_line}
        claim.values[target] = line.get(target, str)(bare(text) if target in line else text)


def _take_tier(found: ClaimList, claim: Claim, target: str, value: Any) -> None:
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


def _take_confidence(_found: ClaimList, claim: Claim, target: str, value: Any) -> None:
    tier = word_in(flat(value), CONFIDENCE)
    if tier is not None:
        claim.values[target] = tier


def _take_status(found: ClaimList, claim: Claim, target: str, value: Any) -> None:
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


def _take_scope(_found: ClaimList, claim: Claim, target: str, value: Any) -> None:
    text = fold(flat(value))
    if text.startswith("inherited"):
        claim.values[target] = Scope.INHERITED
    elif text.startswith(("this", "own", "current")):
        claim.values[target] = Scope.OWN


def _take_inherited(_found: ClaimList, claim: Claim, target: str, value: Any) -> None:
    if not is_none(value):
        claim.values[target] = one_line(bare(flat(value)))


def _take_turn(_found: ClaimList, claim: Claim, target: str, value: Any) -> None:
    number = parse_integer(value)
    if number is not None:
        claim.values[target] = number


def _take_timestamp(found: ClaimList, claim: Claim, target: str, value: Any) -> None:
    if is_none(value):
        return
    try:
        claim.values[target] = parse_moment(flat(value))
    except ValueError as e:
        found.warn("bad-time", f"{claim.local_id}: {e}", claim.line)


def _take_items(_found: ClaimList, claim: Claim, target: str, value: Any) -> None:
    claim.values[target] = items(value)


def _take_references(_found: ClaimList, claim: Claim, target: str, value: Any) -> None:
    ids = references(value)
    claim.values[target] = ids
    if target == "blocked_by" and not ids and not is_none(value) and items(value):
        earlier = claim.values.get("content", "")
        claim.values["content"] = f"{earlier}\nBlocked by: {one_line(flat(value))}".strip()


def _take_reference(_found: ClaimList, claim: Claim, target: str, value: Any) -> None:
    ids = references(value)
    if ids:
        claim.values[target] = ids[0]


def _take_priority(found: ClaimList, claim: Claim, target: str, value: Any) -> None:
    if is_none(value):
        return
    priority = parse_priority(flat(value))
    if priority is None:
        found.warn(
            "unknown-priority", f"{claim.local_id}: {flat(value)[:40]!r} is not a priority", claim.line
        )
    else:
        claim.values[target] = priority


def _take_alternatives(_found: ClaimList, claim: Claim, target: str, value: Any) -> None:
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


def _take_versions(_found: ClaimList, claim: Claim, target: str, value: Any) -> None:
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


_RANK = {family: rank for rank, family in enumerate(Family)}
_COMPARED = ("text", "tier", "status", "priority")
_SHORTENED = {Family.INDEX, Family.PROSE}
_TIER = ("tier", "tier_token")


def join(found: ClaimList, claims: Iterable[Claim]) -> list[Claim]:
    """Merge claims about the same local id; the result is in order of local id's first line."""
    groups: dict[str, list[Claim]] = {}
    for claim in _apart(list(claims)):
        groups.setdefault(claim.local_id, []).append(claim)
    return [_merge(found, group) for group in groups.values()]


def _apart(claims: Sequence[Claim]) -> Iterable[Claim]:
    """Yield the claims, each `D001 dec_...` beside another D001 under its short id.

    So the lines that forgekit prints may stand among the new records of an archive, which count from D001.
    """
    own = {claim.local_id: match_key(claim.values.get("text", "")) for claim in claims if _unnamed(claim)}
    for claim in claims:
        other = own.get(claim.local_id)
        same = other is None or _unnamed(claim) or other == match_key(claim.values.get("text", ""))
        yield claim if same else replace(claim, local_id=claim.values["entity"])


def _unnamed(claim: Claim) -> bool:
    return claim.family is Family.MACHINE or not claim.values.get("entity")


def _merge(found: ClaimList, group: list[Claim]) -> Claim:
    ranked = sorted(group, key=lambda claim: (_RANK[claim.family], claim.line))
    best = ranked[0]
    merged = Claim(local_id=best.local_id, line=best.line, family=best.family, values=dict(best.values))
    told: set[str] = set()
    for claim in ranked[1:]:
        told.update(name for name in _COMPARED if name not in told and _compare(found, merged, claim, name))
        tier = merged.values.get("tier")
        if tier is None or tier == claim.values.get("tier"):
            for name in _TIER:
                if name in claim.values:
                    merged.values.setdefault(name, claim.values[name])
        for name, value in claim.values.items():
            if name not in _TIER and merged.values.get(name) in (None, ""):
                merged.values[name] = value
    if "tier" not in merged.values and "confidence" in merged.values and "tier_refused" not in merged.values:
        merged.values["tier"] = merged.values["confidence"]
    return merged


def _compare(found: ClaimList, merged: Claim, claim: Claim, name: str) -> bool:
    """Note a disagreement about one field; say whether there was one."""
    ours, theirs = merged.values.get(name), claim.values.get(name)
    if ours is None or theirs is None or _agree(name, ours, theirs, merged, claim):
        return False
    same = merged.family is claim.family
    winner = "the first" if same else f"the {merged.family.value} record"
    found.warn(
        "recorded-twice" if same else "families-disagree",
        f"{claim.local_id}: {_noun(merged, name)} is {_shown(ours)} on line {merged.line} and "
        f"{_shown(theirs)} on line {claim.line}; {winner} stands",
        claim.line,
    )
    return True


def _agree(name: str, ours: Any, theirs: Any, merged: Claim, claim: Claim) -> bool:
    if name == "text":
        return claim.family in _SHORTENED or match_key(ours) == match_key(theirs)
    if name == "tier":
        if "tier_token" in merged.values or "tier_token" in claim.values:
            return band(ours) is band(theirs)
        return bool(abs(ours - theirs) < 1e-9)
    return ours is theirs


def _noun(claim: Claim, name: str) -> str:
    if name != "text":
        return f"the {name}"
    return {"D": "the decision", "T": "the title", "A": "the name"}[claim.kind]


def _shown(value: Any) -> str:
    shown = getattr(value, "value", value)
    return repr(shown[:60]) if isinstance(shown, str) and len(shown.split()) > 1 else str(shown)


def _has_text(found: ClaimList, claim: Claim) -> bool:
    if claim.values.get("text"):
        return True
    noun = {"D": "decision", "T": "title", "A": "name"}[claim.kind]
    found.warn("unreadable-record", f"{claim.local_id} has no {noun}; it was left out", claim.line)
    return False


def decisions(
    found: ClaimList, claims: Sequence[Claim], scope: Scope = Scope.OWN
) -> tuple[DecisionRecord, ...]:
    """Build the decision records of merged claims."""
    return tuple(
        DecisionRecord(
            local_id=claim.local_id,
            text=claim.values["text"],
            line=claim.line,
            family=claim.family,
            entity=claim.values.get("entity"),
            scope=claim.values.get("scope", scope),
            rationale=claim.values.get("rationale", ""),
            context=claim.values.get("context", ""),
            tier=claim.values.get("tier"),
            tier_token=claim.values.get("tier_token"),
            status=claim.values.get("status"),
            turn=claim.values.get("turn"),
            timestamp=claim.values.get("timestamp"),
            inherited_from=claim.values.get("inherited_from"),
            revises=claim.values.get("revises", ()),
            superseded_by=claim.values.get("superseded_by"),
            dependencies=claim.values.get("dependencies"),
            alternatives=claim.values.get("alternatives", ()),
            tags=claim.values.get("tags", ()),
            full_context_ref=claim.values.get("full_context_ref"),
        )
        for claim in claims
        if claim.kind == "D" and _has_text(found, claim)
    )


def threads(found: ClaimList, claims: Sequence[Claim]) -> tuple[ThreadRecord, ...]:
    """Build the thread records of merged claims."""
    return tuple(
        ThreadRecord(
            local_id=claim.local_id,
            title=claim.values["text"],
            line=claim.line,
            family=claim.family,
            entity=claim.values.get("entity"),
            scope=claim.values.get("scope", Scope.OWN),
            content=claim.values.get("content", ""),
            status=claim.values.get("status"),
            reopened=claim.values.get("reopened", False),
            priority=claim.values.get("priority"),
            blocked_by=claim.values.get("blocked_by"),
            resolution=claim.values.get("resolution", ""),
            inherited_from=claim.values.get("inherited_from"),
            turn=claim.values.get("turn"),
            tags=claim.values.get("tags", ()),
        )
        for claim in claims
        if claim.kind == "T" and _has_text(found, claim)
    )


def artifacts(found: ClaimList, claims: Sequence[Claim]) -> tuple[ArtifactRecord, ...]:
    """Build the artifact records of merged claims."""
    return tuple(
        ArtifactRecord(
            local_id=claim.local_id,
            name=claim.values["text"],
            line=claim.line,
            family=claim.family,
            type=claim.values.get("type", ""),
            summary=claim.values.get("summary", ""),
            status=claim.values.get("status", ""),
            turn=claim.values.get("turn"),
            versions=claim.values.get("versions", ()),
        )
        for claim in claims
        if claim.kind == "A" and _has_text(found, claim)
    )
