"""A registry as one value: every entity that could be read, and what could not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from forgekit.errors import NotFoundError
from forgekit.ids import EntityId
from forgekit.model.archive import Archive
from forgekit.model.candidate import Candidate
from forgekit.model.conflict import Conflict
from forgekit.model.conversation import Conversation
from forgekit.model.decision import Decision
from forgekit.model.entity import Entity
from forgekit.model.lineage import Lineage
from forgekit.model.problem import Problem
from forgekit.model.project import Project
from forgekit.model.thread import Thread
from forgekit.model.transcript import TranscriptPart

Expected = TypeVar("Expected", Conflict, Decision, Thread)
Listed = TypeVar("Listed", bound=Entity)


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

    def expect(self, kind: type[Expected], entity: EntityId) -> Expected:
        """Return the entity of an id and kind.

        Raises NotFoundError.
        """
        found = self.get(entity)
        if not isinstance(found, kind):
            raise NotFoundError(kind.kind.value, entity)
        return found

    def __iter__(self) -> Iterator[Entity]:
        return iter(self.entities.values())

    def of_kind(self, kind: type[Listed]) -> list[Listed]:
        """Return all entities of a kind, by id."""
        return [entity for entity in self if isinstance(entity, kind)]

    @property
    def projects(self) -> list[Project]:
        """All projects."""
        return self.of_kind(Project)

    @property
    def conversations(self) -> list[Conversation]:
        """All conversations."""
        return self.of_kind(Conversation)

    @property
    def threads(self) -> list[Thread]:
        """All threads."""
        return self.of_kind(Thread)

    @property
    def decisions(self) -> list[Decision]:
        """All decisions."""
        return self.of_kind(Decision)

    @property
    def lineage(self) -> list[Lineage]:
        """All lineage edges."""
        return self.of_kind(Lineage)

    @property
    def conflicts(self) -> list[Conflict]:
        """All conflicts."""
        return self.of_kind(Conflict)

    @property
    def candidates(self) -> list[Candidate]:
        """All candidates, those that were answered included."""
        return self.of_kind(Candidate)

    @property
    def transcripts(self) -> list[TranscriptPart]:
        """All kept texts of conversations."""
        return self.of_kind(TranscriptPart)

    @property
    def archives(self) -> list[Archive]:
        """All archives."""
        return self.of_kind(Archive)
