"""A registry that reads entities from the catalogue when they are asked for.

For questions about a few of many entities: following references costs one row each, a kind is read when
it is listed, and only listing everything reads everything. The answers are those of the whole registry:
at the catalogue's last refresh (`over`), or as each folder is when it is first asked for (`as_asked`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import cast

from forgekit.ids import EntityId
from forgekit.index.catalogue import Catalogue
from forgekit.model.entity import Entity
from forgekit.model.kinds import Kind, path_of
from forgekit.model.problem import Problem
from forgekit.model.registry import E, Registry


class _Entities(Mapping[EntityId, Entity]):
    """Entities by id, each read once.

    Args:
        catalogue: where they are read from.
        looked: folders that have been looked into; None for all of them.
    """

    def __init__(self, catalogue: Catalogue, looked: set[str] | None = None) -> None:
        self._catalogue = catalogue
        self._looked = looked
        self._known: dict[EntityId, Entity | None] = {}
        self._kinds: dict[Kind, list[Entity]] = {}

    def look(self, folders: Collection[str]) -> None:
        """Bring the catalogue up to what these folders hold, once."""
        if self._looked is not None and not self._looked.issuperset(folders):
            self._catalogue.refresh(within=[folder for folder in folders if folder not in self._looked])
            self._looked.update(folders)

    def __getitem__(self, key: EntityId) -> Entity:
        if key not in self._known:
            # An id does not say its kind, and each kind would file it elsewhere.
            self.look({path_of(kind, key).rpartition("/")[0] for kind in Kind})
            self._known[key] = self._catalogue.entity(key)
        found = self._known[key]
        if found is None:
            raise KeyError(key)
        return found

    def of_kind(self, kind: Kind) -> list[Entity]:
        if kind not in self._kinds:
            self.look({kind.folder})
            self._kinds[kind] = self._catalogue.entities(kind)
            self._known.update((entity.id, entity) for entity in self._kinds[kind])
        return self._kinds[kind]

    def problems(self) -> tuple[Problem, ...]:
        return self._catalogue.problems()

    def __iter__(self) -> Iterator[EntityId]:
        return (entity.id for kind in Kind for entity in self.of_kind(kind))

    def __len__(self) -> int:
        return sum(len(self.of_kind(kind)) for kind in Kind)


class PartialRegistry(Registry):
    """A registry over a catalogue that has been refreshed."""

    __slots__ = ()

    @classmethod
    def over(cls, catalogue: Catalogue) -> PartialRegistry:
        """Return the registry of a catalogue; nothing but the problems is read yet."""
        return cls(_Entities(catalogue), catalogue.problems())

    @classmethod
    def as_asked(cls, catalogue: Catalogue, folders: Collection[str]) -> PartialRegistry:
        """Return the registry of a catalogue that is refreshed folder by folder, as they are asked for.

        Args:
            catalogue: as old as it may be.
            folders: to look into at once.
        """
        entities = _Entities(catalogue, set())
        entities.look(folders)
        return cls(entities, catalogue.problems())

    def with_problems(self) -> PartialRegistry:
        """Return it with the problems of all the folders that were looked into by now."""
        entities = cast("_Entities", self.entities)
        return type(self)(entities, entities.problems())

    def of_kind(self, kind: type[E]) -> list[E]:
        """Return the entities of a class, in time order."""
        return cast("list[E]", cast("_Entities", self.entities).of_kind(kind.kind))
