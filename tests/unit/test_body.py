"""Sections of a body: found, replaced, added, removed, and nothing else touched."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forgekit.errors import RuleError
from forgekit.model.rules import (
    UNSETTLED,
    clean,
    escaped,
    parts,
    require_body,
    section,
    unescaped,
    with_section,
)

BODY = "Lead  \n\n\n##  Rationale ##\nwhy\n\n\n## C#\n\nsharp\n\n## Rationale\n\nagain"


def test_sections_are_found_by_name() -> None:
    assert section(BODY, None) == "Lead  "
    assert section(BODY, "Rationale") == "why"
    assert section(BODY, "C#") == "sharp"
    assert section(BODY, "Context") == ""
    assert section("", None) == ""


def test_parts_are_the_body() -> None:
    assert "".join(text for _, text in parts(BODY)) == BODY
    assert [name for name, _ in parts(BODY)] == [None, "Rationale", "C#", "Rationale"]
    assert parts("") == [(None, "")]


@pytest.mark.parametrize(
    "line", ["##", "## ", "## ##", "### Deeper", "#Rationale", " ## Indented", "# Title"]
)
def test_what_opens_no_section(line: str) -> None:
    assert [name for name, _ in parts(f"{line}\ntext")] == [None]


def test_one_section_replaced_leaves_every_other_byte() -> None:
    assert with_section(BODY, "Rationale", "because\nso") == BODY.replace("why", "\nbecause\nso")
    assert with_section(BODY, None, "New") == BODY.replace("Lead  ", "New")


def test_a_section_is_added_at_the_end_and_the_lead_at_the_start() -> None:
    assert with_section("Lead", "Resolution", "done\n") == "Lead\n\n## Resolution\n\ndone"
    assert with_section("", "Resolution", "done") == "## Resolution\n\ndone"
    assert with_section("## A\n\na", None, "Lead") == "Lead\n\n## A\n\na"


def test_a_section_is_removed_with_its_heading() -> None:
    assert with_section("Lead\n\n## A\n\na\n\n## B\n\nb", "A", "") == "Lead\n\n## B\n\nb"
    assert with_section("Lead\n\n## A\n\na", "A", "") == "Lead"
    assert with_section("Lead\n\n## A", "B", "") == "Lead\n\n## A"
    assert with_section("Lead\n\n## A\n\na", None, "\n") == "## A\n\na"


def test_a_text_opens_no_section_of_its_own() -> None:
    text = "## Resolution\nfalse\n# Title\n\\## kept\n##"
    body = with_section("Lead", "Rationale", text)
    assert body == "Lead\n\n## Rationale\n\n\\## Resolution\nfalse\n\\# Title\n\\\\## kept\n\\##"
    assert section(body, "Rationale") == text
    assert section(body, "Resolution") == ""


def test_a_text_never_looks_like_a_failed_merge() -> None:
    text = "<<<<<<< ours\na\n||||||| base\n=======\nb\n>>>>>>> theirs"
    body = with_section("", "Context", text)
    require_body(body)
    assert section(body, "Context") == text


def test_an_unclosed_fence_hides_nothing() -> None:
    body = with_section(with_section("", "Context", "```\ncode"), "Resolution", "done")
    assert section(body, "Resolution") == "done"


def test_clean_leaves_what_a_file_can_hold() -> None:
    assert clean("\r\na\rb\r\nc\x00\ud800\n\n") == "a\nb\nc\ufffd"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("a\r\nb", "body: uses LF and has no blank lines at either end"),
        ("a\n", "body: uses LF and has no blank lines at either end"),
        ("\x00", "body: uses LF and has no blank lines at either end"),
        ("a\n<<<<<<< x", "body: holds a merge-conflict marker"),
        ("\udc80", "body: holds half of a surrogate pair, which no file can"),
    ],
)
def test_bodies_that_cannot_be_written_are_refused(body: str, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        require_body(body)
    assert str(caught.value) == message


@given(
    st.text(max_size=60),
    st.sampled_from(["Rationale", "New", None]),
    st.sampled_from([BODY, "", "x", "## New"]),
)
@settings(max_examples=200)
def test_what_is_put_in_is_read_back(text: str, name: str | None, body: str) -> None:
    text = clean(text)
    result = with_section(body, name, text)
    assert section(result, name) == ("again" if name == "Rationale" and body == BODY and not text else text)
    require_body(result)
    for heading, _ in parts(body):
        if heading != name:
            assert section(result, heading) == section(body, heading)
    assert with_section(result, name, text) == result or not text


@given(st.text(max_size=60) | st.text("\\## <|\n") | st.sampled_from([f"\\##\t {UNSETTLED} ##", "<<<<<<< x"]))
def test_a_whole_text_is_read_back_and_holds_nothing_of_a_merge(text: str) -> None:
    for line in ("", f"## {UNSETTLED}\n", f"\n\\##  {UNSETTLED} # \n"):
        body = escaped(clean(line + text))
        assert unescaped(body) == clean(line + text)
        require_body(body)
        assert UNSETTLED not in [name for name, _ in parts(body)]


def test_long_lines_of_blanks_and_hashes_cost_linear_time() -> None:
    body = "## a" + " #" * 200_000 + "b\n" + "## " + " " * 400_000 + "\n" + "\\" * 400_000
    assert len(parts(body)) == 2
    assert with_section(body, "New", body)
    assert unescaped(escaped(f"## {UNSETTLED}{' ' * 200_000}x\n{body}"))
