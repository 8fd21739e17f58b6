"""A lineage edge: one conversation continues another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from forgekit.errors import RuleError
from forgekit.ids import EntityId
from forgekit.model.kinds import Kind
from forgekit.model.rules import require_keys, require_line, require_values
from forgekit.times import Instant

TurnRange = tuple[int, int]
"""First and last turn, both included, counted from 1."""


class CompressionMode(Enum):
    """How a conversation was compressed."""

    LOSSLESS = "lossless"  # transcript and logs kept
    LOSSY = "lossy"  # state only
    PARTIAL = "partial"  # a stretch or a topic, with inherited context


@dataclass(frozen=True, kw_only=True, slots=True)
class Compression:
    """What one compression of the source brought into the target.

    Attributes:
        compression_tag: the source's archive that was carried over.
        decisions_carried: (local id in the source's archive or "", decision id) pairs; the rest alike.
    """

    compression_tag: str
    compression_mode: CompressionMode | None = None
    compressed_at: Instant | None = None
    turn_range: TurnRange | None = None
    decisions_carried: tuple[tuple[str, EntityId], ...] = ()
    decisions_dropped: tuple[tuple[str, EntityId], ...] = ()
    threads_carried: tuple[tuple[str, EntityId], ...] = ()
    threads_resolved: tuple[tuple[str, EntityId], ...] = ()

    def __post_init__(self) -> None:
        require_line("compression_tag", self.compression_tag)
        for name in ("decisions_carried", "decisions_dropped", "threads_carried", "threads_resolved"):
            require_keys(name, getattr(self, name))


@dataclass(frozen=True, kw_only=True, slots=True)
class Lineage:
    """`target_conversation_id` continues `source_conversation_id`; the body summarises what changed."""

    kind = Kind.LINEAGE

    lineage_id: EntityId
    source_conversation_id: EntityId
    target_conversation_id: EntityId
    project_name: str
    project_uuid: EntityId
    compressions: tuple[Compression, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    body: str = ""

    def __post_init__(self) -> None:
        require_values(self)
        require_keys("compressions", [(entry.compression_tag, "") for entry in self.compressions])
        if self.source_conversation_id == self.target_conversation_id:
            raise RuleError("target_conversation_id: a conversation cannot continue itself")

    @property
    def id(self) -> EntityId:
        """The edge's id."""
        return self.lineage_id

    @property
    def title(self) -> str:
        """What lists show."""
        return ", ".join(c.compression_tag for c in self.compressions) or "(no tag)"
