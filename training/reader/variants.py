"""Variants of marked archives: words of spans exchanged within a language, marks and bullets changed."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from annotated import Marked, Span

_EXCHANGED = {"D", "T", "why", "alt", "res", "blk", "note", "project", "tag", "parent", "artifact", "insight"}
_EXCHANGED |= {"prio", "state", "tier"}
_BULLETS = ("-", "*", "+", "•", "\u2013", "→")
_COMMON = {
    "en": "the and we is of to",
    "de": "und der die wir das ist nicht",
    "fr": "le la les et nous est des",
    "es": "el los las y que por no",
    "it": "il che di non per e gli",
    "pt": "o os as que não para em um",
    "nl": "het de en een van niet",
    "pl": "nie się na w i jest",
    "tr": "ve bir için bu",
    "sv": "och att det en är",
}
_SCRIPTS = {
    "ja": "[\u3040-\u30ff]",
    "zh": "[\u4e00-\u9fff]",
    "ko": "[\uac00-\ud7af]",
    "ru": "[\u0400-\u04ff]",
}

Pool = Mapping[tuple[str, str, str], Sequence[str]]


def language(text: str) -> str:
    """Return the language that a text is probably in."""
    for name, script in _SCRIPTS.items():
        if re.search(script, text):
            return name
    plain = f" {text.casefold()} "
    return max(_COMMON, key=lambda name: sum(plain.count(f" {word} ") for word in _COMMON[name].split()))


def pool_of(archives: Iterable[Marked]) -> Pool:
    """Return the words of all spans by language, tag and value."""
    found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for marked in archives:
        name = language(marked.text)
        for span in marked.spans:
            words = marked.text[span.first : span.last]
            if "\n" not in words:
                found[name, span.tag, span.value if span.tag in ("prio", "state", "tier") else ""].append(
                    words
                )
    return found


def variant(marked: Marked, pool: Pool, rng: random.Random) -> Marked:
    """Return a marked archive with other words, or other marks, or both."""
    return _relaid(_exchanged(marked, pool, rng) if rng.random() < 0.6 else marked, rng)


def _exchanged(marked: Marked, pool: Pool, rng: random.Random) -> Marked:
    name, parts, spans = language(marked.text), [], []
    reached = length = 0
    for span in marked.spans:
        words = marked.text[span.first : span.last]
        others = pool.get((name, span.tag, span.value if span.tag in ("prio", "state", "tier") else ""), ())
        if span.tag in _EXCHANGED and rng.random() < 0.7 and "\n" not in words and len(others) > 3:
            words = _like(words, rng.choice(others))
        parts += [marked.text[reached : span.first], words]
        length += span.first - reached
        spans.append(span._replace(first=length, last=length + len(words)))
        length += len(words)
        reached = span.last
    return Marked("".join([*parts, marked.text[reached:]]), tuple(spans))


def _like(words: str, other: str) -> str:
    """Return other words with the case and the stop that the first ones have."""
    if words[0].isupper() and other[0].islower():
        other = other[0].upper() + other[1:]
    elif words[0].islower() and other[0].isupper() and other[1:2].islower():
        other = other[0].lower() + other[1:]
    if words[-1] in ".?!" and other[-1] not in ".?!":
        return other + words[-1]
    return other.rstrip(".") or other if words[-1] not in ".?!" else other


def _relaid(marked: Marked, rng: random.Random) -> Marked:
    """Return an archive with other bullets, bold marks, dashes, headings and indents outside of its spans."""
    plans = (
        (r"^[ \t]*([-*+•])(?= )", rng.choice(_BULLETS), 0.3),
        (r"(\*\*)", rng.choice(("", "__", "**", "*")), 0.25),
        (r"(\s[\u2014\u2013]\s)", rng.choice((" - ", ": ", " — ", " -- ", " | ", " → ")), 0.25),
        (r"^(#{1,4} )", rng.choice(("# ", "## ", "### ", "#### ", "**", "")), 0.2),
        (r"^( {2,8})(?=\S)", rng.choice(("  ", "    ", "\t", " ")), 0.15),
    )
    changes: list[tuple[int, int, str]] = []
    for pattern, other, share in plans:
        if rng.random() < share:
            changes += [(*m.span(1), other) for m in re.finditer(pattern, marked.text, re.MULTILINE)]
    inside = bytearray(len(marked.text) + 1)
    for span in marked.spans:
        inside[span.first : span.last] = b"\1" * (span.last - span.first)
    parts: list[str] = []
    moved: list[tuple[int, int]] = []
    reached = 0
    for first, last, other in sorted(changes):
        if first >= reached and not any(inside[first:last]):
            parts += [marked.text[reached:first], other]
            moved.append((first, len(other) - (last - first)))
            reached = last
    text = "".join([*parts, marked.text[reached:]])

    def at(place: int) -> int:
        return place + sum(by for first, by in moved if first < place)

    spans = (
        span._replace(first=at(span.first), last=at(span.first) + span.last - span.first)
        for span in marked.spans
    )
    return Marked(text, tuple(map(Span._make, spans)))
