"""A thread: a question that work has to come back to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from forgekit.errors import RuleError
from forgekit.ids import EntityId
from forgekit.model.body import section
from forgekit.model.kinds import Kind
from forgekit.model.rules import require_values
from forgekit.times import Instant


class ThreadStatus(Enum):
    """The state of a thread."""

    OPEN = "open"  # waits for work
    RESOLVED = "resolved"  # answered, in the body
    SUPERSEDED = "superseded"  # another thread took its place
    ABANDONED = "abandoned"  # nobody will answer it

    @property
    def ended(self) -> bool:
        """Whether only an explicit reopening brings it back."""
        return self is not ThreadStatus.OPEN


class Priority(Enum):
    """How much a thread matters, the most important first."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def rank(self) -> int:
        """Its place in that order, from 0."""
        return list(Priority).index(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class Thread:
    """A question that work has to come back to; the body has a description and a resolution.

    Attributes:
        local_id: what the archive of `first_seen_in` calls it, such as `T001`.
        updated_at: event time of the last state change.
    """

    kind = Kind.THREAD

    thread_id: EntityId
    title: str
    status: ThreadStatus = ThreadStatus.OPEN
    priority: Priority = Priority.MEDIUM
    project_name: str
    project_uuid: EntityId
    local_id: str | None = None
    blocked_by: tuple[EntityId, ...] = ()
    first_seen_in: EntityId | None = None
    resolved_in: EntityId | None = None
    conversation_ids: tuple[EntityId, ...] = ()
    created_at: Instant
    updated_at: Instant
    tags: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    body: str = ""

    def __post_init__(self) -> None:
        require_values(self)
        if self.resolved_in is not None and not self.status.ended:
            raise RuleError("resolved_in: goes with a thread that has ended, and this one is open")

    @property
    def id(self) -> EntityId:
        """The thread's id."""
        return self.thread_id

    @property
    def content(self) -> str:
        """The description: the text before the first section."""
        return section(self.body, None)

    @property
    def resolution(self) -> str:
        """How it ended; "" while open."""
        return section(self.body, "Resolution")
