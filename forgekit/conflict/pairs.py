"""Which pairs of decisions are worth judging, and what a contradiction between them comes to.

Comparing every decision with every other one costs the square of their number. A new decision is compared
with the nearest ones only: those that a search for its words finds, those that are filed along with it, and
where there are vectors those that are close in meaning. Two decisions are *akin* when they share a telling
word. What words find is compared only where it is akin: then it makes no difference which of the two came
first.

What a contradiction comes to hangs on the two sides alone:

    in two projects                               open: a person chooses
    in one project, tiers more than 0.4 apart     the higher tier stands, the lower is superseded
    in one project, otherwise                     open: a person chooses
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from forgekit.ids import EntityId, pair_id
from forgekit.model.body import with_section
from forgekit.model.conflict import Conflict, ConflictStatus
from forgekit.model.decision import Decision, DecisionStatus
from forgekit.model.entity import Entity
from forgekit.model.rules import one_line
from forgekit.text.words import words

if TYPE_CHECKING:
    from forgekit.conflict.rules.port import Judgement, Statement

NEAREST = 50
"""Decisions that one decision is compared with, of each way to find them."""
GAP = 0.4
"""A tier that is higher by more than this stands."""

_COMMON = 1_000  # decisions looked at for one word: one that stands in more tells little

Pair = tuple[EntityId, EntityId]
"""Two decisions, the smaller id first."""


def pair(a: EntityId, b: EntityId) -> Pair:
    """Return two ids in their order."""
    return (a, b) if a < b else (b, a)


def statement(decision: Decision) -> Statement:
    """Return a decision as a judge reads it."""
    from forgekit.conflict.rules.port import Statement

    return Statement(
        text=decision.decision,
        rationale=decision.rationale,
        alternatives=decision.alternatives_rejected,
        scope=decision.tags,
        tier=decision.epistemic_tier,
        project=decision.project_name,
        created=decision.created_at,
    )


def sought(decision: Decision) -> str:
    """Return the words by which decisions near this one are found: what it chooses, and what it rejects."""
    return " ".join((decision.decision, *decision.alternatives_rejected))


def akin(a: Decision, b: Decision) -> bool:
    """Whether two decisions share a telling word."""
    return not set(words(sought(a))).isdisjoint(words(sought(b)))


def together(decisions: Iterable[Decision], nearest: int = NEAREST) -> set[Pair]:
    """Return the akin pairs among decisions; of each decision those that share the rarest words with it."""
    told = {decision.id: words(sought(decision)) for decision in decisions}
    having: dict[str, list[EntityId]] = defaultdict(list)
    for key in sorted(told):
        for word in told[key]:
            having[word].append(key)
    out: set[Pair] = set()
    for key, telling in told.items():
        weights: dict[EntityId, float] = defaultdict(float)
        for word in telling:
            for other in having[word][:_COMMON]:
                weights[other] += 1 / len(having[word])
        weights.pop(key, None)
        best = sorted(weights, key=lambda other: (-weights[other], other))[:nearest]
        out.update(pair(key, other) for other in best)
    return out


def contradiction(a: Decision, b: Decision, judgement: Judgement, similarity: float | None) -> Conflict:
    """Return the open conflict of two decisions that a judge found to contradict each other.

    It is a function of its arguments alone, whichever side comes first: nobody can tell when it was found.

    Args:
        a: one side.
        b: the other.
        judgement: with the strongest reason first.
        similarity: cosine, None where it is not known.
    """
    low, high = sorted((a, b), key=lambda side: side.id)
    reasons = tuple(one_line(reason) for reason in judgement.reasons if reason.strip())
    return Conflict(
        conflict_id=pair_id(low.id, high.id),
        decision_a=low.id,
        decision_b=high.id,
        nature=reasons[0] if reasons else "both cannot be followed",
        similarity=None if similarity is None else round(similarity, 3),
        evidence=reasons,
        detected_at=max(low.created_at, high.created_at),
    )


@dataclass(frozen=True, slots=True)
class Settled:
    """What contradictions come to.

    Attributes:
        conflicts: in the order of ids.
        superseded: the decisions that lost, as they stand now, in the order of ids.
    """

    conflicts: tuple[Conflict, ...]
    superseded: tuple[Decision, ...]

    @property
    def entities(self) -> tuple[Entity, ...]:
        """What is to be written."""
        return *self.superseded, *self.conflicts


def settled(found: Sequence[tuple[Conflict, Decision, Decision]]) -> Settled:
    """Settle what the tiers settle, the highest tier first; what its loser contradicts besides is moot.

    Args:
        found: open conflicts, each with its sides, active ones.
    """
    ranked = []
    for conflict, a, b in found:
        kept, lost = (a, b) if (a.epistemic_tier or 0.0) >= (b.epistemic_tier or 0.0) else (b, a)
        if stands_over(kept, lost):
            ranked.append((-(kept.epistemic_tier or 0.0), lost.epistemic_tier or 0.0, conflict, kept, lost))
    conflicts: dict[EntityId, Conflict] = {}
    losers: dict[EntityId, Decision] = {}
    for _, _, conflict, kept, lost in sorted(ranked, key=lambda item: (*item[:2], item[2].id)):
        if kept.id not in losers and lost.id not in losers:
            higher, lower = f"{kept.epistemic_tier:g}", f"{lost.epistemic_tier:g}"
            conflicts[conflict.id] = replace(
                conflict,
                status=ConflictStatus.RESOLVED,
                kept=kept.id,
                reason=f"the higher tier stands: {higher} against {lower}",
            )
            # It names no id: that of the winner stands in `superseded_by`, and may change with its parent.
            why = f"Contradicts a decision of a higher tier ({higher} against {lower}): {conflict.nature}."
            losers[lost.id] = superseded(lost, kept.id, why)
    for conflict, a, b in found:
        if a.id not in losers and b.id not in losers:
            conflicts[conflict.id] = conflict
    return Settled(
        tuple(conflicts[key] for key in sorted(conflicts)), tuple(losers[key] for key in sorted(losers))
    )


def stands_over(kept: Decision, lost: Decision) -> bool:
    """Whether one decision's tier settles a contradiction with the other."""
    if kept.project_uuid != lost.project_uuid:
        return False
    if kept.epistemic_tier is None or lost.epistemic_tier is None:
        return False
    return round(kept.epistemic_tier - lost.epistemic_tier, 6) > GAP


def superseded(decision: Decision, successor: EntityId, reason: str) -> Decision:
    """Return a decision as it stands once another has its place."""
    return replace(
        decision,
        status=DecisionStatus.SUPERSEDED,
        superseded_by=successor,
        body=with_section(decision.body, "Superseded", reason) if reason else decision.body,
    )
