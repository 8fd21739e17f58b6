"""Lines beside the records of an archive give them fields, by id."""

from __future__ import annotations

import pytest

from forgekit.archives.read import read_archive
from forgekit.model.entities import Priority

RECORDS = """# Archive: SHED_1

## Decisions

- **D1: Tin roof**
- **D2: Two doors**
- **D3: Gravel floor**

## Open threads

- **T1: Who paints?**
- **T2: Who pays?**
"""


def test_a_sentence_of_ids_states_what_a_decision_depends_on() -> None:
    read = read_archive(f"{RECORDS}\n## Notes\n\nD2 rests on D1; D3 depends on D1 and D2.\n")
    assert [d.dependencies or () for d in read.decisions] == [(), ("D1",), ("D1", "D2")]


def test_a_list_below_a_title_that_names_a_field_gives_it() -> None:
    read = read_archive(
        f"{RECORDS}\n## Options we turned down\n\n- For **D1**: felt; slate\n- D2: one door\n"
    )
    assert [d.alternatives or () for d in read.decisions] == [("felt", "slate"), ("one door",), ()]
    assert len(read.decisions) == 3


def test_a_label_before_an_id_names_the_field() -> None:
    read = read_archive(f"{RECORDS}\n## Set aside\n\n- Instead of D3: concrete\n")
    assert [d.alternatives or () for d in read.decisions] == [(), (), ("concrete",)]


def test_a_rating_over_ids_alone_is_theirs() -> None:
    read = read_archive(f"{RECORDS}\n## How sure\n\n- *Very sure:* D1, D3\n- Low: D2, T2\n- High: T1\n")
    assert [d.tier for d in read.decisions] == [0.9, 0.3, 0.9]
    assert [t.priority for t in read.threads] == [Priority.HIGH, Priority.LOW]


def test_a_field_that_a_record_has_stays() -> None:
    text = RECORDS.replace("Tin roof**", "Tin roof** (confidence 0.7)\n  - Alternatives: felt")
    read = read_archive(f"{text}\n## Options we turned down\n\n- For D1: slate\n")
    assert (read.decisions[0].alternatives, read.decisions[0].tier) == (("felt",), 0.7)


def test_a_footnote_is_read_where_its_mark_is() -> None:
    text = (
        RECORDS.replace("Tin roof**", "Tin roof** (confidence 0.7)[^1]")
        + "\n[^1]: Felt rots within five years.\n"
    )
    decision = read_archive(text).decisions[0]
    assert (decision.text, decision.tier) == ("Tin roof", 0.7)
    assert "Felt rots within five years" in f"{decision.rationale} {decision.context}"


NOTES = """\
Decision 1. Fibre tiles without asbestos (confidence high) [1]
   Rejected: metal tiles

Decision 2. Pay in ten parts (confidence medium) [2]

Notes
[1] the town forbids asbestos from 2027
[2] half of the tenants are pensioners
"""


def test_notes_without_the_sign_of_markdown_are_read_where_their_marks_are() -> None:
    read = read_archive(NOTES)
    assert [(d.local_id, d.rationale) for d in read.decisions] == [
        ("Decision 1", "the town forbids asbestos from 2027"),
        ("Decision 2", "half of the tenants are pensioners"),
    ]


def test_records_numbered_in_brackets_are_no_notes() -> None:
    text = "## Decisions\n\n[1] Use a tin roof\n\n[2] Two doors, which rests on [1]\n"
    assert read_archive(text).decisions[0].text == "Use a tin roof"


@pytest.mark.parametrize(
    ("words", "rejected"),
    [
        ("Use tin instead of felt, it is light", ("felt",)),
        ("Zwei Türen statt einer", ("einer",)),
        ("on prend un groupe plutôt qu'un DJ", ("un DJ",)),
        ("Rather than wait", ()),
    ],
)
def test_words_name_the_alternative_that_they_reject(words: str, rejected: tuple[str, ...]) -> None:
    (decision,) = read_archive(f"# Archive: SHED_1\n\n## Decisions\n\n- D1: {words}\n").decisions
    assert (decision.alternatives or ()) == rejected
