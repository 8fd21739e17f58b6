"""A registry as one value: every entity that could be read, and what could not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from forgekit.errors import NotFoundError
from forgekit.frozen import field, frozen
from forgekit.ids import EntityId
from forgekit.model.entities import (
    Archive,
    Candidate,
    Conflict,
    Convention,
    Conversation,
    Decision,
    Entity,
    Lineage,
    Note,
    Priority,
    Project,
    Thread,
    Topic,
    TranscriptPart,
    is_speculative,
)
from forgekit.model.kinds import Kind
from forgekit.model.problem import Problem
from forgekit.times import Instant

E = TypeVar("E", bound=Entity)


Counts = Counter[tuple[Kind, str | None, EntityId | None]]
"""How many entities there are by kind, status and project."""


class ActiveDecision(NamedTuple):
    """What an active decision is sorted and aged by, named as its attributes are."""

    id: EntityId
    epistemic_tier: float | None
    created_at: Instant
    last_validated: Instant
    conversation_ids: tuple[EntityId, ...]

    @property
    def speculative(self) -> bool:
        """Whether it stays out of continuation blocks."""
        return is_speculative(self.epistemic_tier)


class OpenThread(NamedTuple):
    """What an open thread is sorted by, named as its attributes are."""

    id: EntityId
    priority: Priority
    created_at: Instant


class DatedConversation(NamedTuple):
    """When a conversation began and by what it is known elsewhere, named as its attributes are."""

    id: EntityId
    created_at: Instant
    external_id: str | None
    source: str | None


class _Every(Generic[E]):
    """The attribute of a registry that lists all its entities of a class."""

    def __init__(self, kind: type[E]) -> None:
        self._kind = kind

    def __get__(self, registry: Registry, owner: type[Registry]) -> list[E]:
        return registry.of_kind(self._kind)


@frozen()
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

    def find(self, kind: type[E], entity: EntityId | None) -> E | None:
        """Return the entity of an id and kind, or None."""
        found = self.get(entity)
        return found if isinstance(found, kind) else None

    def expect(self, kind: type[E], entity: EntityId) -> E:
        """Return the entity of an id and kind; raises NotFoundError."""
        found = self.find(kind, entity)
        if found is None:
            raise NotFoundError(kind.kind.value, entity)
        return found

    def __iter__(self) -> Iterator[Entity]:
        return iter(self.entities.values())

    def of_kind(self, kind: type[E]) -> list[E]:
        """Return the entities of a class, in time order."""
        return [entity for entity in self if isinstance(entity, kind)]

    def of_ids(self, kind: type[E], ids: Iterable[EntityId]) -> list[E]:
        """Return the entities of a class that have one of these ids, in time order."""
        found = (self.get(key) for key in sorted(set(ids)))
        return [entity for entity in found if isinstance(entity, kind)]

    def in_order(self, kind: type[E], ids: Sequence[EntityId]) -> list[E]:
        """Return the entities of a class that have these ids, in their order."""
        found = {entity.id: entity for entity in self.of_ids(kind, ids)}
        return [found[key] for key in ids if key in found]

    def with_status(self, kind: type[E], status: str, project: EntityId | None = None) -> list[E]:
        """Return the entities of a class with a status, of one project or of all, in time order."""
        every: list[Any] = self.of_kind(kind)
        return [e for e in every if e.status.value == status and project in {None, e.project_uuid}]

    def active_decisions(self, project: EntityId | None = None) -> Sequence[ActiveDecision | Decision]:
        """Return what each active decision is sorted and aged by, in time order."""
        return self.with_status(Decision, "active", project)

    def open_threads(self, project: EntityId | None = None) -> Sequence[OpenThread | Thread]:
        """Return what each open thread is sorted by, in time order."""
        return self.with_status(Thread, "open", project)

    def dated_conversations(self) -> Sequence[DatedConversation | Conversation]:
        """Return when each conversation began and by what it is known elsewhere, in time order."""
        return self.of_kind(Conversation)

    def needing_revalidation(self) -> list[Decision]:
        """Return the active decisions that rest on one that has ended, if through others, in time order."""
        active, found = self.with_status(Decision, "active"), set()
        moved = {d.id for d in self.of_kind(Decision) if d.status.ended}
        while moved:
            moved = {d.id for d in active if d.id not in found and not moved.isdisjoint(d.dependencies)}
            found |= moved
        return [d for d in active if d.id in found]

    def counts(self) -> Counts:
        """Return how many entities there are by kind, status and project."""
        every: Iterable[Any] = self
        return Counter(
            (e.kind, e.status.value if hasattr(e, "status") else None, getattr(e, "project_uuid", None))
            for e in every
        )

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
    notes = _Every(Note)
    topics = _Every(Topic)
    conventions = _Every(Convention)
    transcripts = _Every(TranscriptPart)
    archives = _Every(Archive)
