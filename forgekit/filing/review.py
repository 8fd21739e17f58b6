"""A person's answers to candidates: approve, merge, reject, reword.

What is approved becomes a decision or a thread that names its conversation, at the time of the turn, or of
the approval where nobody said when the turn was; a thread that ended is ended where one of that title stands,
else registered as it stands. The answer stays with the candidate, so that none is offered twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice

from forgekit.archives.conversations import STATUS, decision_from, thread_from
from forgekit.change import COMMITTED, WriteOptions, superseding
from forgekit.detecting import against
from forgekit.errors import NotFoundError, TransitionError, UsageError
from forgekit.forge import Forge
from forgekit.ids import EntityId, match_key
from forgekit.model.body import with_section
from forgekit.model.candidate import Candidate, CandidateStatus, Proposal
from forgekit.model.conflict import Conflict
from forgekit.model.conversation import Conversation
from forgekit.model.decision import Decision
from forgekit.model.entity import Entity
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry
from forgekit.model.rules import statement
from forgekit.model.thread import Thread
from forgekit.model.transcript import TranscriptPart, part_id
from forgekit.store import Change, Outcome
from forgekit.text.transcript import Message, read_messages
from forgekit.text.words import words
from forgekit.times import UNKNOWN, Instant

AROUND = 200
"""Characters shown before and after a quote."""
ALIKE = 3
_LOOKED_AT = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """A candidate that waits, and what is registered that says the same."""

    candidate: Candidate
    same: EntityId | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Reviewed:
    """What answers came to.

    Attributes:
        answered: the candidates as they stand now.
        entities: decisions and threads that were made or changed.
        conflicts: new ones.
    """

    outcome: Outcome
    answered: tuple[Candidate, ...]
    entities: tuple[Entity, ...]
    conflicts: tuple[Conflict, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answers:
    """What a person says to candidates, by id.

    Attributes:
        merge: (candidate, decision or thread that says it already).
        titles: the words to register, where they are others.
    """

    approve: frozenset[EntityId] = frozenset()
    reject: frozenset[EntityId] = frozenset()
    merge: tuple[tuple[EntityId, EntityId], ...] = ()
    titles: tuple[tuple[EntityId, str], ...] = ()

    def and_(self, more: Answers) -> Answers:
        """Return these and more."""
        return Answers(
            approve=self.approve | more.approve,
            reject=self.reject | more.reject,
            merge=(*self.merge, *more.merge),
            titles=(*self.titles, *more.titles),
        )


def waiting(forge: Forge, project: str | None = None) -> list[Waiting]:
    """Return the candidates that wait, the surest first.

    Raises NotFoundError for a project that is not known.
    """
    registry = forge.registry()
    owner = forge.known_project(project, registry).id if project is not None else None
    chosen = [
        c
        for c in registry.candidates
        if c.status is CandidateStatus.WAITING and (owner is None or c.project_uuid == owner)
    ]
    known = _by_text(registry)
    found = [Waiting(candidate=c, same=known.get(_key(c))) for c in chosen]
    return sorted(found, key=lambda w: (-w.candidate.confidence, w.candidate.id))


def _key(candidate: Candidate) -> tuple[Kind, EntityId, str]:
    kind = Kind.DECISION if candidate.proposes is Proposal.DECISION else Kind.THREAD
    return kind, candidate.project_uuid, match_key(candidate.candidate)


def _by_text(registry: Registry) -> dict[tuple[Kind, EntityId, str], EntityId]:
    known: dict[tuple[Kind, EntityId, str], EntityId] = {}
    entities: list[Decision | Thread] = [*registry.decisions, *registry.threads]
    for entity in sorted(entities, key=lambda entity: entity.status.ended):
        known.setdefault((entity.kind, entity.project_uuid, match_key(entity.title)), entity.id)
    return known


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What a person looks at beside a candidate.

    Attributes:
        title: of the conversation, "" if it is not registered.
        speaker: whose turn it was; "" where the text is not kept, and so are the words around.
        before, after: the words around the quote.
        alike: registered decisions or threads that share most of its words, the nearest first.
    """

    title: str
    speaker: str
    before: str
    after: str
    alike: tuple[Decision | Thread, ...]


def seen(forge: Forge, item: Waiting) -> Seen:
    """Return what stands around a candidate, and what is registered that is alike."""
    registry = forge.registry()
    candidate = item.candidate
    talk = registry.get(candidate.conversation_id)
    message = _message(registry, candidate)
    before, after = "", ""
    if message is not None and (at := message.text.find(candidate.quote)) >= 0:
        end = at + len(candidate.quote)
        before, after = message.text[max(0, at - AROUND) : at], message.text[end : end + AROUND]
    return Seen(
        title=talk.title if talk is not None else "",
        speaker=message.speaker.value if message is not None else "",
        before=before,
        after=after,
        alike=tuple(_alike(forge, registry, item)),
    )


def _message(registry: Registry, candidate: Candidate) -> Message | None:
    """Return the turn of a candidate, where it is kept."""
    talk = registry.get(candidate.conversation_id)
    started = talk.created_at if isinstance(talk, Conversation) else UNKNOWN
    for number in count(1):
        part = registry.get(part_id(candidate.conversation_id, number, started))
        if not isinstance(part, TranscriptPart):
            return None
        if part.turn_range[0] <= candidate.turn <= part.turn_range[1]:
            found = (m for m in read_messages([part.body]) if m.number == candidate.turn)
            return next(found, None)
    return None


def _alike(forge: Forge, registry: Registry, item: Waiting) -> Iterator[Decision | Thread]:
    candidate = item.candidate
    kind = _key(candidate)[0]
    own = set(words(candidate.candidate))
    same = registry.get(item.same) if item.same is not None else None
    if isinstance(same, (Decision, Thread)):
        yield same
    hits = forge.catalogue.search(
        candidate.candidate, kinds=(kind,), project=candidate.project_uuid, limit=_LOOKED_AT
    )
    others = (registry.get(hit.id) for hit in hits if hit.id != item.same)
    near = (
        found
        for found in others
        if isinstance(found, (Decision, Thread)) and 2 * len(own & set(words(found.title))) >= len(own) > 0
    )
    yield from islice(near, ALIKE)


def above(candidates: Sequence[Waiting], confidence: float) -> frozenset[EntityId]:
    """Return the candidates of at least a confidence."""
    return frozenset(w.candidate.id for w in candidates if w.candidate.confidence >= confidence)


def answer(forge: Forge, answers: Answers, options: WriteOptions = COMMITTED) -> Reviewed:
    """Do what a person says, in one commit.

    Raises NotFoundError, TransitionError for a candidate that was answered before, for one that says what was
    decided and is out of force, and for an end of a thread that was opened again after it, UsageError for
    two answers to one.
    """
    given = [*answers.approve, *answers.reject, *(candidate for candidate, _ in answers.merge)]
    if len(given) != len(set(given)):
        raise UsageError("one candidate is answered twice; say one thing of each")
    outcome = forge.commit(
        lambda: _decide(forge, answers), dry_run=options.dry_run, no_commit=options.no_commit
    )
    found = outcome.change.result
    assert isinstance(found, tuple)  # noqa: S101 - what _decide put there
    answered, entities = found
    return Reviewed(
        outcome=outcome,
        answered=answered,
        entities=tuple(e for e in entities if e.kind in {Kind.DECISION, Kind.THREAD}),
        conflicts=tuple(e for e in entities if isinstance(e, Conflict)),
    )


def _decide(forge: Forge, answers: Answers) -> Change:
    registry = forge.registry()
    titles = dict(answers.titles)
    known = _by_text(registry)
    now = forge.now()
    writes: dict[EntityId, Entity] = {}
    answered: dict[EntityId, Candidate] = {}
    for key in sorted(titles.keys() - answers.approve):
        found = _waiting(registry, key)
        answered[key] = replace(found, candidate=_words(titles[key]))
    for key in sorted(answers.reject):
        answered[key] = replace(_waiting(registry, key), status=CandidateStatus.REJECTED)
    for key, target in sorted(answers.merge):
        found = _waiting(registry, key)
        into = writes.get(target) or registry.get(target)
        if not isinstance(into, (Decision, Thread)):
            raise NotFoundError("decision or thread", target)
        writes[target] = _joined(into, _timed(found, now))
        answered[key] = replace(found, status=CandidateStatus.MERGED, became=target)
    for key in sorted(answers.approve, key=lambda key: (_waiting(registry, key).created_at, key)):
        found = _waiting(registry, key)
        if key in titles:
            found = replace(found, candidate=_words(titles[key]))
        same = known.get(_key(found))
        made = _approved(_timed(found, now), writes.get(same) or registry.get(same) if same else None)
        known.setdefault(_key(found), made.id)
        writes[made.id] = made
        answered[key] = replace(found, status=CandidateStatus.APPROVED, became=made.id)
    changed = [entity for key, entity in writes.items() if registry.get(key) != entity]
    entities = against(forge, registry, changed) if changed else []
    projects = [p for c in answered.values() for p in forge.new_project(c.project_name, registry)]
    return _change(tuple(answered.values()), entities, projects)


def _change(
    answered: tuple[Candidate, ...], entities: Sequence[Entity], projects: Sequence[Entity]
) -> Change:
    noun = short_id(Kind.CANDIDATE, answered[0].id) if len(answered) == 1 else f"{len(answered)} candidates"
    every = {e.id: e for e in (*entities, *answered, *projects)}
    return Change(
        writes=tuple(every.values()),
        deletes=(),
        subject=f"review: {noun}",
        trailers=(
            ("Forgekit-Op", "review"),
            *(("Forgekit-Entity", entity) for entity in every),
            *(("Forgekit-Conversation", c) for c in sorted({c.conversation_id for c in answered})),
            *superseding(entities),
        ),
        result=(answered, tuple(entities)),
    )


def _waiting(registry: Registry, key: EntityId) -> Candidate:
    found = registry.get(key)
    if not isinstance(found, Candidate):
        raise NotFoundError("candidate", key, "`forgekit review` lists those that wait")
    if found.status is not CandidateStatus.WAITING:
        raise TransitionError(f"{short_id(Kind.CANDIDATE, key)} is already {found.status.value}")
    return found


def _approved(candidate: Candidate, standing: Entity | None) -> Decision | Thread:
    """Return what a candidate becomes, beside what stands that says the same; errors as of `_joined`."""
    if isinstance(standing, (Decision, Thread)):
        return _joined(standing, candidate)
    return (
        decision_from(candidate)
        if candidate.proposes is Proposal.DECISION
        else thread_from(candidate, candidate)
    )


def _timed(candidate: Candidate, now: Instant) -> Candidate:
    return replace(candidate, created_at=now) if candidate.created_at == UNKNOWN else candidate


def reworded(title: str) -> str:
    """Return a person's words as a candidate bears them, "" if none are left."""
    return statement(title)


def _words(title: str) -> str:
    text = reworded(title)
    if not text:
        raise UsageError("a candidate needs words; say --title TEXT")
    return text


def _joined(standing: Decision | Thread, candidate: Candidate) -> Decision | Thread:
    """Return what is registered, said once more by a candidate's conversation.

    Raises TransitionError for a decision that is out of force, and for an end of a thread that was opened
    again after it.
    """
    talks = tuple(sorted({*standing.conversation_ids, candidate.conversation_id}))
    at = candidate.created_at
    if isinstance(standing, Decision):
        if standing.status.ended:
            known, found = short_id(Kind.DECISION, standing.id), short_id(Kind.CANDIDATE, candidate.id)
            raise TransitionError(
                f"{known} says what {found} says and is {standing.status.value}; reject {found}, or decide "
                f"it again with `forgekit decision new` and approve {found} then"
            )
        return replace(standing, conversation_ids=talks, last_validated=max(standing.last_validated, at))
    status = STATUS.get(candidate.proposes)
    if status is None or not status.ended or standing.status.ended:
        return replace(standing, conversation_ids=talks)
    # A thread begins open, so that a later change of state of an open one is its reopening.
    if standing.created_at < standing.updated_at > at:
        thread, found = short_id(Kind.THREAD, standing.id), short_id(Kind.CANDIDATE, candidate.id)
        raise TransitionError(
            f"{thread} was opened again after the end that {found} tells of; reject {found}, "
            f"or end it now: `forgekit thread resolve {thread}`"
        )
    return replace(
        standing,
        conversation_ids=talks,
        status=status,
        resolved_in=candidate.conversation_id,
        updated_at=max(at, standing.updated_at),
        body=with_section(standing.body, "Resolution", candidate.quote),
    )


def named(forge: Forge, names: Collection[str]) -> frozenset[EntityId]:
    """Return the candidates that a person means.

    Raises NotFoundError or AmbiguousError.
    """
    return frozenset(forge.resolve(name, Kind.CANDIDATE) for name in names)
