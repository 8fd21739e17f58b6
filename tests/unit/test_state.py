"""What bears on a project from others, and what that costs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from planted import seeded
from world import PROJECT, P, conversation, day, decision

from forgekit import ids
from forgekit.ids import EntityId
from forgekit.model.decision import Decision
from forgekit.model.registry import Registry
from forgekit.policy import relevance
from forgekit.policy.relevance import relevant
from forgekit.policy.state import Limits, State, project_state

LIMITS = Limits(days=30, hops=3, max_tier=None)
WORDS = ("queue", "keys", "lessons", "cursors", "retry", "backups", "graph", "tokens", "signs", "and", "over")


def two_projects(count: int) -> tuple[list[Decision], list[Decision]]:
    random, talk = seeded("abroad"), conversation("one")
    texts = [" ".join(random.choices(WORDS, k=3)) + f" {n}" for n in range(2 * count)]
    every = [decision(text, talk) for text in texts]
    other = ids.project_id("Other")
    foreign = [replace(one, project_name="Other", project_uuid=other) for one in every[count:]]
    return every[:count], foreign


def state(own: list[Decision], others: list[Decision], near: dict[tuple[EntityId, EntityId], float]) -> State:
    registry = Registry.of([PROJECT, *own, *others])
    return project_state(registry, P, day(1), LIMITS, similarities=near)


def test_each_decision_of_another_project_stands_under_what_it_shares_most_with() -> None:
    own, others = two_projects(30)
    random = seeded("near")
    near = {(random.choice(own).id, random.choice(others).id): random.random() for _ in range(40)}
    found = state(own, others, near).abroad
    assert len(found) > 20
    for other in others:
        pairs = [(relevant(mine.title, other.decision), near.get((mine.id, other.id)), mine) for mine in own]
        bearing = [(len(common), cosine or 0, mine.id) for common, cosine, mine in pairs if common or cosine]
        (shown,) = [a for a in found if a.decision is other] if bearing else [None]
        if shown is not None:
            assert (len(shown.words), shown.cosine or 0) == max(bearing)[:2]
            assert list(shown.words) == relevant(shown.bears_on.title, other.decision)
            assert shown.cosine == near.get((shown.bears_on.id, other.id))
        assert (shown is None) == (other.id not in {a.decision.id for a in found})


def test_the_words_of_a_decision_are_read_once_however_many_others_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own, others = two_projects(100)
    read: list[str] = []

    def noted(word: str) -> str:
        read.append(word)
        return word

    monkeypatch.setattr(relevance, "_stem", noted)
    state(own, others, {})
    assert len(read) <= 4 * (len(own) + len(others))
