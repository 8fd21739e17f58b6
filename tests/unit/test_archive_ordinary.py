"""Ordinary layouts of assistants, each of which once lost a field or a record."""

from __future__ import annotations

import pytest

from forgekit.archives.read import read_archive
from forgekit.model.archive_record import ThreadRecord
from forgekit.model.entities import Priority, ThreadStatus

OPEN, RESOLVED = ThreadStatus.OPEN, ThreadStatus.RESOLVED


def threads_of(items: str) -> tuple[ThreadRecord, ...]:
    """Return the threads of a list below `Open threads`."""
    return read_archive(f"# Archive: SHED_1\n\n## Open threads\n\n{items}\n").threads


def test_what_follows_a_bold_title_and_a_rating_is_no_title() -> None:
    (thread,) = threads_of("- **T-02: Names of the metrics** (low) The labels are not agreed.")
    assert (thread.title, thread.priority) == ("Names of the metrics", Priority.LOW)
    assert thread.content == "The labels are not agreed"


def test_a_wide_gap_parts_a_title_from_its_fields() -> None:
    (thread,) = threads_of("- T2 Mail alerts fail   blocked by: the registrar")
    assert (thread.title, thread.waits_for) == ("Mail alerts fail", ("the registrar",))


@pytest.mark.parametrize(
    ("state", "status", "waits_for", "resolution"),
    [
        ("blocked (waiting for the bank)", OPEN, ("the bank",), ""),
        ("blocked by: the bank", OPEN, ("the bank",), ""),
        ("done on 4 November, in the audit account", RESOLVED, (), "in the audit account"),
    ],
)
def test_a_state_gives_what_it_waits_for_or_how_it_ended(
    state: str, status: ThreadStatus, waits_for: tuple[str, ...], resolution: str
) -> None:
    (thread,) = threads_of(f"| # | Thread | State |\n|---|---|---|\n| T1 | Who holds the logs? | {state} |")
    assert (thread.status, thread.waits_for or (), thread.resolution or "") == (status, waits_for, resolution)


def test_a_priority_in_brackets_behind_an_id_is_no_id() -> None:
    items = ("- OQ-1 [P1] Who signs the build?", "- OQ-2 [P2] Who hosts it?", "- OQ-3 [P3] Who pays for it?")
    found = threads_of("\n".join(items))
    assert [thread.local_id for thread in found] == ["OQ-1", "OQ-2", "OQ-3"]


def test_what_a_revised_decision_was_does_not_replace_its_words() -> None:
    record = "### D-04: Retry at most 5 times\n- **Status:** Revised - was 12\n"
    (decision,) = read_archive(f"# Archive: SHED_1\n\n## Decisions\n\n{record}").decisions
    assert decision.text == "Retry at most 5 times"


def test_labels_of_fields_are_no_records() -> None:
    text = """#### 2. Key Decisions

*   **Model choice**
    *   **Decision:** Fit a linear mixed model with a random intercept per participant.
    *   **Why:** Nights are nested in people and about 9% of nights are missing.
    *   **Rejected:** Repeated-measures ANOVA (drops everyone with a missing night), averaging per person.
*   **Outcome variable**
    *   **Decision:** Sleep efficiency is the primary outcome; total sleep time moves to the appendix.
    *   **Why:** The preregistration names efficiency first.
"""
    read = read_archive(text).decisions
    first, second = read[0], read[-1]
    assert {decision.text[:5] for decision in read} == {"Fit a", "Sleep"}
    assert first.rationale == "Nights are nested in people and about 9% of nights are missing."
    assert len(first.alternatives or ()) == 2
    assert second.rationale == "The preregistration names efficiency first."


def test_own_ids_are_no_parents() -> None:
    text = (
        "# Archive: SHED_1\n\n## Decisions\n\n**DEC_01 - Tin roof**\n\n"
        "**DEC_02 - Two doors**\n(follows from DEC_01)\n"
    )
    assert read_archive(text).inherits_from == ()


def test_a_parent_in_quotes_has_its_name_alone() -> None:
    head = "# Beete\n\n*Knüpft an das Archiv „Lindenhof 1“ an (Pacht, Wahl).*\n"
    assert read_archive(f"{head}\n## Entscheidungen\n\n- D1: Verlosen\n").inherits_from == ("Lindenhof 1",)


def test_an_answer_behind_a_question_is_its_resolution() -> None:
    text = "# Archive: SHED_1\n\n## Resolved\n\n- T1: Ask the insurer? → Yes, done on 2 April, 310 a year.\n"
    (thread,) = read_archive(text).threads
    assert (thread.status, thread.resolution) == (RESOLVED, "Yes, done on 2 April, 310 a year.")


TITLED = """# Handover: retries

archive id: PR-2025-17

In one breath: retries moved to the queue worker (K1), the back-off is exponential (K3).

## K1 - Retries move out of the handler
Settled on: retries run in the queue worker, never in the request handler
Grounds: handlers timed out at 30 s during the outage
Trust: 0.9

## K2 - Fixed back-off
Settled on: wait ten seconds between attempts
Grounds: simplest thing that could work
Trust: 0.4

## K3 - Growing back-off
Settled on: exponential back-off with jitter, capped at fifteen minutes
Grounds: the fixed wait hammered the bank
Trust: 0.8
"""


def test_a_label_below_titles_with_ids_has_the_words_and_mentions_are_no_records() -> None:
    found = read_archive(TITLED).decisions
    assert [(decision.local_id, decision.text[:12]) for decision in found] == [
        ("K1", "retries run "),
        ("K2", "wait ten sec"),
        ("K3", "exponential "),
    ]
    assert [decision.tier for decision in found] == [0.9, 0.4, 0.8]


def test_a_template_in_a_fence_is_no_record_where_all_ids_are_unknown() -> None:
    template = "## Template\n\n```\n## K9 - Title\nSettled on: one sentence\nTrust: 0.5\n```\n"
    assert read_archive(f"{TITLED}\n{template}").decisions == read_archive(TITLED).decisions
