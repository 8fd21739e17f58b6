"""From what the archives said to what the files must say."""

from __future__ import annotations

from forgekit.ids import EntityId, conversation_id, decision_id, pair_id, project_id
from forgekit.model.lineage import Compression, Lineage
from forgekit.policy.settling import rename
from forgekit.times import Instant

PROJECT = project_id("Ledger")
ONE, TWO = (conversation_id(PROJECT, name, Instant(1_700_000_000_000)) for name in ("one", "two"))


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
