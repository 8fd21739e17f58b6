"""Which pairs are judged, and which side of a contradiction yields."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_entities import A, decision

from forgekit.conflict.pairs import (
    RARE,
    Pair,
    pair,
    sharing_rare_words,
    statement,
    superseded,
    yielding,
)
from forgekit.ids import EntityId, project_id
from forgekit.index.judged_pairs import JudgedPairs
from forgekit.model.entities import Decision, DecisionStatus

OTHER = "Harbour"
WORDS = ("redis", "Policies", "policy", "queue", "session", "token", "tokens", "weekly", "index")


def tiered(text: str, tier: float | None) -> Decision:
    return decision(text, A, epistemic_tier=tier)


def elsewhere(text: str, tier: float | None) -> Decision:
    return replace(tiered(text, tier), project_name=OTHER, project_uuid=project_id(OTHER))


def judged(
    made: Iterable[Decision],
    neighbours: Mapping[EntityId, Iterable[EntityId]],
    only: Collection[EntityId] | None = None,
) -> list[Pair]:
    active = {one.id: statement(one) for one in made}
    keys = sorted(active)
    rows = [[keys.index(other) for other in neighbours.get(key, ()) if other != key] for key in keys]
    near = np.array([(*row, *[-1] * 3)[:3] for row in rows], np.int32).reshape(-1, 3)
    pairs = JudgedPairs(dict.fromkeys(active, ""), "")
    pairs.pair(keys, near, np.zeros(near.shape, np.float32), sharing_rare_words(active))
    return sorted(pairs.todo(only))


def test_a_statement_is_the_text_and_what_was_rejected() -> None:
    made = decision("Use Redis", A, alternatives_rejected=("Memcached",))
    assert (statement(made).text, statement(made).alternatives) == ("Use Redis", ("Memcached",))


def test_decisions_that_share_a_rare_word_are_judged_and_rejected_words_count() -> None:
    a = decision("Sessions live in Redis", A)
    b = decision("Queues run on RabbitMQ", A, alternatives_rejected=("Redis",))
    c = decision("Invoices are numbered", A)
    assert judged([a, b, c], {}) == [pair(a.id, b.id)]
    many = [decision(f"Redis part{number}", A) for number in range(RARE)]
    assert judged([a, *many], {}) == [], "a word of more decisions is not rare"


def test_neighbours_count_in_either_direction() -> None:
    a, b = decision("One", A), decision("Two", A)
    for neighbours in ({a.id: [b.id]}, {b.id: [a.id]}):
        assert judged([a, b], neighbours) == [pair(a.id, b.id)]


@given(
    st.lists(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join), max_size=10, unique=True
    ),
    st.data(),
)
def test_the_pairs_are_a_function_of_the_set(texts: list[str], data: st.DataObject) -> None:
    made = [decision(text, A) for text in texts]
    near = {d.id: [o.id for o in made[:3]] for d in made[::2]}
    pairs = judged(made, near)
    shuffled = data.draw(st.permutations(made))
    assert judged(shuffled, dict(reversed(near.items()))) == pairs
    some = {d.id for d in made[: len(made) // 2]}
    assert judged(made, near, some) == [p for p in pairs if p[0] in some or p[1] in some]


@pytest.mark.parametrize(
    ("a", "b", "loser"),
    [
        (tiered("Keep rows", 0.9), elsewhere("Drop rows", 0.1), None),  # across projects, whatever the tiers
        (tiered("Keep rows", 0.7), tiered("Drop rows", 0.3), None),  # 0.7 - 0.3 is 0.39999999999999997
        (tiered("Keep rows", 0.9), tiered("Drop rows", 0.5), None),  # a gap of 0.4 is not more than 0.4
        (tiered("Keep rows", None), tiered("Drop rows", 0.1), None),
        (tiered("Keep rows", 0.9), tiered("Drop rows", 0.49), "Drop rows"),
        (tiered("Keep rows", 0.1), tiered("Drop rows", 0.95), "Keep rows"),
    ],
)
def test_the_lower_tier_of_one_project_yields(a: Decision, b: Decision, loser: str | None) -> None:
    for one, two in ((a, b), (b, a)):
        found = yielding(one, two)
        assert (found and found.decision) == loser


def test_a_superseded_decision_names_its_successor_and_why() -> None:
    a, b = decision("Keep rows", A), decision("Drop rows", A)
    found = superseded(a, b.id, "Rows cost too much.")
    assert (found.status, found.superseded_by) == (DecisionStatus.SUPERSEDED, b.id)
    assert found.body.endswith("## Superseded\n\nRows cost too much.")
