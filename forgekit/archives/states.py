"""What the words of a summary mean for a decision or thread, for words that no table of states has.

A small convolutional network over the words of a phrase, fitted by `training/states` on phrases of several
hands. `\u00a7` stands in a phrase for the record that it is asked about: `dropped \u00a7, nobody has time`.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from forgekit.archives.network import convolved, weights

if TYPE_CHECKING:
    from forgekit.archives.network import Floats

CLASSES = {
    "D": ("none", "active", "reinstated", "superseded", "invalidated", "revised"),
    "T": ("none", "open", "reopened", "resolved", "blocked", "abandoned", "superseded"),
}
"""What a phrase may mean for a kind; `none` is a text of its own."""
BUCKETS = 1 << 15
"""Rows of the table of embeddings; a feature's row is its hash."""
WORDS = 28
"""Words of a phrase that are looked at."""
PLACES = 12
"""Numbers that say where a word stands."""
SUBJECT, _OTHER = "\u00a7", "\u00a4"
MARGIN = 0.5
"""How far the score of the best class must lie above the next."""
_UNSURE = 1.5
"""The same where the words of another class speak against it."""
_NOTED = 3.0
"""The same for a bracket of a few words."""
ENDS = ("superseded", "invalidated", "resolved", "abandoned")
"""The classes by which a record ends."""
_STOP = re.compile(r"\s*(?:[.:](?!\d)|[;\u3001\u3002\uff1a\u2192\u2013\u2014]|->|\s-\s)\s*")
_PART = re.compile(rf"{_STOP.pattern}|\s*[,(\uff08\uff0c]\s*")
_LABEL = re.compile(r"\S{1,12}\s?[:\uff1a]\s*")
_HEAD_WORDS = 12
"""Words before what is new of a record; a longer clause, or a question, is the record's own text."""
_WIDE = 0x2E80
"""The code point from which on letters are read without words."""
_ID = re.compile(r"(?<![^\W_])[^\W\d_]{1,5}[-.#]?\d+(?![^\W_])")
_LAST = 20
"""The place of a word from which on no difference is made."""


def words_of(text: str) -> list[str]:
    """Return the words and signs of a phrase, its numbers and ids as one sign each."""
    plain = _ID.sub(_OTHER, unicodedata.normalize("NFKC", text).casefold().rstrip(" ."))
    found: list[str] = []
    for word in re.findall(r"\w+|[^\w\s]", re.sub(r"\d+", "0", plain)):
        found += word if ord(word[0]) > _WIDE else [word]
        if len(found) >= WORDS:
            break
    return found[:WORDS] or [""]


@lru_cache(maxsize=1 << 14)
def features(word: str) -> list[int]:
    """Return the rows of the table of embeddings that a word adds up."""
    names = [f"w{word}"]
    if word.isalpha() and ord(word[0]) <= _WIDE and len(word) > 3:
        framed = f"<{word}>"
        names += (f"n{framed[at : at + n]}" for n in (3, 4, 5) for at in range(len(framed) - n + 1))
    return [zlib.crc32(name.encode()) % BUCKETS for name in names]


def places(words: Sequence[str]) -> list[list[float]]:
    """Return `PLACES` numbers of each word: where it stands, and how far from what the phrase is about."""
    subject = words.index(SUBJECT) if SUBJECT in words else None
    rows = []
    for place in range(len(words)):
        away = 0 if subject is None else place - subject
        near = (subject is not None, away < 0, 0 < away <= 2, away > 2, place == len(words) - 1)
        first = [place == each for each in range(4)]
        rows.append(
            [*map(float, (*first, place > 3, *near)), round(64 * min(place, _LAST) / _LAST) / 64, 1.0]
        )
    return rows


@lru_cache(maxsize=16_384)  # a fold asks for the phrases of all archives, twice
def _scores(text: str) -> Floats:
    found: Floats = scores([text], weights("states.bin"))[0]
    return found


def scores(texts: Sequence[str], w: Mapping[str, Floats]) -> Floats:
    """Return the score of each class of each kind, those of `CLASSES` one behind the other, for each text."""
    import numpy as np  # for readers alone

    words = [words_of(text) for text in texts]
    rows = [features(word) for some in words for word in some]
    offsets = np.cumsum([0, *map(len, rows[:-1])])
    embedded = np.add.reduceat(w["embedding"][[row for some in rows for row in some]], offsets)
    placed = np.concatenate([embedded, [row for some in words for row in places(some)]], axis=1)
    begins = np.cumsum([0, *(len(some) + 1 for some in words)])  # an empty row parts two texts
    is_word = np.ones((int(begins[-1]), 1))
    is_word[begins[1:] - 1] = 0
    x = np.zeros((len(is_word), placed.shape[1]))
    x[is_word[:, 0] > 0] = placed
    one = convolved(x, w, "first") * is_word
    two = convolved(one, w, "second") * is_word
    pooled = [np.maximum.reduceat(each, begins[:-1]) for each in (one, two)]
    found: Floats = np.concatenate(pooled, axis=1) @ w["out"] + w["bias"]
    return found


def best(found: Floats, kind: str, *, is_state: bool = False) -> tuple[str, float]:
    """Return the class of a kind with the highest score, and how far it lies above the next.

    Args:
        found: a row of `scores`.
        is_state: leave `none` out.
    """
    names = CLASSES[kind]
    own = found[: len(names)] if kind == "D" else found[-len(names) :]
    pairs = sorted(zip(own.tolist(), names, strict=True))
    (second, _), (first, name) = [pair for pair in pairs if not (is_state and pair[1] == "none")][-2:]
    return name, first - second


def surest(text: str, kind: str, *, is_state: bool = False) -> tuple[str, float]:
    """Return the likeliest class of a phrase, and how clear it is; arguments as of `meaning_of`."""
    about = text if is_state or SUBJECT in text else f"{SUBJECT} {text}"
    return _surest(about, _scores(about), kind, is_state=is_state)


def surest_of(texts: Sequence[str]) -> list[Mapping[str, tuple[str, float]]]:
    """Return the likeliest class of each phrase for each kind, and how clear it is."""
    found = scores(texts, weights("states.bin")) if texts else ()
    return [
        {kind: _surest(text, row, kind) for kind in CLASSES} for text, row in zip(texts, found, strict=True)
    ]


def _surest(text: str, found: Floats, kind: str, *, is_state: bool = False) -> tuple[str, float]:
    name, lead = best(found, kind, is_state=is_state)
    if name == "invalidated" and lead < _UNSURE and _OTHER in words_of(text):
        return "superseded", lead  # what ends a decision, and has an id, took its place
    return name, lead


def meaning_of(text: str, kind: str, *, is_state: bool = False) -> str | None:
    """Return the class of a phrase, or None where it is not clear.

    Args:
        is_state: the phrase follows a label of states, so it is no text of its own.
    """
    name, lead = surest(text, kind, is_state=is_state)
    return name if lead >= MARGIN else None


def end_noted(text: str, kind: str) -> str:
    """Return the end of a record that a bracket of a few words names, "" where that is not very clear.

    Single words are far from the phrases that were fitted.
    """
    found = clear_state(text, kind)
    return found if found in ENDS else ""


def clear_state(text: str, kind: str) -> str:
    """Return the state that a few words name, "" where that is not very clear."""
    name, lead = best(_scores(text), kind)
    return "" if lead < _NOTED or name == "none" else name


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
    """Return what is behind the first words of a phrase that name its state; all of it without such."""
    state = state_named(text, kind)
    for match in _PART.finditer(text):
        head, rest = text[: match.start()], text[match.end() :].strip(" )\uff09")
        if len(head.split()) > _HEAD_WORDS:
            break
        if len(rest) > 1 and state_named(head, kind) in {state or "none", "resolved", "abandoned"} - {"none"}:
            return rest
    return text
