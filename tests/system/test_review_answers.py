"""What an approval joins, what dates it leaves, and what is shown beside a candidate as alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from repositories import BORN, PROJECT, TALK, decision

from forgekit.errors import UsageError
from forgekit.extraction.statements import TAKES_BACK
from forgekit.filing import review
from forgekit.forge import Forge
from forgekit.ids import v8_named
from forgekit.model.entities import (
    Candidate,
    CandidateStatus,
    Decision,
    DecisionStatus,
    Entity,
    Project,
    Proposal,
    Thread,
)
from forgekit.store import Change, Store
from forgekit.times import Instant

DAY = 86_400_000
LATER = Instant(BORN + 5 * DAY)
TEXT = "Use Postgres for the job queue"


def candidate(text: str, at: Instant = BORN, confidence: float = 0.9) -> Candidate:
    return Candidate(
        candidate_id=v8_named(TALK, text, BORN),
        candidate=text,
        proposes=Proposal.DECISION,
        confidence=confidence,
        why="read as a decision",
        project_name="The Nexus",
        project_uuid=PROJECT,
        conversation_id=TALK,
        turn=2,
        created_at=at,
        body=f"## Quote\n\n{text}",
    )


def opened(root: Path, *entities: Entity) -> Forge:
    """Open a registry that holds these."""
    project = Project(project_uuid=PROJECT, project_name="The Nexus")
    Store(root).commit(lambda: Change(writes=(project, *entities), subject="decision: new"))
    return replace(Forge.open(root), now=lambda: Instant(BORN + 30 * DAY))


def approved(forge: Forge, found: Candidate) -> review.Reviewed:
    return review.answer(forge, review.Answers(approve=frozenset({found.id})))


def test_a_decision_that_was_said_before_it_was_validated_stays_as_valid(repository: Path) -> None:
    standing = replace(decision(TEXT), last_validated=LATER)
    found = candidate(TEXT, Instant(BORN + DAY))
    done = approved(opened(repository, standing, found), found)
    assert done.entities == (replace(standing, conversation_ids=(TALK,)),)


def test_a_decision_that_is_said_again_later_is_valid_from_then(repository: Path) -> None:
    standing, found = decision(TEXT), candidate(TEXT, LATER)
    done = approved(opened(repository, standing, found), found)
    assert done.entities == (replace(standing, conversation_ids=(TALK,), last_validated=LATER),)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_is_in_force_is_the_same_before_what_has_ended(repository: Path, order: tuple[int, int]) -> None:
    keys = sorted(v8_named(PROJECT, name, BORN) for name in ("one talk", "another talk"))
    ended, standing = (replace(decision(TEXT), decision_id=keys[at]) for at in order)
    ended = replace(ended, status=DecisionStatus.INVALIDATED)
    found = candidate(TEXT)
    forge = opened(repository, ended, standing, found)
    assert [waiting.same for waiting in review.waiting(forge)] == [standing.id]
    done = approved(forge, found)
    assert [(one.status, one.became) for one in done.answered] == [(CandidateStatus.APPROVED, standing.id)]


@pytest.mark.parametrize("second", ["reject", "merge"])
def test_two_answers_to_one_candidate_are_refused(repository: Path, second: str) -> None:
    standing, found = decision("Retry three times"), candidate(TEXT)
    forge = opened(repository, standing, found)
    answers = review.Answers(
        approve=frozenset({found.id}),
        reject=frozenset({found.id} if second == "reject" else ()),
        merge=((found.id, standing.id),) if second == "merge" else (),
    )
    with pytest.raises(UsageError, match="two answers"):
        review.answer(forge, answers)
    assert (forge.registry().get(found.id), forge.registry().decisions) == (found, [standing])


def test_what_was_said_first_is_asked_first_by_conversation(repository: Path) -> None:
    early = v8_named(PROJECT, "another talk", BORN)
    given = [replace(candidate(f"Retry {n} times", confidence=n / 10), turn=n) for n in (9, 7, 5)]
    given[0] = replace(given[0], conversation_id=early, created_at=Instant(BORN - DAY))
    waiting = review.waiting(opened(repository, *given))
    assert [one.candidate.turn for one in waiting] == [9, 5, 7]


def test_one_text_is_asked_once_and_one_answer_is_for_all(repository: Path) -> None:
    other = v8_named(PROJECT, "another talk", BORN)
    first, again = candidate(TEXT, confidence=0.9), candidate(f"{TEXT.lower()}.", confidence=0.8)
    again = replace(again, conversation_id=other)
    forge = opened(repository, first, again)
    [waiting] = review.waiting(forge)
    assert (waiting.candidate, waiting.again) == (first, (again.id,))
    done = review.answer(forge, review.Answers(approve=waiting.ids))
    [made] = forge.registry().decisions
    assert (len(done.answered), made.conversation_ids) == (2, tuple(sorted((TALK, other))))
    assert review.waiting(forge) == []


def test_what_shares_half_of_its_words_is_alike(repository: Path) -> None:
    half, less = decision("Use Postgres queue tables"), decision("Use the job board")
    found = candidate("Postgres queue job retries")
    forge = opened(repository, half, less, found)
    [waiting] = review.waiting(forge)
    assert review.seen(forge, waiting).alike == (half,)


OLD, NEW = "The session lifetime is 14 days", "The session lifetime is 30 days"


def test_what_says_another_number_revises_and_does_not_validate(repository: Path) -> None:
    standing, found = replace(decision(OLD), tags=("auth",)), candidate(NEW, LATER)
    forge = opened(repository, standing, found)
    with pytest.raises(UsageError, match=r"does not say 30.*--revise"):
        review.answer(forge, review.Answers(merge=((found.id, standing.id),)))
    done = review.answer(forge, review.Answers(revise=((found.id, standing.id),)))
    old, new = sorted((e for e in done.entities if isinstance(e, Decision)), key=lambda e: e.created_at)
    assert (old.id, old.status, old.superseded_by) == (standing.id, DecisionStatus.REVISED, new.id)
    assert (new.decision, new.status, new.tags, new.originated_in) == (
        NEW,
        DecisionStatus.ACTIVE,
        ("auth",),
        TALK,
    )
    (answered,) = done.answered
    assert (answered.status, answered.became) == (CandidateStatus.APPROVED, new.id)


def test_only_an_active_decision_is_revised(repository: Path) -> None:
    ended, found = replace(decision(OLD), status=DecisionStatus.INVALIDATED), candidate(NEW, LATER)
    with pytest.raises(UsageError, match="is invalidated"):
        review.answer(opened(repository, ended, found), review.Answers(revise=((found.id, ended.id),)))


def test_the_end_of_a_thread_is_applied_to_the_thread_that_is_alike(repository: Path) -> None:
    asked = replace(candidate("Which SSO provider do we take?"), proposes=Proposal.THREAD_OPEN)
    told = replace(candidate("The SSO provider is settled", LATER), proposes=Proposal.THREAD_RESOLVED)
    forge = opened(repository, asked, told)
    (thread,) = approved(forge, asked).entities
    (item,) = review.waiting(forge)
    assert review.seen(forge, item).alike == (thread,)
    (ended,) = review.answer(forge, review.Answers(merge=((told.id, thread.id),))).entities
    assert isinstance(ended, Thread)
    assert (ended.id, ended.status.value, ended.resolved_in) == (thread.id, "resolved", TALK)
    assert "The SSO provider is settled" in ended.body


def test_what_takes_an_earlier_choice_back_is_offered_in_its_place(repository: Path) -> None:
    first = replace(candidate("We decided on Allianz"), turn=1)
    then = replace(candidate("On Huk instead, with the flood add-on"), why=TAKES_BACK)
    forge = opened(repository, first, then)
    seen = {item.candidate.id: review.seen(forge, item) for item in review.waiting(forge)}
    assert seen[first.id].alike == ()
    assert [each.id for each in seen[then.id].alike] == [first.id]
    with pytest.raises(UsageError, match="is rejected, so nothing takes its place"):
        review.answer(forge, review.Answers(reject=frozenset({first.id}), revise=((then.id, first.id),)))
    review.answer(forge, review.Answers(revise=((then.id, first.id),)))
    old, new = sorted(Forge.open(repository).registry().decisions, key=lambda each: each.status.ended)[::-1]
    assert (old.title, old.status, old.superseded_by) == (first.title, DecisionStatus.REVISED, new.id)
    assert (new.title, new.status) == (then.title, DecisionStatus.ACTIVE)


def test_what_was_taken_back_may_be_a_decision_already(repository: Path) -> None:
    first = replace(candidate("We decided on Allianz"), turn=1)
    then = replace(candidate("On Huk instead, with the flood add-on"), why=TAKES_BACK)
    forge = opened(repository, first, then)
    (made,) = approved(forge, first).entities
    (item,) = review.waiting(forge)
    assert [each.id for each in review.seen(forge, item).alike] == [made.id]
