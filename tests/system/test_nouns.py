"""What is refused when something is registered, edited or settled: nothing given is dropped unsaid."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_judge import give
from repositories import git
from sample_entities import NAME, P, chain, decision, edge, thread

from forgekit import conflicts, decisions, lineage, projects, threads
from forgekit.archives.conversations import decision_from
from forgekit.change import write
from forgekit.errors import ForgeError, NotFoundError, RuleError, TransitionError, UsageError
from forgekit.findings import findings_of
from forgekit.forge import Forge, WriteOptions
from forgekit.ids import EntityId
from forgekit.insight.views import Derived
from forgekit.lineage import bridge, new_conversation, pairs
from forgekit.model.entities import (
    Candidate,
    Compression,
    Conflict,
    Conversation,
    Decision,
    Priority,
    Proposal,
    Thread,
    ThreadStatus,
    entity_path,
)
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry
from forgekit.model.rules import STATEMENT_LIMIT
from forgekit.queries import list_entities, state_of, status
from forgekit.store import Change, Outcome
from forgekit.times import Instant, parse_instant
from forgekit.upkeep.check import check

NOW = parse_instant("2026-09-20T09:00:00Z")
EARLIER = Instant(NOW - 1_000)
SQL, MONGO = "Use PostgreSQL as the primary database", "Use MongoDB as the primary database"
LONG = "a " * STATEMENT_LIMIT


@pytest.fixture
def forge(repository: Path) -> Forge:
    forge = replace(Forge.open(repository), now=lambda: NOW)
    projects.create(forge, NAME)
    return forge


@pytest.fixture
def talk(forge: Forge) -> str:
    return new_conversation(forge, "Storage", at=EARLIER).entity.id


def refused(forge: Forge, kind: type[ForgeError], do: Callable[[], object]) -> str:
    """Return what was said of a change that must not be made."""
    before = git(forge.root, "rev-parse", "HEAD"), git(forge.root, "status", "--porcelain")
    with pytest.raises(kind) as caught:
        do()
    assert (git(forge.root, "rev-parse", "HEAD"), git(forge.root, "status", "--porcelain")) == before
    return str(caught.value)


def thr(entity: EntityId) -> str:
    return short_id(Kind.THREAD, entity)


def dec(entity: EntityId) -> str:
    return short_id(Kind.DECISION, entity)


def opposed(forge: Forge, *texts: str) -> tuple[list[EntityId], list[Conflict]]:
    """Register decisions, and open verdicts on all that contradict each other."""
    made = [decisions.create(forge, text, project=NAME).entity.id for text in texts]
    give(forge)
    found = [finding.verdict() for finding in findings_of(forge, forge.registry()).conflicts]
    write(forge, lambda _: found, "conflict record")
    return made, forge.registry().conflicts


# Ids that are taken


def test_a_thread_that_was_renamed_is_not_written_over(forge: Forge, talk: str) -> None:
    old = threads.create(forge, "Which queue?", conversation=talk).entity.id
    threads.update(forge, old, title="Which message bus?")
    threads.update(forge, old, ThreadStatus.RESOLVED, resolution="NATS")
    said = refused(forge, RuleError, lambda: threads.create(forge, "Which queue?", conversation=talk))
    assert said == (
        f"{thr(old)} already has this id (its title is now 'Which message bus?'); "
        "use it, or pass another title or another --conversation"
    )


def test_a_revision_writes_over_no_decision(forge: Forge, talk: str) -> None:
    first, other = (decisions.create(forge, t, conversation=talk).entity.id for t in ("Use NATS", "Eat"))
    said = refused(forge, RuleError, lambda: decisions.revise(forge, first, "Eat"))
    supersede = f"`forgekit decision supersede {dec(first)} --by {dec(other)}`"
    assert said == f"{dec(other)} says so already; {supersede}"
    second = decisions.revise(forge, first, "Use Kafka").entity.id

    def back() -> object:
        return decisions.revise(forge, second, "Use NATS", conversation=talk)

    said = refused(forge, TransitionError, back)
    assert said == (
        f"{dec(first)} is revised; in its place: {dec(second)}; "
        "to record the same text again pass another --conversation"
    )
    elsewhere = new_conversation(forge, "Elsewhere", at=EARLIER).entity.id
    assert decisions.revise(forge, second, "Use NATS", conversation=elsewhere).entity.id != first


def test_a_revision_by_hand_has_no_source_but_the_one_that_is_given(forge: Forge, talk: str) -> None:
    old = decisions.create(
        forge, "Sessions live 14 days", conversation=talk, rationale="It is usual.", context="On the web."
    ).entity.id
    new = decisions.revise(forge, old, "Sessions live 60 days").entity
    assert isinstance(new, Decision)
    assert (new.originated_in, new.conversation_ids) == (None, ())
    assert (new.rationale, new.context) == ("It is usual.", "On the web.")
    later = decisions.revise(forge, new.id, "Sessions live 30 days", context="", conversation=talk).entity
    assert isinstance(later, Decision)
    assert later.conversation_ids == (later.originated_in,) == (talk,)
    assert later.context == ""


def test_a_revision_leaves_out_the_quote_that_the_old_text_was_made_from(forge: Forge, talk: str) -> None:
    said = Candidate(
        candidate_id=EntityId(talk),
        candidate="Sessions live 14 days",
        proposes=Proposal.DECISION,
        confidence=0.9,
        why="stated",
        project_name=NAME,
        project_uuid=P,
        conversation_id=EntityId(talk),
        turn=3,
        body="## Quote\n\n14 days it is.\n\n## Context\n\nOn the web.",
    )
    old = decision_from(said)
    assert old.context == "Turn 3: 14 days it is.\n\nOn the web."
    write(forge, lambda _: [said, old], "review")
    new = decisions.revise(forge, old.id, "Sessions live 60 days").entity
    assert isinstance(new, Decision)
    assert new.context == "On the web."


def test_a_revision_makes_no_twin(forge: Forge) -> None:
    disk, memory = (
        decisions.create(forge, text, at=EARLIER).entity.id for text in ("Cache on disk", "Cache in memory")
    )
    said = refused(forge, RuleError, lambda: decisions.revise(forge, memory, "cache on disk"))
    supersede = f"`forgekit decision supersede {dec(memory)} --by {dec(disk)}`"
    assert said == f"{dec(disk)} says so already; {supersede}"
    decisions.invalidate(forge, disk, "Too slow")
    assert decisions.revise(forge, memory, "Cache on disk").entity.id not in {disk, memory}


# What is there already


def test_what_has_ended_is_not_registered_once_more(forge: Forge, talk: str) -> None:
    question = threads.create(forge, "Which queue?", conversation=talk).entity.id
    threads.update(forge, question, ThreadStatus.RESOLVED, resolution="NATS", conversation=talk)
    ended = f"{thr(question)} is already resolved; `forgekit thread reopen {thr(question)}` first"
    assert ended == refused(
        forge, TransitionError, lambda: threads.create(forge, "which queue?", conversation=talk)
    )
    wrong = decisions.create(forge, "Use NATS").entity.id
    decisions.invalidate(forge, wrong, "Too slow")
    said = refused(forge, TransitionError, lambda: decisions.create(forge, "Use NATS"))
    assert said == f"{dec(wrong)} is invalidated; to record the same text again pass another --conversation"
    assert decisions.create(forge, "Use NATS", conversation=talk).entity.id != wrong


def test_an_end_that_says_more_than_the_first_is_refused(forge: Forge, talk: str) -> None:
    question = threads.create(forge, "Which queue?", at=EARLIER).entity.id

    def resolve(conversation: str | None = None, at: Instant | None = None) -> object:
        found = threads.update(
            forge, question, ThreadStatus.RESOLVED, resolution="NATS", conversation=conversation, at=at
        )
        return found.outcome.commit

    assert resolve(at=EARLIER)
    assert resolve(at=EARLIER) is None
    ended = f"{thr(question)} is already resolved; `forgekit thread reopen {thr(question)}` first"
    assert refused(forge, TransitionError, lambda: resolve(talk)) == ended
    assert refused(forge, TransitionError, lambda: resolve(at=NOW)) == ended
    threads.update(forge, question, "open")
    assert resolve(talk)
    assert resolve(talk) is None


def test_a_reopening_that_says_more_than_the_first_is_refused(forge: Forge, talk: str) -> None:
    question = threads.create(forge, "Which queue?", at=EARLIER).entity.id
    threads.update(forge, question, ThreadStatus.RESOLVED, at=EARLIER)

    def reopen(conversation: str, at: Instant) -> object:
        return threads.update(forge, question, "open", conversation=conversation, at=at).outcome.commit

    assert reopen(talk, EARLIER)
    assert reopen(talk, EARLIER) is None
    elsewhere = new_conversation(forge, "Elsewhere", at=EARLIER).entity.id
    said = f"{thr(question)} is open already, and not since that date or in that conversation; leave both out"
    assert refused(forge, TransitionError, lambda: reopen(elsewhere, EARLIER)) == said
    assert refused(forge, TransitionError, lambda: reopen(talk, NOW)) == said


def test_a_thread_ends_and_opens_again_in_the_order_of_time(forge: Forge) -> None:
    question = threads.create(forge, "Which queue?", at=parse_instant("2024-01-01")).entity.id
    spring, summer = parse_instant("2024-03-01"), parse_instant("2024-06-01")
    threads.update(forge, question, ThreadStatus.RESOLVED, at=summer)
    then = "and 2024-03-01T00:00:00Z lies before that; say a later --at, or leave it out"
    said = refused(forge, TransitionError, lambda: threads.update(forge, question, "open", at=spring))
    assert said == f"{thr(question)} is resolved since 2024-06-01T00:00:00Z, {then}"
    threads.update(forge, question, "open", at=summer)
    end = ThreadStatus.ABANDONED
    said = refused(forge, TransitionError, lambda: threads.update(forge, question, end, at=spring))
    assert said == f"{thr(question)} is open since 2024-06-01T00:00:00Z, {then}"
    early = replace(forge, now=lambda: spring)  # an archive may be dated ahead
    ended = threads.update(early, question, end).entity
    assert isinstance(ended, Thread)
    assert ended.updated_at == summer


def test_what_is_given_twice_is_written_once(forge: Forge) -> None:
    twice = ("b", "a", "b")
    base = decisions.create(forge, "Use NATS", tags=twice, alternatives=twice).entity
    rests = decisions.create(forge, "Use JetStream", dependencies=[base.id, base.id]).entity
    first = threads.create(forge, "Which queue?", tags=twice).entity
    later = threads.create(forge, "Which topic?", blocked_by=[first.id, first.id]).entity
    project = projects.create(forge, "Other", tags=twice).entity
    again = [
        decisions.edit(forge, base.id, tags=twice, alternatives=twice),
        decisions.edit(forge, rests.id, dependencies=[base.id, base.id]),
        threads.update(forge, first.id, tags=twice),
        threads.update(forge, later.id, blocked_by=[first.id, first.id]),
        projects.describe(forge, project.id, Kind.PROJECT, tags=twice),
    ]
    assert [done.entity for done in again] == [base, rests, first, later, project]
    assert isinstance(base, Decision)
    assert isinstance(rests, Decision)
    assert isinstance(later, Thread)
    assert (base.tags, base.alternatives_rejected) == (("b", "a"), ("b", "a"))
    assert (rests.dependencies, later.blocked_by) == ((base.id,), (first.id,))


def test_a_description_stands_above_the_sections(forge: Forge) -> None:
    project = projects.create(forge, NAME, content="").entity
    sections = "## Notes\n\nMine.\n\n## Conflicting edits\n\n### tags\n\n    x"
    path = forge.root / entity_path(project)
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{sections}\n", encoding="utf-8")
    git(forge.root, "commit", "--quiet", "--all", "--message", "notes")

    def described(content: str) -> str:
        return projects.describe(forge, project.id, Kind.PROJECT, content=content).entity.body

    assert described("Books\n") == f"Books\n\n{sections}"
    assert projects.create(forge, NAME, content="Books").outcome.commit is None
    assert described("## Rows") == f"\\## Rows\n\n{sections}"
    assert described("") == sections


def test_values_that_differ_from_what_stands_are_not_dropped(forge: Forge, talk: str) -> None:
    def thread(priority: Priority | None = None, content: str = "") -> EntityId:
        return threads.create(
            forge, "Which queue?", priority=priority, tags=("b", "a"), content=content
        ).entity.id

    def chosen(tier: float | None = None, local_id: str | None = None) -> EntityId:
        return decisions.create(forge, "Use NATS", tier=tier, rationale="Fast\n", local_id=local_id).entity.id

    def told(entity: str, kind: str, *names: str) -> str:
        edit = f"change it by `forgekit {kind} edit {entity}`"
        return f"{entity} exists with other values ({', '.join(names)}); {edit}"

    question, choice = thread(content="For jobs"), chosen(0.8)
    assert (thread(), thread(Priority.MEDIUM, content="For jobs\n")) == (question, question)
    said = refused(forge, RuleError, lambda: thread(Priority.HIGH, content="For mail"))
    assert said == told(thr(question), "thread", "priority", "content")
    assert (chosen(), chosen(0.8)) == (choice, choice)
    said = refused(forge, RuleError, lambda: chosen(0.0, local_id="D001"))
    assert said == told(dec(choice), "decision", "epistemic_tier", "local_id")
    named = short_id(Kind.CONVERSATION, EntityId(talk))
    again = new_conversation(forge, "Storage", at=EARLIER)
    assert (again.entity.id, again.outcome.commit) == (talk, None)
    said = refused(
        forge, RuleError, lambda: new_conversation(forge, "Storage", at=EARLIER, external_id="x-1")
    )
    assert said == told(named, "conversation", "external_id")
    projects.describe(forge, talk, Kind.CONVERSATION, title="Stores")
    said = refused(forge, RuleError, lambda: new_conversation(forge, "Storage", at=EARLIER))
    assert said == told(named, "conversation", "title")
    said = refused(forge, RuleError, lambda: projects.create(forge, NAME, content="Books", tags=("x",)))
    assert said == told(short_id(Kind.PROJECT, P), "project", "body", "tags")


def test_an_edge_says_one_thing_of_a_tag(forge: Forge, talk: str) -> None:
    later = new_conversation(forge, "Later", at=NOW).entity.id
    kept, left = (decisions.create(forge, text, local_id="D001").entity for text in ("Eat", "Sleep"))

    def link(tag: str, summary: str | None = None, **more: object) -> object:
        given = lineage.lineage_link(talk, later, tag, summary, forge=forge, **more)  # type: ignore[arg-type] # names
        return given["compressions"]

    first = link("ONE", decisions_carried=[kept.id, left.id])
    # Both are D001 to their own conversations, which tells them apart nowhere.
    assert isinstance(first, list)
    assert first[0]["decisions_carried"] == {key: key for key in (kept.id, left.id)}
    assert link("ONE", "Storage came first", decisions_carried=[left.id, kept.id]) == first
    assert link("ONE") == first
    [found] = forge.registry().lineage
    short = short_id(Kind.LINEAGE, found.id)
    edit = f"change it by `forgekit lineage edit {short}`"
    said = refused(forge, RuleError, lambda: link("ONE", decisions_carried=[kept.id]))
    assert said == f"{short} exists with other values (decisions_carried); {edit}"
    said = refused(forge, RuleError, lambda: link("TWO", "Something else"))
    assert said == f"{short} exists with other values (body); {edit}"
    two = link("TWO", "Storage came first")
    assert isinstance(two, list)
    assert [entry["compression_tag"] for entry in two] == ["ONE", "TWO"]


def test_records_are_named_by_what_tells_them_apart() -> None:
    (a,) = chain("a")
    one, two, three, plain = (
        decision(text, a, local_id=local)
        for text, local in (("One", "D001"), ("Two", "D001"), ("Three", "D002"), ("Four", None))
    )
    named = (("", one.id), ("", two.id), ("D002", three.id), ("", plain.id))
    assert pairs([one, two, three, one, plain]) == named


# Texts that are too long


def test_what_a_person_types_is_not_cut(forge: Forge, talk: str) -> None:
    question, choice = threads.create(forge, "Which queue?").entity.id, decisions.create(forge, SQL).entity.id
    head = "the text has 3,999 characters, and 2,000 is the most; shorten it and put the rest into "
    ways: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: threads.create(forge, LONG), "--content"),
        (lambda: threads.update(forge, question, title=LONG), "--content"),
        (lambda: decisions.create(forge, LONG), "--rationale"),
        (lambda: decisions.revise(forge, choice, LONG), "--rationale"),
        (
            lambda: new_conversation(forge, LONG),
            "its description, by `forgekit conversation edit --content`",
        ),
        (lambda: projects.describe(forge, talk, Kind.CONVERSATION, title=LONG), "--content"),
    )
    for do, more in ways:
        assert refused(forge, RuleError, do) == head + more
    assert len(threads.create(forge, "a" * STATEMENT_LIMIT).entity.title) == STATEMENT_LIMIT


# Circles


def test_nothing_leads_back_to_itself(forge: Forge) -> None:
    x = decisions.create(forge, "Eat").entity.id
    y = decisions.create(forge, "Sleep", dependencies=[x]).entity.id
    rest = "dependencies: decisions depend on each other in a circle"
    out = "take one of these references out"
    both = ", ".join(dec(one) for one in sorted((x, y)))
    said = refused(forge, RuleError, lambda: decisions.edit(forge, x, dependencies=[y]))
    assert said == f"{rest}: {both}; {out}"
    said = refused(forge, RuleError, lambda: decisions.edit(forge, y, dependencies=[y]))
    assert said == f"{rest}: {dec(y)}; {out}"
    t = threads.create(forge, "Which queue?").entity.id
    said = refused(forge, RuleError, lambda: threads.update(forge, t, blocked_by=[t]))
    assert said == f"blocked_by: threads wait for each other in a circle: {thr(t)}; {out}"
    talks = [new_conversation(forge, f"Talk {n}", at=Instant(EARLIER + n)).entity.id for n in range(3)]
    a, b, c = (short_id(Kind.CONVERSATION, talk) for talk in talks)
    for one, next_one in ((0, 1), (1, 2)):
        lineage.link_named(forge, talks[one], talks[next_one], "X")
    said = refused(forge, RuleError, lambda: lineage.link_named(forge, talks[2], talks[0], "Y"))
    field = "target_conversation_id: conversations continue each other in a circle"
    assert said == f"{field}: {a}, {b}, {c}; {out}"
    said = refused(forge, RuleError, lambda: lineage.link_named(forge, talks[1], talks[0], "Y"))
    [edge_id] = [e.id for e in forge.registry().lineage if e.target_conversation_id == talks[1]]
    assert said == (
        f"{short_id(Kind.LINEAGE, edge_id)} says that {b} continues {a}, "
        f"and they cannot continue each other; say {a} before {b}"
    )
    assert check(forge).problems == ()


# Conflicts


def test_what_is_out_of_force_takes_no_place(forge: Forge) -> None:
    (a, b), [conflict] = opposed(forge, SQL, MONGO)
    decisions.invalidate(forge, a, "Too slow")
    said = f"{dec(a)} is invalidated"
    assert refused(forge, TransitionError, lambda: conflicts.resolve(forge, conflict.id, a, "no")) == said
    assert refused(forge, TransitionError, lambda: decisions.supersede(forge, b, a)) == said
    other = decisions.create(forge, "Eat").entity.id
    decisions.supersede(forge, other, b)
    said = f"{dec(other)} is superseded; in its place: {dec(b)}"
    assert refused(forge, TransitionError, lambda: decisions.supersede(forge, b, other)) == said
    decisions.invalidate(forge, b, "Gone")
    said = f"{dec(other)} is superseded; in its place: nothing; {dec(b)}, which followed, was invalidated"
    assert refused(forge, TransitionError, lambda: decisions.validate(forge, other)) == said


def test_a_conflict_is_open_while_both_sides_stand(forge: Forge) -> None:
    for project in ("Harbour", "Trellis"):
        decisions.create(forge, SQL, project=project)
    (a, b), found = opposed(forge, SQL, MONGO)
    assert len(found) == 3
    listed = ", ".join(short_id(Kind.CONFLICT, conflict.id) for conflict in found)
    said = refused(forge, RuleError, lambda: conflicts.resolve(forge, b, b, "measured"))
    assert said == f"{b} has several open conflicts ({listed}); name the conflict by its id"
    for one in forge.registry().decisions:
        if one.id not in {a, b}:
            decisions.invalidate(forge, one.id, "Too slow")
    waiting = [view["conflict_id"] for view in decisions.decision_conflicts(forge=forge)]
    assert [c.id for c in found if {a, b} == {c.decision_a, c.decision_b}] == waiting
    shown = list_entities(forge, "conflict", status="open").entities
    assert [conflict.id for conflict in shown] == waiting
    registry = forge.registry()
    moot = list_entities(forge, "conflict", status="moot").entities
    assert sorted(conflict.id for conflict in (*shown, *moot)) == sorted(conflict.id for conflict in found)
    assert {state_of(registry, conflict) for conflict in moot} == {"moot"}
    assert [Derived(registry).view(conflict)["moot"] for conflict in (*shown, *moot)] == [False, True, True]
    counts = status(forge)
    assert (dict(counts.conflicts), counts.open_conflicts) == ({"moot": 2, "open": 1}, 1)
    assert decisions.decision_conflicts(project_name="Harbour", forge=forge) == []
    assert conflicts.resolve(forge, b, b, "measured").entity.id == waiting[0]
    said = refused(forge, NotFoundError, lambda: conflicts.resolve(forge, b, b, "measured"))
    assert said == f"no open conflict answers to '{b}'; `forgekit conflict list` shows what is open"


# The functions


def test_a_time_is_given_in_milliseconds(forge: Forge) -> None:
    question, text = threads.create(forge, "Which queue?").entity.id, "2025-01-01T00:00:00Z"
    calls: list[tuple[str, Callable[[Any], object]]] = [
        ("at", lambda at: decisions.decision_create("Use NATS", at=at, forge=forge)),
        ("at", lambda at: threads.thread_create("Which bus?", at=at, forge=forge)),
        ("at", lambda at: threads.update(forge, question, "resolved", at=at)),
        ("compressed_at", lambda at: lineage.lineage_link("a", "b", "ONE", compressed_at=at, forge=forge)),
    ]
    for name, call in calls:
        for wrong in (text, -1, 1.5):
            assert refused(forge, UsageError, lambda call=call, wrong=wrong: call(wrong)) == (  # type: ignore[misc]
                f"{name}: {wrong!r} is no time in milliseconds since 1970; "
                "`forgekit.times.parse_instant` reads a text such as 2026-03-04T16:20:00Z"
            )
    view = decisions.decision_create("Use NATS", at=parse_instant(text), forge=forge)
    assert view["created_at"] == text


def test_a_thread_is_updated_in_whole_or_not_at_all(forge: Forge) -> None:
    question = threads.create(forge, "Which queue?").entity.id

    def update(**given: str) -> Callable[[], object]:
        return lambda: threads.thread_update(question, **given, forge=forge)

    ends = "a resolution needs an end; give status resolved, superseded or abandoned"
    assert refused(forge, UsageError, update(resolution="NATS")) == ends
    assert refused(forge, UsageError, update(resolution="NATS", status="open")) == ends
    said = refused(forge, UsageError, update(status="closed", title="Which bus?"))
    assert said == "status: 'closed' is none of open, resolved, superseded, abandoned"
    said = refused(forge, UsageError, update(priority="urgent"))
    assert said == "priority: 'urgent' is none of high, medium, low"
    view = threads.thread_update(
        question, "resolved", "NATS", title="Which bus?", priority="high", forge=forge
    )
    assert [view[name] for name in ("status", "resolution", "title", "priority")] == [
        "resolved",
        "NATS",
        "Which bus?",
        "high",
    ]
    ended = f"{thr(question)} is already resolved; `forgekit thread reopen {thr(question)}` first"
    assert ended == refused(forge, TransitionError, update(status="abandoned", title="Which queue?"))
    before = git(forge.root, "rev-list", "--count", "HEAD")
    view = threads.thread_update("Which bus?", "open", title="Which queue?", forge=forge)
    assert (view["status"], view["title"]) == ("open", "Which queue?")
    assert int(git(forge.root, "rev-list", "--count", "HEAD")) == int(before) + 1


def test_what_is_given_once_is_there_when_a_change_is_decided_again(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Forge.commit

    def commit_after_a_lost_race(
        self: Forge, decide: Callable[[], Change], *options: WriteOptions
    ) -> Outcome:
        decide()
        return commit(self, decide, *options)

    monkeypatch.setattr(Forge, "commit", commit_after_a_lost_race)
    question, made = (module.create(forge, "Eat").entity.id for module in (threads, decisions))
    asked = threads.update(forge, question, tags=(word for word in ("a", "b"))).entity
    edited = decisions.edit(forge, made, tags=iter(("a",)), alternatives=iter(("Sleep",))).entity
    assert isinstance(asked, Thread)
    assert isinstance(edited, Decision)
    assert (asked.tags, edited.tags, edited.alternatives_rejected) == (("a", "b"), ("a",), ("Sleep",))


def test_a_project_whose_file_was_renamed_gets_no_twin(repository: Path) -> None:
    forge = Forge.open(repository)
    kontor = projects.create(forge, "Kontor").entity
    file = repository / entity_path(kontor)
    file.write_text(file.read_text(encoding="utf-8").replace("Kontor", "Kanzlei"), encoding="utf-8")
    message = f"{entity_path(kontor)} was renamed to 'Kanzlei'; a project keeps its name, so undo that change"
    with pytest.raises(RuleError, match=f"^{re.escape(message)}$"):
        projects.create(forge, "Kanzlei")
    for name in ("Kanzlei", None):
        with pytest.raises(RuleError, match=f"^{re.escape(message)}$"):
            decisions.create(forge, "Use A", project=name)


@pytest.mark.parametrize("function", [threads.thread_active, decisions.decision_conflicts])
def test_a_project_is_known_by_its_name_or_refused(
    forge: Forge, function: Callable[..., list[object]]
) -> None:
    threads.create(forge, "Which queue?")
    opposed(forge, SQL, MONGO)
    assert len(function(project_name=NAME.lower(), forge=forge)) == 1
    said = refused(forge, NotFoundError, lambda: function(project_name="nope", forge=forge))
    assert said == f"no project answers to 'nope'; known projects: {NAME}"


def test_words_that_there_are_not_are_refused(forge: Forge, talk: str) -> None:
    said = refused(forge, UsageError, lambda: lineage.lineage_trace(talk, "up", forge=forge))
    assert said == "direction: 'up' is none of both, ancestors, descendants"
    said = refused(
        forge, UsageError, lambda: lineage.lineage_link(talk, talk, "A", compression_mode="zip", forge=forge)
    )
    assert said == "compression_mode: 'zip' is none of lossless, lossy, partial"


def test_a_bridge_follows_one_talk_under_both_its_names() -> None:
    a, b, c = chain("a", "b", "c")
    stand_in = replace(b, external_id="platform-b")
    (ingested,) = chain("b as it was exported")
    ingested = replace(ingested, external_id="platform-b", source="claude")
    x, y, q = decision("Eat", a), decision("Sleep", a), thread("Which queue?", a)
    first = Compression(compression_tag="A", decisions_carried=(("", x.id),), decisions_dropped=(("", y.id),))
    second = Compression(compression_tag="B", decisions_carried=(("", y.id),), threads_resolved=(("", q.id),))
    hops = edge(a, stand_in, first), edge(ingested, c, second)
    registry = Registry.of([a, stand_in, ingested, c, x, y, q, *hops])
    found = bridge(registry, a.id, c.id)
    assert found.hops == hops
    assert (found.carried, found.dropped, found.resolved) == ((y.id,), (), (q.id,))
    assert found.summary == "2 hops: 1 decision carried, 0 decisions dropped, 1 thread ended, 0 records new."
    assert bridge(registry, a.id, ingested.id).hops == hops[:1]
    assert isinstance(found.source, Conversation)
