"""Writes to hand-edited files, each with the whole text that must come out."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import pytest

from forgekit.errors import FormatError, RuleError
from forgekit.ids import EntityId
from forgekit.model.entities import Thread, ThreadStatus
from forgekit.model.kinds import Kind
from forgekit.model.rules import with_section
from forgekit.text import codec, edit
from forgekit.times import Instant

TEXT = """\
---
# kept by hand
title: 'Design pagination'  # the old title
thread_id: 018bcfe5-6800-826f-96f9-fb59f47a1cbd
status: open
tags: # topics
  - api
  - paging # mostly

# whose it is
owner:   {name: Ada}
size: 12e4567
note: |+
  two

"project_name": The Nexus
project_uuid: a48e83a0-af8c-5975-9225-16e202e1338c
created_at: 2023-11-14    # day only
updated_at: 2023-11-14T22:13:20Z
---


What comes after page one?

##  Context ##
offsets

## Notes
last
"""
C1 = EntityId("018bcfe5-6800-8625-89cf-d5faf30f5d9e")


def read(text: str) -> Thread:
    return cast(Thread, codec.loads(Kind.THREAD, text))


def changed(text: str = TEXT, **values: Any) -> str:
    return edit.update(text, dataclasses.replace(read(text), **values))


def test_a_value_is_replaced_beside_its_comment() -> None:
    assert changed(title="New: one") == TEXT.replace("'Design pagination'", "'New: one'")
    assert changed(created_at=Instant(0)) == TEXT.replace("2023-11-14    #", "1970-01-01T00:00:00Z    #")


def test_a_quoted_key_is_written_plainly_only_when_its_field_changes() -> None:
    assert changed(project_name="N") == TEXT.replace('"project_name": The Nexus', "project_name: N")


def test_a_list_of_lines_becomes_one_line_and_keeps_the_comment_on_its_key() -> None:
    old = "tags: # topics\n  - api\n  - paging # mostly\n"
    assert changed(tags=("one", "no")) == TEXT.replace(old, "tags: [one, 'no'] # topics\n")
    assert changed(tags=()) == TEXT.replace(old, "")


def test_a_new_field_goes_after_the_nearest_that_precedes_it() -> None:
    assert changed(local_id="T001") == TEXT.replace("338c\n", "338c\nlocal_id: T001\n")
    resolved = changed(status=ThreadStatus.RESOLVED, resolved_in=C1)
    assert resolved == TEXT.replace("open", "resolved").replace("338c\n", f"338c\nresolved_in: {C1}\n")


def test_two_new_fields_after_one_keep_their_order() -> None:
    both = changed(local_id="T001", first_seen_in=C1)
    assert both == TEXT.replace("338c\n", f"338c\nlocal_id: T001\nfirst_seen_in: {C1}\n")


def test_an_unknown_field_is_changed_added_and_removed_like_any_other() -> None:
    extra = dict(read(TEXT).extra)
    assert changed(extra=extra | {"size": "13e1"}) == TEXT.replace("12e4567", "13e1")
    assert changed(extra=extra | {"more": ["a"]}) == TEXT.replace("  two\n\n", "  two\n\nmore: [a]\n")
    assert changed(extra={k: v for k, v in extra.items() if k != "note"}) == TEXT.replace(
        "note: |+\n  two\n\n", ""
    )


def test_a_changed_section_changes_its_lines_alone() -> None:
    body = read(TEXT).body
    assert changed(body=with_section(body, "Context", "cursors")) == TEXT.replace("offsets", "\ncursors")
    assert changed(body=body + "\n\n## Resolution\n\nDone.") == TEXT + "\n## Resolution\n\nDone.\n"
    assert changed(body=with_section(body, "Notes", "")) == TEXT.replace("## Notes\nlast\n", "").removesuffix(
        "\n"
    )


def test_a_body_comes_and_goes() -> None:
    bare = changed(body="")
    assert bare == TEXT[: TEXT.index("\n---\n", 4) + 5]
    assert changed(bare, body="New\n\ntext") == bare + "\nNew\n\ntext\n"


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_mark_stay(mark: str) -> None:
    text = mark + TEXT.replace("\n", "\r\n")
    new = {"title": "N", "local_id": "T001", "body": read(TEXT).body.replace("offsets", "a\nb")}
    assert changed(text, **new) == mark + changed(**new).replace("\n", "\r\n")


def test_a_file_without_a_final_newline() -> None:
    text = TEXT.rstrip("\n")
    assert changed(text, body=read(TEXT).body + "\nmore") == text + "\nmore\n"
    head = TEXT[: TEXT.index("\n---\n", 4) + 4]
    assert changed(head, body="B") == head + "\n\nB\n"


def test_indented_front_matter_keeps_its_indentation() -> None:
    head, _, body = TEXT[4:].partition("---\n")
    text = (
        "---\n"
        + "".join(f"  {line}" if line.strip() else line for line in head.splitlines(keepends=True))
        + "---\n"
        + body
    )
    assert changed(text, title="New", local_id="T001") == text.replace("'Design pagination'", "New").replace(
        "338c\n", "338c\n  local_id: T001\n"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("title: |-\n  Design\ntags: []\n", "title: New\ntags: []\n"),
        ("title: >- # folded\n  De\n  sign\n\ntags: []\n", "title: New\n\ntags: []\n"),
        ("title: De\n  sign\n\n# next\ntags: []\n", "title: New\n\n# next\ntags: []\n"),
        ('title: "De\n  sign" # c\ntags: []\n', "title: New\ntags: []\n"),
        ("title:\n  Design # c\ntags: []\n", "title: New\ntags: []\n"),
        ("title   :   Design\t# c\ntags: []\n", "title: New\t# c\ntags: []\n"),
        ("'title': 'it''s # 1' # c\ntags: []\n", "title: New # c\ntags: []\n"),
    ],
)
def test_every_way_of_writing_a_value_is_found(old: str, new: str) -> None:
    head = TEXT.replace(TEXT[TEXT.index("title") : TEXT.index("thread_id")], "%")
    head = head.replace(TEXT[TEXT.index("tags") : TEXT.index("\n# whose")], "")
    assert changed(head.replace("%", old), title="New") == head.replace("%", new)


@pytest.mark.parametrize("form", ["flow", "question"])
def test_front_matter_without_a_line_to_a_field_is_written_anew(form: str) -> None:
    thread = read(TEXT)
    fields = codec.field_texts(dataclasses.replace(thread, extra={}))
    if form == "flow":
        text = "---\n{" + ", ".join(line.strip() for line in fields.values()) + "}\n---\n\nBody\n"
    else:
        text = "---\n" + "".join(fields.values()).replace("title:", "? title\n:") + "---\n\nBody\n"
    expected = codec.dumps(dataclasses.replace(read(text), title="New"))
    assert changed(text, title="New") == expected


def test_what_cannot_be_read_is_not_edited() -> None:
    with pytest.raises(FormatError) as caught:
        edit.update(TEXT.replace("title", "status"), read(TEXT))
    assert str(caught.value) == "line 5: status: is given twice"


def test_a_result_that_says_something_else_is_never_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    thread = dataclasses.replace(read(TEXT), title="New")
    monkeypatch.setattr(edit, "_head", lambda head, _old, _new: head)
    with pytest.raises(RuleError) as caught:
        edit.update(TEXT, thread)
    assert str(caught.value) == f"the edited text of {thread.id} differs from the entity; this is a bug"
    monkeypatch.setattr(edit, "_head", lambda _head, _old, _new: "x\n")
    with pytest.raises(RuleError) as caught:
        edit.update(TEXT, thread)
    assert str(caught.value) == (
        f"the edited text of {thread.id} cannot be read "
        "(line 2: front matter must be a list of `key: value` lines); this is a bug"
    )
