"""What the archives say, all of them together: `said = fold(archives)`.

A pure function of a set. Archives speak in the order of `ancestry`; each record is matched to what was
spoken of before it (`carrying`) or begins something new. State follows event time: a resolution found
anywhere stands over every OPEN, older or newer; between two ends the later event wins; only an explicit
reopening reopens. So any order of filing ends in the same entities.

What people registered is spoken of before any archive: a record that says the same is theirs, and adds to
it who said it, when, and how it ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from forgekit.archives.aggregate import (
    DecisionNotes,
    End,
    ThreadNotes,
    conversations_of,
    decision_of,
    revision_conflicts,
    thread_of,
)
from forgekit.archives.ancestry import ancestry
from forgekit.archives.lineage_edges import (
    Contribution,
    Reference,
    edges,
    links,
    local_ids,
    parted,
    take_out_circles,
)
from forgekit.archives.matching import EntityIndex
from forgekit.ids import EntityId, decision_id, thread_id
from forgekit.model.archive import Archive
from forgekit.model.archive_record import ArchiveText, DecisionRecord, Scope, ThreadRecord
from forgekit.model.body import with_section
from forgekit.model.decision import Decision, DecisionStatus
from forgekit.model.entity import Entity
from forgekit.model.kinds import Kind, short_id
from forgekit.model.problem import Problem, Severity
from forgekit.model.project import Project
from forgekit.model.rules import statement
from forgekit.model.thread import Thread, ThreadStatus
from forgekit.times import Instant


def decided(standing: Decision, told: Decision | None, notes: DecisionNotes | None) -> Decision:
    """Return a person's decision as archives tell of it."""
    said = [*notes.carried, *(a for a, r in notes.told if not (r.status and r.status.ended))] if notes else []
    return replace(
        standing,
        status=told.status if told else DecisionStatus.ACTIVE,
        superseded_by=told.superseded_by if told else None,
        revised_in=told.revised_in if told else None,
        conversation_ids=told.conversation_ids if told else (),
        last_validated=max([standing.created_at, *(archive.compressed_at for archive in said)]),
    )


def asked(standing: Thread, told: Thread | None, notes: ThreadNotes | None) -> Thread:
    """Return a person's thread as archives tell of it: open since it was made, but for what they say."""
    turned = notes is not None and any(r.reopened or (r.status and r.status.ended) for _, r in notes.told)
    last = told if turned else None
    return replace(
        standing,
        status=last.status if last else ThreadStatus.OPEN,
        updated_at=last.updated_at if last else standing.created_at,
        resolved_in=last.resolved_in if last else None,
        conversation_ids=told.conversation_ids if told else (),
        body=with_section(standing.body, "Resolution", last.resolution if last else ""),
    )


Mention = tuple[EntityId, str]
"""(archive, local id)."""


@dataclass(frozen=True, slots=True)
class FoldResult:
    """What a set of archives says.

    Attributes:
        entities: all that they establish, archives with their `records` included.
        mentions: which entity each archive's local id stands for.
        problems: what could not be joined, by archive.
    """

    entities: Mapping[EntityId, Entity] = field(default_factory=dict)
    mentions: Mapping[Mention, EntityId] = field(default_factory=dict)
    problems: Mapping[EntityId, tuple[Problem, ...]] = field(default_factory=dict)


def fold(
    archives: Iterable[tuple[Archive, ArchiveText]], standing: Iterable[Decision | Thread] = ()
) -> FoldResult:
    """Join what archives say.

    Args:
        archives: each archive with what was read from its text, in any order.
        standing: what stands in the registry and no archive made, the likeliest first.
    """
    return _Fold(archives, standing).result()


def ids_of_records(archives: Iterable[tuple[Archive, ArchiveText]]) -> set[EntityId]:
    """Return the ids of all that the archives' records may have made."""
    found: set[EntityId] = set()
    for archive, text in archives:
        found.update(_decision(archive, record)[0] for record in text.decisions)
        found.update(_thread(archive, record)[0] for record in text.threads)
    return found


def _decision(archive: Archive, record: DecisionRecord) -> tuple[EntityId, str]:
    """Return the id and text of the decision that a record makes."""
    text = statement(record.text) or record.local_id
    talk, started = archive.conversation_id, archive.conversation_started
    return decision_id(archive.project_uuid, text, talk, started), text


def _thread(archive: Archive, record: ThreadRecord) -> tuple[EntityId, str]:
    """Return the id and title of the thread that a record makes."""
    title = statement(record.title) or record.local_id
    talk, started = archive.conversation_id, archive.conversation_started
    return thread_id(archive.project_uuid, title, talk, started), title


class _Fold:
    """Carries the state of one fold from archive to archive."""

    def __init__(
        self, archives: Iterable[tuple[Archive, ArchiveText]], standing: Iterable[Decision | Thread]
    ) -> None:
        pairs = list(archives)
        self.texts = {archive.id: text for archive, text in pairs}
        self.ancestry = ancestry(archive for archive, _ in pairs)
        self.decisions: dict[EntityId, DecisionNotes] = {}
        self.threads: dict[EntityId, ThreadNotes] = {}
        self.known_decisions = EntityIndex()
        self.known_threads = EntityIndex(renamed=True)
        self.standing = {entity.id: entity for entity in standing}
        for entity in self.standing.values():
            known = self.known_decisions if isinstance(entity, Decision) else self.known_threads
            known.add(entity.id, entity.project_uuid, entity.title)
        self.own: dict[EntityId, dict[str, EntityId]] = {}
        self.visible: dict[EntityId, dict[str, EntityId]] = {}
        self.named: dict[str, list[Archive]] = defaultdict(list)
        self.ended_at: dict[EntityId, Instant] = {}
        self.rests: list[Reference] = []
        self.waits: dict[EntityId, list[Reference]] = {}
        self.problems: dict[EntityId, list[Problem]] = defaultdict(list)
        for archive, tag in self.ancestry.waiting:
            self._note(archive, None, "parent-not-filed", f"its parent {tag} has not been filed yet")

    def _note(self, archive: Archive, line: int | None, code: str, message: str, fix: str = "") -> None:
        """Note a finding; what a person may mend is a warning."""
        severity = Severity.WARNING if fix else Severity.INFO
        self.problems[archive.id].append(
            Problem(code=code, message=message, line=line, fix=fix, severity=severity)
        )

    def result(self) -> FoldResult:
        for archive in self.ancestry.order:
            self._take(archive)
        entities: dict[EntityId, Entity] = {}
        for archive in self.ancestry.order:
            entities.setdefault(
                archive.project_uuid,
                Project(project_uuid=archive.project_uuid, project_name=archive.project_name),
            )
            filed = replace(archive, records=local_ids(self.own[archive.id]))
            entities[archive.id] = filed
        for conversation in conversations_of(self.ancestry.order):
            entities[conversation.id] = conversation
        self._break_circles()
        decisions = {key: decision_of(key, notes) for key, notes in self.decisions.items()}
        threads = {key: thread_of(key, notes) for key, notes in self.threads.items()}
        for entity in self.standing.values():
            if isinstance(entity, Decision):
                told = decisions.get(entity.id)
                decisions[entity.id] = decided(entity, told, self.decisions.get(entity.id))
            else:
                threads[entity.id] = asked(entity, threads.get(entity.id), self.threads.get(entity.id))
        entities.update(decisions)
        entities.update(threads)
        entities.update((c.id, c) for c in revision_conflicts(self.decisions, decisions))
        self.ended_at = {
            key: min(end.at for end in notes.ends) for key, notes in self.decisions.items() if notes.ends
        }
        joined, back = links(self.ancestry, [self._speaker(a) for a in self.ancestry.order])
        for parent, child in (pair for pairs in back.values() for pair in pairs):
            self._leads_back(
                child.archive,
                None,
                child.archive.compression_tag,
                "continues",
                parent.archive.compression_tag,
            )
        for edge in edges(joined):
            entities[edge.id] = edge
        mentions = {
            (archive, local): entity for archive, own in self.own.items() for local, entity in own.items()
        }
        return FoldResult(entities, mentions, {key: tuple(found) for key, found in self.problems.items()})

    def _break_circles(self) -> None:
        """Settle what rests on, waits for and replaces what, but for what leads back to itself."""
        rests, turned = parted(self.rests)
        waits, back = parted(reference for said in self.waits.values() for reference in said)
        for reference in (*turned, *back):
            self._leads_back(reference.archive, reference.line, *reference.said)
        for me, target in (reference.ends for reference in rests):
            self.decisions[me].dependencies[target] = None
        for me, target in (reference.ends for reference in waits):
            self.threads[me].blocked_by = tuple(sorted({*self.threads[me].blocked_by, target}))
        for old, end in take_out_circles(self.decisions):
            names = [short_id(Kind.DECISION, key) for key in (old, end.successor) if key]
            self._leads_back(end.archive, end.line, names[0], "is replaced by", names[1])

    def _leads_back(self, archive: Archive, line: int | None, one: str, verb: str, other: str) -> None:
        message = f"{one} {verb} {other}, and that leads back to {one}; this was left out"
        self._note(archive, line, "leads-back", message, "say it one way only")

    def _lineage(self, archive: Archive) -> list[dict[str, EntityId]]:
        return [self.visible[p.id] for p in self.ancestry.parents[archive.id] if p.id in self.visible]

    def _take(self, archive: Archive) -> None:
        text = self.texts[archive.id]
        own = self.own[archive.id] = {}
        lineage = self._lineage(archive)
        for record in text.carried:
            self._carry(archive, record, lineage, own)
        for decision in text.decisions:
            self._decide(archive, decision, lineage, own)
        for thread in text.threads:
            self._ask(archive, thread, lineage, own)
        inherited: dict[str, EntityId] = {}
        for ids in reversed(lineage):
            inherited.update(ids)
        self.visible[archive.id] = {**inherited, **own}
        for name in {archive.compression_tag, archive.conversation_id}:
            self.named[name].append(archive)
        self._refer(archive, text, inherited)

    def _carry(
        self,
        archive: Archive,
        record: DecisionRecord,
        lineage: Sequence[Mapping[str, EntityId]],
        own: dict[str, EntityId],
    ) -> None:
        known = self.known_decisions
        entity = self._meant(known, archive, record, statement(record.text), lineage, inherited=True)
        if entity is None:
            message = f"{record.local_id} is carried from an archive that has not been filed yet"
            self._note(archive, record.line, "carried-unknown", message)
            return
        self._notes(entity, archive, record).carried.append(archive)
        own[record.local_id] = entity

    def _decide(
        self,
        archive: Archive,
        record: DecisionRecord,
        lineage: Sequence[Mapping[str, EntityId]],
        own: dict[str, EntityId],
    ) -> None:
        made, text = _decision(archive, record)
        entity = self._meant(self.known_decisions, archive, record, text, lineage)
        if entity is None and self._misnames(archive, record, self.known_decisions):
            return
        if entity is None:
            entity = made
            self.known_decisions.add(entity, archive.project_uuid, text)
        self._notes(entity, archive, record).told.append((archive, record))
        own[record.local_id] = entity

    def _ask(
        self,
        archive: Archive,
        record: ThreadRecord,
        lineage: Sequence[Mapping[str, EntityId]],
        own: dict[str, EntityId],
    ) -> None:
        made, title = _thread(archive, record)
        entity = self._meant(self.known_threads, archive, record, title, lineage)
        if entity is None and self._misnames(archive, record, self.known_threads):
            return
        if entity is None:
            entity = made
            self.known_threads.add(entity, archive.project_uuid, title)
        self.threads.setdefault(entity, ThreadNotes(archive, record, title)).told.append((archive, record))
        own[record.local_id] = entity

    def _misnames(self, archive: Archive, record: DecisionRecord | ThreadRecord, known: EntityIndex) -> bool:
        """Say, and note, that a record has nothing but an id by which nothing of that text is known."""
        named, letter = known.named(record.entity), "D" if known is self.known_decisions else "T"
        there = named is not None and known.projects[named] == archive.project_uuid
        alone = record.local_id == record.entity
        if there:
            kept = "left out" if alone else "taken for a new decision"
            message = f"{record.entity} reads otherwise in the registry; the line was {kept}"
            name = f"{letter}001" if alone else record.local_id
            fix = f"write it as `{name} (revises {record.entity}): ...` if it replaces that"
            self._note(archive, record.line, "id-reads-otherwise", message, fix)
        elif alone:
            message = f"{record.entity} is not known in this project; the line was left out"
            fix = f"write it as `{letter}001: ...` if it is new"
            self._note(archive, record.line, "unknown-id", message, fix)
        return alone

    def _notes(self, entity: EntityId, archive: Archive, record: DecisionRecord) -> DecisionNotes:
        """Return what is said of a decision, begun by this record where nothing was."""
        text = self.known_decisions.texts[entity]
        return self.decisions.setdefault(entity, DecisionNotes(archive, record, text))

    def _named(self, archive: Archive, name: str | None) -> Archive | None:
        """Return the archive of a tag or conversation: a parent, else the last of the project, else any."""
        parents = {parent.id for parent in self.ancestry.parents[archive.id]}
        found = reversed(self.named.get(name or "", ()))
        return max(
            found, key=lambda a: (a.id in parents, a.project_uuid == archive.project_uuid), default=None
        )

    def _meant(
        self,
        known: EntityIndex,
        archive: Archive,
        record: DecisionRecord | ThreadRecord,
        text: str,
        lineage: Sequence[Mapping[str, EntityId]],
        *,
        inherited: bool = False,
    ) -> EntityId | None:
        """Return the entity that a record speaks of, or None for a new one; `inherited` whatever it says."""
        source = self._named(archive, record.inherited_from)
        renewed = isinstance(record, DecisionRecord) and record.local_id in record.revises
        return known.match(
            text,
            project=archive.project_uuid,
            lineage=[self.visible[source.id], *lineage] if source else lineage,
            local_id="" if renewed else record.local_id,
            inherited=inherited or record.scope is Scope.INHERITED,
            short=record.entity,
        )

    def _refer(self, archive: Archive, text: ArchiveText, inherited: Mapping[str, EntityId]) -> None:
        """Join what the archive's records say of each other, once all of them are known."""
        visible = self.visible[archive.id]
        for record in text.decisions:
            if record.local_id in self.own[archive.id]:
                self._refer_decision(archive, record, inherited)
        for thread in text.threads:
            if thread.blocked_by is not None and thread.local_id in self.own[archive.id]:
                me = visible[thread.local_id]
                self.waits.pop(me, None)  # who speaks last is asked last
                self.waits[me] = [
                    Reference(archive, thread.line, (thread.local_id, "waits for", local), (me, target))
                    for local in thread.blocked_by
                    if (
                        target := self._find(
                            archive, visible, local, self.known_threads, line=thread.line, me=me
                        )
                    )
                ]

    def _refer_decision(
        self, archive: Archive, record: DecisionRecord, inherited: Mapping[str, EntityId]
    ) -> None:
        visible, known = self.visible[archive.id], self.known_decisions
        me = visible[record.local_id]
        for local in record.dependencies or ():
            if target := self._find(archive, visible, local, known, line=record.line, me=me):
                said = record.local_id, "rests on", local
                self.rests.append(Reference(archive, record.line, said, (me, target)))
        if record.superseded_by is None:
            successor = None
        else:
            successor = self._find(archive, visible, record.superseded_by, known, line=record.line, me=me)
        self._end(archive, record, me, successor)
        for local in record.revises:
            before = inherited if local == record.local_id else visible
            if old := self._find(archive, before, local, known, line=record.line, me=me):
                end = End(archive.compressed_at, archive, DecisionStatus.REVISED, me, record.line)
                self._notes(old, archive, record).ends.append(end)

    def _find(
        self,
        archive: Archive,
        visible: Mapping[str, EntityId],
        name: str,
        known: EntityIndex,
        *,
        line: int,
        me: EntityId,
    ) -> EntityId | None:
        """Return the entity of a local or short id or `TAG:D003`, other than the record's own."""
        tag, _, local = name.rpartition(":")
        if tag:
            source = self._named(archive, tag)
            entity = self.visible[source.id].get(local) if source else None
        else:
            entity = visible.get(name) or known.named(name if "_" in name else None)
        if entity is None or entity not in known.texts:
            self._note(archive, line, "unknown-reference", f"{name} is not known here")
            return None
        return entity if entity != me else None

    def _end(
        self, archive: Archive, record: DecisionRecord, me: EntityId, successor: EntityId | None
    ) -> None:
        status = record.status or DecisionStatus.ACTIVE
        if successor is not None and status is DecisionStatus.ACTIVE:
            status = DecisionStatus.SUPERSEDED
        if status.ended:
            kept = None if status is DecisionStatus.INVALIDATED else successor
            self.decisions[me].ends.append(End(archive.compressed_at, archive, status, kept, record.line))

    def _speaker(self, archive: Archive) -> Contribution:
        text = self.texts[archive.id]
        return Contribution(
            archive=archive,
            own=self.own[archive.id],
            decisions=frozenset(self.decisions),
            ended_at=self.ended_at,
            ended=frozenset(
                self.own[archive.id][record.local_id]
                for record in text.threads
                if record.status is not None
                and record.status.ended
                and record.local_id in self.own[archive.id]
            ),
            summary=text.summary,
        )
