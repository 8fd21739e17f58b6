"""Archives with their spans marked, `⟦code.value|text⟧`, as examples for the tagger.

A caret before the code says that the field belongs to the record that follows. `read_examples` reads a zip of
them; an example's tags are aligned with the tokens that the reader sees, wrappers and quotes taken off.
"""

from __future__ import annotations

import random
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from forgekit.archives.document import own_lines, read_document
from forgekit.archives.tagger import FIRST_VALUE, TAGS, VALUES
from forgekit.archives.tokens import Tokens, tokens_of

_OPENING = r"⟦(\^?)([A-Za-z]+)(?:\.([^|⟦⟧]*))?\|"
MARK, _EDGE = re.compile(rf"{_OPENING}([^⟦⟧]*)⟧"), re.compile(rf"{_OPENING}|⟧")
NO_VALUE = -1
FACTS = ("tag", "parent", "project", "date")
"""What a head states of its archive."""
HEAD_LINES = 14
_OF_ARCHIVE = re.compile(r"⟦\^?(?:tag|parent)")


class Span(NamedTuple):
    """A marked stretch of a text."""

    first: int
    last: int
    tag: str
    value: str
    forward: bool


@dataclass(frozen=True, slots=True)
class Marked:
    """A text and its spans, in order."""

    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """Tokens with what the tagger should say of each: tag, value (or `NO_VALUE`), forward.

    `likely` are the probabilities of the tags by other taggers, [tokens, tags].
    """

    tokens: Tokens
    tags: NDArray[np.int64]
    values: NDArray[np.int64]
    forward: NDArray[np.float64]
    likely: NDArray[np.float32] | None = None


def unmarked(text: str) -> Marked:
    """Return a text without its marks, and the spans that they had; one around another is in parts."""
    parts: list[str] = []
    spans: list[Span] = []
    around: list[tuple[str, str, bool]] = []
    reached = length = begun = 0
    for match in _EDGE.finditer(text):
        parts.append(text[reached : match.start()])
        length += len(parts[-1])
        reached = match.end()
        if around and parts[-1].strip() and around[-1][0] in TAGS:
            spans.append(Span(begun, length, *around[-1]))
        if match[2]:
            around.append((match[2], match[3] or "", match[1] != ""))
        elif around:
            around.pop()
        begun = length
    return Marked("".join([*parts, text[reached:]]), tuple(spans))


def read_beginnings(path: Path, count: int, rng: random.Random) -> Iterator[tuple[str, Marked]]:
    """Yield name and first lines of archives that name themselves or a parent there, with marks of facts."""
    found = [pair for pair in read_texts(path) if _OF_ARCHIVE.search(_beginning(pair[1]))]
    for name, text in rng.sample(found, min(count, len(found))):
        yield name, unmarked(MARK.sub(lambda m: m[0] if m[2] in FACTS else m[4], _beginning(text)))


def _beginning(text: str) -> str:
    return "\n".join(text.split("\n")[:HEAD_LINES])


def read_texts(path: Path) -> Iterator[tuple[str, str]]:
    """Yield name and text of every archive in a zip, marks included."""
    with zipfile.ZipFile(path) as archives:
        for name in sorted(archives.namelist()):
            if name.endswith(".md"):
                yield name, archives.read(name).decode()


def read_examples(path: Path) -> Iterator[tuple[str, Marked]]:
    """Yield name and text of every archive in a zip."""
    for name, text in read_texts(path):
        yield name, unmarked(text)


def value_of(span: Span) -> int:
    """Return the number of a span's value among all values, or NO_VALUE."""
    names = VALUES.get(span.tag, ())
    if span.tag == "tier":
        try:
            tier = float(span.value)
        except ValueError:
            return NO_VALUE
        return FIRST_VALUE["tier"] + min(range(5), key=lambda n: abs(float(names[n]) - tier))
    if not names:
        return NO_VALUE
    value = span.value or names[0]
    return FIRST_VALUE[span.tag] + names.index(value) if value in names else NO_VALUE


def example(marked: Marked) -> Example:
    """Return the tokens of a marked text as the reader sees them, with their tags."""
    document = read_document(marked.text)
    own = own_lines(document, code=True)
    tokens = tokens_of(document.lines, own)
    said = tokens_of(marked.text.split("\n"), [True] * (marked.text.count("\n") + 1))
    begins = [0]
    for line in marked.text.split("\n"):
        begins.append(begins[-1] + len(line) + 1)
    labels = np.zeros((len(said.texts), 3), dtype=np.int64)
    labels[:, 1] = NO_VALUE
    places = np.array([begins[line] + first for line, first, _ in said.lines], dtype=np.int64)
    for span in marked.spans:
        inside = (places >= span.first) & (places < span.last)
        labels[inside] = TAGS.index(span.tag), value_of(span), span.forward
    found = np.zeros((len(tokens.texts), 3), dtype=np.int64)
    found[:, 1] = NO_VALUE
    for of_read, of_said in _aligned(tokens, said):
        found[of_read] = labels[of_said]
    return Example(tokens, found[:, 0], found[:, 1], found[:, 2].astype(np.float64))


def _aligned(read: Tokens, said: Tokens) -> Iterator[tuple[int, int]]:
    """Yield which token as read is which token of the marked text, line by line."""
    ours, theirs = _by_line(read), _by_line(said)
    for line, of_read in ours.items():
        of_said = theirs.get(line, [])
        a, b = [read.texts[n] for n in of_read], [said.texts[n] for n in of_said]
        if a == b:
            yield from zip(of_read, of_said, strict=True)
            continue
        for i, j, size in SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks():
            yield from zip(of_read[i : i + size], of_said[j : j + size], strict=True)


def _by_line(tokens: Tokens) -> dict[int, Sequence[int]]:
    found: dict[int, list[int]] = {}
    for n, (line, _, _) in enumerate(tokens.lines):
        found.setdefault(line, []).append(n)
    return dict(found)
