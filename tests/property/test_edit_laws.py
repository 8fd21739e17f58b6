"""A write changes the lines of what it writes, in a file that somebody else has edited."""

from __future__ import annotations

import difflib
from typing import Any, cast

import pytest
import strategies as s
from hypothesis import given, settings
from hypothesis import strategies as st

from forgekit.model.entity import Entity
from forgekit.model.kinds import Kind
from forgekit.text import codec, edit

KINDS = pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.value)


def lines(text: str) -> list[str]:
    return text.split("\n")


@KINDS
@given(data=st.data())
@settings(max_examples=30)
def test_no_change_no_diff(kind: Kind, data: st.DataObject) -> None:
    entity = data.draw(s.of_kind(kind))
    text = data.draw(s.hand_edited(entity))
    assert edit.update(text, entity) == text


@KINDS
@given(data=st.data())
@settings(max_examples=60)
def test_what_is_written_is_what_was_meant(kind: Kind, data: st.DataObject) -> None:
    old, new = data.draw(s.states(kind, 2))
    text = data.draw(s.hand_edited(old))
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
def test_one_field_written_touches_its_lines_alone(kind: Kind, data: st.DataObject) -> None:
    old, new = data.draw(s.states(kind, 2))
    text = data.draw(s.hand_edited(old))
    before, after = lines(text), lines(edit.update(text, new))
    allowed = {f"{key}:" for key in changed_keys(old, new)}
    if old.body == new.body:
        for line in removed(before, after):
            assert belongs(line, before, allowed), line
        # Comments on lines of their own, and fields that did not change, all stand.
        notes = ("# note", "# last", "  # indented note")
        assert [x for x in before if x.strip("\r") in notes] == [x for x in after if x.strip("\r") in notes]


def changed_keys(old: Entity, new: Entity) -> set[str]:
    was, now = codec.to_fields(old), codec.to_fields(new)
    return {key for key in was.keys() | now.keys() if was.get(key) != now.get(key)}


def removed(before: list[str], after: list[str]) -> list[str]:
    return [line[2:] for line in difflib.ndiff(before, after) if line.startswith("- ")]


def belongs(line: str, file: list[str], allowed: set[str]) -> bool:
    """Say whether a line is part of a field that may change: its key line, or a line below it."""
    places = [i for i, other in enumerate(file) if other == line]
    for place in places:
        at = place
        while at > 0 and file[at][:1] in (" ", "-", "#", "", "\r"):
            at -= 1
        if any(key_of(file[at]) == key for key in allowed):
            return True
    return False


def key_of(line: str) -> str:
    """Return the key of a key line, unquoted, with its colon."""
    fields, _ = codec.frontmatter.load_fields(line.split("#")[0].rstrip() if ": #" in line else line)
    return next(iter(fields), "") + ":"


def test_key_of_reads_quoted_keys() -> None:
    assert key_of("'a b': c") == "a b:"
    assert cast(Any, key_of)("tags: # listed\r") == "tags:"
