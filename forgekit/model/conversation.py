"""A conversation: one chat or agent run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from forgekit.ids import EntityId
from forgekit.model.kinds import Kind
from forgekit.model.rules import require_body, require_count, require_line, require_lines
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
        require_line("title", self.title)
        require_line("project_name", self.project_name)
        require_line("external_id", self.external_id)
        require_line("session_id", self.session_id)
        require_line("source", self.source)
        require_count("turns", self.turns)
        require_lines("continues", self.continues)
        require_lines("brought", self.brought)
        require_lines("archived_as", self.archived_as)
        require_lines("tags", self.tags)
        require_body(self.body)

    @property
    def id(self) -> EntityId:
        """The conversation's id."""
        return self.conversation_id
