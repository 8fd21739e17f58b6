"""What later archives say of a parent's records in a few words, and unknown words of states."""

from __future__ import annotations

import pytest
from fold_archives import archive, decision, the_decision, the_thread, thread

from forgekit.archives.fold import fold
from forgekit.archives.read import read_archive
from forgekit.archives.states import meaning_of, new_text
from forgekit.model.archive_record import Scope
from forgekit.model.entities import Decision, DecisionStatus, ThreadStatus

PARENT = archive(
    "PARENT",
    "2026-03-04",
    decision("D001", "Use PostgreSQL as the only store"),
    decision("D002", "Keep logs for one year"),
    thread("T001", "Who owns the budget?"),
    thread("T002", "Do we need a new panel?", status=ThreadStatus.RESOLVED),
)
HEAD = "# Archive\n**Tag:** NEW_TAG\n**Date:** 2026-04-01\n**Continues:** OLD_TAG\n\n"


@pytest.mark.parametrize(
    ("kind", "text", "meaning"),
    [
        ("D", "no longer in force; the audit forbids it", "invalidated"),
        ("D", "reaffirmed on 2026-02-18", "active"),
        ("D", "overturned by D2", "superseded"),
        ("D", "Changed. Now: Keep logs for 30 days", "revised"),
        ("D", "Keep logs for 30 days", "none"),
        ("T", "resolved 19 May 2026 \u2014 finance owns it.", "resolved"),
        ("T", "r\u00e9solue le 10 avril 2026 : non", "resolved"),
        ("T", "wieder aufgenommen", "reopened"),
        ("T", "closed as won't do", "abandoned"),
        ("T", "Who pays for the storage?", "none"),
    ],
)
def test_what_a_phrase_says(kind: str, text: str, meaning: str) -> None:
    assert meaning_of(text, kind) == meaning


def test_what_was_revised_may_have_its_new_words_behind_it() -> None:
    assert new_text("Changed. Now: Keep logs for 30 days", "D") == "Keep logs for 30 days"
    assert new_text("Changed in May.", "D") == ""


def test_a_phrase_under_a_parent_s_id_is_its_state_and_no_record() -> None:
    child = archive(
        "CHILD",
        "2026-04-01",
        decision("D001", "no longer in force; the audit forbids it"),
        decision("Decision 2", "Changed. Now: Keep logs for 30 days"),
        thread("T1", "cleared June 2."),
        thread("T002", "revived."),
        inherits_from=("PARENT",),
    )
    for pairs in ([PARENT, child], [child, PARENT]):
        said = fold(pairs)
        gone, revised = (the_decision(said, PARENT, local_id) for local_id in ("D001", "D002"))
        assert (gone.status, gone.decision) == (
            DecisionStatus.INVALIDATED,
            "Use PostgreSQL as the only store",
        )
        assert revised.status is DecisionStatus.REVISED
        texts = {each.decision for each in said.entities.values() if isinstance(each, Decision)}
        assert texts == {gone.decision, revised.decision, "Keep logs for 30 days"}
        closed, open_ = (the_thread(said, PARENT, local_id) for local_id in ("T001", "T002"))
        assert (closed.title, closed.status, closed.resolution) == (
            "Who owns the budget?",
            ThreadStatus.RESOLVED,
            "cleared June 2.",
        )
        assert open_.status is ThreadStatus.OPEN
    assert said.problems[child[0].id][0].message == (
        "D001: \u201cno longer in force; the audit forbids it\u201d was read as what became of it: "
        "invalidated"
    )


def test_an_id_that_no_parent_has_keeps_its_words() -> None:
    child = archive("CHILD", "2026-04-01", decision("D009", "no longer in force"), inherits_from=("PARENT",))
    found = the_decision(fold([PARENT, child]), child, "D009")
    assert (found.decision, found.status) == ("no longer in force", DecisionStatus.ACTIVE)


def test_a_column_of_what_is_now_says_the_state() -> None:
    table = "| ID | Was | Now | Reason |\n|--|--|--|--|\n| D001 | active | **withdrawn** | too slow |\n"
    [record] = read_archive(f"{HEAD}## Changed\n\n{table}").decisions
    assert (record.text, record.status, record.scope, record.rationale) == (
        "",
        DecisionStatus.INVALIDATED,
        Scope.INHERITED,
        "too slow",
    )


def test_a_sentence_about_a_parent_s_record_is_its_state() -> None:
    lines = "## What changed\n- T001 \u2192 closed: finance\n- D001 is no longer valid: the budget was cut.\n"
    read = read_archive(HEAD + lines)
    assert [(each.local_id, each.text) for each in read.updates] == [
        ("D001", "is no longer valid: the budget was cut."),
    ]
    [closed] = read.threads
    assert (closed.status, closed.resolution) == (ThreadStatus.RESOLVED, "finance")


E_PARENT = archive(
    "PARENT",
    "2026-03-01",
    decision("E1", "Count by hand"),
    decision("E2", "Survey on foot"),
    thread("F1", "Who comes?"),
)


def test_what_became_of_a_parent_s_records_is_known_by_their_ids_alone() -> None:
    lines = "- **E2** superseded by E3\n- **F1** resolved: the ranger\n- **E3** (active): Survey by drone.\n"
    text = read_archive(f"# A\n\nParent: PARENT_1\n\n## Changed\n{lines}")
    assert [each.local_id for each in text.updates] == ["E2", "F1"]
    child = archive(
        "CHILD",
        "2026-04-01",
        decision("E3", "Survey by drone"),
        updates=text.updates,
        inherits_from=("PARENT",),
    )
    found = fold([E_PARENT, child])
    old, new = the_decision(found, E_PARENT, "E2"), the_decision(found, child, "E3")
    assert (old.status, old.superseded_by, new.status) == (
        DecisionStatus.SUPERSEDED,
        new.id,
        DecisionStatus.ACTIVE,
    )
    asked = the_thread(found, E_PARENT, "F1")
    assert (asked.status, asked.resolution) == (ThreadStatus.RESOLVED, "the ranger")


def test_unknown_words_behind_a_label_are_read_by_their_meaning() -> None:
    text = "## Decisions\n\n### D001: Use rows\n- Status: voted down by the board\n"
    assert [d.status for d in read_archive(text).decisions] == [DecisionStatus.INVALIDATED]


def test_new_words_behind_a_state_are_a_new_version() -> None:
    table = "| ID | Text | State |\n|--|--|--|\n| D001 | Use rows | Revised: Use columns for reports |\n"
    [record] = read_archive(f"{HEAD}{table}").decisions
    assert (record.text, record.status, record.revises) == (
        "Use columns for reports",
        DecisionStatus.ACTIVE,
        ("D001",),
    )
    assert record.context.splitlines()[-1] == "Was: Use rows"


def test_ids_alone_below_a_state_are_in_it() -> None:
    read = read_archive(f"{HEAD}## Still in force, unchanged\nD001, D002\n")
    assert [(each.local_id, each.text) for each in read.updates] == [
        ("D001", "Still in force, unchanged"),
        ("D002", "Still in force, unchanged"),
    ]


def test_what_was_overturned_by_another_has_a_successor() -> None:
    lines = "### D1: Yearly billing\n- Status: overturned by D2\n\n### D2: Monthly billing\n"
    first, _ = read_archive(f"## Decisions\n\n{lines}").decisions
    assert (first.status, first.superseded_by) == (DecisionStatus.SUPERSEDED, "D2")


@pytest.mark.parametrize(("said", "tier"), [("50/50", 0.5), ("85", 0.85), ("4/5", 0.8)])
def test_shares_without_a_sign(said: str, tier: float) -> None:
    [record] = read_archive(f"## Decisions\n\n### D1: Retain her\n- Confidence: {said}\n").decisions
    assert record.tier == tier
