"""What findings mean for their sides: which yields, which waits for a person, which is carried."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from sample_entities import A, day, decision

from forgekit import ids
from forgekit.conflict.judge import Judgement, Level
from forgekit.conflict.pairs import NATURE, Finding, Findings
from forgekit.ids import project_id
from forgekit.insight.staleness import blocked_from_carrying
from forgekit.model.entities import ConflictStatus, Decision
from forgekit.model.registry import Registry

OTHER = "Harbour"


def tiered(text: str, tier: float | None, at: int = 0) -> Decision:
    return decision(text, A, epistemic_tier=tier, created_at=day(at))


def elsewhere(text: str, tier: float | None) -> Decision:
    return replace(tiered(text, tier), project_name=OTHER, project_uuid=project_id(OTHER))


def found(one: Decision, other: Decision, level: Level = Level.CONFLICT, probability: float = 0.9) -> Finding:
    a, b = sorted((one, other), key=lambda side: side.id)
    return Finding(a=a, b=b, judgement=Judgement(probability=probability, level=level), cosine=0.5)


def test_a_verdict_of_a_finding_says_nothing_of_the_judge() -> None:
    a, b = tiered("Keep rows", 0.5, at=3), tiered("Drop rows", 0.6, at=9)
    verdict = found(a, b).verdict()
    assert verdict == found(b, a, Level.POSSIBLE, 0.6).verdict()
    assert verdict.id == ids.pair_id(a.id, b.id)
    assert (verdict.nature, verdict.evidence, verdict.similarity) == (NATURE, (), None)
    assert (verdict.detected_at, verdict.status) == (day(9), ConflictStatus.OPEN)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (tiered("Keep rows", 0.9), elsewhere("Drop rows", 0.1)),  # across projects, whatever the tiers
        (tiered("Keep rows", 0.9), tiered("Drop rows", 0.5)),  # a gap of 0.4 is not more than 0.4
        (tiered("Keep rows", 0.7), tiered("Drop rows", 0.3)),  # 0.7 - 0.3 is 0.39999999999999997
        (tiered("Keep rows", 0.81), tiered("Drop rows", 0.41)),  # 0.81 - 0.41 is 0.4000000000000001
        (tiered("Keep rows", 0.9), tiered("Drop rows", 0.8)),
        (tiered("Keep rows", 0.9), tiered("Drop rows", None)),
        (tiered("Keep rows", None), tiered("Drop rows", None)),
    ],
)
def test_a_person_chooses_and_neither_side_is_carried(a: Decision, b: Decision) -> None:
    findings = Findings(conflicts=(found(a, b),))
    assert (dict(findings.yields), findings.contested) == ({}, findings.conflicts)
    assert findings.uncarried == {a.id, b.id}


def test_inside_a_project_a_much_lower_tier_yields_and_the_higher_is_carried() -> None:
    high, low = tiered("Keep rows", 0.9), tiered("Drop rows", 0.45)
    findings = Findings(conflicts=(found(high, low),))
    assert list(findings.yields) == [low.id]
    assert findings.contested == ()
    assert findings.uncarried == {low.id}
    assert findings.with_losers() == [(findings.conflicts[0], low.id)]


def test_what_yields_makes_nothing_else_yield_or_wait_in_any_order() -> None:
    high, low, foreign = tiered("Keep rows", 0.9), tiered("Drop rows", 0.3), elsewhere("Keep all rows", 0.8)
    lowest = tiered("Drop all rows", 0.0)
    pairs = [found(high, low), found(low, foreign), found(low, tiered("Keep most rows", 0.75))]
    for order in itertools.permutations([*pairs, found(high, lowest)]):
        findings = Findings(conflicts=order)
        assert set(findings.yields) == {low.id, lowest.id}
        assert findings.contested == ()
        assert findings.uncarried == {low.id, lowest.id}


def test_a_chain_of_three_tiers_leaves_the_lowest_in_force() -> None:
    high, middle, low = tiered("Never cache", 1.0), tiered("Cache rows", 0.5), tiered("Do not cache", 0.05)
    for order in itertools.permutations([found(high, middle), found(middle, low)]):
        assert list(Findings(conflicts=order).yields) == [middle.id]


def test_a_possible_conflict_blocks_nothing() -> None:
    a, b = tiered("Keep rows", 0.9), tiered("Drop rows", 0.2)
    findings = Findings(possible=(found(a, b, Level.POSSIBLE, 0.6),))
    assert (dict(findings.yields), findings.uncarried) == ({}, frozenset())
    assert findings.of(a.id) == findings.possible
    assert blocked_from_carrying(Registry.of([a, b]), findings) == frozenset()
