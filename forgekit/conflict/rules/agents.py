"""Who does a thing by the text, who alone may do it, and before or after what it happens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from forgekit.conflict.rules import grammar
from forgekit.conflict.rules.lexicon.people import EXCLUSIVE, PEOPLE, RULING
from forgekit.conflict.rules.terms import FILLERS
from forgekit.conflict.rules.words import Word, concepts, stem


class Mode(Enum):
    """How an agent stands to a deed."""

    DOES = "does"  # and one alone does it as a rule
    MAY = "may"
    ONLY = "only"


@dataclass(frozen=True, slots=True)
class Agent:
    """Those who do something.

    Attributes:
        deed: the concept of the verb; "" where any.
        people: the concepts of the words that name them.
        shown: these words as the text writes them.
    """

    mode: Mode
    deed: str
    people: frozenset[str]
    shown: str


def _folded(names: frozenset[str]) -> frozenset[str]:
    table = concepts()
    return frozenset(table.get((stem(name),), stem(name)) for name in names)


_PEOPLE = _folded(PEOPLE)
_RULING = _folded(RULING)
_MODALS = frozenset(("can", "may"))
_NAME_LIMIT = 6  # words of a name


def agents(words: Sequence[Word]) -> Iterator[Agent]:
    """Return who does, may do or alone may do what a segment says."""
    for at, word in enumerate(words):
        negated = at + 1 < len(words) and words[at + 1].raw in grammar.NEGATORS
        if word.raw in EXCLUSIVE or (word.raw == "only" and at == 0):
            yield from _agent(Mode.ONLY, "", words[at + 1 : at + 1 + _NAME_LIMIT])
        elif word.raw in _MODALS and at and words[0].raw != "only" and not negated:
            yield from _agent(Mode.MAY, "", words[max(0, at - _NAME_LIMIT) : at])
        elif word.concept in _RULING and at:
            by = next((i for i in range(at + 1, min(at + 3, len(words))) if words[i].raw == "by"), None)
            if by is not None:
                yield from _agent(Mode.DOES, word.concept, words[by + 1 : by + 1 + _NAME_LIMIT])
            elif not any(w.raw in grammar.BE | grammar.NEGATORS | grammar.AUXILIARIES for w in words[:at]):
                yield from _agent(Mode.DOES, word.concept, words[max(0, at - _NAME_LIMIT) : at])


def _agent(mode: Mode, deed: str, words: Sequence[Word]) -> Iterator[Agent]:
    """Read the name of people that opens a stretch."""
    name: list[Word] = []
    for word in words:
        if word.raw in FILLERS and word.raw not in grammar.ARTICLES:
            break
        if word.raw not in FILLERS:
            name.append(word)
    people = frozenset(word.concept for word in name)
    if people & _PEOPLE:
        yield Agent(mode, deed, people, " ".join(word.raw for word in name))


def moments(words: Sequence[Word]) -> Iterator[tuple[str, str]]:
    """Return what a segment puts before or after what: "before" or "after", and a concept."""
    for at, word in enumerate(words):
        if word.raw in {"before", "after"}:
            for follower in words[at + 1 : at + 4]:
                if follower.raw[0].isalpha() and follower.raw not in FILLERS:
                    yield word.raw, follower.concept
                    break
