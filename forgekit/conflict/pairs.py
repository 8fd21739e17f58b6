"""Which pairs of decisions are judged, and which side of a contradiction yields.

The pairs are a function of the set of active decisions: each decision with its nearest by cosine, and those
that share a rare word. Neither the order of filing nor an earlier call changes them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from forgekit.conflict.judge import Statement
from forgekit.ids import EntityId
from forgekit.model.body import with_section
from forgekit.model.decision import Decision, DecisionStatus
from forgekit.text.words import words

NEAREST = 20
"""Decisions nearest to one by cosine that it is compared with."""
RARE = 5
"""A word is rare if at most this many active decisions have it."""
GAP = 0.4
"""Inside a project, a decision yields to one whose tier is higher by more than this."""

Pair = tuple[EntityId, EntityId]
"""Two decisions, the smaller id first."""


def pair(a: EntityId, b: EntityId) -> Pair:
    """Return two ids in their order."""
    return (a, b) if a < b else (b, a)


def statement(decision: Decision) -> Statement:
    """Return a decision as a judge reads it."""
    return Statement(text=decision.decision, alternatives=decision.alternatives_rejected)


def pairs_to_judge(
    decisions: Iterable[Decision],
    neighbours: Mapping[EntityId, Iterable[EntityId]],
    only: Collection[EntityId] | None = None,
) -> list[Pair]:
    """Return the pairs of active decisions to judge, in the order of ids.

    Args:
        decisions: all active ones of the registry.
        neighbours: of each decision its `NEAREST` nearest by cosine; empty without vectors.
        only: return only pairs with one of these; None for all pairs.
    """
    having: dict[str, list[EntityId]] = defaultdict(list)
    known: set[EntityId] = set()
    for decision in decisions:
        known.add(decision.id)
        for word in words(" ".join((decision.decision, *decision.alternatives_rejected))):
            having[word].append(decision.id)
    groups = [ids for ids in having.values() if len(ids) <= RARE]
    found = {pair(a, b) for ids in groups for a in ids for b in ids if a != b}
    found |= {pair(a, b) for a, near in neighbours.items() for b in near if a != b and {a, b} <= known}
    chosen = known if only is None else frozenset(only)
    return sorted(sides for sides in found if not chosen.isdisjoint(sides))


def yielding(a: Decision, b: Decision) -> Decision | None:
    """Return the side of a contradiction that yields to the other's higher tier; None where a person chooses.

    Across projects, or where a side has no tier, neither yields.
    """
    if a.project_uuid != b.project_uuid or a.epistemic_tier is None or b.epistemic_tier is None:
        return None
    gap = round(a.epistemic_tier - b.epistemic_tier, 6)
    return b if gap > GAP else a if gap < -GAP else None


def superseded(decision: Decision, successor: EntityId, reason: str) -> Decision:
    """Return a decision as superseded by another one."""
    return replace(
        decision,
        status=DecisionStatus.SUPERSEDED,
        superseded_by=successor,
        body=with_section(decision.body, "Superseded", reason) if reason else decision.body,
    )
