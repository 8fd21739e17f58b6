"""Candidates: proposed by agents, and answered by people who approve, merge, reject or reword them.

An approved candidate becomes a decision or a thread that names its conversation, dated by its turn; without a
date it has none. The end of a thread ends the registered thread of that title, else it is
registered as an ended one. The answer stays with the candidate, so that it is not offered again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import count, islice

from forgekit.archives.conversations import STATUS, decision_from, thread_from
from forgekit.change import Written, origin_of, subject_of, superseding, typed, word_of, write
from forgekit.errors import NotFoundError, RuleError, TransitionError, UsageError
from forgekit.extraction.statements import TAKES_BACK
from forgekit.forge import COMMITTED, Forge, WriteOptions
from forgekit.frozen import frozen, replace
from forgekit.governing import given_patterns
from forgekit.ids import EntityId, candidate_id, match_key, project_id
from forgekit.model.entities import (
    Candidate,
    CandidateStatus,
    Conversation,
    Decision,
    DecisionStatus,
    Entity,
    Priority,
    Proposal,
    Thread,
    TranscriptPart,
    part_id,
)
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry
from forgekit.model.rules import statement, with_section
from forgekit.store import Change, Outcome
from forgekit.text.transcript import Message, read_messages
from forgekit.text.words import words
from forgekit.times import UNKNOWN, Instant

CONFIDENCE = 0.5
"""Of what an agent proposes: nobody has measured how often it is right."""
AROUND = 200
"""Characters shown before and after a quote."""
ALIKE = 3
_LOOKED_AT = 20
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@frozen(kw_only=True)
class Waiting:
    """A candidate that waits for review.

    Attributes:
        same: the registered entity with the same text.
        again: further waiting candidates of the project with the same text.
    """

    candidate: Candidate
    same: EntityId | None
    again: tuple[EntityId, ...] = ()

    @property
    def ids(self) -> frozenset[EntityId]:
        """The candidate and those with its text: one answer is for all of them."""
        return frozenset((self.candidate.id, *self.again))


@frozen(kw_only=True)
class Reviewed:
    """The result of a review.

    Attributes:
        answered: the candidates with their new status.
        entities: decisions and threads that were made or changed.
    """

    outcome: Outcome
    answered: tuple[Candidate, ...]
    entities: tuple[Entity, ...]


@frozen(kw_only=True)
class Answers:
    """A person's answers, by candidate.

    Attributes:
        merge: (candidate, decision or thread with the same content, or the thread whose end it is).
        revise: (candidate, decision whose place it takes, or the candidate that waits and is approved along).
        titles: the text to register instead of the candidate's.
    """

    approve: frozenset[EntityId] = frozenset()
    reject: frozenset[EntityId] = frozenset()
    merge: tuple[tuple[EntityId, EntityId], ...] = ()
    revise: tuple[tuple[EntityId, EntityId], ...] = ()
    titles: tuple[tuple[EntityId, str], ...] = ()

    @property
    def answered(self) -> list[EntityId]:
        """The candidates, each as often as it has an answer."""
        return [*self.approve, *self.reject, *(key for key, _ in (*self.merge, *self.revise))]

    def and_(self, more: Answers) -> Answers:
        """Return these and more."""
        return Answers(
            approve=self.approve | more.approve,
            reject=self.reject | more.reject,
            merge=(*self.merge, *more.merge),
            revise=(*self.revise, *more.revise),
            titles=(*self.titles, *more.titles),
        )


def propose(
    forge: Forge,
    proposes: Proposal,
    text: str,
    *,
    conversation: str,
    why: str,
    rationale: str = "",
    context: str = "",
    quote: str = "",
    tier: float | None = None,
    dependencies: Iterable[str] = (),
    alternatives: Iterable[str] = (),
    governs: Iterable[str] = (),
    priority: Priority | str | None = None,
    project: str | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """File a candidate; one that is filed already is returned as it is.

    Args:
        conversation: its source, by any name; an unknown uuid is registered along.
        context, tier, dependencies, alternatives, governs: of the decision, as `decisions.create` takes them.
        quote: how the thread ended.
        priority: of the thread.
        project: a project's name, else the conversation's.

    Raises RuleError for a text that is too long and for that of a decision in force, NotFoundError,
    UsageError.
    """
    line = typed(text, "the reason")
    bases, governed = (
        forge.resolve_all(dependencies, Kind.DECISION),
        tuple(dict.fromkeys(given_patterns(governs))),
    )
    urgency = word_of(Priority, "priority", priority)
    rejected = tuple(dict.fromkeys(statement(each, 300) for each in alternatives))

    def decide(registry: Registry) -> list[Entity]:
        origin = origin_of(forge, registry, project, conversation, None)
        source = origin.conversation or EntityId("")
        candidate = Candidate(
            candidate_id=candidate_id(source, origin.at, proposes.value, line),
            candidate=line,
            proposes=proposes,
            confidence=CONFIDENCE,
            why=why,
            project_name=origin.project,
            project_uuid=project_id(origin.project),
            conversation_id=source,
            turn=0,
            epistemic_tier=tier,
            dependencies=bases,
            alternatives_rejected=rejected,
            governs=governed,
            priority=urgency,
            created_at=origin.at,
            body=with_section(
                with_section(with_section("", "Quote", quote), "Rationale", rationale), "Context", context
            ),
        )
        known = registry.get(candidate.id)
        same = forge.titled(Kind.DECISION, line, candidate.project_uuid) if proposes.decides else []
        for each in same if known is None else ():
            if isinstance(each, Decision) and not each.status.ended:
                raise RuleError(f"{short_id(each.kind, each.id)} of {origin.project} says the same; use it")
        return [known] if known is not None else [candidate, *origin.beside]

    return write(forge, decide, "candidate new", options)


def waiting(forge: Forge, project: str | None = None) -> list[Waiting]:
    """Return the candidates that wait for review, as they were said: by conversation, the oldest first.

    Candidates with one text are one item, placed as the oldest: the surest with the others as `again`.

    Raises NotFoundError for an unknown project.
    """
    registry = forge.registry()
    owner = forge.known_project(project, registry).id if project is not None else None
    known = _by_text(registry)

    def begun(candidate: Candidate) -> Instant:
        conversation = registry.get(candidate.conversation_id)
        return conversation.created_at if isinstance(conversation, Conversation) else candidate.created_at

    found = sorted(
        (
            c
            for c in registry.candidates
            if c.status is CandidateStatus.WAITING and (owner is None or c.project_uuid == owner)
        ),
        key=lambda c: (begun(c), c.conversation_id, c.turn, -c.confidence, c.id),
    )
    alike: dict[object, list[Candidate]] = defaultdict(list)
    for each in found:
        alike[each.proposes, _key(each)].append(each)
    return [
        Waiting(candidate=first, same=known.get(_key(first)), again=tuple(one.id for one in others))
        for first, *others in (sorted(some, key=lambda c: (-c.confidence, c.id)) for some in alike.values())
    ]


def _key(candidate: Candidate) -> tuple[Kind, EntityId, str]:
    kind = Kind.DECISION if candidate.proposes.decides else Kind.THREAD
    return kind, candidate.project_uuid, match_key(candidate.candidate)


def _by_text(registry: Registry) -> dict[tuple[Kind, EntityId, str], EntityId]:
    known: dict[tuple[Kind, EntityId, str], EntityId] = {}
    entities: list[Decision | Thread] = [*registry.decisions, *registry.threads]
    for entity in sorted(entities, key=lambda entity: entity.status.ended):
        known.setdefault((entity.kind, entity.project_uuid, match_key(entity.title)), entity.id)
    return known


@frozen(kw_only=True)
class Seen:
    """The context of a candidate, shown to the person who answers.

    Attributes:
        title: of the conversation, "" if it is not registered.
        speaker: of the turn; "" where the text is not kept, as are `before` and `after`.
        before, after: the text around the quote.
        alike: what it may take back: the decisions of its conversation before it, also those that wait; then
            registered decisions or threads that share most of its words, the nearest first.
    """

    title: str
    speaker: str
    before: str
    after: str
    alike: tuple[Decision | Thread | Candidate, ...]


def seen(forge: Forge, item: Waiting) -> Seen:
    """Return the context of a candidate."""
    registry = forge.registry()
    candidate = item.candidate
    conversation = registry.get(candidate.conversation_id)
    message = _message(registry, candidate)
    before, after = "", ""
    if message is not None and (at := message.text.find(candidate.quote)) >= 0:
        end = at + len(candidate.quote)
        before, after = message.text[max(0, at - AROUND) : at], message.text[end : end + AROUND]
    return Seen(
        title=conversation.title if conversation is not None else "",
        speaker=message.speaker.value if message is not None else "",
        before=before,
        after=after,
        alike=tuple(
            {o.id: o for o in (*_taken_back(registry, candidate), *_alike(forge, registry, item))}.values()
        ),
    )


def _message(registry: Registry, candidate: Candidate) -> Message | None:
    """Return the turn of a candidate, if its text is kept; of an edited one the version that it quotes."""
    conversation = registry.get(candidate.conversation_id)
    started = conversation.created_at if isinstance(conversation, Conversation) else UNKNOWN
    found: list[Message] = []
    for number in count(1):
        part = registry.get(part_id(candidate.conversation_id, number, started))
        if not isinstance(part, TranscriptPart):
            break
        if part.turn_range[0] <= candidate.turn <= part.turn_range[1]:
            found += [m for m in read_messages([part.body]) if m.number == candidate.turn]
    return next((m for m in found if candidate.quote in m.text), next(iter(found), None))


def _taken_back(registry: Registry, candidate: Candidate) -> Iterator[Decision | Candidate]:
    """Yield the last decisions of a conversation before one that was read as taking an earlier one back."""
    if candidate.why != TAKES_BACK:
        return
    earlier = sorted(
        (
            each
            for each in registry.candidates
            if each.conversation_id == candidate.conversation_id
            and each.proposes.decides
            and each.turn < candidate.turn
        ),
        key=lambda each: (-each.turn, -each.confidence, each.id),
    )
    became = (registry.get(each.became) if each.became is not None else each for each in earlier)
    in_force = (
        each
        for each in became
        if (isinstance(each, Decision) and not each.status.ended)
        or (isinstance(each, Candidate) and each.status is CandidateStatus.WAITING)
    )
    yield from islice(in_force, ALIKE)


def _alike(forge: Forge, registry: Registry, item: Waiting) -> Iterator[Decision | Thread]:
    candidate = item.candidate
    own = set(words(candidate.candidate))
    same = registry.get(item.same) if item.same is not None else None
    if isinstance(same, (Decision, Thread)):
        yield same
    hits = forge.catalogue.search(
        candidate.candidate, kinds=(_key(candidate)[0],), project=candidate.project_uuid, limit=_LOOKED_AT
    )
    others = (registry.get(hit.id) for hit in hits if hit.id != item.same)
    near = (
        found
        for found in others
        if isinstance(found, (Decision, Thread)) and 2 * len(own & set(words(found.title))) >= len(own) > 0
    )
    yield from islice(near, ALIKE)


def answer(forge: Forge, answers: Answers, options: WriteOptions = COMMITTED) -> Reviewed:
    """Apply a person's answers in one commit.

    Raises NotFoundError, UsageError for two answers to one candidate and for what `refusal` refuses, and
    TransitionError for a candidate that was answered before, for one that repeats a decision that is no
    longer active, and for the end of a thread that was reopened later.
    """
    if rejected := answers.reject.intersection(old for _, old in answers.revise):
        name = short_id(Kind.CANDIDATE, min(rejected))
        raise UsageError(f"{name} is rejected, so nothing takes its place; approve what takes it back")
    if len(answers.answered) != len(set(answers.answered)):
        raise UsageError("one candidate has two answers; give each candidate one")
    outcome = forge.commit(lambda: _decide(forge, answers), options)
    written = outcome.change.writes
    return Reviewed(
        outcome=outcome,
        answered=tuple(entity for entity in written if isinstance(entity, Candidate)),
        entities=tuple(entity for entity in written if isinstance(entity, (Decision, Thread))),
    )


def _decide(forge: Forge, answers: Answers) -> Change:
    registry = forge.registry()
    known = _by_text(registry)
    titles = dict(answers.titles)
    taken_back = {old for _, old in answers.revise if isinstance(registry.get(old), Candidate)}
    named = sorted({*titles, *answers.answered, *taken_back})
    candidates = {key: _waiting(registry, key, titles.get(key)) for key in named}
    writes: dict[EntityId, Entity] = {}
    answered = dict(candidates)

    def approve(keys: Iterable[EntityId]) -> None:
        for key in sorted(keys, key=lambda key: (candidates[key].created_at, key)):
            found = candidates[key]
            same = known.get(_key(found))
            registered = writes.get(same) or registry.get(same) if same else None
            if isinstance(registered, (Decision, Thread)):
                made = _merged(registered, found)
            else:
                made = decision_from(found) if found.proposes.decides else thread_from(found, found)
            known.setdefault(_key(found), made.id)
            writes[made.id] = made
            answered[key] = replace(found, status=CandidateStatus.APPROVED, became=made.id)

    approve(taken_back)
    answered |= _joined(registry, answers, answered, known, writes)
    for key in answers.reject:
        answered[key] = replace(candidates[key], status=CandidateStatus.REJECTED)
    approve(answers.approve - taken_back)
    for candidate in candidates.values():
        writes |= {project.id: project for project in forge.new_project(candidate.project_name, registry)}
    changed = [entity for key, entity in writes.items() if registry.get(key) != entity]
    entities = (*changed, *answered.values())
    return Change(
        writes=entities,
        subject=subject_of("review:", list(answered.values()), "candidates"),
        trailers=(
            ("Forgekit-Op", "review"),
            *(("Forgekit-Entity", entity.id) for entity in entities),
            *(("Forgekit-Conversation", c) for c in sorted({c.conversation_id for c in answered.values()})),
            *superseding(entities),
        ),
    )


def _joined(
    registry: Registry,
    answers: Answers,
    candidates: Mapping[EntityId, Candidate],
    known: dict[tuple[Kind, EntityId, str], EntityId],
    writes: dict[EntityId, Entity],
) -> dict[EntityId, Candidate]:
    """Return the merged and revising candidates; add what they write to `writes`, revisions to `known`."""
    answered: dict[EntityId, Candidate] = {}
    for key, target in sorted(answers.merge):
        into = writes.get(target) or registry.get(target)
        if not isinstance(into, (Decision, Thread)):
            raise NotFoundError("decision or thread", target)
        if why := refusal(candidates[key], into, revise=False):
            raise UsageError(why)
        writes[target] = _merged(into, candidates[key])
        answered[key] = replace(candidates[key], status=CandidateStatus.MERGED, became=target)
    for key, named in sorted(answers.revise):
        target = (candidates[named].became or named) if named in candidates else named
        old = writes.get(target) or registry.get(target)
        if not isinstance(old, Decision):
            raise NotFoundError("decision", target)
        same = known.get(_key(candidates[key]))
        if why := refusal(candidates[key], old, revise=True, same=same):
            raise UsageError(why)
        new = _revision(old, candidates[key])
        writes[old.id] = replace(
            old,
            status=DecisionStatus.REVISED,
            superseded_by=new.id,
            revised_in=candidates[key].conversation_id,
        )
        writes[new.id] = new
        known[_key(candidates[key])] = new.id
        answered[key] = replace(candidates[key], status=CandidateStatus.APPROVED, became=new.id)
    return answered


def refusal(
    candidate: Candidate, target: Decision | Thread, *, revise: bool, same: EntityId | None = None
) -> str:
    """Say why a candidate is not merged into a decision or thread, or not its revision; "" where it is.

    Args:
        same: the registered entity with the candidate's text.
    """
    name, into = short_id(Kind.CANDIDATE, candidate.id), short_id(target.kind, target.id)
    if not revise:
        other = set(_NUMBER.findall(candidate.candidate)) - set(_NUMBER.findall(target.title))
        if not other or not isinstance(target, Decision) or target.status.ended:
            return ""
        more = ", ".join(sorted(other))
        return f"{into} does not say {more}, as {name} does; if that is a change, revise it: r, or --revise"
    if not isinstance(target, Decision) or not candidate.proposes.decides:
        return f"only a decision is revised, and only by one: {name} is no revision of {into}"
    if target.status.ended:
        return f"{into} is {target.status.value}; approve {name} instead"
    if same is not None:
        by = short_id(Kind.DECISION, same)
        return f"{by} says so already; `forgekit decision supersede {into} --by {by}`, then merge {name}"
    return ""


def _revision(old: Decision, candidate: Candidate) -> Decision:
    """Return the decision that a candidate puts in another's place: its words, the other's fields."""
    new = decision_from(candidate)
    return replace(
        old,
        decision_id=new.id,
        decision=new.decision,
        epistemic_tier=old.epistemic_tier if new.epistemic_tier is None else new.epistemic_tier,
        tier_token=old.tier_token if new.epistemic_tier is None else None,
        originated_in=new.originated_in,
        conversation_ids=new.conversation_ids,
        dependencies=new.dependencies or old.dependencies,
        alternatives_rejected=new.alternatives_rejected or old.alternatives_rejected,
        governs=new.governs or old.governs,
        created_at=new.created_at,
        last_validated=new.last_validated,
        body=new.body,
    )


def _waiting(registry: Registry, key: EntityId, title: str | None) -> Candidate:
    """Return a candidate that waits, with the text that a person gave it, if any."""
    found = registry.get(key)
    if not isinstance(found, Candidate):
        raise NotFoundError("candidate", key, "`forgekit review` lists those that wait")
    if found.status is not CandidateStatus.WAITING:
        raise TransitionError(f"{short_id(Kind.CANDIDATE, key)} is already {found.status.value}")
    if title is None:
        return found
    if not (text := statement(title)):
        raise UsageError("a candidate needs a text; give --title TEXT")
    return replace(found, candidate=text)


def _merged(known: Decision | Thread, candidate: Candidate) -> Decision | Thread:
    """Add a candidate's conversation, and the end of a thread, to a registered entity.

    Raises TransitionError for a decision that is not active, and for an end before a thread's reopening.
    """
    conversations = tuple(sorted({*known.conversation_ids, candidate.conversation_id}))
    at = candidate.created_at
    name = short_id(Kind.CANDIDATE, candidate.id)
    if isinstance(known, Decision):
        if known.status.ended:
            decision = short_id(Kind.DECISION, known.id)
            raise TransitionError(
                f"{decision} has the text of {name} and is {known.status.value}; reject {name}, or decide it "
                f"again with `forgekit decision new` and then approve {name}"
            )
        return replace(known, conversation_ids=conversations, last_validated=max(known.last_validated, at))
    status = STATUS.get(candidate.proposes)
    if status is None or not status.ended or known.status.ended:
        return replace(known, conversation_ids=conversations)
    # A thread is created open: if it is open and was changed later, it was reopened then.
    if known.created_at < known.updated_at > at:
        thread = short_id(Kind.THREAD, known.id)
        raise TransitionError(
            f"{thread} was reopened after the end that {name} reports; reject {name}, "
            f"or end it now: `forgekit thread resolve {thread}`"
        )
    return replace(
        known,
        conversation_ids=conversations,
        status=status,
        resolved_in=candidate.conversation_id,
        updated_at=max(at, known.updated_at),
        body=with_section(known.body, "Resolution", candidate.quote),
    )
