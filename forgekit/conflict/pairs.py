"""Which pairs of decisions are judged, and what a judgement means for them. Pure.

A finding is a judge's answer on a pair of active decisions: computed from the files, never committed. What
one of level conflict means for its two sides:

    in two projects                              neither side is carried until a person chooses
    in one project, tiers more than 0.4 apart    the lower tier yields: it is shown and not carried
    in one project, otherwise                    neither side is carried until a person chooses

The pairs are a function of the set of active decisions: each decision with its nearest by cosine, and those
that share a rare word. Neither the order of filing nor an earlier call changes them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from forgekit.conflict.judge import Judgement, Level, Statement
from forgekit.frozen import frozen, replace
from forgekit.ids import EntityId, pair_id
from forgekit.model.entities import Conflict, Decision, DecisionStatus
from forgekit.model.rules import with_section
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


def sharing_rare_words(active: Mapping[EntityId, Statement]) -> list[list[EntityId]]:
    """Return the groups of active decisions that share a rare word."""
    having: dict[str, list[EntityId]] = defaultdict(list)
    for key, decision in active.items():
        for word in words(" ".join((decision.text, *decision.alternatives))):
            having[word].append(key)
    return [ids for ids in having.values() if len(ids) <= RARE]


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


NATURE = "both cannot be followed"


@frozen(kw_only=True, slots=False)
class Finding:
    """A pair of active decisions with its judgement; `a` has the smaller id.

    Attributes:
        cosine: of the two, as the judge was given it.
    """

    a: Decision
    b: Decision
    judgement: Judgement
    cosine: float

    @property
    def id(self) -> EntityId:
        """The id that a verdict on this pair has."""
        return pair_id(self.a.id, self.b.id)

    @property
    def sides(self) -> tuple[EntityId, EntityId]:
        """Both ids, the smaller one first."""
        return self.a.id, self.b.id

    @property
    def level(self) -> Level:
        """How sure the judge is."""
        return self.judgement.level

    @property
    def loser(self) -> Decision | None:
        """The side that yields to the other's higher tier; None where a person must choose."""
        return yielding(self.a, self.b)

    @property
    def later(self) -> tuple[Decision, Decision]:
        """Both sides, the later one first: of a replacement the one that replaces."""
        a, b = sorted((self.a, self.b), key=lambda side: (side.created_at, side.id))
        return b, a

    def verdict(self) -> Conflict:
        """Return the verdict file of this pair with status open.

        It does not depend on the judge: the same pair gives the same file on every machine.
        """
        return Conflict.between(self.a, self.b, NATURE)

    def listed(self, yields: EntityId | None) -> ListedConflict:
        """Return it as lists show it beside verdicts, with the side that yields."""
        return ListedConflict(self.verdict(), self.level.state, (self.a, self.b), self, yields)


class ListedConflict(NamedTuple):
    """A verdict on file, or a finding.

    Attributes:
        conflict: the verdict; of a finding, what `forgekit conflict scope` and others would begin from.
        state: status of the verdict or `moot`; of a finding `found`, or `possible`.
        sides: both decisions; a verdict may name one that is gone.
        finding: None for a verdict.
        yields: the side that yields to the other's higher tier.
    """

    conflict: Conflict
    state: str
    sides: tuple[Decision | None, Decision | None]
    finding: Finding | None = None
    yields: EntityId | None = None

    @property
    def present(self) -> list[Decision]:
        """The sides that are there, what yields first."""
        return sorted(filter(None, self.sides), key=lambda side: side.id != self.yields)


@frozen(kw_only=True, slots=False)
class Findings:
    """The findings that no verdict answers, in the order of ids.

    Attributes:
        conflicts: both sides cannot be followed.
        possible: listed for a person, block nothing.
        replacements: pairs of which one text states that it replaces the other.
        duplicates: pairs that say the same, answered by a verdict or not.
        judged: pairs whose judgement is known.
        unjudged: pairs that were not judged within the time given.
        missing: why there is no judge and what to do about it; "" where there is one.
    """

    conflicts: tuple[Finding, ...] = ()
    possible: tuple[Finding, ...] = ()
    replacements: tuple[Finding, ...] = ()
    duplicates: tuple[Finding, ...] = ()
    judged: int = 0
    unjudged: int = 0
    missing: str = ""

    @cached_property
    def yields(self) -> Mapping[EntityId, Finding]:
        """Each decision that yields to a higher tier, with that finding.

        The highest tier comes first, and what yields makes no other decision yield.
        """
        ranked = []
        for finding in self.conflicts:
            if (loser := finding.loser) is not None:
                winner = finding.b if loser is finding.a else finding.a
                tiers = -(winner.epistemic_tier or 0.0), loser.epistemic_tier or 0.0
                ranked.append((tiers, finding.id, winner, loser, finding))
        found: dict[EntityId, Finding] = {}
        for _, _, winner, loser, finding in sorted(ranked, key=lambda item: item[:2]):
            if winner.id not in found and loser.id not in found:
                found[loser.id] = finding
        return found

    @cached_property
    def contested(self) -> tuple[Finding, ...]:
        """The conflicts of which neither side yields: a person must choose."""
        return tuple(f for f in self.conflicts if not any(side in self.yields for side in f.sides))

    @cached_property
    def uncarried(self) -> frozenset[EntityId]:
        """The decisions that blocks do not carry: both sides of a contested conflict, and what yields."""
        return frozenset((*self.yields, *(side for f in self.contested for side in f.sides)))

    def with_losers(self) -> list[tuple[Finding, EntityId | None]]:
        """Return the conflicts and then the possible ones, each with the side that yields in it."""
        losers = {finding.id: loser for loser, finding in self.yields.items()}
        return [(f, losers.get(f.id)) for f in (*self.conflicts, *self.possible)]

    def of(self, entity: EntityId) -> tuple[Finding, ...]:
        """Return the conflicts and possible conflicts of one decision."""
        return tuple(f for f in (*self.conflicts, *self.possible) if entity in f.sides)


NOTHING = Findings()
