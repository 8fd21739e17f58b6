"""All entities; threads and decisions have modules of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import get_args

from forgekit.errors import RuleError
from forgekit.ids import EntityId, timestamp, v8_named
from forgekit.model.body import section
from forgekit.model.decision import Decision
from forgekit.model.kinds import Kind, path_of
from forgekit.model.rules import MOST_TURNS, require_between, require_keys, require_line, require_values
from forgekit.model.thread import Thread
from forgekit.times import UNKNOWN, Instant

UNSORTED = "Unsorted"
"""The project of conversations whose project is unknown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A named area of work; the body describes it."""

    kind = Kind.PROJECT

    project_uuid: EntityId
    project_name: str
    tags: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    body: str = ""

    def __post_init__(self) -> None:
        require_values(self)

    @property
    def id(self) -> EntityId:
        """The project's id."""
        return self.project_uuid

    @property
    def title(self) -> str:
        """What lists show."""
        return self.project_name


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """One chat or agent run, or one stretch of it between two compressions.

    Attributes:
        external_id: the platform's own uuid, accepted wherever an id is asked for.
        session_id: what the archive calls the session; stretches of one session share it.
        source: the format that it was ingested from; None where only archives or people tell of it.
        turns: how many of its turns have been read.
        continues: tags and ids that its first messages name or paste: what it was begun from.
        brought: local ids of the records that came with them.
        archived_as: tags of the archives that were written in it.
    """

    kind = Kind.CONVERSATION

    conversation_id: EntityId
    title: str
    project_name: str
    project_uuid: EntityId
    created_at: Instant = UNKNOWN
    external_id: str | None = None
    session_id: str | None = None
    source: str | None = None
    turns: int | None = None
    continues: tuple[str, ...] = ()
    brought: tuple[str, ...] = ()
    archived_as: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    body: str = ""

    def __post_init__(self) -> None:
        require_values(self)
        require_between("turns", self.turns, MOST_TURNS)

    @property
    def id(self) -> EntityId:
        """The conversation's id."""
        return self.conversation_id


TurnRange = tuple[int, int]
"""First and last turn, both included, counted from 1."""


class CompressionMode(Enum):
    """How a conversation was compressed."""

    LOSSLESS = "lossless"  # transcript and logs kept
    LOSSY = "lossy"  # state only
    PARTIAL = "partial"  # a stretch or a topic, with inherited context


@dataclass(frozen=True, kw_only=True, slots=True)
class Compression:
    """What one compression of the source brought into the target.

    Attributes:
        compression_tag: the source's archive that was carried over.
        decisions_carried: (local id in the source's archive or "", decision id) pairs; the rest alike.
    """

    compression_tag: str
    compression_mode: CompressionMode | None = None
    compressed_at: Instant | None = None
    turn_range: TurnRange | None = None
    decisions_carried: tuple[tuple[str, EntityId], ...] = ()
    decisions_dropped: tuple[tuple[str, EntityId], ...] = ()
    threads_carried: tuple[tuple[str, EntityId], ...] = ()
    threads_resolved: tuple[tuple[str, EntityId], ...] = ()

    def __post_init__(self) -> None:
        require_line("compression_tag", self.compression_tag)
        for name in ("decisions_carried", "decisions_dropped", "threads_carried", "threads_resolved"):
            require_keys(name, getattr(self, name))


@dataclass(frozen=True, kw_only=True, slots=True)
class Lineage:
    """`target_conversation_id` continues `source_conversation_id`; the body summarises what changed."""

    kind = Kind.LINEAGE

    lineage_id: EntityId
    source_conversation_id: EntityId
    target_conversation_id: EntityId
    project_name: str
    project_uuid: EntityId
    compressions: tuple[Compression, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    body: str = ""

    def __post_init__(self) -> None:
        require_values(self)
        require_keys("compressions", [(entry.compression_tag, "") for entry in self.compressions])
        if self.source_conversation_id == self.target_conversation_id:
            raise RuleError("target_conversation_id: a conversation cannot continue itself")

    @property
    def id(self) -> EntityId:
        """The edge's id."""
        return self.lineage_id

    @property
    def title(self) -> str:
        """What lists show."""
        return ", ".join(c.compression_tag for c in self.compressions) or "(no tag)"


@dataclass(frozen=True, kw_only=True, slots=True)
class Archive:
    """One archive: who, when and from what in front of its verbatim text.

    Attributes:
        compressed_at: event time of its whole content.
        inherits_from: tags (or conversation ids) of what it continues, as it names them.
        content_sha256: of the text's UTF-8 bytes.
        records: (local id, entity id) pairs: the entity of each local id.
        body: the archive itself, every byte of it.
    """

    kind = Kind.ARCHIVE

    archive_id: EntityId
    compression_tag: str
    compression_mode: CompressionMode
    compressed_at: Instant
    conversation_id: EntityId
    conversation_title: str
    project_name: str
    project_uuid: EntityId
    conversation_started: Instant
    session_id: str | None = None
    external_id: str | None = None
    turn_range: TurnRange | None = None
    inherits_from: tuple[str, ...] = ()
    content_sha256: str
    records: tuple[tuple[str, EntityId], ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    body: str = ""

    def __post_init__(self) -> None:
        require_values(self)

    @property
    def id(self) -> EntityId:
        """The archive's id."""
        return self.archive_id

    @property
    def title(self) -> str:
        """What lists show."""
        return self.compression_tag


class ConflictStatus(Enum):
    """Where a conflict stands."""

    OPEN = "open"  # a person has to choose
    RESOLVED = "resolved"  # one side was kept
    SCOPED = "scoped"  # both hold, each in its scope
    DISMISSED = "dismissed"  # no contradiction after all


@dataclass(frozen=True, kw_only=True, slots=True)
class Conflict:
    """A pair of active decisions that cannot both be followed.

    Attributes:
        decision_a: the smaller of the two ids.
        nature: what they disagree on, in words.
        evidence: reasons, one line each.
        kept: the decision that was kept, once resolved.
    """

    kind = Kind.CONFLICT

    conflict_id: EntityId
    decision_a: EntityId
    decision_b: EntityId
    status: ConflictStatus = ConflictStatus.OPEN
    nature: str
    similarity: float | None = None
    evidence: tuple[str, ...] = ()
    detected_at: Instant
    kept: EntityId | None = None
    reason: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict)
    body: str = ""

    def __post_init__(self) -> None:
        require_values(self)
        if self.decision_a >= self.decision_b:
            raise RuleError("decision_a: must be the smaller of two different ids")
        if self.kept is not None and self.status is not ConflictStatus.RESOLVED:
            raise RuleError("kept: goes with status resolved and no other")

    @property
    def id(self) -> EntityId:
        """The conflict's id."""
        return self.conflict_id

    @property
    def title(self) -> str:
        """What lists show."""
        return self.nature


class CandidateStatus(Enum):
    """The state of a candidate."""

    WAITING = "waiting"  # for a person's review
    APPROVED = "approved"  # became a decision or a thread
    MERGED = "merged"  # means the same as a registered entity
    REJECTED = "rejected"  # is none, and is never offered again
    REGISTERED = "registered"  # named its own id (D001), and so needed no review


class Proposal(Enum):
    """What a candidate proposes to register."""

    DECISION = "decision"
    THREAD_OPEN = "thread_open"
    THREAD_RESOLVED = "thread_resolved"
    THREAD_BLOCKED = "thread_blocked"
    THREAD_ABANDONED = "thread_abandoned"


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One find; the body holds `## Quote` and `## Rationale`.

    Attributes:
        candidate: what would be registered, one line.
        confidence: 0.0 to 1.0.
        why: the rule that found it, in words.
        turn: the turn of the conversation that holds it.
        local_id: by which the text names it.
        created_at: event time of the turn.
        became: the decision or thread that it was approved as or merged into.
    """

    kind = Kind.CANDIDATE

    candidate_id: EntityId
    candidate: str
    status: CandidateStatus = CandidateStatus.WAITING
    proposes: Proposal
    confidence: float
    why: str
    project_name: str
    project_uuid: EntityId
    conversation_id: EntityId
    turn: int
    local_id: str | None = None
    alternatives_rejected: tuple[str, ...] = ()
    created_at: Instant = UNKNOWN
    became: EntityId | None = None
    extra: Mapping[str, object] = field(default_factory=dict)
    body: str = ""

    def __post_init__(self) -> None:
        require_values(self)
        require_between("confidence", self.confidence, 1)
        require_between("turn", self.turn, MOST_TURNS)
        settled = {CandidateStatus.APPROVED, CandidateStatus.MERGED}
        if self.became is not None and self.status not in settled:
            raise RuleError("became: goes with status approved or merged and no other")

    @property
    def id(self) -> EntityId:
        """The candidate's id."""
        return self.candidate_id

    @property
    def title(self) -> str:
        """What lists show."""
        return self.candidate

    @property
    def quote(self) -> str:
        """The words of the conversation."""
        return section(self.body, "Quote")

    @property
    def rationale(self) -> str:
        """The reason given near the quote."""
        return section(self.body, "Rationale")


def part_id(conversation: EntityId, number: int, started: Instant) -> EntityId:
    """Derive the id of a part, counted from 1, of a conversation's text."""
    return v8_named(conversation, f"text:{number}", timestamp(conversation, started))


def in_order(parts: Iterable[TranscriptPart]) -> list[TranscriptPart]:
    """Return the parts of one conversation as they follow each other; a long turn may fill several."""
    found = {part.id: part for part in parts}
    first = next(iter(found.values()), None)
    if first is None:
        return []
    numbers = range(1, 2 * len(found) + 100)
    ids = (part_id(first.conversation_id, number, first.created_at) for number in numbers)
    named = [found.pop(key) for key in ids if key in found]
    return [*named, *sorted(found.values(), key=lambda part: part.turn_range)]


@dataclass(frozen=True, kw_only=True, slots=True)
class TranscriptPart:
    """Some turns of a conversation, as Markdown; `text.transcript` writes and reads the body.

    Attributes:
        title: of the conversation.
        turn_range: first and last turn; a long turn may go on in the next part.
        created_at: start of the conversation.
    """

    kind = Kind.TRANSCRIPT

    transcript_id: EntityId
    title: str
    conversation_id: EntityId
    project_name: str
    project_uuid: EntityId
    turn_range: TurnRange
    created_at: Instant = UNKNOWN
    extra: Mapping[str, object] = field(default_factory=dict)
    body: str = ""

    def __post_init__(self) -> None:
        require_values(self)

    @property
    def id(self) -> EntityId:
        """The text's id."""
        return self.transcript_id


Entity = (
    Project | Conversation | Thread | Decision | Lineage | Conflict | Candidate | TranscriptPart | Archive
)

CLASSES: dict[Kind, type[Entity]] = {cls.kind: cls for cls in get_args(Entity)}


def entity_path(entity: Entity) -> str:
    """Return the path an entity is filed under, relative to the registry's root."""
    return path_of(entity.kind, entity.id)
