"""Merging one value: what a merge keeps account of, and the rules for texts, times, sets and maps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

from forgekit.model.entity import Entity
from forgekit.times import UNKNOWN

E = TypeVar("E", bound=Entity)


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldConflict:
    """One field that both sides changed, each in its own way.

    Attributes:
        field: a front-matter key; `records.D001` for one entry of a map; `body` or `## Context` for the
            text before the first section or a section; "" for the entity as a whole.
        base: None where the base lacks it; the same for the others.
        stands: what is in the result.
        yields: what is not.
    """

    field: str
    base: object
    stands: object
    yields: object


@dataclass(frozen=True, kw_only=True, slots=True)
class Merged(Generic[E]):
    """A merged entity (None: deleted), valid even where conflicts are left.

    Attributes:
        conflicts: what a person has to choose.
        outlived: what a rule on times or states has settled.
    """

    entity: E | None
    conflicts: tuple[FieldConflict, ...] = ()
    outlived: tuple[FieldConflict, ...] = ()


class Sides(NamedTuple):
    """One value in the base and on both sides."""

    base: Any
    ours: Any
    theirs: Any


ABSENT = object()
"""The value of a key that is not in a map."""


class Ledger:
    """What one merge has found.

    Args:
        symmetric: whether the value that stands in a conflict follows from the values alone; else ours.
    """

    def __init__(self, *, symmetric: bool) -> None:
        self.symmetric = symmetric
        self.conflicts: list[FieldConflict] = []
        self.outlived: list[FieldConflict] = []

    def clash(self, name: str, sides: Sides) -> Any:
        """Leave the choice to a person and return the value that stands meanwhile."""
        stands = self.preferred(sides)
        self.note(self.conflicts, name, sides, stands)
        return stands

    def preferred(self, sides: Sides) -> Any:
        """Return the value that stands where no rule says which."""
        return max(sides.ours, sides.theirs, key=_weight) if self.symmetric else sides.ours

    def note(self, where: list[FieldConflict], name: str, sides: Sides, stands: Any) -> None:
        """Add what stands and what yields."""
        yields = sides.theirs if stands is sides.ours else sides.ours
        base, stands, yields = (None if each is ABSENT else each for each in (sides.base, stands, yields))
        where.append(FieldConflict(field=name, base=base, stands=stands, yields=yields))


Rule = Callable[[str, Sides, Ledger], Any]
"""Merges a named value that both sides changed."""


def _weight(value: Any) -> tuple[bool, str]:
    """Order values of one field: something over nothing, then by text."""
    if value is None or value is ABSENT:
        return False, ""
    if isinstance(value, Enum):
        value = value.value
    return True, value if isinstance(value, str) else repr(value)


def settle(sides: Sides, otherwise: Callable[[], Any]) -> Any:
    """Return the value where at most one side changed it, else what `otherwise` says."""
    if sides.theirs == sides.ours:
        # Equal maps may differ in order, equal numbers in sign: the same one from either side.
        varied = isinstance(sides.ours, (dict, list, float))
        return max(sides.ours, sides.theirs, key=repr) if varied else sides.ours
    if sides.theirs == sides.base:
        return sides.ours
    return sides.theirs if sides.ours == sides.base else otherwise()


def value(name: str, sides: Sides, ledger: Ledger) -> Any:
    """Leave the choice to a person."""
    return ledger.clash(name, sides)


def later(name: str, sides: Sides, ledger: Ledger) -> Any:
    """Let the later time stand."""
    stands = max(sides.ours, sides.theirs)
    ledger.note(ledger.outlived, name, sides, stands)
    return stands


def earlier(name: str, sides: Sides, ledger: Ledger) -> Any:
    """Let the earlier time stand; any stands over one that nobody said."""
    stands = min(sides.ours, sides.theirs, key=lambda moment: (moment == UNKNOWN, moment))
    ledger.note(ledger.outlived, name, sides, stands)
    return stands


def greater(name: str, sides: Sides, ledger: Ledger) -> Any:
    """Let the greater number stand; any stands over none."""
    stands = max(sides.ours, sides.theirs, key=lambda number: -1 if number is None else number)
    ledger.note(ledger.outlived, name, sides, stands)
    return stands


def ids(_name: str, sides: Sides, _ledger: Ledger) -> Any:
    """Merge a set of ids, sorted."""
    return tuple(sorted(united(sides)))


def lines(_name: str, sides: Sides, _ledger: Ledger) -> Any:
    """Merge a list of texts."""
    return tuple(_ordered(united(sides), sides))


def pairs(name: str, sides: Sides, ledger: Ledger) -> Any:
    """Merge (local id, id) pairs; without a local id the id is the key, as in the file."""
    maps = ({local or entity: (local, entity) for local, entity in side or ()} for side in sides)
    return tuple(keyed(f"{name}.", Sides._make(maps), ledger).values())


def united(sides: Sides) -> set[Any]:
    """Return what either side added and neither removed."""
    base, ours, theirs = (set(side or ()) for side in sides)
    return (ours & theirs) | (ours - base) | (theirs - base)


def _ordered(kept: Iterable[Any], sides: Sides) -> list[Any]:
    """Return keys in an order that does not depend on which side is ours, nor change when merged again."""
    keys = set(kept)
    whole = [list(dict.fromkeys(side or ())) for side in sides[1:] if set(side or ()) == keys]
    if whole:
        return min(whole)
    shared = keys.intersection(*(side or () for side in sides))
    orders = Sides._make(list(dict.fromkeys(key for key in side or () if key in shared)) for side in sides)
    return [*settle(orders, lambda: min(orders.ours, orders.theirs)), *sorted(keys - shared)]


def keyed(where: str, maps: Sides, ledger: Ledger, rule: Rule = value) -> dict[str, Any]:
    """Merge maps key by key; a key that one side removed and the other changed stays, as a conflict."""

    def merged(key: str) -> Any:
        sides = Sides._make(side.get(key, ABSENT) for side in maps)

        def both() -> Any:
            if ABSENT in (sides.ours, sides.theirs):
                stands = sides.theirs if sides.ours is ABSENT else sides.ours
                ledger.note(ledger.conflicts, where + key, sides, stands)
                return stands
            return rule(where + key, sides, ledger)

        return settle(sides, both)

    found = {key: merged(key) for key in sorted({key for side in maps for key in side})}
    kept = {key: item for key, item in found.items() if item is not ABSENT}
    order = settle(Sides._make(list(side) for side in maps), lambda: _ordered(kept, maps))
    return {key: kept[key] for key in dict.fromkeys((*order, *kept)) if key in kept}
