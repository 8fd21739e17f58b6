"""Changes to the registry that follow from a fold."""

from __future__ import annotations

from dataclasses import replace

from sample_entities import A, conflict, decision

from forgekit.archives.changes import ChangeSet, rename, settle
from forgekit.archives.fold import FoldResult
from forgekit.ids import EntityId, conversation_id, decision_id, pair_id, project_id
from forgekit.model.entities import Compression, ConflictStatus, DecisionStatus, Lineage
from forgekit.model.registry import Registry
from forgekit.times import Instant

PROJECT = project_id("Ledger")
ONE, TWO = (conversation_id(PROJECT, name, Instant(1_700_000_000_000)) for name in ("one", "two"))

CHILD, PARENT, OTHER = (decision(text, A) for text in ("Rows, carried", "Rows", "Tables"))


def decided(text: str) -> EntityId:
    return decision_id(PROJECT, text, ONE, Instant(1_700_000_000_000))


def test_two_decisions_that_turn_out_to_be_one_stand_once_in_an_edge() -> None:
    a, b, parent = decided("Rows in a table"), decided("A table of rows"), decided("Keep rows in a table")
    edge = Lineage(
        lineage_id=pair_id(ONE, TWO),
        source_conversation_id=ONE,
        target_conversation_id=TWO,
        project_name="Ledger",
        project_uuid=PROJECT,
        compressions=(Compression(compression_tag="HAND_MADE", decisions_carried=(("", a), ("", b))),),
    )
    moved = rename(edge, {a: parent, b: parent})
    assert isinstance(moved, Lineage)
    assert moved.compressions[0].decisions_carried == (("", parent),)


def test_a_decision_that_turns_out_to_be_its_own_successor_is_in_force_and_says_no_end() -> None:
    body = "## Rationale\n\nWhy."
    ended = replace(
        CHILD,
        status=DecisionStatus.SUPERSEDED,
        superseded_by=OTHER.id,
        body=f"{body}\n\n## Superseded\n\nRows won.",
    )
    moved = rename(ended, {CHILD.id: PARENT.id, OTHER.id: PARENT.id})
    assert moved == replace(CHILD, decision_id=PARENT.id, body=body)


def test_a_decision_never_rests_on_itself_once_what_it_rests_on_is_the_same() -> None:
    apart = decision("Keep backups", A)
    resting = replace(CHILD, dependencies=tuple(sorted((OTHER.id, apart.id))))
    moved = rename(resting, {CHILD.id: PARENT.id, OTHER.id: PARENT.id})
    assert moved == replace(CHILD, decision_id=PARENT.id, dependencies=(apart.id,))


def test_a_decision_that_takes_the_id_of_its_successor_or_its_base_leads_to_itself_nowhere() -> None:
    ended = replace(CHILD, status=DecisionStatus.SUPERSEDED, superseded_by=PARENT.id)
    assert rename(ended, {CHILD.id: PARENT.id}) == replace(CHILD, decision_id=PARENT.id)
    resting = replace(CHILD, dependencies=(PARENT.id,))
    assert rename(resting, {CHILD.id: PARENT.id}) == replace(CHILD, decision_id=PARENT.id)


def test_the_side_that_a_conflict_kept_moves_with_its_decision() -> None:
    answered = conflict(CHILD, OTHER, status=ConflictStatus.RESOLVED, kept=CHILD.id, reason="rows")
    moved = conflict(PARENT, OTHER, status=ConflictStatus.RESOLVED, kept=PARENT.id, reason="rows")
    assert rename(answered, {CHILD.id: PARENT.id}) == moved


def test_what_no_archive_says_any_more_goes_and_takes_no_other_id() -> None:
    before = FoldResult({CHILD.id: CHILD}, {(A.id, "D001"): CHILD.id})
    assert settle(before, FoldResult(), Registry.of([CHILD])) == ChangeSet((), (CHILD,), {}, ())


def test_what_people_registered_follows_a_decision_that_takes_another_id() -> None:
    mention = (A.id, "D001")
    own = replace(OTHER, dependencies=(CHILD.id,))
    before, after = (
        FoldResult({CHILD.id: CHILD}, {mention: CHILD.id}),
        FoldResult({PARENT.id: PARENT}, {mention: PARENT.id}),
    )
    found = settle(before, after, Registry.of([CHILD, own]))
    assert found.renamed == {CHILD.id: PARENT.id}
    assert found.deletes == (CHILD,)
    assert found.writes[1:] == (replace(own, dependencies=(PARENT.id,)),)
