"""The port of every conflict judge: what it is given and what it answers.

A judgement is a function of the two texts, their rejected alternatives and their cosine. It is the same for
(a, b) and (b, a), and does not depend on the other pairs of a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from forgekit.frozen import frozen
from forgekit.model.problem import Problem


@frozen(kw_only=True)
class Statement:
    """One decision as a judge reads it."""

    text: str
    alternatives: tuple[str, ...] = ()


@frozen(kw_only=True)
class Judgement:
    """A judge's answer on a pair.

    Attributes:
        probability: of a contradiction, rounded to 3 digits; 0 if the cosine alone excludes both levels.
        words: of the first and of the second text, those that weighed most, the heaviest first.
        reason: one line for people.
    """

    probability: float
    level: Level
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


class Level(Enum):
    """A judge's answer on a pair: how surely both cannot be followed, or another relation."""

    CONFLICT = "conflict"  # keeps both sides from being carried
    POSSIBLE = "possible"  # listed for a person, blocks nothing
    REPLACEMENT = "replacement"  # one of the texts states that it replaces the other
    DUPLICATE = "duplicate"  # they say the same
    NONE = "none"

    @property
    def state(self) -> str:
        """What lists call a pair of this level that no verdict answers: `found` or `possible`."""
        return "found" if self is Level.CONFLICT else "possible"


@frozen(kw_only=True)
class LevelCalibration:
    """One level of a judge.

    Attributes:
        threshold: probability from which a pair has this level.
        expected_precision: share of the flags at this level that are contradictions, 0 to 1.
        per_100: flags at this level to expect in a register of 100 decisions.
    """

    threshold: float
    expected_precision: float
    per_100: float


@frozen(kw_only=True)
class Calibration:
    """Both levels of a judge; `possible` leaves out what is a conflict."""

    conflict: LevelCalibration
    possible: LevelCalibration

    def level(self, probability: float) -> Level:
        """Return the level of a pair by the probability that it is a contradiction."""
        if probability >= self.conflict.threshold:
            return Level.CONFLICT
        return Level.POSSIBLE if probability >= self.possible.threshold else Level.NONE

    def __str__(self) -> str:
        return "; ".join(
            f"{name} from {level.threshold:g} on, expected precision {level.expected_precision:.2f}, "
            f"{level.per_100:g} per 100 decisions"
            for name, level in (("conflict", self.conflict), ("possible conflict", self.possible))
        )
