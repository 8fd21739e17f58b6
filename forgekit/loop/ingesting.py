"""Conversations on their way in: each becomes an entity, and what stands in it is filed, in one commit.

Ingesting again changes nothing; a conversation that has grown adds its new turns. What is filed follows from
all conversations and archives together, so their order leaves no trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from forgekit.detecting import Filing, filing
from forgekit.forge import Forge
from forgekit.ids import EntityId
from forgekit.loop.compression import same_archive
from forgekit.loop.facts import facts
from forgekit.loop.incoming import Arrival
from forgekit.loop.unpacking import Placing, Unpacked, unpack
from forgekit.model.candidate import Candidate, CandidateStatus
from forgekit.model.conflict import Conflict
from forgekit.model.conversation import Conversation
from forgekit.model.entity import Entity, entity_path
from forgekit.model.kept import KeptText
from forgekit.model.kinds import Kind, short_id
from forgekit.model.problem import Problem, Severity
from forgekit.model.registry import Registry
from forgekit.model.transcript import Transcript
from forgekit.policy.fold import fold
from forgekit.policy.gathering import Ingested, gather
from forgekit.policy.merge.tables import longer_text
from forgekit.policy.settling import Settlement, settle
from forgekit.store.store import Change, Outcome
from forgekit.writing import COMMITTED, How, superseding


@dataclass(frozen=True, kw_only=True, slots=True)
class Filed:
    """What became of one conversation.

    Attributes:
        state: `new`, `joined` to one that was known by name, `grown` or `unchanged`.
        candidates: that are new and wait for review.
    """

    conversation: Conversation
    state: str
    placed: str
    turns: int
    candidates: int


@dataclass(frozen=True, kw_only=True, slots=True)
class IngestReport:
    """What one ingest did.

    Attributes:
        archives: that are new.
        registered: decisions and threads that are new or changed.
        edges: lineage edges that are new.
        candidates: that are new and wait for review.
        redacted: number of secrets by rule.
        problems: what could not be read, and what is doubtful.
        contradictions: new conflicts of decisions.
    """

    outcome: Outcome
    filed: tuple[Filed, ...]
    archives: int
    registered: int
    edges: int
    candidates: tuple[Candidate, ...]
    redacted: Mapping[str, int]
    problems: tuple[Problem, ...]
    contradictions: tuple[Conflict, ...]


@dataclass(frozen=True, slots=True)
class _Decided:
    """What was decided, for the report."""

    filed: tuple[Filed, ...]
    archives: int
    settlement: Settlement
    ours: Registry
    candidates: tuple[Candidate, ...]
    problems: tuple[Problem, ...]
    found: tuple[Conflict, ...]


def ingest(
    forge: Forge,
    found: Iterable[Transcript | Problem],
    *,
    project: str = "",
    with_text: bool | None = None,
    how: How = COMMITTED,
    progress: Callable[[int], None] | None = None,
) -> IngestReport:
    """File conversations and what stands in them, in one commit.

    Args:
        forge: the registry.
        found: conversations and what could not be read, as the readers yield them.
        project: where a conversation belongs of which nothing else says so.
        with_text: whether the whole text is kept; as the settings say where None. A text that is kept
            already is kept up to date in any case.
        how: dry run, or without a commit.
        progress: told how many conversations were read.
    """
    ours = forge.registry()
    placing = Placing(known=_known(ours), patterns=forge.settings.projects, default=project)
    wanted = forge.settings.keep_text if with_text is None else with_text
    keep = None if wanted else {kept.conversation_id for kept in ours.transcripts}
    read: list[Unpacked] = []
    problems: list[Problem] = []
    for one in found:
        if isinstance(one, Problem):
            problems.append(one)
            continue
        unpacked = unpack(one, placing, keep=keep, allowed=forge.allowed)
        read.append(unpacked)
        title = unpacked.conversation.title
        problems += [replace(p, path=p.path or title) for p in unpacked.problems]
        if progress is not None:
            progress(len(read))
    outcome = forge.commit(lambda: _decide(forge, read), dry_run=how.dry_run, no_commit=how.no_commit)
    decided = outcome.change.result
    assert isinstance(decided, _Decided)  # noqa: S101 - what _decide put there
    redacted: Counter[str] = Counter()
    for unpacked in read:
        redacted.update(unpacked.redacted)
    writes = decided.settlement.writes
    edges = [e for e in writes if e.kind is Kind.LINEAGE and e.id not in decided.ours.entities]
    return IngestReport(
        outcome=outcome,
        filed=decided.filed,
        archives=decided.archives,
        registered=sum(e.kind in {Kind.DECISION, Kind.THREAD} for e in writes),
        edges=len(edges),
        candidates=decided.candidates,
        redacted=dict(sorted(redacted.items())),
        problems=(*problems, *decided.problems),
        contradictions=decided.found,
    )


def _known(registry: Registry) -> dict[str, Conversation]:
    """Return the conversations by the platform's id; those that stand for an archive are none of them."""
    stand_ins = {archive.conversation_id for archive in registry.archives}
    return {
        talk.external_id: talk
        for talk in reversed(registry.conversations)
        if talk.external_id and (talk.source is not None or talk.id not in stand_ins)
    }


def _decide(forge: Forge, read: list[Unpacked]) -> Change:
    ours = forge.registry()
    talks: dict[EntityId, Conversation] = {}
    kept: dict[EntityId, KeptText] = {}
    candidates: dict[EntityId, Candidate] = {}
    for unpacked in read:
        talk = unpacked.conversation
        talks[talk.id] = _grown(talks.get(talk.id) or _conversation(ours, talk.id), talk)
        for text in unpacked.kept:
            standing = kept.get(text.id) or ours.get(text.id)
            kept[text.id] = _longer(standing if isinstance(standing, KeptText) else None, text)
        for candidate in unpacked.candidates:
            if candidate.id not in ours.entities:
                candidates.setdefault(candidate.id, candidate)
    arrived, problems = _arrived(ours, [pair for unpacked in read for pair in unpacked.archives])
    known = facts(forge.catalogue, ours.archives)
    standing_talks = ours.conversations
    others = (talk for talk in standing_talks if talk.id not in talks)
    before = gather(fold(known), Ingested.of(standing_talks, ours.candidates))
    after = gather(
        fold([*known, *arrived]),
        Ingested.of([*others, *talks.values()], [*ours.candidates, *candidates.values()]),
    )
    done = Filing(Settlement((), (), {}, ()), ())
    if before != after:
        done = filing(forge, ours, after, settle(before, after, ours))
    writes: dict[EntityId, Entity] = {entity.id: entity for entity in done.settlement.writes}
    for talk in talks.values():
        settled = writes.get(talk.id)
        writes[talk.id] = _grown(settled, talk) if isinstance(settled, Conversation) else talk
        for project in forge.new_project(talk.project_name, ours):
            writes.setdefault(project.id, project)
    writes |= {**kept, **candidates}
    changed = tuple(entity for key, entity in sorted(writes.items()) if ours.get(key) != entity)
    waiting = tuple(c for c in candidates.values() if c.status is CandidateStatus.WAITING)
    filed = tuple(_filed(ours, unpacked, talks, waiting, first=first) for first, unpacked in _once(read))
    decided = _Decided(filed, len(arrived), done.settlement, ours, waiting, tuple(problems), done.found)
    moved = sorted({f.conversation.id for f in filed if f.state != "unchanged"})
    subject = (
        f"ingest: {short_id(Kind.CONVERSATION, moved[0])}"
        if len(moved) == 1
        else f"ingest: {len(moved)} conversations"
    )
    return Change(
        writes=changed,
        deletes=tuple(entity_path(entity) for entity in done.settlement.deletes),
        subject=subject,
        trailers=(
            ("Forgekit-Op", "ingest"),
            *(("Forgekit-Conversation", talk) for talk in moved),
            *(("Forgekit-Archive", archive.id) for archive, _ in arrived),
            *superseding(done.settlement.writes),
        ),
        result=decided,
    )


def _conversation(ours: Registry, key: EntityId) -> Conversation | None:
    found = ours.get(key)
    return found if isinstance(found, Conversation) else None


def _grown(standing: Conversation | None, told: Conversation) -> Conversation:
    """Return a conversation with what an export adds; what people may edit stays as it is."""
    if standing is None:
        return told
    return replace(
        standing,
        external_id=standing.external_id or told.external_id,
        session_id=standing.session_id or told.session_id,
        source=standing.source or told.source,
        turns=max(standing.turns or 0, told.turns or 0),
        continues=_united(standing.continues, told.continues),
        brought=_united(standing.brought, told.brought),
        archived_as=_united(standing.archived_as, told.archived_as),
    )


def _united(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    return a if set(b) <= set(a) else tuple(sorted({*a, *b}))


def _longer(standing: KeptText | None, text: KeptText) -> KeptText:
    if standing is None:
        return text
    chosen = longer_text(standing, text)[0]
    return replace(standing, turn_range=chosen.turn_range, body=chosen.body)


def _arrived(ours: Registry, arrivals: Iterable[Arrival]) -> tuple[list[Arrival], list[Problem]]:
    """Return the archives that are new, each once; another text under the same name is told."""
    filed = {archive.id: archive for archive in ours.archives}
    hashes = {archive.content_sha256 for archive in ours.archives}
    new: dict[EntityId, Arrival] = {}
    problems: list[Problem] = []
    for archive, text in sorted(arrivals, key=lambda pair: (pair[0].compressed_at, pair[0].id)):
        standing = filed.get(archive.id) or new.get(archive.id, (None,))[0]
        if standing is not None and not same_archive(standing, archive):
            name = short_id(Kind.ARCHIVE, archive.id)
            message = f"{name} ({archive.compression_tag}) is filed with another text, which stands"
            problems.append(Problem(code="archive-differs", message=message, severity=Severity.WARNING))
        elif standing is None and archive.content_sha256 not in hashes:
            hashes.add(archive.content_sha256)
            new[archive.id] = archive, text
            problems += [
                replace(p, path=archive.compression_tag)
                for p in text.problems
                if p.severity is Severity.ERROR
            ]
    return list(new.values()), problems


def _once(read: Iterable[Unpacked]) -> Iterable[tuple[bool, Unpacked]]:
    """Say of each whether it is the first of its conversation."""
    seen: set[EntityId] = set()
    for unpacked in read:
        yield unpacked.conversation.id not in seen, unpacked
        seen.add(unpacked.conversation.id)


def _filed(
    ours: Registry,
    unpacked: Unpacked,
    talks: Mapping[EntityId, Conversation],
    waiting: Iterable[Candidate],
    *,
    first: bool,
) -> Filed:
    talk = talks[unpacked.conversation.id]
    standing = _conversation(ours, talk.id)
    if not first:
        state = "unchanged"
    elif standing is None:
        state = "new"
    elif standing.source is None:
        state = "joined"
    else:
        grew = (talk.turns or 0) > (standing.turns or 0)
        lacks = any(text.id not in ours.entities for text in unpacked.kept)
        state = "grown" if grew or lacks or talk != standing else "unchanged"
    own = [c for c in waiting if c.conversation_id == talk.id]
    return Filed(
        conversation=talk,
        state=state,
        placed=unpacked.placed,
        turns=max((talk.turns or 0) - ((standing.turns or 0) if standing else 0), 0) if first else 0,
        candidates=len(own) if first else 0,
    )
