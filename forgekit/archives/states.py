"""What the words of a summary mean for a decision or thread, for words that no table of states has.

A linear classifier over words, their places and pieces, fitted by `training/states` on phrases of several
hands. Its weights are whole numbers, so every machine gives the same answer.
"""

from __future__ import annotations

import pkgutil
import re
import unicodedata
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import sqrt

CLASSES = {
    "D": ("none", "active", "reinstated", "superseded", "invalidated", "revised"),
    "T": ("none", "open", "reopened", "resolved", "blocked", "abandoned", "superseded"),
}
"""What a phrase may mean for a kind; `none` is a text of its own."""
BITS = 15
MARGIN = 192
"""How far the best class must lie above the next, times the root of the number of features."""
_NOTED = 700
"""The same for a bracket of a few words."""
ENDS = ("superseded", "invalidated", "resolved", "abandoned")
"""The classes by which a record ends."""
_STOP = re.compile(r"\s*(?:[.:](?!\d)|[;\u3001\u3002\uff1a\u2192\u2013\u2014]|->|\s-\s)\s*")
_OPENING = re.compile(r"[^,(\uff08\uff0c\u3001]{3,40}(?=[,(\uff08\uff0c\u3001])")
_LABEL = re.compile(r"\S{1,12}\s?[:\uff1a]\s*")
_WORDS = 30
_HEAD_WORDS = 12
"""Words before what is new of a record; a longer clause, or a question, is the record's own text."""
_WIDE = 0x2E80
"""The code point from which on letters are read without words."""


def features(text: str) -> list[int]:
    """Return the numbers of the features of a phrase, below 2**BITS."""
    return [zlib.crc32(name.encode()) & ((1 << BITS) - 1) for name in _features(text)]


def _features(text: str) -> Iterator[str]:
    plain = re.sub(r"\d+", "0", unicodedata.normalize("NFKC", text).casefold())
    words = re.findall(r"\w+|[^\w\s]", plain.rstrip(" ."))[:_WORDS]
    for number, word in enumerate(words):
        yield f"w {word}"
        yield f"{'a' if number == 0 else 'b' if number < 3 else 'c'} {word}"
        if number:
            yield f"2 {words[number - 1]} {word}"
        framed = f"<{word}>"
        for size in (3, 4, 5):
            yield from (f"n {framed[at : at + size]}" for at in range(len(framed) - size + 1))
        if ord(word[0]) > _WIDE:
            for size in (1, 2, 3):
                yield from (f"j {word[at : at + size]}" for at in range(len(word) - size + 1))
            yield f"s {word[:2]}"
    yield f"length {min(len(words), 12)}"
    yield f"question {plain.rstrip()[-1:] == '?'}"  # the full-width one is folded
    yield f"end {words[-1] if words else ''}"
    yield "any"


def best(
    weights: Sequence[Sequence[int]], text: str, kind: str, *, margin: int, is_state: bool = False
) -> str | None:
    """Return the class of a phrase whose score lies above all others by the margin, or None.

    Args:
        weights: of each class of the kind, by feature.
        margin: counts times the root of the number of features.
        is_state: leave `none` out.
    """
    name, lead = _first(weights, text, kind, is_state=is_state)
    return name if lead >= margin else None


def _first(
    weights: Sequence[Sequence[int]], text: str, kind: str, *, is_state: bool = False
) -> tuple[str, float]:
    """Return the best class of a phrase, and how far it lies above the next, by the root of the features."""
    found = features(text)
    scores = sorted(
        (sum(map(row.__getitem__, found)), name)
        for name, row in zip(CLASSES[kind], weights, strict=True)
        if not (is_state and name == "none")
    )
    (second, _), (first, name) = scores[-2:]
    return name, (first - second) / sqrt(len(found))


@lru_cache(maxsize=1)
def _weights() -> Mapping[str, Sequence[Sequence[int]]]:
    whole = array("h")
    whole.frombytes(zlib.decompress(pkgutil.get_data(__package__, "states.bin") or b""))
    size = 1 << BITS
    rows = iter(memoryview(whole)[at : at + size] for at in range(0, len(whole), size))
    return {kind: [next(rows) for _ in names] for kind, names in CLASSES.items()}


@lru_cache(maxsize=16_384)  # a fold asks for the phrases of all archives, twice
def meaning_of(text: str, kind: str, *, is_state: bool = False) -> str | None:
    """Return the class of a phrase or of how it begins, the clearer of them, or None.

    Its beginning is its first clause, or goes to the first comma or bracket; of a phrase that is clearly a
    text of its own it is the clause alone.

    Args:
        is_state: the phrase follows a label of states, so it is no text of its own.
    """
    weights, head = _weights()[kind], first_clause(text)
    named = _first(weights, text, kind, is_state=is_state)
    if named[1] < MARGIN or named[0] != "none":
        opening = _OPENING.match(text)
        heads = [each for each in (head, opening.group().rstrip() if opening else "") if each]
        clear = [named, *(_first(weights, each, kind, is_state=is_state) for each in heads)]
        clear = [each for each in clear if each[0] != "none" and each[1] >= MARGIN]
        surest = max(clear, key=lambda each: each[1], default=("", 0.0))[0]
        whole = named[0] if named in clear else ""
        return (whole if {whole, surest} <= {*ENDS} else surest) or None  # of two ends, that of all of it
    clause = best(weights, head, kind, margin=MARGIN, is_state=is_state) if head else None
    return "none" if clause in (None, "none") else clause


def end_noted(text: str, kind: str) -> str:
    """Return the end of a record that a bracket of a few words names, "" where that is not very clear.

    Single words are far from the phrases that were fitted: at `MARGIN` one in ten of any words seems an end.
    """
    found = clear_state(text, kind)
    return found if found in ENDS else ""


def clear_state(text: str, kind: str) -> str:
    """Return the state that a few words name, "" where that is not very clear."""
    found = best(_weights()[kind], text, kind, margin=_NOTED)
    return "" if found in (None, "none") else str(found)


def first_clause(text: str) -> str:
    """Return what precedes the first mark that parts clauses, "" where there is none."""
    stop = _STOP.search(text)
    return text[: stop.start()] if stop else ""


def behind_clause(text: str) -> str:
    """Return what follows the first mark that parts clauses, "" where there is none."""
    stop = _STOP.search(text)
    return text[stop.end() :].strip() if stop else ""


def state_named(text: str, kind: str) -> str:
    """Return the state that a phrase names, "" for a text of its own and for what is not sure."""
    found = meaning_of(text, kind)
    return "" if found in (None, "none") else str(found)


def new_text(text: str, kind: str) -> str:
    """Return the new words that a phrase gives what was revised, "" where it gives none."""
    for match in _STOP.finditer(text):
        head, rest = text[: match.start()], text[match.end() :].strip()
        if len(head.split()) > _HEAD_WORDS or "?" in head:
            break
        if meaning_of(head, kind, is_state=True) == "revised" and len(rest.split()) > 1:
            label = _LABEL.match(rest)
            return rest[label.end() :] if label else rest
    return ""


def behind_state(text: str, kind: str) -> str:
    """Return the words of a phrase behind the clause that is its state; all of it where there are none."""
    head = first_clause(text)
    rest = behind_clause(text) if head else ""
    return rest if len(rest) > 1 and state_named(head, kind) else text
