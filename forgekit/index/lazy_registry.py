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
from forgekit.model.archive import Archive
from forgekit.model.candidate import Candidate
from forgekit.model.conflict import Conflict
from forgekit.model.conversation import Conversation
from forgekit.model.decision import Decision
from forgekit.model.entity import Entity
from forgekit.model.kinds import Kind, path_of
from forgekit.model.lineage import Lineage
from forgekit.model.problem import Problem
from forgekit.model.project import Project
from forgekit.model.registry import Registry
from forgekit.model.thread import Thread
from forgekit.model.transcript import TranscriptPart


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
    def candidates(self) -> list[Candidate]:
        """All candidates, those that were answered included."""
        return cast("list[Candidate]", self._all(Kind.CANDIDATE))

    @property
    def transcripts(self) -> list[TranscriptPart]:
        """All kept texts of conversations."""
        return cast("list[TranscriptPart]", self._all(Kind.TRANSCRIPT))

    @property
    def archives(self) -> list[Archive]:
        """All archives."""
        return cast("list[Archive]", self._all(Kind.ARCHIVE))
