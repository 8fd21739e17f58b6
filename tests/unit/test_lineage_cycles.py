"""Cycles of lineage: no edge of one enters the registry, and each is reported."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pytest

from forgekit.archives.ancestry import back_edges
from forgekit.archives.fold import FoldResult, fold
from forgekit.archives.read import ImportOptions, identify, read_archive
from forgekit.checks import CheckInput, no_cycles
from forgekit.ids import EntityId
from forgekit.model.archive_record import ArchiveText
from forgekit.model.entities import Archive, Decision, Lineage, Thread
from forgekit.model.registry import Registry

Pair = tuple[Archive, ArchiveText]


def filed(tag: str, day: int, text: str, parent: str = "none") -> Pair:
    raw = (
        f"# Conversation Archive: {tag}\n\n**Date:** 2026-03-{day:02}\n**Compression Tag:** `{tag}`\n"
        f"**Inherited From:** {parent}\n\n{text}"
    )
    read = read_archive(raw)
    return identify(raw, read, ImportOptions(), "Ledger"), read


def settled(pairs: Sequence[Pair]) -> tuple[FoldResult, list[str]]:
    """Return what the archives say, whatever their order, without a circle; and the problems."""
    said = fold(pairs)
    assert all(fold(order) == said for order in permutations(pairs))
    assert list(no_cycles(Registry.of(said.entities.values()), CheckInput())) == []
    return said, [str(p) for archive, _ in pairs for p in said.problems.get(archive.id, ())]


def titles(said: FoldResult, ids: Sequence[str]) -> list[str]:
    return [said.entities[EntityId(key)].title for key in ids]


def left_out(one: str, verb: str, other: str) -> str:
    fix = "remove one of the references"
    return f"{one} {verb} {other}, which closes a cycle; this reference was left out ({fix})"


RESTS = "### D001: Keys\n- **Dependencies:** D002\n\n### D002: Rows\n- **Dependencies:** D003\n\n"


def test_decisions_that_rest_on_each_other() -> None:
    said, problems = settled([filed("ONE", 1, f"{RESTS}### D003: Files\n- **Dependencies:** D001\n")])
    rests = {e.title: titles(said, e.dependencies) for e in said.entities.values() if isinstance(e, Decision)}
    assert rests == {"Keys": ["Rows"], "Rows": ["Files"], "Files": []}
    assert problems == [f"13: {left_out('D003', 'depends on', 'D001')}"]


def test_what_is_said_later_is_left_out() -> None:
    one = filed("ONE", 1, f"{RESTS}### D003: Files\n")
    two = filed("TWO", 2, "### D003: Files\n- **Dependencies:** D001\n", "ONE")
    said, problems = settled([one, two])
    rests = {e.title: titles(said, e.dependencies) for e in said.entities.values() if isinstance(e, Decision)}
    assert rests == {"Keys": ["Rows"], "Rows": ["Files"], "Files": []}
    assert problems == [f"7: {left_out('D003', 'depends on', 'D001')}"]


def test_threads_that_wait_for_each_other() -> None:
    text = "### T001: Which host?\n- **Blocked By:** T002\n\n### T002: Which port?\n- **Blocked By:** T001\n"
    said, problems = settled([filed("ONE", 1, text)])
    waits = {e.title: titles(said, e.blocked_by) for e in said.entities.values() if isinstance(e, Thread)}
    assert waits == {"Which host?": ["Which port?"], "Which port?": []}
    assert problems == [f"10: {left_out('T002', 'is blocked by', 'T001')}"]


def test_decisions_that_replace_each_other() -> None:
    text = "### D001: Keys\n- **Superseded By:** D002\n\n### D002: Rows\n- **Superseded By:** D001\n"
    said, problems = settled([filed("ONE", 1, text)])
    found = sorted((e for e in said.entities.values() if isinstance(e, Decision)), key=lambda d: d.title)
    keys, rows = found
    assert [(d.title, d.status.value, d.superseded_by) for d in found] == [
        ("Keys", "superseded", rows.id),
        ("Rows", "active", None),
    ]
    names = f"dec_{rows.id[-12:]}", "is replaced by", f"dec_{keys.id[-12:]}"
    assert problems == [f"10: {left_out(*names)}"]


def test_an_end_that_another_has_overtaken_is_in_no_circle() -> None:
    one = filed("ONE", 1, "### D001: Keys\n- **Superseded By:** D002\n\n### D002: Rows\n\n### D003: Files\n")
    two = filed("TWO", 2, "### D001: Keys\n- **Superseded By:** D003\n\n### D003: Files\n", "ONE")
    three = filed("THREE", 3, "### D002: Rows\n- **Superseded By:** D001\n\n### D001: Keys\n", "TWO")
    said, problems = settled([one, two, three])
    successors = {
        e.title: titles(said, [e.superseded_by] if e.superseded_by else [])
        for e in said.entities.values()
        if isinstance(e, Decision)
    }
    assert successors == {"Keys": ["Files"], "Rows": ["Keys"], "Files": []}
    assert problems == []


def test_archives_that_inherit_each_other() -> None:
    said, problems = settled(
        [
            filed("ONE_A", 1, "- D001: Keys\n", "THREE_A"),
            filed("TWO_A", 2, "- D001: Rows\n", "ONE_A"),
            filed("THREE_A", 3, "- D001: Files\n", "TWO_A"),
        ]
    )
    edges = [
        titles(said, (e.source_conversation_id, e.target_conversation_id))
        for e in said.entities.values()
        if isinstance(e, Lineage)
    ]
    assert sorted(edges) == [["ONE_A", "TWO_A"], ["TWO_A", "THREE_A"]]
    assert problems == [left_out("ONE_A", "continues", "THREE_A")]


@pytest.mark.parametrize("ring", [range(20_000), range(20_000, 0, -1)])
def test_a_ring_of_any_size_is_opened_at_once(ring: range) -> None:
    names = [EntityId(f"{number:05}") for number in ring]
    back = back_edges(zip(names, [*names[1:], names[0]], strict=True))
    assert back == {(names[-1], names[0])}
