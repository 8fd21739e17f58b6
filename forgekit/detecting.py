"""What filing still imports until it no longer judges; to be deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forgekit.conflict.pairs import Pair
from forgekit.forge import Forge
from forgekit.ids import EntityId
from forgekit.model.conflict import Conflict
from forgekit.model.decision import Decision
from forgekit.model.entity import Entity
from forgekit.model.registry import Registry

if TYPE_CHECKING:
    from forgekit.archives.changes import ChangeSet
    from forgekit.archives.fold import FoldResult


@dataclass(frozen=True, slots=True)
class State:
    """A registry as it stands once a change is made."""

    registry: Registry
    writes: Mapping[EntityId, Entity]
    deletes: Collection[EntityId] = ()

    def get(self, key: EntityId) -> Entity | None:
        """Return an entity, or None."""
        if key in self.writes:
            return self.writes[key]
        return None if key in self.deletes else self.registry.get(key)

    def active(self, key: EntityId) -> Decision | None:
        """Return a decision that is in force, or None."""
        found = self.get(key)
        return found if isinstance(found, Decision) and not found.status.ended else None


@dataclass(frozen=True, slots=True)
class Settled:
    """Nothing."""

    conflicts: tuple[Conflict, ...] = ()
    entities: tuple[Entity, ...] = ()


@dataclass(frozen=True, slots=True)
class Filing:
    """A change set; nothing is found."""

    settlement: ChangeSet
    found: tuple[Conflict, ...]


def filing(_forge: Forge, _ours: Registry, _said: FoldResult, settlement: ChangeSet) -> Filing:
    """Return the change set as it is."""
    return Filing(settlement, ())


def against(_forge: Forge, _registry: Registry, entities: Sequence[Entity]) -> list[Entity]:
    """Return the entities as they are."""
    return list(entities)


def candidates(_forge: Forge, _state: State, _decisions: Iterable[Decision]) -> dict[Pair, float | None]:
    """Return nothing."""
    return {}


def detect(_forge: Forge, _state: State, _pairs: Mapping[Pair, float | None]) -> Settled:
    """Return nothing."""
    return Settled()
