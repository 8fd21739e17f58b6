"""The first line of a commit in a registry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgekit.change import SUBJECT_LIMIT, commit_subject

HEAD = "decision: add dec_0828fb5aa739"


def test_a_subject_carries_the_text() -> None:
    assert commit_subject(HEAD, "Use UUID v7 for all resource IDs") == (
        "decision: add dec_0828fb5aa739 Use UUID v7 for all resource IDs"
    )
    assert commit_subject("review: 3 decided") == "review: 3 decided"


def test_a_long_text_is_cut_at_a_word() -> None:
    assert commit_subject(HEAD, "Keep every archive byte for byte, " * 4) == (
        f"{HEAD} Keep every archive byte for byte, Keep every archive byte for byte…"
    )
    assert len(commit_subject(HEAD, "x" * 200)) == SUBJECT_LIMIT


@pytest.mark.parametrize(
    "text", ["Use\nA\r\nForged: x", "Use\tA\x1b[31m Forged: x", "Use \u202eA\u200b Forged: x"]
)
def test_control_characters_are_dropped(text: str) -> None:
    assert commit_subject(HEAD, text).isprintable()
    assert commit_subject(HEAD, text).startswith(f"{HEAD} Use A")


@given(st.text())
def test_any_text_makes_one_short_printable_line(text: str) -> None:
    line = commit_subject(HEAD, text)
    assert line.isprintable()
    assert len(line) <= SUBJECT_LIMIT
    assert line.startswith(HEAD)
