"""What the store guarantees, and how far this run went to show it.

A test of a guarantee asks for the fixtures `level` and `guarantee` of `conftest.py`: the first says how
much is to be tried, the second takes down what was reached. Level C is for each change, level N
(`pytest --soak`) for a night. `make soak` collects the tests that use one of the two and no other.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Report = Callable[[str, str, str], None]
"""Takes the guarantee's id such as `G5`, what it says, and the figure that was reached."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Level:
    """How much to try, and from which seed."""

    soak: bool
    seed: int
    minutes: float

    def pick(self, c: int, n: int) -> int:
        """Return the figure of the level in force."""
        return n if self.soak else c

    def random(self, name: str) -> random.Random:
        """Return the random numbers of one test; the same for the same seed and name."""
        return random.Random(f"{self.seed} {name}")  # noqa: S311 - examples, no secrets


def table(rows: Sequence[tuple[str, str, str]], level: Level) -> list[str]:
    """Lay out what was reached, a line for each report, in order of the guarantees."""
    ordered = sorted(dict.fromkeys(rows), key=lambda row: (int(row[0].removeprefix("G")), *row[1:]))
    width = max(len(text) for _, text, _ in ordered)
    head = f"level {'N' if level.soak else 'C'}, seed {level.seed}"
    return [head, *(f"{number:<4} {text:<{width}}  {figure}" for number, text, figure in ordered)]
