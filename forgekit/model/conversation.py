"""A conversation: one chat or agent run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from forgekit.ids import EntityId
from forgekit.model.kinds import Kind
from forgekit.model.rules import MOST_TURNS, require_between, require_values
from forgekit.times import UNKNOWN, Instant


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """One chat or agent run, or one stretch of it between two compressions.

    Attributes:
        external_id: the platform's own uuid, accepted wherever an id is asked for.
        session_id: what the archive calls the session; stretches of one session share it.
        source: the format that it was ingested from; None where only archives or people tell of it.
        turns: how many of its turns have been read.
        continues: tags and ids that its first messages name or paste: what it was begun from.
        brought: local ids of the records that came with them.
        archived_as: tags of the archives that were written in it.
    """

    kind = Kind.CONVERSATION

    conversation_id: EntityId
    title: str
    project_name: str
    project_uuid: EntityId
    created_at: Instant = UNKNOWN
    external_id: str | None = None
    session_id: str | None = None
    source: str | None = None
    turns: int | None = None
    continues: tuple[str, ...] = ()
    brought: tuple[str, ...] = ()
    archived_as: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    body: str = ""

    def __post_init__(self) -> None:
        require_values(self)
        require_between("turns", self.turns, MOST_TURNS)

    @property
    def id(self) -> EntityId:
        """The conversation's id."""
        return self.conversation_id
