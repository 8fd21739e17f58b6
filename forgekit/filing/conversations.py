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
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import NamedTuple

from forgekit.archives.ancestry import names_of
from forgekit.archives.changes import ChangeSet, settle
from forgekit.archives.conversations import Ingested, gather
from forgekit.archives.fold import fold
from forgekit.archives.identity import ImportOptions
from forgekit.change import COMMITTED, WriteOptions, superseding
from forgekit.detecting import Filing, filing
from forgekit.errors import ArchiveError, FormatError, RuleError
from forgekit.extraction.extract import extract
from forgekit.extraction.find import Find
from forgekit.extraction.quoted_archives import Quoted, recognise
from forgekit.filing.archive_facts import Fact, by_people, facts
from forgekit.filing.archives import Arrival, Incoming, arrival, of_compaction, same_archive, words_behind
from forgekit.forge import Forge
from forgekit.ids import EntityId, conversation_id, normalise, project_id, text_hash, timestamp, v8_named
from forgekit.merge.rules import longer_text
from forgekit.model.body import clean, with_section
from forgekit.model.candidate import Candidate, CandidateStatus, Proposal
from forgekit.model.conflict import Conflict
from forgekit.model.conversation import Conversation
from forgekit.model.entity import Entity, entity_path
from forgekit.model.kinds import Kind, short_id
from forgekit.model.problem import Problem, Severity
from forgekit.model.project import UNSORTED
from forgekit.model.registry import Registry
from forgekit.model.rules import one_line, statement
from forgekit.model.transcript import ImportedConversation, Speaker, TranscriptPart, Turn, part_id
from forgekit.store import Change, Outcome
from forgekit.text.secrets import redact
from forgekit.text.transcript import write_parts
from forgekit.times import UNKNOWN, Instant
from forgekit.transcripts.claude_code import project_of

QUOTE_LIMIT = 2_000
"""Characters of a candidate's quote and of its rationale."""
_TITLE_LIMIT = 120
_REASON_SHOWN = 200


class Placed(NamedTuple):
    """Where a conversation is that the registry knows."""

    id: EntityId
    project_name: str
    project_uuid: EntityId

    @classmethod
    def of(cls, talk: Conversation) -> Placed:
        """Say where a conversation is."""
        return cls(talk.id, talk.project_name, talk.project_uuid)


@dataclass(frozen=True, kw_only=True, slots=True)
class Placing:
    """What says which project a conversation belongs to.

    Attributes:
        known: says where the conversation of a platform's id is, if the registry knows it.
        patterns: project -> patterns of titles and working folders, as the settings say.
        default: what the person said, "" if nothing.
    """

    known: Callable[[str], Placed | None]
    patterns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    default: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unpacked:
    """One conversation as it will be filed.

    Attributes:
        placed: what said its project: `registry`, `export`, `settings`, `option` or `nothing`.
        archives: that were written in it.
        pasted: archives that were pasted into it, perhaps with the words that stood behind them.
        kept: its text; nothing where it is not to be kept.
        redacted: number of secrets by rule.
        problems: what is doubtful in it.
    """

    conversation: Conversation
    placed: str
    archives: tuple[Arrival, ...]
    pasted: tuple[Arrival, ...]
    candidates: tuple[Candidate, ...]
    kept: tuple[TranscriptPart, ...]
    redacted: Mapping[str, int]
    problems: tuple[Problem, ...]

    @property
    def size(self) -> int:
        """Characters that are to be written, but for front matter."""
        texts = [text.body for text in self.kept]
        texts += [candidate.body for candidate in self.candidates]
        texts += [archive.body for archive, _ in (*self.archives, *self.pasted)]
        return sum(map(len, texts))


def unpack(
    transcript: ImportedConversation,
    placing: Placing,
    *,
    keep: Collection[str] | None,
    allowed: Collection[str],
) -> Unpacked:
    """Take a conversation apart.

    Args:
        transcript: as a reader gave it.
        placing: what says its project.
        keep: texts that are kept; a conversation of none is filed without. None keeps all.
        allowed: fingerprints of secrets that are kept.
    """
    cleaner = _Cleaner(allowed)
    transcript = replace(
        transcript,
        external_id=one_line(cleaner.text(transcript.external_id)),
        title=cleaner.text(transcript.title),
        project=cleaner.text(transcript.project),
        folder=cleaner.text(transcript.folder),
    )
    turns = tuple(cleaner.turn(turn) for turn in transcript.turns)
    title = _title(transcript, turns)
    external = transcript.external_id or None
    known = placing.known(external) if external else None
    project, placed = (known.project_name, "registry") if known else _project(transcript, title, placing)
    started = transcript.started if transcript.started is not None else UNKNOWN
    name = external or (title if transcript.started is not None else f"{title}:{_first_words(turns)}")
    conversation = Conversation(
        conversation_id=known.id if known else conversation_id(project_id(project), name, started),
        title=title,
        project_name=project,
        project_uuid=known.project_uuid if known else project_id(project),
        created_at=started,
        external_id=external,
        session_id=external if transcript.source == "claude-code" else None,
        source=transcript.source,
        turns=max((turn.number for turn in turns), default=0),
    )
    found = recognise(turns)
    arrived = _Arrivals(conversation, allowed)
    for number, (turn, at) in enumerate(_compactions(transcript, turns), 1):
        arrived.compaction(turn, at, number, transcript.folder)
    for quoted in found.archives:
        arrived.quoted(quoted)
    resumed = (one_line(cleaner.text(item)) for item in transcript.resumes)
    others = (item for item in resumed if item != transcript.external_id)
    continues = dict.fromkeys(filter(None, (*arrived.continues, *found.tags, *others)))
    conversation = replace(
        conversation,
        continues=tuple(tag for tag in continues if tag not in arrived.written),
        brought=tuple(dict.fromkeys(map(one_line, found.brought))),
        archived_as=tuple(arrived.written),
    )
    first = part_id(conversation.id, 1, started)
    kept = _kept(conversation, turns, cleaner) if keep is None or first in keep else ()
    return Unpacked(
        conversation=conversation,
        placed=placed,
        archives=tuple(arrived.archives),
        pasted=tuple(arrived.pasted),
        candidates=tuple(_candidates(conversation, found.own, cleaner)),
        kept=kept,
        redacted=cleaner.counts,
        problems=tuple(arrived.problems),
    )


class _Cleaner:
    """Takes secrets out of texts and counts them.

    Args:
        allowed: fingerprints of what is kept.
    """

    def __init__(self, allowed: Collection[str]) -> None:
        self._allowed = allowed
        self.counts: Counter[str] = Counter()

    def text(self, text: str) -> str:
        if not text:
            return text
        clean_ = redact(text, self._allowed)
        self.counts.update(finding.rule for finding in clean_.findings)
        return clean_.text

    def turn(self, turn: Turn) -> Turn:
        """Return a turn without secrets."""
        attachments = tuple(
            replace(file, name=self.text(file.name), text=self.text(file.text)) for file in turn.attachments
        )
        tools = tuple(map(self.text, turn.tools))
        return replace(turn, text=self.text(clean(turn.text)), attachments=attachments, tools=tools)


def _title(transcript: ImportedConversation, turns: Iterable[Turn]) -> str:
    title = statement(transcript.title, _TITLE_LIMIT)
    if title:
        return title
    if transcript.folder and transcript.external_id:
        return statement(f"{project_of(transcript.folder)} {transcript.external_id[:8]}", _TITLE_LIMIT)
    said = (statement(t.text, 80) for t in turns if t.speaker is Speaker.USER and not t.compaction)
    return next(filter(None, said), "") or transcript.external_id[:40] or "Untitled"


def _first_words(turns: tuple[Turn, ...]) -> str:
    return text_hash("\n\n".join(turn.text for turn in turns[:3])) if turns else ""


def _project(transcript: ImportedConversation, title: str, placing: Placing) -> tuple[str, str]:
    """Return the project of a conversation that the registry does not know, and what says so."""
    said = normalise(one_line(transcript.project))[:_TITLE_LIMIT]
    if said:
        return said, "export"
    folder = transcript.folder.replace("\\", "/").rstrip("/")
    texts = [text.casefold() for text in (title, folder, folder.rsplit("/", 1)[-1]) if text]
    for project, patterns in placing.patterns:
        if any(fnmatchcase(text, pattern.casefold()) for pattern in patterns for text in texts):
            return project, "settings"
    if placing.default:
        return normalise(placing.default), "option"
    return UNSORTED, "nothing"


def _compactions(
    transcript: ImportedConversation, turns: tuple[Turn, ...]
) -> Iterator[tuple[Turn, Instant | None]]:
    at = {found.turn: found.time for found in transcript.compactions if found.turn is not None}
    for turn in turns:
        if turn.compaction:
            moment = at.get(turn.number)
            yield turn, moment if moment is not None else turn.time


class _Arrivals:
    """The archives that stand in one conversation.

    Args:
        talk: the conversation.
        allowed: fingerprints of secrets that are kept.
    """

    def __init__(self, talk: Conversation, allowed: Collection[str]) -> None:
        self._talk = talk
        self._allowed = allowed
        self.archives: list[Arrival] = []
        self.pasted: list[Arrival] = []
        self.continues: dict[str, None] = {}
        self.written: dict[str, None] = {}
        self.problems: list[Problem] = []

    def _take(self, text: str, envelope: ImportOptions, turn: Turn) -> Arrival | None:
        name = f"turn {turn.number}"
        item = Incoming(envelope=envelope, data=text.encode(), name=name)
        try:
            arrived = arrival(item, lambda: self._talk.project_name, self._allowed)
        except (ArchiveError, FormatError) as e:
            self._doubt("archive-unread", str(e).split("\n")[0], turn)
            return None
        return arrived

    def _doubt(self, code: str, message: str, turn: Turn) -> None:
        self.problems.append(
            Problem(code=code, message=message[:_REASON_SHOWN], line=turn.line, severity=Severity.WARNING)
        )

    def compaction(self, turn: Turn, at: Instant | None, number: int, folder: str) -> None:
        """File what a program summed up when it made room, as `sync-compression` would."""
        session = self._talk.external_id
        if session is None or at is None:
            self._doubt(
                "compaction-unplaced", f"turn {turn.number}: a compaction without session or time", turn
            )
            return
        known = ImportOptions(project=self._talk.project_name)
        arrived = self._take(turn.text, of_compaction(known, session, number, at, project_of(folder)), turn)
        self.archives += [arrived] if arrived is not None else []

    def quoted(self, quoted: Quoted) -> None:
        """File an archive; a pasted one that says no time is filed only where it was written."""
        at = quoted.turn.time if quoted.written else None
        if not quoted.written and quoted.read.created is None:
            if quoted.read.tag:
                self.continues[quoted.read.tag] = None
            number = quoted.turn.number
            message = f"turn {number}: a pasted archive says no time; its own conversation files it"
            self._doubt("archive-undated", message, quoted.turn)
            return
        arrived = self._take(quoted.text, ImportOptions(at=at), quoted.turn)
        if arrived is not None:
            (self.archives if quoted.written else self.pasted).append(arrived)
            names = self.written if quoted.written else self.continues
            names[arrived[0].compression_tag] = None


def _kept(talk: Conversation, turns: tuple[Turn, ...], cleaner: _Cleaner) -> tuple[TranscriptPart, ...]:
    texts = []
    for number, part in enumerate(write_parts(turns), 1):
        texts.append(
            TranscriptPart(
                transcript_id=part_id(talk.id, number, talk.created_at),
                title=talk.title,
                conversation_id=talk.id,
                project_name=talk.project_name,
                project_uuid=talk.project_uuid,
                turn_range=(part.first, part.last),
                created_at=talk.created_at,
                body=clean(cleaner.text(part.body)),
            )
        )
    return tuple(texts)


def _candidates(talk: Conversation, turns: tuple[Turn, ...], cleaner: _Cleaner) -> Iterator[Candidate]:
    times = {turn.number: turn.time for turn in turns}
    seen: set[EntityId] = set()
    for find in extract(turns):
        made = _candidate(talk, find, times.get(find.turn), cleaner)
        if made is not None and made.id not in seen:
            seen.add(made.id)
            yield made


def _candidate(talk: Conversation, find: Find, at: Instant | None, cleaner: _Cleaner) -> Candidate | None:
    text = statement(cleaner.text(find.title))
    if not text:
        return None
    explicit = one_line(find.explicit_id)
    body = with_section("", "Quote", cleaner.text(find.text[:QUOTE_LIMIT]))
    said = at if at is not None else talk.created_at
    # What is registered without a review needs its place in time; where nobody said it, a person looks first.
    status = CandidateStatus.REGISTERED if explicit and said != UNKNOWN else CandidateStatus.WAITING
    mark = f"{find.kind.value}:{explicit}:{text_hash(text)}"
    return Candidate(
        candidate_id=v8_named(talk.id, mark, timestamp(talk.id, talk.created_at)),
        candidate=text,
        proposes=Proposal(find.kind.value),
        confidence=round(min(max(find.confidence, 0.0), 1.0), 2),
        why=one_line(find.why) or "said so",
        project_name=talk.project_name,
        project_uuid=talk.project_uuid,
        conversation_id=talk.id,
        turn=find.turn,
        local_id=explicit or None,
        alternatives_rejected=tuple(
            dict.fromkeys(filter(None, (statement(cleaner.text(item), 300) for item in find.alternatives)))
        ),
        created_at=said,
        body=with_section(body, "Rationale", cleaner.text(find.rationale[:QUOTE_LIMIT])),
        status=status,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Filed:
    """What became of one conversation.

    Attributes:
        turns: of the conversation; None where nobody knows.
        state: `new`, `joined` to one that was known by name, `grown` or `unchanged`.
        placed: what said its project, as of `Unpacked`.
        new_turns: of them those that this ingest brought.
        candidates: that are new and wait for review.
    """

    id: EntityId
    external_id: str | None
    title: str
    project_name: str
    turns: int | None
    state: str
    placed: str
    new_turns: int
    candidates: int


@dataclass(frozen=True, kw_only=True, slots=True)
class IngestReport:
    """What one ingest did.

    Attributes:
        outcome: of all batches together; its commit is the last one.
        commits: one for each batch that brought anything.
        states: number of conversations by state.
        elsewhere: number of conversations that stay in another project than the person said, by that one.
        unplaced: number of new conversations of which nothing said the project.
        filed: of each conversation; of the first that changed where the report was to be short.
        archives: that are new.
        registered: decisions and threads that are new or changed.
        edges: lineage edges that are new.
        waiting: number of candidates that are new and wait for review.
        candidates: their ids; none where the report was to be short.
        redacted: number of secrets by rule.
        problems: what could not be read, and what is doubtful.
        contradictions: new conflicts of decisions.
    """

    outcome: Outcome
    commits: tuple[str, ...]
    states: Mapping[str, int]
    elsewhere: Mapping[str, int]
    unplaced: int
    filed: tuple[Filed, ...]
    archives: int
    registered: int
    edges: int
    waiting: int
    candidates: tuple[EntityId, ...]
    redacted: Mapping[str, int]
    problems: tuple[Problem, ...]
    contradictions: tuple[Conflict, ...]


@dataclass(frozen=True, slots=True)
class PreparedBatch:
    """What was decided of one batch, for the report."""

    filed: tuple[Filed, ...]
    archives: int
    registered: int
    edges: int
    candidates: tuple[EntityId, ...]
    problems: tuple[Problem, ...]
    found: tuple[Conflict, ...]


@dataclass(slots=True)
class Sum:
    """The report as it grows, batch by batch.

    Args:
        project: what the person said, "" if nothing.
        shown: changed conversations to be named, beside counts of all; None names all of them, each file
            that was written and each candidate, which years of conversations make long.
    """

    project: str = ""
    shown: int | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    filed: list[Filed] = field(default_factory=list)
    states: Counter[str] = field(default_factory=Counter)
    elsewhere: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    candidates: list[EntityId] = field(default_factory=list)
    redacted: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    found: list[Conflict] = field(default_factory=list)

    def add(self, outcome: Outcome, batch: Iterable[Unpacked]) -> None:
        """Add what one batch did."""
        decided = outcome.change.result
        assert isinstance(decided, PreparedBatch)  # noqa: S101 - what the decision of a batch put there
        self.states.update(filed.state for filed in decided.filed)
        if self.project:
            known = (f.project_name for f in decided.filed if f.placed == "registry")
            self.elsewhere.update(name for name in known if name != self.project)
        self.counts["unplaced"] += sum(f.placed == "nothing" for f in decided.filed)
        self.counts["waiting"] += len(decided.candidates)
        outcome = replace(outcome, change=Change(subject=outcome.change.subject))
        if self.shown is None:
            self.filed += decided.filed
            self.candidates += decided.candidates
        else:
            changed = [filed for filed in decided.filed if filed.state != "unchanged"]
            self.filed += changed[: self.shown - len(self.filed)]
            if outcome.commit is not None:
                outcome = replace(outcome, written=(), deleted=())
        self.outcomes.append(outcome)
        for name in ("archives", "registered", "edges"):
            self.counts[name] += getattr(decided, name)
        self.problems += decided.problems
        self.found += decided.found
        for unpacked in batch:
            self.redacted.update(unpacked.redacted)

    def report(self) -> IngestReport:
        """Return the report of all batches so far."""
        commits = tuple(one.commit for one in self.outcomes if one.commit is not None)
        return IngestReport(
            outcome=Outcome(
                commit=commits[-1] if commits else None,
                written=tuple(dict.fromkeys(path for one in self.outcomes for path in one.written)),
                deleted=tuple(dict.fromkeys(path for one in self.outcomes for path in one.deleted)),
                diff="".join(one.diff for one in self.outcomes),
                change=Change(subject="ingest"),
            ),
            commits=commits,
            states=dict(self.states),
            elsewhere=dict(sorted(self.elsewhere.items())),
            unplaced=self.counts["unplaced"],
            filed=tuple(self.filed),
            archives=self.counts["archives"],
            registered=self.counts["registered"],
            edges=self.counts["edges"],
            waiting=self.counts["waiting"],
            candidates=tuple(self.candidates),
            redacted=dict(sorted(self.redacted.items())),
            problems=tuple(self.problems),
            contradictions=tuple(self.found),
        )


BATCH = 500
"""Conversations that one commit files."""
BATCH_SIZE = 8_000_000
"""Characters to be written from which on one commit files fewer."""


def ingest(
    forge: Forge,
    found: Iterable[ImportedConversation | Problem],
    *,
    project: str = "",
    with_text: bool | None = None,
    options: WriteOptions = COMMITTED,
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
        options: dry run, or without a commit; either is done in one piece, whatever memory it takes.
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

    for some in _batches(read(), None if options.dry_run or options.no_commit else batch):
        outcome = forge.commit(
            partial(_decide, forge, some), dry_run=options.dry_run, no_commit=options.no_commit
        )
        total.add(outcome, some)
        known.turn_over()
        _give_back()
    return total.report()


def _unfiled(talk: ImportedConversation, reason: RuleError, allowed: Collection[str]) -> Problem:
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
    kept: dict[EntityId, TranscriptPart] = {}
    candidates: dict[EntityId, Candidate] = {}
    for unpacked in read:
        talk = unpacked.conversation
        talks[talk.id] = _grown(talks.get(talk.id) or _conversation(ours, talk.id), talk)
        for text in unpacked.kept:
            standing = kept.get(text.id) or ours.get(text.id)
            kept[text.id] = _longer(standing if isinstance(standing, TranscriptPart) else None, text)
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
    decided = PreparedBatch(
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
        return Filing(ChangeSet((), (), {}, ()), ())
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


def _longer(standing: TranscriptPart | None, text: TranscriptPart) -> TranscriptPart:
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
