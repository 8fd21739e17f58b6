"""A project: a named area of work, and the namespace of its ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from forgekit.ids import EntityId
from forgekit.model.kinds import Kind
from forgekit.model.rules import require_values

UNSORTED = "Unsorted"
"""The project of conversations whose project is unknown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A named area of work; the body describes it."""

    kind = Kind.PROJECT

    project_uuid: EntityId
    project_name: str
    tags: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    body: str = ""

    def __post_init__(self) -> None:
        require_values(self)

    @property
    def id(self) -> EntityId:
        """The project's id."""
        return self.project_uuid

    @property
    def title(self) -> str:
        """What lists show."""
        return self.project_name
