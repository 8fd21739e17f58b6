"""What redacting promises for every text."""

from __future__ import annotations

import re

import planted_secrets
from hypothesis import given, settings
from hypothesis import strategies as st

from forgekit.text.secrets import find, redact

MARK = re.compile(r"\[redacted: [a-z-]+ [0-9a-f]{8}\]")
PIECES = st.one_of(
    st.sampled_from([p.text for p in planted_secrets.planted(planted_secrets.seeded("pieces"), 60)]),
    st.sampled_from([p.secret for p in planted_secrets.planted(planted_secrets.seeded("secrets"), 40)]),
    st.sampled_from(
        ["password: ", "token=", "://a:", "@", '"', "\\n", "%3D", "sk-", "eyJ", ".", "-", "\n", " "]
    ),
    st.text(max_size=12),
)
TEXTS = st.lists(PIECES, max_size=8).map("".join)


@given(TEXTS)
@settings(max_examples=300)
def test_what_is_left_holds_no_secret(text: str) -> None:
    once = redact(text)
    assert find(once.text) == ()
    assert redact(once.text).text == once.text
    assert bool(once.findings) == bool(find(text))


@given(TEXTS)
@settings(max_examples=300)
def test_the_rest_of_the_text_is_kept_in_order(text: str) -> None:
    at = 0
    pieces = MARK.split(redact(text).text)
    assert text.startswith(pieces[0])
    assert text.endswith(pieces[-1])
    for piece in pieces:
        at = text.index(piece, at) + len(piece)


@given(TEXTS)
@settings(max_examples=200)
def test_whoever_allows_all_that_is_named_keeps_the_text(text: str) -> None:
    allowed: set[str] = set()
    while found := find(text, allowed):
        before = len(allowed)
        allowed |= {each.fingerprint for each in found}
        assert len(allowed) > before
    assert redact(text, allowed).text == text
