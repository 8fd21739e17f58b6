"""Which pairs are compared, and what a contradiction comes to: every row of the policy."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from sample_entities import A, day, decision

from forgekit import ids
from forgekit.conflict.rules.port import Judgement, Verdict
from forgekit.conflict.pairs import akin, contradiction, pair, settled, statement, together
from forgekit.ids import project_id
from forgekit.model.conflict import Conflict, ConflictStatus
from forgekit.model.decision import Decision, DecisionStatus

WHY = Judgement(
    verdict=Verdict.CONTRADICTION, score=0.9, reasons=("rejects what the other\nchooses", "", "topic")
)
OTHER = "Harbour"


def tiered(text: str, tier: float | None, at: int = 0) -> Decision:
    return decision(text, A, epistemic_tier=tier, created_at=day(at))


def elsewhere(text: str, tier: float | None) -> Decision:
    owner = project_id(OTHER)
    return replace(tiered(text, tier), project_name=OTHER, project_uuid=owner)


def clash(a: Decision, b: Decision) -> tuple[Conflict, Decision, Decision]:
    return contradiction(a, b, WHY, None), a, b


def test_a_conflict_is_the_same_from_either_side_and_at_any_time() -> None:
    a, b = tiered("Keep rows", 0.5, at=3), tiered("Drop rows", 0.6, at=9)
    found = contradiction(a, b, WHY, 0.12345)
    assert found == contradiction(b, a, WHY, 0.12345)
    assert found.id == ids.pair_id(a.id, b.id)
    assert (found.decision_a, found.decision_b) == pair(b.id, a.id)
    assert (found.nature, found.evidence) == (
        "rejects what the other chooses",
        ("rejects what the other chooses", "topic"),
    )
    assert (found.detected_at, found.similarity, found.status) == (day(9), 0.123, ConflictStatus.OPEN)


def test_a_judge_without_reasons_still_gives_a_conflict() -> None:
    bare = replace(WHY, reasons=())
    assert contradiction(tiered("a", None), tiered("b", None), bare, None).nature == "both cannot be followed"


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
def test_a_person_chooses(a: Decision, b: Decision) -> None:
    one = clash(a, b)
    assert settled([one]).conflicts == (one[0],)
    assert settled([one]).superseded == ()


@pytest.mark.parametrize("turned", [False, True])
def test_inside_a_project_a_much_higher_tier_stands(turned: bool) -> None:
    high, low = tiered("Keep rows", 0.9), tiered("Drop rows", 0.45)
    sides = (low, high) if turned else (high, low)
    found = settled([clash(*sides)])
    [conflict], [lost] = found.conflicts, found.superseded
    assert (conflict.status, conflict.kept) == (ConflictStatus.RESOLVED, high.id)
    assert conflict.reason == "the higher tier stands: 0.9 against 0.45"
    assert (lost.id, lost.status, lost.superseded_by) == (low.id, DecisionStatus.SUPERSEDED, high.id)
    assert lost.body == (
        "## Superseded\n\nContradicts a decision of a higher tier (0.9 against 0.45):"
        " rejects what the other chooses."
    )
    assert found.entities == (lost, conflict)


def test_what_a_loser_contradicts_besides_is_moot_in_any_order() -> None:
    high, low, foreign = tiered("Keep rows", 0.9), tiered("Drop rows", 0.3), elsewhere("Keep all rows", 0.8)
    lowest = tiered("Drop all rows", 0.0)  # would lose against `low` had that not lost before
    clashes = [clash(high, low), clash(low, foreign), clash(low, tiered("Keep most rows", 0.75))]
    for order in itertools.permutations([*clashes, clash(high, lowest)]):
        found = settled(order)
        assert {d.id for d in found.superseded} == {low.id, lowest.id}
        assert {c.kept for c in found.conflicts} == {high.id}


def test_a_decision_that_lost_takes_nothing_elses_place() -> None:
    high, middle, low = tiered("Keep rows", 0.95), tiered("Drop rows", 0.5), tiered("Keep old rows", 0.05)
    for order in itertools.permutations([clash(high, middle), clash(middle, low)]):
        found = settled(order)
        assert [(lost.id, lost.superseded_by) for lost in found.superseded] == [(middle.id, high.id)]
        assert [conflict.kept for conflict in found.conflicts] == [high.id]


def test_akin_are_decisions_that_share_a_telling_word_of_choice_or_rejection() -> None:
    a = decision("Use REST for the API", A, alternatives_rejected=("GraphQL",))
    assert akin(a, decision("Query everything with GraphQL", A))
    assert akin(decision("Query everything with GraphQL", A), a)
    assert not akin(a, decision("Take the stairs to the cellar", A, alternatives_rejected=("the lift",)))


def test_those_of_one_filing_meet_by_their_rarest_words() -> None:
    rows = [decision(f"Store table{n} rows", A) for n in range(9)]
    twins = [decision("Index column77 rows", A), decision("Skip column77 rows", A)]
    lone = decision("Paint the door blue", A)
    found = together([*rows, *twins, lone], nearest=1)
    assert pair(twins[0].id, twins[1].id) in found
    assert not any(lone.id in sides for sides in found)
    assert len(found) <= len(rows) + len(twins)
    assert found == together([lone, *reversed(twins), *reversed(rows)], nearest=1)


def test_one_rare_word_weighs_more_than_two_common_ones() -> None:
    crowds = [decision(f"{words} part{n}", A) for n in range(9) for words in ("Store tables", "Skip views")]
    a, b = decision("Store tables by column77", A), decision("Skip views by column77", A)
    assert pair(a.id, b.id) in together([*crowds, a, b], nearest=1)


def test_a_judge_reads_all_that_a_decision_says() -> None:
    full = decision(
        "Keep rows",
        A,
        alternatives_rejected=("drop",),
        tags=("sql",),
        epistemic_tier=0.5,
        body="## Rationale\n\nWhy.",
    )
    said = statement(full)
    assert (said.text, said.rationale, said.alternatives, said.scope) == (
        "Keep rows",
        "Why.",
        ("drop",),
        ("sql",),
    )
    assert (said.tier, said.project, said.created) == (0.5, "Ledger", A.created_at)
