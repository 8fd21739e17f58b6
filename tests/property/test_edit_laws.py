"""A write changes the lines of what it writes, in a file that somebody else has edited."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import pytest
import strategies as s
from hypothesis import given, settings
from hypothesis import strategies as st

from forgekit.ids import EntityId
from forgekit.model.entities import Archive, Entity, Project
from forgekit.model.kinds import Kind
from forgekit.model.rules import with_section
from forgekit.text import codec, edit, frontmatter

KINDS = pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.value)


@KINDS
@given(data=st.data())
@settings(max_examples=30)
def test_no_change_no_diff(kind: Kind, data: st.DataObject) -> None:
    entity = data.draw(s.of_kind(kind))
    text = data.draw(s.hand_edited(entity)).text
    assert edit.update(text, entity) == text


@KINDS
@given(data=st.data())
@settings(max_examples=60)
def test_what_is_written_is_what_was_meant(kind: Kind, data: st.DataObject) -> None:
    old, new = data.draw(s.states(kind, 2))
    text = data.draw(s.hand_edited(old)).text
    result = edit.update(text, new)
    assert codec.loads(kind, result) == new
    assert edit.update(result, new) == result
    assert result.startswith("\ufeff") == text.startswith("\ufeff")
    if kind is not Kind.ARCHIVE and "\r\n" in text:
        assert "\n" not in result.replace("\r\n", "")


@KINDS
@given(data=st.data())
@settings(max_examples=30)
def test_a_canonical_file_stays_canonical(kind: Kind, data: st.DataObject) -> None:
    old, new = data.draw(s.states(kind, 2))
    assert edit.update(codec.dumps(old), new) == codec.dumps(new)


@KINDS
@given(data=st.data())
@settings(max_examples=60)
def test_a_write_touches_the_lines_of_its_fields_alone(kind: Kind, data: st.DataObject) -> None:
    old, new = data.draw(s.states(kind, 2))
    file = data.draw(s.hand_edited(old))
    result = edit.update(file.text, new)
    if codec.dumps(old) != file.text:
        assert_only_its_lines(file, old, new, result)


def test_a_comment_below_an_empty_value_stays_when_the_field_goes() -> None:
    key = "018bcfe5-6800-83ea-8f39-beb7af8d4df8"
    text = f"---\nproject_uuid: {key}\nowner:\n  mail: \n# note\nproject_name: Use cursors\n---\n"
    new = Project(project_uuid=EntityId(key), project_name="Use cursors")
    assert edit.update(text, new) == text.replace("owner:\n  mail: \n", "")


def assert_only_its_lines(file: s.Edited, old: Entity, new: Entity, result: str) -> None:
    """Check that every piece of a file stands, but those of the fields that changed."""
    start, end, _ = frontmatter.bounds(result)
    lines = result[start:end].splitlines(keepends=True)
    was, now = codec.to_fields(old), codec.to_fields(new)
    changed = {key for key in was.keys() | now.keys() if was.get(key) != now.get(key)}
    # Every other piece stands, byte for byte and in its order; what lies between says the new values.
    place, between = 0, ""
    for key, text in file.pieces:
        piece = text.splitlines(keepends=True)
        if key not in changed:
            at = next(i for i in range(place, len(lines) + 1) if lines[i : i + len(piece)] == piece)
            between += "".join(lines[place:at])
            place = at + len(piece)
    fields, _ = frontmatter.load_fields(between + "".join(lines[place:]))
    assert fields == {key: now[key] for key in changed & now.keys()}


@given(entity=s.entities(), data=st.data())
@settings(max_examples=60)
def test_a_changed_section_leaves_the_other_bytes_of_the_body(entity: Entity, data: st.DataObject) -> None:
    if isinstance(entity, Archive):
        return
    old = dataclasses.replace(
        cast(Any, entity), body="Before  \n\n##  Context ##\nsame\n\n\n## Plan\n\nold\n\n## End\nlast"
    )
    file = data.draw(s.hand_edited(old))
    new = dataclasses.replace(old, body=with_section(old.body, "Plan", "new\nlines"))
    newline = "\r\n" if "\r\n" in file.text else "\n"
    assert edit.update(file.text, new) == file.text.replace(
        f"{newline}old{newline}", f"{newline}new{newline}lines{newline}"
    )
