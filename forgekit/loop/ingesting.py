"""Conversations on their way in: each becomes an entity, and what stands in it is filed.

Ingesting again changes nothing; a conversation that has grown adds its new turns. What is filed follows from
all conversations and archives together, so their order leaves no trace. That is why many can be filed in
batches, each one commit and a sound state of its own: an ingest that was ended in the middle is taken up by
running it again, and it holds no more than one batch in memory.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from forgekit.detecting import Filing, filing
from forgekit.errors import RuleError
from forgekit.forge import Forge
from forgekit.ids import EntityId
from forgekit.loop.compression import same_archive, words_behind
from forgekit.loop.facts import Fact, by_people, facts
from forgekit.loop.incoming import Arrival
from forgekit.loop.ingest_report import Decided, Filed, IngestReport, Sum
from forgekit.loop.unpacking import Placed, Placing, Unpacked, unpack
from forgekit.model.candidate import Candidate, CandidateStatus
from forgekit.model.conversation import Conversation
from forgekit.model.entity import Entity, entity_path
from forgekit.model.kept import KeptText
from forgekit.model.kinds import Kind, short_id
from forgekit.model.problem import Problem, Severity
from forgekit.model.registry import Registry
from forgekit.model.rules import one_line
from forgekit.model.transcript import Transcript
from forgekit.policy.ancestry import names_of
from forgekit.policy.fold import fold
from forgekit.policy.gathering import Ingested, gather
from forgekit.policy.merge.tables import longer_text
from forgekit.policy.settling import Settlement, settle
from forgekit.store.store import Change
from forgekit.text.redaction import redact
from forgekit.times import UNKNOWN, Instant
from forgekit.writing import COMMITTED, How, superseding

BATCH = 500
"""Conversations that one commit files."""
BATCH_SIZE = 8_000_000
"""Characters to be written from which on one commit files fewer."""


def ingest(
    forge: Forge,
    found: Iterable[Transcript | Problem],
    *,
    project: str = "",
    with_text: bool | None = None,
    how: How = COMMITTED,
    batch: int = BATCH,
    shown: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> IngestReport:
    """File conversations and what stands in them; each batch is one commit.

    Args:
        forge: the registry.
        found: conversations and what could not be read, as the readers yield them.
        project: where a conversation belongs of which nothing else says so.
        with_text: whether the whole text is kept; as the settings say where None. A text that is kept
            already is kept up to date in any case.
        how: dry run, or without a commit; either is done in one piece, whatever memory it takes.
        batch: conversations that one commit files at most; the files are the same for any number.
        shown: changed conversations that the report names; None names all of them, and all files.
        progress: told how many conversations were read.
    """
    known = _Known(forge)
    placing = Placing(known=known, patterns=forge.settings.projects, default=project)
    wanted = forge.settings.keep_text if with_text is None else with_text
    keep = None if wanted else forge.catalogue.matching(kinds=(Kind.TRANSCRIPT,))
    total = Sum(project, shown)

    def read() -> Iterator[Unpacked]:
        number = 0
        for one in found:
            if isinstance(one, Problem):
                total.problems.append(one)
                continue
            try:
                unpacked = unpack(one, placing, keep=keep, allowed=forge.allowed)
            except RuleError as e:  # it keeps no other one back
                total.problems.append(_unfiled(one, e, forge.allowed))
                continue
            talk = unpacked.conversation
            known.add(talk)
            total.problems.extend(replace(p, path=p.path or talk.title) for p in unpacked.problems)
            number += 1
            if progress is not None:
                progress(number)
            yield unpacked

    for some in _batches(read(), None if how.dry_run or how.no_commit else batch):
        outcome = forge.commit(partial(_decide, forge, some), dry_run=how.dry_run, no_commit=how.no_commit)
        total.add(outcome, some)
        known.turn_over()
        _give_back()
    return total.report()


def _unfiled(talk: Transcript, reason: RuleError, allowed: Collection[str]) -> Problem:
    called = one_line(redact(talk.title or talk.external_id, allowed).text)
    return Problem(code="conversation-unfiled", message=f"nothing of it was filed: {reason}", path=called)


def _give_back() -> None:
    """Return what a batch has freed to the system; glibc kept 8 MB more of each thousand conversations."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def _batches(read: Iterable[Unpacked], most: int | None) -> Iterator[list[Unpacked]]:
    """Deal what was read out in lists of bounded length and size; one list of all where `most` is None."""
    some: list[Unpacked] = []
    size = 0
    for unpacked in read:
        some.append(unpacked)
        size += unpacked.size
        if most is not None and (len(some) >= most or size >= BATCH_SIZE):
            yield some
            some, size = [], 0
    if some:
        yield some


class _Known:
    """Where conversations are by the platform's id: those of the registry, and those on their way into it.

    The catalogue learns of a batch when the next one is decided; until then it is held here.
    """

    def __init__(self, forge: Forge) -> None:
        self._catalogue = forge.catalogue
        self._stand_ins = {archive.conversation_id for archive in forge.registry().archives}
        self._before: dict[str, Placed] = {}
        self._now: dict[str, Placed] = {}

    def __call__(self, external: str) -> Placed | None:
        coming = self._now.get(external) or self._before.get(external)
        if coming is not None:
            return coming
        for talk in map(self._catalogue.entity, self._catalogue.of_platform(external)):
            if isinstance(talk, Conversation) and (talk.source or talk.id not in self._stand_ins):
                return Placed.of(talk)
        return None

    def add(self, talk: Conversation) -> None:
        """Remember one that is on its way."""
        if talk.external_id:
            self._now.setdefault(talk.external_id, Placed.of(talk))

    def turn_over(self) -> None:
        """Let go of the batch before the one that was filed."""
        self._before, self._now = self._now, {}


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
    known = facts(forge.catalogue, ours.archives)
    arrived, problems = _arrived(known, read)
    done = _settled(forge, ours, talks, candidates.values(), known, arrived)
    writes: dict[EntityId, Entity] = {entity.id: entity for entity in done.settlement.writes}
    for talk in talks.values():
        settled = writes.get(talk.id)
        writes[talk.id] = _grown(settled, talk) if isinstance(settled, Conversation) else talk
        for project in forge.new_project(talk.project_name, ours):
            writes.setdefault(project.id, project)
    writes |= {**kept, **candidates}
    changed = tuple(entity for key, entity in sorted(writes.items()) if ours.get(key) != entity)
    waiting = [c for c in candidates.values() if c.status is CandidateStatus.WAITING]
    numbers = Counter(c.conversation_id for c in waiting)
    filed = tuple(_filed(ours, unpacked, talks, numbers, first=first) for first, unpacked in _once(read))
    new = done.settlement.writes
    decided = Decided(
        filed=filed,
        archives=len(arrived),
        registered=sum(e.kind in {Kind.DECISION, Kind.THREAD} for e in new),
        edges=sum(e.kind is Kind.LINEAGE and e.id not in ours.entities for e in new),
        candidates=tuple(c.id for c in waiting),
        problems=tuple(problems),
        found=done.found,
    )
    moved = sorted({f.id for f in filed if f.state != "unchanged"})
    subject = (
        f"ingest: {short_id(Kind.CONVERSATION, moved[0])}"
        if len(moved) == 1
        else f"ingest: {len(moved)} conversations"
    )
    forge.catalogue.close()  # it holds what it read while git's index is; opening it takes a millisecond
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


def _settled(
    forge: Forge,
    ours: Registry,
    talks: Mapping[EntityId, Conversation],
    candidates: Iterable[Candidate],
    known: list[Fact],
    arrived: list[Arrival],
) -> Filing:
    """Return what these conversations and archives come to, together with all that are filed.

    Of the conversations that are filed only those are read that others are tied to: of years of them, a few.
    """
    names = {name for talk in talks.values() for name in talk.continues}
    names.update(name for archive, _ in (*known, *arrived) for name in names_of(archive))
    tied = (_conversation(ours, key) for key in {*forge.catalogue.tied(names), *talks})
    standing = {talk.id: talk for talk in tied if talk is not None}
    registered = [
        found
        for key in forge.catalogue.matching(kinds=(Kind.CANDIDATE,), status=CandidateStatus.REGISTERED.value)
        if isinstance(found := ours.get(EntityId(key)), Candidate)
    ]
    remembered = Ingested.of(standing.values(), registered)
    new = {archive.id for archive, _ in arrived}
    own = by_people(forge.catalogue, ours, known, remembered)
    before = gather(fold(known, own), remembered)
    after = gather(
        fold([*(fact for fact in known if fact[0].id not in new), *arrived], own),
        Ingested.of({**standing, **talks}.values(), [*registered, *candidates]),
    )
    if before == after:
        return Filing(Settlement((), (), {}, ()), ())
    return filing(forge, ours, after, settle(before, after, ours))


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
        created_at=told.created_at if standing.created_at == UNKNOWN else standing.created_at,
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


def _arrived(known: Iterable[Fact], read: Iterable[Unpacked]) -> tuple[list[Arrival], list[Problem]]:
    """Return the archives to file, each once; another text under the same name is told.

    One that was pasted may have words behind it: it gives way to the text as it was written, even where it is
    filed.
    """
    standing: dict[EntityId, Fact] = {fact[0].id: fact for fact in known}
    hashes = {archive.content_sha256 for archive, _ in standing.values()}
    new: dict[EntityId, Arrival] = {}
    problems: list[Problem] = []
    arrivals = [(False, one) for unpacked in read for one in unpacked.archives]
    arrivals += [(True, one) for unpacked in read for one in unpacked.pasted]
    for pasted, (archive, text) in sorted(arrivals, key=_written_first):
        other = new.get(archive.id) or standing.get(archive.id)
        if other is None:
            taken = archive.content_sha256 not in hashes
        elif same_archive(other[0], archive) or (pasted and words_behind((archive, text), other)):
            taken = False
        else:
            taken = not pasted and words_behind(other, (archive, text))
            if not taken:
                name = short_id(Kind.ARCHIVE, archive.id)
                message = f"{name} ({archive.compression_tag}) is filed with another text, which stands"
                problems.append(Problem(code="archive-differs", message=message, severity=Severity.WARNING))
        if taken:
            hashes.add(archive.content_sha256)
            new[archive.id] = archive, text
            problems += [
                replace(p, path=archive.compression_tag)
                for p in text.problems
                if p.severity is Severity.ERROR
            ]
    return list(new.values()), problems


def _written_first(one: tuple[bool, Arrival]) -> tuple[bool, Instant, EntityId, int, str]:
    pasted, (archive, _) = one
    return pasted, archive.compressed_at, archive.id, len(archive.body), archive.body


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
    candidates: Mapping[EntityId, int],
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
    return Filed(
        id=talk.id,
        external_id=talk.external_id,
        title=talk.title,
        project_name=talk.project_name,
        turns=talk.turns,
        state=state,
        placed=unpacked.placed,
        new_turns=max((talk.turns or 0) - ((standing.turns or 0) if standing else 0), 0) if first else 0,
        candidates=candidates.get(talk.id, 0) if first else 0,
    )
