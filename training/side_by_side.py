"""Pairs out of whole registers: most of what a scan compares stands side by side in one project.

Pairs that were written as such tell little of it. Two decisions of one project share its words, people and
numbers, and are near in meaning; a judge that has not met many of them takes some for contradictions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from random import Random

from bank import Register, Verdict, Written
from pairs import Pair
from phrasing import dressed

from forgekit.text.words import shared

_NEAR = 40
"""Pairs of one register that are near each other and met; a folder of titles has hundreds."""


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


def tied(registers: Sequence[Register]) -> list[Written]:
    """Return pairs that tie all that a register says, so that strangers are of different registers."""
    return [
        Written(label=Verdict.RELATED.value, a=register.decisions[0], b=text)
        for register in registers
        for text in (*register.decisions[1:], *(text for _, text in (*register.same, *register.detail)))
    ]


def near_beside(registers: Sequence[Register], seed: int) -> list[Pair]:
    """Return pairs of decisions of one register that share a telling word: what a scan compares.

    Up to `_NEAR` of a register, as they stand.
    """
    random = Random(seed)
    told = ([pair for pair in all_beside([one]) if pair.label is Verdict.RELATED] for one in registers)
    return [pair for near in told for pair in random.sample(near, min(len(near), _NEAR))]


def beside(registers: Sequence[Register], seed: int) -> list[Pair]:
    """Return pairs of decisions of one register that stand side by side, to train on.

    The near ones are met as they stand and put otherwise; half as many share no telling word.
    """
    random = Random(seed)
    near = near_beside(registers, seed)
    far = [pair for pair in all_beside(registers) if pair.label is Verdict.UNRELATED]
    again = [replace(pair, a=dressed(random, pair.b), b=dressed(random, pair.a)) for pair in near]
    return [*near, *again, *random.sample(far, min(len(near) // 2, len(far)))]


def all_beside(registers: Sequence[Register]) -> list[Pair]:
    """Return all pairs of decisions of one register that stand side by side, as they stand."""
    return [
        Pair(a, b, Verdict.RELATED if shared(a, b) else Verdict.UNRELATED, "beside", "")
        for a, b in _pairs(registers)
    ]


def _pairs(registers: Sequence[Register]) -> Iterator[tuple[str, str]]:
    for register in registers:
        told = [*enumerate(register.decisions), *register.same, *register.detail]
        yield from ((a, b) for (i, a), (j, b) in combinations(told, 2) if i != j)
