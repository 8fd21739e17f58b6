"""All entities, valid on construction; each field of a file is declared here, once, in the order of the file.

Reader, writer, merge, reference checks, catalogue columns, CSV and JSON follow from the declarations.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from forgekit.errors import FormatError, RuleError
from forgekit.frozen import field, frozen
from forgekit.ids import EntityId, pair_id, text_hash, timestamp, v8_named
from forgekit.model.fields import (
    CODE,
    CODES,
    COUNT,
    ID,
    IDS,
    IDS_OR_WORDS,
    INSTANT,
    LINES,
    NUMBER,
    PAIRS,
    SHARE,
    TEXT,
    TURNS,
    Field,
    FieldType,
    Merge,
    TurnRange,
    ids_in,
    json_fields,
    key,
    keys_of,
    one_of,
    read_fields,
    status_key,
    stored,
    write_fields,
)
from forgekit.model.kinds import Kind, path_of
from forgekit.model.rules import (
    require_keys,
    require_values,
    section,
    unescaped,
)
from forgekit.times import UNKNOWN, Instant

_CONVERSATION, _DECISION, _THREAD = (Kind.CONVERSATION,), (Kind.DECISION,), (Kind.THREAD,)
_RECORD = (Kind.DECISION, Kind.THREAD)
_PROJECT = (Kind.PROJECT,)
Pairs = tuple[tuple[str, EntityId], ...]
"""(local id or "", id) pairs, in a file a map."""


class _Unread:
    """Attributes that are read from the fields of a file when they are first asked for; see `unread`."""

    __slots__ = ("_fields",)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            known = _readers(type(self))
            if name not in known:
                raise AttributeError(f"{type(self).__name__} has no {name}")
            fields = self._fields
            if isinstance(fields, str):
                fields = json.loads(fields)
                object.__setattr__(self, "_fields", fields)
            read, default = known[name]
            raw = fields if name == "extra" else fields.get(name, "")
            value = default if raw == "" else read(raw)
            object.__setattr__(self, name, value)
            return value


@frozen(kw_only=True)
class Record(_Unread):
    """What every entity has.

    Attributes:
        kind: of the class.
        shown: the name of the attribute that lists show.
        extra: unknown keys of the front matter, as it holds them.
        body: the Markdown below it.
    """

    kind: ClassVar[Kind]
    shown: ClassVar[str] = "title"
    _id_field: ClassVar[str]

    extra: Mapping[str, object] = field(default_factory=dict)
    body: str = ""

    def __init_subclass__(cls) -> None:
        cls._id_field = cls.kind.id_field

    def __post_init__(self) -> None:
        require_values(self)
        self.require()

    def require(self) -> None:
        """Raise RuleError where attributes contradict each other."""

    @property
    def id(self) -> EntityId:
        """The id, whatever its field is called."""
        found: EntityId = getattr(self, self._id_field)
        return found

    @property
    def title(self) -> str:
        """What lists show."""
        return str(getattr(self, self.shown))


class _Section:
    """An attribute of an entity: the text of a section of its body; of None, what precedes the first."""

    def __init__(self, name: str | None) -> None:
        self._name = name

    def __get__(self, entity: Record, owner: type[Record]) -> str:
        return section(entity.body, self._name)


@stored
class Project(Record):
    """A named area of work; the body describes it."""

    kind = Kind.PROJECT
    shown = "project_name"

    project_uuid: EntityId = key(ID, together="project", column=True)
    project_name: str = key(TEXT, together="project", column=True, csv=True)
    tags: tuple[str, ...] = key(LINES, default=(), csv=True)


@stored
class Conversation(Record):
    """One chat or agent run, or one stretch of it between two compressions.

    Attributes:
        external_id: the platform's own uuid, accepted wherever an id is asked for.
        session_id: what the archive calls the session; stretches of one session share it.
        source: the format that it was ingested from; None where only archives or people tell of it.
        turns: how many of its turns have been read.
        continues: tags and ids that its first messages name or paste: what it was begun from.
        brought: local ids of the records that came with them.
        archived_as: tags of the archives that were written in it.
        essence: its outcome, in one or two sentences; `essence_of` and `essence_by` as of a note.
    """

    kind = Kind.CONVERSATION

    conversation_id: EntityId = key(ID)
    title: str = key(TEXT)
    project_name: str = key(TEXT, together="project", column=True, csv=True)
    project_uuid: EntityId = key(ID, together="project", refers=_PROJECT, column=True)
    external_id: str | None = key(TEXT, default=None, column=True)
    session_id: str | None = key(TEXT, default=None)
    source: str | None = key(TEXT, default=None)
    turns: int | None = key(COUNT, default=None, merge=Merge.GREATER)
    continues: tuple[str, ...] = key(LINES, default=())
    brought: tuple[str, ...] = key(LINES, default=())
    archived_as: tuple[str, ...] = key(LINES, default=())
    essence: str | None = key(TEXT, default=None, together="essence")
    essence_of: str | None = key(CODE, default=None, together="essence")
    essence_by: str | None = key(TEXT, default=None, together="essence")
    created_at: Instant = key(INSTANT, default=UNKNOWN, unset=UNKNOWN, merge=Merge.EARLIER, csv=True)
    tags: tuple[str, ...] = key(LINES, default=(), csv=True)


class ThreadStatus(Enum):
    """The state of a thread."""

    OPEN = "open"  # waits for work
    RESOLVED = "resolved"  # answered, in the body
    SUPERSEDED = "superseded"  # another thread took its place
    ABANDONED = "abandoned"  # nobody will answer it

    @property
    def ended(self) -> bool:
        """Whether only an explicit reopening brings it back."""
        return self is not ThreadStatus.OPEN


class Priority(Enum):
    """How much a thread matters, the most important first."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def rank(self) -> int:
        """Its place in that order, from 0."""
        return list(Priority).index(self)


@stored
class Thread(Record):
    """A question that work has to come back to; the body has a description and a resolution.

    Attributes:
        local_id: what the archive of `first_seen_in` calls it, such as `T001`.
        blocked_by: what it waits for: other threads by id, anything else in words.
        updated_at: event time of the last state change.
    """

    kind = Kind.THREAD

    thread_id: EntityId = key(ID)
    title: str = key(TEXT)
    status: ThreadStatus = status_key(ThreadStatus, default=ThreadStatus.OPEN)
    priority: Priority = key(one_of(Priority), default=Priority.MEDIUM, csv=True)
    project_name: str = key(TEXT, together="project", column=True, csv=True)
    project_uuid: EntityId = key(ID, together="project", refers=_PROJECT, column=True)
    local_id: str | None = key(TEXT, default=None, csv=True)
    blocked_by: tuple[str, ...] = key(IDS_OR_WORDS, default=(), refers=_THREAD, csv=True)
    first_seen_in: EntityId | None = key(ID, default=None, refers=_CONVERSATION)
    resolved_in: EntityId | None = key(ID, default=None, together="state", refers=_CONVERSATION)
    conversation_ids: tuple[EntityId, ...] = key(IDS, default=(), refers=_CONVERSATION)
    created_at: Instant = key(INSTANT, merge=Merge.EARLIER, csv=True)
    updated_at: Instant = key(INSTANT, together="state", csv=True)
    tags: tuple[str, ...] = key(LINES, default=(), csv=True)

    def require(self) -> None:
        """Raise RuleError for an open thread that was resolved somewhere."""
        if self.resolved_in is not None and not self.status.ended:
            raise RuleError("resolved_in: goes with a thread that has ended, and this one is open")

    content = _Section(None)  # the description
    resolution = _Section("Resolution")  # how it ended; "" while open


SPECULATIVE_BELOW = 0.25
VALIDATED_FROM = 0.75


class TierBand(Enum):
    """What a tier means in words."""

    VALIDATED = "validated"  # state as fact
    HEURISTIC = "heuristic"  # guidance
    SPECULATIVE = "speculative"  # stays out of continuation blocks


def band(tier: float) -> TierBand:
    """Return the band of a tier between 0 and 1; total, unlike the published bands."""
    if tier >= VALIDATED_FROM:
        return TierBand.VALIDATED
    return TierBand.HEURISTIC if tier >= SPECULATIVE_BELOW else TierBand.SPECULATIVE


def is_speculative(tier: float | None) -> bool:
    """Say whether a decision of a tier stays out of continuation blocks."""
    return tier is not None and tier < SPECULATIVE_BELOW


class DecisionStatus(Enum):
    """The state of a decision."""

    ACTIVE = "active"  # in force
    REVISED = "revised"  # its text changed; superseded_by names the revision
    SUPERSEDED = "superseded"  # another decision took its place
    INVALIDATED = "invalidated"  # found wrong, nothing took its place

    @property
    def ended(self) -> bool:
        """Whether the decision is out of force."""
        return self is not DecisionStatus.ACTIVE

    @property
    def replaced(self) -> bool:
        """Whether another decision took its place."""
        return self in _REPLACED


_REPLACED = (DecisionStatus.REVISED, DecisionStatus.SUPERSEDED)


@stored
class Decision(Record):
    """Something that was chosen; the body holds `## Rationale` and `## Context`.

    Attributes:
        epistemic_tier: 0.0 to 1.0; None where it is unknown.
        governs: path globs and names of components that it is about.
        tier_token: the class 1, 2 or 3 that the archive wrote instead of a tier.
        last_validated: event time at which it was last stated, carried or validated.
    """

    kind = Kind.DECISION
    shown = "decision"

    decision_id: EntityId = key(ID)
    decision: str = key(TEXT)
    status: DecisionStatus = status_key(DecisionStatus, default=DecisionStatus.ACTIVE)
    epistemic_tier: float | None = key(SHARE, default=None, column=True, csv=True)
    tier_token: str | None = key(CODE, default=None)
    project_name: str = key(TEXT, together="project", column=True, csv=True)
    project_uuid: EntityId = key(ID, together="project", refers=_PROJECT, column=True)
    local_id: str | None = key(TEXT, default=None, csv=True)
    originated_in: EntityId | None = key(ID, default=None, refers=_CONVERSATION)
    revised_in: EntityId | None = key(
        ID, default=None, together="state", states=(DecisionStatus.REVISED,), refers=_CONVERSATION
    )
    superseded_by: EntityId | None = key(
        ID, default=None, together="state", states=_REPLACED, refers=_DECISION, csv=True
    )
    conversation_ids: tuple[EntityId, ...] = key(IDS, default=(), refers=_CONVERSATION)
    dependencies: tuple[EntityId, ...] = key(IDS, default=(), refers=_DECISION, csv=True)
    alternatives_rejected: tuple[str, ...] = key(LINES, default=(), csv=True)
    governs: tuple[str, ...] = key(LINES, default=(), csv=True)
    created_at: Instant = key(INSTANT, merge=Merge.EARLIER, csv=True)
    last_validated: Instant = key(INSTANT, merge=Merge.LATER, column=True, csv=True)
    tags: tuple[str, ...] = key(LINES, default=(), csv=True)

    def require(self) -> None:
        """Raise RuleError for a decision that is its own successor."""
        if self.superseded_by == self.decision_id:
            raise RuleError("superseded_by: names the decision itself")

    @property
    def tier_words(self) -> str:
        """The tier as people read it, `?` where nobody gave one."""
        return "?" if self.epistemic_tier is None else f"{self.epistemic_tier:g}"

    rationale = _Section("Rationale")  # why it was chosen
    context = _Section("Context")  # the circumstances in which it was chosen

    @property
    def ending(self) -> str:
        """Why it is out of force, where a reason was given."""
        return section(self.body, self.status.value.capitalize()) if self.status.ended else ""

    @property
    def speculative(self) -> bool:
        """Whether it stays out of continuation blocks."""
        return is_speculative(self.epistemic_tier)


class CompressionMode(Enum):
    """How a conversation was compressed."""

    LOSSLESS = "lossless"  # transcript and logs kept
    LOSSY = "lossy"  # state only
    PARTIAL = "partial"  # a stretch or a topic, with inherited context


@stored
class Compression:
    """What one compression of the source brought into the target.

    Attributes:
        compression_tag: the source's archive that was carried over.
        decisions_carried: local ids are those in the source's archive; the rest alike.
    """

    compression_tag: str = key(TEXT)
    compression_mode: CompressionMode | None = key(one_of(CompressionMode), default=None)
    compressed_at: Instant | None = key(INSTANT, default=None)
    turn_range: TurnRange | None = key(TURNS, default=None)
    decisions_carried: Pairs = key(PAIRS, default=(), refers=_DECISION)
    decisions_dropped: Pairs = key(PAIRS, default=(), refers=_DECISION)
    threads_carried: Pairs = key(PAIRS, default=(), refers=_THREAD)
    threads_resolved: Pairs = key(PAIRS, default=(), refers=_THREAD)

    def __post_init__(self) -> None:
        require_values(self)


COMPRESSION = keys_of(Compression)


def _read_compressions(value: Any) -> tuple[Compression, ...]:
    if not isinstance(value, list):
        raise ValueError("must be a list with an entry per tag")
    out = []
    for number, entry in enumerate(value, 1):
        if not isinstance(entry, dict):
            raise ValueError(f"entry {number} must be a map")
        raw = dict(entry)
        try:
            out.append(Compression(**read_fields(COMPRESSION, raw, {})))
        except (FormatError, RuleError) as e:
            raise ValueError(f"entry {number}: {e}") from None
        if raw:  # an entry has no place to keep unknown keys
            raise ValueError(f"entry {number}: {next(iter(raw))}: is not a field of an entry")
    return tuple(out)


COMPRESSIONS = FieldType(
    _read_compressions,
    lambda entries: [write_fields(COMPRESSION, entry) for entry in entries],
    lambda entries: [json_fields(COMPRESSION, entry) for entry in entries],
    Merge.ENTRIES,
    searched=True,
)


@stored
class Lineage(Record):
    """`target_conversation_id` continues `source_conversation_id`; the body summarises what changed."""

    kind = Kind.LINEAGE

    lineage_id: EntityId = key(ID)
    source_conversation_id: EntityId = key(ID, together="ends", refers=_CONVERSATION)
    target_conversation_id: EntityId = key(ID, together="ends", refers=_CONVERSATION)
    project_name: str = key(TEXT, together="project", column=True, csv=True)
    project_uuid: EntityId = key(ID, together="project", refers=_PROJECT, column=True)
    compressions: tuple[Compression, ...] = key(COMPRESSIONS, default=(), entry=COMPRESSION)

    def require(self) -> None:
        """Raise RuleError for a tag that is named twice, and for a conversation that continues itself."""
        require_keys("compressions", [(entry.compression_tag, "") for entry in self.compressions])
        if self.source_conversation_id == self.target_conversation_id:
            raise RuleError("target_conversation_id: a conversation cannot continue itself")

    @property
    def title(self) -> str:
        """What lists show."""
        return ", ".join(c.compression_tag for c in self.compressions) or "(no tag)"


class ConflictStatus(Enum):
    """The state of a conflict."""

    OPEN = "open"  # a person has to choose
    RESOLVED = "resolved"  # one side was kept
    SCOPED = "scoped"  # both hold, each in its scope
    DISMISSED = "dismissed"  # no contradiction after all


@stored
class Conflict(Record):
    """A pair of active decisions that cannot both be followed.

    Attributes:
        decision_a: the smaller of the two ids.
        nature: what they disagree on, in words.
        evidence: reasons, one line each.
        kept: the decision that was kept, once resolved.
    """

    kind = Kind.CONFLICT
    shown = "nature"

    conflict_id: EntityId = key(ID)
    decision_a: EntityId = key(ID, together="sides", refers=_DECISION)
    decision_b: EntityId = key(ID, together="sides", refers=_DECISION)
    status: ConflictStatus = status_key(ConflictStatus, default=ConflictStatus.OPEN)
    nature: str = key(TEXT)
    similarity: float | None = key(NUMBER, default=None)
    evidence: tuple[str, ...] = key(LINES, default=())
    detected_at: Instant = key(INSTANT, merge=Merge.EARLIER)
    kept: EntityId | None = key(
        ID, default=None, together="state", states=(ConflictStatus.RESOLVED,), refers=_DECISION
    )
    reason: str | None = key(TEXT, default=None, together="state")

    def require(self) -> None:
        """Raise RuleError for sides out of order."""
        if self.decision_a >= self.decision_b:
            raise RuleError("decision_a: must be the smaller of two different ids")

    @classmethod
    def between(cls, a: Decision, b: Decision, nature: str, evidence: tuple[str, ...] = ()) -> Conflict:
        """Return the open verdict of a pair."""
        low, high = sorted((a.id, b.id))
        return cls(
            conflict_id=pair_id(low, high),
            decision_a=low,
            decision_b=high,
            nature=nature,
            evidence=evidence,
            detected_at=max(a.created_at, b.created_at),
        )

    @property
    def sides(self) -> tuple[EntityId, EntityId]:
        """The ids of both decisions."""
        return self.decision_a, self.decision_b


class CandidateStatus(Enum):
    """The state of a candidate."""

    WAITING = "waiting"  # for a person's review
    APPROVED = "approved"  # became a decision or a thread
    MERGED = "merged"  # means the same as a registered entity
    REJECTED = "rejected"  # is none, and is never offered again
    REGISTERED = "registered"  # named its own id (D001), and so needed no review


_TAKEN_UP = (CandidateStatus.APPROVED, CandidateStatus.MERGED)


class Proposal(Enum):
    """What a candidate proposes to register."""

    DECISION = "decision"
    INSTRUCTION = "instruction"  # on how to work from now on; registered as a decision
    THREAD_OPEN = "thread_open"
    THREAD_RESOLVED = "thread_resolved"
    THREAD_BLOCKED = "thread_blocked"
    THREAD_ABANDONED = "thread_abandoned"

    @property
    def decides(self) -> bool:
        """Whether it is registered as a decision, else as a thread."""
        return self in {Proposal.DECISION, Proposal.INSTRUCTION}


@stored
class Candidate(Record):
    """One find; the body holds `## Quote`, `## Rationale` and `## Context`.

    Attributes:
        candidate: what would be registered, one line.
        confidence: 0.0 to 1.0.
        why: the rule that found it, in words.
        turn: the turn of the conversation that holds it; 0 where an archive's text does.
        local_id: by which the text names it.
        epistemic_tier, dependencies, governs, priority: of the decision or thread that it would become.
        created_at: event time of the turn.
        became: the decision or thread that it was approved as or merged into.
    """

    kind = Kind.CANDIDATE
    shown = "candidate"

    candidate_id: EntityId = key(ID)
    candidate: str = key(TEXT)
    status: CandidateStatus = status_key(CandidateStatus, default=CandidateStatus.WAITING)
    proposes: Proposal = key(one_of(Proposal))
    confidence: float = key(SHARE)
    why: str = key(TEXT)
    project_name: str = key(TEXT, together="project", column=True, csv=True)
    project_uuid: EntityId = key(ID, together="project", refers=_PROJECT, column=True)
    conversation_id: EntityId = key(ID, refers=_CONVERSATION)
    turn: int = key(COUNT, merge=Merge.GREATER)
    local_id: str | None = key(TEXT, default=None, csv=True)
    epistemic_tier: float | None = key(SHARE, default=None, csv=True)
    dependencies: tuple[EntityId, ...] = key(IDS, default=(), refers=_DECISION)
    alternatives_rejected: tuple[str, ...] = key(LINES, default=())
    governs: tuple[str, ...] = key(LINES, default=())
    priority: Priority | None = key(one_of(Priority), default=None, csv=True)
    created_at: Instant = key(INSTANT, default=UNKNOWN, unset=UNKNOWN, merge=Merge.EARLIER, csv=True)
    became: EntityId | None = key(ID, default=None, together="state", states=_TAKEN_UP, refers=_RECORD)

    quote = _Section("Quote")  # the words of the conversation
    rationale = _Section("Rationale")  # the reason given near the quote
    context = _Section("Context")  # the words of its agent, or the end of the turn that a few words answer

    @property
    def quoted(self) -> str:
        """The quote and its turn: how the context of what it becomes begins."""
        return f"Turn {self.turn}: {self.quote}" if self.quote and self.turn else self.quote


class ConventionStatus(Enum):
    """What was answered to a convention; `insight.conventions` computes its stage."""

    PROPOSED = "proposed"  # observed or read from files; waits for a person
    ACTIVE = "active"  # a person approved it, or stated it outright
    REJECTED = "rejected"  # is none, and is never offered again
    RETIRED = "retired"  # was one
    REVISED = "revised"  # its text changed; superseded_by names the new one


class ConventionForm(Enum):
    """What a convention asks for."""

    CONVENTION = "convention"  # do it
    ANTI_PATTERN = "anti-pattern"  # do not do it


class ConventionOrigin(Enum):
    """How a convention was found, the surest first."""

    EXPLICIT = "explicit"  # a person stated it outright
    BOOTSTRAP = "bootstrap"  # a file of the project says it
    OBSERVED = "observed"  # a person asked for it in conversations


@stored
class Convention(Record):
    """How a team wants work done; the body says why.

    Attributes:
        scope: path globs and names of components that it applies to; everywhere without one.
        confidence: 0.0 to 1.0 at the last answer.
        evidence: `con_b34bfcd74276 turn 12` or `pyproject.toml:14`, one for each observation.
        sessions_seen: the conversations that stated it.
        cited_in: the conversations that referred to it or followed it.
        answered_at: when a person approved, rejected or retired it.
    """

    kind = Kind.CONVENTION
    shown = "convention"

    convention_id: EntityId = key(ID)
    convention: str = key(TEXT)
    form: ConventionForm = key(one_of(ConventionForm), default=ConventionForm.CONVENTION)
    status: ConventionStatus = status_key(ConventionStatus, default=ConventionStatus.PROPOSED)
    origin: ConventionOrigin = key(one_of(ConventionOrigin), together="state")
    confidence: float = key(SHARE, together="state")
    project_name: str = key(TEXT, together="project", column=True, csv=True)
    project_uuid: EntityId = key(ID, together="project", refers=_PROJECT, column=True)
    scope: tuple[str, ...] = key(LINES, default=())
    evidence: tuple[str, ...] = key(LINES, default=(), merge=Merge.SET)
    sessions_seen: tuple[EntityId, ...] = key(IDS, default=(), refers=_CONVERSATION)
    cited_in: tuple[EntityId, ...] = key(IDS, default=(), refers=_CONVERSATION)
    superseded_by: EntityId | None = key(
        ID,
        default=None,
        together="state",
        states=(ConventionStatus.REVISED,),
        refers=(Kind.CONVENTION,),
        csv=True,
    )
    answered_at: Instant | None = key(INSTANT, default=None, together="state")
    created_at: Instant = key(INSTANT, default=UNKNOWN, unset=UNKNOWN, merge=Merge.EARLIER, csv=True)
    tags: tuple[str, ...] = key(LINES, default=(), csv=True)


@stored
class Note(Record):
    """Something a person wrote down; the body is its text.

    Attributes:
        source: where it was ingested from, such as a path in a vault; None where it was typed.
        source_hash: of what the source held when it was last read.
        source_folders: hashes of the paths of the folders that its source was found in; they tell folders
            of one name apart.
        concepts: its key phrases.
        essence: what it says, in one or two sentences.
        essence_of: the hash of the title and text that the essence was made of.
        essence_by: who made it.
        updated_at: when its text last changed.
    """

    kind = Kind.NOTE

    note_id: EntityId = key(ID)
    title: str = key(TEXT)
    project_name: str = key(TEXT, together="project", column=True, csv=True)
    project_uuid: EntityId = key(ID, together="project", refers=_PROJECT, column=True)
    source: str | None = key(TEXT, default=None, csv=True)
    source_hash: str | None = key(CODE, default=None)
    source_folders: tuple[str, ...] = key(CODES, default=())
    concepts: tuple[str, ...] = key(LINES, default=(), together="essence")
    essence: str | None = key(TEXT, default=None, together="essence")
    essence_of: str | None = key(CODE, default=None, together="essence")
    essence_by: str | None = key(TEXT, default=None, together="essence")
    created_at: Instant = key(INSTANT, default=UNKNOWN, unset=UNKNOWN, merge=Merge.EARLIER, csv=True)
    updated_at: Instant = key(INSTANT, merge=Merge.LATER, csv=True)
    tags: tuple[str, ...] = key(LINES, default=(), csv=True)

    @property
    def text(self) -> str:
        """What was written; the body has a backslash where a line of it looks like what a merge writes."""
        return unescaped(self.body)

    @property
    def made_of(self) -> str:
        """The hash that an essence of the present text has."""
        return text_hash(f"{self.title}\n{self.body}")


class TopicStatus(Enum):
    """The state of a topic."""

    ACTIVE = "active"  # somebody wrote about it lately
    ARCHIVED = "archived"  # nobody did
    MERGED = "merged"  # its notes are another topic's


@stored
class Topic(Record):
    """A thread of thought: notes on one subject.

    Attributes:
        merged_into: the topic that has its notes.
        digest: what its notes say, in few sentences.
        digest_of: the hash of the essences that the digest was made of.
        digest_by: who made it.
        updated_at: when the latest of its notes was written.
    """

    kind = Kind.TOPIC

    topic_id: EntityId = key(ID)
    title: str = key(TEXT)
    status: TopicStatus = status_key(TopicStatus, default=TopicStatus.ACTIVE)
    project_name: str = key(TEXT, together="project", column=True, csv=True)
    project_uuid: EntityId = key(ID, together="project", refers=_PROJECT, column=True)
    note_ids: tuple[EntityId, ...] = key(IDS, default=(), refers=(Kind.NOTE,))
    merged_into: EntityId | None = key(ID, default=None, together="state", refers=(Kind.TOPIC,))
    digest: str | None = key(TEXT, default=None, together="digest")
    digest_of: str | None = key(CODE, default=None, together="digest")
    digest_by: str | None = key(TEXT, default=None, together="digest")
    created_at: Instant = key(INSTANT, default=UNKNOWN, unset=UNKNOWN, merge=Merge.EARLIER, csv=True)
    updated_at: Instant = key(INSTANT, merge=Merge.LATER, csv=True)

    def require(self) -> None:
        """Raise RuleError for a topic that was merged and names no other, or the reverse."""
        if (self.merged_into is not None) != (self.status is TopicStatus.MERGED):
            raise RuleError("merged_into: goes with status merged and no other")


@stored
class TranscriptPart(Record):
    """Some turns of a conversation, as Markdown; `text.transcript` writes and reads the body.

    Attributes:
        title: of the conversation.
        turn_range: first and last turn; a long turn may go on in the next part.
        created_at: start of the conversation.
    """

    kind = Kind.TRANSCRIPT

    transcript_id: EntityId = key(ID)
    title: str = key(TEXT)
    conversation_id: EntityId = key(ID, refers=_CONVERSATION)
    project_name: str = key(TEXT, together="project", column=True, csv=True)
    project_uuid: EntityId = key(ID, together="project", refers=_PROJECT, column=True)
    turn_range: TurnRange = key(TURNS, together="text")
    created_at: Instant = key(INSTANT, default=UNKNOWN, unset=UNKNOWN, merge=Merge.EARLIER, csv=True)


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
    named = [found.pop(name) for name in ids if name in found]
    return [*named, *sorted(found.values(), key=lambda part: part.turn_range)]


@stored
class Archive(Record):
    """One archive: who, when and from what in front of its verbatim text.

    Attributes:
        compressed_at: event time of its whole content.
        inherits_from: tags (or conversation ids) of what it continues, as it names them.
        content_sha256: of the text's UTF-8 bytes.
        records: the entity of each local id.
        body: the archive itself, every byte of it.
    """

    kind = Kind.ARCHIVE
    shown = "compression_tag"

    archive_id: EntityId = key(ID)
    compression_tag: str = key(TEXT, column=True)
    compression_mode: CompressionMode = key(one_of(CompressionMode))
    compressed_at: Instant = key(INSTANT)
    turn_range: TurnRange | None = key(TURNS, default=None)
    conversation_id: EntityId = key(ID, refers=_CONVERSATION)
    conversation_title: str = key(TEXT)
    conversation_started: Instant = key(INSTANT)
    session_id: str | None = key(TEXT, default=None)
    external_id: str | None = key(TEXT, default=None, column=True)
    project_name: str = key(TEXT, together="project", column=True, csv=True)
    project_uuid: EntityId = key(ID, together="project", refers=_PROJECT, column=True)
    inherits_from: tuple[str, ...] = key(LINES, default=())
    content_sha256: str = key(CODE, together="text")
    records: Pairs = key(PAIRS, default=(), refers=_RECORD)


Entity = (
    Project
    | Conversation
    | Thread
    | Decision
    | Lineage
    | Conflict
    | Candidate
    | Note
    | Topic
    | Convention
    | TranscriptPart
    | Archive
)

CLASSES: dict[Kind, type[Entity]] = {cls.kind: cls for cls in get_args(Entity)}

FIELDS: Mapping[Kind, tuple[Field, ...]] = {kind: keys_of(cls) for kind, cls in CLASSES.items()}
"""In the group `text` the body is merged with the fields."""


@cache
def _readers(cls: type[Entity]) -> dict[str, tuple[Callable[[Any], Any], object]]:
    """Return how each attribute is read from a file, and its value where the file has none."""
    known = known_fields(cls.kind)
    found = {
        each.name: (each.metadata["type"].read, each.default)
        for each in dataclasses.fields(cls)
        if each.metadata
    }
    extra: Mapping[str, object] = {}
    return {**found, "extra": (lambda raw: {k: v for k, v in raw.items() if k not in known}, extra)}


def unread(kind: Kind, entity: EntityId, fields: str, body: str) -> Entity:
    """Build an entity whose attributes are read when they are asked for.

    Args:
        fields: JSON of fields from which an entity was built before.
    """
    cls = CLASSES[kind]
    found = object.__new__(cls)
    object.__setattr__(found, kind.id_field, entity)
    object.__setattr__(found, "_fields", fields)
    object.__setattr__(found, "body", body)
    return found


def entity_path(entity: Entity) -> str:
    """Return the path an entity is filed under, relative to the registry's root."""
    return path_of(entity.kind, entity.id)


@cache
def known_fields(kind: Kind) -> tuple[str, ...]:
    """Return the front-matter keys of a kind in canonical order."""
    return tuple(field.name for field in FIELDS[kind])


def group_fields(kind: Kind, group: str) -> tuple[str, ...]:
    """Return the names of the fields of a kind that are merged as one."""
    names = tuple(field.name for field in FIELDS[kind] if field.together == group)
    return (*names, "body") if group == "text" else names


def references(entity: Entity) -> Iterator[tuple[str, EntityId, tuple[Kind, ...]]]:
    """Return (field, id, kinds allowed) for every id that an entity names."""
    for each in FIELDS[entity.kind]:
        value = getattr(entity, each.name)
        if each.refers:
            yield from ((each.name, target, each.refers) for target in ids_in(each, value))
        for inner in each.entry:
            targets = (target for entry in value for target in ids_in(inner, getattr(entry, inner.name)))
            yield from ((each.name, target, inner.refers) for target in targets if inner.refers)


@cache
def flagged(flag: str) -> tuple[str, ...]:
    """Return the fields that are flagged `column` (of the catalogue) or `csv`, as files order them."""
    names: list[str] = []
    for fields in FIELDS.values():
        place = 0
        for name in (each.name for each in fields if getattr(each, flag)):
            if name not in names:
                names.insert(place, name)
            place = names.index(name) + 1
    return tuple(names)


@cache
def unsearched() -> frozenset[str]:
    """Return the fields whose words full-text search leaves out."""
    every = [each for fields in (*FIELDS.values(), COMPRESSION) for each in fields]
    return frozenset(each.name for each in every if not each.type.searched)
