"""A conflict: two decisions that cannot both be followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from forgekit.errors import RuleError
from forgekit.ids import EntityId
from forgekit.model.kinds import Kind
from forgekit.model.rules import require_values
from forgekit.times import Instant


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
