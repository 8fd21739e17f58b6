"""Everything that archives said of one decision or one thread, and the entity that follows from it.

Told in the order of `ancestry`, judged by event time: whoever spoke last decides the tier and the
priority; an end stands over every statement; the first to speak gives the text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from forgekit.ids import EntityId, pair_id
from forgekit.model.archive import Archive
from forgekit.model.archive_record import DecisionRecord, ThreadRecord
from forgekit.model.body import with_section
from forgekit.model.conflict import Conflict
from forgekit.model.conversation import Conversation
from forgekit.model.decision import Decision, DecisionStatus
from forgekit.model.kinds import Kind, short_id
from forgekit.model.rules import statement
from forgekit.model.thread import Priority, Thread, ThreadStatus
from forgekit.times import Instant

_ITEM_LIMIT = 300
_ITEMS_LIMIT = 50


@dataclass(frozen=True, slots=True)
class End:
    """One archive says, on a line, that a decision is out of force."""

    at: Instant
    archive: Archive
    status: DecisionStatus
    successor: EntityId | None
    line: int = 0

    @property
    def order(self) -> tuple[Instant, EntityId, str, str]:
        """By event time, then by whatever else tells two ends apart."""
        return self.at, self.archive.id, self.status.value, self.successor or ""


@dataclass(slots=True)
class DecisionNotes:
    """Everything said of one decision so far."""

    origin: Archive
    first: DecisionRecord
    text: str
    told: list[tuple[Archive, DecisionRecord]] = field(default_factory=list)
    carried: list[Archive] = field(default_factory=list)
    ends: list[End] = field(default_factory=list)
    dependencies: dict[EntityId, None] = field(default_factory=dict)


@dataclass(slots=True)
class ThreadNotes:
    """Everything said of one thread so far."""

    origin: Archive
    first: ThreadRecord
    text: str
    told: list[tuple[Archive, ThreadRecord]] = field(default_factory=list)
    blocked_by: tuple[EntityId, ...] = ()


def _moment(told: tuple[Archive, object]) -> tuple[Instant, EntityId]:
    return told[0].compressed_at, told[0].id


def _in_time_order(archives: Iterable[Archive]) -> tuple[EntityId, ...]:
    return tuple(sorted({a.conversation_id for a in archives}))


def decision_of(entity: EntityId, notes: DecisionNotes) -> Decision:
    """Return the decision that follows from all that was said of it."""
    origin, first = notes.origin, notes.first
    by_time = sorted(notes.told, key=_moment)
    tiers = [record for _, record in by_time if record.tier is not None]
    latest = standing_end(notes.ends)
    status = latest.status if latest else DecisionStatus.ACTIVE
    reviser = latest.archive.conversation_id if latest else None
    stated = [
        archive.compressed_at
        for archive, record in notes.told
        if record.status is None or not record.status.ended
    ]
    carried = [archive.compressed_at for archive in notes.carried]
    created = first.timestamp if first.timestamp is not None else origin.compressed_at
    body = ""
    for name, texts in (
        ("Rationale", (record.rationale for _, record in notes.told)),
        ("Context", (record.context for _, record in notes.told)),
    ):
        body = with_section(body, name, next((text for text in texts if text), ""))
    return Decision(
        decision_id=entity,
        decision=notes.text,
        status=status,
        epistemic_tier=tiers[-1].tier if tiers else None,
        tier_token=tiers[-1].tier_token if tiers else None,
        project_name=origin.project_name,
        project_uuid=origin.project_uuid,
        local_id=first.local_id,
        originated_in=origin.conversation_id,
        revised_in=reviser if status is DecisionStatus.REVISED else None,
        superseded_by=latest.successor if latest else None,
        conversation_ids=_in_time_order([a for a, _ in notes.told] + notes.carried),
        dependencies=tuple(sorted(notes.dependencies)),
        alternatives_rejected=_union(record.alternatives for _, record in notes.told),
        created_at=created,
        last_validated=max([created, *stated, *carried]),
        tags=_union(record.tags for _, record in notes.told),
        body=body,
    )


def standing_end(ends: Iterable[End]) -> End | None:
    """Return the end that stands: the last one, unless it only says an earlier one again."""
    latest: End | None = None
    for end in sorted(ends, key=lambda end: end.order):
        if latest is None or end.status is not latest.status or end.successor not in (None, latest.successor):
            latest = end
    return latest


def _union(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    found = dict.fromkeys(statement(item, _ITEM_LIMIT) for items in lists for item in items)
    return tuple(item for item in found if item)[:_ITEMS_LIMIT]


def _stood(record: ThreadRecord) -> ThreadStatus:
    return ThreadStatus.OPEN if record.reopened else record.status or ThreadStatus.OPEN


def thread_of(entity: EntityId, notes: ThreadNotes) -> Thread:
    """Return the thread that follows from all that was said of it."""
    origin, first = notes.origin, notes.first
    by_time = sorted(notes.told, key=_moment)
    turns = [
        (archive, record)
        for archive, record in by_time
        if record.reopened or (record.status is not None and record.status.ended)
    ]
    # At one moment an end stands over a reopening: nothing says which came first.
    turns.sort(key=lambda told: (told[0].compressed_at, not told[1].reopened, told[0].id))
    states = [_stood(record) for _, record in turns]
    status = states[-1] if states else ThreadStatus.OPEN
    changes = [
        archive
        for (archive, _), was, now in zip(turns, [None, *states], states, strict=False)
        if was is not now
    ]
    body = with_section("", None, next((r.content for _, r in notes.told if r.content), ""))
    if status.ended:
        answers = [r.resolution for _, r in by_time if r.status is status and r.resolution]
        body = with_section(body, "Resolution", turns[-1][1].resolution or (answers[-1] if answers else ""))
    priorities = [record.priority for _, record in by_time if record.priority is not None]
    return Thread(
        thread_id=entity,
        title=notes.text,
        status=status,
        priority=priorities[-1] if priorities else Priority.MEDIUM,
        project_name=origin.project_name,
        project_uuid=origin.project_uuid,
        local_id=first.local_id,
        blocked_by=notes.blocked_by,
        first_seen_in=origin.conversation_id,
        resolved_in=changes[-1].conversation_id if status.ended else None,
        conversation_ids=_in_time_order(a for a, _ in notes.told),
        created_at=origin.compressed_at,
        updated_at=changes[-1].compressed_at if changes else origin.compressed_at,
        tags=_union(record.tags for _, record in notes.told),
        body=body,
    )


def revision_conflicts(
    said: Mapping[EntityId, DecisionNotes], decisions: Mapping[EntityId, Decision]
) -> Iterable[Conflict]:
    """Yield a conflict for each pair of active revisions of one decision."""
    for old, notes in sorted(said.items()):
        revised = {
            end.successor: end.at
            for end in sorted(notes.ends, key=lambda end: end.order)
            if end.status is DecisionStatus.REVISED
            and end.successor is not None
            and decisions[end.successor].status is DecisionStatus.ACTIVE
        }
        successors = sorted(revised)
        for index, a in enumerate(successors):
            for b in successors[index + 1 :]:
                yield Conflict(
                    conflict_id=pair_id(a, b),
                    decision_a=a,
                    decision_b=b,
                    nature=f"two active revisions of {short_id(Kind.DECISION, old)}",
                    evidence=tuple(decisions[x].decision for x in (a, b)),
                    detected_at=max(revised[a], revised[b]),
                )


def conversations_of(order: Sequence[Archive]) -> Iterable[Conversation]:
    """Yield the conversations that archives stand for."""
    by_id: dict[EntityId, list[Archive]] = defaultdict(list)
    for archive in order:
        by_id[archive.conversation_id].append(archive)
    for conversation, archives in by_id.items():
        first = archives[0]
        yield Conversation(
            conversation_id=conversation,
            title=first.conversation_title,
            project_name=first.project_name,
            project_uuid=first.project_uuid,
            created_at=first.conversation_started,
            external_id=next((a.external_id for a in archives if a.external_id), None),
            session_id=next((a.session_id for a in archives if a.session_id), None),
        )
