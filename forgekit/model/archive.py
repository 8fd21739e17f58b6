"""An archive: the text that compressing a conversation produced, kept as it was pasted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from forgekit.ids import EntityId
from forgekit.model.kinds import Kind
from forgekit.model.lineage import CompressionMode, TurnRange
from forgekit.model.rules import require_values
from forgekit.times import Instant


@dataclass(frozen=True, kw_only=True, slots=True)
class Archive:
    """One archive: who, when and from what in front of its verbatim text.

    Attributes:
        compressed_at: event time of its whole content.
        inherits_from: tags (or conversation ids) of what it continues, as it names them.
        content_sha256: of the text's UTF-8 bytes.
        records: (local id, entity id) pairs: the entity of each local id.
        body: the archive itself, every byte of it.
    """

    kind = Kind.ARCHIVE

    archive_id: EntityId
    compression_tag: str
    compression_mode: CompressionMode
    compressed_at: Instant
    conversation_id: EntityId
    conversation_title: str
    project_name: str
    project_uuid: EntityId
    conversation_started: Instant
    session_id: str | None = None
    external_id: str | None = None
    turn_range: TurnRange | None = None
    inherits_from: tuple[str, ...] = ()
    content_sha256: str
    records: tuple[tuple[str, EntityId], ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    body: str = ""

    def __post_init__(self) -> None:
        require_values(self)

    @property
    def id(self) -> EntityId:
        """The archive's id."""
        return self.archive_id

    @property
    def title(self) -> str:
        """What lists show."""
        return self.compression_tag
