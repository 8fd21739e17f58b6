"""What later archives say of a parent's records in a few words, and unknown words of states."""

from __future__ import annotations

import pytest
from fold_archives import archive, decision, the_decision, the_thread, thread

from forgekit.archives.claims import rated
from forgekit.archives.fold import fold
from forgekit.archives.read import ImportOptions, identify, read_archive
from forgekit.archives.states import end_noted, meaning_of, new_text
from forgekit.model.entities import Decision, DecisionStatus, Priority, ThreadStatus
from forgekit.model.problem import Severity

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
    read = read_archive(f"{HEAD}## Changed\n\n{table}")
    assert (read.decisions, [(each.local_id, each.text) for each in read.updates]) == (
        (),
        [("D001", "withdrawn: too slow")],
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


def told(*lines: str) -> str:
    return f"{HEAD}## Since then\n" + "".join(f"{line}\n" for line in lines)


def test_several_ids_before_one_state_are_all_in_it() -> None:
    read = read_archive(
        told(
            "D001, D002 and D004 still hold.",
            "\u3010D5\u3011\u306fD7\u306b\u7f6e\u304d\u63db\u3048\u3089\u308c\u305f\u3002",
        )
    )
    assert [(each.local_id, each.text) for each in read.updates] == [
        *((name, "still hold.") for name in ("D001", "D002", "D004")),
        ("D5", "\u306fD7\u306b\u7f6e\u304d\u63db\u3048\u3089\u308c\u305f\u3002"),
    ]


def test_the_state_of_the_next_line_is_not_that_of_a_new_record() -> None:
    read = read_archive(told("- D005 (new, tier 0.4): Print a poster", "- D003: withdrawn"))
    assert [(d.local_id, d.text, d.status) for d in read.decisions] == [
        ("D005", "Print a poster", DecisionStatus.ACTIVE),
        ("D003", "", DecisionStatus.INVALIDATED),
    ]


@pytest.mark.parametrize(
    ("text", "kind", "name", "value"),
    [
        ("goes from medium to high: the film is lost.", "T", "priority", Priority.HIGH),
        ("now has priority low", "T", "priority", Priority.LOW),
        ("moves from Tier 2 to [Tier 1]; the wording stays", "D", "tier", 0.9),
        ("passe du niveau 2 au niveau 1", "D", "tier", 0.9),
    ],
)
def test_a_sentence_may_rate_a_parent_s_record_anew(text: str, kind: str, name: str, value: object) -> None:
    assert rated(text, kind)[name] == value


@pytest.mark.parametrize(
    "text",
    [
        "asks the high school",
        "is at home on level ground",
        "costs 2 more",
        "Who waters the beds? \u00b7 priority high",
    ],
)
def test_other_words_rate_nothing(text: str) -> None:
    assert [rated(text, kind) for kind in "DT"] == [{}, {}]


DATA = """
decisions:
  carried_forward: [D001]
  superseded: [{id: D002, superseded_by: D004, reason: Twelve updates a day}]
  new: [{id: D004, text: Cache the feed for one hour}]
threads:
  closed: [{id: T001, answer: The city}, {id: T002, status: abandoned}]
"""


def test_lists_of_data_by_state_give_it_to_their_records() -> None:
    read = read_archive(f"{HEAD}```yaml{DATA}```\n")
    assert [(d.local_id, d.status, d.superseded_by) for d in read.decisions] == [
        ("D002", DecisionStatus.SUPERSEDED, "D004"),
        ("D004", None, None),
    ]
    assert [(t.local_id, t.status, t.resolution) for t in read.threads] == [
        ("T001", ThreadStatus.RESOLVED, "The city"),
        ("T002", ThreadStatus.ABANDONED, ""),
    ]
    assert [(each.local_id, each.text) for each in read.updates] == [("D001", "carried forward")]


def test_a_colour_and_a_bracket_before_the_words_rate_a_record_of_any_id() -> None:
    lines = "## Decisions\n\n**E1 (level 1)** \u2013 Mow twice a year.\n\n## Open\n\n"
    lines += "\U0001f9f5 **F1** \U0001f534 Who closes the road?\n"
    read = read_archive(f"# A\n\n{lines}")
    assert [(d.local_id, d.tier) for d in read.decisions] == [("E1", 0.9)]
    assert [(t.local_id, t.priority) for t in read.threads] == [("F1", Priority.HIGH)]


def test_labels_in_columns_are_facts_of_the_archive() -> None:
    head = "TITLE      After the ferry\nTABLE      Tom, Lin\nPROJECT    Salt Crown\n"
    head += "PARENT     The first sessions (2025-09-14)\n"
    read = read_archive(f"{head}\n## Decisions\n\n- D1: Magic fails there\n")
    assert (read.project, read.inherits_from) == ("Salt Crown", ("The first sessions (2025-09-14)",))


def test_a_struck_text_with_an_arrow_is_replaced_by_what_it_shows() -> None:
    [record] = read_archive(f"{HEAD}## Decisions\n\n- ~~D003: Show it on the quay~~ \u2192 D004\n").decisions
    assert (record.text, record.status, record.superseded_by) == (
        "Show it on the quay",
        DecisionStatus.SUPERSEDED,
        "D004",
    )


@pytest.mark.parametrize("label", ["Note", "Context", "Remark"])
def test_a_note_below_a_thread_is_kept_in_it(label: str) -> None:
    text = f"## Open Threads\n\n### T003: Who rows?\n- **Status:** open\n- **{label}:** The boat leaks\n"
    assert [t.content for t in read_archive(text).threads] == ["The boat leaks"]


def test_a_definition_may_begin_with_a_field_in_emphasis() -> None:
    terms = "P-2\n: *superseded by* P-7\n: *because* the scheme cannot award it\n"
    read = read_archive(f"{HEAD}## Positions\n\n{terms}")
    assert [each.local_id for each in read.updates] == ["P-2"]
    assert read.updates[0].text.startswith("superseded by: P-7")


@pytest.mark.parametrize(
    ("kind", "text", "end"),
    [
        ("D", "vervallen", "invalidated"),
        ("D", "hinf\u00e4llig", "invalidated"),
        ("T", "answered", "resolved"),
        ("D", "Budget", ""),
        ("D", "desk", ""),
        ("T", "Budget", ""),
    ],
)
def test_a_bracket_of_one_word_says_an_end_only_where_that_is_clear(kind: str, text: str, end: str) -> None:
    assert end_noted(text, kind) == end


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Rejected: a second tank", "a second tank"),
        ("REJECTED \u2013 a second tank", "a second tank"),
        ("Second tank: rejected ones are sold", "Second tank: rejected ones are sold"),
    ],
)
def test_a_state_begins_the_words_of_a_record(title: str, text: str) -> None:
    (decision,) = read_archive(f"## Decisions\n\n### D2: {title}\n- Rationale: no room\n").decisions
    ended = DecisionStatus.INVALIDATED if text != title else None
    assert (decision.text, decision.status) == (text, ended)


def test_a_state_in_a_bracket_names_the_successor_behind_a_comma() -> None:
    lines = (
        "- D4: チェックインは十五時【状態: 廃止、D5に置き換え】【理由: 船】",
        "- D5: チェックインは十六時",
    )
    first, _ = read_archive("## 決定事項\n\n" + "\n".join(lines)).decisions
    assert (first.text, first.superseded_by, first.rationale) == ("チェックインは十五時", "D5", "船")


def test_a_thread_waits_for_a_decision_whatever_its_letter() -> None:
    lines = "## Decisions\n\n### A3: Build a lift\n- Tier: 0.6\n\n## Open questions\n\n"
    (thread,) = read_archive(f"{lines}### Q2: Who pays?\n- Blocked by: A3\n").threads
    assert (thread.blocked_by, thread.waits_for) == ((), ("A3",))


@pytest.mark.parametrize(
    "state",
    ["replaces D1", "supersedes D1", "ersetzt D1", "updates D1", "D1を置き換え", "active (replaces D1)"],
)
def test_a_state_with_an_active_verb_names_what_the_record_replaces(state: str) -> None:
    lines = f"### D1: Paint the gate green\n- Tier: 0.5\n\n### D2: Paint the gate blue\n- Status: {state}\n"
    old, new = read_archive(f"## Decisions\n\n{lines}").decisions
    assert (old.status, new.status, new.revises, new.superseded_by) == (
        None,
        DecisionStatus.ACTIVE,
        ("D1",),
        None,
    )


@pytest.mark.parametrize(
    "field", ['Status: active, replaces "Send the chairs by lorry"', 'Replaces: "Send the chairs by lorry"']
)
def test_a_parent_s_record_may_be_named_by_its_words(field: str) -> None:
    first = archive("ONE", "2026-01-01", decision("D001", "Send the chairs by lorry"))
    text = read_archive(
        f"Continues: ONE\n\n## Decisions\n\n### Sell the chairs\n- {field}\n- Confidence: 0.75\n"
    )
    second = identify("two", text, ImportOptions(), "Ledger"), text
    old = the_decision(fold([first, second]), first, "D001")
    assert (old.status, text.problems[-1].code) == (DecisionStatus.REVISED, "read-from-text")
    assert all(problem.code != "no-reference" for problem in text.problems)


def test_words_that_name_no_record_of_a_parent_are_reported() -> None:
    first = archive("ONE", "2026-01-01", decision("D001", "Send the chairs by lorry"))
    revises = ("the plan of the second week",)
    second = archive(
        "TWO", "2026-02-01", decision("D001", "Sell them", revises=revises), inherits_from=("ONE",)
    )
    (problem,) = fold([first, second]).problems[second[0].id]
    assert problem.message == "no record of its parents is “the plan of the second week”"


def test_words_that_may_name_a_record_of_a_parent_that_is_not_filed_are_no_loss() -> None:
    first = archive("ONE", "2026-01-01", decision("D001", "The plan of the second week"))
    revises = ("the plan of the second week",)
    second = archive(
        "TWO", "2026-02-01", decision("D002", "Sell them", revises=revises), inherits_from=("ONE",)
    )
    problems = fold([second]).problems[second[0].id]
    assert [(each.code, each.severity) for each in problems] == [
        ("parent-not-filed", Severity.INFO),
        ("unknown-reference", Severity.INFO),
    ]
    assert the_decision(fold([second, first]), first, "D001").status is DecisionStatus.REVISED


def test_words_of_an_ancestor_s_record_count_where_a_later_one_has_its_number() -> None:
    one = archive("ONE", "2026-01-01", decision("OD001", "Send the chairs by lorry", number=""))
    two = archive("TWO", "2026-02-01", decision("OD001", "Keep the dog", number=""), inherits_from=("ONE",))
    new = decision("OD001", "Sell the chairs", number="", revises=("Send the chairs by lorry",))
    three = archive("THREE", "2026-03-01", new, inherits_from=("TWO",))
    found = fold([three, one, two])
    assert the_decision(found, one, "OD001").superseded_by == the_decision(found, three, "OD001").id


def test_a_thread_waits_once_for_a_thread_of_a_named_archive() -> None:
    lines = (
        "Continues: FOX_RUN_2\n\n## Threads\n\n- T1: Do we translate it?\n  - Blocked by: T2 of FOX_RUN_2\n"
    )
    (thread,) = read_archive(lines).threads
    assert (thread.blocked_by, thread.waits_for) == (("FOX_RUN_2:T2",), ())
