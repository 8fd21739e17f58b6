"""A registry that reads entities from the catalogue when they are asked for.

For questions about a few of many entities: following a reference reads one row, a kind is read when it is
listed, and only listing everything reads everything. The answers are those of the whole registry: as of the
catalogue's last refresh (`over`), or of each folder when it is first asked for (`as_asked`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from forgekit.ids import EntityId
from forgekit.index.catalogue import Catalogue
from forgekit.model.entities import Conversation, Decision, Entity, Thread
from forgekit.model.kinds import Kind, path_of
from forgekit.model.registry import ActiveDecision, Counts, DatedConversation, E, OpenThread, Registry


class _Entities(Mapping[EntityId, Entity]):
    """Entities by id, each read once.

    Args:
        refreshed: folders that are up to date; None for all of them.
    """

    def __init__(self, catalogue: Catalogue, refreshed: set[str] | None = None) -> None:
        self.catalogue = catalogue
        self._refreshed = refreshed
        self._known: dict[EntityId, Entity | None] = {}
        self._kinds: dict[Kind, list[Entity]] = {}
        self.active_decisions: dict[EntityId | None, Sequence[ActiveDecision]] = {}
        self.dated_conversations: Sequence[DatedConversation] = ()

    def refresh(self, folders: Collection[str]) -> None:
        """Refresh the catalogue within these folders, once."""
        if self._refreshed is not None and not self._refreshed.issuperset(folders):
            self.catalogue.refresh(within=[folder for folder in folders if folder not in self._refreshed])
            self._refreshed.update(folders)

    def __getitem__(self, key: EntityId) -> Entity:
        if key not in self._known:
            if self._refreshed is not None:
                # An id does not contain its kind, and each kind has its own folder.
                self.refresh({path_of(kind, key).rpartition("/")[0] for kind in Kind})
            self._known[key] = self.catalogue.entity(key)
        found = self._known[key]
        if found is None:
            raise KeyError(key)
        return found

    def of_kind(self, kind: Kind) -> list[Entity]:
        if kind not in self._kinds:
            self.refresh({kind.folder})
            self._kinds[kind] = self.noted(self.catalogue.entities(kind))
        return self._kinds[kind]

    def noted(self, entities: Iterable[Entity]) -> list[Entity]:
        """Return entities that were just read, those known already as they are known."""
        return [self._known.setdefault(entity.id, entity) or entity for entity in entities]

    def of_ids(self, kind: Kind, ids: Iterable[EntityId]) -> list[Entity]:
        wanted = sorted(set(ids))
        self.noted(self.catalogue.of_ids(kind, [key for key in wanted if key not in self._known]))
        known = (self._known.get(key) for key in wanted)
        return [entity for entity in known if entity is not None and entity.kind is kind]

    def __iter__(self) -> Iterator[EntityId]:
        return (entity.id for kind in Kind for entity in self.of_kind(kind))

    def __len__(self) -> int:
        return sum(len(self.of_kind(kind)) for kind in Kind)


class PartialRegistry(Registry):
    """A registry over a catalogue that has been refreshed."""

    __slots__ = ()

    if TYPE_CHECKING:
        entities: _Entities

    @classmethod
    def over(cls, catalogue: Catalogue) -> PartialRegistry:
        """Return the registry of a catalogue; only the problems are read yet."""
        return cls(_Entities(catalogue), catalogue.problems())

    @classmethod
    def as_asked(cls, catalogue: Catalogue, folders: Collection[str]) -> PartialRegistry:
        """Return the registry of a catalogue that is refreshed folder by folder, as they are asked for.

        Args:
            catalogue: of any age.
            folders: to refresh at once.
        """
        entities = _Entities(catalogue, set())
        entities.refresh(folders)
        return cls(entities, catalogue.problems())

    def with_problems(self) -> PartialRegistry:
        """Return it with the problems of all folders that were refreshed by now."""
        return type(self)(self.entities, self.entities.catalogue.problems())

    def of_kind(self, kind: type[E]) -> list[E]:
        """Return the entities of a class, in time order."""
        return cast("list[E]", self.entities.of_kind(kind.kind))

    def of_ids(self, kind: type[E], ids: Iterable[EntityId]) -> list[E]:
        """Return the entities of a class that have one of these ids, in time order."""
        self._catalogue(kind.kind)
        return cast("list[E]", self.entities.of_ids(kind.kind, ids))

    def with_status(self, kind: type[E], status: str, project: EntityId | None = None) -> list[E]:
        """Return the entities of a class with a status, of one project or of all, in time order."""
        found = self._catalogue(kind.kind).entities(kind.kind, status, project)
        return cast("list[E]", self.entities.noted(found))

    def active_decisions(self, project: EntityId | None = None) -> Sequence[ActiveDecision | Decision]:
        """Return what each active decision is sorted and aged by, in time order."""
        known = self.entities.active_decisions
        if project not in known:
            known[project] = self._catalogue(Kind.DECISION).active_decisions(project)
        return known[project]

    def open_threads(self, project: EntityId | None = None) -> Sequence[OpenThread | Thread]:
        """Return what each open thread is sorted by, in time order."""
        return self._catalogue(Kind.THREAD).open_threads(project)

    def dated_conversations(self) -> Sequence[DatedConversation | Conversation]:
        """Return when each conversation began and by what it is known elsewhere, in time order."""
        known = self.entities.dated_conversations or self._catalogue(Kind.CONVERSATION).dated_conversations()
        self.entities.dated_conversations = known
        return known

    def needing_revalidation(self) -> list[Decision]:
        """Return the active decisions that rest on one that has ended, if through others, in time order."""
        return self.of_ids(Decision, map(EntityId, self._catalogue(Kind.DECISION).needing_revalidation()))

    def counts(self) -> Counts:
        """Return how many entities there are by kind, status and project."""
        return self._catalogue(*Kind).counts()

    def _catalogue(self, *kinds: Kind) -> Catalogue:
        """Return the catalogue, up to date for these kinds."""
        self.entities.refresh({kind.folder for kind in kinds})
        return self.entities.catalogue

    def referring(self, kind: type[E], field: str) -> Callable[[EntityId], Sequence[EntityId]]:
        """Return what gives the entities of a class that name another one in a field, in time order."""
        return partial(self._catalogue(kind.kind).referring, kind.kind, field)

    def active_blobs(self) -> Mapping[EntityId, str]:
        """Return the active decisions with the blob ids of their files, in time order."""
        return self._catalogue(Kind.DECISION).active_blobs()

    def sharing_rare_words(self, most: int) -> Sequence[Sequence[str]]:
        """Return the groups of 2 to so many active decisions that share a word."""
        return self._catalogue(Kind.DECISION).sharing_rare_words(most)
