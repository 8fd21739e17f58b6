"""The records that one archive's text makes, before they are joined with anything else.

A record is a claim of one archive about one local id. `None` means that the archive leaves a value out;
an empty tuple means that it writes "none".
"""

from __future__ import annotations

from enum import Enum

from forgekit.frozen import field, frozen
from forgekit.model.entities import CompressionMode, DecisionStatus, Priority, ThreadStatus
from forgekit.model.fields import TurnRange
from forgekit.model.problem import Problem
from forgekit.times import Instant


class Family(Enum):
    """The shape a record was written in; the first member is trusted most."""

    MACHINE = "machine"  # a machine block
    YAML = "yaml"  # a YAML log
    HEADING = "heading"  # `### D001: Title`, `- **T001:** text`
    TABLE = "table"  # an entity table
    INDEX = "index"  # the decision index
    PROSE = "prose"  # a sentence that names it


class Scope(Enum):
    """Whether the archive claims a record as its own."""

    OWN = "own"
    INHERITED = "inherited"


@frozen(kw_only=True)
class DecisionRecord:
    """One decision as one archive records it.

    Attributes:
        local_id: `D001`.
        number: what the archive calls a record to which forgekit gave `local_id`, "" where it has no number.
        text: the decision, one line.
        entity: the short id by which a machine block names it.
        tier: 0.0-1.0, normalised from a class where tier_token is set.
        tier_token: `1`, `2` or `3` where the archive wrote a class.
        turn: where in the conversation it was made.
        timestamp: None where the archive gives none.
        inherited_from: the tag it was inherited from, where the archive names one.
        reinstated: the archive states that the decision had ended and is in force again.
        revises: local ids (or short ids) that this decision replaces.
        superseded_by: the local id (or short id) that replaced this one.
        governs: path patterns and names of components that it is about.
        line: 1-based line of the record.
    """

    local_id: str
    text: str
    line: int
    family: Family
    number: str | None = None
    entity: str | None = None
    scope: Scope = Scope.OWN
    rationale: str = ""
    context: str = ""
    tier: float | None = None
    tier_token: str | None = None
    status: DecisionStatus | None = None
    reinstated: bool = False
    turn: int | None = None
    timestamp: Instant | None = None
    inherited_from: str | None = None
    revises: tuple[str, ...] = ()
    superseded_by: str | None = None
    dependencies: tuple[str, ...] | None = None
    alternatives: tuple[str, ...] = ()
    governs: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@frozen(kw_only=True)
class ThreadRecord:
    """One thread as one archive records it.

    Attributes:
        number: as of a decision.
        reopened: the archive states that the thread was reopened.
        goes_on: its list says that its threads are open still.
        blocked_by: threads that it waits for, as the archive calls them.
        waits_for: what else it waits for, in words.
    """

    local_id: str
    title: str
    line: int
    family: Family
    number: str | None = None
    entity: str | None = None
    scope: Scope = Scope.OWN
    content: str = ""
    status: ThreadStatus | None = None
    reopened: bool = False
    goes_on: bool = False
    priority: Priority | None = None
    blocked_by: tuple[str, ...] | None = None
    waits_for: tuple[str, ...] = ()
    resolution: str = ""
    inherited_from: str | None = None
    turn: int | None = None
    tags: tuple[str, ...] = ()


@frozen(kw_only=True)
class ArtifactVersion:
    """One version of an artifact."""

    version: str
    turn: int | None = None
    status: str = ""
    changes: str = ""
    content: str = ""


@frozen(kw_only=True)
class ArtifactRecord:
    """One artifact (`A001`) as one archive records it; kept in the archive only."""

    local_id: str
    name: str
    line: int
    family: Family
    type: str = ""
    summary: str = ""
    status: str = ""
    turn: int | None = None
    versions: tuple[ArtifactVersion, ...] = ()


@frozen(kw_only=True)
class Chunk:
    """A stretch of turns with a topic: a row of the chunk index or of the range markers."""

    turns: TurnRange | None
    topic: str
    decisions: tuple[str, ...]


@frozen(kw_only=True)
class Update:
    """What an archive says became of a record of its parent's.

    Attributes:
        line: 1-based line of its first words.
        text: what stands behind the id, or above it.
    """

    local_id: str
    line: int
    text: str


@frozen(kw_only=True)
class StateClause:
    """A state that a clause gives a record which may be a parent's.

    Attributes:
        text: the clause, with a sign in the place of the id.
        states: the state of a decision, and of a thread, by the letter of the kind.
    """

    local_id: str
    line: int
    text: str
    states: tuple[tuple[str, str], ...]


@frozen(kw_only=True)
class PossibleRecord:
    """What running text may state: not sure enough to be a record, so a person is asked.

    Attributes:
        kind: D or T.
        sure: how likely it is a record, 0.0 to 1.0.
        line: 1-based line of its first words.
        quote: the line.
    """

    kind: str
    text: str
    sure: float
    line: int
    quote: str
    status: str = ""
    rationale: str = ""
    alternatives: tuple[str, ...] = ()


def split_lines(text: str) -> list[str]:
    """Return the text's lines without their ends: no BOM, CRLF and CR count as LF."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


@frozen(kw_only=True)
class Section:
    """A heading and the lines below it, up to the next heading of its level or above.

    Attributes:
        first_line, last_line: 1-based, both included, of the text without the heading.
    """

    title: str
    level: int
    heading_line: int
    first_line: int
    last_line: int


@frozen(kw_only=True)
class ArchiveText:
    """Everything read from one archive's text.

    Attributes:
        heading: what the lines above the first record call the archive, shown if it has no title and no tag.
        project_is_guess: no label names the project.
        created: event time, where the text has one.
        turn_range: what was compressed; `all` becomes (1, turns) where turns are known.
        conversation: the uuid by which the archive names its own conversation.
        inherits_from: parent tags or conversation uuids, nearest first, `none` left out.
        updates: what lines say became of a parent's records.
        clauses: the same of what may be a parent's record, where no rule reads it.
        carried: decisions of `inherited_context`: mentions, never the archive's own records.
        summary: one paragraph of state (foundational context, compressed state), "" if none.
        truncated: why the text seems to be cut off, "" if it does not.
        fields: how many labelled fields of records were read.
        ids_seen: (local id, first line) of every D/T/A/OT id in prose that could be a record of this archive.
        problems: what could not be read, each with its line.
    """

    title: str = ""
    heading: str = ""
    session_id: str | None = None
    project: str | None = None
    project_is_guess: bool = False
    conversation: str | None = None
    created: Instant | None = None
    tag: str | None = None
    mode: CompressionMode | None = None
    turns: int | None = None
    turn_range: TurnRange | None = None
    inherits_from: tuple[str, ...] = ()
    decisions: tuple[DecisionRecord, ...] = ()
    threads: tuple[ThreadRecord, ...] = ()
    artifacts: tuple[ArtifactRecord, ...] = ()
    updates: tuple[Update, ...] = ()
    clauses: tuple[StateClause, ...] = ()
    carried: tuple[DecisionRecord, ...] = ()
    summary: str = ""
    chunks: tuple[Chunk, ...] = ()
    possible: tuple[PossibleRecord, ...] = ()
    insights: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    truncated: str = ""
    fields: int = 0
    ids_seen: tuple[tuple[str, int], ...] = ()
    problems: tuple[Problem, ...] = field(default=())
