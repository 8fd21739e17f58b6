"""What a judge's levels mean in practice, measured on whole registers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Level(Enum):
    """How sure a judge is that two decisions cannot both be followed."""

    CONFLICT = "conflict"  # keeps both sides from being carried
    POSSIBLE = "possible"  # listed for a person, blocks nothing
    NONE = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
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


@dataclass(frozen=True, kw_only=True, slots=True)
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
