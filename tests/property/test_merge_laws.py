"""What a three-way merge owes to both sides."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import pytest
import strategies as s
from hypothesis import given, settings
from hypothesis import strategies as st

from forgekit.model.body import parts
from forgekit.model.entity import Entity
from forgekit.model.kinds import Kind
from forgekit.policy.merge import Merged, merge
from forgekit.text import codec

KINDS = pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.value)
BY_RULE = {
    "updated_at",
    "created_at",
    "last_validated",
    "detected_at",
    "status",
    "resolved_in",
    "revised_in",
    "superseded_by",
}
"""Fields in which a rule lets one side outlive the other without a conflict."""


def three(kind: Kind, data: st.DataObject) -> tuple[Entity | None, Entity, Entity]:
    base, ours, theirs = data.draw(s.states(kind, 3))
    return (None if data.draw(st.booleans()) and data.draw(st.booleans()) else base), ours, theirs


@KINDS
@given(data=st.data())
@settings(max_examples=25)
def test_one_side_or_both_alike(kind: Kind, data: st.DataObject) -> None:
    base, side = data.draw(s.states(kind, 2))
    for merged in (
        merge(base, side, side),
        merge(base, base, side),
        merge(base, side, base),
        merge(None, side, side),
    ):
        assert merged == Merged(entity=side)
        assert merged.entity is not None
        assert codec.dumps(merged.entity) == codec.dumps(side)


@KINDS
@given(data=st.data())
@settings(max_examples=25)
def test_sides_swapped_and_merged_again(kind: Kind, data: st.DataObject) -> None:
    base, ours, theirs = three(kind, data)
    there, back = merge(base, ours, theirs), merge(base, theirs, ours)
    assert there.entity is not None
    assert back.entity is not None
    swapped = {(c.field, repr((c.base, c.theirs, c.ours))) for c in back.conflicts}
    assert {(c.field, repr((c.base, c.ours, c.theirs))) for c in there.conflicts} == swapped
    if not there.conflicts:
        assert codec.dumps(there.entity) == codec.dumps(back.entity)
        assert merge(base, there.entity, theirs).entity == there.entity
    # The result is an entity like any other: it is written and read back.
    assert codec.loads(kind, codec.dumps(there.entity)) == there.entity


@KINDS
@given(data=st.data())
@settings(max_examples=25)
def test_what_one_side_changed_is_in_the_result(kind: Kind, data: st.DataObject) -> None:
    base, ours, theirs = data.draw(s.states(kind, 3))
    merged = merge(base, ours, theirs).entity
    assert merged is not None
    was, here, there, now = ({**codec.to_fields(e), "body": e.body} for e in (base, ours, theirs, merged))
    state_apart = together(was, here, there)
    for key in (was.keys() | here.keys() | there.keys()) - {"body"}:
        old, a, b = was.get(key), here.get(key), there.get(key)
        if key in BY_RULE.union(*s.TOGETHER) and state_apart:
            continue
        if a == old:
            assert now.get(key) == b, key
        elif b == old:
            assert now.get(key) == a, key


def together(*fields: dict[str, Any]) -> bool:
    """Say whether both sides changed something in fields that come from one side together."""
    names = (*s.TOGETHER[0], *s.TOGETHER[1], *s.TOGETHER[2])
    was, here, there = ([side.get(name) for name in names] for side in fields)
    return was not in (here, there)


@KINDS
@given(data=st.data())
@settings(max_examples=25)
def test_each_value_is_in_the_result_or_in_the_conflicts(kind: Kind, data: st.DataObject) -> None:
    base, ours, theirs = three(kind, data)
    merged = merge(base, ours, theirs)
    assert merged.entity is not None
    told = repr([(c.ours, c.theirs) for c in merged.conflicts]) + repr(codec.to_fields(merged.entity))
    was = codec.to_fields(base) if base else {}
    for side in (ours, theirs):
        for key, value in codec.to_fields(side).items():
            if value != was.get(key) and key not in BY_RULE and not isinstance(value, (list, dict)):
                raw = getattr(side, key) if key in codec.known_fields(kind) else value
                assert repr(value) in told or repr(raw) in told, key


@KINDS
@given(data=st.data())
@settings(max_examples=25)
def test_sets_keep_additions_and_removals(kind: Kind, data: st.DataObject) -> None:
    base, ours, theirs = data.draw(s.states(kind, 3))
    merged = merge(base, ours, theirs).entity
    for name in (
        "tags",
        "conversation_ids",
        "dependencies",
        "blocked_by",
        "alternatives_rejected",
        "evidence",
        "inherits_from",
    ):
        if hasattr(base, name):
            was, a, b, now = (set(getattr(e, name)) for e in (base, ours, theirs, merged))
            assert now == ((a | b) - (was - a) - (was - b))


@KINDS
@given(data=st.data())
@settings(max_examples=60)
def test_every_section_of_either_side_is_kept_or_told(kind: Kind, data: st.DataObject) -> None:
    base, ours, theirs = three(kind, data)
    merged = merge(base, ours, theirs)
    assert merged.entity is not None
    if kind is Kind.ARCHIVE:
        texts = [str(x) for c in merged.conflicts for x in (c.ours, c.theirs)]
        for side, other in ((ours, theirs), (theirs, ours)):
            assert (
                side.body in (merged.entity.body, base.body if base else "")
                or side.body in texts
                or side.body == other.body
            )
        return
    told = repr([(c.ours, c.theirs) for c in merged.conflicts])
    old = {text.strip("\n") for _, text in parts(base.body)} if base else set()
    for side in (ours, theirs):
        for _, text in parts(side.body):
            chunk = text.strip("\n")
            assert chunk in old or chunk in merged.entity.body or repr(chunk)[1:-1] in told


@KINDS
@given(data=st.data())
@settings(max_examples=25)
def test_unknown_fields_of_both_sides_are_kept(kind: Kind, data: st.DataObject) -> None:
    base, ours, theirs = data.draw(s.states(kind, 3))
    here = dataclasses.replace(cast(Any, ours), extra={**ours.extra, "ours-only": {"a": ["1.10"]}})
    there = dataclasses.replace(cast(Any, theirs), extra={**theirs.extra, "theirs-only": "no"})
    merged = merge(base, here, there).entity
    assert merged is not None
    assert merged.extra["ours-only"] == {"a": ["1.10"]}
    assert merged.extra["theirs-only"] == "no"
    for key, value in base.extra.items():
        if here.extra.get(key) == value == there.extra.get(key):
            assert merged.extra[key] == value
