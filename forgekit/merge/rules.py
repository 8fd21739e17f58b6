"""Which rule each field of each kind has, and which fields come from one side together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from forgekit.merge.values import (
    ABSENT,
    Ledger,
    Rule,
    Sides,
    earlier,
    greater,
    ids,
    keyed,
    later,
    lines,
    pairs,
    settle,
    value,
)
from forgekit.model.candidate import Candidate, CandidateStatus
from forgekit.model.conflict import Conflict, ConflictStatus
from forgekit.model.decision import Decision, DecisionStatus
from forgekit.model.kinds import Kind
from forgekit.model.thread import Thread, ThreadStatus
from forgekit.model.transcript import TranscriptPart

Choice = Callable[[Any, Any], tuple[Any, bool]]
"""Chooses whose group of fields stands (None: no rule says) and whether that is a conflict."""


def field(name: str, entities: Sides) -> Sides:
    """Return one field of each; in a base that is not there every field is unset."""
    ours, theirs = getattr(entities.ours, name), getattr(entities.theirs, name)
    unset = () if () in (ours, theirs) else None
    return Sides(unset if entities.base is None else getattr(entities.base, name), ours, theirs)


def fields(rules: Mapping[str, Rule], entities: Sides, ledger: Ledger, where: str = "") -> dict[str, Any]:
    """Merge fields that stand for themselves."""

    def merged(name: str, rule: Rule) -> Any:
        sides = field(name, entities)
        return settle(sides, lambda: rule(where + name, sides, ledger))

    return {name: merged(name, rule) for name, rule in rules.items()}


def group(names: tuple[str, ...], choose: Choice, entities: Sides, ledger: Ledger) -> dict[str, Any]:
    """Return the values of fields that come from one side together."""
    each = {name: field(name, entities) for name in names}
    sides = Sides._make(zip(*each.values(), strict=True))

    def chosen() -> Any:
        winner, clash = choose(entities.ours, entities.theirs)
        if winner is None:
            stands = ledger.preferred(sides)
        else:
            stands = sides.ours if winner is entities.ours else sides.theirs
        for (name, found), kept in zip(each.items(), stands, strict=True):
            given_up = found.theirs if stands is sides.ours else found.ours
            if given_up != kept and (clash or given_up != found.base):
                ledger.note(ledger.conflicts if clash else ledger.outlived, name, found, kept)
        return stands

    return dict(zip(names, settle(sides, chosen), strict=True))


def compressions(name: str, sides: Sides, ledger: Ledger) -> Any:
    """Merge entries by tag, and each entry field by field."""

    def entry(where: str, entries: Sides, ledger: Ledger) -> Any:
        base = None if entries.base is ABSENT else entries.base
        values = fields(COMPRESSION_RULES, entries._replace(base=base), ledger, f"{where}.")
        return dataclasses.replace(entries.ours, **values)

    maps = ({entry.compression_tag: entry for entry in side or ()} for side in sides)
    return tuple(keyed(f"{name}.", Sides._make(maps), ledger, entry).values())


STATE = ("status", "updated_at", "resolved_in")
REVISION = ("status", "superseded_by", "revised_in")
_THREAD_ORDER = [ThreadStatus.RESOLVED, ThreadStatus.SUPERSEDED, ThreadStatus.ABANDONED, ThreadStatus.OPEN]
_DECISION_ORDER = [
    DecisionStatus.SUPERSEDED,
    DecisionStatus.REVISED,
    DecisionStatus.INVALIDATED,
    DecisionStatus.ACTIVE,
]


def _either(_ours: Any, _theirs: Any) -> tuple[Any, bool]:
    return None, True


def thread_state(ours: Thread, theirs: Thread) -> tuple[Thread, bool]:
    """Let the later state stand, as `updated_at` says.

    So an end stands over OPEN unless the thread was reopened after it: an archive that merely repeats
    OPEN changes no state and is never later. Ties: resolved, superseded, abandoned, open; then the
    smaller `resolved_in`, none coming last.
    """

    def rank(thread: Thread) -> tuple[Any, ...]:
        place = thread.resolved_in is None, thread.resolved_in or ""
        return -thread.updated_at, _THREAD_ORDER.index(thread.status), *place

    return min(ours, theirs, key=rank), False


def _decision_state(ours: Decision, theirs: Decision) -> tuple[Decision, bool]:
    """Let an end stand over active; two ends are a conflict.

    Until it is settled: superseded, revised, invalidated; then the smaller `superseded_by`, then the
    smaller `revised_in`, none coming last.
    """

    def rank(decision: Decision) -> tuple[Any, ...]:
        links = decision.superseded_by, decision.revised_in
        return _DECISION_ORDER.index(decision.status), *((link is None, link or "") for link in links)

    return min(ours, theirs, key=rank), ours.status.ended and theirs.status.ended


def _conflict_state(ours: Conflict, theirs: Conflict) -> tuple[Conflict | None, bool]:
    """Let any answer stand over OPEN; two answers are a conflict, and so are two reasons for none."""
    unanswered = ours.status is ConflictStatus.OPEN
    if unanswered == (theirs.status is ConflictStatus.OPEN):
        return None, True
    return theirs if unanswered else ours, False


def _candidate_state(ours: Candidate, theirs: Candidate) -> tuple[Candidate | None, bool]:
    """Let any answer stand over WAITING; two answers are a conflict."""
    if ours.status is CandidateStatus.WAITING:
        return theirs, False
    return (ours, False) if theirs.status is CandidateStatus.WAITING else (None, True)


def longer_text(ours: TranscriptPart, theirs: TranscriptPart) -> tuple[TranscriptPart, bool]:
    """Let the text stand that reaches further, then the longer one, then the greater one."""
    return max(ours, theirs, key=lambda kept: (kept.turn_range[::-1], len(kept.body), kept.body)), False


_SCOPE = ("project_name", "project_uuid")

RULES: dict[Kind, dict[str, Rule]] = {
    Kind.PROJECT: {"tags": lines},
    Kind.CONVERSATION: {
        "conversation_id": value,
        "title": value,
        "external_id": value,
        "session_id": value,
        "source": value,
        "turns": greater,
        "continues": lines,
        "brought": lines,
        "archived_as": lines,
        "created_at": earlier,
        "tags": lines,
    },
    Kind.THREAD: {
        "thread_id": value,
        "title": value,
        "priority": value,
        "local_id": value,
        "blocked_by": ids,
        "first_seen_in": value,
        "conversation_ids": ids,
        "created_at": earlier,
        "tags": lines,
    },
    Kind.DECISION: {
        "decision_id": value,
        "decision": value,
        "epistemic_tier": value,
        "tier_token": value,
        "local_id": value,
        "originated_in": value,
        "conversation_ids": ids,
        "dependencies": ids,
        "alternatives_rejected": lines,
        "created_at": earlier,
        "last_validated": later,
        "tags": lines,
    },
    Kind.LINEAGE: {"lineage_id": value, "compressions": compressions},
    Kind.CONFLICT: {
        "conflict_id": value,
        "nature": value,
        "similarity": value,
        "evidence": lines,
        "detected_at": earlier,
    },
    Kind.CANDIDATE: {
        "candidate_id": value,
        "candidate": value,
        "proposes": value,
        "confidence": value,
        "why": value,
        "conversation_id": value,
        "turn": greater,
        "local_id": value,
        "alternatives_rejected": lines,
        "created_at": earlier,
    },
    Kind.TRANSCRIPT: {
        "transcript_id": value,
        "title": value,
        "conversation_id": value,
        "created_at": earlier,
    },
    Kind.ARCHIVE: {
        "archive_id": value,
        "compression_tag": value,
        "compression_mode": value,
        "compressed_at": value,
        "turn_range": value,
        "conversation_id": value,
        "conversation_title": value,
        "conversation_started": value,
        "session_id": value,
        "external_id": value,
        "inherits_from": lines,
        "records": pairs,
    },
}
COMPRESSION_RULES: dict[str, Rule] = {
    "compression_tag": value,
    "compression_mode": value,
    "compressed_at": value,
    "turn_range": value,
    "decisions_carried": pairs,
    "decisions_dropped": pairs,
    "threads_carried": pairs,
    "threads_resolved": pairs,
}
GROUPS: dict[Kind, dict[tuple[str, ...], Choice]] = {
    Kind.PROJECT: {_SCOPE: _either},
    Kind.CONVERSATION: {_SCOPE: _either},
    Kind.THREAD: {_SCOPE: _either, STATE: thread_state},
    Kind.DECISION: {_SCOPE: _either, REVISION: _decision_state},
    Kind.LINEAGE: {_SCOPE: _either, ("source_conversation_id", "target_conversation_id"): _either},
    Kind.CONFLICT: {("decision_a", "decision_b"): _either, ("status", "kept", "reason"): _conflict_state},
    Kind.CANDIDATE: {_SCOPE: _either, ("status", "became"): _candidate_state},
    Kind.TRANSCRIPT: {_SCOPE: _either, ("turn_range", "body"): longer_text},
    Kind.ARCHIVE: {_SCOPE: _either, ("content_sha256", "body"): _either},
}
