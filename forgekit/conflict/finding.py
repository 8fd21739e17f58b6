"""Findings: what a judge says of pairs of active decisions. Computed from the files, never committed. Pure.

What a finding of level conflict means for its two sides:

    in two projects                              neither side is carried until a person chooses
    in one project, tiers more than 0.4 apart    the lower tier yields: it is shown and not carried
    in one project, otherwise                    neither side is carried until a person chooses
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from forgekit.conflict.judge import Judgement, Level
from forgekit.conflict.pairs import yielding
from forgekit.ids import EntityId, pair_id
from forgekit.model.conflict import Conflict
from forgekit.model.decision import Decision

NATURE = "both cannot be followed"


@dataclass(frozen=True, kw_only=True)
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

    def verdict(self) -> Conflict:
        """Return the verdict file of this pair with status open.

        It says nothing of the judge: the same pair gives the same file on every machine.
        """
        return Conflict(
            conflict_id=self.id,
            decision_a=self.a.id,
            decision_b=self.b.id,
            nature=NATURE,
            detected_at=max(self.a.created_at, self.b.created_at),
        )


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The findings that no verdict answers, in the order of ids.

    Attributes:
        conflicts: both sides cannot be followed.
        possible: listed for a person, block nothing.
        duplicates: pairs that say the same, answered by a verdict or not.
        judged: pairs whose judgement is known.
        unjudged: pairs that were not judged within the time given.
        missing: why there is no judge and what to do about it; "" where there is one.
    """

    conflicts: tuple[Finding, ...] = ()
    possible: tuple[Finding, ...] = ()
    duplicates: tuple[Finding, ...] = ()
    judged: int = 0
    unjudged: int = 0
    missing: str = ""

    @cached_property
    def yields(self) -> Mapping[EntityId, Finding]:
        """Each decision that yields to a higher tier, with the finding that says so.

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
