"""Join what archives say with what ingested conversations say.

In: the fold of the archives, and the ingested conversations with the records that they registered without a
review (those with an id of their own). Out: one `FoldResult` of both, whatever came first. Steps:

1. `_twins`: an archive's conversation that is an ingested one gets its `external_id`; no id changes;
2. `_edges`: a conversation gets an edge from each conversation or archive that it names as its source;
3. `_register`: its records are added, but for those that an archive of the project states as well.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from forgekit.archives.ancestry import by_names, closest, moment, names_of, unique_pairs
from forgekit.archives.fold import FoldResult, Mention
from forgekit.frozen import frozen, replace
from forgekit.ids import EntityId, candidate_id, decision_id, match_key, pair_id, thread_id
from forgekit.model.archive_record import PossibleRecord
from forgekit.model.entities import (
    Archive,
    Candidate,
    CandidateStatus,
    Compression,
    Conversation,
    Decision,
    Entity,
    Lineage,
    Priority,
    Proposal,
    Thread,
    ThreadStatus,
)
from forgekit.model.kinds import UNSORTED
from forgekit.model.rules import statement, with_section
from forgekit.times import Instant

STATUS = {
    Proposal.THREAD_OPEN: ThreadStatus.OPEN,
    Proposal.THREAD_BLOCKED: ThreadStatus.OPEN,
    Proposal.THREAD_RESOLVED: ThreadStatus.RESOLVED,
    Proposal.THREAD_ABANDONED: ThreadStatus.ABANDONED,
}

_PROPOSED = {status: proposal for proposal, status in STATUS.items() if status.ended}
QUOTE_LIMIT = 2_000
"""Characters of a candidate's quote and reason."""


@frozen()
class Ingested:
    """The ingested conversations (those with a source), and the candidates that were registered.

    A conversation that continues nothing and that nothing names may be left out.
    """

    conversations: Sequence[Conversation]
    registered: Sequence[Candidate]

    @classmethod
    def of(cls, conversations: Iterable[Conversation], candidates: Iterable[Candidate]) -> Ingested:
        """Choose what counts, in the order of ids."""
        ingested = sorted((c for c in conversations if c.source is not None), key=lambda c: c.id)
        own = sorted((c for c in candidates if c.status is CandidateStatus.REGISTERED), key=lambda c: c.id)
        return cls(ingested, own)


def gather(folded: FoldResult, ingested: Ingested) -> FoldResult:
    """Add what ingested conversations say to what archives say."""
    if not ingested.conversations and not ingested.registered:
        return folded
    entities = dict(folded.entities)
    archives = sorted((e for e in entities.values() if isinstance(e, Archive)), key=moment)
    twins = _twins(ingested.conversations, archives)
    for key, conversation in twins.items():
        found = entities.get(key)
        if isinstance(found, Conversation) and key != conversation.id:
            entities[key] = replace(found, external_id=key_of(conversation))
    same = {key: conversation.id for key, conversation in twins.items()}
    same |= {c.id: c.id for c in ingested.conversations}
    for edge in _edges(ingested.conversations, archives, entities, same):
        entities[edge.id] = edge
    mentions = dict(folded.mentions)
    _register(ingested.registered, folded, entities, mentions)
    return FoldResult(entities, mentions, folded.problems)


def key_of(conversation: Conversation) -> str:
    """Return the `external_id` of an archive's conversation that is this one."""
    return conversation.external_id or conversation.id


def _by_name(conversations: Iterable[Conversation]) -> dict[str, list[Conversation]]:
    found: dict[str, list[Conversation]] = defaultdict(list)
    for c in conversations:
        for name in {c.external_id, c.session_id, c.id, *c.archived_as}:
            if name:
                found[name].append(c)
    return found


def _twins(
    conversations: Sequence[Conversation], archives: Sequence[Archive]
) -> dict[EntityId, Conversation]:
    """Return the ingested conversation that each archive's conversation is.

    Two projects may have given one tag. So a tag identifies a conversation of the archive's own project, or
    an unsorted one if only one conversation was archived under the tag.
    """
    by_name = _by_name(conversations)
    tags = Counter(tag for tag, _ in {(a.compression_tag, a.conversation_id) for a in archives})
    twins: dict[EntityId, Conversation] = {}
    for archive in archives:
        for name in names_of(archive):
            found = by_name.get(name, [])
            near = [c for c in found if c.project_uuid == archive.project_uuid]
            if name == archive.compression_tag:
                found = [c for c in found if tags[name] == 1 and c.project_name == UNSORTED]
            if near or found:
                twins.setdefault(archive.conversation_id, (near or found)[0])
                break
    return twins


def _edges(
    conversations: Sequence[Conversation],
    archives: Sequence[Archive],
    entities: Mapping[EntityId, Entity],
    same: Mapping[EntityId, EntityId],
) -> Iterable[Lineage]:
    """Yield an edge from each source that a conversation names, unless archives have one between the two."""
    known = {
        frozenset(same.get(end, end) for end in (e.source_conversation_id, e.target_conversation_id))
        for e in entities.values()
        if isinstance(e, Lineage)
    }
    found: dict[frozenset[EntityId], tuple[EntityId, Conversation, list[Archive]]] = {}
    for source, child, archive in _sources(conversations, archives, same):
        sides = frozenset((same.get(source, source), child.id))
        if sides in known or len(sides) == 1:
            continue
        first, target, pasted = found.setdefault(sides, (source, child, []))
        if archive is not None and first == source and target is child:
            pasted.append(archive)
    for source, child, pasted in found.values():
        tags = {archive.compression_tag: archive for archive in pasted}
        yield Lineage(
            lineage_id=pair_id(source, child.id),
            source_conversation_id=source,
            target_conversation_id=child.id,
            project_name=child.project_name,
            project_uuid=child.project_uuid,
            compressions=tuple(_compression(tags[tag], child, entities) for tag in sorted(tags)),
        )


def _sources(
    conversations: Sequence[Conversation], archives: Sequence[Archive], same: Mapping[EntityId, EntityId]
) -> Iterable[tuple[EntityId, Conversation, Archive | None]]:
    """Yield (source, child, archive) for each name in `continues`; archives come before conversations."""
    archived, ingested = by_names(archives), _by_name(conversations)
    for child in sorted(conversations, key=lambda c: (c.created_at, c.id)):
        for name in child.continues:
            others = [a for a in archived.get(name, ()) if same.get(a.conversation_id) != child.id]
            parent = closest(others, child.project_uuid, (child.created_at + 1, ""))
            known = next((c for c in ingested.get(name, ()) if c.id != child.id), None)
            if parent is not None:
                yield parent.conversation_id, child, parent
            elif known is not None:
                yield known.id, child, None


def _compression(archive: Archive, child: Conversation, entities: Mapping[EntityId, Entity]) -> Compression:
    """Return what of an archive was pasted; if no record was, nothing counts as dropped."""
    brought = set(child.brought)
    decisions = [(local, e) for local, e in archive.records if isinstance(entities.get(e), Decision)]
    threads = [(local, e) for local, e in archive.records if isinstance(entities.get(e), Thread)]
    return Compression(
        compression_tag=archive.compression_tag,
        compression_mode=archive.compression_mode,
        compressed_at=archive.compressed_at,
        turn_range=archive.turn_range,
        decisions_carried=unique_pairs(pair for pair in decisions if pair[0] in brought),
        decisions_dropped=unique_pairs(pair for pair in decisions if brought and pair[0] not in brought),
        threads_carried=unique_pairs(pair for pair in threads if pair[0] in brought),
    )


def _register(
    registered: Sequence[Candidate],
    folded: FoldResult,
    entities: dict[EntityId, Entity],
    mentions: dict[Mention, EntityId],
) -> None:
    """Add the registered candidates, but for those that archives of the project state as well."""
    known: dict[tuple[type[Entity], EntityId, str], EntityId] = {}
    for entity in folded.entities.values():
        if isinstance(entity, (Decision, Thread)):
            known.setdefault((type(entity), entity.project_uuid, match_key(entity.title)), entity.id)
    threads: dict[tuple[EntityId, str], list[Candidate]] = defaultdict(list)
    made: list[tuple[Decision | Thread, Sequence[Candidate]]] = []
    for candidate in registered:
        if candidate.proposes.decides:
            made.append((decision_from(candidate), [candidate]))
        else:
            threads[candidate.conversation_id, candidate.local_id or candidate.id].append(candidate)
    for states in threads.values():
        states.sort(key=lambda c: (c.turn, c.created_at, c.id))
        ends = [c for c in states if STATUS[c.proposes].ended]  # a later "open" does not reopen it
        made.append((thread_from(states[0], [states[0], *ends][-1]), states))
    for entity, group in made:
        same = known.get((type(entity), group[0].project_uuid, match_key(group[0].candidate)))
        mentions.update(((candidate.id, ""), same or entity.id) for candidate in group)
        if same is None:
            entities.setdefault(entity.id, entity)


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
        epistemic_tier=candidate.epistemic_tier,
        originated_in=conversation,
        conversation_ids=(conversation,),
        dependencies=candidate.dependencies,
        alternatives_rejected=candidate.alternatives_rejected,
        governs=candidate.governs,
        created_at=candidate.created_at,
        last_validated=candidate.created_at,
        body=with_section(body, "Context", _circumstances(candidate)),
    )


def _circumstances(candidate: Candidate) -> str:
    """Return the quoted words of the conversation, and the context that an agent gives."""
    return "\n\n".join(filter(None, (candidate.quoted, candidate.context)))


def candidate_from(archive: Archive, found: PossibleRecord) -> Candidate:
    """Return the candidate for what an archive's running text may state."""
    text, started = statement(found.text), archive.conversation_started
    status = ThreadStatus(found.status) if found.kind == "T" and found.status else ThreadStatus.OPEN
    proposes = Proposal.DECISION if found.kind == "D" else _PROPOSED.get(status, Proposal.THREAD_OPEN)
    body = with_section("", "Quote", found.quote[:QUOTE_LIMIT])
    return Candidate(
        candidate_id=candidate_id(archive.conversation_id, started, proposes.value, text),
        candidate=text,
        proposes=proposes,
        confidence=round(found.sure, 2),
        why=f"read out of the text of {archive.compression_tag}, line {found.line}",
        project_name=archive.project_name,
        project_uuid=archive.project_uuid,
        conversation_id=archive.conversation_id,
        turn=0,
        alternatives_rejected=found.alternatives,
        created_at=archive.compressed_at,
        body=with_section(body, "Rationale", found.rationale),
    )


def thread_from(first: Candidate, last: Candidate) -> Thread:
    """Return the thread that candidates propose: the first gives the title, the last the state."""
    conversation = first.conversation_id
    status = STATUS[last.proposes]
    body = with_section("", None, _circumstances(first))
    return Thread(
        thread_id=thread_id(first.project_uuid, first.candidate, conversation, first.created_at),
        title=first.candidate,
        status=status,
        priority=first.priority or Priority.MEDIUM,
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
