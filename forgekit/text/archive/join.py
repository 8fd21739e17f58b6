"""The merge rule: one record for each local id, from everything the archive says of it.

Fields come from the highest family that has them; holes are filled from lower ones. Where two
families disagree on text, tier, status or priority the higher stands and a finding says so. The wording of
the decision index and of prose is expected to be shorter and never disagrees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from forgekit.ids import match_key
from forgekit.model.decision import band
from forgekit.model.records import ArtifactRecord, DecisionRecord, Family, Scope, ThreadRecord
from forgekit.text.archive.claims import Claim, Found

_RANK = {family: rank for rank, family in enumerate(Family)}
_COMPARED = ("text", "tier", "status", "priority")
_SHORTENED = {Family.INDEX, Family.PROSE}
_TIER = ("tier", "tier_token")


def join(found: Found, claims: Iterable[Claim]) -> list[Claim]:
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


def _merge(found: Found, group: list[Claim]) -> Claim:
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


def _compare(found: Found, merged: Claim, claim: Claim, name: str) -> bool:
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


def _has_text(found: Found, claim: Claim) -> bool:
    if claim.values.get("text"):
        return True
    noun = {"D": "decision", "T": "title", "A": "name"}[claim.kind]
    found.warn("unreadable-record", f"{claim.local_id} has no {noun}; it was left out", claim.line)
    return False


def decisions(found: Found, claims: Sequence[Claim], scope: Scope = Scope.OWN) -> tuple[DecisionRecord, ...]:
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


def threads(found: Found, claims: Sequence[Claim]) -> tuple[ThreadRecord, ...]:
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


def artifacts(found: Found, claims: Sequence[Claim]) -> tuple[ArtifactRecord, ...]:
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
