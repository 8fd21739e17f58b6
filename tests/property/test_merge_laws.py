"""What a three-way merge owes to both sides."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, cast

import pytest
import strategies as s
from guarantees import Level, Report
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

from forgekit.merge.merge import Merged, merge, merge_file, reconcile
from forgekit.model.entities import Entity, known_fields
from forgekit.model.kinds import Kind
from forgekit.model.rules import parts
from forgekit.text import codec

KINDS = pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.value)
GROUPS = (*s.TOGETHER, ("project_name", "project_uuid"))
SETS = {
    "tags",
    "conversation_ids",
    "dependencies",
    "blocked_by",
    "alternatives_rejected",
    "governs",
    "evidence",
    "scope",
    "sessions_seen",
    "cited_in",
    "inherits_from",
    "continues",
    "brought",
    "archived_as",
    "note_ids",
}
RECORD = "## Conflicting edits"


def bytes_of(entity: Entity | None) -> bytes | None:
    return None if entity is None else codec.dumps(entity).encode()


def merged_bytes(base: Entity | None, ours: Entity, theirs: Entity) -> bytes:
    data = merge_file(ours.kind, ours.id, bytes_of(base), bytes_of(ours), bytes_of(theirs)).data
    assert data is not None
    return data


Law = Callable[[], None]


def runs(level: Level, c: int, n: int) -> Callable[[Law], Law]:
    """Return the settings of a law at the level in force."""
    own = settings(max_examples=level.pick(c, n), derandomize=not level.soak, report_multiple_bugs=False)

    def made(test: Law) -> Law:
        return seed(level.seed)(own(test)) if level.soak else own(test)

    return made


@KINDS
def test_laws(kind: Kind, level: Level, guarantee: Report) -> None:
    tried = 0

    @runs(level, 290, 7_150)
    @given(data=st.data())
    def law(data: st.DataObject) -> None:
        nonlocal tried
        tried += 1
        first, ours, theirs = data.draw(s.states(kind, 3))
        base = None if data.draw(st.integers(0, 7)) == 7 else first
        one_side_or_both_alike(base, ours)
        swapped_and_again(base, ours, theirs)
        without_conflict_as_in_place(base, ours, theirs)
        one_sided_values_are_in_the_result(base, ours, theirs)
        no_value_is_lost(base, ours, theirs)

    law()
    guarantee("G8", f"laws of the merge of a {kind.value}", f"{tried:,} random merges, 0 broken")


def one_side_or_both_alike(base: Entity | None, side: Entity) -> None:
    for one, other in ((side, side), (base, side), (side, base)):
        assert reconcile(base, one, other) == Merged(entity=side)
        assert merge(base, one, other) == Merged(entity=side)
        assert merge_file(
            side.kind, side.id, bytes_of(base), bytes_of(one), bytes_of(other)
        ).data == bytes_of(side)


def swapped_and_again(base: Entity | None, ours: Entity, theirs: Entity) -> None:
    data = merged_bytes(base, ours, theirs)
    assert merged_bytes(base, theirs, ours) == data
    assert reconcile(base, theirs, ours) == reconcile(base, ours, theirs)
    entity = codec.loads(ours.kind, data.decode())
    assert codec.dumps(entity) == data.decode()
    assert merged_bytes(base, entity, theirs) == data
    assert merged_bytes(base, ours, entity) == data


def without_conflict_as_in_place(base: Entity | None, ours: Entity, theirs: Entity) -> None:
    there, here = reconcile(base, ours, theirs), merge(base, ours, theirs)
    assert {c.field for c in there.conflicts} == {c.field for c in here.conflicts}
    assert there.entity is not None
    if not here.conflicts:
        assert there == here
    for conflict in here.conflicts:
        assert conflict.winner != conflict.loser


def fields_of(entity: Entity | None) -> dict[str, Any]:
    return codec.to_fields(entity) if entity is not None else {}


def one_sided_values_are_in_the_result(base: Entity | None, ours: Entity, theirs: Entity) -> None:
    was, here, there = fields_of(base), fields_of(ours), fields_of(theirs)
    now = fields_of(codec.loads(ours.kind, merged_bytes(base, ours, theirs).decode()))
    for key in was.keys() | here.keys() | there.keys():
        group = next((names for names in GROUPS if key in names), (key,))
        if (ours.kind is Kind.ARCHIVE and "body" in group) or (
            ours.kind is Kind.TRANSCRIPT and key == "turn_range"
        ):
            continue  # goes with its text
        old, a, b = ([side.get(name) for name in group] for side in (was, here, there))
        if old in (a, b):
            assert now.get(key) == (there if a == old else here).get(key), key


def no_value_is_lost(base: Entity | None, ours: Entity, theirs: Entity) -> None:
    merged = reconcile(base, ours, theirs)
    text = merged_bytes(base, ours, theirs).decode()
    result = codec.loads(ours.kind, text)
    was, now = fields_of(base), fields_of(result)
    overridden = {found.field for found in merged.overridden}
    told = "\n".join(cast("list[str]", result.extra.get("conflicting_edits", [])))
    if not ours.kind.quoted:
        told = result.body.partition(RECORD)[2]
    for side, other in ((ours, theirs), (theirs, ours)):
        lines = codec.field_texts(side)
        there = fields_of(other)
        removed_there = {key: set(was[key]) - set(there.get(key) or ()) for key in SETS & was.keys()}
        for key, value in codec.to_fields(side).items():
            if value == was.get(key) or value == now.get(key) or key in overridden:
                continue
            if key in SETS and hasattr(side, key):
                assert set(value) <= set(now.get(key, ())) | removed_there.get(key, set()), key
            elif key in {"records", "compressions"} and hasattr(side, key):
                for name, leaf in leaves(key, value):
                    known = {*leaves(key, was.get(key)), *leaves(key, now.get(key))}
                    assert (name, leaf) in known or f"{name}: " in told, name
            else:
                line = lines[key].rstrip("\n")
                indented = "\n".join(f"    {part}" for part in line.split("\n"))
                assert line in told or indented in told, key
        if not ours.kind.quoted:
            no_section_is_lost(base, side, result)


def no_section_is_lost(base: Entity | None, side: Entity, result: Entity) -> None:
    old = {chunk.strip("\n") for _, chunk in parts(base.body)} if base else set()
    for name, chunk in parts(side.body):
        piece = chunk.strip("\n")
        indented = "\n".join(f"    {part}" for part in piece.split("\n"))
        assert name == "Conflicting edits" or piece in old or piece in result.body or indented in result.body


def leaves(name: str, value: Any) -> list[tuple[str, str]]:
    """Return the path and text of everything below a value."""
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(f"{name}.{key}", item)]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [
            leaf
            for item in value
            for leaf in leaves(
                f"{name}.{item['compression_tag']}", {k: v for k, v in item.items() if k != "compression_tag"}
            )
        ]
    return [] if value is None else [(name, str(value))]


@KINDS
def test_every_field_changed_on_one_side_survives(kind: Kind) -> None:
    """Each key of the schema and one that nobody knows, one by one, against every other."""
    names = [name for name in known_fields(kind) if name != kind.id_field]
    tried: set[str] = set()

    @settings(max_examples=8, phases=[Phase.generate])
    @given(data=st.data())
    def law(data: st.DataObject) -> None:
        base, other = data.draw(s.of_kind(kind)), data.draw(s.of_kind(kind))
        variants = {name: with_field(base, other, name) for name in (*names, "x-team")}
        changed = {name: entity for name, entity in variants.items() if entity is not None}
        for name, ours in changed.items():
            tried.add(name)
            for rival, theirs in {"": base, **changed}.items():
                if not linked(name, rival):
                    data_out = merged_bytes(base, ours, theirs)
                    now = codec.to_fields(codec.loads(kind, data_out.decode()))
                    assert now.get(name) == codec.to_fields(ours).get(name), (name, rival)

    law()
    assert tried == {*names, "x-team"}


def linked(name: str, rival: str) -> bool:
    return name == rival or any({name, rival} <= set(names) for names in GROUPS)


def with_field(base: Entity, other: Entity, name: str) -> Entity | None:
    """Return the base with one field (and what must go with it) of the other; None where that cannot be."""
    if name == "x-team":
        return cast(Entity, dataclasses.replace(cast(Any, base), extra={**base.extra, name: "red: [1.10]"}))
    made = s.mixed(base, other, [name])
    return made if made != base else None


@KINDS
def test_comments_and_form(kind: Kind, level: Level) -> None:
    @runs(level, 40, 700)
    @given(data=st.data())
    def law(data: st.DataObject) -> None:
        base, ours, theirs = data.draw(s.states(kind, 3))
        texts = [data.draw(s.hand_edited(side)).text.encode() for side in (base, ours, theirs)]
        merged = merge_file(kind, ours.id, *texts)
        assert merged == merge_file(kind, ours.id, texts[0], texts[2], texts[1])
        assert merged.data is not None
        text = merged.data.decode()
        read = [codec.loads(kind, each.decode()) for each in texts]
        assert codec.loads(kind, text) == reconcile(*read).entity
        for comment in ("# note", "# last"):
            if all(comment in each.decode() for each in texts):
                assert comment in text

    law()
