"""A conversation as it was read, taken apart into what will be filed.

Secrets are taken out before anything else is made of a text. Nothing is written here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import NamedTuple

from forgekit.errors import ArchiveError, FormatError
from forgekit.ids import EntityId, conversation_id, normalise, project_id, text_hash, timestamp, v8_named
from forgekit.ingest.claude_code import project_of
from forgekit.loop.incoming import Arrival, Incoming, arrival, of_compaction
from forgekit.model.body import clean, with_section
from forgekit.model.candidate import Candidate, CandidateStatus, Proposal
from forgekit.model.conversation import Conversation
from forgekit.model.kept import KeptText, part_id
from forgekit.model.problem import Problem, Severity
from forgekit.model.project import UNSORTED
from forgekit.model.rules import one_line, statement
from forgekit.model.transcript import Speaker, Transcript, Turn
from forgekit.policy.extraction.extract import extract
from forgekit.policy.extraction.find import Find
from forgekit.policy.filing import Envelope
from forgekit.policy.recognition import Quoted, recognise
from forgekit.text.redaction import redact
from forgekit.text.transcript import write_parts
from forgekit.times import UNKNOWN, Instant

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
    kept: tuple[KeptText, ...]
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
    transcript: Transcript, placing: Placing, *, keep: Collection[str] | None, allowed: Collection[str]
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


def _title(transcript: Transcript, turns: Iterable[Turn]) -> str:
    title = statement(transcript.title, _TITLE_LIMIT)
    if title:
        return title
    if transcript.folder and transcript.external_id:
        return statement(f"{project_of(transcript.folder)} {transcript.external_id[:8]}", _TITLE_LIMIT)
    said = (statement(t.text, 80) for t in turns if t.speaker is Speaker.USER and not t.compaction)
    return next(filter(None, said), "") or transcript.external_id[:40] or "Untitled"


def _first_words(turns: tuple[Turn, ...]) -> str:
    return text_hash("\n\n".join(turn.text for turn in turns[:3])) if turns else ""


def _project(transcript: Transcript, title: str, placing: Placing) -> tuple[str, str]:
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


def _compactions(transcript: Transcript, turns: tuple[Turn, ...]) -> Iterator[tuple[Turn, Instant | None]]:
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

    def _take(self, text: str, envelope: Envelope, turn: Turn) -> Arrival | None:
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
        known = Envelope(project=self._talk.project_name)
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
        arrived = self._take(quoted.text, Envelope(at=at), quoted.turn)
        if arrived is not None:
            (self.archives if quoted.written else self.pasted).append(arrived)
            names = self.written if quoted.written else self.continues
            names[arrived[0].compression_tag] = None


def _kept(talk: Conversation, turns: tuple[Turn, ...], cleaner: _Cleaner) -> tuple[KeptText, ...]:
    texts = []
    for number, part in enumerate(write_parts(turns), 1):
        texts.append(
            KeptText(
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
