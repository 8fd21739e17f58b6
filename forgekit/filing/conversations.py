"""Import conversations: each becomes an entity, and the archives and candidates found in it are filed.

Ingesting again changes nothing; a conversation that has grown adds its new turns. The result follows from all
conversations and archives together, so the order of imports does not matter. Conversations are therefore
filed in batches, one commit each: an interrupted ingest is resumed by running it again, and no more than one
batch is held in memory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from forgekit.archives.ancestry import names_of
from forgekit.archives.changes import ChangeSet
from forgekit.archives.conversations import QUOTE_LIMIT, Ingested
from forgekit.archives.read import ImportOptions
from forgekit.change import subject_of, superseding
from forgekit.errors import ArchiveError, FormatError, RuleError
from forgekit.extraction.extract import extract
from forgekit.extraction.quoted_archives import QuotedArchive, find_quoted
from forgekit.extraction.statements import FEW, Find, StatementReader
from forgekit.filing.archive_facts import Fact, facts, refold
from forgekit.filing.archives import Incoming, arrival, of_compaction, words_behind
from forgekit.forge import COMMITTED, Forge, WriteOptions
from forgekit.frozen import frozen
from forgekit.ids import EntityId, candidate_id, conversation_id, normalise, project_id, text_hash
from forgekit.insight.conventions import EXPLICIT, Mentions, Stage, correction, lives, observed, stated
from forgekit.merge.merge import same_archive
from forgekit.model.entities import (
    Candidate,
    CandidateStatus,
    Convention,
    ConventionForm,
    ConventionStatus,
    Conversation,
    Entity,
    Proposal,
    TranscriptPart,
    entity_path,
    part_id,
)
from forgekit.model.kinds import UNSORTED, Kind, short_id
from forgekit.model.problem import Problem, Severity, warning
from forgekit.model.registry import Registry
from forgekit.model.rules import clean, one_line, statement, with_section
from forgekit.model.settings import project_matching
from forgekit.model.transcript import ImportedConversation, Speaker, Turn
from forgekit.models.encoder import Missing
from forgekit.models.statement_reader import TrainedReader
from forgekit.store import Change, Outcome
from forgekit.text.secrets import redact
from forgekit.text.transcript import united_turns, write_parts
from forgekit.times import UNKNOWN, Instant
from forgekit.transcripts.claude_code import compactions_of, project_of
from forgekit.worktree import local_state

BATCH = 500
"""Most conversations of one commit."""
BATCH_SIZE = 8_000_000
"""Characters to be written from which on one commit files fewer."""
_WORD = re.compile(r"\w+")
_BLANK = re.compile(r"\n[ \t]*\n")
_TITLE_LIMIT = 120
_REASON_LIMIT = 200
_ANSWERED = 300
"""Characters of a turn that a few words answer."""
_NOTE = re.compile(r"\bnte_([0-9a-f]{12})\b")
_NOTHING = Outcome(commit=None, written=(), deleted=(), diff="", change=Change(subject="ingest"))


@frozen(kw_only=True)
class ProjectRules:
    """What decides the project of a conversation.

    Attributes:
        known: returns the conversation with a platform's id, if the registry has it.
        patterns: project -> patterns of titles and working folders, from the settings.
        default: the value of `--project`, "" if not given.
    """

    known: Callable[[str], Conversation | None]
    patterns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    default: str = ""


@frozen(kw_only=True)
class Unpacked:
    """One conversation, ready to be filed.

    Attributes:
        project_from: what decided its project: `registry`, `export`, `settings`, `option`, `folder` or
            `nothing`.
        pasted: archives that were pasted into it, perhaps followed by other text.
        observed: conventions that its user asks for.
        mentions: from which follows which conventions it used.
        notes: the ends of the ids of notes that its texts name, as a pasted block does, and when.
        parts: its text; empty where the text is not kept.
    """

    conversation: Conversation
    project_from: str
    written: tuple[Fact, ...]
    pasted: tuple[Fact, ...]
    candidates: tuple[Candidate, ...]
    observed: tuple[Convention, ...]
    mentions: Mentions
    notes: Mapping[str, Instant]
    parts: tuple[TranscriptPart, ...]
    redacted: Mapping[str, int]
    problems: tuple[Problem, ...]

    @property
    def size(self) -> int:
        """Characters to be written, without front matter."""
        bodies = [part.body for part in self.parts]
        bodies += [candidate.body for candidate in self.candidates]
        bodies += [archive.body for archive, _ in (*self.written, *self.pasted)]
        return sum(map(len, bodies))


def unpack(
    transcript: ImportedConversation,
    rules: ProjectRules,
    *,
    keep: Collection[str] | None,
    allowed: Collection[str],
    reader: StatementReader | None = None,
) -> Unpacked:
    """Make entities of a conversation: itself, its archives, its candidates and its text.

    Args:
        keep: ids of the transcript parts that are kept already, the only texts to keep; None keeps all.
        allowed: fingerprints of secrets that are kept.
        reader: of sentences; None finds records and labelled lists alone.
    """
    redactor = _Redactor(allowed)
    transcript = redactor.transcript(transcript)
    turns = transcript.turns
    title = _title(transcript)
    external = transcript.external_id or None
    known = rules.known(external) if external else None
    project, project_from = (known.project_name, "registry") if known else _project(transcript, title, rules)
    started = transcript.started if transcript.started is not None else UNKNOWN
    begins = text_hash("\n\n".join(turn.text for turn in turns[:3])) if turns else ""
    name = external or (title if transcript.started is not None else f"{title}:{begins}")
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
    quoted = find_quoted(turns)
    archives = _ConversationArchives(conversation, allowed)
    for number, (turn, at) in enumerate(compactions_of(transcript), 1):
        archives.add_compaction(turn, at, number, transcript.folder)
    for one in quoted.archives:
        archives.add_quoted(one)
    resumes = (one_line(redactor.text(item)) for item in transcript.resumes)
    continues = (*archives.continues, *quoted.tags, *(item for item in resumes if item != external))
    conversation = replace(
        conversation,
        continues=tuple(dict.fromkeys(tag for tag in continues if tag and tag not in archives.written_tags)),
        brought=tuple(dict.fromkeys(map(one_line, quoted.local_ids))),
        archived_as=tuple(archives.written_tags),
    )
    kept = keep is None or part_id(conversation.id, 1, started) in keep
    own = quoted.own_turns
    finds = extract(own, reader)
    return Unpacked(
        conversation=conversation,
        project_from=project_from,
        written=tuple(archives.written),
        pasted=tuple(archives.pasted),
        candidates=_candidates(
            conversation, (find for find in finds if find.kind is not Proposal.INSTRUCTION), own, redactor
        ),
        observed=tuple(_observed(conversation, finds, own, redactor)),
        mentions=Mentions.of((turn.text for turn in own), turns),
        notes={
            name: turn.time if turn.time is not None else started
            for turn in turns
            for text in (turn.text, *(file.text for file in turn.attachments))
            for name in _NOTE.findall(text)
        },
        parts=_parts(conversation, turns, redactor) if kept else (),
        redacted=redactor.counts,
        problems=tuple(archives.problems),
    )


class _Redactor:
    """Removes secrets from texts and counts them."""

    def __init__(self, allowed: Collection[str]) -> None:
        self._allowed = allowed
        self.counts: Counter[str] = Counter()

    def text(self, text: str) -> str:
        if not text:
            return text
        redacted = redact(text, self._allowed)
        self.counts.update(finding.rule for finding in redacted.findings)
        return redacted.text

    def transcript(self, transcript: ImportedConversation) -> ImportedConversation:
        return replace(
            transcript,
            external_id=one_line(self.text(transcript.external_id)),
            title=self.text(transcript.title),
            project=self.text(transcript.project),
            folder=self.text(transcript.folder),
            turns=tuple(map(self._turn, transcript.turns)),
        )

    def _turn(self, turn: Turn) -> Turn:
        attachments = tuple(
            replace(file, name=self.text(file.name), text=self.text(file.text)) for file in turn.attachments
        )
        tools = tuple(map(self.text, turn.tools))
        return replace(turn, text=self.text(clean(turn.text)), attachments=attachments, tools=tools)


def _title(transcript: ImportedConversation) -> str:
    if title := statement(transcript.title, _TITLE_LIMIT):
        return title
    if transcript.folder and transcript.external_id:
        return statement(f"{project_of(transcript.folder)} {transcript.external_id[:8]}", _TITLE_LIMIT)
    prompts = (turn for turn in transcript.turns if turn.speaker is Speaker.USER and not turn.compaction)
    first = next(filter(None, (statement(turn.text, 80) for turn in prompts)), "")
    return first or transcript.external_id[:40] or "Untitled"


def _project(transcript: ImportedConversation, title: str, rules: ProjectRules) -> tuple[str, str]:
    """Return the project of a conversation that is not in the registry, and what decided it."""
    if exported := normalise(one_line(transcript.project))[:_TITLE_LIMIT]:
        return exported, "export"
    folder = transcript.folder.replace("\\", "/").rstrip("/")
    if chosen := project_matching(rules.patterns, (title, folder, folder.rsplit("/", 1)[-1])):
        return chosen, "settings"
    if rules.default:
        return normalise(rules.default), "option"
    if named := normalise(one_line(project_of(transcript.folder)))[:_TITLE_LIMIT]:
        return named, "folder"
    return UNSORTED, "nothing"


class _ConversationArchives:
    """The archives found in one conversation."""

    def __init__(self, conversation: Conversation, allowed: Collection[str]) -> None:
        self._conversation = conversation
        self._allowed = allowed
        self.written: list[Fact] = []
        self.pasted: list[Fact] = []
        self.continues: dict[str, None] = {}
        self.written_tags: dict[str, None] = {}
        self.problems: list[Problem] = []

    def add_compaction(self, turn: Turn, at: Instant | None, number: int, folder: str) -> None:
        """File a compaction summary, as `sync-compression` would."""
        session = self._conversation.external_id
        if session is None or at is None:
            message = f"turn {turn.number}: a compaction without a session id or a time"
            self._warn("compaction-unplaced", message, turn)
            return
        options = ImportOptions(project=self._conversation.project_name)
        filed = self._read(turn.text, of_compaction(options, session, number, at, project_of(folder)), turn)
        self.written += [filed] if filed is not None else []

    def add_quoted(self, quoted: QuotedArchive) -> None:
        """File an archive; a pasted one without a date is left to the conversation that wrote it."""
        turn = quoted.turn
        if not quoted.written and quoted.read.created is None:
            if quoted.read.tag:
                self.continues[quoted.read.tag] = None
            message = f"turn {turn.number}: a pasted archive has no date; import the conversation it is from"
            self._warn("archive-undated", message, turn)
            return
        filed = self._read(quoted.text, ImportOptions(at=turn.time if quoted.written else None), turn)
        if filed is not None:
            (self.written if quoted.written else self.pasted).append(filed)
            tags = self.written_tags if quoted.written else self.continues
            tags[filed[0].compression_tag] = None

    def _read(self, text: str, options: ImportOptions, turn: Turn) -> Fact | None:
        item = Incoming(options=options, data=text.encode(), name=f"turn {turn.number}")
        own = self._conversation.project_name
        try:
            return arrival(item, lambda _, read, __: read.project or own, self._allowed)
        except (ArchiveError, FormatError) as e:
            self._warn("archive-unread", str(e).split("\n")[0], turn)
            return None

    def _warn(self, code: str, message: str, turn: Turn) -> None:
        self.problems.append(warning(code, message[:_REASON_LIMIT], turn.line))


def _parts(
    conversation: Conversation, turns: tuple[Turn, ...], redactor: _Redactor
) -> tuple[TranscriptPart, ...]:
    return tuple(
        TranscriptPart(
            transcript_id=part_id(conversation.id, number, conversation.created_at),
            title=conversation.title,
            conversation_id=conversation.id,
            project_name=conversation.project_name,
            project_uuid=conversation.project_uuid,
            turn_range=(chunk.first, chunk.last),
            created_at=conversation.created_at,
            body=clean(redactor.text(chunk.body)),
        )
        for number, chunk in enumerate(write_parts(turns), 1)
    )


def _observed(
    conversation: Conversation, finds: Iterable[Find], turns: tuple[Turn, ...], redactor: _Redactor
) -> Iterator[Convention]:
    """Yield the standing instructions in the user's own words, and what corrections ask for."""
    own = {t.number: t for t in turns if t.speaker is Speaker.USER and not t.compaction}
    times = {t.number: t.time if t.time is not None else conversation.created_at for t in turns}
    among_people = len(own) > 1 and all(turn.speaker is Speaker.USER for turn in turns)
    asked = [find for find in finds if find.kind is Proposal.INSTRUCTION]
    spaced = [(t, _spaced(t.text)) for t in turns if asked and not t.compaction]
    for find in asked:
        turn, text = own.get(find.turn), statement(redactor.text(find.title))
        if turn is None or not text:
            continue
        words, before = _spaced(find.text), turn.text[: find.start].lstrip()
        first = next((t for t, its_words in spaced if words in its_words), turn)
        if first.speaker is not Speaker.USER:
            continue  # the assistant's words, quoted
        # What is below a blank line may be pasted, and among people alone one states no rule for an agent:
        # it is observed, and in force once approved.
        sure = 0.0 if among_people or _BLANK.search(before) else find.confidence
        if sure >= EXPLICIT or not before.rstrip()[-1:].isalnum():  # a clause, not a part of one
            yield observed(conversation, text, sure, find.turn, times[find.turn])
    for turn in turns:
        for each in turn.corrections:
            if text := statement(redactor.text(correction(each) or "")):
                form = ConventionForm.ANTI_PATTERN if each.is_command else ConventionForm.CONVENTION
                at = times[turn.number]
                yield observed(conversation, text, 0, turn.number, at, each.written, form)


def _spaced(text: str) -> str:
    return f" {' '.join(_WORD.findall(text))} "


def _conventions(ours: Registry, read: Iterable[Unpacked]) -> dict[EntityId, Convention]:
    """Return the conventions that conversations state or use, as they are to be.

    All of the batch are stated before any is cited, so the order of conversations does not matter.
    """
    before = {each.id: each for each in ours.conventions}
    known = dict(before)
    for unpacked in read:
        for new in unpacked.observed:
            each = stated(known, new)
            known[each.id] = each
    active = [each for each in known.values() if each.status is ConventionStatus.ACTIVE]
    for each in active:
        used = {
            one.conversation.id
            for one in read
            if one.conversation.project_uuid == each.project_uuid and one.mentions.uses(each)
        }
        if not used <= {*each.cited_in, *each.sessions_seen}:
            known[each.id] = replace(each, cited_in=tuple(sorted({*each.cited_in, *used})))
    return {key: each for key, each in known.items() if before.get(key) != each}


def _candidates(
    conversation: Conversation, finds: Iterable[Find], turns: tuple[Turn, ...], redactor: _Redactor
) -> tuple[Candidate, ...]:
    """Return what the turns seem to decide, each text once."""
    times = {turn.number: turn.time for turn in turns}
    typed = {turn.number for turn in turns if turn.speaker is Speaker.USER and not turn.compaction}
    found: dict[EntityId, Candidate] = {}
    for find in finds:
        text = statement(redactor.text(find.title))
        if not text:
            continue
        local_id = one_line(find.explicit_id)
        body = with_section("", "Quote", redactor.text(find.text[:QUOTE_LIMIT]))
        at = times.get(find.turn)
        created = at if at is not None else conversation.created_at
        # Without a date a record has no place in the timeline, and an agent may quote anybody's: a person
        # reviews it first.
        is_own = local_id and created != UNKNOWN and find.turn in typed
        status = CandidateStatus.REGISTERED if is_own else CandidateStatus.WAITING
        rejected = filter(None, (statement(redactor.text(item), 300) for item in find.alternatives))
        candidate = Candidate(
            candidate_id=candidate_id(
                conversation.id, conversation.created_at, find.kind.value, text, local_id
            ),
            candidate=text,
            proposes=find.kind,
            confidence=find.confidence,
            why=find.why,
            project_name=conversation.project_name,
            project_uuid=conversation.project_uuid,
            conversation_id=conversation.id,
            turn=find.turn,
            local_id=local_id or None,
            alternatives_rejected=tuple(dict.fromkeys(rejected)),
            created_at=created,
            body=with_section(
                with_section(body, "Rationale", redactor.text(find.rationale[:QUOTE_LIMIT])),
                "Context",
                _answered(find, turns, redactor) if find.turn in typed else "",
            ),
            status=status,
        )
        found.setdefault(candidate.id, candidate)
    return tuple(found.values())


def _answered(find: Find, turns: Iterable[Turn], redactor: _Redactor) -> str:
    """Return the end of the turn that a few words answer, with its number; "" for more words."""
    before = [turn for turn in turns if turn.number < find.turn and turn.text.strip()]
    if not before or find.explicit_id or len(find.text.split()) > FEW:
        return ""
    text = " ".join(redactor.text(before[-1].text).split())
    cut = f"\u2026 {text[-_ANSWERED:].partition(' ')[2]}" if len(text) > _ANSWERED else text
    return f"Turn {before[-1].number}: {cut}"


@frozen(kw_only=True)
class FiledConversation:
    """The result for one conversation.

    Attributes:
        state: `new`, `joined` to one that was known by name only, `grown` or `unchanged`.
        candidates: number of new ones that wait for review.
    """

    conversation: Conversation
    state: str
    project_from: str
    new_turns: int
    candidates: int


@dataclass(kw_only=True, slots=True)
class IngestReport:
    """The result of one import, or of one batch of it.

    Attributes:
        outcome: of all batches together; its commit is the last one.
        commits: one for each batch that changed anything.
        elsewhere: number of conversations that stay in another project than `--project`, by that project.
        filed: each conversation; only the first changed ones where the report was limited.
        counts: new `archives`, `edges` and `waiting` candidates, `registered` decisions and threads that are
            new or changed, and `unplaced` conversations, new ones in `Unsorted`.
        candidates: ids of the new ones that wait for review; empty where the report was limited.
        conventions: that are new, or active now because a person stated them outright.
        decayed: conventions that were not before.
    """

    outcome: Outcome = _NOTHING
    commits: list[str] = field(default_factory=list)
    states: Counter[str] = field(default_factory=Counter)
    elsewhere: Counter[str] = field(default_factory=Counter)
    filed: list[FiledConversation] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    candidates: list[EntityId] = field(default_factory=list)
    conventions: list[Convention] = field(default_factory=list)
    decayed: list[Convention] = field(default_factory=list)
    redacted: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)

    def add(self, outcome: Outcome, shown: int | None) -> None:
        """Add a batch.

        Args:
            outcome: of its commit; the change's result is the report of the batch.
            shown: changed conversations to name; None names all, and all files and candidates.
        """
        batch = outcome.change.result
        assert isinstance(batch, IngestReport)  # noqa: S101 - what `_decide` returned
        if shown is None:
            self.filed += batch.filed
            self.candidates += batch.candidates
        else:
            self.filed += [one for one in batch.filed if one.state != "unchanged"][: shown - len(self.filed)]
        if shown is None or outcome.commit is None:
            self.outcome = replace(
                self.outcome,
                written=tuple(dict.fromkeys((*self.outcome.written, *outcome.written))),
                deleted=tuple(dict.fromkeys((*self.outcome.deleted, *outcome.deleted))),
                diff=outcome.diff,
            )
        if outcome.commit is not None:
            self.commits.append(outcome.commit)
            self.outcome = replace(self.outcome, commit=outcome.commit)
        self.states.update(batch.states)
        self.elsewhere.update(batch.elsewhere)
        self.counts.update(batch.counts)
        self.conventions += batch.conventions
        self.redacted.update(batch.redacted)
        self.problems += batch.problems


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
    """File conversations and what is found in them; each batch is one commit.

    Args:
        found: conversations and what could not be read, as the readers yield them.
        project: of conversations whose export, settings and registry name none.
        with_text: keep the whole text; None follows the settings. A text that is kept already is updated in
            any case.
        options: a dry run, and one without a commit, is one batch, whatever memory it takes.
        batch: most conversations of one commit; the files do not depend on it.
        shown: changed conversations that the report names; None names all, and all files.
        progress: called with the number of conversations read.
    """
    known = _KnownConversations(forge)
    rules = ProjectRules(known=known, patterns=forge.settings.projects, default=project)
    with_text = forge.settings.keep_text if with_text is None else with_text
    keep = None if with_text else forge.catalogue.matching(kinds=(Kind.TRANSCRIPT,))
    report = IngestReport()
    before = _decayed(forge)
    reader = _reader(forge, report)

    def read() -> Iterator[Unpacked]:
        number = 0
        for one in found:
            if isinstance(one, Problem):
                report.problems.append(one)
                continue
            try:
                unpacked = unpack(one, rules, keep=keep, allowed=forge.allowed, reader=reader)
            except RuleError as e:  # the others are still filed
                name = one_line(redact(one.title or one.external_id, forge.allowed).text)
                message = f"nothing of it was filed: {e}"
                report.problems.append(Problem(code="conversation-unfiled", message=message, path=name))
                continue
            conversation = unpacked.conversation
            known.add(conversation)
            report.problems.extend(replace(p, path=p.path or conversation.title) for p in unpacked.problems)
            number += 1
            if progress is not None:
                progress(number)
            yield unpacked

    whole = options.dry_run or options.no_commit
    for some in _batches(read(), None if whole else batch):
        decide = partial(_decide, forge, some, project)
        report.add(forge.commit(decide, options), shown)
        if not options.dry_run:
            _record_openings(forge, some)
    report.problems.extend(reader.problems if reader is not None else ())
    if report.commits:
        report.decayed = [one for key, one in _decayed(forge).items() if key not in before]
    return report


def _reader(forge: Forge, report: IngestReport) -> StatementReader | None:
    """Return the reader of statements; where there is none, the report says so."""
    found = forge.statement_reader
    if isinstance(found, Missing):
        message = f"only records and labelled lists were read: {found.reason}"
        problem = Problem(code="sentences-unread", message=message, fix=found.hint, severity=Severity.INFO)
        report.problems.append(problem)
        return None
    return found.remembering(forge.catalogue) if isinstance(found, TrainedReader) else found


def _decayed(forge: Forge) -> dict[EntityId, Convention]:
    """Return the active conventions that no session used for long."""
    forge.catalogue.refresh()
    found = forge.catalogue.entities(Kind.CONVENTION, ConventionStatus.ACTIVE.value)
    active = [each for each in found if isinstance(each, Convention)]
    owners = {each.project_uuid for each in active}
    conversations = (
        one for owner in owners for one in forge.catalogue.entities(Kind.CONVERSATION, project=owner)
    )
    every = lives(active, (one for one in conversations if isinstance(one, Conversation)))
    return {key: life.convention for key, life in every.items() if life.stage is Stage.DECAYED}


def _record_openings(forge: Forge, read: Iterable[Unpacked]) -> None:
    """Remember that the notes which conversations name were in use on those days."""
    named = [item for unpacked in read for item in unpacked.notes.items()]
    ids = {key[-12:]: key for key in forge.catalogue.matching(kinds=(Kind.NOTE,))} if named else {}
    now = forge.now()
    used = sorted((ids[name], min(at, now)) for name, at in named if name in ids)
    local_state.record_openings(forge.root, dict(used))


def _united_part(kept: TranscriptPart, part: TranscriptPart) -> TranscriptPart:
    """Return a part of a transcript with the turns that are kept and those that came."""
    (first, last), (other, end) = kept.turn_range, part.turn_range
    body = kept.body if kept.body == part.body else united_turns((kept.body, part.body))
    return replace(kept, turn_range=(min(first, other), max(last, end)), body=body)


def _batches(read: Iterable[Unpacked], most: int | None) -> Iterator[list[Unpacked]]:
    """Yield lists of bounded length and size; one list of all where `most` is None."""
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


class _KnownConversations:
    """Conversations by the platform's id: of the registry and of this import."""

    def __init__(self, forge: Forge) -> None:
        self._catalogue = forge.catalogue
        self._only_named = {archive.conversation_id for archive in forge.registry().archives}
        self._imported: dict[str, Conversation] = {}

    def __call__(self, external_id: str) -> Conversation | None:
        if external_id in self._imported:
            return self._imported[external_id]
        for found in map(self._catalogue.entity, self._catalogue.with_external_id(external_id)):
            # One without a source that an archive names is only a stand-in.
            if isinstance(found, Conversation) and (found.source or found.id not in self._only_named):
                return found
        return None

    def add(self, conversation: Conversation) -> None:
        if conversation.external_id:
            self._imported.setdefault(conversation.external_id, conversation)


def _decide(forge: Forge, read: list[Unpacked], project: str) -> Change:
    ours = forge.registry()
    conversations: dict[EntityId, Conversation] = {}
    parts: dict[EntityId, TranscriptPart] = {}
    candidates: dict[EntityId, Candidate] = {}
    for unpacked in read:
        imported = unpacked.conversation
        known = conversations.get(imported.id) or ours.find(Conversation, imported.id)
        conversations[imported.id] = _grown(known, imported)
        for part in unpacked.parts:
            kept = parts.get(part.id) or ours.get(part.id)
            parts[part.id] = _united_part(kept, part) if isinstance(kept, TranscriptPart) else part
        for candidate in unpacked.candidates:
            if candidate.id not in ours.entities:
                candidates.setdefault(candidate.id, candidate)
    filed = facts(forge.catalogue, ours.archives)
    archives, problems = _new_archives(filed, read)
    changes = _changes(forge, ours, conversations, candidates.values(), filed, archives)
    writes: dict[EntityId, Entity] = {entity.id: entity for entity in changes.writes}
    for conversation in conversations.values():
        settled = writes.get(conversation.id)
        grown = _grown(settled, conversation) if isinstance(settled, Conversation) else conversation
        writes[conversation.id] = grown
        for new in forge.new_project(conversation.project_name, ours):
            writes.setdefault(new.id, new)
    conventions = _conventions(ours, read)
    writes |= {**parts, **candidates, **conventions}
    waiting = [one for one in candidates.values() if one.status is CandidateStatus.WAITING]
    report = _report(ours, read, conversations, parts, waiting, project)
    report.conventions = [
        each
        for key, each in sorted(conventions.items())
        if (before := ours.get(key)) is None or getattr(before, "status", None) is not each.status
    ]
    report.counts["archives"] = len(archives)
    report.counts["registered"] = sum(e.kind in {Kind.DECISION, Kind.THREAD} for e in changes.writes)
    report.counts["edges"] = sum(e.kind is Kind.LINEAGE and e.id not in ours.entities for e in changes.writes)
    report.problems = problems
    changed = sorted({one.conversation.id for one in report.filed if one.state != "unchanged"})
    forge.catalogue.close()  # frees what it read before git's index is loaded; opening takes a millisecond
    return Change(
        writes=tuple(entity for key, entity in sorted(writes.items()) if ours.get(key) != entity),
        deletes=tuple(entity_path(entity) for entity in changes.deletes),
        subject=subject_of("ingest:", [conversations[key] for key in changed], "conversations"),
        trailers=(
            ("Forgekit-Op", "ingest"),
            *(("Forgekit-Conversation", key) for key in changed),
            *(("Forgekit-Archive", archive.id) for archive, _ in archives),
            *superseding(changes.writes),
        ),
        result=report,
    )


def _changes(
    forge: Forge,
    ours: Registry,
    conversations: Mapping[EntityId, Conversation],
    candidates: Iterable[Candidate],
    filed: list[Fact],
    archives: list[Fact],
) -> ChangeSet:
    """Return what these conversations and archives change, folded together with all that are filed.

    Of the conversations in the registry only those are read that the new ones refer to.
    """
    names = {name for conversation in conversations.values() for name in conversation.continues}
    names.update(name for archive, _ in (*filed, *archives) for name in names_of(archive))
    related = (ours.find(Conversation, key) for key in {*forge.catalogue.linked(names), *conversations})
    known = {conversation.id: conversation for conversation in related if conversation is not None}
    registered = [
        found
        for key in forge.catalogue.matching(kinds=(Kind.CANDIDATE,), status=CandidateStatus.REGISTERED.value)
        if (found := ours.find(Candidate, EntityId(key))) is not None
    ]
    proposed = list(candidates)
    remembered = Ingested.of(known.values(), registered)
    imported = Ingested.of({**known, **conversations}.values(), [*registered, *proposed])
    return refold(forge.catalogue, ours, filed, archives, remembered, imported, proposed).changes


def _grown(known: Conversation | None, imported: Conversation) -> Conversation:
    """Return a conversation with what an export adds; the fields that people edit stay."""
    if known is None:
        return imported
    return replace(
        known,
        external_id=known.external_id or imported.external_id,
        session_id=known.session_id or imported.session_id,
        source=known.source or imported.source,
        turns=max(known.turns or 0, imported.turns or 0),
        created_at=imported.created_at if known.created_at == UNKNOWN else known.created_at,
        continues=_united(known.continues, imported.continues),
        brought=_united(known.brought, imported.brought),
        archived_as=_united(known.archived_as, imported.archived_as),
    )


def _united(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    return a if set(b) <= set(a) else tuple(sorted({*a, *b}))


def _new_archives(filed: Iterable[Fact], read: Iterable[Unpacked]) -> tuple[list[Fact], list[Problem]]:
    """Return the archives to file, each once, and a warning for each second text under one name.

    A pasted archive may be followed by words that are not part of it, so the text as it was written replaces
    it, even where it is filed already.
    """
    known: dict[EntityId, Fact] = {fact[0].id: fact for fact in filed}
    hashes = {archive.content_sha256 for archive, _ in known.values()}
    new: dict[EntityId, Fact] = {}
    problems: list[Problem] = []
    found = [(False, *one) for unpacked in read for one in unpacked.written]
    found += [(True, *one) for unpacked in read for one in unpacked.pasted]
    found.sort(key=lambda one: (one[0], one[1].compressed_at, one[1].id, len(one[1].body), one[1].body))
    for pasted, archive, text in found:
        other = new.get(archive.id) or known.get(archive.id)
        if other is None:
            taken = archive.content_sha256 not in hashes
        elif same_archive(other[0], archive) or (pasted and words_behind((archive, text), other)):
            taken = False
        else:
            taken = not pasted and words_behind(other, (archive, text))
            if not taken:
                name = short_id(Kind.ARCHIVE, archive.id)
                message = f"{name} ({archive.compression_tag}) is filed with another text, which is kept"
                problems.append(warning("archive-differs", message))
        if taken:
            hashes.add(archive.content_sha256)
            new[archive.id] = archive, text
            errors = (p for p in text.problems if p.severity is Severity.ERROR)
            problems += [replace(p, path=archive.compression_tag) for p in errors]
    return list(new.values()), problems


def _report(
    ours: Registry,
    read: Iterable[Unpacked],
    conversations: Mapping[EntityId, Conversation],
    parts: Mapping[EntityId, TranscriptPart],
    waiting: Collection[Candidate],
    project: str,
) -> IngestReport:
    """Report a batch; a conversation that was given twice is reported as unchanged the second time."""
    report = IngestReport(candidates=[one.id for one in waiting])
    report.counts["waiting"] = len(waiting)
    candidates = Counter(one.conversation_id for one in waiting)
    seen: set[EntityId] = set()
    for unpacked in read:
        conversation = conversations[unpacked.conversation.id]
        first = conversation.id not in seen
        seen.add(conversation.id)
        known = ours.find(Conversation, conversation.id)
        before = (known.turns or 0) if known is not None else 0
        one = FiledConversation(
            conversation=conversation,
            state=_state(known, conversation, (parts[p.id] for p in unpacked.parts), ours)
            if first
            else "unchanged",
            project_from=unpacked.project_from,
            new_turns=max((conversation.turns or 0) - before, 0) if first else 0,
            candidates=candidates[conversation.id] if first else 0,
        )
        report.filed.append(one)
        report.states[one.state] += 1
        report.counts["unplaced"] += one.project_from == "nothing"
        if project and one.project_from == "registry" and conversation.project_name != project:
            report.elsewhere[conversation.project_name] += 1
        if one.state != "unchanged":
            report.redacted.update(unpacked.redacted)
    return report


def _state(
    known: Conversation | None, now: Conversation, parts: Iterable[TranscriptPart], ours: Registry
) -> str:
    if known is None:
        return "new"
    if known.source is None:
        return "joined"
    return "grown" if now != known or any(ours.get(part.id) != part for part in parts) else "unchanged"
