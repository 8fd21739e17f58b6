"""What several archives say together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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

from forgekit.archives.fold import fold
from forgekit.archives.read import ImportOptions, identify
from forgekit.model.archive_record import ArchiveText, Scope
from forgekit.model.entities import (
    CompressionMode,
    Conflict,
    Decision,
    DecisionStatus,
    Lineage,
    Priority,
    Thread,
    ThreadStatus,
)
from forgekit.times import Instant, parse_instant

A = archive(
    "LEDGER_API",
    "2026-03-04",
    decision("D001", "Keys are time-ordered", tier=0.9),
    decision("D002", "Amounts are integers", tier=0.55),
    decision("D003", "Maybe a change stream", tier=0.15, dependencies=("D001",)),
    thread("T001", "retry window for batch jobs", priority=Priority.HIGH),
    thread("T002", "audit export layout", blocked_by=("T001",)),
)


def test_a_thread_resolved_later_stays_resolved_when_an_older_archive_shows_it_open() -> None:
    later = archive(
        "RETRY",
        "2026-03-19",
        thread(
            "T007", "Retry window for batch jobs", status=ThreadStatus.RESOLVED, resolution="Fifteen minutes"
        ),
        inherits_from=("LEDGER_API",),
    )
    branch = archive(
        "BRANCH",
        "2026-05-01",
        thread("T001", "Retry window for batch jobs", status=ThreadStatus.OPEN),
        inherits_from=("LEDGER_API",),
    )
    for order in ([A, later, branch], [branch, later, A], [later, A, branch]):
        said = fold(order)
        found = the_thread(said, A, "T001")
        assert found == the_thread(said, later, "T007") == the_thread(said, branch, "T001")
        assert found.status is ThreadStatus.RESOLVED
        assert found.resolution == "Fifteen minutes"
        assert found.resolved_in == later[0].conversation_id
        assert found.updated_at == parse_instant("2026-03-19")
        assert found.priority is Priority.HIGH
        assert found.first_seen_in == A[0].conversation_id


def test_only_words_that_say_so_reopen_a_thread() -> None:
    end = archive("END", "2026-03-05", thread("T001", "Audit export", status=ThreadStatus.RESOLVED))
    again = archive(
        "AGAIN", "2026-03-06", thread("T001", "Audit export", status=ThreadStatus.OPEN, reopened=True)
    )
    early = archive(
        "EARLY", "2026-03-04", thread("T001", "Audit export", status=ThreadStatus.OPEN, reopened=True)
    )
    assert the_thread(fold([end, again]), end, "T001").status is ThreadStatus.OPEN
    assert the_thread(fold([end, early]), end, "T001").status is ThreadStatus.RESOLVED


def test_the_later_of_two_ends_wins() -> None:
    first = archive("ONE", "2026-03-05", thread("T001", "Audit export", status=ThreadStatus.ABANDONED))
    second = archive("TWO", "2026-03-06", thread("T001", "Audit export", status=ThreadStatus.RESOLVED))
    assert the_thread(fold([second, first]), first, "T001").status is ThreadStatus.RESOLVED


def test_an_end_that_is_said_again_is_no_new_end() -> None:
    first = archive("FIRST", "2026-03-04", decision("D002", "Two"), thread("T002", "Queue"))
    end = archive(
        "END",
        "2026-03-10",
        decision("D004", "Four", revises=("D002",)),
        thread("T002", "Queue", status=ThreadStatus.RESOLVED, resolution="The one that exists"),
        inherits_from=("FIRST",),
    )
    again = archive(
        "AGAIN",
        "2026-03-20",
        decision("D002", "Two", status=DecisionStatus.REVISED),
        thread("T002", "Queue", status=ThreadStatus.RESOLVED),
        inherits_from=("END",),
    )
    for order in ([first, end, again], [again, end, first]):
        said = fold(order)
        old, queue = the_decision(said, first, "D002"), the_thread(said, first, "T002")
        assert (old.superseded_by, old.revised_in) == (entity(said, end, "D004"), end[0].conversation_id)
        assert (queue.updated_at, queue.resolved_in, queue.resolution) == (
            parse_instant("2026-03-10"),
            end[0].conversation_id,
            "The one that exists",
        )


def test_an_end_with_another_successor_and_one_behind_a_reopening_are_new() -> None:
    first = archive("FIRST", "2026-03-04", decision("D002", "Two"), thread("T002", "Queue"))
    ended = thread("T002", "Queue", status=ThreadStatus.RESOLVED)
    reopened = thread("T002", "Queue", status=ThreadStatus.OPEN, reopened=True)
    parent = ("FIRST",)
    chain = (
        archive("B", "2026-03-10", decision("D004", "Four", revises=("D002",)), ended, inherits_from=parent),
        archive("C", "2026-03-12", reopened, inherits_from=parent),
        archive("D", "2026-03-20", decision("D005", "Five", revises=("D002",)), ended, inherits_from=parent),
    )
    said = fold([first, *chain])
    assert the_decision(said, first, "D002").superseded_by == entity(said, chain[2], "D005")
    assert the_thread(said, first, "T002").updated_at == parse_instant("2026-03-20")


def test_carried_dropped_and_resolved_are_worked_out() -> None:
    child = archive(
        "RETRY",
        "2026-03-19",
        decision("D004", "Retry for fifteen minutes"),
        thread("T001", "Retry window for batch jobs", status=ThreadStatus.RESOLVED),
        inherits_from=("LEDGER_API",),
        mode=CompressionMode.PARTIAL,
        carried=(decision("D001", "Keys are time-ordered", scope=Scope.INHERITED),),
        summary="Retries, settled.",
    )
    said = fold([A, child])
    (compression,) = the_edge(said).compressions
    assert compression.compression_tag == "LEDGER_API"
    assert compression.decisions_carried == (("D001", entity(said, A, "D001")),)
    assert compression.decisions_dropped == (
        ("D002", entity(said, A, "D002")),
        ("D003", entity(said, A, "D003")),
    )
    assert compression.threads_carried == ()
    assert compression.threads_resolved == (("T001", entity(said, A, "T001")),)
    assert the_edge(said).body == "Retries, settled."
    carried = the_decision(said, A, "D001")
    assert carried.conversation_ids == tuple(sorted((A[0].conversation_id, child[0].conversation_id)))
    assert carried.last_validated == parse_instant("2026-03-19")


def test_a_restated_record_takes_its_parents_identity_when_the_parent_comes() -> None:
    child = archive(
        "NEXT",
        "2026-03-10",
        decision("D002", "Amounts are integers", scope=Scope.INHERITED),
        inherits_from=("LEDGER_API",),
    )
    alone, both = fold([child]), fold([child, A])
    assert the_decision(alone, child, "D002").originated_in == child[0].conversation_id
    assert the_decision(both, child, "D002").originated_in == A[0].conversation_id
    assert entity(alone, child, "D002") not in both.entities


def test_the_parent_speaks_first_whatever_the_clocks_said() -> None:
    child = archive(
        "NEXT", "2025-01-01", decision("D001", "Keys are time-ordered"), inherits_from=("LEDGER_API",)
    )
    assert the_decision(fold([child, A]), child, "D001").originated_in == A[0].conversation_id


def test_two_active_revisions_of_one_decision_are_a_conflict() -> None:
    one = archive(
        "ONE",
        "2026-03-10",
        decision("D010", "Amounts are decimals", revises=("D002",)),
        inherits_from=("LEDGER_API",),
    )
    two = archive(
        "TWO",
        "2026-03-11",
        decision("D010", "Amounts are strings", revises=("D002",)),
        inherits_from=("LEDGER_API",),
    )
    said = fold([A, one, two])
    old = the_decision(said, A, "D002")
    assert old.status is DecisionStatus.REVISED
    assert old.superseded_by == entity(said, two, "D010")
    (conflict,) = [e for e in said.entities.values() if isinstance(e, Conflict)]
    assert {conflict.decision_a, conflict.decision_b} == {
        entity(said, one, "D010"),
        entity(said, two, "D010"),
    }
    assert conflict.nature == f"two active revisions of dec_{old.id[-12:]}"
    assert conflict.detected_at == parse_instant("2026-03-11")


def test_stretches_of_one_session_are_joined() -> None:
    first = archive("ONE", "2026-03-10", decision("D001", "Keys"), session_id="ledger")
    second = archive("TWO", "2026-03-11", decision("D001", "Amounts"), session_id="ledger")
    third = archive("THREE", "2026-03-12", decision("D001", "Dates"), session_id="ledger")
    edges = [e for e in fold([third, first, second]).entities.values() if isinstance(e, Lineage)]
    joined = {(e.source_conversation_id, e.target_conversation_id) for e in edges}
    ids = [pair[0].conversation_id for pair in (first, second, third)]
    assert joined == {(ids[0], ids[1]), (ids[1], ids[2])}


def test_local_ids_of_unrelated_archives_do_not_meet() -> None:
    other = archive("OTHER", "2026-03-10", decision("D001", "Something else entirely"))
    said = fold([A, other])
    assert entity(said, A, "D001") != entity(said, other, "D001")


def test_an_abbreviated_title_under_the_same_local_id_is_the_same_thread() -> None:
    child = archive("NEXT", "2026-03-10", thread("T001", "Retry window"), inherits_from=("LEDGER_API",))
    other = archive("OTHER", "2026-03-10", thread("T009", "Retry window"), inherits_from=("LEDGER_API",))
    assert entity(fold([A, child]), child, "T001") == entity(fold([A]), A, "T001")
    assert entity(fold([A, other]), other, "T009") != entity(fold([A]), A, "T001")


def test_tiers_follow_the_latest_word_and_keep_their_token() -> None:
    later = archive(
        "NEXT",
        "2026-03-10",
        decision("D002", "Amounts are integers", tier=0.9, tier_token="1"),  # noqa: S106 - a class, no secret
        inherits_from=("LEDGER_API",),
    )
    found = the_decision(fold([later, A]), A, "D002")
    assert (found.epistemic_tier, found.tier_token) == (0.9, "1")
    assert the_decision(fold([A]), A, "D003").epistemic_tier == 0.15


def test_references_are_joined_and_unknown_ones_are_named() -> None:
    child = archive(
        "NEXT",
        "2026-03-10",
        decision("D004", "Retry", dependencies=("D001", "D099")),
        inherits_from=("LEDGER_API",),
    )
    said = fold([A, child])
    assert the_decision(said, child, "D004").dependencies == (entity(said, A, "D001"),)
    assert [p.message for p in said.problems[child[0].id]] == ["D099 is not known here"]
    assert the_thread(said, A, "T002").blocked_by == (entity(said, A, "T001"),)


def test_an_entity_has_the_number_of_its_list_for_a_local_id() -> None:
    numbered, bare = thread("OT001", "Who plays?", number="7"), thread("OT002", "Who drives?", number="")
    said = archive("WEDDING", "2026-03-01", numbered, bare)
    found = fold([said])
    assert [the_thread(found, said, local).local_id for local in ("OT001", "OT002")] == ["7", None]


def test_records_without_ids_meet_by_their_words_and_not_by_their_place() -> None:
    first = archive(
        "ONE",
        "2026-01-01",
        decision("OD001", "Serve soup on Monday", number=""),
        decision("OD002", "Serve bread with the soup", number=""),
        thread("OT001", "Who cooks the soup on Monday?", number=""),
    )
    second = archive(
        "TWO",
        "2026-02-01",
        decision("OD001", "Serve bread with all the soup", number=""),
        decision("OD002", "Serve tea with the cake", number=""),
        thread("OT001", "Who cooks the cake on Friday?", number="", status=ThreadStatus.RESOLVED),
        thread("OT002", "Who cooks the soup on Mondays?", number=""),
        inherits_from=("ONE",),
    )
    found = fold([first, second])
    assert entity(found, first, "OT001") == entity(found, second, "OT002")
    assert the_thread(found, first, "OT001").status is ThreadStatus.OPEN
    old, new = the_decision(found, first, "OD002"), the_decision(found, second, "OD001")
    assert (old.status, old.superseded_by) == (DecisionStatus.REVISED, new.id)
    others = the_decision(found, first, "OD001"), the_decision(found, second, "OD002")
    assert [each.status.value for each in others] == ["active", "active"]


def test_a_cycle_of_parents_ends() -> None:
    one = archive("ONE", "2026-03-10", decision("D001", "Keys"), inherits_from=("TWO",))
    two = archive("TWO", "2026-03-11", decision("D001", "Amounts"), inherits_from=("ONE",))
    assert len([e for e in fold([one, two]).entities.values() if isinstance(e, Lineage)]) == 1


def test_a_time_that_nobody_gave_is_zero_and_never_the_clock() -> None:
    text = ArchiveText(tag="NO_TIME", decisions=(decision("D001", "Keys"),))
    filed = identify("raw", text, ImportOptions(), "Ledger")
    assert filed.compressed_at == Instant(0)
    assert filed == identify("raw", text, ImportOptions(), "Ledger")


def test_the_parent_that_a_record_names_is_looked_at_first() -> None:
    sessions = archive(
        "SESSIONS",
        "2026-03-01",
        decision("D001", "Sign sessions with rotating keys"),
        decision("D002", "Keep sessions for one hour"),
        thread("T001", "Who rotates the keys?"),
    )
    bills = archive(
        "BILLS",
        "2026-03-02",
        decision("D001", "Bill customers on the first of the month"),
        decision("D002", "Round invoices half up"),
        thread("T001", "Which currency do refunds use?"),
    )
    inherited = {"scope": Scope.INHERITED, "inherited_from": "BILLS"}
    child = archive(
        "BOTH",
        "2026-03-10",
        decision("D001", "Customers are billed monthly on day one", **inherited),
        thread("T001", "Refund currency", status=ThreadStatus.RESOLVED, **inherited),
        inherits_from=("SESSIONS", "BILLS"),
        carried=(decision("D002", "Invoices are rounded half up", **inherited),),
    )
    said = fold([sessions, bills, child])
    for local_id in ("D001", "D002", "T001"):
        assert entity(said, child, local_id) == entity(said, bills, local_id)
    assert the_thread(said, bills, "T001").status is ThreadStatus.RESOLVED
    assert the_thread(said, sessions, "T001").status is ThreadStatus.OPEN


def test_a_revision_finds_what_it_replaces_behind_a_tag_and_under_its_own_id() -> None:
    child = archive(
        "NEXT",
        "2026-03-10",
        decision("D001", "Ship the ledger in one region"),
        decision("D002", "Amounts are decimal strings", revises=("D002",)),
        decision("D003", "Keys are random", revises=("LEDGER_API:D001",)),
        decision("D009", "Nothing of the kind", revises=("D009", "NO_SUCH:D001")),
        inherits_from=("LEDGER_API",),
    )
    again = archive(
        "LATER",
        "2026-03-11",
        decision("D002", "Amounts are decimal strings", revises=("D002",)),
        inherits_from=("NEXT",),
    )
    said = fold([again, A, child])
    for old, new in (("D001", "D003"), ("D002", "D002")):
        found = the_decision(said, A, old)
        assert (found.status, found.superseded_by) == (DecisionStatus.REVISED, entity(said, child, new))
    assert the_decision(said, child, "D001").status is DecisionStatus.ACTIVE
    assert the_decision(said, again, "D002").status is DecisionStatus.ACTIVE
    assert [p.message for p in said.problems[child[0].id]] == [
        "D009 is not known here",
        "NO_SUCH:D001 is not known here",
    ]
    assert again[0].id not in said.problems


def test_a_longer_wording_that_revises_its_own_id_is_a_new_decision() -> None:
    child = archive(
        "NEXT",
        "2026-03-10",
        decision("D002", "Amounts are integers of cents", revises=("D002",)),
        inherits_from=("LEDGER_API",),
    )
    said = fold([A, child])
    assert the_decision(said, A, "D002").superseded_by == entity(said, child, "D002")


def test_what_is_called_revised_under_a_parent_s_id_is_its_new_version() -> None:
    child = archive(
        "NEXT",
        "2026-03-10",
        decision("D002", "Amounts are decimal strings", status=DecisionStatus.REVISED),
        decision("D007", "Told as it was", status=DecisionStatus.REVISED),
        inherits_from=("LEDGER_API",),
    )
    said = fold([A, child])
    old, new = the_decision(said, A, "D002"), the_decision(said, child, "D002")
    assert (old.status, old.superseded_by) == (DecisionStatus.REVISED, new.id)
    assert new.status is DecisionStatus.ACTIVE
    assert the_decision(said, child, "D007").status is DecisionStatus.REVISED


def test_the_reason_of_an_end_is_kept_beside_that_of_the_decision() -> None:
    def told(name: str, day: str, why: str, status: DecisionStatus | None = None) -> Any:
        return archive(name, day, decision("D001", "Keep it for 90 days", rationale=why, status=status))

    first = told("ONE", "2026-03-01", "The disk is small.")
    last = told("TWO", "2026-03-10", "It compresses well.", status=DecisionStatus.INVALIDATED)
    found = the_decision(fold([first, last]), first, "D001")
    assert (found.rationale, found.ending) == ("The disk is small.", "It compresses well.")
    alone = the_decision(fold([last]), last, "D001")
    assert (alone.rationale, alone.ending) == ("It compresses well.", "")


def test_the_exact_text_of_an_successor_stands_over_the_local_id_that_it_took() -> None:
    successor = archive(
        "HEIR",
        "2026-03-10",
        decision("D010", "Amounts are decimals", revises=("D002",)),
        inherits_from=("LEDGER_API",),
    )
    child = archive(
        "NEXT",
        "2026-03-11",
        decision("D002", "Amounts are decimals", scope=Scope.INHERITED),
        inherits_from=("LEDGER_API",),
    )
    said = fold([A, successor, child])
    assert entity(said, child, "D002") == entity(said, successor, "D010")


MADE = parse_instant("2026-03-08")


def test_what_people_registered_is_found_and_told_of() -> None:
    own = own_decision("Use Ed25519", MADE)
    asked = own_thread("Who pays?", MADE, "For the module.")
    child = archive(
        "NEXT",
        "2026-03-10",
        decision("D002", "use Ed25519."),
        decision("D003", "Sign with something else", revises=(f"dec_{own.id[-12:]}",)),
        thread("T001", "Who pays?", status=ThreadStatus.RESOLVED, resolution="Nobody."),
    )
    orders: list[list[Decision | Thread]] = [[own, asked], [asked, own]]
    for standing in orders:
        said = fold([child], standing)
        assert (entity(said, child, "D002"), entity(said, child, "T001")) == (own.id, asked.id)
        assert said.entities[own.id] == replace(
            own,
            status=DecisionStatus.REVISED,
            superseded_by=entity(said, child, "D003"),
            revised_in=child[0].conversation_id,
            conversation_ids=(child[0].conversation_id,),
            last_validated=child[0].compressed_at,
        )
        assert said.entities[asked.id] == replace(
            asked,
            status=ThreadStatus.RESOLVED,
            updated_at=child[0].compressed_at,
            resolved_in=child[0].conversation_id,
            conversation_ids=(child[0].conversation_id,),
            body="For the module.\n\n## Resolution\n\nNobody.",
        )
        untold = fold([A], standing).entities
        assert (untold[own.id], untold[asked.id]) == (own, asked)
