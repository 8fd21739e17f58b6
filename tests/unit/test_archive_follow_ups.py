"""What follow-up archives state of a parent's records: in tables, data, lists of changes and prose."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fold_archives import archive, decision, the_decision, the_thread, thread

from forgekit.archives.ancestry import ancestry
from forgekit.archives.differences import change_of, is_change
from forgekit.archives.fold import FoldResult, fold
from forgekit.archives.read import ImportOptions, identify, read_archive
from forgekit.model.archive_record import Family, Update
from forgekit.model.entities import Decision, DecisionStatus, Priority, Thread, ThreadStatus
from forgekit.times import UNKNOWN

PARENT = archive(
    "PARENT",
    "2026-03-04",
    decision("E1", "The deposit is 30 euro", tier=0.7, rationale="so that people come", dependencies=("E2",)),
    decision("E2", "Book without an account"),
    decision("E3", "Reminders go out by text message"),
    thread("F1", "Who exports the old list?"),
    thread("F2", "Is the server safe?", priority=Priority.LOW),
)
HEAD = "# Archive\n**Tag:** NEW_TAG\n**Project:** Ledger\n**Date:** 2026-04-01\n**Continues:** PARENT\n\n"


def filed(text: str, head: str = HEAD) -> FoldResult:
    """Return what the parent and a follow-up state, the same in either order of filing."""
    read = read_archive(head + text)
    child = identify(text, read, ImportOptions(), "Ledger"), read
    found, other = fold([PARENT, child]), fold([child, PARENT])
    assert found.entities == other.entities
    return found


def decided(found: FoldResult, local_id: str) -> Decision:
    return the_decision(found, PARENT, local_id)


def asked(found: FoldResult, local_id: str) -> Thread:
    return the_thread(found, PARENT, local_id)


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (
            (("was", "active"), ("now", "**withdrawn**"), ("reason", "too slow")),
            "withdrawn: too slow",
        ),
        ((("war", "-"), ("jetzt", "erledigt"), ("Notiz", "im Mai")), "erledigt: im Mai"),
        ((("was", "open"), ("now", "resolved"), ("answer or note", "it is")), "resolved: it is"),
        ((("was", "-"), ("now", "active"), ("needs", "D2")), "active. needs: D2"),
        ((("field", "confidence"), ("was", "0.7"), ("now", "0.9")), "confidence: 0.9"),
        ((("was", "Pay 30 euro now"), ("now", "Pay 15 euro now")), "revised: Pay 15 euro now"),
        ((("was", "withdrawn"), ("now", "active")), "reinstated: active"),
    ],
)
def test_what_was_and_what_is_now_are_a_sentence(pairs: tuple[tuple[str, str], ...], said: str) -> None:
    assert (is_change(label for label, _ in pairs), change_of(pairs)) == (True, said)


def test_labels_of_which_none_says_what_is_now_are_no_change() -> None:
    assert not is_change(("was", "reason"))
    assert not is_change(("now", "reason"))


def test_a_table_of_was_and_now_changes_a_parent_s_records() -> None:
    found = filed(
        "## What moved\n\n| no. | was | now | reason |\n|---|---|---|---|\n"
        "| E1 | The deposit is 30 euro | The deposit is 15 euro | 30 scared people off |\n"
        "| E2 | active | superseded by E3 | |\n| E3 | active | unchanged | |\n"
        "| F1 | open | resolved | typed in by hand |\n| F2 | open, low | open, high | |\n"
    )
    revised = decided(found, "E1")
    new = next(e for e in found.entities.values() if isinstance(e, Decision) and "15 euro" in e.decision)
    assert (revised.status, revised.superseded_by) == (DecisionStatus.REVISED, new.id)
    assert (new.rationale, new.epistemic_tier) == ("30 scared people off", 0.7)
    assert new.dependencies == revised.dependencies
    assert decided(found, "E2").superseded_by == decided(found, "E3").id
    assert decided(found, "E3").status is DecisionStatus.ACTIVE
    closed, still = asked(found, "F1"), asked(found, "F2")
    assert (closed.status, closed.resolution) == (ThreadStatus.RESOLVED, "typed in by hand")
    assert (still.status, still.priority) == (ThreadStatus.OPEN, Priority.HIGH)


def test_entries_of_was_and_now_in_data_change_a_parent_s_records() -> None:
    found = filed(
        "```yaml\nchanges:\n  - id: E1\n    field: confidence\n    was: 0.7\n    now: 0.9\n"
        "  - id: F1\n    was: open\n    now: resolved\n    resolution: by hand\n"
        "added:\n  decisions:\n    - id: E4\n      text: Reminders go out at seven\n"
        "      confidence: 0.5\n```\n"
    )
    assert decided(found, "E1").epistemic_tier == 0.9
    assert asked(found, "F1").resolution == "by hand"
    assert sorted(e.local_id or "" for e in found.entities.values() if isinstance(e, Decision)) == [
        "E1",
        "E2",
        "E3",
        "E4",
    ]


def test_a_line_of_labels_alone_changes_those_fields_and_the_last_dependencies_count() -> None:
    found = filed("E1 needs: E3 now\n\nE2 superseded by E3\n")
    assert decided(found, "E1").dependencies == (decided(found, "E3").id,)
    assert decided(found, "E2").status is DecisionStatus.SUPERSEDED


def test_what_is_in_force_again_keeps_its_words() -> None:
    gone = filed("E3: withdrawn, no money for it.\n")
    assert decided(gone, "E3").status is DecisionStatus.INVALIDATED
    read = read_archive(
        HEAD.replace("NEW_TAG", "LAST_TAG").replace("PARENT", "NEW_TAG").replace("-04-", "-05-")
        + "## Decisions\n- **E3** back in force, after all: Reminders go out by text message\n"
    )
    middle = read_archive(f"{HEAD}E3: withdrawn, no money for it.\n")
    pairs = [
        (identify(str(n), each, ImportOptions(), "Ledger"), each) for n, each in enumerate((middle, read))
    ]
    found = fold([PARENT, *pairs])
    again = decided(found, "E3")
    assert (again.status, again.decision) == (DecisionStatus.ACTIVE, "Reminders go out by text message")


def test_a_thread_in_a_list_of_those_that_are_still_open_has_a_remark() -> None:
    remark = thread("F2", "was low, the vendor is silent", goes_on=True, priority=Priority.HIGH)
    child = archive("CHILD", "2026-04-01", remark, inherits_from=("PARENT",))
    still = asked(fold([PARENT, child]), "F2")
    assert (still.title, still.status, still.priority) == (
        "Is the server safe?",
        ThreadStatus.OPEN,
        Priority.HIGH,
    )


def test_an_update_under_an_id_that_no_parent_has_is_a_record() -> None:
    updates = tuple(
        Update(local_id=name, line=9, text=text)
        for name, text in (("F8", "solved: by hand in the end"), ("F9", "[high] Probe 2 resets at night"))
    )
    child, text = archive("CHILD", "2026-04-01", inherits_from=("PARENT",))
    found = fold([PARENT, (child, replace(text, updates=updates))])
    titles = [e.title for e in found.entities.values() if isinstance(e, Thread)]
    assert sorted(titles) == ["Is the server safe?", "Probe 2 resets at night", "Who exports the old list?"]
    [problem] = found.problems[child.id]
    assert problem.message == "F8 has no words of its own, and no parent has it; it was left out"


def test_a_record_that_no_rule_read_has_the_kind_of_its_series() -> None:
    text = replace(decision("F7", "A film of every season"), family=Family.PROSE)
    child = archive("CHILD", "2026-04-01", text, inherits_from=("PARENT",))
    found = fold([PARENT, child])
    made = next(e for e in found.entities.values() if getattr(e, "local_id", "") == "F7")
    assert (type(made), getattr(made, "title", "")) == (Thread, "A film of every season")


@pytest.mark.parametrize(
    "said",
    ["Following on from the minutes of 2 June.", "Baut auf der \u00dcbergabe vom 02.06. auf."],
)
def test_a_parent_without_a_year_is_found_by_the_day_in_its_first_lines(said: str) -> None:
    first = archive("FIRST", "2026-06-02")[0]
    first = replace(first, compressed_at=UNKNOWN, body="Minutes of Sunday 2 June\n\n1. WHERE WE ARE")
    child = read_archive(f"THE MILL\n{said}\n\nE1: withdrawn.\n")
    last = identify("x", child, ImportOptions(), "Ledger")
    assert ancestry((first, last)).parents[last.id] == (first,)


def test_a_sentence_without_a_day_or_number_describes_no_parent() -> None:
    assert read_archive("THE MILL\nFollowing on from what we said.\n\nE1: Use oak\n").inherits_from == ()


def test_lists_in_data_are_named_by_their_values() -> None:
    [record] = read_archive(
        "```yaml\ndecisions:\n  - id: D1\n    text: Use oak\n  - id: D2\n    text: Oil the oak\n"
        "    recusado: [wax, varnish]\n    steht auf: [D1]\n```\n"
    ).decisions[1:]
    assert (record.alternatives, record.dependencies) == (("wax", "varnish"), ("D1",))


def test_stars_behind_a_text_and_an_arrow_between_them_are_a_tier() -> None:
    [record] = read_archive("## Decisions\n- D1 Eight episodes of an hour. \u2605\u2605\u2605\n").decisions
    assert (record.text, record.tier) == ("Eight episodes of an hour.", 0.6)
    assert (
        decided(filed("E1: \u2605\u2605 \u2192 \u2605\u2605\u2605\u2605 (tested)\n"), "E1").epistemic_tier
        == 0.8
    )


@pytest.mark.parametrize(
    "line", ["\u2605\u2605\u2605\u2605\u2606 \u00b7 **in force**", "\u2605\u2605\u2605\u2605\u2606"]
)
def test_a_line_of_stars_below_a_decision_is_no_heading(line: str) -> None:
    fields = "- *Why:* one admin\n- *Not taken:* NixOS\n"
    [record] = read_archive(
        f"# Box\n\n## Decisions\n\n### D1: Debian on bare metal\n{line}\n{fields}"
    ).decisions
    assert (record.rationale, record.alternatives, record.tier) == ("one admin", ("NixOS",), 0.8)


def test_a_paragraph_below_a_quoted_line_with_an_id_answers_it() -> None:
    found = filed(
        "> E2. Book without an account\n\nReplaced by E3. Nobody could\nchange a booking.\n\n"
        "> F1. Who exports the old list?\n\nSettled: by hand.\n\n"
        "> E1. The deposit is 30 euro\n\nE4: Pay in cash\n"
    )
    assert decided(found, "E2").superseded_by == decided(found, "E3").id
    assert asked(found, "F1").resolution == "by hand."
    assert decided(found, "E1").status is DecisionStatus.ACTIVE


def test_a_rating_in_stars_is_a_tier_behind_its_label() -> None:
    found = filed(
        "- **E1**: certainty down to \u2605\u2605\u2606\u2606\u2606 after the first test. Still in force.\n"
    )
    assert decided(found, "E1").epistemic_tier == 0.4


def test_a_decimal_comma_parts_no_list() -> None:
    [record] = read_archive(
        "## Decisions\n- D1: It is free\n  - Rejected: pay 3,99 once, subscription\n"
    ).decisions
    assert record.alternatives == ("pay 3,99 once", "subscription")


def test_ids_that_go_on_an_own_list_are_records_while_the_parent_is_not_filed() -> None:
    text = f"{HEAD}## Open\n\n- **F5** Who pays for the printing of the leaflets?\n"
    behind = Update(local_id="F6", line=10, text="Wording of the house rules; waits for F5")
    before = Update(local_id="F2", line=11, text="Safety of the new server; waits for F5")
    read = replace(read_archive(text), updates=(before, behind))
    found = fold([(identify(text, read, ImportOptions(), "Ledger"), read)])
    titles = {entity.title for entity in found.entities.values() if isinstance(entity, Thread)}
    assert titles == {"Who pays for the printing of the leaflets?", "Wording of the house rules"}


def test_what_is_withdrawn_and_replaced_by_another_record_is_superseded() -> None:
    old = decision("E1", "Dogs may come on a lead", status=DecisionStatus.INVALIDATED)
    child = archive("ONE", "2026-03-04", old, decision("E2", "Dogs stay outside", revises=("E1",)))
    found = the_decision(fold([child]), child, "E1")
    assert found.status is DecisionStatus.SUPERSEDED
