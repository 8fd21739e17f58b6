"""Build each decision, thread and conversation from everything that archives state about it.

In: a `History`, the statements about one entity in the order of `ancestry`. Out: the entity. The first
statement gives its text and origin; the latest by event time gives tier and priority; an end wins over every
statement that shows the entity open, and of several ends the latest wins. A manual entry (registered by a
person) keeps its own text and takes state and conversations from the archives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from math import inf
from typing import Generic, TypeVar

from forgekit.frozen import frozen
from forgekit.ids import EntityId, pair_id
from forgekit.model.archive_record import DecisionRecord, ThreadRecord
from forgekit.model.entities import (
    Archive,
    Conflict,
    Conversation,
    Decision,
    DecisionStatus,
    Priority,
    Thread,
    ThreadStatus,
)
from forgekit.model.kinds import Kind, short_id
from forgekit.model.rules import statement, with_earlier_resolution, with_section
from forgekit.text.words import likeness
from forgekit.times import UNKNOWN, Instant

_ITEM_LIMIT = 300
_ITEMS_LIMIT = 50
_SAME = 0.6
"""From which likeness on two reasons are one."""

R = TypeVar("R", DecisionRecord, ThreadRecord)


@frozen()
class End:
    """A line of an archive by which a decision is no longer in force."""

    at: Instant
    archive: Archive
    status: DecisionStatus
    successor: EntityId | None
    line: int = 0

    @property
    def order(self) -> tuple[Instant, EntityId, str, str]:
        """Event time, then whatever else distinguishes two ends."""
        return self.at, self.archive.id, self.status.value, self.successor or ""


@dataclass(slots=True)
class History(Generic[R]):
    """Everything that archives state about one decision or thread.

    Attributes:
        origin, first: the archive that states it first, and its record.
        carried: archives that only carry a decision over.
        ends: of a decision.
        references: what a decision depends on, what blocks a thread.
    """

    origin: Archive
    first: R
    text: str
    statements: list[tuple[Archive, R]] = field(default_factory=list)
    carried: list[Archive] = field(default_factory=list)
    ends: list[End] = field(default_factory=list)
    references: set[EntityId] = field(default_factory=set)

    @property
    def by_time(self) -> list[tuple[Archive, R]]:
        """The statements in order of event time; of one moment a parent's before its child's."""
        return sorted(self.statements, key=lambda statement: statement[0].compressed_at)

    def drop_ends_before_return(self) -> None:
        """Drop the ends of a decision after which an archive states that it is in force again.

        Of archives of one moment, or without one, a parent is before its child.
        """
        places = {archive.id: (archive.compressed_at, n) for n, (archive, _) in enumerate(self.statements)}
        back = [places[archive.id] for archive, r in self.statements if getattr(r, "reinstated", False)]
        last = max(back, default=(-inf, 0))
        self.ends[:] = [end for end in self.ends if places.get(end.archive.id, (end.at, inf)) >= last]

    @property
    def validated(self) -> list[Instant]:
        """Times at which a decision was stated as in force, or carried."""
        active = [a for a, r in self.statements if not (r.status and r.status.ended)]
        return [archive.compressed_at for archive in active + self.carried]


def decision_of(entity: EntityId, history: History[DecisionRecord]) -> Decision:
    """Build a decision from its history."""
    origin, first = history.origin, history.first
    tiers = [record for _, record in history.by_time if record.tier is not None]
    end = final_end(history.ends)
    status = end.status if end else DecisionStatus.ACTIVE
    created = first.timestamp if first.timestamp is not None else origin.compressed_at
    records = [record for _, record in history.statements]
    in_force = [r for _, r in history.by_time if not (r.status and r.status.ended)]
    reasons = [record.rationale for record in records if record.rationale]
    rationale = _distinct(record.rationale for record in in_force) or next(iter(reasons), "")
    body = with_section("", "Rationale", rationale)
    body = with_section(body, "Context", next((r.context for r in records if r.context), ""))
    last = end.archive.id if end else ""
    why = next((r.rationale for archive, r in history.statements if archive.id == last and r.rationale), "")
    return Decision(
        decision_id=entity,
        decision=history.text,
        status=status,
        epistemic_tier=tiers[-1].tier if tiers else None,
        tier_token=tiers[-1].tier_token if tiers else None,
        project_name=origin.project_name,
        project_uuid=origin.project_uuid,
        local_id=_written_id(first),
        originated_in=origin.conversation_id,
        revised_in=end.archive.conversation_id if end and status is DecisionStatus.REVISED else None,
        superseded_by=end.successor if end else None,
        conversation_ids=_conversation_ids([a for a, _ in history.statements] + history.carried),
        dependencies=tuple(sorted(history.references)),
        alternatives_rejected=_union(record.alternatives for record in records),
        governs=_union(record.governs for record in records),
        created_at=created,
        last_validated=max([created, *history.validated]),
        tags=_union(record.tags for record in records),
        body=with_section(body, status.value.capitalize(), why) if why not in {"", rationale} else body,
    )


def _written_id(record: DecisionRecord | ThreadRecord) -> str | None:
    return record.local_id if record.number is None else record.number or None


def final_end(ends: Iterable[End]) -> End | None:
    """Return the end that counts: the last one, unless it only repeats an earlier one."""
    latest: End | None = None
    for end in sorted(ends, key=lambda end: end.order):
        if latest is None or end.status is not latest.status or end.successor not in (None, latest.successor):
            latest = end
    return latest


def thread_of(entity: EntityId, history: History[ThreadRecord]) -> Thread:
    """Build a thread from its history."""
    origin = history.origin
    by_time = history.by_time
    changes = _state_changes(history)
    status = changes[-1][1] if changes else ThreadStatus.OPEN
    records = [record for _, record in history.statements]
    body = with_section("", None, next((r.content for r in records if r.content), ""))
    if status.ended:
        answers = [r.resolution for _, r in by_time if r.status is status and r.resolution]
        body = with_section(body, "Resolution", changes[-1][2] or (answers[-1] if answers else ""))
    for (archive, ended, resolution), (_, state, _) in pairwise(changes):
        if ended.ended and not state.ended and resolution:
            body = with_earlier_resolution(body, archive.compressed_at, ended.value, resolution)
    states = [None, *(state for _, state, _ in changes)]
    changed = [a for (a, state, _), before in zip(changes, states, strict=False) if state is not before]
    priorities = [record.priority for _, record in by_time if record.priority is not None]
    waits = next((r.waits_for for _, r in reversed(by_time) if r.blocked_by is not None), ())
    return Thread(
        thread_id=entity,
        title=history.text,
        status=status,
        priority=priorities[-1] if priorities else Priority.MEDIUM,
        project_name=origin.project_name,
        project_uuid=origin.project_uuid,
        local_id=_written_id(history.first),
        blocked_by=tuple(sorted({*history.references, *_union([waits])})),
        first_seen_in=origin.conversation_id,
        resolved_in=changed[-1].conversation_id if status.ended else None,
        conversation_ids=_conversation_ids(archive for archive, _ in history.statements),
        created_at=origin.compressed_at,
        updated_at=changed[-1].compressed_at if changed else origin.compressed_at,
        tags=_union(record.tags for record in records),
        body=body,
    )


def _state_changes(history: History[ThreadRecord]) -> list[tuple[Archive, ThreadStatus, str]]:
    """Return the ends and explicit reopenings by event time, each as (archive, state, resolution).

    At one moment an end wins over a reopening: which came first is unknown. Of undated archives a parent is
    before its child.
    """
    states = [
        (archive, (not record.reopened and record.status) or ThreadStatus.OPEN, record.resolution)
        for archive, record in history.statements
        if record.reopened or (record.status is not None and record.status.ended)
    ]
    return sorted(states, key=_place_in_time)


def _place_in_time(change: tuple[Archive, ThreadStatus, str]) -> tuple[Instant, bool, str]:
    """Return what orders changes of a thread; those of undated archives stay as they are."""
    archive, state, _ = change
    is_dated = archive.compressed_at != UNKNOWN
    return archive.compressed_at, is_dated and state.ended, archive.id if is_dated else ""


def manual_decision(entry: Decision, history: History[DecisionRecord] | None) -> Decision:
    """Return a person's decision with the state that archives give it."""
    computed = decision_of(entry.id, history) if history else None
    return replace(
        entry,
        status=computed.status if computed else DecisionStatus.ACTIVE,
        superseded_by=computed.superseded_by if computed else None,
        revised_in=computed.revised_in if computed else None,
        conversation_ids=computed.conversation_ids if computed else (),
        last_validated=max([entry.created_at, *(history.validated if history else ())]),
    )


def manual_thread(entry: Thread, history: History[ThreadRecord] | None) -> Thread:
    """Return a person's thread with the state that archives give it; without any it is open."""
    computed = thread_of(entry.id, history) if history else None
    state = computed if history and _state_changes(history) else None
    return replace(
        entry,
        status=state.status if state else ThreadStatus.OPEN,
        updated_at=state.updated_at if state else entry.created_at,
        resolved_in=state.resolved_in if state else None,
        conversation_ids=computed.conversation_ids if computed else (),
        body=with_section(entry.body, "Resolution", state.resolution if state else ""),
    )


def _conversation_ids(archives: Iterable[Archive]) -> tuple[EntityId, ...]:
    return tuple(sorted({archive.conversation_id for archive in archives}))


def _distinct(texts: Iterable[str]) -> str:
    """Return the texts, a paragraph each, without those that nearly repeat an earlier one."""
    kept: list[str] = []
    for text in filter(None, texts):
        if all(likeness(text, other) < _SAME and text not in other for other in kept):
            kept.append(text)
    return "\n\n".join(kept[:_ITEMS_LIMIT])


def _union(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    found = dict.fromkeys(statement(item, _ITEM_LIMIT) for items in lists for item in items)
    return tuple(item for item in found if item)[:_ITEMS_LIMIT]


def revision_conflicts(
    histories: Mapping[EntityId, History[DecisionRecord]], decisions: Mapping[EntityId, Decision]
) -> Iterable[Conflict]:
    """Yield a conflict for each pair of active revisions of one decision."""
    for old, history in sorted(histories.items()):
        revised = {
            end.successor: end.at
            for end in sorted(history.ends, key=lambda end: end.order)
            if end.status is DecisionStatus.REVISED
            and end.successor is not None
            and decisions[end.successor].status is DecisionStatus.ACTIVE
        }
        for a, b in combinations(sorted(revised), 2):
            yield Conflict(
                conflict_id=pair_id(a, b),
                decision_a=a,
                decision_b=b,
                nature=f"two active revisions of {short_id(Kind.DECISION, old)}",
                evidence=tuple(decisions[x].decision for x in (a, b)),
                detected_at=max(revised[a], revised[b]),
            )


def conversations_of(archives: Sequence[Archive]) -> Iterable[Conversation]:
    """Yield the conversations that archives belong to."""
    by_id: dict[EntityId, list[Archive]] = defaultdict(list)
    for archive in archives:
        by_id[archive.conversation_id].append(archive)
    for conversation, group in by_id.items():
        first = group[0]
        yield Conversation(
            conversation_id=conversation,
            title=first.conversation_title,
            project_name=first.project_name,
            project_uuid=first.project_uuid,
            created_at=first.conversation_started,
            external_id=next((a.external_id for a in group if a.external_id), None),
            session_id=next((a.session_id for a in group if a.session_id), None),
        )
