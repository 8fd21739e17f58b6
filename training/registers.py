"""Pairs out of whole registers: most of what a scan compares stands side by side in one project.

Pairs that were written as such tell little of it. Two decisions of one project share its words, people and
numbers, and are near in meaning; a judge that has not met many of them takes some for contradictions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from random import Random

from bank import Register, Written
from pairs import Pair
from phrasing import dressed

from forgekit.policy.judge import Verdict
from forgekit.policy.relevance import shared


def named(registers: Sequence[Register]) -> list[Written]:
    """Return the pairs that registers name: what excludes, restates and narrows each decision."""
    return [
        Written(label=label.value, a=register.decisions[at], b=text)
        for register in registers
        for label, told in (
            (Verdict.CONTRADICTION, register.against),
            (Verdict.DUPLICATE, register.same),
            (Verdict.REFINEMENT, register.detail),
        )
        for at, text in told
    ]


def beside(registers: Sequence[Register], seed: int) -> list[Pair]:
    """Return the pairs of decisions of one register that stand side by side.

    Each is met once as it stands; what shares a telling word once more, put otherwise.
    """
    random = Random(seed)
    out = []
    for a, b in _pairs(registers):
        near = shared(a, b)
        label = Verdict.RELATED if near else Verdict.UNRELATED
        sides = [(a, b), (dressed(random, a), dressed(random, b))]
        for left, right in sides[: 2 if near else 1]:
            turned = random.random() < 0.5
            out.append(Pair(*((right, left) if turned else (left, right)), label, "beside", ""))
    return out


def _pairs(registers: Sequence[Register]) -> Iterator[tuple[str, str]]:
    for register in registers:
        told = [*enumerate(register.decisions), *register.same, *register.detail]
        yield from ((a, b) for (i, a), (j, b) in combinations(told, 2) if i != j)
