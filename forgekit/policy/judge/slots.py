"""Which slot a word answers, and with which pole."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from forgekit.policy.judge import lexicon
from forgekit.policy.judge.words import key


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
    """Return the answers of every word and phrase of the tables, by its stem; `=` before one means: in this form alone."""
    found: dict[str, list[Answer]] = {}
    for table, opposite in ((lexicon.OPPOSITES, True), (lexicon.CHOICES, False)):
        for line in table.strip().splitlines():
            slot, _, poles = line.partition(":")
            for pole, names in enumerate(poles.split("|")):
                for name in names.split(","):
                    answer = Answer(slot.rstrip("!"), pole, opposite, slot.endswith("!"))
                    name = name.strip()
                    kept = found.setdefault(name if name[0] == "=" else "_".join(key(name)), [])
                    if answer not in kept:
                        kept.append(answer)
    return {name: tuple(kept) for name, kept in found.items()}


@functools.cache
def scopes() -> dict[str, tuple[tuple[str, int], ...]]:
    """Return the scope words: slot and pole, by stem."""
    found: dict[str, list[tuple[str, int]]] = {}
    for line in lexicon.SCOPES.strip().splitlines():
        slot, _, poles = line.partition(":")
        for pole, names in enumerate(poles.split("|")):
            for name in names.split(","):
                found.setdefault("_".join(key(name)), []).append((slot, pole))
    return {name: tuple(dict.fromkeys(kept)) for name, kept in found.items()}
