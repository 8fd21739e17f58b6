"""Texts that were written for different pairs, and share a word: what a scan of several projects meets.

Two such decisions have nothing to do with each other. A judge that knows only pairs that were written as such
takes some for contradictions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from random import Random

import numpy as np
from bank import Verdict, Written
from numpy.typing import NDArray
from pairs import Pair

from forgekit.text.words import words

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
"""Returns a unit vector for each text."""

_NEAREST = 6  # by shared rare words; one of them is met
_COMMON = 300  # texts with one word that are looked at
_SAME, _NEAR = 0.45, 0.3  # cosines: above, both may concern one thing; above, they are related
_TRIES = 2  # a pair that is made may be too near


def strangers(written: Sequence[Written], encode: Encode, seed: int, number: int) -> list[Pair]:
    """Return pairs of texts of different written pairs that share a telling word.

    Half of them have a second sentence: what another pair says of the same decision.

    Args:
        written: the pairs; texts that are tied by any of them never meet.
        encode: tells how near two texts are in meaning.
        seed: of every choice that is made.
        number: of pairs, at most.
    """
    random = Random(seed)
    group, more = _tied(written)
    texts = sorted(group)
    told = {text: words(text) for text in texts}
    having: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        for word in told[text]:
            having[word].append(text)
    met = []
    for text in random.sample(texts, min(len(texts), _TRIES * number)):
        near: dict[str, float] = defaultdict(float)
        for word in told[text]:
            for other in random.sample(having[word], min(len(having[word]), _COMMON)):
                if group[other] != group[text]:
                    near[other] += 1 / len(having[word])
        best = sorted(near, key=lambda other: (-near[other], other))[:_NEAREST]
        if best:
            met.append((text, random.choice(best)))
    known = sorted({text for pair in met for text in pair})
    row = {text: at for at, text in enumerate(known)}
    vectors = encode(known)
    out = []
    for a, b in met:
        cosine = float(vectors[row[a]] @ vectors[row[b]])
        if cosine < _SAME:
            label = Verdict.UNRELATED if cosine < _NEAR else Verdict.RELATED
            sides = (a, b) if random.random() < 0.5 else (_longer(random, a, more), _longer(random, b, more))
            out.append(Pair(*sides, label, "strangers", ""))
    return out[:number]


def _tied(written: Sequence[Written]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the group of each text, and of each what says the same or details it."""
    group: dict[str, str] = {}
    members: dict[str, list[str]] = {}
    more: dict[str, list[str]] = defaultdict(list)
    for pair in written:
        for text in (pair.a, pair.b):
            if text not in group:
                group[text], members[text] = text, [text]
        left, right = group[pair.a], group[pair.b]
        if left != right:
            for text in members[right]:
                group[text] = left
            members[left] += members.pop(right)
        if pair.label in {Verdict.DUPLICATE.value, Verdict.REFINEMENT.value}:
            more[pair.a].append(pair.b)
            more[pair.b].append(pair.a)
    return group, more


def _longer(random: Random, text: str, more: Mapping[str, Sequence[str]]) -> str:
    """Return a text and a second sentence that goes with it, where there is one."""
    if text not in more:
        return text
    return f"{text.rstrip('.')}. {random.choice(more[text])}"
