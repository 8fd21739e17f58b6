"""A decision: something that was chosen, how sure it is, and what replaced it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from forgekit.errors import RuleError
from forgekit.ids import EntityId
from forgekit.model.body import section
from forgekit.model.kinds import Kind
from forgekit.model.rules import require_between, require_values
from forgekit.times import Instant

SPECULATIVE_BELOW = 0.25
VALIDATED_FROM = 0.75


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """Something that was chosen; the body holds `## Rationale` and `## Context`.

    Attributes:
        epistemic_tier: 0.0 to 1.0; None where it is unknown.
        governs: path globs and names of components that it is about.
        tier_token: the class 1, 2 or 3 that the archive wrote instead of a tier.
        last_validated: event time at which it was last stated, carried or validated.
    """

    kind = Kind.DECISION

    decision_id: EntityId
    decision: str
    status: DecisionStatus = DecisionStatus.ACTIVE
    epistemic_tier: float | None = None
    tier_token: str | None = None
    project_name: str
    project_uuid: EntityId
    local_id: str | None = None
    originated_in: EntityId | None = None
    revised_in: EntityId | None = None
    superseded_by: EntityId | None = None
    conversation_ids: tuple[EntityId, ...] = ()
    dependencies: tuple[EntityId, ...] = ()
    alternatives_rejected: tuple[str, ...] = ()
    governs: tuple[str, ...] = ()
    created_at: Instant
    last_validated: Instant
    tags: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    body: str = ""

    def __post_init__(self) -> None:
        require_values(self)
        require_between("epistemic_tier", self.epistemic_tier, 1)
        replaced = {DecisionStatus.REVISED, DecisionStatus.SUPERSEDED}
        if self.superseded_by is not None and self.status not in replaced:
            raise RuleError("superseded_by: goes with status revised or superseded and no other")
        if self.superseded_by == self.decision_id:
            raise RuleError("superseded_by: names the decision itself")
        if self.revised_in is not None and self.status is not DecisionStatus.REVISED:
            raise RuleError("revised_in: goes with status revised and no other")

    @property
    def id(self) -> EntityId:
        """The decision's id."""
        return self.decision_id

    @property
    def title(self) -> str:
        """What lists show."""
        return self.decision

    @property
    def tier_words(self) -> str:
        """The tier as people read it, `?` where nobody gave one."""
        return "?" if self.epistemic_tier is None else f"{self.epistemic_tier:g}"

    @property
    def rationale(self) -> str:
        """Why it was chosen."""
        return section(self.body, "Rationale")

    @property
    def context(self) -> str:
        """The circumstances in which it was chosen."""
        return section(self.body, "Context")

    @property
    def ending(self) -> str:
        """Why it is out of force, where a reason was given."""
        return section(self.body, self.status.value.capitalize()) if self.status.ended else ""

    @property
    def speculative(self) -> bool:
        """Whether it stays out of continuation blocks."""
        return self.epistemic_tier is not None and self.epistemic_tier < SPECULATIVE_BELOW
