"""What the fold makes of the claims about one decision or thread, and of one that a person registered."""

from __future__ import annotations

from itertools import permutations

import pytest
from fold_archives import (
    archive,
    decision,
    entity,
    own_decision,
    own_thread,
    the_decision,
    the_edge,
    the_thread,
    thread,
)

from forgekit.archives.ancestry import unique_pairs
from forgekit.archives.fold import fold
from forgekit.ids import conversation_id, project_id
from forgekit.model.archive_record import DecisionRecord, Family, Update
from forgekit.model.entities import Conflict, Decision, DecisionStatus, Priority, Thread, ThreadStatus
from forgekit.model.kinds import Kind, short_id
from forgekit.times import parse_instant

P = project_id("Ledger")
MADE = parse_instant("2026-03-01")
TALK = conversation_id(P, "A talk of many days", MADE)

FIRST = archive(
    "FIRST",
    "2026-03-04",
    decision("D001", "Keys are time-ordered"),
    decision("D002", "Amounts are integers"),
    thread("T001", "Retry window for batch jobs", priority=Priority.LOW),
)


def test_whoever_spoke_last_decides_the_priority() -> None:
    again = archive(
        "AGAIN", "2026-03-05", thread("T001", "Retry window for batch jobs", priority=Priority.HIGH)
    )
    for order in ([FIRST, again], [again, FIRST]):
        assert the_thread(fold(order), FIRST, "T001").priority is Priority.HIGH


def test_at_one_moment_an_end_stands_over_a_reopening() -> None:
    ended = thread("T001", "Audit export", status=ThreadStatus.RESOLVED)
    reopened = thread("T001", "Audit export", status=ThreadStatus.OPEN, reopened=True)
    for one, two in ((ended, reopened), (reopened, ended)):
        pairs = archive("ONE", "2026-03-05", one), archive("TWO", "2026-03-05", two)
        assert the_thread(fold(pairs), pairs[0], "T001").status is ThreadStatus.RESOLVED


def test_to_say_that_a_decision_ended_does_not_validate_it() -> None:
    end = archive(
        "END", "2026-03-10", decision("D002", "Amounts are integers", status=DecisionStatus.INVALIDATED)
    )
    found = the_decision(fold([FIRST, end]), FIRST, "D002")
    assert (found.status, found.last_validated) == (DecisionStatus.INVALIDATED, parse_instant("2026-03-04"))


def test_a_decision_was_made_when_its_record_says_and_not_when_it_was_archived() -> None:
    made = parse_instant("2026-02-20")
    filed = archive("LATE", "2026-03-04", decision("D001", "Keys", timestamp=made))
    found = the_decision(fold([filed]), filed, "D001")
    assert (found.created_at, found.last_validated) == (made, parse_instant("2026-03-04"))


def test_the_first_fifty_alternatives_are_kept() -> None:
    many = tuple(f"choice {number}" for number in range(60))
    filed = archive("MANY", "2026-03-04", decision("D001", "Keys", alternatives=many))
    assert the_decision(fold([filed]), filed, "D001").alternatives_rejected == many[:50]


def test_what_an_successor_replaces_without_a_word_of_its_status_is_superseded() -> None:
    filed = archive(
        "ONE", "2026-03-04", decision("D001", "Keys", superseded_by="D002"), decision("D002", "Rows")
    )
    said = fold([filed])
    found = the_decision(said, filed, "D001")
    assert (found.status, found.superseded_by, found.revised_in) == (
        DecisionStatus.SUPERSEDED,
        entity(said, filed, "D002"),
        None,
    )


def test_a_revision_that_has_ended_is_in_no_conflict() -> None:
    one = archive("ONE", "2026-03-10", decision("D010", "Decimals", revises=("FIRST:D002",)))
    two = archive("TWO", "2026-03-11", decision("D010", "Strings", revises=("FIRST:D002",)))
    over = archive("OVER", "2026-03-12", decision("D010", "Decimals", status=DecisionStatus.INVALIDATED))
    both, left = fold([FIRST, one, two]), fold([FIRST, one, two, over])
    assert [sum(isinstance(e, Conflict) for e in said.entities.values()) for said in (both, left)] == [1, 0]


OWN = own_decision("Use Ed25519", MADE)
ASKED = own_thread("Who pays?", MADE)


def test_to_say_that_a_persons_decision_ended_does_not_validate_it() -> None:
    end = archive("END", "2026-03-10", decision("D001", "Use Ed25519", status=DecisionStatus.INVALIDATED))
    found = the_decision(fold([end], [OWN]), end, "D001")
    assert (found.id, found.status, found.last_validated) == (OWN.id, DecisionStatus.INVALIDATED, MADE)


def test_a_persons_thread_that_is_only_reopened_was_updated_then() -> None:
    again = archive("AGAIN", "2026-03-10", thread("T001", "Who pays?", reopened=True))
    found = the_thread(fold([again], [ASKED]), again, "T001")
    assert (found.id, found.status, found.updated_at) == (
        ASKED.id,
        ThreadStatus.OPEN,
        parse_instant("2026-03-10"),
    )


def test_a_name_is_looked_for_in_the_nearest_parent_first() -> None:
    one = archive("ONE", "2026-03-05", decision("D001", "Sign sessions"))
    two = archive("TWO", "2026-03-06", decision("D001", "Bill monthly"))
    for parents in ((one, two), (two, one)):
        child = archive(
            "CHILD",
            "2026-03-10",
            decision("D009", "Ship", dependencies=("D001",)),
            inherits_from=tuple(p[0].compression_tag for p in parents),
        )
        said = fold([one, two, child])
        assert the_decision(said, child, "D009").dependencies == (entity(said, parents[0], "D001"),)


def test_a_tag_that_two_archives_bear_is_the_parents() -> None:
    parent = archive("SAME", "2026-03-05", decision("D001", "Sign sessions"), session_id="one")
    other = archive("SAME", "2026-03-06", decision("D001", "Bill monthly"), session_id="two")
    child = archive(
        "CHILD",
        "2026-03-10",
        decision("D009", "Ship", dependencies=("SAME:D001",)),
        inherits_from=(parent[0].conversation_id,),
    )
    said = fold([parent, other, child])
    assert the_decision(said, child, "D009").dependencies == (entity(said, parent, "D001"),)


def test_a_record_may_be_named_behind_the_id_of_its_conversation() -> None:
    name = f"{FIRST[0].conversation_id}:D002"
    child = archive("CHILD", "2026-03-10", decision("D009", "Amounts are decimals", revises=(name,)))
    said = fold([FIRST, child])
    assert the_decision(said, FIRST, "D002").superseded_by == entity(said, child, "D009")
    assert said.problems == {}


REVISION = decision("D009", "Amounts are decimals", revises=("FIRST:D002",))


def test_what_ended_before_a_child_spoke_was_not_dropped_and_what_ended_after_was() -> None:
    child = archive(
        "CHILD", "2026-03-10", decision("D001", "Keys are time-ordered"), inherits_from=("FIRST",)
    )
    for day, dropped in (("2026-03-08", False), ("2026-03-10", False), ("2026-03-20", True)):
        said = fold([FIRST, child, archive("OTHER", day, REVISION)])
        (compression,) = the_edge(said).compressions
        assert compression.decisions_dropped == ((("D002", entity(said, FIRST, "D002")),) if dropped else ())


def test_what_ended_twice_ended_the_first_time() -> None:
    child = archive(
        "CHILD", "2026-03-10", decision("D001", "Keys are time-ordered"), inherits_from=("FIRST",)
    )
    again = archive("LATE", "2026-03-20", decision("D009", "Amounts are strings", revises=("FIRST:D002",)))
    said = fold([FIRST, archive("OTHER", "2026-03-08", REVISION), child, again])
    assert the_edge(said).compressions[0].decisions_dropped == ()


def test_what_ended_before_the_last_archive_of_a_child_spoke_was_not_dropped() -> None:
    early = archive("ONE", "2026-03-06", conversation=TALK, turn_range=(1, 9), inherits_from=("FIRST",))
    late = archive("TWO", "2026-03-12", conversation=TALK, turn_range=(10, 19), inherits_from=("FIRST",))
    said = fold([FIRST, early, archive("OTHER", "2026-03-08", REVISION), late])
    (compression,) = the_edge(said).compressions
    assert compression.decisions_dropped == (("D001", entity(said, FIRST, "D001")),)


def test_a_thread_that_the_parent_itself_ended_is_neither_carried_nor_resolved() -> None:
    ended = thread("T001", "Audit export", status=ThreadStatus.RESOLVED)
    parent = archive("PARENT", "2026-03-05", ended)
    for told in (thread("T001", "Audit export"), ended):
        child = archive("CHILD", "2026-03-10", told, inherits_from=("PARENT",))
        (compression,) = the_edge(fold([parent, child])).compressions
        assert (compression.threads_carried, compression.threads_resolved) == ((), ())


def test_an_entity_with_two_local_ids_is_listed_under_the_first() -> None:
    assert unique_pairs([("D001", OWN.id), ("D005", OWN.id)]) == (("D001", OWN.id),)


def test_a_reopened_thread_keeps_how_it_ended() -> None:
    ended = thread("T001", "Audit export", status=ThreadStatus.RESOLVED, resolution="As CSV.")
    reopened = thread("T001", "Audit export", status=ThreadStatus.OPEN, reopened=True)
    pairs = archive("ONE", "2026-03-05", ended), archive("TWO", "2026-03-07", reopened)
    found = the_thread(fold(pairs), pairs[0], "T001")
    assert found.status is ThreadStatus.OPEN
    assert found.body == "## Earlier resolutions\n\n- 2026-03-05, resolved: As CSV."


def test_a_new_version_named_by_its_old_id_keeps_what_its_record_does_not_say() -> None:
    old = own_decision(
        "Kitchen closes at nine", MADE, epistemic_tier=0.9, alternatives_rejected=("open end",)
    )
    name = short_id(Kind.DECISION, old.id)
    new = archive("NEW", "2026-03-09", decision(name, "Kitchen closes at ten o'clock", entity=name))
    made = the_decision(fold([new], [old]), new, name)
    assert (made.decision, made.epistemic_tier) == ("Kitchen closes at ten o'clock", 0.9)
    assert made.alternatives_rejected == ("open end",)


def test_a_parents_id_with_more_words_is_a_new_version() -> None:
    new = archive("NEW", "2026-03-09", decision("D002", "Amounts are not integers"), inherits_from=("FIRST",))
    found = fold([FIRST, new])
    old, made = the_decision(found, FIRST, "D002"), the_decision(found, new, "D002")
    assert (old.status, old.superseded_by) == (DecisionStatus.REVISED, made.id)
    assert made.decision == "Amounts are not integers"


def test_what_an_archive_replaces_under_an_id_of_its_own_active_record_is_the_parents() -> None:
    records = (
        decision("D001", "Sums are decimals", revises=("D002",), status=DecisionStatus.ACTIVE),
        decision("D002", "Books close in May", status=DecisionStatus.ACTIVE),
    )
    new = archive("NEW", "2026-03-09", *records, inherits_from=("FIRST",))
    found = fold([FIRST, new])
    assert the_decision(found, FIRST, "D002").superseded_by == the_decision(found, new, "D001").id
    assert the_decision(found, new, "D002").status is DecisionStatus.ACTIVE


def test_what_is_superseded_and_replaced_in_one_archive_has_a_successor() -> None:
    records = (
        decision("D001", "Count by hand", status=DecisionStatus.SUPERSEDED),
        decision("D002", "Count by scanner", revises=("D001",)),
    )
    new = archive("NEW", "2026-03-09", *records)
    found = fold([new])
    assert the_decision(found, new, "D001").superseded_by == the_decision(found, new, "D002").id


def test_nearly_the_same_words_under_a_parent_s_id_are_a_new_version() -> None:
    first = archive(
        "FIRST",
        "2026-03-01",
        decision("D1", "The ceiling is 16,500 with taxes", dependencies=("D2",)),
        decision("D2", "We pay in cash"),
    )
    child = archive(
        "CHILD", "2026-03-08", decision("D1", "The ceiling is 17,800 with taxes"), inherits_from=("FIRST",)
    )
    found = fold([first, child])
    old, new = the_decision(found, first, "D1"), the_decision(found, child, "D1")
    assert (old.status, old.superseded_by) == (DecisionStatus.REVISED, new.id)
    assert (new.status, new.dependencies) == (DecisionStatus.ACTIVE, (found.mentions[first[0].id, "D2"],))


def test_an_archive_that_numbers_anew_revises_nothing() -> None:
    first = archive(
        "FIRST",
        "2026-03-01",
        *(
            decision(f"D{n}", text)
            for n, text in enumerate(
                ("Rows are sorted by key", "Logs are kept for a year", "Nobody works on Friday"), 1
            )
        ),
    )
    new = (
        decision("D1", "Rows are sorted by day"),
        decision("D2", "The roof is of copper"),
        decision("D3", "Bread costs five euros"),
    )
    found = fold([first, archive("CHILD", "2026-03-08", *new, inherits_from=("FIRST",))])
    assert [e.status.value for e in found.entities.values() if isinstance(e, Decision)] == ["active"] * 6


def test_other_words_of_an_ended_record_are_why_it_ended() -> None:
    first = archive(
        "FIRST",
        "2026-03-01",
        thread("T1", "Who owns the coordinates?"),
        decision("D1", "Show it on the quay"),
    )
    child = archive(
        "CHILD",
        "2026-03-08",
        thread("T1", "the harbour authority", status=ThreadStatus.RESOLVED),
        decision("D1", "phones work on board", status=DecisionStatus.INVALIDATED),
        inherits_from=("FIRST",),
    )
    found = fold([first, child])
    asked, told = the_thread(found, first, "T1"), the_decision(found, first, "D1")
    assert (asked.status, asked.resolution) == (ThreadStatus.RESOLVED, "the harbour authority")
    assert (told.status, "phones work on board" in told.body) == (DecisionStatus.INVALIDATED, True)
    assert [e.title for e in found.entities.values() if isinstance(e, (Decision, Thread))] == [
        told.title,
        asked.title,
    ]


def test_words_with_a_parent_s_id_in_brackets_are_that_record() -> None:
    first = archive(
        "FIRST", "2026-03-01", decision("D1", "Serve GTFS"), decision("D2", "Cache it for an hour")
    )
    child = archive(
        "CHILD", "2026-03-08", decision("D1", "Cache it for an hour (was D2)"), inherits_from=("FIRST",)
    )
    found = fold([first, child])
    assert found.mentions[child[0].id, "D1"] == found.mentions[first[0].id, "D2"]
    assert the_decision(found, first, "D1").status is DecisionStatus.ACTIVE


def test_a_decision_that_is_in_force_again_is_so_until_it_ends_again() -> None:
    ended = DecisionStatus.INVALIDATED
    back: dict[str, object] = {"status": DecisionStatus.ACTIVE, "reinstated": True}
    first = archive("FIRST", "2026-03-01", decision("D1", "Show it on the quay"))
    days: list[tuple[str, str, dict[str, object]]] = [
        ("TWO", "2026-03-02", {"status": ended}),
        ("THREE", "2026-03-03", back),
        ("FOUR", "2026-03-04", {"status": ended}),
    ]
    later = [
        archive(tag, day, decision("D1", "Show it on the quay", **more), inherits_from=("FIRST",))
        for tag, day, more in days
    ]
    states = [the_decision(fold([first, *later[:n]]), first, "D1").status.value for n in range(4)]
    assert states == ["active", "invalidated", "active", "invalidated"]


def test_another_reason_stands_below_the_first_one() -> None:
    first = archive(
        "FIRST", "2026-03-01", decision("D1", "Show it on the quay", rationale="No signal at sea.")
    )
    child = archive(
        "CHILD",
        "2026-03-02",
        decision("D1", "Show it on the quay", rationale="The crew asked for it."),
        inherits_from=("FIRST",),
    )
    again = archive(
        "AGAIN",
        "2026-03-03",
        decision("D1", "Show it on the quay", rationale="no signal at sea"),
        inherits_from=("CHILD",),
    )
    assert (
        the_decision(fold([first, child, again]), first, "D1").rationale
        == "No signal at sea.\n\nThe crew asked for it."
    )


def test_of_one_day_the_child_is_later_than_its_parent() -> None:
    line = [archive("ZED", "2026-03-01", decision("D1", "Use rows", tier=0.5))]
    line += [archive("MID", "2026-03-01", decision("D1", "Use rows", tier=0.9), inherits_from=("ZED",))]
    line += [archive("AAA", "2026-03-01", decision("D1", "Use rows", tier=0.1), inherits_from=("MID",))]
    for pairs in permutations(line):
        assert the_decision(fold(pairs), line[0], "D1").epistemic_tier == 0.1


GOES_ON = (decision("D1", "Rows are sorted by key"), decision("D2", "Logs are kept for a year"))


@pytest.mark.parametrize(
    ("later", "in_force"),
    [
        (
            decision(
                "D3", "Only what the warden marks is cut", rationale="A branch fell", family=Family.PROSE
            ),
            True,
        ),
        (decision("D3", "No tree is cut, says the family, at all", status=DecisionStatus.REVISED), True),
        (decision("D3", "was talked about once more", family=Family.PROSE), False),
    ],
)
def test_other_words_are_a_new_version_with_fields_and_a_remark_without(
    later: DecisionRecord, in_force: bool
) -> None:
    first = archive("FIRST", "2026-03-01", *GOES_ON, decision("D3", "No tree is cut, says the family"))
    found = fold([first, archive("CHILD", "2026-03-08", *GOES_ON, later, inherits_from=("FIRST",))])
    said = {e.title for e in found.entities.values() if isinstance(e, Decision) and not e.status.ended}
    old = "No tree is cut, says the family"
    assert said - {each.text for each in GOES_ON} == ({later.text} if in_force else {old})


def test_an_arrow_behind_an_id_shows_what_replaced_it() -> None:
    first = archive("FIRST", "2026-03-01", decision("E4", "Food comes from neighbours"))
    child = archive(
        "CHILD",
        "2026-03-08",
        decision("E8", "One truck fries"),
        updates=(Update(local_id="E4", line=3, text="\u2192 **E8**"),),
        inherits_from=("FIRST",),
    )
    found = fold([first, child])
    old, new = the_decision(found, first, "E4"), the_decision(found, child, "E8")
    assert (old.status, old.superseded_by) == (DecisionStatus.SUPERSEDED, new.id)


def test_a_remark_that_rates_a_thread_is_no_thread() -> None:
    first = archive("FIRST", "2026-03-01", thread("T2", "How are films treated?"))
    child = archive(
        "CHILD",
        "2026-03-08",
        thread("T2", "goes from medium to high: the film is lost"),
        inherits_from=("FIRST",),
    )
    found = fold([first, child])
    asked = the_thread(found, first, "T2")
    assert (asked.title, asked.priority) == ("How are films treated?", Priority.HIGH)
    assert [e for e in found.entities.values() if isinstance(e, Thread)] == [asked]


def test_an_id_of_two_words_names_the_record_of_its_own_archive() -> None:
    first, second = "Decision 1.A", "Decision 1.B"
    pair = archive(
        "ONE", "2026-03-05", decision(first, "Walk"), decision(second, "Cut", dependencies=(first,))
    )
    made = fold([pair])
    assert the_decision(made, pair, second).dependencies == (entity(made, pair, first),)
