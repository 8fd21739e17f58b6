"""A value that a text names: what it measures, how much, and whether it is a bound.

A *dimension* is what two quantities must share to be compared: `time` (seconds), `size` (bytes), `percent`,
`money`, `length`, `mass`, `degree`, `count:<noun>`, `label:<noun>` (port 8080, UUID v7), `every` (seconds
from one time to the next), `clock` (hours), `date` and `day` (of the month), `year`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

_ROOM = {"time": 0.02, "every": 0.02, "size": 0.05}
"""How far two values may lie apart and still be one: 30 days are a month, 1,000 kB a mebibyte."""


class Bound(Enum):
    """What a quantity says about the values it allows."""

    EXACT = "exactly"
    MOST = "at most"
    LEAST = "at least"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with what it measures, in the dimension's base unit.

    Attributes:
        number: the place of the number.
        places: the places of all its words, unit and counted noun included.
        shown: as the text says it.
    """

    dimension: str
    value: float
    bound: Bound
    number: int
    places: frozenset[int]
    shown: str


def differ(a: Quantity, b: Quantity) -> bool:
    """Whether no value satisfies both, or both set one limit to different values."""
    if a.dimension != b.dimension:
        return False
    if same(a, b):
        return False
    if a.bound is b.bound:
        return True
    low, high = (a, b) if a.value < b.value else (b, a)
    return low.bound is not Bound.LEAST and high.bound is not Bound.MOST


def same(a: Quantity, b: Quantity) -> bool:
    """Whether two quantities are one value of one dimension."""
    if a.dimension == b.dimension == "clock":
        return (a.value - b.value) % 12 == 0  # "at nine" is either
    room = _ROOM.get(a.dimension, 1e-9) * max(abs(a.value), abs(b.value))
    return a.dimension == b.dimension and abs(a.value - b.value) <= room
