"""Which archive continues which."""

from __future__ import annotations

from itertools import permutations

from fold_archives import Pair, archive

from forgekit.archives.ancestry import ancestry
from forgekit.model.entities import Archive


def parents(child: Pair, *others: Pair) -> list[Archive]:
    """Return the parents of an archive, nearest first."""
    return list(ancestry(filed for filed, _ in (child, *others)).parents[child[0].id])


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
