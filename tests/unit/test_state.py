"""What a conversation must know of its project, what bears on it from others, and what that costs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from planted_secrets import seeded
from sample_entities import PROJECT, A, B, P, archive, conflict, conversation, day, decision, thread

from forgekit import ids
from forgekit.conflict.pairs import ListedConflict
from forgekit.ids import EntityId
from forgekit.index.query import decisions_with_words
from forgekit.index.rows import memory_of
from forgekit.insight.project_state import (
    CrossProject,
    ProjectState,
    cross_project,
    last_successor,
    project_state,
)
from forgekit.model.archive_record import ArchiveText
from forgekit.model.entities import Decision, DecisionStatus, Entity, Priority
from forgekit.model.registry import Registry
from forgekit.model.settings import Settings
from forgekit.text import words
from forgekit.text.words import relevant

LIMITS = Settings(stale_days=30, stale_hops=3)
WORDS = ("queue", "keys", "lessons", "cursors", "retry", "backups", "graph", "tokens", "signs", "and", "over")


def two_projects(count: int) -> tuple[list[Decision], list[Decision]]:
    random, talk = seeded("abroad"), conversation("one")
    texts = [" ".join(random.choices(WORDS, k=3)) + f" {n}" for n in range(2 * count)]
    every = [decision(text, talk) for text in texts]
    other = ids.project_id("Other")
    foreign = [replace(one, project_name="Other", project_uuid=other) for one in every[count:]]
    return every[:count], foreign


def of(*entities: Entity) -> ProjectState:
    return project_state(Registry.of([PROJECT, A, B, *entities]), P, day(9), LIMITS)


def continuing(*entities: Entity) -> ProjectState:
    registry = Registry.of([PROJECT, A, B, *entities])
    return project_state(registry, P, day(9), LIMITS, continued=(archive(A), ArchiveText()))


def foreign(one: Decision) -> Decision:
    return replace(one, project_name="Other", project_uuid=ids.project_id("Other"))


def bearing_on(
    own: list[Decision], others: list[Decision], near: dict[tuple[EntityId, EntityId], float]
) -> list[CrossProject]:
    every = Registry.of([PROJECT, *own, *others])
    found, number = cross_project(every, P, own, near, partial(decisions_with_words, memory_of(every)))
    assert number == len(found)
    return list(found)


def test_each_decision_of_another_project_stands_under_what_it_shares_most_with() -> None:
    own, others = two_projects(30)
    random = seeded("near")
    near = {(random.choice(own).id, random.choice(others).id): random.random() for _ in range(40)}
    found = bearing_on(own, others, near)
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

    monkeypatch.setattr(words, "_stem", noted)
    bearing_on(own, others, {})
    assert len(read) <= 4 * (2 * len(own) + len(others))


def test_both_sides_of_an_open_conflict_are_named_and_neither_is_carried() -> None:
    a, b = sorted((decision("Keep rows", A), decision("Drop rows", A)), key=lambda side: side.id)
    free, between = decision("Sign tokens", A), conflict(a, b)
    found = of(a, b, free, between)
    assert found.decisions == (free,)
    assert found.conflicts == (ListedConflict(between, "open", (a, b)),)


def test_what_is_stale_counts_whether_it_is_in_a_conflict_or_not() -> None:
    a, b, free = (decision(f"Keep {name}", A) for name in ("rows", "keys", "signs"))
    registry = Registry.of([PROJECT, A, a, b, free, conflict(a, b)])
    found = project_state(registry, P, day(40), LIMITS)
    assert (found.stale, found.active, [aged.id for aged in found.flagged]) == (3, 3, [free.id])


def test_a_conflict_of_other_projects_is_not_named() -> None:
    a, b = foreign(decision("Keep rows", A)), foreign(decision("Drop rows", A))
    assert of(a, b, conflict(a, b)).conflicts == ()


def test_of_one_priority_the_newest_thread_comes_first() -> None:
    old, new = thread("Which rows?", A), thread("Which keys?", B)
    urgent = thread("Who pays?", A, priority=Priority.HIGH)
    assert of(old, new, urgent).threads == of(new, urgent, old).threads == (urgent, new, old)


def test_the_decision_validated_last_comes_first() -> None:
    first, last, middle = (
        decision(f"Keep {name}", A, last_validated=day(at))
        for name, at in (("rows", 1), ("keys", 5), ("signs", 3))
    )
    assert of(first, last, middle).decisions == (last, middle, first)


def test_the_last_successor_is_found_through_any_number_of_revisions() -> None:
    four = decision("Four", A)
    three = decision("Three", A, status=DecisionStatus.REVISED, superseded_by=four.id)
    two = decision("Two", A, status=DecisionStatus.SUPERSEDED, superseded_by=three.id)
    one = decision("One", A, status=DecisionStatus.REVISED, superseded_by=two.id)
    assert last_successor(Registry.of([one, two, three, four]), one) == four


def test_what_is_speculative_in_another_project_bears_on_none() -> None:
    own = decision("Keep the ledger rows", A)
    firm, guess = (
        foreign(decision(text, A, epistemic_tier=tier))
        for text, tier in (("Sign the ledger rows", 0.9), ("Drop the ledger rows", 0.1))
    )
    assert [found.decision for found in bearing_on([own], [firm, guess], {})] == [firm]


def test_a_continuation_names_no_speculative_decision_that_lost_its_ground() -> None:
    ended = decision("Keep rows", A, status=DecisionStatus.INVALIDATED)
    firm, guess = (
        decision(text, A, epistemic_tier=tier, dependencies=(ended.id,))
        for text, tier in (("Index rows", 0.9), ("Shard rows", 0.1))
    )
    assert [found.decision for found in continuing(ended, firm, guess).revalidations] == [firm]
    assert {found.decision.id for found in of(ended, firm, guess).revalidations} == {firm.id, guess.id}


def test_a_wide_character_costs_a_token_and_four_others_one() -> None:
    costs = {"": 0, "rows": 1, "rows!": 2, "\u884c\u3068\u5217": 3, "rows \u884c\u5217": 4}
    assert {text: words.tokens(text) for text in costs} == costs
