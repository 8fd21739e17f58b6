"""A registry as one value: every entity that could be read, and what could not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from forgekit.errors import NotFoundError
from forgekit.ids import EntityId
from forgekit.model.entities import (
    Archive,
    Candidate,
    Conflict,
    Conversation,
    Decision,
    Entity,
    Lineage,
    Project,
    Thread,
    TranscriptPart,
)
from forgekit.model.problem import Problem

E = TypeVar("E", bound=Entity)


class _Every(Generic[E]):
    """The attribute of a registry that lists all its entities of a class."""

    def __init__(self, kind: type[E]) -> None:
        self._kind = kind

    def __get__(self, registry: Registry, owner: type[Registry]) -> list[E]:
        return registry.of_kind(self._kind)


@dataclass(frozen=True, slots=True)
class Registry:
    """All entities of one moment, by id; ids sort by time, so every listing is in time order."""

    entities: Mapping[EntityId, Entity] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @classmethod
    def of(cls, entities: Iterable[Entity], problems: Iterable[Problem] = ()) -> Registry:
        """Build a registry from entities in any order."""
        ordered = sorted(entities, key=lambda e: (e.kind.value, e.id))
        return cls({entity.id: entity for entity in ordered}, tuple(problems))

    def get(self, entity: EntityId | None) -> Entity | None:
        """Return the entity of an id, or None."""
        return self.entities.get(entity) if entity else None

    def expect(self, kind: type[E], entity: EntityId) -> E:
        """Return the entity of an id and kind.

        Raises NotFoundError.
        """
        found = self.get(entity)
        if not isinstance(found, kind):
            raise NotFoundError(kind.kind.value, entity)
        return found

    def __iter__(self) -> Iterator[Entity]:
        return iter(self.entities.values())

    def of_kind(self, kind: type[E]) -> list[E]:
        """Return the entities of a class, in time order."""
        return [entity for entity in self if isinstance(entity, kind)]

    def referring(self, kind: type[E], field: str) -> Callable[[EntityId], Sequence[EntityId]]:
        """Return what gives the entities of a class that name another one in a field, in time order."""
        found: dict[EntityId, list[EntityId]] = defaultdict(list)
        for entity in self.of_kind(kind):
            for target in dict.fromkeys(getattr(entity, field)):
                found[target].append(entity.id)
        return lambda target: found.get(target, ())

    projects = _Every(Project)
    conversations = _Every(Conversation)
    threads = _Every(Thread)
    decisions = _Every(Decision)
    lineage = _Every(Lineage)
    conflicts = _Every(Conflict)
    candidates = _Every(Candidate)
    transcripts = _Every(TranscriptPart)
    archives = _Every(Archive)
