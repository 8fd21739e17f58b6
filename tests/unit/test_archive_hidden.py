"""Records that a title, a fence or a neighbour must not hide."""

from __future__ import annotations

import pytest

from forgekit.archives.claims import parse_decision_status
from forgekit.archives.labels import quotes
from forgekit.archives.read import read_archive
from forgekit.model.entities import DecisionStatus, ThreadStatus


@pytest.mark.parametrize(
    "title", ["引き継ぎメモ 企画展", "Previous session: summary", "Sample size", "Earlier chat"]
)
def test_the_title_of_a_whole_text_quotes_nothing(title: str) -> None:
    text = f"# {title}\n\n## Decisions\n\n- D1: Use oak\n\n## Notes\n\nNone.\n"
    assert [d.text for d in read_archive(text).decisions] == ["Use oak"]


@pytest.mark.parametrize(
    "title",
    [
        "Sample size",
        "Format and tone",
        "Examples in chapter two",
        "例外処理",
        "例会の日程",
        "引き継ぎ事項",
        "继承与多态",
        "Template engine",
    ],
)
def test_titles_about_a_subject_quote_nothing(title: str) -> None:
    assert quotes(title) == ""


@pytest.mark.parametrize(
    "title",
    ["Example", "Format of a record", "Template, do not read as content", "Beispiel aus dem Handbuch", "例"],
)
def test_titles_of_examples_quote(title: str) -> None:
    assert quotes(title) == "earlier"


def test_the_last_of_a_list_is_a_record_whatever_its_state() -> None:
    text = """\
_Follows the handoff "GH-2"._

## Open questions

- **Q1** (high): What does a valve do when its probe reads zero?
- **Q2** (low): Is the display worth keeping?
- **Q3** (resolved): Is the rail stable with both pumps on? Answer: yes.
"""
    assert [t.local_id for t in read_archive(text).threads] == ["Q1", "Q2", "Q3"]


def test_a_fenced_diff_of_code_is_no_record() -> None:
    text = "# Patch\n\n## Decisions\n\n- D1: Use oak\n\n```diff\n+ x = D2\n- y = D3\n```\n"
    assert [d.local_id for d in read_archive(text).decisions] == ["D1"]


def test_the_option_that_was_chosen_is_no_alternative() -> None:
    text = """\
## ADR-0012: Check signed tickets on the device

**Status:** Accepted

### Decision
The scanner verifies a signature without any network.

### Considered options
- Signed tickets (chosen)
- Satellite uplink
"""
    (decision,) = read_archive(text).decisions
    assert (decision.text, decision.alternatives) == (
        "The scanner verifies a signature without any network.",
        ("Satellite uplink",),
    )


LETTERED = """\
**SAP-2.** The study is a crossover with a washout of one week.

(a) *Rationale.* Nurses differ from each other.

(b) *Alternatives.* Parallel groups; two arms.

(c) *Depends on.* SAP-1

**SAP-1.** The outcome is the number of lapses.

(a) *Rationale.* Earlier studies report it.
"""


def test_labels_behind_letters_are_those_of_the_record_above() -> None:
    found = {d.local_id: d for d in read_archive(f"# Plan\n\n## Decisions\n\n{LETTERED}").decisions}
    assert (found["SAP-2"].dependencies, found["SAP-2"].alternatives) == (
        ("SAP-1",),
        ("Parallel groups", "two arms"),
    )


def test_items_below_a_label_are_its_values_whatever_they_hold() -> None:
    text = """\
# Refit

## Decisions

#### HULL-1 \u00b7 Ribs
- **Decision:** All nine cracked ribs are replaced in green oak.
- **Considered and set aside:**
    - *Sistered ribs*: quick, but the very fault that is being repaired
    - *Laminated ribs*: strong
"""
    (decision,) = read_archive(text).decisions
    assert decision.alternatives == (
        "Sistered ribs: quick, but the very fault that is being repaired",
        "Laminated ribs: strong",
    )


def test_words_under_a_label_that_may_name_an_id_are_kept() -> None:
    text = """\
decisions:
  - id: D1
    nr: Use oak for the door
    why: it lasts
"""
    (decision,) = read_archive(text).decisions
    assert (decision.local_id, decision.text) == ("D1", "Use oak for the door")


def test_data_of_threads_under_the_name_of_a_state_are_open_unless_they_are_answered() -> None:
    text = """\
pending:
  - title: Who keeps the key?
  - title: Does the wall leak?
    result: mended in May
"""
    found = read_archive(text).threads
    assert [(t.title, t.status) for t in found] == [
        ("Who keeps the key?", ThreadStatus.OPEN),
        ("Does the wall leak?", ThreadStatus.RESOLVED),
    ]


def test_an_id_may_stand_within_the_word_of_a_state() -> None:
    assert parse_decision_status("已被J5取代") is DecisionStatus.SUPERSEDED
