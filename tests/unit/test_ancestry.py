"""Which archive continues which."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from fold_archives import Pair, archive

from forgekit.archives.ancestry import ancestry
from forgekit.model.entities import Archive
from forgekit.times import UNKNOWN


def parents(child: Pair, *others: Pair) -> list[Archive]:
    """Return the parents of an archive, nearest first."""
    return list(ancestry(filed for filed, _ in (child, *others)).parents[child[0].id])


def titled(pair: Pair, title: str) -> Pair:
    return replace(pair[0], conversation_title=title), pair[1]


def test_the_parent_of_a_name_is_the_last_that_bore_it_before_the_child() -> None:
    bore = [archive("SAME", f"2026-01-0{day}") for day in (2, 3, 5)]
    child = archive("CHILD", "2026-01-04", inherits_from=("SAME",))
    assert parents(child, *bore) == [bore[1][0]]


def test_the_parent_of_a_name_is_of_the_own_project_before_others() -> None:
    own, other = archive("SAME", "2026-01-02"), archive("SAME", "2026-01-03", project="Nexus")
    child = archive("CHILD", "2026-01-04", inherits_from=("SAME",))
    assert parents(child, own, other) == [own[0]]
    assert parents(child, other) == [other[0]]


def test_a_stretch_that_names_an_earlier_one_of_its_session_follows_no_other() -> None:
    one, two = archive("ONE", "2026-01-02", session_id="s"), archive("TWO", "2026-01-03", session_id="s")
    assert parents(archive("THREE", "2026-01-04", session_id="s"), one, two) == [two[0]]
    named = archive("THREE", "2026-01-04", session_id="s", inherits_from=("ONE",))
    assert parents(named, one, two) == [one[0]]


def test_a_session_of_another_project_is_another_session() -> None:
    other = archive("ONE", "2026-01-02", session_id="s", project="Nexus")
    assert parents(archive("TWO", "2026-01-03", session_id="s"), other) == []


def test_a_cycle_is_cut_at_its_earliest_archive_and_not_at_an_earlier_child() -> None:
    child = archive("X_X", "2026-01-05", inherits_from=("C_ONE",))
    one = archive("C_ONE", "2026-02-05", inherits_from=("C_TWO",))
    two = archive("C_TWO", "2026-02-06", inherits_from=("C_ONE",))
    below = archive("D_ONE", "2026-01-01", inherits_from=("C_TWO", "D_TWO"))
    last = archive("D_TWO", "2026-01-02", inherits_from=("D_ONE",))
    for pairs in permutations([child, one, two, below, last]):
        order = ancestry(filed for filed, _ in pairs).order
        assert [a.compression_tag for a in order] == ["C_ONE", "X_X", "C_TWO", "D_ONE", "D_TWO"]


@pytest.mark.parametrize(
    "words",
    [
        'KIT-1 of 18 January ("the first round")',
        "the archive of 18 January 2026",
        "18 janvier",
        "the kitchen, first round",
        "\u201cfirst round\u201d (2026)",
        "KIT-2, which itself continues KIT-1",
    ],
)
def test_a_parent_is_described_by_its_tag_its_title_or_its_day(words: str) -> None:
    older = titled(archive("KIT-1", "2026-01-18"), "The kitchen, first round")
    near = archive("KIT-2", "2026-02-22", inherits_from=("KIT-1",))
    child = archive("KIT-3", "2026-04-02", inherits_from=(words,))
    meant = near if "KIT-2" in words else older
    assert parents(child, older, near) == [meant[0]]


@pytest.mark.parametrize("words", ["the talk of May", "19 January", "18 January 2025", "kit"])
def test_words_that_describe_no_archive_wait_for_their_parent(words: str) -> None:
    older, child = archive("KIT-1", "2026-01-18"), archive("KIT-3", "2026-04-02", inherits_from=(words,))
    found = ancestry(filed for filed, _ in (older, child))
    assert (found.parents[child[0].id], found.waiting) == ((), ((child[0], words),))


def test_no_later_archive_and_none_of_another_project_is_described() -> None:
    other = archive("OTHER", "2026-01-18", project="Nexus")
    later = archive("LATER", "2026-05-18")
    assert parents(archive("KIT-3", "2026-04-02", inherits_from=("18 January",)), other) == []
    assert parents(archive("KIT-3", "2026-04-02", inherits_from=("18 May",)), later) == []


def test_an_archive_without_a_time_is_described_by_no_day() -> None:
    undated = replace(archive("KIT-1", "2026-01-18")[0], compressed_at=UNKNOWN)
    child = archive("KIT-3", "2026-04-02", inherits_from=("18 January",))[0]
    assert ancestry((undated, child)).parents[child.id] == ()
