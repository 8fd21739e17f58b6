"""Which slot a word answers, and with which pole."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from forgekit.conflict.rules import grammar, lexicon
from forgekit.conflict.rules.words import key


@dataclass(frozen=True, slots=True)
class Answer:
    """A slot and the pole that a word takes in it; `opposite`: the poles exclude each other by meaning.

    `topic`: naming an answer already says what is spoken about (tabs, spaces).
    """

    slot: str
    pole: int
    opposite: bool
    topic: bool


@functools.cache
def answers() -> dict[str, tuple[Answer, ...]]:
    """Return the answers of every word and phrase of the tables, by its stem, or `=` and its one form."""
    found: dict[str, dict[Answer, None]] = {}
    for table, opposite in ((lexicon.OPPOSITES, True), (lexicon.CHOICES, False)):
        for slot, pole, name in _rows(table):
            answer = Answer(slot.rstrip("!"), pole, opposite, slot.endswith("!"))
            found.setdefault(name if name[0] == "=" else "_".join(key(name)), {})[answer] = None
    return {name: tuple(kept) for name, kept in found.items()}


@functools.cache
def scopes() -> dict[str, tuple[tuple[str, int], ...]]:
    """Return the scope words: slot and pole, by stem."""
    found: dict[str, dict[tuple[str, int], None]] = {}
    for slot, pole, name in _rows(lexicon.SCOPES):
        found.setdefault("_".join(key(name)), {})[slot, pole] = None
    return {name: tuple(kept) for name, kept in found.items()}


def _rows(table: str) -> Iterator[tuple[str, int, str]]:
    """Return slot, pole and word of each word of a table."""
    for line in grammar.entries(table):
        slot, _, poles = line.partition(":")
        for pole, names in enumerate(poles.split("|")):
            for name in names.split(","):
                yield slot, pole, name.strip()
