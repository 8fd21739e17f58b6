"""What the judge learns from: labelled pairs, and whole registers of decisions with their labelled pairs.

`bank/pairs/*.jsonl` holds a labelled pair a line. `bank/registers/*.jsonl` holds a register a line: the
decisions of one household, team or firm, and the pairs of them that are not merely two decisions. All of it
was written for this purpose.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

BANK = Path(__file__).with_name("bank")


class Verdict(Enum):
    """The labels of a pair, in the order of the head's logits."""

    CONTRADICTION = "contradiction"  # they cannot both be followed
    DUPLICATE = "duplicate"  # they say the same
    REFINEMENT = "refinement"  # one narrows, scopes or adds to the other
    RELATED = "related"  # one topic, independent of each other
    UNRELATED = "unrelated"
    REPLACEMENT = "replacement"  # one says that it replaces the other


@dataclass(frozen=True, slots=True)
class Pair:
    """Two decisions and their label."""

    a: str
    b: str
    label: Verdict


@dataclass(frozen=True, slots=True)
class Register:
    """A register; a pair that is not in `labels` is of two decisions that can both be followed.

    Attributes:
        labels: of pairs of numbers of decisions, the smaller one first; None where nobody labelled the pair.
    """

    name: str
    decisions: tuple[str, ...]
    labels: Mapping[tuple[int, int], Verdict | None]

    @property
    def held_back(self) -> bool:
        """Whether it is for calibration alone; only registers as long as real ones are."""
        digest = hashlib.sha256(self.name.encode()).hexdigest()
        return len(self.decisions) > _SHORT and int(digest, 16) % 5 == 0


_SHORT = 55


def read_pairs(folder: Path = BANK / "pairs", *, held: bool = False) -> list[Pair]:
    """Read the pairs that were written one by one; the files `validation*` are held back."""
    rows = [
        json.loads(line)
        for path in sorted(folder.glob("*.jsonl"))
        if path.stem.startswith("validation") is held
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return [Pair(row["a"], row["b"], Verdict(row["label"])) for row in rows]


def read_registers(folder: Path = BANK / "registers") -> list[Register]:
    """Read all registers, ordered by file and place."""
    rows = [
        json.loads(line)
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return [
        Register(
            row["name"],
            tuple(row["decisions"]),
            {(i, j): Verdict(label) if label else None for i, j, label in row["pairs"]},
        )
        for row in rows
    ]


def joined(registers: list[Register], number: int) -> list[Register]:
    """Join short registers, so many at a time: a person's registry holds several projects."""
    short = [register for register in registers if len(register.decisions) <= _SHORT]
    out = [register for register in registers if len(register.decisions) > _SHORT]
    for start in range(0, len(short), number):
        decisions: list[str] = []
        labels: dict[tuple[int, int], Verdict | None] = {}
        for register in short[start : start + number]:
            base = len(decisions)
            decisions += register.decisions
            labels |= {(base + i, base + j): label for (i, j), label in register.labels.items()}
        out.append(Register(short[start].name, tuple(decisions), labels))
    return out
