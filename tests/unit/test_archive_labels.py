"""What headings and lead-ins say of the records below them."""

from __future__ import annotations

import pytest

from forgekit.archives import reader_version
from forgekit.archives.labels import own_labels
from forgekit.archives.read import read_archive
from forgekit.errors import FormatError
from forgekit.model.entities import DecisionStatus, Priority, ThreadStatus

OPEN, RESOLVED = ThreadStatus.OPEN, ThreadStatus.RESOLVED


@pytest.mark.parametrize(
    ("label", "status"),
    [
        ("## Resolved", RESOLVED),
        ("## Resolved Questions", RESOLVED),
        ("## Completed Threads", RESOLVED),
        ("## Threads Resolved", RESOLVED),
        ("## Threads (Resolved)", RESOLVED),
        ("### Threads \u2014 resolved", RESOLVED),
        ("## Threads that were resolved since March", RESOLVED),
        ("## Resolved and Closed Issues", RESOLVED),
        ("## Answered in this session", RESOLVED),
        ("**Resolved threads:**", RESOLVED),
        ("**Resolved:**", RESOLVED),
        ("- **Resolved threads:**", RESOLVED),
        ("Resolved threads:", RESOLVED),
        ("## Superseded Threads", ThreadStatus.SUPERSEDED),
        ("## Dropped", ThreadStatus.ABANDONED),
        ("## Open Threads (2 resolved)", OPEN),
        ("## Pending Questions", OPEN),
        ("**Open threads requiring resolution:**", OPEN),
        ("## Threads to be resolved", OPEN),
        ("## Threads not yet resolved", OPEN),
        ("## Open Questions Resolved By Later Work", None),
        ("## Resolved and Open Threads", None),
        ("## Partly Resolved Threads", None),
        ("## Threads: resolved?", None),
        ("## Closed Beta", None),
        ("## Completed Work", None),
        ("## What Was Done", None),
        ("## Threads", None),
        ("## Superseded Decisions", None),
        ("We closed these issues:", None),
    ],
)
def test_the_words_of_a_label_say_how_threads_stand(label: str, status: ThreadStatus | None) -> None:
    read = read_archive(f"# Conversation Archive: x\n\n{label}\n- T003: Which language?\n")
    assert [(t.title, t.status) for t in read.threads] == [("Which language?", status)]


@pytest.mark.parametrize(
    ("label", "status"),
    [
        ("## Superseded Decisions", DecisionStatus.SUPERSEDED),
        ("## Decisions (Superseded)", DecisionStatus.SUPERSEDED),
        ("**Withdrawn decisions:**", DecisionStatus.INVALIDATED),
        ("## Invalidated", DecisionStatus.INVALIDATED),
        ("## Current and Superseded Decisions", None),
        ("## Decisions not superseded", None),
        ("## Resolved", None),
        ("## Decisions", None),
    ],
)
def test_the_words_of_a_label_say_how_decisions_stand(label: str, status: DecisionStatus | None) -> None:
    read = read_archive(f"# Conversation Archive: x\n\n{label}\n- D003: Use SOAP\n")
    assert [(d.text, d.status) for d in read.decisions] == [("Use SOAP", status)]


def test_the_nearest_label_wins_and_a_mark_on_the_line_over_it() -> None:
    read = read_archive(
        "# Notes\n\n## Resolved Threads\n- T001: Which host?\n- T002: Which port? [OPEN]\n\n"
        "**Open threads:**\n- T003: Which salt?\n- T004: Which hash? \u2014 RESOLVED: SHA-256\n\n"
        "### Of the last month\n- T005: Which key?\n\n"
        "**Notes:**\n- T006: Which door?\n\n"
        "### T007: Which lock?\n- **Priority:** high\n\n**Open threads:**\n- T008: Which wall?\n\n"
        "## Threads\n- T009: Which roof?\n"
    )
    assert {thread.local_id: thread.status for thread in read.threads} == {
        "T001": RESOLVED,
        "T002": OPEN,
        "T003": OPEN,
        "T004": RESOLVED,
        "T005": RESOLVED,
        "T006": RESOLVED,
        "T007": RESOLVED,
        "T008": OPEN,
        "T009": None,
    }


def test_a_lead_in_that_says_nothing_ends_the_one_before() -> None:
    read = read_archive(
        "**Resolved threads:**\n- T001: Which host?\n\n**Also on our list:**\n- T002: Which port?\n"
    )
    assert [thread.status for thread in read.threads] == [RESOLVED, None]


OWN = (("rationale", ("Blick",)), ("priority", ("Gron",)), ("project", ("Zork",)))


def test_labels_of_a_registry_name_fields_while_its_archives_are_read() -> None:
    text = (
        "# Archive\n\nZork: 4711\n\n### D001: We take NATS\n- Blick: it is small\n\n"
        "### T001: Which region?\n- Gron: low\n"
    )
    found = read_archive(text, OWN)
    assert (found.project, found.decisions[0].rationale) == ("4711", "it is small")
    assert found.threads[0].priority is Priority.LOW
    assert read_archive(text).project is None
    assert len({reader_version(), reader_version(OWN), reader_version(OWN[:2])}) == 3


def test_a_label_of_no_field_is_named() -> None:
    with (
        pytest.raises(FormatError, match=r"^forgekit\.toml: labels: cause: no field of archives; known are "),
        own_labels((("cause", ("Blick",)),)),
    ):
        pass


KOREAN = """## 결정

### D1. 책을 여객선에 싣는다
| 항목 | 내용 |
|---|---|
| 근거 | 길이 없다 |
| 확신도 | 4/5 |
| 기각한 대안 | 버스; 드론 |
| 의존 | 없음 |
| 상태 | 유효 |
"""
POLISH = """## Decyzje

### D1. 책을 여객선에 싣는다
- Powód: 길이 없다
- Pewność: 80%
- Odrzucone: 버스; 드론
- Zależności: brak
- Stan: obowiązuje
"""


@pytest.mark.parametrize("text", [KOREAN, POLISH])
def test_labels_of_languages_that_the_tagger_has_not_met_are_read(text: str) -> None:
    [decision] = read_archive(text).decisions
    assert (decision.text, decision.rationale, decision.tier) == ("책을 여객선에 싣는다", "길이 없다", 0.8)
    assert (decision.alternatives, decision.dependencies) == (("버스", "드론"), ())
    assert decision.status is DecisionStatus.ACTIVE
