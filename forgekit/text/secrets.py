"""Find secrets in text and put marks in their place.

A **fingerprint** names a secret without revealing it: 8 hex digits of a hash. A **mark** replaces a secret
and names its rule and fingerprint: `[redacted: github-token 3f9a1c2b]`.

Laws: the rest of the text is kept byte for byte; the same text gives the same marks on every machine; what
`redact` returns holds no finding.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from forgekit.text.secret_rules import RULES, Where

_SHORTEST = 16
"""Bytes of a token."""
# Every byte of a token becomes one letter, so that a run of them is found by a search for fixed bytes.
_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_SHADOW = bytes(ord("x") if byte in _BYTES else ord(" ") for byte in range(256))
_RUN = b"x" * _SHORTEST
_NO_DASH = re.compile(rb"[^-_]|\Z")


def _by_anchor(where: Where) -> Mapping[bytes, Sequence[int]]:
    ranks: dict[bytes, list[int]] = defaultdict(list)
    for rank, rule in enumerate(RULES):
        for anchor in rule.anchors if rule.where is where else ():
            ranks[anchor].append(rank)
    return ranks


_SEARCHED = _by_anchor(Where.TEXT), _by_anchor(Where.WORD)
_DOTTED = {anchor: ranks for anchor, ranks in _by_anchor(Where.TOKEN).items() if anchor.endswith(b".")}
_BEGINNINGS: dict[bytes, list[tuple[bytes, Sequence[int]]]] = defaultdict(list)
for _anchor, _ranks in _by_anchor(Where.TOKEN).items():
    _BEGINNINGS[_anchor[:1]].append((_anchor, _ranks))

NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class SecretFinding:
    """One secret in a text; the secret itself is kept nowhere.

    Attributes:
        rule: its kind.
        fingerprint: 8 hex digits; `--allow` takes it.
        line: 1-based, where it begins.
    """

    rule: str
    fingerprint: str
    line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Redacted:
    """A text without secrets, and those that it had."""

    text: str
    findings: tuple[SecretFinding, ...]


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    rank: int


def fingerprint(secret: bytes) -> str:
    """Return the name of a secret; a random secret cannot be guessed from it."""
    return hashlib.sha256(b"forgekit secret\0" + secret).hexdigest()[:8]


def find(text: str, allowed: Collection[str] = NOTHING) -> tuple[SecretFinding, ...]:
    """Return the secrets in a text, in order.

    Args:
        text: a whole one: a secret that is cut in two by its ends is not seen.
        allowed: fingerprints of what is no finding.
    """
    data = text.encode("utf-8", "surrogatepass")
    return tuple(_findings(data, _spans(data, allowed)))


def redact(text: str, allowed: Collection[str] = NOTHING) -> Redacted:
    """Return a text with a mark in place of each secret, and the secrets by rule, line and fingerprint.

    Args:
        text: a whole one, such as an archive or one message; as of `find`.
        allowed: fingerprints of what is kept.
    """
    data = text.encode("utf-8", "surrogatepass")
    found: list[SecretFinding] = []
    # What a secret was glued to may be one by itself once the secret is gone. No rule sees a secret in marks
    # alone, so each round takes away bytes of the text itself, and there is a last one.
    while spans := _spans(data, allowed):
        found.extend(_findings(data, spans))
        data = _marked(data, spans)
    if not found:
        return Redacted(text=text, findings=())
    found.sort(key=lambda finding: finding.line)
    return Redacted(text=data.decode("utf-8", "surrogatepass"), findings=tuple(found))


def _marked(data: bytes, spans: Iterable[_Span]) -> bytes:
    parts, at = [], 0
    for span in spans:
        name, print_ = RULES[span.rank].name, fingerprint(data[span.start : span.end])
        mark = f"[redacted: {name} {print_}]".encode()
        parts += [data[at : span.start], mark]
        at = span.end
    return b"".join([*parts, data[at:]])


def _findings(data: bytes, spans: Iterable[_Span]) -> Iterator[SecretFinding]:
    line, at = 1, 0
    for span in spans:
        line += data.count(b"\n", at, span.start)
        at = span.start
        secret = data[span.start : span.end]
        yield SecretFinding(rule=RULES[span.rank].name, fingerprint=fingerprint(secret), line=line)


def _spans(data: bytes, allowed: Collection[str]) -> list[_Span]:
    """Return the spans of secrets, in order; those that overlap are one, named by the most trusted rule."""
    found = [
        span for span in _hits(data) if not allowed or fingerprint(data[span.start : span.end]) not in allowed
    ]
    found.sort(key=lambda span: (span.start, -span.end))
    joined: list[_Span] = []
    for span in found:
        if joined and span.start < joined[-1].end:
            last = joined.pop()
            joined.append(_Span(last.start, max(last.end, span.end), min(last.rank, span.rank)))
        else:
            joined.append(span)
    if allowed:
        joined = [span for span in joined if fingerprint(data[span.start : span.end]) not in allowed]
    return joined


def _hits(data: bytes) -> Iterator[_Span]:
    yield from _tokens(data)
    for anchors, searched in zip(_SEARCHED, (data, data.lower()), strict=True):
        for anchor, ranks in anchors.items():
            at = searched.find(anchor)
            while at >= 0:
                spans = list(_matches(ranks, data, at))
                yield from spans
                at = searched.find(anchor, max((span.end for span in spans), default=at + len(anchor)))


def _tokens(data: bytes) -> Iterator[_Span]:
    """Try the rules for tokens; dashes before one, and the end of an escaped line end, are none of it."""
    shadow = data.translate(_SHADOW)
    spent = end = 0  # what is glued to a secret begins where that ends
    at = shadow.find(_RUN)
    while at >= 0:
        if at >= end:
            end = shadow.find(b" ", at + _SHORTEST)
            end = len(data) if end < 0 else end
        before = data[max(at - 1, 0) : at]
        spans = list(_dotted(data, at, spent)) if before == b"." else []
        escape = 1 if before == b"\\" and data[at] in b"nrt" else 2 if before == b"%" else 0
        token = next(_NO_DASH.finditer(data, at + escape)).start()
        for anchor, ranks in _BEGINNINGS.get(data[token : token + 1], ()):
            if data.startswith(anchor, token):
                spans += _matches(ranks, data, token)
        yield from spans
        spent = max((span.end for span in spans), default=end)
        at = shadow.find(_RUN, spent)


def _dotted(data: bytes, dot: int, spent: int) -> Iterator[_Span]:
    """Try the rules whose prefix ends with the dot before a token."""
    for anchor, ranks in _DOTTED.items():
        start = dot - len(anchor)
        apart = start == spent or not data[max(start - 1, 0) : start].isalnum()
        if start >= 0 and apart and data.startswith(anchor, start):
            yield from _matches(ranks, data, start)


def _matches(ranks: Iterable[int], data: bytes, at: int) -> Iterator[_Span]:
    for rank in ranks:
        match = _shape(rank).match(data, at)
        if match is not None and RULES[rank].accept(match):
            start, end = match.span("s")
            while data[end : end + 1] and data[end] & 0xC0 == 0x80:  # cut at a limit, in a character
                end += 1
            yield _Span(start, end, rank)


@cache
def _shape(rank: int) -> re.Pattern[bytes]:
    """Compile a rule's shape when it is first needed."""
    return re.compile(RULES[rank].shape)
