"""A kept text: what was said in a conversation, or in one part of a long one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from forgekit.ids import EntityId, timestamp, v8_named
from forgekit.model.kinds import Kind
from forgekit.model.lineage import TurnRange
from forgekit.model.rules import require_body, require_line
from forgekit.times import UNKNOWN, Instant


def part_id(conversation: EntityId, number: int, started: Instant) -> EntityId:
    """Derive the id of a part, counted from 1, of a conversation's text."""
    return v8_named(conversation, f"text:{number}", timestamp(conversation, started))


def in_order(parts: Iterable[KeptText]) -> list[KeptText]:
    """Return the parts of one conversation as they follow each other; a long turn may fill several."""
    found = {part.id: part for part in parts}
    first = next(iter(found.values()), None)
    if first is None:
        return []
    numbers = range(1, 2 * len(found) + 100)
    ids = (part_id(first.conversation_id, number, first.created_at) for number in numbers)
    named = [found.pop(key) for key in ids if key in found]
    return [*named, *sorted(found.values(), key=lambda part: part.turn_range)]


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptText:
    """Some turns of a conversation, as Markdown; `text.transcript` writes and reads the body.

    Attributes:
        title: of the conversation.
        turn_range: first and last turn; a long turn may go on in the next part.
        created_at: start of the conversation.
    """

    kind = Kind.TRANSCRIPT

    transcript_id: EntityId
    title: str
    conversation_id: EntityId
    project_name: str
    project_uuid: EntityId
    turn_range: TurnRange
    created_at: Instant = UNKNOWN
    extra: Mapping[str, object] = field(default_factory=dict)
    body: str = ""

    def __post_init__(self) -> None:
        require_line("title", self.title)
        require_line("project_name", self.project_name)
        require_body(self.body)

    @property
    def id(self) -> EntityId:
        """The text's id."""
        return self.transcript_id
