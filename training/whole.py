"""Whole registers of decisions, with their labelled pairs: what a judge meets in life.

`bank/whole/*.jsonl` holds a register a line: the decisions of one household, team or firm, and the pairs of
them that are not merely two decisions. The shorter ones of `bank/registers/` are joined, a few at a time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from bank import BANK, read_registers


class Relation(Enum):
    """The labels of a pair, in the order of the head's logits: those of `bank.Verdict` and one more."""

    CONTRADICTION = "contradiction"
    DUPLICATE = "duplicate"
    REFINEMENT = "refinement"
    RELATED = "related"
    UNRELATED = "unrelated"
    REPLACEMENT = "replacement"  # one says that it replaces the other


@dataclass(frozen=True, slots=True)
class Whole:
    """A register; a pair that is not in `labels` is of two decisions that can both be followed.

    Attributes:
        labels: of pairs of numbers of decisions, the smaller one first; None where nobody labelled the pair.
    """

    name: str
    decisions: tuple[str, ...]
    labels: Mapping[tuple[int, int], Relation | None]

    @property
    def held_back(self) -> bool:
        """Whether it is for calibration alone."""
        return int(hashlib.sha256(self.name.encode()).hexdigest(), 16) % 8 == 0


def read_whole() -> list[Whole]:
    """Read the registers of `bank/whole/`, ordered by file and place."""
    rows = [
        json.loads(line)
        for path in sorted((BANK / "whole").glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return [
        Whole(
            row["name"],
            tuple(row["decisions"]),
            {(i, j): Relation(label) if label else None for i, j, label in row["pairs"]},
        )
        for row in rows
    ]


def joined(number: int) -> list[Whole]:
    """Return the shorter registers joined, so many at a time: a registry holds several projects."""
    short = [
        _of_lists(register.name, register.decisions, (register.against, register.same, register.detail))
        for register in read_registers()
    ]
    out = []
    for start in range(0, len(short), number):
        decisions: list[str] = []
        labels: dict[tuple[int, int], Relation | None] = {}
        for register in short[start : start + number]:
            base = len(decisions)
            decisions += register.decisions
            labels |= {(base + i, base + j): label for (i, j), label in register.labels.items()}
        out.append(Whole(short[start].name, tuple(decisions), labels))
    return out


def _of_lists(name: str, decisions: Sequence[str], lists: Iterable[Sequence[tuple[int, str]]]) -> Whole:
    """Return a register with the texts that exclude, restate and narrow its decisions among them."""
    texts = list(decisions)
    labels: dict[tuple[int, int], Relation | None] = {}
    beside: dict[int, list[tuple[int, Relation]]] = {}
    for label, rows in zip(Relation, lists, strict=False):
        for at, text in rows:
            labels[at, len(texts)] = label
            for other, of in beside.setdefault(at, []):
                labels[other, len(texts)] = _between(of, label)
            beside[at].append((len(texts), label))
            texts.append(text)
    return Whole(name, tuple(texts), labels)


def _between(one: Relation, other: Relation) -> Relation | None:
    """Return the label of two texts by what each of them is to a third; None where it does not follow."""
    if {one, other} == {Relation.CONTRADICTION, Relation.DUPLICATE}:
        return Relation.CONTRADICTION
    return Relation.DUPLICATE if one is other is Relation.DUPLICATE else None
