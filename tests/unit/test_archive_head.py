"""The head of an archive: what it says of itself before its first section."""

from __future__ import annotations

import pytest

from forgekit.archives.read import read_archive
from forgekit.times import parse_instant

TITLE = "# Conversation Archive: broker choice\n\n"


@pytest.mark.parametrize(
    ("line", "parents"),
    [
        ("**Continues:** `NEXUS_START`", ("NEXUS_START",)),
        ("**Inherits From:** NEXUS_START, NEXUS_B (the other)", ("NEXUS_START", "NEXUS_B")),
        ("- **Parent:** NEXUS_START", ("NEXUS_START",)),
        ("**Parent:**\n  - NEXUS_START\n  - NEXUS_B", ("NEXUS_START", "NEXUS_B")),
        ("Continues: NEXUS_START", ("NEXUS_START",)),
        ("**Parent:** none", ()),
        ("We talked.\n\nContinues: NEXUS_START", ("NEXUS_START",)),
        ("Continues: pm-3 and pm-2b", ("pm-3", "pm-2b")),
        ("Continues pm-3 and `pm-2b`. Compressed in May.", ("pm-3", "pm-2b")),
        ("## Notes\n**Parent:** NEXUS_START", ("NEXUS_START",)),
        ("## Metadata\n- Parent: NEXUS_START", ("NEXUS_START",)),
    ],
)
def test_what_an_archive_continues_may_be_said_in_several_words(line: str, parents: tuple[str, ...]) -> None:
    read = read_archive(f"{TITLE}**Date:** 2026-10-03\n{line}\n\n- T001: Which cloud?\n")
    assert read.inherits_from == parents
    assert read.problems == ()


def test_a_record_names_no_parent_of_the_archive() -> None:
    read = read_archive(f"{TITLE}- D001: Use NATS\n  - **Parent:** NEXUS_START\n")
    assert read.inherits_from == ()
    assert [d.context for d in read.decisions] == ["- Parent: NEXUS_START"]
    assert [(problem.code, problem.line) for problem in read.problems] == [("unknown-label", 3)]


def test_a_parent_that_is_no_tag_is_kept_as_it_is_described() -> None:
    read = read_archive(f"{TITLE}**Continues:** the talk of May, discussion\n")
    assert (read.inherits_from, read.problems) == (("the talk of May, discussion",), ())
    quoted = read_archive(f'{TITLE}*Of 5 May. Continues "Keys, first round" of March.*\n')
    assert quoted.inherits_from == ("Keys, first round",)


@pytest.mark.parametrize(
    "value", ["none", "none, the first one", "— (first archive)", "\u306a\u3057\uff08\u6700\u521d\uff09"]
)
def test_no_parent_is_none_with_a_remark_behind_it_too(value: str) -> None:
    assert read_archive(f"{TITLE}**Parent:** {value}\n").inherits_from == ()


@pytest.mark.parametrize(
    ("value", "project"),
    [
        ("St. Mary's Hall", "St. Mary's Hall"),
        ("Lamb & Co. Bakery", "Lamb & Co. Bakery"),
        ("Dr. No; phase 2", "Dr. No; phase 2"),
        ("Nexus. We met on 3 May and talked about keys.", "Nexus"),
        ("Nexus; kept by Ann and Bo. Tag: NEXUS_A", "Nexus"),
        ("Nexus \u00b7 round 2", "Nexus"),
    ],
)
def test_the_name_of_a_project_may_have_a_stop_in_it(value: str, project: str) -> None:
    assert read_archive(f"{TITLE}Project: {value}\n\n- D001: Use NATS\n").project == project


def test_a_mapping_of_facts_in_data_is_about_the_archive_whatever_its_key() -> None:
    data = (
        '{"info": {"title": "Keys: round 2", "tag": "keys-2", "project": "Nexus"}, "decisions": ["Use NATS"]}'
    )
    read = read_archive(data)
    assert (read.title, read.tag, read.project) == ("Keys: round 2", "keys-2", "Nexus")


def test_plain_lines_of_the_first_block_are_metadata() -> None:
    head = (
        "Project: Nexus\nTag: NEXUS_BROKER\n\nDate: 2026-10-03\nParticipants: a, b\nInherited From: NEXUS_A\n"
    )
    read = read_archive(f"{TITLE}{head}\nWe met.\n\nTag: OTHER_TAG\n\n## Notes\nProject: Another\n")
    assert (read.project, read.tag, read.created, read.inherits_from) == (
        "Nexus",
        "NEXUS_BROKER",
        parse_instant("2026-10-03"),
        ("NEXUS_A",),
    )
    assert read.problems == ()


@pytest.mark.parametrize(
    ("names", "tag", "parents"),
    [
        ("this is PHC/26/03 | prev PHC/26/02", "PHC/26/03", ("PHC/26/02",)),
        ("treaty SHED-III, the one before it SHED-II", "SHED-III", ("SHED-II",)),
        ("filed as BOAT_SHED_XIV; before it BOAT_SHED_XIII", "BOAT_SHED_XIV", ("BOAT_SHED_XIII",)),
    ],
)
def test_two_names_that_count_one_up_are_the_tag_and_the_parent(
    names: str, tag: str, parents: tuple[str, ...]
) -> None:
    read = read_archive(f"Boat shed, {names}\n\nWe keep the roof.\n")
    assert (read.tag, read.inherits_from) == (tag, parents)


def test_a_line_above_a_fence_around_an_archive_is_its_head() -> None:
    read = read_archive("shed-02, child of shed-01\n\n```\nD-1: The roof stays\nD-2: No paint\n```\n")
    assert (read.tag, read.inherits_from, len(read.decisions)) == ("shed-02", ("shed-01",), 2)


def test_names_that_are_continued_may_stand_in_a_sentence() -> None:
    read = read_archive(
        "Boat shed, 2 May. Takes up where the talk of 3 April ended.\n\n- D1: The roof stays\n"
    )
    assert [name for name in read.inherits_from if "3 April" in name] == list(read.inherits_from) != []


def test_that_nothing_is_continued_is_believed_where_a_label_says_so() -> None:
    text = "# Boat shed\n\nParent: none\nGoes on from the talk of 3 April.\n\n- D1: The roof stays\n"
    assert read_archive(text).inherits_from == ()
