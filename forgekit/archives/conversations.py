"""What archives and ingested conversations say together.

The fold speaks for the archives. An ingested conversation adds what its file remembers: what it continues,
which archives were written in it, and the records with an id of their own that were registered without a
review. A pure function of both, so the order of filing leaves no trace:

* an archive's conversation that an ingested one is recognised in bears its `external_id`, and both are one
  conversation to whoever follows the lineage; no id changes;
* a conversation continues what it names as soon as that is known, whichever came first;
* a record that an archive tells as well is the archive's.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from forgekit.archives.ancestry import names_of
from forgekit.archives.fold import FoldResult, Mention
from forgekit.archives.lineage_edges import once
from forgekit.ids import EntityId, decision_id, match_key, pair_id, thread_id
from forgekit.model.archive import Archive
from forgekit.model.body import with_section
from forgekit.model.candidate import Candidate, CandidateStatus, Proposal
from forgekit.model.conversation import Conversation
from forgekit.model.decision import Decision
from forgekit.model.entity import Entity
from forgekit.model.lineage import Compression, Lineage
from forgekit.model.project import UNSORTED
from forgekit.model.thread import Thread, ThreadStatus
from forgekit.times import Instant

STATUS = {
    Proposal.THREAD_OPEN: ThreadStatus.OPEN,
    Proposal.THREAD_BLOCKED: ThreadStatus.OPEN,
    Proposal.THREAD_RESOLVED: ThreadStatus.RESOLVED,
    Proposal.THREAD_ABANDONED: ThreadStatus.ABANDONED,
}


@dataclass(frozen=True, slots=True)
class Ingested:
    """What the files remember of ingested conversations; the conversations are those with a source.

    One that continues nothing, and that nothing names, adds nothing: it may be left out.
    """

    conversations: Sequence[Conversation]
    registered: Sequence[Candidate]

    @classmethod
    def of(cls, conversations: Iterable[Conversation], candidates: Iterable[Candidate]) -> Ingested:
        """Choose what counts, in the order of ids."""
        talks = sorted((c for c in conversations if c.source is not None), key=lambda c: c.id)
        own = sorted((c for c in candidates if c.status is CandidateStatus.REGISTERED), key=lambda c: c.id)
        return cls(talks, own)


def gather(said: FoldResult, ingested: Ingested) -> FoldResult:
    """Add what ingested conversations remember to what archives say."""
    if not ingested.conversations and not ingested.registered:
        return said
    entities = dict(said.entities)
    archives = [e for e in said.entities.values() if isinstance(e, Archive)]
    twins = _twins(ingested.conversations, archives)
    for stand_in, talk in twins.items():
        found = entities.get(stand_in)
        if isinstance(found, Conversation) and stand_in != talk.id:
            entities[stand_in] = replace(found, external_id=key_of(talk))
    group = {
        **{stand_in: talk.id for stand_in, talk in twins.items()},
        **{c.id: c.id for c in ingested.conversations},
    }
    for edge in _edges(ingested.conversations, archives, entities, group):
        entities[edge.id] = edge
    mentions: dict[Mention, EntityId] = dict(said.mentions)
    _register(ingested.registered, said, entities, mentions)
    return FoldResult(entities, mentions, said.problems)


def key_of(talk: Conversation) -> str:
    """Return what an archive's conversation bears that is this one: the platform's id, else its own."""
    return talk.external_id or talk.id


def _names(talk: Conversation) -> set[str]:
    return {name for name in (talk.external_id, talk.session_id, talk.id, *talk.archived_as) if name}


def _twins(talks: Sequence[Conversation], archives: Sequence[Archive]) -> dict[EntityId, Conversation]:
    """Return the ingested conversation that each archive's conversation is.

    Two projects may have given one tag. So a tag tells a conversation of the archive's own project, or one of
    which nobody said the project, where only one conversation was archived under it.
    """
    by_name: dict[str, list[Conversation]] = defaultdict(list)
    for talk in talks:
        for name in _names(talk):
            by_name[name].append(talk)
    tags = Counter(tag for tag, _ in {(a.compression_tag, a.conversation_id) for a in archives})
    twins: dict[EntityId, Conversation] = {}
    for archive in archives:
        for name in names_of(archive):
            found = by_name.get(name, [])
            near = [talk for talk in found if talk.project_uuid == archive.project_uuid]
            if name == archive.compression_tag:
                alone = tags[name] == 1
                others = [talk for talk in found if alone and talk.project_name == UNSORTED]
            else:
                others = found
            if near or others:
                twins.setdefault(archive.conversation_id, (near or others)[0])
                break
    return twins


def _edges(
    talks: Sequence[Conversation],
    archives: Sequence[Archive],
    entities: Mapping[EntityId, Entity],
    group: Mapping[EntityId, EntityId],
) -> Iterable[Lineage]:
    """Yield an edge from each source that a conversation names, but for those that archives tell of."""
    told = {
        frozenset(group.get(end, end) for end in (e.source_conversation_id, e.target_conversation_id))
        for e in entities.values()
        if isinstance(e, Lineage)
    }
    found: dict[frozenset[EntityId], tuple[EntityId, Conversation, list[Archive]]] = {}
    for source, talk, archive in _sources(talks, archives, group):
        sides = frozenset((group.get(source, source), talk.id))
        if sides in told or len(sides) == 1:
            continue
        first, child, given = found.setdefault(sides, (source, talk, []))
        if archive is not None and first == source and child is talk:
            given.append(archive)
    for source, talk, given in found.values():
        tags = {archive.compression_tag: archive for archive in given}
        yield Lineage(
            lineage_id=pair_id(source, talk.id),
            source_conversation_id=source,
            target_conversation_id=talk.id,
            project_name=talk.project_name,
            project_uuid=talk.project_uuid,
            compressions=tuple(_compression(tags[tag], talk, entities) for tag in sorted(tags)),
        )


def _sources(
    talks: Sequence[Conversation], archives: Sequence[Archive], group: Mapping[EntityId, EntityId]
) -> Iterable[tuple[EntityId, Conversation, Archive | None]]:
    """Yield what the names stand for that conversations continue: an archive's conversation, or another."""
    archived: dict[str, list[Archive]] = defaultdict(list)
    for archive in sorted(archives, key=lambda a: (a.compressed_at, a.id)):
        for name in names_of(archive):
            archived[name].append(archive)
    ingested: dict[str, list[Conversation]] = defaultdict(list)
    for talk in talks:
        for name in _names(talk):
            ingested[name].append(talk)
    for talk in sorted(talks, key=lambda c: (c.created_at, c.id)):
        for name in talk.continues:
            others = [a for a in archived.get(name, []) if group.get(a.conversation_id) != talk.id]
            near = _pick(talk, others)
            known = next((t for t in ingested.get(name, []) if t.id != talk.id), None)
            if near is not None:
                yield near.conversation_id, talk, near
            elif known is not None:
                yield known.id, talk, None


def _pick(talk: Conversation, archives: Sequence[Archive]) -> Archive | None:
    """Choose the archive of a name: of the own project before others, the last before the conversation."""
    near = [a for a in archives if a.project_uuid == talk.project_uuid] or archives
    earlier = [a for a in near if a.compressed_at <= talk.created_at]
    return earlier[-1] if earlier else near[0] if near else None


def _compression(archive: Archive, talk: Conversation, entities: Mapping[EntityId, Entity]) -> Compression:
    """Say what of an archive was pasted; where no record was, nothing is known to be left out."""
    brought = set(talk.brought)
    decided = [(local, e) for local, e in archive.records if isinstance(entities.get(e), Decision)]
    asked = [(local, e) for local, e in archive.records if isinstance(entities.get(e), Thread)]
    return Compression(
        compression_tag=archive.compression_tag,
        compression_mode=archive.compression_mode,
        compressed_at=archive.compressed_at,
        turn_range=archive.turn_range,
        decisions_carried=once(pair for pair in decided if pair[0] in brought),
        decisions_dropped=once(pair for pair in decided if brought and pair[0] not in brought),
        threads_carried=once(pair for pair in asked if pair[0] in brought),
    )


def _register(
    registered: Sequence[Candidate],
    said: FoldResult,
    entities: dict[EntityId, Entity],
    mentions: dict[Mention, EntityId],
) -> None:
    """Add what was registered without a review, but for what archives of the project tell as well."""
    told: dict[tuple[type[Entity], EntityId, str], EntityId] = {}
    for entity in said.entities.values():
        if isinstance(entity, (Decision, Thread)):
            told.setdefault((type(entity), entity.project_uuid, match_key(entity.title)), entity.id)
    threads: dict[tuple[EntityId, str], list[Candidate]] = defaultdict(list)
    for candidate in registered:
        if candidate.proposes is Proposal.DECISION:
            same = told.get((Decision, candidate.project_uuid, match_key(candidate.candidate)))
            decision = decision_from(candidate)
            mentions[candidate.id, ""] = same or decision.id
            if same is None:
                entities.setdefault(decision.id, decision)
        else:
            threads[candidate.conversation_id, candidate.local_id or candidate.id].append(candidate)
    for states in threads.values():
        states.sort(key=lambda c: (c.turn, c.created_at, c.id))
        same = told.get((Thread, states[0].project_uuid, match_key(states[0].candidate)))
        ends = [state for state in states if STATUS[state.proposes].ended]
        thread = thread_from(states[0], [states[0], *ends][-1])  # said open again, it stays ended
        mentions.update(((candidate.id, ""), same or thread.id) for candidate in states)
        if same is None:
            entities.setdefault(thread.id, thread)


def decision_from(candidate: Candidate) -> Decision:
    """Return the decision that a candidate becomes."""
    text = candidate.candidate
    conversation = candidate.conversation_id
    body = with_section("", "Rationale", candidate.rationale)
    return Decision(
        decision_id=decision_id(candidate.project_uuid, text, conversation, candidate.created_at),
        decision=text,
        project_name=candidate.project_name,
        project_uuid=candidate.project_uuid,
        local_id=candidate.local_id,
        originated_in=conversation,
        conversation_ids=(conversation,),
        alternatives_rejected=candidate.alternatives_rejected,
        created_at=candidate.created_at,
        last_validated=candidate.created_at,
        body=with_section(body, "Context", f"Turn {candidate.turn}: {candidate.quote}"),
    )


def thread_from(first: Candidate, last: Candidate) -> Thread:
    """Return the thread that candidates tell of: the first names it, the last says how it stands."""
    conversation = first.conversation_id
    status = STATUS[last.proposes]
    body = f"Turn {first.turn}: {first.quote}" if first.quote else ""
    body = with_section("", None, body)
    return Thread(
        thread_id=thread_id(first.project_uuid, first.candidate, conversation, first.created_at),
        title=first.candidate,
        status=status,
        project_name=first.project_name,
        project_uuid=first.project_uuid,
        local_id=first.local_id,
        first_seen_in=conversation,
        resolved_in=conversation if status.ended else None,
        conversation_ids=(conversation,),
        created_at=Instant(first.created_at),
        updated_at=Instant(last.created_at),
        body=with_section(body, "Resolution", last.quote) if status.ended else body,
    )
