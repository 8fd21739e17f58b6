"""A registry that reads entities from the catalogue when they are asked for.

For questions about a few of many entities: following references costs one row each, a kind is read when
it is listed, and only listing everything reads everything. The answers are those of the whole registry
at the catalogue's last refresh.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from forgekit.catalogue.catalogue import Catalogue
from forgekit.ids import EntityId
from forgekit.model.archive import Archive
from forgekit.model.conflict import Conflict
from forgekit.model.conversation import Conversation
from forgekit.model.decision import Decision
from forgekit.model.entity import Entity
from forgekit.model.kinds import Kind
from forgekit.model.lineage import Lineage
from forgekit.model.project import Project
from forgekit.model.registry import Registry
from forgekit.model.thread import Thread


class _Entities(Mapping[EntityId, Entity]):
    """Entities by id, each read once."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._known: dict[EntityId, Entity | None] = {}
        self._kinds: dict[Kind, list[Entity]] = {}

    def __getitem__(self, key: EntityId) -> Entity:
        if key not in self._known:
            self._known[key] = self._catalogue.entity(key)
        found = self._known[key]
        if found is None:
            raise KeyError(key)
        return found

    def of_kind(self, kind: Kind) -> list[Entity]:
        if kind not in self._kinds:
            self._kinds[kind] = self._catalogue.entities(kind)
            self._known.update((entity.id, entity) for entity in self._kinds[kind])
        return self._kinds[kind]

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

    def _all(self, kind: Kind) -> list[Entity]:
        return cast("_Entities", self.entities).of_kind(kind)

    @property
    def projects(self) -> list[Project]:
        """All projects."""
        return cast("list[Project]", self._all(Kind.PROJECT))

    @property
    def conversations(self) -> list[Conversation]:
        """All conversations."""
        return cast("list[Conversation]", self._all(Kind.CONVERSATION))

    @property
    def threads(self) -> list[Thread]:
        """All threads."""
        return cast("list[Thread]", self._all(Kind.THREAD))

    @property
    def decisions(self) -> list[Decision]:
        """All decisions."""
        return cast("list[Decision]", self._all(Kind.DECISION))

    @property
    def lineage(self) -> list[Lineage]:
        """All lineage edges."""
        return cast("list[Lineage]", self._all(Kind.LINEAGE))

    @property
    def conflicts(self) -> list[Conflict]:
        """All conflicts."""
        return cast("list[Conflict]", self._all(Kind.CONFLICT))

    @property
    def archives(self) -> list[Archive]:
        """All archives."""
        return cast("list[Archive]", self._all(Kind.ARCHIVE))
