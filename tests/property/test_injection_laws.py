"""What is put between marks is found again, and nothing outside them changes."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from forgekit.errors import FormatError
from forgekit.text.markers import edited, put

BLOCK = "## Conventions\n\n- Use pnpm (cnv_0a1b2c3d4e5f)\n"
OTHER = (
    "## Conventions\n\n- Use tabs (cnv_0a1b2c3d4e5f)\n\n"
    "Anti-patterns:\n\n- mock the database (cnv_112233445566)\n"
)
FULL = put("", BLOCK)
BEGIN, *_, END = FULL.splitlines(keepends=True)
PLAIN = (
    *("# Notes\n", "\n", "- item\n", "    indented\n", "```sh\nls\n```\n", f"~~~md\n{FULL}~~~\n", "`a` b\n"),
    *(f"````\n```\n{END}````\n", f"- ```\n  {BEGIN}  ```\n", "\ufeff\n", "é\u2028\n", "\x00\n", "---\n"),
    *("\udc80\n", "a ``` b ```\n", "<!-- forgekit: a remark -->\n"),
)
OURS = (FULL, put("", OTHER), FULL.replace("pnpm", "npm"), END)
BROKEN = ("```\n", "~~~~\n", BEGIN, FULL[: -len(END)], FULL[:-1], "<!-- forgekit:begin -->\n", "no end", "\r")
SAID = {
    ("this code fence is never closed; close it, then run this again", True),
    (
        "this mark of forgekit has no end, and the text below it was edited; delete the mark and what is old",
        True,
    ),
}


def ended(text: str, *, crlf: bool) -> str:
    return text.replace("\n", "\r\n") if crlf else text


@settings(max_examples=200, deadline=None)
@given(pieces=st.lists(st.sampled_from((*PLAIN, *OURS)), max_size=9), crlf=st.booleans(), last=st.booleans())
def test_of_a_sound_file_every_byte_outside_the_marks_stays(
    pieces: list[str], crlf: bool, last: bool
) -> None:
    kept = ended("".join(piece for piece in pieces if piece not in OURS), crlf=crlf)
    text = ended("".join(pieces), crlf=crlf)
    if last and pieces and pieces[-1] in PLAIN:  # no end of line
        kept, text = kept.rstrip("\r\n"), text.rstrip("\r\n")
    once = put(text, BLOCK)
    assert once.count("forgekit:begin v1 sha256") - kept.count("forgekit:begin v1 sha256") == 1
    assert put(once, "") in {kept, f"{kept}\n", f"{kept}\r\n"}
    assert put(once, BLOCK) == once
    assert put(text, "") == kept
    assert put(put(text, OTHER), BLOCK) == once


@settings(max_examples=200, deadline=None)
@given(pieces=st.lists(st.sampled_from((*PLAIN, *OURS, *BROKEN)), max_size=9), crlf=st.booleans())
@example(pieces=[BEGIN, FULL], crlf=False)
@example(pieces=["no end"], crlf=False)
def test_a_broken_file_is_repaired_or_refused(pieces: list[str], crlf: bool) -> None:
    text = ended("".join(pieces), crlf=crlf)
    try:
        once = put(text, BLOCK)
    except FormatError as e:
        refusal = e.message, e.line is not None
        assert refusal in SAID
        return
    assert put(once, BLOCK) == once
    assert put(put(once, OTHER), BLOCK) == once
    rest = iter(line.rstrip("\r") for line in text.split("\n"))
    left = put(once, "").rstrip("\r\n").split("\n")
    assert all(any(line.rstrip("\r") == other for other in rest) for line in left)


def test_what_somebody_changed_in_a_block_is_found() -> None:
    assert edited(f"a\n{FULL}b\n{OTHER}") == []
    assert edited(FULL.replace("\n", "\r\n")) == []
    changed = FULL.replace("pnpm", "npm")
    assert edited(f"a\n{changed}b\n") == changed.splitlines(keepends=True)[1:-1]


def test_a_lost_end_is_found_by_the_hash() -> None:
    new = put("", OTHER)
    assert put(f"a\n{FULL[: -len(END)]}mine\n", OTHER) == f"a\n{new}mine\n"
    assert put(f"a\n{FULL}b\n{FULL}{END}c\n", OTHER) == f"a\n{new}b\nc\n"
    assert put("a\r\nb", BLOCK) == "a\r\nb\r\n" + FULL.replace("\n", "\r\n")
