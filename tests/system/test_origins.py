"""Where and when the Python functions record a decision or a thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from repositories import git

from forgekit import lineage, projects
from forgekit.decisions import decision_create, decision_revise
from forgekit.errors import NotFoundError, UsageError
from forgekit.forge import Forge
from forgekit.ids import EntityId, project_id, timestamp, v8_named
from forgekit.model.entities import (
    Candidate,
    CandidateStatus,
    Conflict,
    Conversation,
    Proposal,
    TranscriptPart,
    part_id,
)
from forgekit.store import Change
from forgekit.threads import thread_create
from forgekit.times import Instant, format_instant, parse_instant
from forgekit.upkeep.check import check

NOW = parse_instant("2026-09-20T09:00:00Z")
EARLIER = parse_instant("2026-02-03T04:05:06Z")
V7 = EntityId("018bcfe5-6800-7625-89cf-d5faf30f5d9e")
V4 = "7f0d9c52-7c6f-4a5e-9a39-0c7f8d1f2a3b"
Create = Callable[..., dict[str, object]]


@pytest.fixture
def forge(repository: Path) -> Forge:
    forge = replace(Forge.open(repository), now=lambda: NOW)
    for project in ("Ledger", "Harbour"):
        decision_create(f"Begin {project}", project_name=project, forge=forge)
    return forge


@pytest.mark.parametrize("create", [decision_create, thread_create])
def test_the_conversation_says_the_project_where_two_exist(forge: Forge, create: Create) -> None:
    talk = lineage.new_conversation(forge, "Storage", project="Harbour", at=EARLIER).entity
    view = create("Use one table", conversation_id=talk.id, forge=forge)
    assert view["project_name"] == "Harbour"
    assert view["created_at"] == format_instant(EARLIER)
    told = create("Use two tables", conversation_id=talk.id, project_name="Ledger", forge=forge)
    assert told["project_name"] == "Ledger"
    with pytest.raises(UsageError):
        create("Use three tables", forge=forge)


@pytest.mark.parametrize("create", [decision_create, thread_create])
def test_the_event_time_may_be_given(forge: Forge, create: Create) -> None:
    view = create("Use one table", project_name="Ledger", at=EARLIER, forge=forge)
    assert view["created_at"] == format_instant(EARLIER)


def test_the_times_of_a_decision_are_that_of_its_id(forge: Forge) -> None:
    view = decision_create("Use one table", project_name="Ledger", conversation_id=V7, forge=forge)
    at = format_instant(Instant(timestamp(EntityId(str(view["decision_id"])))))
    assert (view["created_at"], view["last_validated"]) == (at, at)
    assert at == "2023-11-14T22:13:20Z"


@pytest.mark.parametrize("create", [decision_create, thread_create])
def test_a_conversation_that_is_not_registered_yet_is_registered_in_the_same_commit(
    forge: Forge, create: Create
) -> None:
    before = int(git(forge.root, "rev-list", "--count", "HEAD"))
    create("Use one table", project_name="Ledger", conversation_id=V7.upper(), forge=forge)
    assert int(git(forge.root, "rev-list", "--count", "HEAD")) == before + 1
    [talk] = forge.registry().conversations
    assert (talk.id, talk.created_at) == (V7, timestamp(V7))
    again = create("Use two tables", conversation_id=V7, forge=forge)
    assert (again["project_name"], len(forge.registry().conversations)) == ("Ledger", 1)
    assert check(forge).problems == ()


def test_a_uuid_without_a_time_is_the_platforms_name_of_the_conversation(forge: Forge) -> None:
    for text in ("Use one table", "Use two tables"):
        decision_create(text, project_name="Ledger", conversation_id=V4, forge=forge)
    [talk] = forge.registry().conversations
    assert isinstance(talk, Conversation)
    assert (talk.external_id, talk.created_at) == (V4, NOW)
    assert check(forge).problems == ()


def test_a_revision_names_a_conversation_that_is_not_registered_yet(forge: Forge) -> None:
    view = decision_revise("Begin Ledger", "Begin the ledger again", conversation_id=V7, forge=forge)
    assert view["originated_in"] == V7
    assert [talk.id for talk in forge.registry().conversations] == [V7]


def test_a_name_that_is_no_uuid_and_no_conversation_is_refused(forge: Forge) -> None:
    with pytest.raises(NotFoundError):
        decision_create("Use one table", project_name="Ledger", conversation_id="Storage", forge=forge)


def test_a_decision_governs_what_is_given(forge: Forge) -> None:
    governs = ["src/api/**", "gateway"]
    view = decision_create("Use one table", project_name="Ledger", governs=governs, forge=forge)
    assert view["governs"] == governs


def test_a_conversation_moves_with_what_has_no_id_of_its_project(forge: Forge) -> None:
    talk = lineage.new_conversation(forge, "Storage", project="Ledger", at=EARLIER).entity
    later = lineage.new_conversation(forge, "More storage", project="Ledger", at=EARLIER).entity
    edge = lineage.link_named(forge, later.id, talk.id, "STORAGE_RESULT").entity
    view = decision_create("Use one table", conversation_id=talk.id, forge=forge)
    place = {"project_name": "Ledger", "project_uuid": project_id("Ledger"), "conversation_id": talk.id}
    part = TranscriptPart(
        transcript_id=part_id(talk.id, 1, EARLIER),
        title="Storage",
        turn_range=(1, 2),
        created_at=EARLIER,
        **place,  # type: ignore[arg-type] # texts
    )
    waiting, registered = (
        Candidate(
            candidate_id=v8_named(talk.id, status.value, EARLIER),
            candidate=f"Use {status.value} tables",
            status=status,
            proposes=Proposal.DECISION,
            confidence=0.5,
            why="a verb",
            turn=1,
            **place,  # type: ignore[arg-type] # texts
        )
        for status in (CandidateStatus.WAITING, CandidateStatus.REGISTERED)
    )
    forge.commit(lambda: Change(writes=(part, waiting, registered), subject="candidates"))
    projects.describe(forge, talk.id, "conversation", project="Quay")
    registry = forge.registry()
    names = {e.id: e.project_name for e in registry if not isinstance(e, Conflict)}
    assert {names[each.id] for each in (talk, edge, part, waiting)} == {"Quay"}
    assert {names[each] for each in (later.id, registered.id, view["decision_id"])} == {"Ledger"}  # type: ignore[index]
    assert project_id("Quay") in registry.entities
    assert [problem for problem in check(forge).problems if problem.code != "not-canonical"] == []
