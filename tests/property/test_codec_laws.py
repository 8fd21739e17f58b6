"""What is written is read back, and what was read is written alike."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import pytest
import strategies as s
from hypothesis import given, settings
from hypothesis import strategies as st

from forgekit.errors import ForgeError
from forgekit.model.entities import Entity
from forgekit.model.kinds import Kind
from forgekit.text import codec, frontmatter

KINDS = pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.value)


@KINDS
@given(data=st.data())
@settings(max_examples=60)
def test_nothing_is_lost_and_nothing_changes(kind: Kind, data: st.DataObject) -> None:
    entity = data.draw(s.of_kind(kind))
    text = codec.dumps(entity)
    again = codec.loads(kind, frontmatter.decode(text.encode()))
    assert again == entity
    assert list(again.extra) == list(entity.extra)
    assert codec.dumps(again) == text


@KINDS
@given(data=st.data())
@settings(max_examples=30)
def test_fields_and_entity_are_two_forms_of_one_thing(kind: Kind, data: st.DataObject) -> None:
    entity = data.draw(s.of_kind(kind))
    assert codec.from_fields(kind, codec.to_fields(entity), entity.body) == entity


@KINDS
@given(data=st.data())
@settings(max_examples=40)
def test_a_hand_edited_file_says_the_same(kind: Kind, data: st.DataObject) -> None:
    entity = data.draw(s.of_kind(kind))
    assert codec.loads(kind, data.draw(s.hand_edited(entity)).text) == entity


@given(entity=s.entities(), data=st.data())
@settings(max_examples=150)
def test_damage_is_read_or_refused_and_never_crashes(entity: Entity, data: st.DataObject) -> None:
    text = codec.dumps(entity)
    at = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 5))
    put = data.draw(
        st.one_of(
            st.sampled_from(("[", "{", "- ", "&a ", "*a", "!x ", "---\n", ": ", "'", "\t", "\x85")),
            st.text(max_size=3),
        )
    )
    try:
        read = codec.loads(entity.kind, text[:at] + put + text[at + cut :])
    except ForgeError as e:
        assert str(e)  # noqa: PT017 - a sentence is what a refusal owes
    else:
        assert codec.loads(entity.kind, codec.dumps(read)) == read


@given(entity=s.entities())
@settings(max_examples=40)
def test_an_entity_is_one_line_per_plain_field(entity: Entity) -> None:
    bare = dataclasses.replace(cast(Any, entity), extra={})
    for key, text in codec.field_texts(bare).items():
        if key not in {"records", "compressions"}:
            assert text.count("\n") == 1
            assert text.startswith(f"{key}: ")
