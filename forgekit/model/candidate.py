"""A candidate: what a conversation seems to have decided or left open, waiting for review."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from forgekit.errors import RuleError
from forgekit.ids import EntityId
from forgekit.model.body import section
from forgekit.model.kinds import Kind
from forgekit.model.rules import MOST_TURNS, require_between, require_values
from forgekit.times import UNKNOWN, Instant


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
