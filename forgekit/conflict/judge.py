"""The port of every conflict judge: what it is given and what it answers.

A judgement is a function of the two texts, their rejected alternatives and their cosine. It is the same for
(a, b) and (b, a), and does not depend on the other pairs of a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from forgekit.conflict.calibration import Calibration, Level
from forgekit.model.problem import Problem

__all__ = ["Judge", "Judgement", "Level", "Statement"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """One decision as a judge reads it."""

    text: str
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """A judge's answer on a pair.

    Attributes:
        probability: of a contradiction, rounded to 3 digits; 0 if the cosine alone excludes both levels.
        duplicate: the two texts say the same.
        words: of the first and of the second text, those that weighed most, the heaviest first.
        reason: one line for people.
    """

    probability: float
    level: Level
    duplicate: bool = False
    words: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    reason: str = ""


class Judge(Protocol):
    """Judges whether both decisions of a pair can be followed."""

    @property
    def version(self) -> str:
        """Part of the key of a cached judgement; changes whenever any judgement may."""

    @property
    def calibration(self) -> Calibration | None:
        """What to expect of its levels; None where nobody measured it."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What went wrong since the judge was made, such as pairs left unjudged."""

    def judge(
        self, pairs: Sequence[tuple[Statement, Statement]], cosines: Sequence[float]
    ) -> Sequence[Judgement | None]:
        """Return one judgement a pair; None where the judge could not judge it.

        Args:
            pairs: in any order.
            cosines: of each pair's texts, -1 to 1.

        Raises FormatError where the judge's files turn out unreadable.
        """
